"""COCO's detection challenge, as pycocotools 2.0.11 computes it."""

from apframe.protocols.protocol import ALL_AREAS, Protocol

COCO = Protocol(
    name="COCO",
    citation="Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014; pycocotools 2.0.11, COCOeval",
    area_ranges=(ALL_AREAS, ("small", 0.0, 32.0**2), ("medium", 32.0**2, 96.0**2), ("large", 96.0**2, 1e10)),
    max_detections=(1, 10, 100),
)
"""Boxes: ten IoU thresholds .50 to .95, 101 recall levels, four area ranges, at most 1, 10 and 100 detections."""

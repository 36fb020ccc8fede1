"""Recall of proposals, as Detectron computes it."""

from apframe.protocols.coco import COCO_AREAS
from apframe.protocols.protocol import Protocol

PROPOSALS = Protocol(
    name="PROPOSALS",
    citation="Hosang et al., What makes for effective detection proposals?, PAMI 2016; Detectron2, _evaluate_box_proposals",
    ties="input",
    matching="similarity",
    area_ranges=(
        *COCO_AREAS, ("96-128", 96.0**2, 128.0**2), ("128-256", 128.0**2, 256.0**2), ("256-512", 256.0**2, 512.0**2),
        ("512-inf", 512.0**2, 1e10),
    ),
    max_detections=(100, 1000),
    agnostic=True,
    report=("AR{limit}", "AR{area}"),
)  # fmt: skip
"""Boxes whatever their category, the most similar pair first; recall with 100 and 1,000 proposals per image."""

"""Recall of proposals, as Detectron computes it."""

from apframe.metrics.definitions import COCO_101
from apframe.protocols.coco import COCO_AREAS
from apframe.protocols.given import linspace
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

PROPOSALS = Protocol(
    name="PROPOSALS",
    citation="Hosang et al., What makes for effective detection proposals?, PAMI 2016; Detectron2, _evaluate_box_proposals",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="similarity",
    ties="input",
    crowds="ignored",
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=COCO_101,
    malformed="by_area",
    area_ranges=(
        *COCO_AREAS, ("96-128", 96.0**2, 128.0**2), ("128-256", 128.0**2, 256.0**2), ("256-512", 256.0**2, 512.0**2),
        ("512-inf", 512.0**2, 1e10),
    ),
    max_detections=(100, 1000),
    agnostic=True,
    report=("AR{limit}", "AR{area}"),
)  # fmt: skip
"""Boxes whatever their category, the most similar pair first; recall with 100 and 1,000 proposals per image."""

"""Recall of proposals, as Detectron computes it."""

from apframe.metrics.definitions import COCO_101
from apframe.protocols.classes import ALL_CLASSES
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
    strict=False,
    ties="input",
    crowds="ignored",
    ignores=(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=COCO_101,
    adds_spacing=False,
    classes=ALL_CLASSES,
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=None,
    malformed="by_area",
    area_ranges=(
        *COCO_AREAS, ("96-128", 96.0**2, 128.0**2), ("128-256", 128.0**2, 256.0**2), ("256-512", 256.0**2, 512.0**2),
        ("512-inf", 512.0**2, 1e10),
    ),
    max_detections=(100, 1000),
    per_image=False,
    agnostic=True,
    judged_only=False,
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=(),
    parts=(),
    report=("AR{limit}", "AR{area}"),
)  # fmt: skip
"""Boxes whatever their category, the most similar pair first; recall with 100 and 1,000 proposals per image."""

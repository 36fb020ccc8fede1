"""Recall of proposals, as Detectron computes it."""

from apframe.matching.matchers import BySimilarity
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import COCO_101
from apframe.protocols.coco import COCO_AREAS
from apframe.protocols.given import linspace
from apframe.protocols.protocol import Protocol
from apframe.protocols.ranges import AreaRange
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.standard import STANDARD_ROWS
from apframe.similarity.box_iou import BoxIoU

PURPOSES = {
    "PROPOSALS": "recall of proposals without categories",
}

PROPOSALS = Protocol(
    name="PROPOSALS",
    citation="Hosang et al., What makes for effective detection proposals?, PAMI 2016; Detectron2, _evaluate_box_proposals",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=BySimilarity(ties="input"),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(COCO_101),),
    ranges=(
        *COCO_AREAS, AreaRange("96-128", 96.0**2, 128.0**2), AreaRange("128-256", 128.0**2, 256.0**2),
        AreaRange("256-512", 256.0**2, 512.0**2), AreaRange("512-inf", 512.0**2, 1e10),
    ),
    max_detections=(100, 1000),
    agnostic=True,
    headlines=("AR{limit}", "AR{area}"),
    rules=(MalformedIgnoredByArea(), *STANDARD_ROWS, CrowdsIgnored()),
)  # fmt: skip
"""Boxes of any category, the most similar pair first; recall with 100 and 1,000 proposals per image."""

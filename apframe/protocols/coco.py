"""COCO's challenges of boxes, masks, keypoints and boundaries, as pycocotools 2.0.11 computes them."""

from dataclasses import replace

from apframe.matching.matchers import ByScore
from apframe.metrics.definitions import COCO_101
from apframe.protocols.given import ALL_AREAS, linspace
from apframe.protocols.protocol import COCO_REPORT, Protocol
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.ignored import IgnoreWithoutKeypoints
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.standard import STANDARD_ROWS
from apframe.similarity.boundary_iou import BoundaryIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.keypoints import OKS
from apframe.similarity.mask_iou import MaskIoU

_SMALL, _MEDIUM, _LARGE = ("small", 0.0, 32.0**2), ("medium", 32.0**2, 96.0**2), ("large", 96.0**2, 1e10)
COCO_AREAS = (ALL_AREAS, _SMALL, _MEDIUM, _LARGE)

_BOXES = Protocol(
    name="COCO",
    citation="Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014; pycocotools 2.0.11, COCOeval",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScore(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=COCO_101,
    adds_spacing=True,
    area_ranges=COCO_AREAS,
    max_detections=(1, 10, 100),
    report=COCO_REPORT,
    rules=(
        MalformedIgnoredByArea(),
        *STANDARD_ROWS,
        CrowdsIgnored(),
    ),
)
_MASKS = replace(_BOXES, iou_type="segm", similarity=MaskIoU())
_KEYPOINTS = replace(
    _BOXES,
    iou_type="keypoints",
    similarity=OKS(),
    rules=(*_BOXES.rules, IgnoreWithoutKeypoints()),
    area_ranges=(ALL_AREAS, _MEDIUM, _LARGE),
    max_detections=(20,),
    report=("AP", "AP50", "AP75", "AP{area}", "AR", "AR50", "AR75", "AR{area}"),
)
_BOUNDARIES = replace(
    _MASKS,
    iou_type="boundary",
    similarity=BoundaryIoU(),
    citation="Cheng et al., Boundary IoU: Improving Object-Centric Image Segmentation Evaluation, CVPR 2021; boundary-iou-api",
)

COCO = replace(_BOXES, variants=(_MASKS, _KEYPOINTS, _BOUNDARIES))
"""Boxes: ten IoU thresholds .50 to .95, 101 recall levels, four area ranges, at most 1, 10 and 100 detections."""

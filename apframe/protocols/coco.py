"""COCO's challenges of boxes, masks, keypoints and boundaries, as pycocotools 2.0.11 computes them."""

from dataclasses import replace

from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import COCO_101
from apframe.metrics.points import SPACING
from apframe.protocols.given import linspace
from apframe.protocols.protocol import COCO_LINES, Protocol
from apframe.protocols.ranges import ALL, AreaRange
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.ignored import IgnoreWithoutKeypoints
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.standard import STANDARD_ROWS
from apframe.similarity.boundary_iou import BoundaryIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_iou import MaskIoU
from apframe.similarity.oks import OKS

PURPOSES = {
    "COCO": "objects, masks, keypoints and boundaries; the usual choice",
}

_MEDIUM, _LARGE = AreaRange("medium", 32.0**2, 96.0**2), AreaRange("large", 96.0**2, 1e10)
COCO_AREAS = (ALL, AreaRange("small", 0.0, 32.0**2), _MEDIUM, _LARGE)

_BOXES = Protocol(
    name="COCO",
    citation="Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014; pycocotools 2.0.11, COCOeval",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScore(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(COCO_101, SPACING),),
    ranges=COCO_AREAS,
    max_detections=(1, 10, 100),
    headlines=COCO_LINES,
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
    ranges=(ALL, _MEDIUM, _LARGE),
    max_detections=(20,),
    headlines=("AP", "AP50", "AP75", "AP{area}", "AR", "AR50", "AR75", "AR{area}"),
)
_BOUNDARIES = replace(
    _MASKS,
    iou_type="boundary",
    similarity=BoundaryIoU(),
    citation="Cheng et al., Boundary IoU: Improving Object-Centric Image Segmentation Evaluation, CVPR 2021; boundary-iou-api",
)

COCO = replace(_BOXES, variants=(_MASKS, _KEYPOINTS, _BOUNDARIES))
"""Boxes: ten IoU thresholds .50 to .95, 101 recall levels, four area ranges, at most 1, 10 and 100 detections."""

"""LVIS: large vocabularies, where not every category is judged on every image; as lvis-api 0.5.3 computes it."""

from dataclasses import replace

from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import COCO_101
from apframe.metrics.points import SPACING
from apframe.protocols.coco import COCO_AREAS
from apframe.protocols.given import linspace
from apframe.protocols.headlines import Part
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.ignored import AnnotationsWithArea, DetectionsWithArea, IgnoreFlagged
from apframe.protocols.rules.judged import JudgedOnly
from apframe.protocols.rules.limits import LimitPerImage
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.boundary_iou import BoundaryIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_iou import MaskIoU

PURPOSES = {
    "LVIS": "many categories, each annotated in some images only",
}

_BOXES = Protocol(
    name="LVIS",
    citation="Gupta et al., LVIS: A Dataset for Large Vocabulary Instance Segmentation, CVPR 2019; lvis-api 0.5.3, LVISEval",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScore(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(COCO_101, SPACING),),
    ranges=COCO_AREAS,
    max_detections=(300,),
    headlines=(
        "AP",
        "AP50",
        "AP75",
        "AP{area}",
        "AP{part}",
        "AR{limit}",
        "AR{area}",
        *(Part(name, "categories", "frequency", equals=name) for name in ("r", "c", "f")),
    ),
    rules=(
        LimitPerImage(),
        MalformedIgnoredByArea(),
        *STANDARD_SHAPES,
        AnnotationsWithArea(),
        *STANDARD_LISTS,
        JudgedOnly(),
        DetectionsWithArea(),
        IgnoreFlagged(),
    ),
)

LVIS = replace(
    _BOXES,
    variants=(
        replace(_BOXES, iou_type="segm", similarity=MaskIoU()),
        replace(_BOXES, iou_type="boundary", similarity=BoundaryIoU()),
    ),
)
"""Boxes: as COCO, with 300 detections per image, verified categories only, and AP of rare, common and frequent ones."""

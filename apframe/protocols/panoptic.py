"""Panoptic segmentation: COCO's panoptic quality, and Cityscapes', which has the same rules."""

from dataclasses import replace

from apframe.metrics.sums_of_matches import PanopticQuality
from apframe.protocols.classes import ALL_CLASSES, Part
from apframe.protocols.given import ALL_AREAS
from apframe.protocols.protocol import Protocol
from apframe.similarity.panoptic_boundary_iou import PanopticBoundaryIoU
from apframe.similarity.panoptic_iou import PanopticIoU

_SEGMENTS = Protocol(
    name="COCO_PANOPTIC",
    citation="Kirillov et al., Panoptic Segmentation, CVPR 2019; panopticapi, evaluation.py",
    iou_type="panoptic",
    similarity=PanopticIoU(),
    matching="score",
    strict=True,
    ties="input",
    crowds="ignored",
    ignores=(),
    iou_thresholds=(0.5,),
    definition=PanopticQuality(),
    adds_spacing=False,
    classes=ALL_CLASSES,
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=None,
    malformed="counted",
    area_ranges=(ALL_AREAS,),
    max_detections=(None,),
    per_image=False,
    agnostic=False,
    judged_only=False,
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=("mostly_void", "known_categories", "known_images_only"),
    parts=(Part("_things", "categories", "isthing", above=0), Part("_stuff", "categories", "isthing", up_to=0)),
    report=("PQ", "SQ", "RQ", "PQ{part}", "SQ{part}", "RQ{part}"),
)
_BOUNDARIES = replace(_SEGMENTS, iou_type="panoptic_boundary", similarity=PanopticBoundaryIoU())

COCO_PANOPTIC = replace(_SEGMENTS, variants=(_BOUNDARIES,))
"""PQ, SQ and RQ of all categories, of things and of stuff: IoU above .5, void pixels left out."""
CITYSCAPES_PANOPTIC = replace(
    COCO_PANOPTIC,
    name="CITYSCAPES_PANOPTIC",
    citation="Kirillov et al., Panoptic Segmentation, CVPR 2019; cityscapesScripts, evalPanopticSemanticLabeling.py",
    variants=(replace(_BOUNDARIES, name="CITYSCAPES_PANOPTIC", citation="cityscapesScripts; boundary-iou-api"),),
)
"""As `COCO_PANOPTIC`: the kit writes its annotations in COCO's format, and evaluates these by the same rules."""

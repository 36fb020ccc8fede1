"""Panoptic segmentation: COCO's panoptic quality, and Cityscapes', which has the same rules."""

from dataclasses import replace

from apframe.metrics.sums_of_matches import PanopticQuality
from apframe.protocols.classes import Part
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
    iou_thresholds=(0.5,),
    definition=PanopticQuality(),
    malformed="counted",
    max_detections=(None,),
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

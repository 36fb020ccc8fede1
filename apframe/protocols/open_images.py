"""Open Images: a hierarchy of classes, boxes of groups, labels verified per image; as TensorFlow's API does it."""

from dataclasses import replace

from apframe.metrics.definitions import Interpolated
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_or_box_iou import MaskOrBoxIoU

_BOXES = Protocol(
    name="OPEN_IMAGES",
    citation="Kuznetsova et al., The Open Images Dataset V4, IJCV 2020; TensorFlow Object Detection API, "
    "OpenImagesDetectionEvaluator",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="best_overlap",
    ties="later",
    crowds="ignored",
    iou_thresholds=(0.5,),
    definition=Interpolated(),
    malformed="detections_left_out",
    max_detections=(None,),
    expands_hierarchy=True,
    further_rules=("detections_with_area",),
    report=("AP",),
)
_CHALLENGE = replace(
    _BOXES,
    name="OPEN_IMAGES_CHALLENGE",
    citation="Open Images Challenge 2018 and 2019; TensorFlow Object Detection API, OpenImagesChallengeEvaluator",
    crowds="counted",
    judged_only=True,
)


def _with_masks(boxes: Protocol) -> Protocol:
    """The protocol, with masks as another variant: annotations without one are tried last, by boxes, and do not count."""
    return replace(boxes, variants=(replace(boxes, iou_type="segm", similarity=MaskOrBoxIoU(), ignores=("no_mask",)),))


OPEN_IMAGES = _with_masks(_BOXES)
"""Boxes, best overlap of .5 or more; what lies inside a group (`is_crowd`) and is not true otherwise is ignored.

Masks (`iou_type="segm"`) are compared first. A detection that matches neither a mask nor a group with one is compared with
annotations that have no mask, by its tight box, and ignored if it matches one.
"""

OPEN_IMAGES_CHALLENGE = _with_masks(_CHALLENGE)
"""As `OPEN_IMAGES`, where a group is one more positive, and only the classes verified on an image are judged there."""

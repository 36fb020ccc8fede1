"""Open Images: a hierarchy of classes, boxes of groups, labels verified per image; as in TensorFlow's API."""

from dataclasses import replace

from apframe.matching.matchers import ByBestOverlap
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.crowds import CrowdsCountOnce, CrowdsIgnored
from apframe.protocols.rules.hierarchy import ExpandHierarchy
from apframe.protocols.rules.ignored import DetectionsWithArea, IgnoreWithoutMask
from apframe.protocols.rules.judged import JudgedOnly
from apframe.protocols.rules.malformed import MalformedDetectionsLeftOut
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_or_box_iou import MaskOrBoxIoU

PURPOSES = {
    "OPEN_IMAGES": "Open Images: category hierarchy, boxes of groups",
    "OPEN_IMAGES_CHALLENGE": "Open Images challenges: verified labels, groups count once",
}

_RULES = (
    MalformedDetectionsLeftOut(), *STANDARD_SHAPES, ExpandHierarchy(), *STANDARD_LISTS, DetectionsWithArea(), CrowdsIgnored(),
)  # fmt: skip
_OF_CHALLENGE = (
    MalformedDetectionsLeftOut(), *STANDARD_SHAPES, ExpandHierarchy(), *STANDARD_LISTS, JudgedOnly(), DetectionsWithArea(),
    CrowdsCountOnce(),
)  # fmt: skip
_BOXES = Protocol(
    name="OPEN_IMAGES",
    citation="Kuznetsova et al., The Open Images Dataset V4, IJCV 2020; TensorFlow Object Detection API, "
    "OpenImagesDetectionEvaluator",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByBestOverlap(ties="later"),
    iou_thresholds=(0.5,),
    metrics=(AveragePrecision(Interpolated()),),
    max_detections=(None,),
    headlines=("AP",),
    rules=_RULES,
)
_CHALLENGE = replace(
    _BOXES,
    name="OPEN_IMAGES_CHALLENGE",
    citation="Open Images Challenge 2018 and 2019; TensorFlow Object Detection API, OpenImagesChallengeEvaluator",
    matcher=ByBestOverlap(ties="later", counts_groups=True),
    rules=_OF_CHALLENGE,
)


def _with_masks(boxes: Protocol) -> Protocol:
    """Return the protocol with a variant for masks: annotations without a mask are tried last, by boxes, and do not count."""
    return replace(
        boxes,
        variants=(
            replace(
                boxes, iou_type="segm", similarity=MaskOrBoxIoU(), rules=(boxes.rules[0], IgnoreWithoutMask(), *boxes.rules[1:])
            ),
        ),
    )


OPEN_IMAGES = _with_masks(_BOXES)
"""Boxes, best overlap of .5 or more; a detection inside a group (`is_crowd`) that is not a true positive is ignored.

Masks (`iou_type="segm"`) are compared first. A detection that matches neither a mask nor a group with a mask is compared with
annotations that have no mask, by its tight box, and ignored if it matches one.
"""

OPEN_IMAGES_CHALLENGE = _with_masks(_CHALLENGE)
"""As `OPEN_IMAGES`, but a group is one more positive, and only the classes verified on an image are judged there."""

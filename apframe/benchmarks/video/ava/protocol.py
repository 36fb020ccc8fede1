"""AVA's task of spatio-temporal actions: boxes of people in frames of videos, one row for each action (frame mAP)."""

from apframe.matching.matchers import ByBestOverlap
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.protocols.kit_table import named, of_classes
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.ignored import DetectionsWithArea
from apframe.protocols.rules.known import KnownImagesOnly
from apframe.protocols.rules.limits import LimitPerImage
from apframe.protocols.rules.malformed import MalformedDetectionsLeftOut
from apframe.protocols.rules.standard import STANDARD_ROWS
from apframe.similarity.box_iou import BoxIoU

PURPOSES = {
    "AVA": "actions of people in frames of videos: frame mAP at IoU 0.5",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""

AVA = Protocol(
    name="AVA",
    citation="Gu et al., AVA: A Video Dataset of Spatio-temporally Localized Atomic Visual Actions, CVPR 2018; ActivityNet "
    "evaluation, get_ava_performance.py",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByBestOverlap(ties="input"),
    iou_thresholds=(0.5,),
    metrics=(AveragePrecision(Interpolated()),),
    max_detections=(50,),
    headlines=("AP",),
    rules=(
        LimitPerImage(known_only=True),
        MalformedDetectionsLeftOut(),
        *STANDARD_ROWS,
        DetectionsWithArea(),
        KnownImagesOnly(),
    ),
    tables=(of_classes(*named("AP")),),
)
"""Boxes of people, the 50 best rows of a frame over all actions, best overlap of .5 or more."""

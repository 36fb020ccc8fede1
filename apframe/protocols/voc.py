"""PASCAL VOC's detection challenge: up to 2009 with eleven points, from 2010 with the area under the envelope."""

from dataclasses import replace

from apframe.matching.matchers import ByBestOverlap
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated, Voc2007
from apframe.protocols.kit_table import named, of_classes
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.standard import STANDARD_ROWS
from apframe.similarity.inclusive_box_iou import InclusiveBoxIoU

PURPOSES = {
    "VOC2007": "PASCAL VOC 2007: 11 recall levels, IoU 0.5",
    "VOC2012": "PASCAL VOC 2010 and later: every recall level, IoU 0.5",
}

VOC2007 = Protocol(
    name="VOC2007",
    citation="Everingham et al., The PASCAL Visual Object Classes (VOC) Challenge, IJCV 2010; VOC2007 development kit",
    iou_type="bbox",
    similarity=InclusiveBoxIoU(),
    matcher=ByBestOverlap(ties="input", strict=True),
    iou_thresholds=(0.5,),
    metrics=(AveragePrecision(Voc2007()),),
    max_detections=(None,),
    headlines=("AP",),
    rules=(
        MalformedCounts(),
        *STANDARD_ROWS,
        CrowdsIgnored(),
        IgnoreFlagged(),
    ),
    tables=(of_classes(*named("AP")),),
)
"""Boxes with inclusive pixels, best overlap above .5, eleven recall levels; difficult objects (`ignore`) are ignored."""

VOC2012 = replace(
    VOC2007,
    name="VOC2012",
    citation="Everingham et al., The PASCAL Visual Object Classes Challenge: A Retrospective, IJCV 2015; "
    "VOC2012 development kit",
    metrics=(AveragePrecision(Interpolated()),),
)
"""As `VOC2007`, but with the area under the envelope of precision, as from 2010 on."""

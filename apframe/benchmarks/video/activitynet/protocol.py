"""ActivityNet's task of temporal localisation: intervals in videos."""

from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.protocols.given import linspace
from apframe.protocols.kit_table import KitColumn, KitTable
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.known import RequireKnownCategories
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.interval_iou import IntervalIoU

PURPOSES = {
    "ACTIVITYNET": "actions as time intervals of videos",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""

ACTIVITYNET = Protocol(
    name="ACTIVITYNET",
    citation="Heilbron et al., ActivityNet: A Large-Scale Video Benchmark for Human Activity Understanding, CVPR 2015; "
    "ActivityNet evaluation, eval_detection.py",
    iou_type="interval",
    similarity=IntervalIoU(instants_match=True),
    matcher=ByScore(ties="later"),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(Interpolated()),),
    max_detections=(None,),
    headlines=("AP", "AP50", "AP75", "AP95"),
    rules=(
        MalformedCounts(),
        *STANDARD_SHAPES,
        RequireKnownCategories(),
        *STANDARD_LISTS,
    ),
    tables=(
        KitTable(
            (*(KitColumn(f"mAP@0.{tiou}", f"AP{tiou}") for tiou in ("50", "75", "95")), KitColumn("Average-mAP", "AP")),
            iou_thresholds=linspace(0.5, 0.95, 10),
        ),
    ),
)
"""Intervals of seconds (an image is a video), best score first, ten thresholds .50 to .95, area under the envelope.

Of equal scores, and of equally similar intervals, the later one comes first. A prediction of length 0 matches any annotated
interval of length 0 in its video, as in the kit."""

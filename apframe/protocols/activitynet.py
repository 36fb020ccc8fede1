"""ActivityNet's task of temporal localisation: intervals in videos."""

from apframe.metrics.definitions import Interpolated
from apframe.protocols.classes import ALL_CLASSES
from apframe.protocols.given import ALL_AREAS, linspace
from apframe.protocols.protocol import Protocol
from apframe.similarity.interval_iou import IntervalIoU

ACTIVITYNET = Protocol(
    name="ACTIVITYNET",
    citation="Heilbron et al., ActivityNet: A Large-Scale Video Benchmark for Human Activity Understanding, CVPR 2015; "
    "ActivityNet evaluation, eval_detection.py",
    iou_type="interval",
    similarity=IntervalIoU(instants_match=True),
    matching="score",
    strict=False,
    ties="later",
    crowds="ordinary",
    ignores=(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=Interpolated(),
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
    further_rules=("known_categories",),
    parts=(),
    report=("AP", "AP50", "AP75", "AP95"),
)
"""Intervals of seconds (an image is a video), best score first, ten thresholds .50 to .95, area under the envelope.

Of equal scores, and of equally similar intervals, the later one comes first. A prediction of length 0 matches any annotated
interval of length 0 in its video, as in the kit."""

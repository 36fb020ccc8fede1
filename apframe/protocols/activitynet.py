"""ActivityNet's task of temporal localisation: intervals in videos."""

from apframe.protocols.protocol import Protocol
from apframe.ranking.definitions import Interpolated
from apframe.similarity.interval_iou import IntervalIoU

ACTIVITYNET = Protocol(
    name="ACTIVITYNET",
    citation="Heilbron et al., ActivityNet: A Large-Scale Video Benchmark for Human Activity Understanding, CVPR 2015; "
    "ActivityNet evaluation, eval_detection.py",
    iou_type="interval",
    similarity=IntervalIoU(),
    ties="input",
    crowds="ordinary",
    definition=Interpolated(),
    max_detections=(None,),
    report=("AP", "AP50", "AP75", "AP95"),
)
"""Intervals of seconds (an image is a video), best score first, ten thresholds .50 to .95, area under the envelope."""

"""VisDrone's detection in images from drones."""

from dataclasses import replace

from apframe.metrics.definitions import Interpolated
from apframe.protocols.classes import Classes
from apframe.protocols.given import linspace
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

VISDRONE = Protocol(
    name="VISDRONE",
    citation="Zhu et al., Detection and Tracking Meet Drones Challenge, TPAMI 2021; VisDrone2018-DET-toolkit, evalDET.m",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="score",
    ties="image",
    crowds="missed",
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=Interpolated(),
    classes=Classes(
        names=(
            "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor",
        ),
        excluded=("ignored regions",),
    ),
    malformed="counted",
    max_detections=(1, 10, 100, 500),
    further_rules=("limits_by_rows", "means_by_images"),
    report=("AP", "AP50", "AP75", "AR{limit}"),
)  # fmt: skip
"""Ten classes. Objects with a score of 0 in the ground truth are crowds: detections in them are ignored, they count as missed.

The limits take the first rows of each image's file. A class counts in the means once for each image that it is in.
"""

VISDRONE_MEAN = replace(VISDRONE, name="VISDRONE_MEAN", further_rules=("limits_by_rows",))
"""As `VISDRONE`, with the plain mean over the classes."""

"""VisDrone's detection in images from drones."""

from dataclasses import replace

from apframe.metrics.definitions import Interpolated
from apframe.protocols.classes import Classes
from apframe.protocols.given import ALL_AREAS, linspace
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

VISDRONE = Protocol(
    name="VISDRONE",
    citation="Zhu et al., Detection and Tracking Meet Drones Challenge, TPAMI 2021; VisDrone2018-DET-toolkit, evalDET.m",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="score",
    strict=False,
    ties="image",
    crowds="missed",
    ignores=(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=Interpolated(),
    adds_spacing=False,
    classes=Classes(
        names=(
            "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor",
        ),
        excluded=("ignored regions",),
    ),
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=None,
    malformed="counted",
    area_ranges=(ALL_AREAS,),
    max_detections=(1, 10, 100, 500),
    per_image=False,
    agnostic=False,
    judged_only=False,
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=("limits_by_rows", "means_by_images"),
    parts=(),
    report=("AP", "AP50", "AP75", "AR{limit}"),
)  # fmt: skip
"""Ten classes. Objects with a score of 0 in the ground truth are crowds: detections in them are ignored, they count as missed.

The limits take the first rows of each image's file. A class counts in the means once for each image that it is in.
"""

VISDRONE_MEAN = replace(VISDRONE, name="VISDRONE_MEAN", further_rules=("limits_by_rows",))
"""As `VISDRONE`, with the plain mean over the classes."""

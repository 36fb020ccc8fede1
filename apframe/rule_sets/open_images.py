"""Open Images: a hierarchy of classes, boxes of groups, labels verified per image; as TensorFlow's API does it."""

from dataclasses import replace

from apframe.ranking.definitions import Interpolated
from apframe.rule_sets.classes import ALL_CLASSES
from apframe.rule_sets.given import ALL_AREAS
from apframe.rule_sets.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

OPEN_IMAGES = Protocol(
    name="OPEN_IMAGES",
    citation="Kuznetsova et al., The Open Images Dataset V4, IJCV 2020; TensorFlow Object Detection API, "
    "OpenImagesDetectionEvaluator",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="best_overlap",
    strict=False,
    ties="input",
    crowds="ignored",
    ignores=(),
    iou_thresholds=(0.5,),
    definition=Interpolated(),
    adds_spacing=False,
    classes=ALL_CLASSES,
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=None,
    area_ranges=(ALL_AREAS,),
    max_detections=(None,),
    per_image=False,
    agnostic=False,
    judged_only=False,
    expands_hierarchy=True,
    detected_images_only=False,
    with_area_only=False,
    further_rules=(),
    parts=(),
    report=("AP",),
)
"""Boxes, best overlap of .5 or more; what lies inside a group (`is_crowd`) and is not true otherwise is ignored."""

OPEN_IMAGES_CHALLENGE = replace(
    OPEN_IMAGES,
    name="OPEN_IMAGES_CHALLENGE",
    citation="Open Images Challenge 2018 and 2019; TensorFlow Object Detection API, OpenImagesChallengeEvaluator",
    crowds="counted",
    judged_only=True,
)
"""As `OPEN_IMAGES`, where a group is one more positive, and only the classes verified on an image are judged there."""

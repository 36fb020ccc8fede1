"""Open Images: a hierarchy of classes, boxes of groups, labels verified per image; as TensorFlow's API does it."""

from dataclasses import replace

from apframe.protocols.protocol import Protocol
from apframe.ranking.definitions import Interpolated

OPEN_IMAGES = Protocol(
    name="OPEN_IMAGES",
    citation="Kuznetsova et al., The Open Images Dataset V4, IJCV 2020; TensorFlow Object Detection API, "
    "OpenImagesDetectionEvaluator",
    ties="input",
    matching="best_overlap",
    iou_thresholds=(0.5,),
    definition=Interpolated(),
    max_detections=(None,),
    expands_hierarchy=True,
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

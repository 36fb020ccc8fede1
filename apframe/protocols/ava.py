"""AVA's task of spatio-temporal actions: boxes of people in frames of videos, one row for each action (frame mAP)."""

from apframe.metrics.definitions import Interpolated
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

AVA = Protocol(
    name="AVA",
    citation="Gu et al., AVA: A Video Dataset of Spatio-temporally Localized Atomic Visual Actions, CVPR 2018; ActivityNet "
    "evaluation, get_ava_performance.py",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="best_overlap",
    ties="input",
    crowds="ordinary",
    iou_thresholds=(0.5,),
    definition=Interpolated(),
    malformed="detections_left_out",
    max_detections=(50,),
    per_image=True,
    further_rules=("detections_with_area", "known_images_only", "limits_known_categories"),
    report=("AP",),
)
"""Boxes of people, the 50 best rows of a frame over all actions, best overlap of .5 or more."""

"""DOTA's task 1: rotated boxes in aerial images."""

from apframe.ranking.definitions import Voc2007
from apframe.rule_sets.classes import ALL_CLASSES
from apframe.rule_sets.given import ALL_AREAS
from apframe.rule_sets.protocol import Protocol
from apframe.similarity.rotated_iou import RotatedIoU

DOTA = Protocol(
    name="DOTA",
    citation="Xia et al., DOTA: A Large-scale Dataset for Object Detection in Aerial Images, CVPR 2018; DOTA_devkit, "
    "dota_evaluation_task1",
    iou_type="rotated",
    similarity=RotatedIoU(),
    matching="best_overlap",
    strict=True,
    ties="input",
    crowds="ignored",  # the reference knows none; this is for data of other sources that flags some
    ignores=("ignore",),
    iou_thresholds=(0.5,),
    definition=Voc2007(),
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
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=(),
    parts=(),
    report=("AP",),
)
"""As `VOC2007`, with rotated boxes."""

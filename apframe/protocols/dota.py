"""DOTA's task 1: rotated boxes in aerial images."""

from apframe.protocols.protocol import Protocol
from apframe.ranking.definitions import Voc2007
from apframe.similarity.rotated_iou import RotatedIoU

DOTA = Protocol(
    name="DOTA",
    citation="Xia et al., DOTA: A Large-scale Dataset for Object Detection in Aerial Images, CVPR 2018; DOTA_devkit, "
    "dota_evaluation_task1",
    iou_type="rotated",
    similarity=RotatedIoU(),
    ties="input",
    matching="best_overlap",
    strict=True,
    ignores=("ignore",),
    iou_thresholds=(0.5,),
    definition=Voc2007(),
    max_detections=(None,),
    report=("AP",),
)
"""Rotated boxes, best overlap above .5, eleven recall levels; what is difficult (`ignore`) is ignored."""

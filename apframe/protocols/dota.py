"""DOTA's task 1: rotated boxes in aerial images."""

from dataclasses import replace

from apframe.protocols.voc import VOC2007
from apframe.similarity.rotated_iou import RotatedIoU

DOTA = replace(
    VOC2007,
    name="DOTA",
    citation="Xia et al., DOTA: A Large-scale Dataset for Object Detection in Aerial Images, CVPR 2018; DOTA_devkit, "
    "dota_evaluation_task1",
    iou_type="rotated",
    similarity=RotatedIoU(),
)
"""As `VOC2007`, with rotated boxes."""

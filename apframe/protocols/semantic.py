"""Semantic segmentation: IoU of the pixels of each class."""

from apframe.metrics.sums_of_matches import PixelIoU
from apframe.protocols.protocol import Protocol
from apframe.similarity.label_iou import LabelIoU

SEMANTIC = Protocol(
    name="SEMANTIC",
    citation="Long et al., Fully Convolutional Networks, CVPR 2015; cityscapesScripts, evalPixelLevelSemanticLabeling.py",
    iou_type="semantic",
    similarity=LabelIoU(),
    matching="score",
    strict=True,
    ties="input",
    crowds="ordinary",
    iou_thresholds=(0.0,),
    definition=PixelIoU(),
    malformed="absent",
    max_detections=(None,),
    further_rules=("known_images_only",),
    report=("mIoU", "fwIoU", "mACC", "pACC"),
)
"""IoU of each class over the pixels of all images, their mean, and the shares of pixels that are right."""

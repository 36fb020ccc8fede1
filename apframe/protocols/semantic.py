"""Semantic segmentation: IoU of the pixels of each class."""

from apframe.metrics.sums_of_matches import PixelIoU
from apframe.protocols.classes import ALL_CLASSES
from apframe.protocols.given import ALL_AREAS
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
    ignores=(),
    iou_thresholds=(0.0,),
    definition=PixelIoU(),
    adds_spacing=False,
    classes=ALL_CLASSES,
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=None,
    malformed="absent",
    area_ranges=(ALL_AREAS,),
    max_detections=(None,),
    per_image=False,
    agnostic=False,
    judged_only=False,
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=("known_images_only",),
    parts=(),
    report=("mIoU", "fwIoU", "mACC", "pACC"),
)
"""IoU of each class over the pixels of all images, their mean, and the shares of pixels that are right."""

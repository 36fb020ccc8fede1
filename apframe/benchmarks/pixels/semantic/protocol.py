"""Semantic segmentation: IoU of the pixels of each class."""

from apframe.benchmarks.pixels.semantic.label_iou import LabelIoU
from apframe.benchmarks.pixels.semantic.metric import PixelIoU
from apframe.matching.matchers import ByScore
from apframe.protocols.kit_table import EachCategory, KitColumn, KitTable, named
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.known import KnownImagesOnly
from apframe.protocols.rules.malformed import MalformedRefused
from apframe.protocols.rules.standard import STANDARD_ROWS

PURPOSES = {
    "SEMANTIC": "IoU of the pixels of each class: mIoU, fwIoU, accuracies",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = {"semantic": "label_maps"}
"""The file format of a protocol, if its name differs from the protocol's."""

SEMANTIC = Protocol(
    name="SEMANTIC",
    citation="Long et al., Fully Convolutional Networks, CVPR 2015; cityscapesScripts, evalPixelLevelSemanticLabeling.py",
    iou_type="semantic",
    similarity=LabelIoU(),
    matcher=ByScore(ties="input", strict=True),
    iou_thresholds=(0.0,),
    metrics=(PixelIoU(),),
    max_detections=(None,),
    headlines=("mIoU", "fwIoU", "mACC", "pACC"),
    rules=(
        MalformedRefused(kit="has no such rows"),
        *STANDARD_ROWS,
        KnownImagesOnly(),
    ),
    tables=(
        KitTable((KitColumn("IoU", "mIoU"), KitColumn("Acc", "mACC")), (EachCategory(),), head=("class",)),
        KitTable(named("mIoU", "fwIoU", "mACC", "pACC")),
    ),
)
"""IoU of each class over the pixels of all images, their mean, and the shares of pixels that are right."""

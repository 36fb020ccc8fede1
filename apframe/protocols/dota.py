"""DOTA's rotated boxes in aerial images: by the rules of its devkit, and as mmrotate prints them."""

from dataclasses import replace

from apframe.metrics.definitions import Voc2007
from apframe.protocols.classes import Classes
from apframe.protocols.protocol import Protocol
from apframe.similarity.rotated_iou import RotatedIoU

_CLASSES = (
    "plane", "baseball-diamond", "bridge", "ground-track-field", "small-vehicle", "large-vehicle", "ship", "tennis-court",
    "basketball-court", "storage-tank", "soccer-ball-field", "roundabout", "harbor", "swimming-pool", "helicopter",
)  # fmt: skip
_PAPER = "Xia et al., DOTA: A Large-scale Dataset for Object Detection in Aerial Images, CVPR 2018"
DOTA = Protocol(
    name="DOTA",
    citation=f"{_PAPER}; DOTA_devkit, dota_evaluation_task1",
    iou_type="rotated",
    similarity=RotatedIoU(),
    matching="best_overlap",
    strict=True,
    ties="input",
    crowds="ignored",  # the reference knows none; this is for data of other sources that flags some
    ignores=("ignore",),
    iou_thresholds=(0.5,),
    definition=Voc2007(),
    malformed="signed",
    max_detections=(None,),
    report=("AP",),
)
"""As `VOC2007`, with rotated boxes; over whatever categories the data have."""

DOTA_V1 = replace(DOTA, name="DOTA_V1", classes=Classes(_CLASSES, counts_absent=True))
"""What the devkit prints for DOTA v1.0: the mean over its 15 classes, 0 for one that is not in the data."""

DOTA_V15 = replace(
    DOTA,
    name="DOTA_V15",
    citation=f"{_PAPER}; DOTA_devkit, dota-v1.5_evaluation_task1",
    crowds="ordinary",
    ignores=(),
    classes=Classes((*_CLASSES, "container-crane"), counts_absent=True),
)
"""What the devkit prints for DOTA v1.5: 16 classes. Its script does not read whether objects are difficult, so all count."""

MMROTATE = replace(
    DOTA,
    name="MMROTATE",
    citation="Zhou et al., MMRotate: A Rotated Object Detection Benchmark using PyTorch, ACM MM 2022; "
    "mmrotate/core/evaluation/eval_map.py and datasets/dota.py",
    strict=False,
    crowds="ordinary",
    ignores=(),
    malformed="enclosed",
    further_rules=("narrow_left_out",),
)
"""What mmrotate prints while it trains: difficult objects count, an IoU of exactly .5 is enough.

Its images are patches of 1,024 pixels, which have to be the images of the data. It fits rectangles to the corners and compares
them in single precision; here the corners themselves are compared, in doubles. Annotations whose rectangle has a side below 2
pixels are left out, as mmrotate cannot fit one.
"""

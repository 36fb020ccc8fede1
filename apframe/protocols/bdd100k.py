"""BDD100K's boxes and instance masks, as its kit and Scalabel 0.3 compute them with pycocotools."""

from dataclasses import replace

from apframe.metrics.definitions import COCO_101
from apframe.protocols.classes import Classes
from apframe.protocols.coco import COCO_AREAS
from apframe.protocols.given import linspace
from apframe.protocols.protocol import COCO_REPORT, Protocol
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.mask_iou import MaskIoU

_CLASSES = Classes(
    names=(
        "pedestrian", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle", "traffic light", "traffic sign",
    ),
    renamed=(("bike", "bicycle"), ("caravan", "car"), ("motor", "motorcycle"), ("person", "pedestrian"), ("van", "car")),
    crowds=(("other person", "pedestrian"), ("other vehicle", "car"), ("trailer", "truck")),
)  # fmt: skip
_BOXES = Protocol(
    name="BDD100K",
    citation="Yu et al., BDD100K: A Diverse Driving Dataset for Heterogeneous Multitask Learning, CVPR 2020; bdd100k, "
    "configs/det.toml; scalabel 0.3.1, eval/detect.py and eval/ins_seg.py",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="score",
    ties="image",
    crowds="ignored",
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=COCO_101,
    adds_spacing=True,
    classes=_CLASSES,
    malformed="by_area",
    area_ranges=COCO_AREAS,
    max_detections=(1, 10, 100),
    further_rules=("known_images_only", "zero_without_detections"),
    report=COCO_REPORT,
)
_MASKS = replace(_BOXES, iou_type="segm", similarity=MaskIoU(), further_rules=(*_BOXES.further_rules, "disjoint_masks"))

BDD100K = replace(_BOXES, variants=(_MASKS,))
"""As `COCO`, for ten classes: others become one of them, some of these ignored."""

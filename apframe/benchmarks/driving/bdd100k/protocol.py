"""BDD100K's boxes and instance masks, as its kit and Scalabel 0.3 compute them with pycocotools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ShapesLeftOutWarning, warn
from apframe.protocols.coco import COCO
from apframe.protocols.kit_table import named, of_classes
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.known import KnownImagesOnly
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.means import ZeroWithoutDetections
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.extents import prepare_shapes
from apframe.similarity.mask_iou import MaskIoU, pair_masks
from apframe.similarity.pairs import lacking
from apframe.tables.ids import is_known
from apframe.wording import counted, listed

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "BDD100K": "boxes and instance masks of driving scenes, ten classes",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = {"bdd100k": "scalabel"}
"""The file format of a protocol, if its name differs from the protocol's."""


@dataclass(frozen=True)
class DisjointMasks(Rule):
    """Remove all detections of an image on which two predicted masks share a pixel, with a warning."""

    description: ClassVar[str] = "an image whose predicted masks overlap loses all its detections"

    def rows(self, inputs: Inputs) -> Inputs:
        """Remove the detections of images with overlapping masks.

        Raises
        ------
        ColumnError
            the detections have no masks
        """
        if "mask" not in inputs.protocol.similarity.needs or inputs.detections.is_empty():
            return inputs
        detections, images = inputs.detections, inputs.dataset.images
        if "mask" not in detections.columns:
            raise lacking(inputs.protocol.similarity, "detections", "mask")
        masks = inputs.prepared.get("detection_shapes")
        masks = masks or prepare_shapes("detections", detections, images, inputs.protocol.similarity)
        cells = detections.select(cell=pl.col("image_id").rank("dense"), is_crowd=pl.lit(False))
        overlapping = pair_masks(masks, masks, cells, cells, 0).filter(pl.col("detection") != pl.col("annotation"))["detection"]
        if overlapping.is_empty():
            return replace(inputs, prepared={**inputs.prepared, "detection_shapes": masks})
        lost = detections["image_id"].gather(overlapping).unique().sort()
        kept = ~is_known(detections["image_id"], lost)
        warn(
            f"predicted masks overlap on {counted(len(lost), 'image')} ({listed(lost.to_list())}), which lose all their "
            f"{counted(detections.height - int(kept.sum()), 'detection')} by the rules of {inputs.protocol.name}",
            ShapesLeftOutWarning,
        )
        return replace(inputs, prepared={"detection_shapes": masks}).keep_detections(kept)


_CLASSES = Classes(
    names=(
        "pedestrian", "rider", "car", "truck", "bus", "train", "motorcycle", "bicycle", "traffic light", "traffic sign",
    ),
    renamed=(("bike", "bicycle"), ("caravan", "car"), ("motor", "motorcycle"), ("person", "pedestrian"), ("van", "car")),
    crowds=(("other person", "pedestrian"), ("other vehicle", "car"), ("trailer", "truck")),
)  # fmt: skip
_ROWS = (MalformedIgnoredByArea(), *STANDARD_SHAPES, _CLASSES, *STANDARD_LISTS)
_BOXES = replace(
    COCO,
    name="BDD100K",
    citation="Yu et al., BDD100K: A Diverse Driving Dataset for Heterogeneous Multitask Learning, CVPR 2020; bdd100k, "
    "configs/det.toml; scalabel 0.3.1, eval/detect.py and eval/ins_seg.py",
    rules=(*_ROWS, CrowdsIgnored(), KnownImagesOnly(), ZeroWithoutDetections()),
    variants=(),
    tables=(
        of_classes(*named("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"), digits=1),
    ),
)
_MASKS = replace(
    _BOXES,
    iou_type="segm",
    similarity=MaskIoU(),
    rules=(*_ROWS, DisjointMasks(), CrowdsIgnored(), KnownImagesOnly(), ZeroWithoutDetections()),
)

BDD100K = replace(_BOXES, variants=(_MASKS,))
"""As `COCO`, for ten classes: others become one of them, some of these ignored."""

"""The numbers that Ultralytics prints while it trains and validates: boxes and masks, by version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.benchmarks.trainers.ultralytics.definition import Ultralytics, UltralyticsBefore
from apframe.benchmarks.trainers.ultralytics.printed import validation_table
from apframe.benchmarks.trainers.ultralytics.single_iou import SingleBoxIoU, SingleMaskIoU
from apframe.matching.matchers import ByBestOverlap, ByScoreFirstOfEquals
from apframe.metrics.average_precision import AveragePrecision
from apframe.protocols.given import linspace
from apframe.protocols.kit_table import KitTable
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.filters import Filter, KeepObjects
from apframe.protocols.rules.limits import LimitPerImage
from apframe.protocols.rules.malformed import MalformedRefused
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import OTHERS
from apframe.wording import Count, Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "ULTRALYTICS": "numbers of Ultralytics from 8.4.176 on: mAP50-95, mAP50",
    "ULTRALYTICS_8_4_175": "numbers of Ultralytics from 8.4.37 to 8.4.175",
    "ULTRALYTICS_8_4_35": "numbers of Ultralytics up to 8.4.36",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
TWINS = {"ULTRALYTICS": {"version": {"8.4.36": "ULTRALYTICS_8_4_35", "8.4.175": "ULTRALYTICS_8_4_175"}}}
"""The protocols that an option of another one selects; each version is the last one that they describe."""
FILES = {"ultralytics": "yolo"}
"""The file format of a protocol, if its name differs from the protocol's."""


@dataclass(frozen=True)
class LeaveOutRepeated(Rule):
    """Keep the first of several annotations of an image that are equal in category and shape.

    Centre and size of boxes are compared in single precision; polygons and keypoints must be equal too.

    Source: `verify_image_label` in `data/utils.py` of Ultralytics, which removes equal rows from a label file, with a warning.
    """

    description: ClassVar[str] = "annotations of an image that are equal in category and shape count once"

    def rows(self, inputs: Inputs) -> Inputs:
        """Remove repeated annotations, with a note of their number."""
        x, y, width, height = map(pl.col, BOX)
        middle = [(x + width / 2).alias("x"), (y + height / 2).alias("y"), width, height]
        keys = inputs.annotations.select("image_id", "category_id", *(each.cast(pl.Float32) for each in middle))
        is_like_another = keys.is_duplicated()
        note = "left out: {} that repeat another one of the same image, category and shape, as Ultralytics does"
        if not is_like_another.any():
            return inputs.saying(Note(note, [Count("annotation", 0, of=keys.height)]))
        annotations = inputs.dataset.annotations  # with the other shapes, possibly not read until now
        shapes = [column.name for shape in OTHERS for column in shape.columns if column.name in annotations.columns]
        rows = pl.concat([keys, annotations.select(shapes)], how="horizontal").filter(is_like_another)
        kept = (~is_like_another).scatter(is_like_another.arg_true(), rows.hash_rows().is_first_distinct())
        repeated = Note(note, [Count("annotation", int((~kept).sum()), of=annotations.height)])
        inputs = inputs.saying(repeated)
        return inputs if kept.all() else inputs.with_annotations(annotations.filter(kept))


_BOXES = Protocol(
    name="ULTRALYTICS",
    citation="Jocher et al., Ultralytics YOLO; ultralytics 8.4.176 and later, utils/metrics.py, engine/validator.py and "
    "models/yolo/detect/val.py",
    iou_type="bbox",
    similarity=SingleBoxIoU(),
    matcher=ByScoreFirstOfEquals(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(Ultralytics()),),
    max_detections=(300,),
    headlines=("AP", "AP50", "AP75"),
    rules=(
        LimitPerImage(),
        MalformedRefused(kit="leaves out the whole image"),
        *STANDARD_SHAPES,
        LeaveOutRepeated(),
        KeepObjects((Filter("score", above=0.001, table="detections"),)),
        *STANDARD_LISTS,
    ),
    tables=(
        KitTable(
            head=("Class",), digits=3, frame=validation_table, needs=("AP", "AP50"), iou_thresholds=linspace(0.5, 0.95, 10)
        ),
    ),
)
ULTRALYTICS = replace(_BOXES, variants=(replace(_BOXES, iou_type="segm", similarity=SingleMaskIoU()),))
"""Versions 8.4.176 and later: each detection takes its most similar free annotation; the curve ends at the last detection.

AP is printed as mAP50-95, AP50 as mAP50. Masks are compared in the size of the images, not of the network's output.
"""


def _earlier(name: str, last: str, definition: Ultralytics) -> Protocol:
    """Return the rules up to version `last`, in which a detection whose best annotation is taken tries no other."""

    def change(protocol: Protocol) -> Protocol:
        return replace(
            protocol,
            name=name,
            citation=protocol.citation.replace("8.4.176 and later", f"up to {last}"),
            matcher=ByBestOverlap(),
            metrics=(AveragePrecision(definition),),
        )

    return replace(change(ULTRALYTICS), variants=tuple(map(change, ULTRALYTICS.variants)))


ULTRALYTICS_8_4_175 = _earlier("ULTRALYTICS_8_4_175", "8.4.175", Ultralytics())
"""Versions 8.4.37 to 8.4.175: a detection can match only the annotation that it overlaps most."""

ULTRALYTICS_8_4_35 = _earlier("ULTRALYTICS_8_4_35", "8.4.36", UltralyticsBefore())
"""Versions 8.3 to 8.4.36: the same, but the curve continues from the last detection to recall 1 and precision 0."""

"""DOTA's rotated boxes in aerial images: by the rules of its devkit, and as mmrotate prints them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.matching.matchers import ByBestOverlap
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Voc2007
from apframe.protocols.kit_table import named, of_classes
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_ROWS, STANDARD_SHAPES
from apframe.protocols.voc import VOC2007
from apframe.similarity.rotated_iou import RotatedIoU
from apframe.wording import Count, Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "DOTA": "rotated boxes in aerial images",
    "DOTA_V1": "rotated boxes as in DOTA's devkit for v1.0: 15 classes",
    "DOTA_V15": "rotated boxes as in DOTA's devkit for v1.5: 16 classes",
    "MMROTATE": "rotated boxes of DOTA as in mmrotate",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = dict.fromkeys(("dota_v1", "dota_v15", "mmrotate"), "dota")
"""The file format of a protocol, if its name differs from the protocol's."""


@dataclass(frozen=True)
class MalformedSigned(MalformedCounts):
    """Give corners that do not go around a convex shape a signed area."""

    description: ClassVar[str] = (
        "corners that do not go around a convex shape have the area to their left minus the area to their right"
    )

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Return the table unchanged."""
        del table, inputs
        return frame


@dataclass(frozen=True)
class MalformedEnclosed(MalformedCounts):
    """Replace corners that do not go around a convex shape by the smallest rectangle. Source: `poly2obb_np` of mmrotate."""

    description: ClassVar[str] = "corners that do not go around a convex shape become the smallest rectangle around them"

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Replace such corners by rectangles."""
        from apframe.tables.shapes.corners import smallest_rectangles, with_other_corners

        del inputs
        return with_other_corners(table, frame, smallest_rectangles)


_NARROWEST = 2.0  # pixels


@dataclass(frozen=True)
class LeaveOutNarrow(Rule):
    """Leave out annotations whose smallest rectangle has a side below 2 pixels.

    Source: `load_annotations` of mmrotate's `dota.py`, which skips annotations that `poly2obb_np` finds too narrow.
    """

    description: ClassVar[str] = "an annotation whose smallest rectangle has a side below 2 pixels is left out"

    def rows(self, inputs: Inputs) -> Inputs:
        """Remove narrow annotations, with a note."""
        annotations = inputs.annotations
        if not {"corners", "angle"} & set(annotations.columns):
            return inputs
        from apframe.tables.shapes.corners import quadrilaterals, sides_of, smallest_rectangles

        sides = sides_of(smallest_rectangles(quadrilaterals("annotations", annotations)))
        wide = pl.Series((sides >= _NARROWEST).all(axis=1))
        narrow = Count("annotation", int((~wide).sum()), of=len(wide))
        note = Note(
            f"left out: {{}} whose smallest rectangle has a side below {_NARROWEST:g} pixels, as mmrotate does", [narrow]
        )
        if wide.all():  # in this shard, if not in others
            return inputs.saying(note)
        return inputs.with_annotations(inputs.dataset.annotations.filter(wide)).saying(note)


_CLASSES = (
    "plane", "baseball-diamond", "bridge", "ground-track-field", "small-vehicle", "large-vehicle", "ship", "tennis-court",
    "basketball-court", "storage-tank", "soccer-ball-field", "roundabout", "harbor", "swimming-pool", "helicopter",
)  # fmt: skip
_PAPER = "Xia et al., DOTA: A Large-scale Dataset for Object Detection in Aerial Images, CVPR 2018"
DOTA = replace(
    VOC2007,
    name="DOTA",
    citation=f"{_PAPER}; DOTA_devkit, dota_evaluation_task1",
    iou_type="rotated",
    similarity=RotatedIoU(),
    rules=(
        MalformedSigned(),
        *STANDARD_ROWS,
        CrowdsIgnored(),
        IgnoreFlagged(),
    ),
)
"""As `VOC2007`, with rotated boxes, over all categories of the data."""


_ABSENT_ARE_0 = (AveragePrecision(Voc2007(), counts_absent=True),)


def _rules(*others: Rule, names: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return the rules of the devkit, for its classes."""
    return (MalformedSigned(), *STANDARD_SHAPES, Classes(names), *STANDARD_LISTS, *others)


DOTA_V1 = replace(DOTA, name="DOTA_V1", metrics=_ABSENT_ARE_0, rules=_rules(CrowdsIgnored(), IgnoreFlagged(), names=_CLASSES))
"""The devkit's result for DOTA v1.0: the mean over its 15 classes, with 0 for classes without data."""

DOTA_V15 = replace(
    DOTA,
    name="DOTA_V15",
    citation=f"{_PAPER}; DOTA_devkit, dota-v1.5_evaluation_task1",
    metrics=_ABSENT_ARE_0,
    rules=_rules(names=(*_CLASSES, "container-crane")),
)
"""The devkit's result for DOTA v1.5: 16 classes. Its script does not read the difficulty, so that all objects count."""

MMROTATE = replace(
    DOTA,
    name="MMROTATE",
    citation="Zhou et al., MMRotate: A Rotated Object Detection Benchmark using PyTorch, ACM MM 2022; "
    "mmrotate/core/evaluation/eval_map.py and datasets/dota.py",
    matcher=ByBestOverlap(ties="input"),
    rules=(MalformedEnclosed(), *STANDARD_SHAPES, LeaveOutNarrow(), *STANDARD_LISTS),
    tables=(of_classes(*named("AP"), digits=3, factor=1),),
)
"""The result that mmrotate prints during training: difficult objects count, and an IoU of exactly .5 is enough.

Its images are patches of 1,024 pixels, which must be the images of the data. It fits rectangles to the corners and compares
them in single precision; here the corners themselves are compared, in double precision. Annotations whose rectangle has a side
below 2 pixels are left out, as mmrotate cannot fit one.
"""

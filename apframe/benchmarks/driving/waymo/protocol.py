"""Waymo Open Dataset's benchmark of objects: in space, from above and in the cameras' images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.benchmarks.driving.orientation import OrientationWeights, OrientedPrecision
from apframe.exceptions import ColumnError, UnitWarning, warn
from apframe.matching.matchers import LargestSum
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.score_cutoffs import Waymo
from apframe.protocols.headlines import Part
from apframe.protocols.kit_table import KitRow, KitTable, named
from apframe.protocols.levels import ApplyLevels, Level
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.filters import Filter, KeepObjects, refuse_unusable
from apframe.protocols.rules.ignored import IgnoreFlagged, flags
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule, States
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.rows import refuse_rows
from apframe.similarity.bev_iou import BevIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.cuboid_iou import CuboidIoU
from apframe.tables.shapes.cuboids import SIZES
from apframe.tables.shapes.declarations import CUBOIDS
from apframe.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "WAYMO": "vehicles, pedestrians, signs, cyclists: in space, from above, in images",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""


_FEW = 5  # up to this many points, an object is at level 2
_LEAST_SIDE, _MOST_SIDE = 0.01, 1e6  # both exclusive


@dataclass(frozen=True)
class AddDifficultyLevel(Rule):
    """Set each null or 0 `level` of annotations: 2 for up to 5 points or an unknown number, otherwise 1.

    Levels may be whole floats, which pandas makes of integers if one is missing.

    Source: `compute_detection_metrics_main.cc` of waymo-open-dataset, where 0 stands for an unknown level.
    """

    description: ClassVar[str] = (
        "an unknown level (null or 0) is 2 for up to 5 points or an unknown number (n_points), otherwise 1"
    )
    columns: ClassVar[tuple[str, ...]] = ("annotations.n_points",)

    def rows(self, inputs: Inputs) -> Inputs:
        """Add a level to annotations, or fill in unknown ones.

        Raises
        ------
        ColumnError
            levels are true and false, or text
        RowError
            a level is none of 0, 1 and 2
        """
        annotations = inputs.dataset.annotations
        refuse_unusable(inputs, "annotations", ["level", "n_points"])
        has_levels, few = "level" in annotations.columns, pl.lit(2)
        if "n_points" in annotations.columns:
            few = pl.when(pl.col("n_points").fill_null(0) <= _FEW).then(2).otherwise(1)
        elif not has_levels:
            return inputs
        if has_levels:
            levels = annotations["level"]
            if levels.dtype == pl.Boolean:
                raise ColumnError("must hold 1, 2 or null, not true and false", table="annotations", column="level")
            unknown = ~levels.cast(pl.Float64).is_in([0.0, 1.0, 2.0])
            refuse_rows("annotations", annotations, unknown, "level is not 1 or 2", "use null if it is unknown")
            annotations = annotations if levels.dtype.is_integer() else annotations.with_columns(levels.cast(pl.Int64))
        level = pl.when(pl.col("level") != 0).then("level").otherwise(few) if has_levels else few
        return inputs.with_annotations(annotations.with_columns(level=level))


@dataclass(frozen=True)
class LimitSides(Rule):
    """Exclude objects from matching that have a compared side of .01 or less, or any side of 1,000,000 or more.

    Source: `iou.cc` of waymo-open-dataset.
    """

    description: ClassVar[str] = "objects with a compared side of .01 or less, or any side of 1,000,000 or more, match nothing"

    def states(self, inputs: Inputs) -> States:
        """Mark objects with such a side as incomparable."""
        similarity = inputs.protocol.similarity
        sides = SIZES if similarity.shape == CUBOIDS else ("width", "height")
        compared = [name for name in sides if name in (similarity.needs or sides)]
        return States(
            incomparable_annotations=beyond_limits(inputs.annotations, compared, sides),
            incomparable_detections=beyond_limits(inputs.detections, compared, sides),
        )


def beyond_limits(objects: pl.DataFrame, compared: Sequence[str], sides: Sequence[str]) -> pl.Series:
    """Flag objects with a compared side that is too small, or any that is too large; columns may be missing.

    >>> lengths = pl.DataFrame({"cuboid_length": [4.0, 0.01, 1e6]})
    >>> beyond_limits(lengths, ["cuboid_length"], SIZES).to_list()
    [False, True, True]
    """
    there = [name for name in sides if name in objects.columns]
    smallest = [pl.col(name) > _LEAST_SIDE for name in compared if name in there]
    within = pl.all_horizontal(pl.lit(True), *smallest, *(pl.col(name) < _MOST_SIDE for name in there))
    return ~objects.with_columns(within.fill_null(True).alias("within"))["within"]


@dataclass(frozen=True)
class NoLabelZones(Rule):
    """Ignore unmatched detections in a zone without labels (`no_label_zone`)."""

    description: ClassVar[str] = "a detection in a no-label zone (no_label_zone) that matches nothing is ignored"
    columns: ClassVar[tuple[str, ...]] = ("detections.no_label_zone",)

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the same rows.

        Raises
        ------
        ColumnError
            the flag is text
        """
        refuse_unusable(inputs, "detections", ["no_label_zone"])
        return inputs

    def states(self, inputs: Inputs) -> States:
        """Ignore the flagged detections if they are unmatched."""
        return States(unmatched_ignored=flags(inputs.detections, "no_label_zone"))


@dataclass(frozen=True)
class WarnOfScores(Rule):
    """Warn of scores above the highest score cut-off, which the cut-offs cannot tell apart."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the same rows, after the warning."""
        cut_offs, scores = inputs.protocol.definition.cut_offs, inputs.detections["score"]
        if cut_offs and (beyond := scores > cut_offs[-1]).any():
            warn(
                f"{beyond.sum():,} of {counted(len(scores), 'detection')} have scores above {cut_offs[-1]:g}, such as "
                f"{scores.filter(beyond)[0]:g}; {inputs.protocol.name} ranks by cut-offs from {cut_offs[0]:g} to "
                f"{cut_offs[-1]:g}, so these count as equal: scale the scores",
                UnitWarning,
            )
        return inputs


_INF = float("inf")
_CLASSES = {"Vehicle": "TYPE_VEHICLE", "Pedestrian": "TYPE_PEDESTRIAN", "Sign": "TYPE_SIGN", "Cyclist": "TYPE_CYCLIST"}
_ALL_NS = ("TYPE_VEHICLE", "TYPE_PEDESTRIAN", "TYPE_CYCLIST")
_NAMES, _LEVELS = (*_CLASSES, "ALL_NS"), ("L1", "L2")


def _headlines(*metrics: str) -> tuple[str | Part, ...]:
    of_parts = [f"{metric}_{name}{{{level}}}" for name in _NAMES for level in _LEVELS for metric in metrics]
    parts = [Part(f"_{name}", "categories", "name", equals=category) for name, category in _CLASSES.items()]
    of_all = (f"{metric}{{{level}}}" for level in _LEVELS for metric in metrics)
    return (*of_parts, *of_all, *parts, Part("_ALL_NS", "categories", "name", equals=_ALL_NS))


def _table(*metrics: str) -> KitTable:
    rows = [KitRow((name, level), f"_{name}_{level}") for name in _NAMES for level in _LEVELS]
    return KitTable(named(*metrics), (*rows, *(KitRow(("mean", level), f"_{level}") for level in _LEVELS)), ("class", "level"))


_ROWS = (
    MalformedCounts(), *STANDARD_SHAPES, AddDifficultyLevel(), Classes(tuple(_CLASSES.values())),
    ApplyLevels(),
)  # fmt: skip
_WITH_POINTS = KeepObjects((Filter("n_points", above=0, table="annotations"),))
_LISTS = (*STANDARD_LISTS, WarnOfScores(), IgnoreFlagged(), NoLabelZones(), LimitSides())
_AP = AveragePrecision(Waymo(), counts_absent=True)
_CUBOIDS = Protocol(
    name="WAYMO",
    citation="Sun et al., Scalability in Perception for Autonomous Driving: Waymo Open Dataset, CVPR 2020; "
    "waymo-open-dataset 1.6.7, metrics",
    iou_type="3d",
    similarity=CuboidIoU(),
    matcher=LargestSum(ties="input"),
    iou_thresholds=(0.5,),
    category_thresholds=(("TYPE_VEHICLE", 0.7), ("TYPE_PEDESTRIAN", 0.5), ("TYPE_SIGN", 0.5), ("TYPE_CYCLIST", 0.5)),
    metrics=(OrientedPrecision(_AP),),
    max_detections=(None,),
    headlines=_headlines("AP", "APH"),
    ranges=(
        Level("L1", (("level", -_INF, 1),)),
        Level("L2", (("level", -_INF, 2),), is_headline=True),
    ),
    rules=(*_ROWS, _WITH_POINTS, *_LISTS, OrientationWeights("cuboid_yaw", by="angle")),
    tables=(_table("AP", "APH"),),
)
_IMAGES = replace(
    _CUBOIDS,
    iou_type="bbox",
    similarity=BoxIoU(),
    headlines=_headlines("AP"),
    metrics=(_AP,),
    rules=(*_ROWS, *_LISTS),
    tables=(_table("AP"),),
)

WAYMO = replace(_CUBOIDS, variants=(replace(_CUBOIDS, iou_type="bev", similarity=BevIoU()), _IMAGES))
"""Vehicles, pedestrians, signs and cyclists at two levels of difficulty, by the largest sum of IoU at 101 score cut-offs."""

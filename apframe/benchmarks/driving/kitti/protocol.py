"""KITTI's benchmark of objects: in the image, from above and in space, as the development kit's C++ computes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.benchmarks.driving.kitti.definition import R40
from apframe.benchmarks.driving.orientation import OrientationWeights, OrientedPrecision
from apframe.matching.matchers import ByAnnotation
from apframe.metrics.average_precision import AveragePrecision
from apframe.protocols.headlines import Part
from apframe.protocols.kit_table import KitColumn, KitRow, KitTable
from apframe.protocols.levels import ApplyLevels, Level, RequireImageBoxes
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.filters import refuse_unusable
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.bev_iou import BevIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.cuboid_iou import CuboidIoU
from apframe.wording import Count, Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "KITTI": "cars, pedestrians and cyclists: in images, from above, in space",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""


@dataclass(frozen=True)
class MalformedByHeight(MalformedCounts):
    """Detections of negative height count by its absolute value, and still overlap nothing, as their width becomes negative.

    Source: `evaluate_object.cpp` of KITTI's kit, which takes the absolute value of the heights of detections alone.
    """

    description: ClassVar[str] = (
        "an annotation of negative height is ignored, others count and are missed; a detection is a false positive"
    )

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Make the heights of detections positive."""
        del inputs
        if table == "annotations" or not {"width", "height"} <= set(frame.columns):
            return frame
        width = pl.when(pl.col("height") < 0).then(-1 - pl.col("width").abs()).otherwise("width")
        return frame.with_columns(height=pl.col("height").abs(), width=width)


@dataclass(frozen=True)
class RequireAlpha(Rule):
    """Remove every alpha if any detection, of whatever category, has none; then there is no AOS.

    Source: `evaluate_object.cpp`, where one alpha of -10 in any file of results turns orientations off.
    """

    columns: ClassVar[tuple[str, ...]] = ("annotations.alpha", "detections.alpha")
    needs_all_data: ClassVar[bool] = True

    def rows(self, inputs: Inputs) -> Inputs:
        """Remove alpha from all detections, with a note, if one of them has none.

        Raises
        ------
        ColumnError, RowError
            alphas are text, or not finite
        """
        for table in ("annotations", "detections"):
            refuse_unusable(inputs, table, ["alpha"])
        detections = inputs.detections
        if "alpha" not in detections.columns or detections["alpha"].null_count() in (0, detections.height):
            return inputs
        lacking = Count("detection", detections["alpha"].null_count(), of=detections.height)
        detections = detections.with_columns(alpha=pl.lit(None, detections.schema["alpha"]))
        return replace(inputs, detections=detections).saying(Note("no AOS: {} without alpha (-10 in files)", [lacking]))


_INF = float("inf")
_NAMES = ("Car", "Pedestrian", "Cyclist")
_PARTS = tuple(Part(f"_{name}", "categories", "name", equals=name) for name in _NAMES)


def _difficulty(name: str, occluded: int, truncated: float, above: float, least: float) -> Level:
    return Level(
        name,
        (("occluded", -_INF, occluded), ("truncated", -_INF, truncated), ("height", above, _INF)),
        (("height", least),),
        is_headline=name == "moderate",
    )


_CLASSES = Classes(_NAMES, ignored_as=(("Car", "Van"), ("Pedestrian", "Person_sitting")), ignore_regions=("DontCare",))
_SHAPES = (RequireImageBoxes(), MalformedByHeight(), *STANDARD_SHAPES)
_LISTS = (_CLASSES, ApplyLevels(), *STANDARD_LISTS, CrowdsIgnored(), IgnoreFlagged())


def _table(*columns: KitColumn) -> KitTable:
    rows = [KitRow((name, level), f"_{name}_{level}") for name in _NAMES for level in ("easy", "moderate", "hard")]
    return KitTable(columns, tuple(rows), head=("class", "difficulty"))


_BOXES = Protocol(
    name="KITTI",
    citation="Geiger et al., Are we ready for Autonomous Driving? The KITTI Vision Benchmark Suite, CVPR 2012; development kit "
    "for objects, evaluate_object.cpp",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByAnnotation(ties="input", strict=True),
    iou_thresholds=(0.5,),
    category_thresholds=(("Car", 0.7), ("Pedestrian", 0.5), ("Cyclist", 0.5)),
    metrics=(OrientedPrecision(AveragePrecision(R40())),),
    max_detections=(None,),
    headlines=(
        *(f"{metric}_{name}{{area}}" for name in _NAMES for metric in ("AP", "AOS")), "AP{area}", "AOS{area}", *_PARTS,
    ),
    ranges=(
        _difficulty("easy", 0, 0.15, 40, 40), _difficulty("moderate", 1, 0.3, 25, 25), _difficulty("hard", 2, 0.5, 25, 25),
    ),
    rules=(*_SHAPES, RequireAlpha(), *_LISTS, OrientationWeights("alpha", by="cosine")),
    tables=(
        _table(
            KitColumn("AP", "AP"), KitColumn("AOS", "AOS"), KitColumn("BEV", "AP", "bev"), KitColumn("3D", "AP", "3d"),
        ),
    ),
)  # fmt: skip
_CUBOIDS = replace(
    _BOXES,
    headlines=(*(f"AP_{name}{{area}}" for name in _NAMES), "AP{area}", *_PARTS),
    metrics=(AveragePrecision(R40()),),
    rules=(*_SHAPES, *_LISTS),
)

KITTI = replace(
    _BOXES,
    variants=(
        replace(_CUBOIDS, iou_type="bev", similarity=BevIoU(), tables=(_table(KitColumn("BEV", "AP")),)),
        replace(_CUBOIDS, iou_type="3d", similarity=CuboidIoU(), tables=(_table(KitColumn("3D", "AP")),)),
    ),
)
"""Cars, pedestrians and cyclists by difficulty, annotations in the order of the file, 40 recall positions."""

"""VisDrone's detection in images from drones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.protocols.given import linspace
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import CrowdsAsMisses
from apframe.protocols.rules.limits import RankInImage
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.means import MeansByImages
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.box_iou import BoxIoU
from apframe.tables.names import labels_of
from apframe.tables.schemas import SIZE

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "VISDRONE": "objects from drones, ten classes; as its toolkit prints them",
    "VISDRONE_MEAN": "VisDrone with the plain mean over classes",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = {"visdrone_mean": "visdrone"}
"""The file format of a protocol, if its name differs from the protocol's."""
TWINS = {"VISDRONE": {"mean": {"plain": "VISDRONE_MEAN"}}}
"""The protocols that an option of another one selects."""


_ENOUGH = 0.5
_SIDES = ("left", "top", "right", "bottom")


@dataclass(frozen=True)
class ExclusionRegions(Rule):
    """Remove objects with half or more of their box inside annotations of some categories of the image.

    Boxes are rounded, regions reach one pixel further to the left and to the top, and both end at the edges of the image, if
    its size is known. The area that several regions share counts once.

    Source: `dropObjectsInIgr.m` of VisDrone2018-DET-toolkit, which counts pixels of a map.

    Attributes
    ----------
    categories
        the names of the categories whose annotations are regions, case-insensitive
    """

    line: ClassVar[str] = "categories"
    categories: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return the rule in words."""
        return f"objects with half of their box in {', '.join(self.categories)} are removed"

    def rows(self, inputs: Inputs) -> Inputs:
        """Keep the objects outside the regions."""
        dataset = inputs.dataset
        categories = dataset.core("categories")
        names = labels_of("categories", categories).str.to_lowercase()
        ids = categories["category_id"].filter(names.is_in([name.lower() for name in self.categories]))
        of_region = dataset.annotations["category_id"].is_in(ids.implode())
        if not of_region.any():
            return inputs
        images = dataset.images
        sizes = images.select("image_id", *(name if name in images.columns else pl.lit(None).alias(name) for name in SIZE))
        pieces = disjoint(_edges(inputs.annotations.filter(of_region), sizes, before=1))
        kept = [share_inside(_edges(frame, sizes), pieces) < _ENOUGH for frame in (inputs.annotations, inputs.detections)]
        part = inputs.with_annotations(dataset.annotations.filter(kept[0] | of_region))
        return replace(part, detections=inputs.detections.filter(kept[1]))


def _edges(frame: pl.DataFrame, sizes: pl.DataFrame, before: int = 0) -> pl.DataFrame:
    """Return image_id, left, top, right, bottom and area of rounded boxes; regions begin `before` pixels earlier."""
    rounded = frame.select("image_id", *(_rounded(pl.col(name)) for name in ("x", "y", "width", "height")))
    rounded = rounded.join(sizes, on="image_id", how="left", maintain_order="left")
    edges = []
    for start, end, side, size in (("x", "left", "width", SIZE[0]), ("y", "top", "height", SIZE[1])):
        last = pl.col(size).cast(pl.Float64).fill_null(float("inf"))
        first = pl.min_horizontal(start, last)
        edges += [(first - before).alias(end), pl.min_horizontal(pl.col(start) + pl.col(side), last).alias(f"end_{end}")]
    corners = rounded.select("image_id", *edges, area=pl.col("width") * pl.col("height"))
    return corners.rename({"end_left": "right", "end_top": "bottom"}).select("image_id", *_SIDES, "area")


def _rounded(value: pl.Expr) -> pl.Expr:
    """Round to whole numbers, halves up, and to at least 1."""
    return (value + 0.5).floor().clip(1)


def disjoint(regions: pl.DataFrame) -> pl.DataFrame:
    """Return disjoint rectangles that cover the union of regions: image_id, left, top, right, bottom.

    The union is cut at every left and right edge; within a strip, regions that overlap or touch are merged.

    >>> two = {"image_id": 1, "left": [0, 2], "top": [0, 1], "right": [4, 6], "bottom": [2, 3]}
    >>> disjoint(pl.DataFrame(two)).rows()
    [(1, 0, 0, 2, 2), (1, 2, 0, 4, 3), (1, 4, 1, 6, 3)]
    """
    edges = pl.concat([regions.select("image_id", edge=side) for side in ("left", "right")]).unique().sort("image_id", "edge")
    following = pl.col("edge").shift(-1).over("image_id")
    strips = edges.select("image_id", begin="edge", end=following).drop_nulls("end")
    held = strips.join(regions, on="image_id", maintain_order="left")
    held = held.filter(pl.col("left") <= pl.col("begin"), pl.col("right") >= pl.col("end"))
    of = ["image_id", "begin", "end"]
    held = held.sort(*of, "top").with_columns(reached=pl.col("bottom").cum_max().shift(1).over(of))
    starts = (pl.col("reached").is_null() | (pl.col("top") > pl.col("reached"))).cum_sum()
    merged = held.group_by(*of, starts.alias("block"), maintain_order=True).agg(pl.col("top").min(), pl.col("bottom").max())
    return merged.select("image_id", pl.col("begin").alias("left"), "top", pl.col("end").alias("right"), "bottom")


def share_inside(boxes: pl.DataFrame, pieces: pl.DataFrame) -> pl.Series:
    """Return the share of each box inside the disjoint rectangles of its image.

    >>> box = {"image_id": 1, "left": [0], "top": [0], "right": [4], "bottom": [4], "area": [16]}
    >>> share_inside(pl.DataFrame(box), pl.DataFrame({"image_id": 1, "left": [2], "top": [0], "right": [9], "bottom": [9]}))[0]
    0.5
    """
    rows = boxes.with_row_index("row").lazy()
    shared = [
        (pl.min_horizontal(end, f"{end}_right") - pl.max_horizontal(start, f"{start}_right")).clip(0)
        for start, end in (("left", "right"), ("top", "bottom"))
    ]
    shared_areas = rows.join(pieces.lazy(), on="image_id").select("row", inside=shared[0] * shared[1])
    sums = shared_areas.group_by("row").agg(pl.col("inside").sum()).collect()
    inside = boxes.select("area").with_row_index("row").join(sums, on="row", how="left", maintain_order="left")
    return inside.select((pl.col("inside").fill_null(0) / pl.col("area")).alias("share")).to_series()


_CLASSES = Classes(
    names=(
        "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor",
    ),
)  # fmt: skip
VISDRONE = Protocol(
    name="VISDRONE",
    citation="Zhu et al., Detection and Tracking Meet Drones Challenge, TPAMI 2021; VisDrone2018-DET-toolkit, evalDET.m",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScore(),
    iou_thresholds=linspace(0.5, 0.95, 10),
    metrics=(AveragePrecision(Interpolated()),),
    max_detections=(1, 10, 100, 500),
    headlines=("AP", "AP50", "AP75", "AR{limit}"),
    rules=(
        MalformedCounts(), *STANDARD_SHAPES, ExclusionRegions(categories=("ignored regions",)), RankInImage(by="row"), _CLASSES,
        *STANDARD_LISTS, CrowdsAsMisses(), MeansByImages(),
    ),
)  # fmt: skip
"""Ten classes. Objects with a score of 0 in the ground truth are crowds: missed, but detections in them are ignored.

The limits keep the first rows of each image's file. A class counts in the means once for each image that contains it.
"""

VISDRONE_MEAN = replace(VISDRONE, name="VISDRONE_MEAN", rules=VISDRONE.rules[:-1])
"""As `VISDRONE`, with the plain mean over the classes."""

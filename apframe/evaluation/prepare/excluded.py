"""Regions where nothing is evaluated, and which rows of an image come first: VisDrone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from apframe.protocols.protocol import Protocol
from apframe.tables.names import called
from apframe.tables.tables import SIZE

if TYPE_CHECKING:
    from apframe.evaluation.prepare.inputs import Inputs

PLACE = "place_in_image"
_ENOUGH = 0.5
_SIDES = ("left", "top", "right", "bottom")


def leave_out_excluded(inputs: Inputs, protocol: Protocol) -> Inputs:
    """No objects that have half of their box or more in the excluded regions of their image: VISDRONE.

    Boxes are rounded, regions reach one pixel further to the left and to the top, and both end at the edges of the image, if
    its size is known. What several regions share counts once.

    Source: `dropObjectsInIgr.m` of VisDrone2018-DET-toolkit, which counts pixels of a map.
    """
    if not protocol.classes.excluded:
        return inputs
    dataset = inputs.dataset
    categories = dataset.core("categories")
    names = called("categories", categories).str.to_lowercase()
    ids = categories["category_id"].filter(names.is_in([name.lower() for name in protocol.classes.excluded]))
    annotations = dataset.annotations
    of_region = annotations["category_id"].is_in(ids.implode())
    if not of_region.any():
        return inputs
    images = dataset.images
    sizes = images.select("image_id", *(name if name in images.columns else pl.lit(None).alias(name) for name in SIZE))
    pieces = disjoint(_edges(inputs.annotations.filter(of_region), sizes, before=1))
    kept = [share_inside(_edges(frame, sizes), pieces) < _ENOUGH for frame in (inputs.annotations, inputs.detections)]
    part = dataset.part(images, annotations.filter(kept[0] | of_region))
    found = inputs.detections.filter(kept[1])
    return replace(inputs, dataset=part, annotations=part.core("annotations"), detections=found)


def place_in_images(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The number of each detection in its image, from 1, as `place_in_image`; what is given stays.

    It counts the rows of the image in their order (VISDRONE), or by score, of equal ones the first (VISUAL_GENOME, FLICKR30K).
    """
    if not protocol.limits_images or PLACE in inputs.detections.columns:
        return inputs
    by_row = pl.int_range(pl.len(), dtype=pl.UInt32) + 1
    by_score = pl.col("score").rank("ordinal", descending=True).cast(pl.UInt32)
    place = (by_row if "limits_by_rows" in protocol.further_rules else by_score).over("image_id").alias(PLACE)
    return replace(inputs, detections=inputs.detections.with_columns(place))


def _edges(frame: pl.DataFrame, sizes: pl.DataFrame, before: int = 0) -> pl.DataFrame:
    """image_id, left, top, right, bottom and area of rounded boxes; regions begin a pixel `before` their first one."""
    rounded = frame.select("image_id", *(_rounded(pl.col(name)) for name in ("x", "y", "width", "height")))
    rounded = rounded.join(sizes, on="image_id", how="left", maintain_order="left")
    edges = []
    for start, end, side, size in (("x", "left", "width", SIZE[0]), ("y", "top", "height", SIZE[1])):
        last = pl.col(size).cast(pl.Float64).fill_null(float("inf"))
        first = pl.min_horizontal(start, last)
        edges += [(first - before).alias(end), pl.min_horizontal(pl.col(start) + pl.col(side), last).alias(f"end_{end}")]
    made = rounded.select("image_id", *edges, area=pl.col("width") * pl.col("height"))
    return made.rename({"end_left": "right", "end_top": "bottom"}).select("image_id", *_SIDES, "area")


def _rounded(value: pl.Expr) -> pl.Expr:
    """Whole numbers from 1, halves up."""
    return (value + 0.5).floor().clip(1)


def disjoint(regions: pl.DataFrame) -> pl.DataFrame:
    """Rectangles that cover the union of some and do not overlap: image_id, left, top, right, bottom.

    The union is cut at every left and right edge; within a strip, what overlaps or touches is one.

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
    """The share of each box that is inside rectangles of its image that do not overlap.

    >>> box = {"image_id": 1, "left": [0], "top": [0], "right": [4], "bottom": [4], "area": [16]}
    >>> share_inside(pl.DataFrame(box), pl.DataFrame({"image_id": 1, "left": [2], "top": [0], "right": [9], "bottom": [9]}))[0]
    0.5
    """
    rows = boxes.with_row_index("row").lazy()
    shared = [
        (pl.min_horizontal(end, f"{end}_right") - pl.max_horizontal(start, f"{start}_right")).clip(0)
        for start, end in (("left", "right"), ("top", "bottom"))
    ]
    found = rows.join(pieces.lazy(), on="image_id").select("row", inside=shared[0] * shared[1])
    sums = found.group_by("row").agg(pl.col("inside").sum()).collect()
    inside = boxes.select("area").with_row_index("row").join(sums, on="row", how="left", maintain_order="left")
    return inside.select((pl.col("inside").fill_null(0) / pl.col("area")).alias("share")).to_series()

"""Shapes drawn with annotation tools: polygons as columns, and a warning about unsupported shapes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import ColumnError, ShapesLeftOutWarning, warn
from apframe.wording import first_line

POLYGONS = pl.List(pl.List(pl.Float64))


def warn_left_out(path: Path, counts: Mapping[str, int]) -> None:
    """Warn of all shapes that were left out, by kind, if there are any."""
    if counts:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(counts.items()))
        message = f"{path}: left out shapes that are not boxes, polygons or masks: {kinds}"
        warn(message, ShapesLeftOutWarning)


def number_type(dtype: Any) -> Any:
    """Return the innermost dtype of nested lists; the dtype itself if it is not a list.

    >>> number_type(pl.List(pl.List(pl.Float64)))
    Float64
    """
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype = dtype.inner
    return dtype


def single_polygons(table: str, frame: pl.DataFrame) -> pl.Series:
    """Return x and y of the points in turn, for rows whose `mask` is one polygon of three or more points; else null.

    Raises
    ------
    ColumnError
        masks begin like polygons but are not

    >>> masks = ["[[0, 0, 2, 0, 2, 2]]", "[[0, 0, 2, 0, 2, 2], [5, 5, 6, 5, 6, 6]]", '{"size": [1, 1], "counts": [1]}']
    >>> single_polygons("annotations", pl.DataFrame({"mask": masks})).to_list()
    [[0.0, 0.0, 2.0, 0.0, 2.0, 2.0], None, None]
    """
    none = pl.repeat(None, frame.height, dtype=POLYGONS, eager=True)
    masks = frame["mask"] if "mask" in frame.columns else none
    if masks.dtype == pl.String:
        text = masks.str.strip_chars()
        text = text.to_frame("text").select(pl.when(pl.col("text").str.starts_with("[")).then("text")).to_series()
        try:
            masks = text.str.json_decode(POLYGONS)
        except pl.exceptions.PolarsError as error:
            raise ColumnError(
                "polygons are lists of lists of numbers", first_line(error), table=table, column="mask"
            ) from error
    elif number_type(masks.dtype).is_float():
        masks = masks.cast(POLYGONS)
    else:
        masks = none
    first, n_numbers = pl.col("mask").list.first(), pl.col("mask").list.first().list.len()
    is_single = (pl.col("mask").list.len() == 1) & (n_numbers >= 6) & (n_numbers % 2 == 0)
    return masks.to_frame("mask").select(points=pl.when(is_single).then(first)).to_series()


def as_masks(points: pl.Series) -> pl.Series:
    """Return polygons, given as lists of x and y in turn, as text in COCO's JSON format.

    >>> as_masks(pl.Series([[0.0, 0.0, 2.5, 0.0, 2.0, 2.0], None])).to_list()
    ['[[0.0,0.0,2.5,0.0,2.0,2.0]]', None]
    """
    numbers = pl.col("points").list.eval(pl.element().cast(pl.String)).list.join(",")
    return points.to_frame("points").select(mask=pl.concat_str(pl.lit("[["), numbers, pl.lit("]]"))).to_series()


def polygon_extents(points: pl.Series) -> pl.DataFrame:
    """Return x, y, width, height of the upright rectangle around each polygon, and the polygon's `area`; null for null.

    The area is computed by the shoelace formula.

    >>> polygon_extents(pl.Series([[1.0, 0.0, 5.0, 0.0, 1.0, 3.0], None])).rows()
    [(1.0, 0.0, 4.0, 3.0, 6.0), (None, None, None, None, None)]
    """
    rows = points.to_frame("points").with_row_index("row")
    corners = (
        rows.drop_nulls()
        .select("row", x=pl.col("points").list.gather_every(2), y=pl.col("points").list.gather_every(2, 1))
        .explode("x", "y")
    )
    x, y = pl.col("x"), pl.col("y")
    right, down = (
        x - x.first(),
        y - y.first(),
    )  # relative to the first corner, so that far shapes lose no digits; the last side leads there
    crossed = right * down.shift(-1).fill_null(0) - right.shift(-1).fill_null(0) * down
    extents = corners.group_by("row", maintain_order=True).agg(
        x=x.min(), y=y.min(), width=x.max() - x.min(), height=y.max() - y.min(), area=crossed.sum().abs() / 2
    )
    return rows.select("row").join(extents, on="row", how="left", maintain_order="left").drop("row")


def angle_of(rotation: pl.Expr) -> pl.Expr:
    """Convert degrees clockwise, as in tools, to radians counter-clockwise, from -π to π.

    >>> pl.select(angle_of(pl.lit(270.0))).item()
    1.5707963267948966
    """
    turn = rotation % 360
    return 0.0 - pl.when(turn > 180).then(turn - 360).otherwise(turn).radians()


def rotation_of(angle: pl.Expr) -> pl.Expr:
    """Convert radians counter-clockwise to degrees clockwise, from 0 to 360; reverses `angle_of`.

    >>> pl.select(rotation_of(pl.lit(1.5707963267948966))).item()
    270.0
    """
    return (0.0 - angle.degrees()) % 360


def repeated(factors: list[pl.Expr], n: pl.Expr) -> pl.Expr:
    """Return a list of n numbers for each row, repeating the factors.

    >>> pl.DataFrame({"n": [4, 2]}).select(repeated([pl.lit(10), pl.lit(0)], pl.col("n"))).to_series().to_list()
    [[10, 0, 10, 0], [10, 0]]
    """
    places = pl.int_ranges(0, n.fill_null(0)).list.eval(pl.element() % len(factors))
    return pl.concat_list(factors).list.gather(places)

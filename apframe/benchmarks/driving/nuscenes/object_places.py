"""Places of objects: their distance from the car, and the bicycle racks that contain them."""

from __future__ import annotations

import json

import polars as pl

from apframe.exceptions import ColumnError
from apframe.rows import refuse_rows, refuse_texts
from apframe.tables.shapes.declarations import CUBOID

EGO, RACKS = ("ego_x", "ego_y"), "bicycle_racks"
"""Columns of images: the place of the car, and the cuboids of bicycle racks, seven numbers each in the order of `CUBOID`."""
_IN_RACKS = ("bicycle", "motorcycle")


def with_places(objects: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Add the columns `ego_distance` (metres in x and y) and `in_rack`, from `EGO` and `RACKS` of the images.

    Only bicycles and motorcycles can be in a rack: their centre is inside its cuboid, or on its sides. A column is added only
    if the images have its source; `ego_distance` is null for unknown images. The images are as `places_in` returns them.

    >>> images = pl.DataFrame({"image_id": ["a"], "ego_x": [1.0], "ego_y": [2.0]})
    >>> car = {"image_id": ["a"], "category_id": ["car"], "cuboid_x": [4.0], "cuboid_y": [6.0]}
    >>> with_places(pl.DataFrame(car), images)["ego_distance"].to_list()
    [5.0]
    """
    if set(EGO) <= set(images.columns):
        away = [pl.col(ours) - pl.col(ego) for ours, ego in zip(CUBOID, EGO, strict=False)]
        objects = objects.join(images.select("image_id", *EGO), on="image_id", how="left", maintain_order="left")
        objects = objects.with_columns(ego_distance=(away[0].pow(2) + away[1].pow(2)).sqrt()).drop(EGO)
    return objects.with_columns(in_rack=_in_racks(objects, images)) if RACKS in images.columns else objects


def places_in(images: pl.DataFrame) -> pl.DataFrame:
    """Return the ids of images, and as numbers the columns `EGO` and `RACKS` that they have; null for no racks.

    Raises
    ------
    ColumnError
        a column holds something else
    RowError
        a place is not finite, or racks are not seven finite numbers each

    >>> places_in(pl.DataFrame({"image_id": ["a"], "ego_x": [1], "ego_y": [2], "bicycle_racks": [[]]})).row(0)
    ('a', 1.0, 2.0, None)
    """
    refuse_texts("images", images, EGO)
    places = images.select("image_id", *(pl.col(name).cast(pl.Float64) for name in EGO if name in images.columns))
    for name in places.columns[1:]:
        refuse_rows(
            "images",
            images,
            ~places[name].is_finite().fill_null(True),
            f"{name} is not finite",
            "correct it, or use null if unknown",
        )
    return places.with_columns(_racks_in(images)) if RACKS in images.columns else places


def _racks_in(images: pl.DataFrame) -> pl.Series:
    lists_of_racks = images[RACKS]
    dtype = lists_of_racks.dtype
    if dtype == pl.String and (lists := _lists_of_json(lists_of_racks)) is not None:
        lists_of_racks, dtype = lists, lists.dtype
    inner = dtype.inner if isinstance(dtype, (pl.List, pl.Array)) else None
    if dtype != pl.Null and not (inner is not None and (inner.is_numeric() or inner == pl.Null)):
        problem = f"must hold lists of numbers, seven for each rack, not {dtype}"
        raise ColumnError(problem, "use null for none", table="images", column=RACKS)
    racks = lists_of_racks.cast(pl.List(pl.Float64))
    n_finite = racks.list.eval(pl.element().is_finite()).list.sum().fill_null(0)
    is_wrong = (racks.list.len() % len(CUBOID) != 0) | (n_finite != racks.list.len())
    problem, remedy = f"{RACKS} is not seven finite numbers for each rack", "correct it; use null or an empty list for none"
    refuse_rows("images", images, is_wrong.fill_null(False), problem, remedy)
    return racks.set(racks.list.len() == 0, None)


def _lists_of_json(texts: pl.Series) -> pl.Series | None:
    """Parse lists of numbers stored as JSON text, as lists of COCO's files are; None if the text is something else."""
    try:
        values = [None if text is None else json.loads(text) for text in texts]
    except (ValueError, RecursionError):
        return None
    if not all(value is None or isinstance(value, list) for value in values):
        return None
    try:
        return pl.Series(texts.name, values, dtype=pl.List(pl.Float64))
    except (TypeError, pl.exceptions.PolarsError):
        return None


def _in_racks(objects: pl.DataFrame, images: pl.DataFrame) -> pl.Series:
    rows = objects.select("image_id", "category_id", *CUBOID[:3]).with_row_index("row")
    rows = rows.filter(pl.col("category_id").str.to_lowercase().is_in(_IN_RACKS))
    racks = images.drop_nulls(RACKS).select("image_id", rack=pl.col(RACKS).list.eval(pl.element().reshape((-1, len(CUBOID)))))
    racks = racks.explode("rack", empty_as_null=False).drop_nulls()
    racks = racks.select(
        "image_id", *(pl.col("rack").arr.get(place).alias(f"{name}_right") for place, name in enumerate(CUBOID))
    )
    x, y, z = (pl.col(name) - pl.col(f"{name}_right") for name in CUBOID[:3])
    length, width, height = (pl.col(f"{name}_right") / 2 for name in CUBOID[3:6])
    cos, sin = pl.col("cuboid_yaw_right").cos(), pl.col("cuboid_yaw_right").sin()
    is_inside = ((x * cos + y * sin).abs() <= length) & ((y * cos - x * sin).abs() <= width) & (z.abs() <= height)
    inside = rows.join(racks, on="image_id").filter(is_inside)
    return objects.with_row_index("row")["row"].is_in(inside["row"].unique().implode())

"""Regions of Label Studio: shapes in percent of their image, as canonical rows in pixels and back."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import FormatError
from apframe.formats.polygon_columns import (
    angle_of,
    as_masks,
    polygon_extents,
    repeated,
    rotation_of,
    single_polygons,
    warn_left_out,
)
from apframe.rows import refuse_rows
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.wording import listed

_LABELS = ("rectanglelabels", "polygonlabels", "labels")
_UNLABELLED = ("rectangle", "polygon")  # the shape of a region whose labels are in another region
_NEAR = 1e-9
_TOO_LARGE = 2**31  # for the side of an image


def read_regions(
    path: Path, tasks: list[dict[str, Any]], sources: list[dict[str, Any]], left_out: Counter[str]
) -> pl.DataFrame:
    """Return a row for each label of each region in the sources of tasks, in percent of the image.

    Columns `task` (its position), `category_id`, `region_id`, `score`, `model_version`, the size of the image, the box,
    `rotation` and `points`, x and y in turn; null if missing. Regions that are left out are counted, with a warning.

    Raises
    ------
    FormatError
        regions without required labels, numbers or points; names the first one
    """
    numbers, labels, regions, values = [], [], [], []
    for number, source in enumerate(sources):
        labelled = {str(region.get("id")) for region in source["result"] if region.get("type") in _LABELS}
        for region in source["result"]:
            kind, value = region.get("type"), region.get("value")
            if kind not in _LABELS:
                if not (kind in _UNLABELLED and str(region.get("id")) in labelled):
                    left_out[str(kind)] += 1
                continue
            own = value.get(kind, []) if isinstance(value, dict) else None
            if not isinstance(own, list) or not all(isinstance(label, str) for label in own):
                raise FormatError(f"{_place(path, tasks, number, region)}: value.{kind} is not a list of texts", "correct it")
            if kind == "labels" and not {"points", "width"} & value.keys():
                left_out["labels of other shapes"] += 1
            elif not own or region.get("image_rotation"):
                left_out["regions on turned images" if own else "regions without a label"] += 1
            else:
                for label in own:
                    numbers.append(number)
                    labels.append(label)
                    regions.append(region)
                    values.append(value)
    warn_left_out(path, left_out)

    def refuse(wrong: list[bool], problem: str) -> None:
        if any(wrong):
            row = wrong.index(True)
            raise FormatError(f"{_place(path, tasks, numbers[row], regions[row])}: {problem}", "correct it")

    def column(name: str, items: list[Any], *, needed: list[bool] | None = None) -> pl.Series:
        if not {type(value) for value in items} <= {int, float, NoneType}:
            refuse([type(value) not in (int, float, NoneType) for value in items], f"{name} is not a number")
        if needed is not None and None in items:
            refuse([value is None and need for value, need in zip(items, needed, strict=True)], f"{name} is missing")
        numbers = pl.Series(name, items, dtype=pl.Float64)
        if name.startswith("original") and (numbers.abs() >= _TOO_LARGE).any():
            refuse((numbers.abs() >= _TOO_LARGE).fill_null(False).to_list(), f"{name} is not a number of pixels")
        return numbers

    points = [value.get("points") for value in values]
    refuse([each is not None and not _are_points(each) for each in points], "points are not lists of two numbers")
    is_box = [each is None for each in points]
    sources_of = [sources[number] for number in numbers]
    scores = [region.get("score", source.get("score")) for region, source in zip(regions, sources_of, strict=True)]
    ids = [region.get("id") for region in regions]
    versions = [source.get("model_version") for source in sources_of]
    return pl.DataFrame(
        [
            pl.Series("task", numbers, dtype=pl.UInt32),
            pl.Series("category_id", labels, dtype=pl.String),
            pl.Series("region_id", [None if each is None else str(each) for each in ids], dtype=pl.String),
            pl.Series("model_version", [None if each is None else str(each) for each in versions], dtype=pl.String),
            column("score", scores),
            column("original_width", [region.get("original_width") for region in regions]).alias(SIZE[0]),
            column("original_height", [region.get("original_height") for region in regions]).alias(SIZE[1]),
            *(column(name, [value.get(name) for value in values], needed=is_box) for name in BOX),
            column("rotation", [value.get("rotation") for value in values]),
            _points_column(points),
        ]
    )


def _place(path: Path, tasks: list[dict[str, Any]], number: int, region: dict[str, Any]) -> str:
    return f"{path}: region {region.get('id')!r} of task {tasks[number].get('id', f'number {number + 1}')}"


def _are_points(points: Any) -> bool:
    if not isinstance(points, list) or not points or {*map(type, points)} != {list} or {*map(len, points)} != {2}:
        return False
    return {*map(type, chain.from_iterable(points))} <= {int, float}


def _points_column(points: list[list[list[float]] | None]) -> pl.Series:
    """Convert lists of pairs to lists of x and y in turn, through one flat column, as Polars is slow with single lists."""
    outlines = [each for each in points if each is not None]
    flat = pl.Series("points", chain.from_iterable(chain.from_iterable(outlines)), dtype=pl.Float64)
    row = pl.Series("row", [row for row, each in enumerate(points) if each is not None], dtype=pl.UInt32)
    n_numbers = pl.Series("n", [2 * len(each) for each in outlines], dtype=pl.UInt32)
    owner = pl.select(pl.lit(row).repeat_by(n_numbers).explode(empty_as_null=False).alias("row"))
    lists = owner.hstack([flat]).group_by("row", maintain_order=True).agg("points")
    rows = pl.int_range(len(points), dtype=pl.UInt32, eager=True).alias("row").to_frame()
    return rows.join(lists, on="row", how="left", maintain_order="left")["points"]


def in_pixels(path: Path, regions: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Return regions as canonical rows, with the ids and files of their images."""
    owners = images[regions["task"]]
    sizes = [regions[name].zip_with(regions[name].is_not_null(), owners[name].cast(pl.Float64)) for name in SIZE]
    unknown = ~((sizes[0] > 0) & (sizes[1] > 0)).fill_null(False)
    if unknown.any():
        tasks = listed(owners["image_id"].filter(unknown).unique(maintain_order=True).to_list())
        problem = "original_width and original_height are missing or not above 0"
        raise FormatError(f"{problem} in regions of task {tasks}", "give them", path=path)
    hundred = regions.select(pl.repeat(100.0, pl.len())).to_series()
    factors = {"x": sizes[0], "y": sizes[1], "width": sizes[0], "height": sizes[1]}
    box = pl.DataFrame([regions[name] * factor / hundred for name, factor in factors.items()])
    rotation = regions["rotation"].fill_null(0.0).alias("rotation")
    points = _scaled(regions["points"], sizes, [hundred, hundred])
    drawn = pl.concat([box, polygon_extents(points).select(pl.all().name.prefix("polygon_"))], how="horizontal")
    drawn = drawn.with_columns(rotation).with_columns(_turned_about_centre())
    drawn = drawn.with_columns(pl.col("width", "height").abs())
    columns = [pl.coalesce(f"polygon_{name}", name).alias(name) for name in BOX]
    if points.count():
        columns += [pl.col("polygon_area").alias("area"), pl.lit(as_masks(points)).alias("mask")]
    if (rotation != 0).any():
        columns.append(angle_of(pl.col("rotation")).alias("angle"))
    named = [owners["image_id"], *regions.select("category_id", "score")]
    further = [column for column in (regions["region_id"], regions["model_version"], owners["file_name"]) if column.count()]
    return pl.DataFrame([*named, *drawn.select(columns), *further])


def region_losses(table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
    """List the changes by drawing: see `Format.further_losses`."""
    drawn = _drawn(table, frame)
    lost = []
    for name in (*BOX, "area"):
        is_far = (frame[name] - drawn[name]).abs() > _NEAR * frame[name].abs()
        lost.append((name, is_far, "replaced by that of the rectangle or polygon"))
    is_polygon = drawn["points"].is_not_null()
    if "mask" in frame.columns:
        lost.append(("mask", frame["mask"].is_not_null() & ~is_polygon, "left out: not a single polygon"))
    if "angle" in frame.columns:
        is_more = frame["angle"].abs() > math.pi * (1 + _NEAR)
        lost.append(("angle", (is_polygon & (frame["angle"] != 0)) | is_more, "left out for polygons; whole turns are removed"))
    return lost


def region_texts(table: str, frame: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Return `image_id` and the JSON text of each row as a region."""
    sizes = frame.select("image_id").join(images.select("image_id", *SIZE), on="image_id", how="left", maintain_order="left")
    unknown = ~((sizes[SIZE[0]] > 0) & (sizes[SIZE[1]] > 0)).fill_null(False)
    problem = "the image size is unknown or 0, and boxes are percentages of it"
    refuse_rows(table, frame, unknown, problem, "give image_width and image_height of the images")
    drawn = _drawn(table, frame)
    refuse_rows(table, frame, drawn["x"].is_null(), "box and polygon are missing", "remove the rows")
    wide, high = (sizes[name].cast(pl.Float64) for name in SIZE)
    hundred = frame.select(pl.repeat(100.0, pl.len())).to_series()
    points = _scaled(drawn["points"], [hundred, hundred], [wide, high])
    angle = frame["angle"].fill_null(0.0) if "angle" in frame.columns else hundred * 0
    corner = frame.select(BOX).with_columns(rotation=angle.alias("rotation"))
    to_centre_x, to_centre_y = _half_diagonal(0.0 - pl.col("rotation"))
    is_turned = pl.col("rotation") != 0
    corner = corner.with_columns(
        pl.when(is_turned).then(pl.col("x") + pl.col("width") / 2 - to_centre_x).otherwise("x").alias("x"),
        pl.when(is_turned).then(pl.col("y") + pl.col("height") / 2 - to_centre_y).otherwise("y").alias("y"),
        pl.when(is_turned).then(rotation_of(pl.col("rotation"))).otherwise(0.0).alias("rotation"),
    )
    own_ids = [pl.col("region_id").cast(pl.String)] if "region_id" in frame.columns else []
    fields = frame.select(
        "image_id",
        id=pl.coalesce(*own_ids, pl.col("annotation_id" if table == "annotations" else "detection_id").cast(pl.String)),
        score=pl.col("score") if table == "detections" else pl.lit(None, pl.Float64),
        labels=pl.concat_list("category_id"),
    )
    rows = fields.with_columns(
        sizes[SIZE[0]].alias("original_width"),
        sizes[SIZE[1]].alias("original_height"),
        *(corner[name] * hundred / (wide if name in ("x", "width") else high) for name in BOX),
        corner["rotation"],
        points=_pairs(points),
    )
    box = pl.struct(*BOX, "rotation", rectanglelabels="labels").struct.json_encode()
    polygon = pl.struct("points", polygonlabels="labels", closed=pl.lit(True)).struct.json_encode()
    is_polygon = pl.col("points").is_not_null()
    kind = pl.when(is_polygon).then(pl.lit("polygonlabels")).otherwise(pl.lit("rectanglelabels"))
    text = pl.concat_str(
        pl.lit("{"),
        pl.concat_str(
            *(encoded(name) for name in ("id", "original_width", "original_height", "score")),
            pl.lit('"type":"') + kind + pl.lit('"'),
            pl.lit('"from_name":"label","to_name":"image","image_rotation":0'),
            pl.lit('"value":') + pl.when(is_polygon).then(polygon).otherwise(box),
            separator=",", ignore_nulls=True,
        ),
        pl.lit("}"),
    )  # fmt: skip
    return rows.select("image_id", text=text)


def encoded(name: str, key: str | None = None) -> pl.Expr:
    """Return `"key":value` as JSON; null for null values."""
    value = pl.struct(exact(name).alias(key or name)).struct.json_encode()
    return pl.when(exact(name).is_not_null()).then(value.str.slice(1).str.head(-1))


def _turned_about_centre() -> list[pl.Expr]:
    """Return `x` and `y` for a box turned about its corner, as for a box turned about its centre.

    Boxes that were drawn leftwards or upwards from their corner have negative sides.
    """
    to_centre = _half_diagonal(pl.col("rotation").radians())
    placed = []
    for name, side, offset in zip(("x", "y"), ("width", "height"), to_centre, strict=True):
        turned = pl.col(name) + offset - pl.col(side).abs() / 2
        upright = pl.col(name) + pl.min_horizontal(side, 0.0)
        placed.append(pl.when(pl.col("rotation") != 0).then(turned).otherwise(upright).alias(name))
    return placed


def _half_diagonal(turn: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the vector from the corner to the centre of a box turned clockwise, in radians; y points down."""
    width, height = pl.col("width") / 2, pl.col("height") / 2
    return width * turn.cos() - height * turn.sin(), width * turn.sin() + height * turn.cos()


def _scaled(points: pl.Series, numerators: list[pl.Series], denominators: list[pl.Series]) -> pl.Series:
    """Scale lists of x and y in turn by a numerator over a denominator of their row."""
    numbers, n = pl.col("points"), pl.col("points").list.len()
    by, over = (repeated([pl.lit(each) for each in pair], n) for pair in (numerators, denominators))
    return points.to_frame("points").select(numbers * by / over).to_series()


def _pairs(points: pl.Series) -> pl.Series:
    """Convert lists of x and y in turn to lists of points."""
    rows = points.alias("points").to_frame().with_row_index("row")
    long = rows.drop_nulls().select("row", x=pl.col("points").list.gather_every(2), y=pl.col("points").list.gather_every(2, 1))
    pairs = long.explode("x", "y").group_by("row", maintain_order=True).agg(points=pl.concat_list("x", "y"))
    return rows.select("row").join(pairs, on="row", how="left", maintain_order="left")["points"]


def _drawn(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the `points` of rows that are polygons, and the box and `area` that will be read back."""
    points = single_polygons(table, frame)
    drawn = pl.concat([frame.select(BOX), polygon_extents(points).select(pl.all().name.prefix("polygon_"))], how="horizontal")
    own = {name: pl.col(name) for name in BOX} | {"area": pl.col("width") * pl.col("height")}
    return drawn.select(points, **{name: pl.coalesce(f"polygon_{name}", value) for name, value in own.items()})

"""Annotations and detections as shapes of CVAT XML: their geometry, the losses, and their text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.columns import exact
from apframe.formats.polygon_columns import angle_of, number_type, polygon_extents, rotation_of, single_polygons
from apframe.formats.xml_text import escaped
from apframe.rows import refuse_rows
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.boxes import BOX

if TYPE_CHECKING:
    from apframe.formats.labelling.cvat.row_runs import Crop

FLAGS = ("is_crowd", "ignore")  # canonical columns that are written as attributes if true
PLACE = ("left", "top", "width", "height")
_EXTENTS = (*BOX, "area")
_DRAWN = "drawn: "  # prefix of columns that are added to those of the frame
_WHOLE, _NUMBER = r"^-?(0|[1-9]\d*)$", r"^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$"


def shape_losses(table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
    """List the changes by drawing: see `Format.further_losses`."""
    drawn = _drawn(table, frame)
    is_box = drawn["shape"] == "box"
    lost = [(name, frame[name] != drawn[name], "rounded, or replaced by that of the shape") for name in BOX]
    is_that_of_box = is_box & (frame["area"] == frame["width"] * frame["height"])
    lost.append(("area", (frame["area"] != drawn["area"]) & ~is_that_of_box, "replaced by that of the shape"))
    if "mask" in frame.columns:
        lost.append(("mask", frame["mask"].is_not_null() & is_box, "left out: neither one polygon nor pixels"))
    if "angle" in frame.columns:
        turned = frame.select(angle_of(rotation_of(pl.col("angle")))).to_series()
        is_other = (~is_box & (frame["angle"] != 0)) | ((frame["angle"] - turned).abs() > 1e-12)
        lost.append(("angle", is_other, "left out unless the shape is a box; whole turns are removed"))
    return lost


def attribute_losses(frame: pl.DataFrame, names: Iterable[str]) -> list[tuple[str, pl.Series, str]]:
    """List attributes that change: nameless ones, values of other types, and text that looks like another type."""
    lost = []
    for name in names:
        values = frame[name].alias("value")
        if not name or not is_plain(values.dtype):
            lost.append((name, values.is_not_null(), "left out"))
        elif _kind(typed(values.cast(pl.String)).dtype) != _kind(values.dtype):
            lost.append((name, values.is_not_null(), "read back as another type"))
    return lost


def shape_texts(table: str, frame: pl.DataFrame, sizes: pl.DataFrame) -> pl.Series:
    """Return the XML element of each row.

    Parameters
    ----------
    frame
        a canonical table, with the name of the label as category_id
    sizes
        `image_width` and `image_height` of the image of each row, which masks require

    Raises
    ------
    RowError
        rows without a box or polygon, invalid masks, or masks on an image of unknown size
    """
    drawn = _drawn(table, frame)
    refuse_rows(table, frame, drawn["x"].is_null(), "box, polygon and mask are missing", "remove the rows")
    unknown = (drawn["shape"] == "mask") & sizes.select(pl.any_horizontal(pl.all().is_null())).to_series()
    remedy = "give image_width and image_height of the images (for results, give their data set)"
    refuse_rows(table, frame, unknown, "mask is on an image of unknown size", remedy)
    rows = pl.concat([frame, drawn.select(pl.all().name.prefix(_DRAWN))], how="horizontal")
    fields, attributes = [], []
    own_names = {new: own for own, new in clashes(table).items()}
    for name in dict.fromkeys([*attribute_names(table, frame), *(name for name in frame.columns if name in (*FLAGS, "score"))]):
        if _is_field(name, frame[name]):
            fields.append(field(name, pl.col(name).cast(pl.Int8) if name == "occluded" else pl.col(name)))
        elif name and is_plain(frame.schema[name]):
            value = pl.when(pl.col(name)).then(pl.lit("true")) if name in FLAGS else escaped(exact(name))
            opening = [pl.lit("<attribute"), field("name", pl.lit(own_names.get(name, name))), pl.lit(">")]
            attributes.append(pl.concat_str(*opening, value, pl.lit("</attribute>")))
    if "occluded" not in frame.columns or not _is_field("occluded", frame["occluded"]):
        fields.append(pl.lit(' occluded="0"'))  # CVAT requires it
    turned = rotation_of(pl.col("angle")) if "angle" in frame.columns else pl.lit(None, pl.Float64)
    x, y, width, height = (pl.col(_DRAWN + name) for name in BOX)
    sides = {"xtl": x, "ytl": y, "xbr": pl.col("x") + pl.col("width"), "ybr": pl.col("y") + pl.col("height")}
    box = [field(name, value) for name, value in sides.items()] + [field("rotation", pl.when(turned != 0).then(turned))]
    mask = [field("rle", pl.col(_DRAWN + "rle"))]
    mask += [field(name, value.cast(pl.Int64)) for name, value in zip(PLACE, (x, y, width, height), strict=True)]
    shape = pl.col(_DRAWN + "shape")
    pieces = [
        pl.lit("<") + shape,
        field("label", pl.col("category_id")),
        *(pl.when(shape == "box").then(piece) for piece in box),
        pl.when(shape == "polygon").then(field("points", _point_text(pl.col(_DRAWN + "points")))),
        *(pl.when(shape == "mask").then(piece) for piece in mask),
        *fields,
        pl.lit(">"),
        *attributes,
        pl.lit("</") + shape + pl.lit(">"),
    ]
    return rows.select(text=pl.concat_str(pieces, ignore_nulls=True)).to_series()


def attribute_names(table: str, frame: pl.DataFrame) -> list[str]:
    """Return the columns other than the canonical ones and the file name, which is written with the image."""
    canonical = {column.name for column in TABLES[table]} | {"file_name"}
    return [name for name in frame.columns if name not in canonical]


def clashes(table: str) -> dict[str, str]:
    """Return new names for attributes whose names are those of canonical columns."""
    reserved = {column.name for column in TABLES[table]} - {*FLAGS, "score"} | {"file_name"}
    return {name: f"{name}_attribute" for name in reserved}


def field(name: str, value: pl.Expr) -> pl.Expr:
    """Return ` name="value"`, escaped; null for null values."""
    return pl.concat_str(pl.lit(f" {name}="), pl.lit('"'), escaped(value), pl.lit('"'))


def typed(texts: pl.Series) -> pl.Series:
    """Convert texts to Booleans or numbers, if all values are.

    >>> typed(pl.Series(["1", None, "2.5"])).to_list(), typed(pl.Series(["True", "false"])).to_list()
    ([1.0, None, 2.5], [True, False])
    >>> typed(pl.Series(["007"])).to_list()
    ['007']
    """
    values = texts.drop_nulls()
    if values.is_empty():
        return texts
    if values.str.to_lowercase().is_in(["true", "false"]).all():
        return texts.str.to_lowercase() == "true"
    for pattern, dtype in ((_WHOLE, pl.Int64()), (_NUMBER, pl.Float64())):
        if values.str.contains(pattern).all():
            numbers = texts.cast(dtype, strict=False)
            if numbers.null_count() == texts.null_count():
                return numbers
    return texts


def _drawn(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the geometry of rows: `shape`, its `points` or `rle`, and the box and `area` that will be read back."""
    points = single_polygons(table, frame)
    crops = _crops(table, frame)
    pixels = [
        None if crop is None else (crop.left, crop.top, crop.width, crop.height, sum(crop.counts[1::2])) for crop in crops
    ]
    rle = [None if crop is None else ", ".join(map(str, crop.counts)) for crop in crops]
    of_shape = [
        polygon_extents(points).select(pl.all().name.prefix("polygon_")),
        pl.DataFrame(
            [(None,) * len(_EXTENTS) if row is None else row for row in pixels],
            schema={f"mask_{name}": pl.Float64 for name in _EXTENTS},
            orient="row",
        ),
    ]
    x, y, width, height = (pl.col(name) for name in BOX)
    of_box = {"x": x, "y": y, "width": (x + width) - x, "height": (y + height) - y}
    of_box["area"] = of_box["width"] * of_box["height"]
    drawn = pl.concat([frame.select(BOX), *of_shape], how="horizontal")
    return drawn.select(
        shape=pl.when(points.is_not_null())
        .then(pl.lit("polygon"))
        .when(pl.Series(rle, dtype=pl.String).is_not_null())
        .then(pl.lit("mask"))
        .otherwise(pl.lit("box")),
        points=points,
        rle=pl.Series(rle, dtype=pl.String),
        **{name: pl.coalesce(f"polygon_{name}", f"mask_{name}", own) for name, own in of_box.items()},
    )


def _crops(table: str, frame: pl.DataFrame) -> list[Crop | None]:
    """Return the crops of masks that are run lengths or bitmaps."""
    none: list[Any] = [None] * frame.height
    if "mask" not in frame.columns or number_type(frame.schema["mask"]).is_float():
        return none
    from apframe.formats.labelling.cvat.row_runs import to_crop  # brings in NumPy

    masks = frame["mask"].to_list()
    crops, is_broken = none.copy(), [False] * frame.height
    for row, mask in enumerate(masks):
        if mask is None or (isinstance(mask, str) and not mask.lstrip().startswith("{")):
            continue
        try:
            crops[row] = to_crop(json.loads(mask) if isinstance(mask, str) else mask)
        except (ValueError, RecursionError):
            is_broken[row] = True
    refuse_rows(
        table, frame, pl.Series(is_broken, dtype=pl.Boolean), "the run lengths of mask do not add up to its size", "correct it"
    )
    return crops


def _point_text(points: pl.Expr) -> pl.Expr:
    """Return points as text, `x,y;x,y;...`."""
    numbers = points.list.eval(pl.element().cast(pl.String)).list.join(",")
    return numbers.str.replace_all(r"([^,]*),([^,]*),", "$1,$2;")


def _is_field(name: str, values: pl.Series) -> bool:
    """Return True for a field of CVAT's shapes, and False for an attribute of a label."""
    if name == "occluded":
        return values.dtype == pl.Boolean and not values.null_count()
    return (name in ("z_order", "group_id") and values.dtype.is_integer()) or (name == "source" and values.dtype == pl.String)


def is_plain(dtype: Any) -> bool:
    """Return True if values are texts, numbers or flags, which can be written directly."""
    return not (dtype.is_nested() or dtype in (pl.Binary, pl.Object))


def _kind(dtype: Any) -> tuple[bool, ...]:
    return dtype.is_integer(), dtype.is_float(), dtype == pl.Boolean, dtype == pl.String

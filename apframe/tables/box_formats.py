"""Box formats: a corner and the size, two corners, or the centre and the size; in pixels or as fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import BoxFormatWarning, ColumnError, ParameterError, warn
from apframe.option_values import one_of
from apframe.rows import refuse_rows
from apframe.tables.column_sources import to_polars
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.tables.types import with_ids
from apframe.validation import sound_rows
from apframe.wording import option_name

BOX_FORMATS = ("xyxy", "xywh", "cxcywh")
"""Two corners; the left top corner, width and height; the centre, width and height."""
# names of the four columns of a box, in lower case, that determine the format
_NAMED = {
    names: box_format
    for box_format, all_names in {
        "xyxy": (
            "x1 y1 x2 y2", "xmin ymin xmax ymax", "x_min y_min x_max y_max", "left top right bottom", "xtl ytl xbr ybr",
            "bbox_x1 bbox_y1 bbox_x2 bbox_y2",
        ),
        "xywh": (
            "left top width height", "left top w h", "bbox_x bbox_y bbox_width bbox_height", "bbox_x bbox_y bbox_w bbox_h",
        ),
        "cxcywh": ("cx cy w h", "cx cy width height", "xc yc w h", "x_center y_center width height"),
    }.items()
    for names in (tuple(text.split()) for text in all_names)
}  # fmt: skip
_SHORT = ("x", "y", "w", "h")  # leaves the format open, like x, y, width, height: x and y may be the centre
_CORNERS_FROM, _DIFFERENT = 100, 10  # with this many rows and different boxes, looking like two corners is no coincidence
_FRACTIONS_TO = 1.05  # the largest fraction of an image: some boxes reach a little beyond it


def as_xywh(table: str, frame: pl.DataFrame, box_format: str | None = None) -> pl.DataFrame:
    """Return the frame with its boxes as columns `x, y, width, height`, from any of the supported names and formats.

    Boxes may be a column `bbox` of lists, the columns `x, y, width, height`, or others of `x1 y1 x2 y2`, `xmin ymin xmax ymax`,
    `left top width height`, `cx cy w h` and the like, in any case; these are dropped. A frame without boxes is unchanged.

    Parameters
    ----------
    table
        name of the table in errors
    box_format
        one of `BOX_FORMATS`; by default the format that the column names imply, or "xywh" if they imply none

    Raises
    ------
    ColumnError
        the columns are not numbers, or their names imply another format
    RowError
        a `bbox` that is not four numbers

    >>> corners = pl.DataFrame({"x1": [10], "y1": [20], "x2": [40], "y2": [30]})
    >>> as_xywh("detections", corners).row(0)
    (10.0, 20.0, 30.0, 10.0)
    >>> as_xywh("detections", pl.DataFrame({"bbox": [[25, 25, 30, 10]]}), "cxcywh").row(0)
    (10.0, 20.0, 30.0, 10.0)
    """
    names = columns_of_boxes(frame.columns)
    if names is None:
        return frame
    if names == ["bbox"]:
        frame, names = split_boxes(table, frame, box_format), list(BOX)
    implied = _implied_format(names)
    if box_format is not None and implied not in (None, box_format):
        problem = f"columns {', '.join(names)} hold boxes as {implied}, not as {box_format}"
        raise ColumnError(problem, f"leave out {option_name('box_format')}, or rename the columns", table=table)
    resolved = box_format or implied or "xywh"
    if resolved == "xywh" and names == list(BOX):
        return frame
    for name in names:
        if not (frame[name].dtype.is_numeric() or frame[name].dtype == pl.Null):
            raise ColumnError(f"must hold numbers, not {frame[name].dtype}", table=table, column=name)
    first, second, third, fourth = (exact(name).cast(pl.Float64) for name in names)
    boxes = {
        "xywh": (first, second, third, fourth),
        "xyxy": (first, second, third - first, fourth - second),
        "cxcywh": (first - third / 2, second - fourth / 2, third, fourth),
    }[resolved]
    return frame.with_columns(**dict(zip(BOX, boxes, strict=True))).drop([name for name in names if name not in BOX])


def split_boxes(table: str, frame: pl.DataFrame, box_format: str | None = None) -> pl.DataFrame:
    """Split a column `bbox` of lists into the columns `x, y, width, height`: its four numbers, not converted."""
    is_list = frame["bbox"].dtype == pl.List
    if not (is_list or (isinstance(frame["bbox"].dtype, pl.Array) and frame["bbox"].dtype.shape == (4,))):
        raise ColumnError(f"must hold lists of four numbers, not {frame['bbox'].dtype}", table=table, column="bbox")
    if is_list or frame["bbox"].null_count():
        wrong = frame["bbox"].list.len().fill_null(0) != 4 if is_list else frame["bbox"].is_null()
        remedy = "boxes are [x, y, width, height]" if box_format is None else f"boxes need four numbers, {box_format}"
        frame = sound_rows(table, frame, wrong, "bbox is missing or not four numbers", remedy)
    side = pl.col("bbox").list if is_list else pl.col("bbox").arr
    return frame.select(pl.exclude("bbox", *BOX), *(side.get(k).alias(name) for k, name in enumerate(BOX)))


def in_pixels(table: str, frame: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Multiply `x, y, width, height`, which are fractions of the image, by the size of the image.

    Rows of unknown images are unchanged: they cause an error of their own.

    Parameters
    ----------
    images
        canonical

    Raises
    ------
    RowError
        images with such boxes have no size

    >>> images = pl.DataFrame({"image_id": [7], "image_width": [640], "image_height": [480]})
    >>> detections = pl.DataFrame({"image_id": [7], "x": [0.5], "y": [0.25], "width": [0.1], "height": [0.5]})
    >>> in_pixels("detections", detections, images).row(0)
    (7, 320.0, 120.0, 64.0, 240.0)
    """
    if "image_id" not in frame.columns or not set(BOX) <= set(frame.columns):
        return frame
    frame, ids = with_ids(table, frame, "image_id")
    if ids.dtype != images["image_id"].dtype:
        return frame
    image_sizes = images.select("image_id", *(pl.col(name).cast(pl.Float64) for name in SIZE))
    sizes = ids.alias("image_id").to_frame().join(image_sizes, on="image_id", how="left", maintain_order="left")
    has_size = pl.all_horizontal(pl.col(SIZE) > 0).fill_null(False)
    used = images["image_id"].is_in(ids.unique().implode())
    remedy = (
        f"give both in the table of images (COCO's width and height), or {option_name('image_sizes')} where a format takes it"
    )
    problem = "the image size is missing, which relative boxes need,"
    refuse_rows("images", images, used & ~images.select(has_size).to_series(), problem, remedy)
    width, height = (sizes[name].fill_null(1.0) for name in SIZE)
    return frame.with_columns(
        x=pl.col("x") * width, y=pl.col("y") * height, width=pl.col("width") * width, height=pl.col("height") * height
    )


def as_pixel_boxes(
    table: str, source: Any, images: pl.DataFrame | None, box_format: str | None = None, relative: bool = False
) -> pl.DataFrame:
    """Return a source of columns as a frame with boxes `x, y, width, height` in pixels; see `as_xywh` and `in_pixels`.

    `images` are needed only if boxes are relative.

    Raises
    ------
    ParameterError
        there are no boxes, the format is unknown, or boxes are relative without images

    >>> images = pl.DataFrame({"image_id": [7], "image_width": [640], "image_height": [480]})
    >>> detections = {"image_id": [7], "bbox": [[0.25, 0.5, 0.75, 1.0]]}
    >>> as_pixel_boxes("detections", detections, images, "xyxy", True).row(0)
    (7, 160.0, 240.0, 320.0, 240.0)
    """
    if box_format is not None:
        one_of("box_format", box_format, BOX_FORMATS)
    frame = as_xywh(table, to_polars(source, table), box_format)
    option = "relative" if relative else "box_format"
    if frame.height and (relative or box_format not in (None, "xywh")) and not set(BOX) <= set(frame.columns):
        there_are = f"there are {', '.join(frame.columns)}"
        raise ParameterError(f"applies to boxes, but the {table} have no box columns", there_are, option=option)
    if not relative:
        return frame
    if images is None:
        raise ParameterError("needs the data set with the image sizes", option="relative")
    return in_pixels(table, frame, images)


def warn_of_boxes(table: str, frame: pl.DataFrame, images: Callable[[], pl.DataFrame | None]) -> None:
    """Warn if boxes do not look like x, y, width, height in pixels.

    They look like fractions if all numbers are in [0, 1.05], and not all of them are whole. They look like two corners if, in a
    table of 100 rows or more (and 10 different boxes), the third number is at least the first and the fourth at least the
    second in all rows; this is not checked if the column names imply the format. `images` returns the canonical table: if all
    images are 1 x 1, boxes are fractions on purpose.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_of_boxes("detections", pl.DataFrame({"bbox": [[0.1, 0.2, 0.3, 0.4]]}), lambda: None)
    >>> print(caught[0].message)
    detections: all boxes are in [0, 1.05], so they look like fractions of the image; if they are, give relative=True
    """
    names = columns_of_boxes(frame.columns)
    numbers = None if names is None else _four_numbers(frame, names)
    if names is None or numbers is None or numbers[0].is_empty():
        return
    if are_fractions(numbers):
        image_table = images()
        are_one = pl.all_horizontal((pl.col(SIZE) == 1).fill_null(False)).all()
        if image_table is None or not image_table.select(are_one).item():
            problem = f"all boxes are in [0, {_FRACTIONS_TO}], so they look like fractions of the image"
            warn(f"{table}: {problem}; if they are, give {option_name('relative', 'True')}", BoxFormatWarning)
    elif _implied_format(names) is None and len(numbers[0]) >= _CORNERS_FROM and _are_corners(numbers):
        problem = "in all boxes the third number is at least the first, and the fourth at least the second"
        options = (
            f"give {option_name('box_format', 'xyxy')}, or {option_name('box_format', 'xywh')} if they are x, y, width, height"
        )
        warn(f"{table}: {problem}, so they look like two corners; {options}", BoxFormatWarning)


def warn_of_pixels(path: Path, frame: pl.DataFrame) -> None:
    """Warn if the boxes of a file look like fractions of the image, although its format has pixels."""
    if are_fractions([frame[name] for name in BOX]):
        problem = f"all boxes are in [0, {_FRACTIONS_TO}], so they look like fractions of the image, but the format has pixels"
        warn(f"{path}: {problem}; multiply x and width by the width of the image, y and height by its height", BoxFormatWarning)


def are_fractions(numbers: Sequence[pl.Series]) -> bool:
    """Return True if all numbers are in [0, 1.05], and not all of them are whole; False without numbers.

    >>> are_fractions([pl.Series([0.5, 0.7])]), are_fractions([pl.Series([0, 1])]), are_fractions([pl.Series([0.5, 9])])
    (True, False, False)
    """
    each = [values for values in numbers if values.count()]
    if not each or any(values[0] is not None and not 0 <= values[0] <= _FRACTIONS_TO for values in each):
        return False  # for most tables, the first row decides
    inside = all(values.min() >= 0 and values.max() <= _FRACTIONS_TO for values in each)  # type: ignore[operator]
    return inside and not all((values == values.round()).all() for values in each)


def _are_corners(numbers: Sequence[pl.Series]) -> bool:
    """Return True if the third and fourth number may be a corner; False if all boxes begin at 0, where both formats agree.

    Copies of a few boxes are no evidence.
    """
    near, far = numbers[:2], numbers[2:]
    ends = all((end >= begin).all() for begin, end in zip(near, far, strict=True))
    if not ends or all((begin == 0).all() for begin in near):
        return False
    return pl.DataFrame([each.alias(str(k)) for k, each in enumerate(numbers)]).n_unique() >= _DIFFERENT


def columns_of_boxes(names: Sequence[str]) -> list[str] | None:
    """Return the columns that hold the boxes: four, or "bbox" alone; None if there are none.

    >>> columns_of_boxes(["image", "XMin", "YMin", "XMax", "YMax"])
    ['XMin', 'YMin', 'XMax', 'YMax']
    """
    there = {name.strip().lower(): name for name in names} | {name: name for name in names}  # exact names first
    if "bbox" in names and not set(BOX) <= set(names):
        return ["bbox"]
    layouts = (BOX, *_NAMED, _SHORT)
    return next(([there[name] for name in layout] for layout in layouts if set(layout) <= there.keys()), None)


def _implied_format(names: list[str]) -> str | None:
    """Return the format that the column names imply, None if they leave it open."""
    return _NAMED.get(tuple(name.strip().lower() for name in names))


def _four_numbers(frame: pl.DataFrame, names: list[str]) -> list[pl.Series] | None:
    """Return the four numbers of the boxes as columns; None if they are something else."""
    if names == ["bbox"]:
        boxes = frame["bbox"]
        inner = getattr(boxes.dtype, "inner", None)
        if inner is None or not inner.is_numeric():
            return None
        lists = boxes.arr.to_list() if isinstance(boxes.dtype, pl.Array) else boxes
        return [lists.list.get(k, null_on_oob=True) for k in range(4)]
    columns = [frame[name] for name in names]
    return columns if all(column.dtype.is_numeric() for column in columns) else None

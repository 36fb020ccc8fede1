"""Checks of boxes and areas: outside their image, empty, in other units, duplicated."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, of_rows, of_table
from apframe.checks.masks import has_mask
from apframe.similarity.box_iou import box_iou
from apframe.similarity.extents import with_image_sizes
from apframe.tables.schemas import TABLES
from apframe.tables.shapes.boxes import BOX
from apframe.wording import counted, option_name

_SLACK = 1.0  # pixels that a box may reach beyond its image without a finding: some tools count pixels from 1
_NEAR = 0.9  # IoU from which two boxes count as duplicates
_MOSTLY = 0.99  # the share that counts as nearly all
_OFTEN = 0.1  # the share of boxes beyond their image that cannot be a slip


def check_boxes(table: str, frame: pl.DataFrame, images: pl.DataFrame) -> Iterable[Finding]:
    """Find `outside_image`, `empty_box`, `fractions` and `corners` in rows with boxes.

    Parameters
    ----------
    table
        "annotations" or "detections"
    frame, images
        canonical; images of unknown size have no findings about boxes outside of them

    Notes
    -----
    `corners` are boxes written as left, top, right, bottom: read as x, y, width, height, a tenth of them or more end beyond
    their image, but in nearly all rows the third and fourth number are at least the first and second, and inside the image.

    >>> boxes = pl.DataFrame({"detection_id": [1], "image_id": [1], "x": [90.0], "y": [0.0], "width": [20.0], "height": [9.0]})
    >>> images = pl.DataFrame({"image_id": [1], "image_width": [100], "image_height": [100]})
    >>> [(finding.check, finding.problem) for finding in check_boxes("detections", boxes, images)]
    [('outside_image', 'the box reaches up to 10 pixels outside its image')]
    """
    has_size = (pl.col("image_width") > 0) & (pl.col("image_height") > 0)
    frame = frame.select(TABLES[table][0].name, "image_id", *BOX).filter(pl.col("x").is_not_null())
    boxes = with_image_sizes(frame, images)
    boxes = boxes.with_columns(pl.when(has_size).then(pl.col("image_width", "image_height")))
    right, bottom = pl.col("x") + pl.col("width"), pl.col("y") + pl.col("height")
    beyond = pl.max_horizontal(-pl.col("x"), -pl.col("y"), right - pl.col("image_width"), bottom - pl.col("image_height"))
    is_out = (right <= 0) | (bottom <= 0) | (pl.col("x") >= pl.col("image_width")) | (pl.col("y") >= pl.col("image_height"))
    sized = pl.col("image_width").is_not_null()
    flags = boxes.select(
        wholly=sized & is_out & (beyond > _SLACK),
        partly=sized & ~is_out & (beyond > _SLACK),
        beyond=pl.when(sized).then(beyond),
        empty=(pl.col("width") == 0) | (pl.col("height") == 0),
        fits=pl.col("width").is_between("x", "image_width") & pl.col("height").is_between("y", "image_height"),
        fraction=pl.all_horizontal(pl.col(name).is_between(0, 1) for name in BOX)
        & ~pl.all_horizontal(pl.col("image_width", "image_height").eq_missing(1)),  # where these are the unit
    )
    furthest, share_fits, share_out = flags.select(
        pl.col("beyond").filter("partly").max().fill_null(0),
        pl.col("fits").mean().fill_null(0),
        (pl.col("wholly") | pl.col("partly")).mean().fill_null(0),
    ).row(0)
    if share_fits >= _MOSTLY and share_out >= _OFTEN:
        problem = (
            f"boxes of the {table} seem to be left, top, right, bottom: as x, y, width, height, {share_out:.0%} leave the image"
        )
        remedy = f"Give {option_name('box_format', 'xyxy')}, or convert them: width = right - left, height = bottom - top."
        yield of_table("warning", "corners", table, boxes.height, problem, remedy)
    elif boxes.height and flags["fraction"].all() and not flags["empty"].all():
        remedy = f"Give {option_name('relative', 'True')}, or multiply them by the sizes of their images."
        problem = f"all boxes of the {table} are between 0 and 1, so they seem to be fractions of the image"
        yield of_table("warning", "fractions", table, boxes.height, problem, remedy)
    else:
        remedy = "Check that these are the right images, and that their width and height are not swapped."
        problem = "the box is entirely outside its image"
        yield from of_rows("warning", "outside_image", table, boxes, flags["wholly"], problem, remedy)
        problem = f"the box reaches up to {counted(round(furthest), 'pixel')} outside its image"
        remedy = "Clip the boxes unless that is intended: IoU counts the whole box."
        yield from of_rows("note", "outside_image", table, boxes, flags["partly"], problem, remedy)
    remedy = "Remove them or supply their size. Only rules that count pixels inclusively, as VOC's do, can match such a box."
    severity = "warning" if table == "annotations" else "note"
    yield from of_rows(severity, "empty_box", table, boxes, flags["empty"], "width or height is 0", remedy)


def check_image_sizes(images: pl.DataFrame) -> Iterable[Finding]:
    """Find `image_size`: a width or height that is known but not positive.

    >>> images = pl.DataFrame({"image_id": [1], "image_width": [0], "image_height": [480]})
    >>> [finding.check for finding in check_image_sizes(images)]
    ['image_size']
    """
    wrong = images.select(((pl.col("image_width") < 1) | (pl.col("image_height") < 1)).fill_null(False)).to_series()
    problem, remedy = "image_width or image_height is not positive", "Supply the size in pixels, or null if it is unknown."
    yield from of_rows("warning", "image_size", "images", images, wrong, problem, remedy)


def check_areas(annotations: pl.DataFrame) -> Iterable[Finding]:
    """Find `area_of_box`: without a mask, an area that is 0, or larger than the box by a hundredth and a pixel or more.

    >>> annotations = pl.DataFrame({
    ...     "annotation_id": [3, 4], "width": [9.0, 9.0], "height": [9.0, 9.0], "area": [500.0, 0.0]})
    >>> [finding.rows for finding in check_areas(annotations)]
    [('3', '4')]
    """
    of_box = annotations["width"] * annotations["height"]
    flags = ((annotations["area"] > 1.01 * of_box + 1) | ((annotations["area"] <= 0) & (of_box > 0))).fill_null(False)
    if "mask" in annotations.columns:
        flags &= ~has_mask(annotations["mask"])
    problem, remedy = "area is 0 or larger than the box", "Correct it: area ranges are based on it."
    yield from of_rows("warning", "area_of_box", "annotations", annotations, flags, problem, remedy)


def check_near_duplicates(annotations: pl.DataFrame) -> Iterable[Finding]:
    """Find `near_duplicate`: annotations with IoU .9 or more with an earlier one of their image and category, except crowds.

    >>> annotations = pl.DataFrame({
    ...     "annotation_id": [1, 2], "image_id": [1, 1], "category_id": [1, 1], "is_crowd": [False, False],
    ...     "x": [0.0, 0.0], "y": [0.0, 0.0], "width": [99.0, 99.0], "height": [99.0, 98.0]})
    >>> [finding.rows for finding in check_near_duplicates(annotations)]
    [('2',)]
    """
    # areas of such boxes differ by less than the step, so only neighbouring sizes are compared, because cells may be crowded
    size = ((pl.col("width") * pl.col("height")).log() / -math.log(_NEAR - 0.01)).floor().cast(pl.Int64)
    boxes = annotations.lazy().with_row_index("place").filter(~pl.col("is_crowd") & (pl.col("width") * pl.col("height") > 0))
    boxes = boxes.select("place", "image_id", "category_id", *BOX, size=size)
    near = pl.concat([boxes.with_columns(pl.col("size") + step) for step in (-1, 0, 1)])
    pairs = boxes.join(near, on=["image_id", "category_id", "size"]).with_columns(is_crowd=pl.lit(False))
    pairs = pairs.filter(pl.col("place") > pl.col("place_right"))
    later = pairs.filter(box_iou() >= _NEAR).select("place").unique().collect(engine="streaming")["place"]
    flags = pl.int_range(annotations.height, dtype=pl.UInt32, eager=True).is_in(later.implode())
    problem = f"the box nearly equals that of an earlier annotation of the same image and category (IoU {_NEAR} or more)"
    remedy = "Keep one of each: a detection matches only one of them, and the others are missed."
    yield from of_rows("warning", "near_duplicate", "annotations", annotations, flags, problem, remedy)

"""Crops: the part of each picture around the objects that the picture is about, all of one shape."""

from __future__ import annotations

import polars as pl

from apframe.show.drawings import CROP, RATIO, picture_sizes
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.corners import upright

_MARGIN = 0.5  # of the size of the subject, on each side
_TIGHT = 0.125  # the smallest such margin: no crop exceeds its picture in one direction for a wider one


def crop_pictures(objects: pl.DataFrame, least: float = 0.25) -> pl.DataFrame:
    """Find the crop of each picture that shows its subjects with a margin of half their size on each side.

    Crops are four thirds as wide as high, and inside their picture. If the subjects do not fit into any such part, the crop is
    larger than the picture in one direction, where it has free stripes.

    Parameters
    ----------
    objects
        the columns of `draw_objects`, without intervals and cuboids, which have no pictures
    least
        the smallest width of a crop, as a share of the longer side of its picture

    Returns
    -------
    image_id, width and height of the picture, and crop_x, crop_y and crop_width, in the order in which images first come.
    The crop is the whole picture where there is no subject.

    >>> box = {"image_id": [1], "image_width": [640], "image_height": [480], "is_subject": [True]}
    >>> box |= {"x": [300.0], "y": [100.0], "width": [100.0], "height": [120.0]}
    >>> crop_pictures(pl.DataFrame(box)).rows()  # 120 pixels high, so 240 with its margins, and 320 wide
    [(1, 640, 480, 190.0, 40.0, 320.0)]
    """
    x, y, wide, high = map(pl.col, BOX)
    ends = {"left": x.min(), "right": (x + wide).max(), "top": y.min(), "bottom": (y + high).max()}
    subjects = upright(objects).filter(pl.col("is_subject").cast(pl.Boolean)).group_by("image_id").agg(**ends)
    frame = picture_sizes(objects).join(subjects, on="image_id", how="left", maintain_order="left")
    width, height = pl.col("width"), pl.col("height")
    left, right = (pl.col(name).fill_null(end).clip(0, width) for name, end in (("left", 0), ("right", width)))
    top, bottom = (pl.col(name).fill_null(end).clip(0, height) for name, end in (("top", 0), ("bottom", height)))
    around = pl.max_horizontal(right - left, (bottom - top) * RATIO)
    side = pl.max_horizontal(around * (1 + 2 * _MARGIN), least * pl.max_horizontal(width, height))
    inside, whole = pl.min_horizontal(width, height * RATIO), pl.max_horizontal(width, height * RATIO)
    across = pl.min_horizontal(side, whole, pl.max_horizontal(inside, around * (1 + 2 * _TIGHT)))
    down = across / RATIO
    starts = (_start((left + right) / 2, across, width), _start((top + bottom) / 2, down, height))
    return frame.select("image_id", "width", "height", **dict(zip(CROP, (*starts, across), strict=True)))


def _start(middle: pl.Expr, length: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Return where a crop begins: around the middle, but inside the picture; below 0 if it is longer than the picture."""
    free = whole - length
    return pl.when(free > 0).then((middle - length / 2).clip(0, pl.max_horizontal(free, 0))).otherwise(free / 2)

"""Rotated boxes and quadrilaterals: four corners, or a box and an angle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import ULTRALYTICS
from apframe.validation import Sieve, sound_rows

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_SINGLE = 1e-6  # error of a coordinate in single precision relative to its size, and of the sine of pi, with some room
_FARTHEST = 1e150  # the product of two such numbers is still finite


def accept_ultralytics(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return detections with `corners`, or a box and `angle`, from the lists that Ultralytics writes: `poly`, or else `rbox`.

    The angle of `rbox` is in radians, clockwise on the screen. Frames that have a box, or another shape, are unchanged.

    Source: `pred_to_json` in `models/yolo/obb/val.py` of Ultralytics.

    Raises
    ------
    RowError
        an `rbox` that is not five numbers

    >>> accept_ultralytics("detections", pl.DataFrame({"rbox": [[100.0, 50.0, 40.0, 20.0, 0.5]]})).row(0)
    (80.0, 40.0, 40.0, 20.0, -0.5)
    """
    lists = [name for name in ULTRALYTICS if name in frame.columns and frame.schema[name].is_nested()]
    if table != "detections" or not lists or {"x", "mask", "keypoints", "corners"} & {*frame.columns}:
        return frame
    numbers = frame.select(pl.col(lists[0]).cast(pl.List(pl.Float64))).to_series()
    if lists[0] == "poly":
        return frame.drop(lists).with_columns(numbers.alias("corners"))
    remedy = "give the centre in x and y, width, height and the angle in radians"
    rest = sound_rows(table, frame, numbers.list.len().fill_null(0) != 5, "rbox is not five numbers", remedy)
    x, y, width, height, angle = (pl.col(lists[0]).list.get(k).cast(pl.Float64) for k in range(5))
    box = (x - width / 2, y - height / 2, width, height, -angle)
    return rest.with_columns(**dict(zip((*BOX, "angle"), box, strict=True))).drop(lists)


def corner_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return x, y, width, height of the upright rectangle around `corners`, and `area` of the shape itself.

    Rows stay in their order. `table` is used in errors: corners that are missing, are not 8 finite numbers, or do not go
    around a convex shape (`RowError`).

    >>> corner_extents("annotations", pl.DataFrame({"corners": [[1.0, 0.0, 2.0, 1.0, 1.0, 2.0, 0.0, 1.0]]})).rows()
    [(0.0, 0.0, 2.0, 2.0, 2.0)]
    """
    import numpy as np

    corners = _given_corners(table, frame)
    following = np.roll(corners, -1, axis=1) - corners[:, :1]
    offsets = corners - corners[:, :1]  # from the first corner, so that far shapes lose no digits
    area = abs((offsets[:, :, 0] * following[:, :, 1] - offsets[:, :, 1] * following[:, :, 0]).sum(axis=1)) / 2
    return frame.select(**around_corners(), area=pl.Series(area))


def around_corners() -> dict[str, pl.Expr]:
    """Return the columns of the upright box around `corners`, by name.

    >>> pl.DataFrame({"corners": [[1.0, 0.0, 2.0, 1.0, 1.0, 3.0, 0.0, 1.0]]}).select(**around_corners()).row(0)
    (0.0, 0.0, 2.0, 3.0)
    """
    x, y = (pl.col("corners").list.gather_every(2, side).list for side in (0, 1))
    return {"x": x.min(), "y": y.min(), "width": x.max() - x.min(), "height": y.max() - y.min()}


def is_turned(frame: pl.DataFrame) -> pl.Series:
    """Flag the boxes that `angle` turns, except by multiples of half a turn; rows need a box and an angle.

    Half a turn may be in single precision. Boxes with a negative side are malformed, and not turned.

    >>> angles = {"angle": [0.5, 3.1415927410125732, None, 0.5, 0.5]}
    >>> boxes = {"x": [0.0, 0.0, 0.0, None, 0.0], "width": [5.0, 5.0, 5.0, None, -5.0], "height": [9.0, 9.0, 9.0, None, 9.0]}
    >>> is_turned(pl.DataFrame(boxes | angles)).to_list()
    [True, False, False, False, False]
    """
    if "angle" not in frame.columns:
        return pl.repeat(False, frame.height, eager=True)
    is_box = (pl.col("width") >= 0) & (pl.col("height") >= 0)
    return frame.select(((_exact(pl.col("angle").sin()) != 0) & is_box).fill_null(False)).to_series()


def upright(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the upright box around each turned box, with angle 0. `area` remains that of the shape.

    >>> quarter = {"x": [10.0], "y": [20.0], "width": [60.0], "height": [40.0], "angle": [1.5707963267948966]}
    >>> upright(pl.DataFrame(quarter)).row(0)
    (20.0, 10.0, 40.0, 60.0, 0.0)
    """
    turned = is_turned(frame)
    if not turned.any():
        return frame
    cos, sin = (_exact(each).abs() for each in (pl.col("angle").cos(), pl.col("angle").sin()))
    width, height = pl.col("width"), pl.col("height")
    wide, high = cos * width + sin * height, sin * width + cos * height
    around = {
        "x": pl.col("x") + (width - wide) / 2, "y": pl.col("y") + (height - high) / 2, "width": wide, "height": high,
        "angle": pl.lit(0.0),
    }  # fmt: skip
    return frame.with_columns(pl.when(turned).then(value).otherwise(name).alias(name) for name, value in around.items())


def turned_corners(angle: pl.Expr) -> list[pl.Expr]:
    """Return x and y of the corners of `x, y, width, height` turned by an angle: clockwise from the left end of the top.

    A malformed box with one negative side gets corners without area, which overlap nothing.

    >>> boxes = pl.DataFrame({"x": [1.0, 1.0], "y": [2.0, 2.0], "width": [3.0, -3.0], "height": [4.0, 4.0]})
    >>> boxes.select(pl.concat_list(turned_corners(pl.lit(0.0))).alias("corners"))["corners"].to_list()
    [[1.0, 2.0, 4.0, 2.0, 4.0, 6.0, 1.0, 6.0], [1.0, 2.0, -2.0, 2.0, -2.0, 2.0, 1.0, 2.0]]
    """
    corners, width = [], pl.col("width")
    height = pl.when(width * pl.col("height") < 0).then(0.0).otherwise("height")
    for right, down in ((0, 0), (1, 0), (1, 1), (0, 1)):
        ahead, below = (right - 0.5) * width, (down - 0.5) * height
        x = pl.col("x") + 0.5 * width + ahead * angle.cos() + below * angle.sin()
        y = pl.col("y") + 0.5 * height - ahead * angle.sin() + below * angle.cos()
        corners.append(pl.when(angle != 0).then(x).otherwise(pl.col("x") + right * width))
        corners.append(pl.when(angle != 0).then(y).otherwise(pl.col("y") + down * height))
    return corners


def with_corners(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with upright boxes around turned ones, and `corners` in place of `angle`, if any box is turned.

    >>> quarter = {"x": [1.0], "y": [2.0], "width": [8.0], "height": [4.0], "angle": [1.5707963267948966]}
    >>> with_corners(pl.DataFrame(quarter)).select("x", "y", "width", "height", "angle").row(0)
    (3.0, 0.0, 4.0, 8.0, None)
    """
    if not is_turned(frame).any():
        return frame
    own_corners = [pl.col("corners")] if "corners" in frame.columns else []
    has_angle = pl.all_horizontal(pl.col(*BOX, "angle").is_not_null())
    from_angle = pl.when(has_angle).then(pl.concat_list(turned_corners(pl.col("angle"))))
    corners = frame.select(corners=pl.coalesce(*own_corners, from_angle)).to_series()
    return upright(frame).with_columns(corners, angle=pl.lit(None, pl.Float64))


def _exact(value: pl.Expr) -> pl.Expr:
    """Return sines and cosines, exact at multiples of a right angle, which may be in single precision."""
    return pl.when(value.abs() < _SINGLE).then(0.0).otherwise(value)


def quadrilaterals(table: str, frame: pl.DataFrame) -> Array:
    """Return the corners of every row, of shape (rows, 4, 2)."""
    import numpy as np

    has_corners = (frame["corners"] if "corners" in frame.columns else frame["angle"].clear(frame.height)).is_not_null()
    own_corners, turned_boxes = check_corners(table, frame)
    corners = np.empty((frame.height, 4, 2))
    with_corners = has_corners.to_numpy()
    if "corners" in frame.columns:
        corners[with_corners] = own_corners
    if turned_boxes is not None:
        corners[~with_corners] = turned_boxes
    return corners


def check_corners(table: str, frame: pl.DataFrame) -> tuple[Array | None, Array | None]:
    """Return the corners of rows with `corners`, and of other rows (None without any); rows may be rejected: see `sound_rows`.

    >>> given, turned = check_corners("detections", pl.DataFrame({"corners": [[0.0, 0, 2, 0, 2, 2, 0, 2]]}))
    >>> given.shape, turned
    ((1, 4, 2), None)
    """
    if not {"corners", "angle"} & set(frame.columns):
        return None, None  # rejected when shapes are compared
    has_corners = frame["corners"].is_not_null() if "corners" in frame.columns else pl.repeat(False, frame.height, eager=True)
    if "angle" not in frame.columns:
        frame = sound_rows(table, frame, ~has_corners, "corners is missing", "supply it, or a column angle")
        return _given_corners(table, frame), None
    others = frame.filter(~has_corners)
    own_corners = _given_corners(table, frame.filter(has_corners)) if "corners" in frame.columns else None
    return own_corners, _turned_boxes(table, others) if others.height else None


def _given_corners(table: str, frame: pl.DataFrame) -> Array:
    """Return `corners` as an array of shape (rows, 4, 2), checked."""
    import numpy as np

    broken = frame["corners"].list.len().fill_null(0) != 8
    remedy = "give x1, y1, x2, y2, x3, y3, x4, y4, around the shape"
    frame = sound_rows(table, frame, broken, "corners is not a list of 8 numbers", remedy)
    corners = frame["corners"].explode(empty_as_null=False).cast(pl.Float64).to_numpy().reshape(-1, 4, 2)
    sieve = Sieve(table, frame)
    broken = pl.Series(~np.isfinite(corners).all(axis=(1, 2)))
    sieve.refuse(broken, "corners holds a number that is missing or not finite", "correct or remove these rows")
    far = pl.Series((abs(corners) > _FARTHEST).any(axis=(1, 2)))
    sieve.refuse(far, f"corners holds a number beyond {_FARTHEST:g}, too large to compute an area", "correct it")
    if sieve.wrong is not None:
        return _given_corners(table, sieve.sound(frame))
    remedy = "give the four corners in their order around the shape"
    sieve.refuse_malformed(pl.Series(~are_convex(corners)), "corners do not go around a convex shape", remedy)
    return corners


def are_convex(corners: Array) -> Array:
    """Flag the rows of `corners`, of shape (rows, 4, 2), that go around a convex shape up to rounding.

    >>> import numpy as np
    >>> are_convex(np.array([[[0.0, 0], [2, 0], [2, 2], [0, 2]], [[0.0, 0], [2, 0], [0, 2], [2, 2]]])).tolist()
    [True, False]
    """
    import numpy as np

    turning = turns(corners)
    edges = np.roll(corners, -1, axis=1) - corners
    slack = _SINGLE * abs(corners).max(axis=(1, 2)) * abs(edges).max(axis=(1, 2))
    return ~((turning > slack[:, None]).any(axis=1) & (turning < -slack[:, None]).any(axis=1))


def smallest_rectangles(corners: Array) -> Array:
    """Return the corners of the smallest rectangle around the four points of each row, in any order.

    One of its sides lies on a line through two of the points, so it is the smallest rectangle along the six lines; of equal
    ones, the one along the first corners. Source: `minAreaRect` of OpenCV.

    >>> import numpy as np
    >>> smallest_rectangles(np.array([[[0.0, 0], [2, 0], [0, 1], [2, 1]]])).tolist()
    [[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]]
    """
    import numpy as np

    one, other = np.triu_indices(4, 1)
    along = corners[:, other] - corners[:, one]
    length = np.hypot(along[..., 0], along[..., 1])[..., None]
    along = np.where(length > 0, along / np.where(length > 0, length, 1), np.array([1.0, 0.0]))
    axes = np.stack([along, np.stack([-along[..., 1], along[..., 0]], axis=-1)], axis=-1)  # rows, lines, xy, axes
    middle = corners.mean(axis=1, keepdims=True)
    places = (corners - middle)[:, None] @ axes  # rows, lines, points, axes
    low, high = places.min(axis=2), places.max(axis=2)
    area = (high - low).prod(axis=-1)
    best = np.arange(len(corners)), (area <= area.min(axis=1, keepdims=True) * (1 + _SINGLE)).argmax(axis=1)
    low, high, axes = low[best], high[best], axes[best]
    u, v = (np.stack([low[:, axis], high[:, axis]], axis=1) for axis in (0, 1))
    around = np.stack([u[:, [0, 1, 1, 0]], v[:, [0, 0, 1, 1]]], axis=-1)
    return around @ axes.transpose(0, 2, 1) + middle


def sides_of(rectangles: Array) -> Array:
    """Return both sides of rectangles given by their corners, of shape (rows, 2), in single precision as in kits.

    >>> import numpy as np
    >>> sides_of(np.array([[[0.0, 0], [2, 0], [2, 1], [0, 1]]])).tolist()
    [[2.0, 1.0]]
    """
    import numpy as np

    edges = rectangles[:, 1:3] - rectangles[:, 0:2]
    return np.hypot(edges[..., 0], edges[..., 1]).astype(np.float32)


def _turned_boxes(table: str, frame: pl.DataFrame) -> Array:
    """Return the corners of `x, y, width, height` turned by `angle` about the centre, of shape (rows, 4, 2)."""
    sieve = Sieve(table, frame)
    sieve.refuse_no_number("angle", "give it in radians; upright boxes have 0")
    frame = sieve.sound(frame)
    corners = {str(place): side for place, side in enumerate(turned_corners(pl.col("angle")))}
    return frame.select(**corners).to_numpy(order="c").reshape(-1, 4, 2)


def turns(corners: Array) -> Array:
    """Return the cross product of the sides before and after each corner: positive, negative, or 0 if they are in line."""
    import numpy as np

    sides = np.roll(corners, -1, axis=1) - corners
    after = np.roll(sides, -1, axis=1)
    return sides[:, :, 0] * after[:, :, 1] - sides[:, :, 1] * after[:, :, 0]


def flattened(corners: Array) -> Array:
    """Return corners without area, which overlap nothing; the box around them is unchanged."""
    import numpy as np

    return np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1).repeat(2, axis=1)


def with_other_corners(table: str, frame: pl.DataFrame, change: Callable[[Array], Array]) -> pl.DataFrame:
    """Return the frame with corners changed that do not go around a convex shape.

    >>> from apframe.rows import MALFORMED_KEPT, treating_malformed
    >>> crossed = pl.DataFrame({"detection_id": [1], "corners": [[0.0, 0.0, 4.0, 4.0, 4.0, 0.0, 0.0, 4.0]]})
    >>> with treating_malformed(MALFORMED_KEPT):
    ...     with_other_corners("detections", crossed, flattened)["corners"].to_list()
    [[0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 4.0, 4.0]]
    """
    if "corners" not in frame.columns:
        return frame
    corners = quadrilaterals(table, frame.drop_nulls("corners"))
    crossed = ~are_convex(corners)
    if not crossed.any():
        return frame
    corners[crossed] = change(corners[crossed])
    has_corners = frame["corners"].is_not_null()
    around = pl.Series(corners.reshape(-1, 8), dtype=pl.Array(pl.Float64, 8)).arr.to_list()
    return frame.with_columns(corners=around.gather((has_corners.cum_sum() - 1).set(~has_corners, None)))

"""Intersection over union of rotated boxes and quadrilaterals (DOTA); the geometry is shapely's, from the extra `rotated`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.exceptions import import_optional
from apframe.schema import BOX, refuse_rows
from apframe.similarity.pairs import Similarity, join_on_cell, lacking, overlap, union_of
from apframe.threads import pool

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_HULL = ["left", "top", "right", "bottom", "size"]
_BLOCK = 1 << 14  # pairs at a time
_SINGLE = 1e-6  # what a coordinate in single precision may be off, relative to its size, with some room

_FARTHEST = 1e150  # the product of two such numbers is still finite


@dataclass(frozen=True)
class RotatedIoU(Similarity):
    """IoU of convex quadrilaterals: intersection over the sum of both areas less the intersection.

    Each table gives `corners` (8 numbers, x1, y1 to x4, y4, around the shape, either way round) or `x, y, width, height` and
    `angle`; corners win where they are not null. The box is turned about its centre by `angle` radians, counter-clockwise as
    one sees it on the image: with y pointing down, its right end goes up. A crowd's union is the detection alone. Shapes
    without area have no IoU, and neither have those that only touch.

    >>> boxes = {"cell": [7], "x": [0.0], "y": [0.0], "width": [4.0], "height": [2.0]}
    >>> upright = pl.DataFrame({"cell": [7], "corners": [[1.0, -1.0, 3.0, -1.0, 3.0, 3.0, 1.0, 3.0]], "is_crowd": [False]})
    >>> level = pl.DataFrame(boxes | {"angle": [0.0]})
    >>> RotatedIoU().pair(level, upright, least=0.1).with_columns(pl.col("similarity").round(6)).rows()
    [(0, 0, 0.333333)]
    """

    name: ClassVar[str] = "rotated_iou"

    @property
    def words(self) -> str:
        """The rule in plain words."""
        return "intersection over union of rotated boxes"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, least: float) -> pl.DataFrame:
        """See `Similarity.pair`; `ParameterError` where shapely is not installed."""
        import numpy as np

        shapely = import_optional("shapely", "rotated boxes need shapely 2", '"apframe[rotated]"')
        for table, frame in (("detections", detections), ("annotations", annotations)):
            if not {"corners", "angle"} & set(frame.columns):
                raise lacking(self, table, "angle or corners")
        found = _shapes(shapely, _quadrilaterals("detections", detections))
        truth = _shapes(shapely, _quadrilaterals("annotations", annotations))
        hulls = detections.select("cell").hstack(_hulls(shapely, found))
        true_hulls = annotations.select("cell", "is_crowd").hstack(_hulls(shapely, truth))
        near = join_on_cell(hulls, true_hulls, _HULL).filter(_most() >= least * (1 - 1e-9))
        pairs = near.select("detection", "annotation", "is_crowd", "size", "size_right").collect(engine="streaming")
        intersection = _intersection(shapely, found, truth, pairs["detection"].to_numpy(), pairs["annotation"].to_numpy())
        detected = pairs["size"].to_numpy()
        union = np.where(pairs["is_crowd"].to_numpy(), detected, detected + pairs["size_right"].to_numpy() - intersection)
        similarity = np.minimum(intersection / union, 1)  # the same shape twice may differ by a last bit
        alike = pairs.select("detection", "annotation", similarity=pl.Series(similarity))
        return alike.filter((pl.col("similarity") >= least) & (pl.col("similarity") > 0))


def corner_extents(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The box columns of `corners`: the upright rectangle around them, x, y, width, height; `area` is that of the shape itself.

    Rows stay in their order. `table` is the name that errors use: corners that are missing, not 8 finite numbers, or do not go
    around a convex shape (`RowError`).

    >>> corner_extents("annotations", pl.DataFrame({"corners": [[1.0, 0.0, 2.0, 1.0, 1.0, 2.0, 0.0, 1.0]]})).rows()
    [(0.0, 0.0, 2.0, 2.0, 2.0)]
    """
    import numpy as np

    corners = _given_corners(table, frame)
    low, high = corners.min(axis=1), corners.max(axis=1)
    following = np.roll(corners, -1, axis=1) - corners[:, :1]
    offsets = corners - corners[:, :1]  # from the first corner, so that far shapes lose no digits
    area = abs((offsets[:, :, 0] * following[:, :, 1] - offsets[:, :, 1] * following[:, :, 0]).sum(axis=1)) / 2
    size = high - low
    return pl.DataFrame({"x": low[:, 0], "y": low[:, 1], "width": size[:, 0], "height": size[:, 1], "area": area})


def _most() -> pl.Expr:
    """The IoU of two shapes that fill all that their upright rectangles share; null where these share nothing."""
    width, height = overlap("left", "right"), overlap("top", "bottom")
    shared = pl.min_horizontal(width * height, "size", "size_right")
    meets = (width > 0) & (height > 0) & (pl.col("size") > 0) & (pl.col("size_right") > 0)
    return pl.when(meets).then(shared / union_of(pl.col("size"), pl.col("size_right"), shared))


def _shapes(shapely: Any, corners: Array) -> Array:
    """Polygons; hulls of the four corners where these are convex but for rounding, as shapely fails on lines that cross."""
    shapes = shapely.polygons(corners)
    turns = _turns(corners)
    rough = ~((turns > 0).all(axis=1) | (turns < 0).all(axis=1))
    shapes[rough] = shapely.convex_hull(shapely.multipoints(corners[rough]))
    return shapes


def _intersection(shapely: Any, found: Array, truth: Array, detection: Array, annotation: Array) -> Array:
    """The area that the shapes of each pair share; shapely leaves the interpreter, so that two threads work at once."""
    import numpy as np

    def areas(start: int) -> Array:
        block = slice(start, start + _BLOCK)
        return shapely.area(shapely.intersection(found[detection[block]], truth[annotation[block]]))

    with pool() as others:
        return np.concatenate([np.empty(0), *others.map(areas, range(0, len(detection), _BLOCK))])


def _hulls(shapely: Any, shapes: Array) -> pl.DataFrame:
    bounds = shapely.bounds(shapes).reshape(-1, 4)
    return pl.DataFrame({name: bounds[:, place] for place, name in enumerate(_HULL[:4])} | {"size": shapely.area(shapes)})


def _quadrilaterals(table: str, frame: pl.DataFrame) -> Array:
    """The corners of every row, of shape (rows, 4, 2)."""
    import numpy as np

    has_corners = (frame["corners"] if "corners" in frame.columns else frame["angle"].clear(frame.height)).is_not_null()
    others = frame.filter(~has_corners)
    if "angle" not in frame.columns and others.height:
        refuse_rows(table, frame, ~has_corners, "corners is missing", "give it, or a column angle")
    corners = np.empty((frame.height, 4, 2))
    with_corners = has_corners.to_numpy()
    if "corners" in frame.columns:
        corners[with_corners] = _given_corners(table, frame.filter(has_corners))
    if others.height:
        corners[~with_corners] = _turned_boxes(table, others)
    return corners


def _given_corners(table: str, frame: pl.DataFrame) -> Array:
    """`corners` as an array of shape (rows, 4, 2), checked."""
    import numpy as np

    broken = frame["corners"].list.len().fill_null(0) != 8
    refuse_rows(
        table, frame, broken, "corners is not a list of 8 numbers", "give x1, y1, x2, y2, x3, y3, x4, y4, around the shape"
    )
    corners = frame["corners"].explode().cast(pl.Float64).to_numpy().reshape(-1, 4, 2)
    broken = pl.Series(~np.isfinite(corners).all(axis=(1, 2)))
    refuse_rows(table, frame, broken, "corners holds a number that is missing or not finite", "correct or remove these rows")
    far = pl.Series((abs(corners) > _FARTHEST).any(axis=(1, 2)))
    refuse_rows(
        table, frame, far, f"corners holds a number beyond {_FARTHEST:g}, of which no area can be computed", "correct it"
    )
    turns = _turns(corners)
    edges = np.roll(corners, -1, axis=1) - corners
    slack = _SINGLE * abs(corners).max(axis=(1, 2)) * abs(edges).max(axis=(1, 2))
    both = (turns > slack[:, None]).any(axis=1) & (turns < -slack[:, None]).any(axis=1)
    remedy = "give the four corners in their order around the shape"
    refuse_rows(table, frame, pl.Series(both), "corners do not go around a convex shape", remedy)
    return corners


def _turned_boxes(table: str, frame: pl.DataFrame) -> Array:
    """The corners of `x, y, width, height` turned by `angle` about the centre, of shape (rows, 4, 2)."""
    import numpy as np

    broken = ~frame["angle"].is_finite().fill_null(False)
    refuse_rows(table, frame, broken, "angle is missing or not a finite number", "give it in radians; upright boxes have 0")
    x, y, width, height = (frame[name].to_numpy() for name in BOX)
    cos, sin = np.cos(frame["angle"].to_numpy()), np.sin(frame["angle"].to_numpy())
    middle = np.stack([x + width / 2, y + height / 2], axis=1)
    along = np.stack([cos, -sin], axis=1) * (width / 2)[:, None]  # y points down: to go up is to become smaller
    across = np.stack([sin, cos], axis=1) * (height / 2)[:, None]
    return np.stack(
        [middle - along - across, middle + along - across, middle + along + across, middle - along + across], axis=1
    )


def _turns(corners: Array) -> Array:
    """At each corner the cross product of the sides before and after it: positive, negative, or 0 where they are in line."""
    import numpy as np

    sides = np.roll(corners, -1, axis=1) - corners
    after = np.roll(sides, -1, axis=1)
    return sides[:, :, 0] * after[:, :, 1] - sides[:, :, 1] * after[:, :, 0]

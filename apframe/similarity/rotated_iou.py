"""Intersection over union of rotated boxes and quadrilaterals; requires shapely, from the extra `rotated`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.exceptions import import_optional
from apframe.similarity.pairs import Similarity, join_on_cell, lacking, most_alike
from apframe.tables.shapes.corners import are_convex, quadrilaterals, turns
from apframe.tables.shapes.declarations import CORNERS
from apframe.tables.shapes.shape import Shape
from apframe.threads import pool

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_HULL = ["left", "top", "right", "bottom", "size"]
_BLOCK = 1 << 14  # pairs at a time


@dataclass(frozen=True)
class RotatedIoU(Similarity):
    """IoU of convex quadrilaterals: intersection over the sum of both areas minus the intersection.

    Each table has `corners` (8 numbers, x1, y1 to x4, y4, around the shape, either way round) or `x, y, width, height` and
    `angle`; corners that are not null win. The box is turned about its centre by `angle` radians, counter-clockwise as
    seen on the image: with y pointing down, its right end goes up. A crowd's union is the detection alone. Shapes without
    area have no IoU, and neither have shapes that only touch. Corners that do not go around a convex shape are an error. If
    such rows are kept, their areas have signs, see `_with_signed`; `treat` of the protocol's malformed rule changes the others.

    >>> boxes = {"cell": [7], "x": [0.0], "y": [0.0], "width": [4.0], "height": [2.0]}
    >>> upright = pl.DataFrame({"cell": [7], "corners": [[1.0, -1.0, 3.0, -1.0, 3.0, 3.0, 1.0, 3.0]], "is_crowd": [False]})
    >>> level = pl.DataFrame(boxes | {"angle": [0.0]})
    >>> RotatedIoU().pair(level, upright, min_similarity=0.1).with_columns(pl.col("similarity").round(6)).rows()
    [(0, 0, 0.333333)]
    """

    name: ClassVar[str] = "rotated_iou"
    shape: ClassVar[Shape] = CORNERS
    words = "intersection over union of rotated boxes"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`. Without shapely it raises a `ParameterError`."""
        import numpy as np

        shapely = import_optional("shapely", "rotated boxes need shapely 2", "shapely", "rotated")
        for table, frame in (("detections", detections), ("annotations", annotations)):
            if not {"corners", "angle"} & set(frame.columns):
                raise lacking(self, table, "angle or corners")
        corners = quadrilaterals("detections", detections), quadrilaterals("annotations", annotations)
        detection_shapes, annotation_shapes = (_shapes(shapely, each) for each in corners)
        hulls = detections.select("cell").hstack(_hulls(shapely, detection_shapes))
        true_hulls = annotations.select("cell", "is_crowd").hstack(_hulls(shapely, annotation_shapes))
        near = join_on_cell(hulls, true_hulls, _HULL).filter(most_alike() >= min_similarity * (1 - 1e-9))
        pairs = near.select("detection", "annotation", "is_crowd", "size", "size_right").collect(engine="streaming")
        intersection = _intersection(
            shapely, detection_shapes, annotation_shapes, pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
        )
        detected = pairs["size"].to_numpy()
        union = np.where(pairs["is_crowd"].to_numpy(), detected, detected + pairs["size_right"].to_numpy() - intersection)
        similarity = np.minimum(intersection / union, 1)  # the same shape twice may differ by a last bit
        alike = pairs.select("detection", "annotation", similarity=pl.Series(similarity))
        crossed = [pl.Series(~are_convex(each)) for each in corners]
        if any(flags.any() for flags in crossed):
            cells = join_on_cell(detections, annotations, []).collect()
            alike = _with_signed(shapely, alike, corners, crossed, cells)
        return alike.filter((pl.col("similarity") >= min_similarity) & (pl.col("similarity") > 0))


def _shapes(shapely: Any, corners: Array) -> Array:
    """Return polygons; hulls of corners that are convex only up to rounding, as shapely fails on lines that cross."""
    shapes = shapely.polygons(corners)
    turning = turns(corners)
    rough = ~((turning > 0).all(axis=1) | (turning < 0).all(axis=1))
    shapes[rough] = shapely.convex_hull(shapely.multipoints(corners[rough]))
    return shapes


def _with_signed(
    shapely: Any, alike: pl.DataFrame, corners: tuple[Array, Array], crossed: list[pl.Series], pairs: pl.DataFrame
) -> pl.DataFrame:
    """Return the pairs, with signed areas for corners that are `crossed`; `pairs` are all pairs of the cells.

    A quadrilateral consists of two triangles. A triangle counts as negative if it turns the other way than the quadrilateral.
    The intersections of the triangles are added up with both signs.

    Source: `polyiou.cpp` of DOTA's devkit.
    """
    import numpy as np

    is_signed = [crossed[0].gather(frame["detection"]) | crossed[1].gather(frame["annotation"]) for frame in (alike, pairs)]
    pairs = pairs.filter(is_signed[1])
    triangles, signs, sizes = zip(*(_signed_triangles(shapely, each) for each in corners), strict=True)
    left, right = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    shared = np.zeros(pairs.height)
    for one in range(2):
        for other in range(2):
            both = shapely.area(shapely.intersection(triangles[0][left, one], triangles[1][right, other]))
            shared += signs[0][left, one] * signs[1][right, other] * both
    union = np.where(pairs["is_crowd"].to_numpy(), sizes[0][left], sizes[0][left] + sizes[1][right] - shared)
    iou = np.divide(shared, union, out=np.zeros(pairs.height), where=union != 0)
    signed = pairs.select("detection", "annotation", similarity=pl.Series(np.minimum(iou, 1)))
    return pl.concat([alike.filter(~is_signed[0]), signed])


def _signed_triangles(shapely: Any, corners: Array) -> tuple[Array, Array, Array]:
    """Return the two triangles of each row, their signs, and the sum of their signed areas."""
    import numpy as np

    triangles = corners[:, [[0, 1, 2], [0, 2, 3]]]
    one, other = triangles[:, :, 1] - triangles[:, :, 0], triangles[:, :, 2] - triangles[:, :, 0]
    areas = (one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]) / 2
    total = areas.sum(axis=1)
    return shapely.polygons(triangles), np.sign(areas) * np.where(total < 0, -1, 1)[:, None], abs(total)


def _intersection(
    shapely: Any, detection_shapes: Array, annotation_shapes: Array, detection: Array, annotation: Array
) -> Array:
    """Return the shared area of each pair of shapes; shapely releases the interpreter lock, so that threads run at once."""
    import numpy as np

    def areas(start: int) -> Array:
        block = slice(start, start + _BLOCK)
        return shapely.area(shapely.intersection(detection_shapes[detection[block]], annotation_shapes[annotation[block]]))

    with pool() as others:
        return np.concatenate([np.empty(0), *others.map(areas, range(0, len(detection), _BLOCK))])


def _hulls(shapely: Any, shapes: Array) -> pl.DataFrame:
    bounds = shapely.bounds(shapes).reshape(-1, 4)
    return pl.DataFrame({name: bounds[:, place] for place, name in enumerate(_HULL[:4])} | {"size": shapely.area(shapes)})

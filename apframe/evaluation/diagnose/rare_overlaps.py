"""Counts of detections that overlap annotations at all, and the probable mistake if none of them matches one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from apframe.similarity.box_iou import box_iou
from apframe.tables.ids import is_known
from apframe.tables.schemas import KEYS
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import INTERVALS, SPHERES
from apframe.tables.shapes.shape import Shape
from apframe.wording import counted

MOST = 20_000  # detections that are compared with annotations, evenly spread: enough to see a pattern
_MOST_OF_IMAGES = 4 * MOST  # the same if all detections of an image are needed, and one image may have very many
LOW = 0.1  # an IoU that some of a model's boxes reach, however bad it is
_NEARNESS = {INTERVALS: f"overlaps one by tIoU {LOW} or more", SPHERES: "is near one"}


def spread(detections: pl.DataFrame) -> pl.DataFrame:
    """Return at most 20,000 of the detections, evenly spread, with the columns that `n_overlapping` requires."""
    return detections.gather_every(max(1, -(-detections.height // MOST))).select(*KEYS.values(), *BOX)


def of_some_images(detections: pl.DataFrame) -> pl.DataFrame:
    """Return the detections of evenly spread images, about 20,000, complete unless an image has far more."""
    n_images = max(1, -(-detections.height // MOST))
    images = detections["image_id"].unique().sort().gather_every(n_images)
    sample = detections if n_images == 1 else detections.filter(is_known(detections["image_id"], images))
    return sample.gather_every(max(1, -(-sample.height // _MOST_OF_IMAGES)))


def n_overlapping(detections: pl.DataFrame, annotations: pl.DataFrame, on: Sequence[str], least: float) -> int:
    """Number of detections that overlap an annotation of the same image (and category: `on`) by an IoU of `least` or more."""
    return _n_overlapping(detections, annotations, on, least, "place")


def n_fitted(detections: pl.DataFrame, annotations: pl.DataFrame, on: Sequence[str], least: float) -> tuple[int, int]:
    """Numbers of annotations that a detection overlaps, see `n_overlapping`, and of those in images with detections.

    Additional detections change nothing, because those of low scores are mostly false.

    >>> boxes = {"image_id": [1, 1, 2], "x": [0.0, 50.0, 0.0], "y": [0.0] * 3, "width": [9.0] * 3, "height": [9.0] * 3}
    >>> annotations = pl.DataFrame(boxes | {"is_crowd": [False] * 3})
    >>> n_fitted(annotations.head(1), annotations, ["image_id"], 0.5)
    (1, 2)
    """
    there = annotations.join(detections.select(*on).unique(), on=on, how="semi")
    return _n_overlapping(detections, there, on, least, "place_right"), there.height


def _n_overlapping(detections: pl.DataFrame, annotations: pl.DataFrame, on: Sequence[str], least: float, of: str) -> int:
    left, right = (frame.lazy().with_row_index("place") for frame in (detections, annotations))
    pairs = left.select(*on, *BOX, "place").join(right.select(*on, *BOX, "place", "is_crowd"), on=on)
    return int(pairs.filter(box_iou() >= least).select(pl.col(of).n_unique()).collect(engine="streaming").item())


def why_nothing_matches(
    detections: pl.DataFrame, annotations: pl.DataFrame, *, least: int, by_category: bool, shape: Shape | None = None
) -> str | None:
    """Describe what is probably wrong with detections of which none matches an annotation; None if they may just be bad.

    There must be `least` of them or more, and nothing that fits: no detection on an image with annotations, or no box that
    overlaps one by IoU .1, or, `by_category`, boxes that overlap, but never one of their own category. For intervals and
    spheres, these are the boxes around them, and their own columns are printed if `shape` is theirs.

    >>> box = {"x": 0.0, "y": 0.0, "width": 9.0, "height": 9.0, "is_crowd": False}
    >>> annotations = pl.DataFrame([{"annotation_id": 7, "image_id": 1, "category_id": 1} | box])
    >>> detections = pl.DataFrame([{"detection_id": k, "image_id": 1, "category_id": 1} | box | {"x": 50.0} for k in range(10)])
    >>> print(why_nothing_matches(detections, annotations, least=10, by_category=True))  # doctest: +NORMALIZE_WHITESPACE
    none of the 10 detections on images with annotations overlaps one by IoU 0.1 or more; on image 1, for example, detection 0
    is at [50, 0, 9, 9], annotation 7 at [0, 0, 9, 9] (x, y, width, height)
    """
    boxed, boxes = (frame.filter(pl.col("x").is_not_null()) for frame in (detections, annotations))
    if boxed.height < least or boxes.is_empty():
        return None
    images = boxes["image_id"].unique()
    on_annotated = boxed.filter(is_known(boxed["image_id"], images))
    if on_annotated.is_empty():
        return (
            f"none of the {counted(boxed.height, 'detection')} is on an image with annotations; for example, there are "
            f"detections on image {boxed['image_id'][0]!r}, annotations on image {boxes['image_id'][0]!r}"
        )
    if on_annotated.height < least:
        return None
    sample = spread(on_annotated)
    n_near = n_overlapping(sample, boxes, ("image_id",), LOW)
    if not n_near:
        mine = on_annotated.row(0, named=True)
        theirs = boxes.filter(pl.col("image_id") == mine["image_id"]).row(0, named=True)
        columns: Sequence[str] = BOX
        near = f"overlaps one by IoU {LOW} or more"
        if shape is not None and shape in _NEARNESS:
            columns, near = shape.needs, _NEARNESS[shape]
        return (
            f"none of the {counted(sample.height, 'detection')} on images with annotations {near}; "
            f"on image {mine['image_id']!r}, for example, detection {mine['detection_id']!r} is at {_shown(mine, columns)}, "
            f"annotation {theirs['annotation_id']!r} at {_shown(theirs, columns)} ({', '.join(columns)})"
        )
    if by_category and n_near >= least and not n_overlapping(sample, boxes, tuple(KEYS.values()), LOW):
        pairs = sample.join(boxes.select(*KEYS.values(), *BOX, "is_crowd"), on="image_id")
        mine = pairs.filter(box_iou() >= LOW).row(0, named=True)
        return (
            f"{n_near:,} of {counted(sample.height, 'detection')} overlap an annotation, but never one of their own category; "
            f"on image {mine['image_id']!r}, for example, a detection has category_id {mine['category_id']!r}, the annotation "
            f"that it overlaps has {mine['category_id_right']!r}"
        )
    return None


def _shown(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return f"[{', '.join(f'{row[name]:.4g}' for name in columns)}]"

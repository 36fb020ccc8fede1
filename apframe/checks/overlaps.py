"""How many detections overlap annotations at all: next to none do where boxes are of another scale, or of other images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from apframe.checks.findings import Finding, of_table
from apframe.schema import BOX, KEYS, is_known
from apframe.similarity.box_iou import box_iou

_MOST = 20_000  # detections that are compared with annotations, evenly spread: enough to see a pattern
_LEAST, _SHARE = 50, 0.02  # of so many detections at least such a share overlaps something, however bad the model
_IOU = 0.1


def check_overlaps(detections: pl.DataFrame, annotations: pl.DataFrame) -> Iterable[Finding]:
    """`no_overlap`: of 50 detections or more on images with annotations, less than 2 % overlap one by IoU .1, of any category.

    >>> box = {"x": 0.0, "y": 0.0, "width": 9.0, "height": 9.0, "is_crowd": False}
    >>> annotations = pl.DataFrame([{"image_id": 1, "category_id": 1} | box])
    >>> found = pl.DataFrame([{"image_id": 1, "category_id": 1} | box | {"x": 50.0 + k} for k in range(60)])
    >>> [finding.check for finding in check_overlaps(found, annotations)]
    ['no_overlap']
    """
    boxes = annotations.filter(annotations["x"].is_not_null())
    on_annotated = is_known(detections["image_id"], boxes["image_id"].unique()) & detections["x"].is_not_null()
    sample = spread(detections.filter(on_annotated))
    n_found = n_overlapping(sample, boxes, ("image_id",), _IOU) if sample.height >= _LEAST else sample.height
    if n_found < _SHARE * sample.height:
        problem = f"of {sample.height:,} on images with annotations, {n_found:,} overlap one (IoU {_IOU} or more)"
        remedy = "are the boxes of the same scale (resized images, fractions), and the image ids those of the ground truth?"
        yield of_table("warning", "no_overlap", "detections", detections.height, problem, remedy)


def spread(detections: pl.DataFrame) -> pl.DataFrame:
    """At most 20,000 of the detections, evenly spread, and of their columns what `n_overlapping` needs."""
    return detections.gather_every(max(1, -(-detections.height // _MOST))).select(*KEYS.values(), *BOX)


def n_overlapping(detections: pl.DataFrame, annotations: pl.DataFrame, on: Sequence[str], least: float) -> int:
    """How many detections overlap an annotation, of the same image (and category: `on`), by an IoU of `least` or more."""
    left = detections.lazy().select(*on, *BOX).with_row_index("place")
    pairs = left.join(annotations.lazy().select(*on, *BOX, "is_crowd"), on=on)
    return int(pairs.filter(box_iou() >= least).select(pl.col("place").n_unique()).collect(engine="streaming").item())

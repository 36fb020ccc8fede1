"""The check that detections overlap annotations, which hardly any do if boxes have another scale or belong to other images."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, of_table
from apframe.evaluation.diagnose.rare_overlaps import LOW, n_overlapping, spread
from apframe.tables.ids import is_known

_LEAST, _SHARE = 50, 0.02  # of at least 50 detections, this share overlaps something, however bad the model


def check_overlaps(detections: pl.DataFrame, annotations: pl.DataFrame) -> Iterable[Finding]:
    """Find `no_overlap`: of 50 or more detections on images with annotations, less than 2 % overlap one by IoU .1.

    >>> box = {"x": 0.0, "y": 0.0, "width": 9.0, "height": 9.0, "is_crowd": False}
    >>> annotations = pl.DataFrame([{"image_id": 1, "category_id": 1} | box])
    >>> detections = pl.DataFrame([{"image_id": 1, "category_id": 1} | box | {"x": 50.0 + k} for k in range(60)])
    >>> [finding.check for finding in check_overlaps(detections, annotations)]
    ['no_overlap']
    """
    boxes = annotations.filter(annotations["x"].is_not_null())
    on_annotated = is_known(detections["image_id"], boxes["image_id"].unique()) & detections["x"].is_not_null()
    sample = spread(detections.filter(on_annotated))
    n_found = n_overlapping(sample, boxes, ("image_id",), LOW) if sample.height >= _LEAST else sample.height
    if n_found < _SHARE * sample.height:
        few = f"only {n_found / sample.height:.1%}" if n_found else "none"
        problem = f"{few} of the detections on images with annotations overlap an annotation (IoU {LOW} or more)"
        remedy = (
            "Check that their boxes have the scale of the ground truth (resized images, fractions), and that the image ids are "
            "the same."
        )
        yield of_table("warning", "no_overlap", "detections", detections.height, problem, remedy)

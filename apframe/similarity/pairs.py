"""The join that makes pairs: every detection with every annotation of its cell (its image and category)."""

from __future__ import annotations

import polars as pl

BOX = ["x", "y", "width", "height"]


def pair_boxes(detections: pl.DataFrame, annotations: pl.DataFrame, similarity: pl.Expr, least: float) -> pl.DataFrame:
    """Join on the cell, compute the similarity, and keep pairs that reach the least of the thresholds.

    Parameters
    ----------
    detections
        columns `cell` (any integer; rows pair up only within a cell) and the four of the box
    annotations
        the same, and `is_crowd`
    similarity
        an expression over the joined row, such as `box_iou()`
    least
        pairs below this similarity are dropped

    Returns
    -------
    `detection` and `annotation` (row numbers in the two frames) and `similarity`, in no particular order.

    >>> from apframe.similarity.box_iou import box_iou
    >>> boxes = pl.DataFrame({"cell": [7, 8], "x": [0.0, 0.0], "y": [0.0, 0.0], "width": [4.0, 4.0], "height": [2.0, 2.0]})
    >>> found = boxes.with_columns(width=pl.Series([3.0, 1.0]))
    >>> pair_boxes(found, boxes.with_columns(is_crowd=False), box_iou(), least=0.5).rows()
    [(0, 0, 0.75)]
    """
    left = detections.lazy().select("cell", *BOX).with_row_index("detection")
    right = annotations.lazy().select("cell", *BOX, "is_crowd").with_row_index("annotation")
    return (
        left.join(right, on="cell")
        .select("detection", "annotation", similarity=similarity)
        .filter(pl.col("similarity") >= least)
        .collect(engine="streaming")
    )

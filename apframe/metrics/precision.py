"""Precision, with or without the addend of COCO's evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import polars as pl

if TYPE_CHECKING:
    import numpy as np

Numbers = TypeVar("Numbers", pl.Expr, "np.ndarray")
SPACING = 2.220446049250313e-16  # numpy.spacing(1)


def precision(k: Numbers, n: Numbers, addend: float = 0.0) -> Numbers:
    """True positives over all counted detections, `k / (n + addend)`.

    `COCOeval.accumulate` adds `SPACING` to every divisor, and so do the evaluations derived from it. It shows in one place: a
    true positive at rank 1 has the precision 0.9999999999999998.

    >>> frame = pl.DataFrame({"k": [1, 1], "n": [1, 2]})
    >>> frame.select(precision(pl.col("k"), pl.col("n"), SPACING)).to_series().to_list()
    [0.9999999999999998, 0.5]
    """
    return k / (n + addend)

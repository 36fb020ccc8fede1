"""Precision as COCO's evaluation divides it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import polars as pl

Numbers = TypeVar("Numbers", pl.Expr, np.ndarray)
SPACING = 2.220446049250313e-16  # numpy.spacing(1), which the reference adds to every divisor


def precision(k: Numbers, n: Numbers) -> Numbers:
    """True positives over all counted detections, `k / (n + spacing(1))`.

    The tiny addend is the reference's (`COCOeval.accumulate`); it shows in one place: a single true positive at
    rank 1 has precision 0.9999999999999998.

    >>> pl.DataFrame({"k": [1, 1], "n": [1, 2]}).select(precision(pl.col("k"), pl.col("n"))).to_series().to_list()
    [0.9999999999999998, 0.5]
    """
    return k / (n + SPACING)

"""Average precision as one weighted sum over the true positives of a ranking.

Let `k` number the true positives down the ranking, `n` be the number of detections counted up to there, and R all
positives there are. With precision `k / n`, its right-to-left maximum (the envelope) and a weight for each k, nearly every
published definition is `sum(precision * weight)`; they differ in the precision and in the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def envelope(precision: pl.Expr) -> pl.Expr:
    """The right-to-left maximum of the precision: the best that is still reached at this recall or beyond.

    >>> pl.DataFrame({"p": [0.5, 0.6, 0.4]}).select(envelope(pl.col("p"))).to_series().to_list()
    [0.6, 0.6, 0.4]
    """
    return precision.cum_max(reverse=True)


def levels_reached(k: np.ndarray, n_positives: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """How many of the recall levels are at most `k / n_positives`; none for k = 0.

    Level 0 thereby belongs to the first true positive. Computed in NumPy, whose division is exact to the last bit: where a
    column is one value repeated, Polars multiplies with the reciprocal, and 3 / 10 comes out as 0.30000000000000004,
    which is a level that 3 of 10 do not reach.

    >>> levels_reached(np.array([0, 1, 2, 3]), np.array([10]), [0, 0.1, 0.2, 0.30000000000000004]).tolist()
    [0, 2, 3, 3]
    """
    recall = np.divide(k, n_positives, out=np.zeros(len(k)), where=k > 0)
    return np.where(k > 0, np.searchsorted(np.asarray(levels), recall, side="right"), 0)


def average_precision(precision: pl.Expr, weight: pl.Expr) -> pl.Expr:
    """The weighted sum of the envelope; `weight` is of each true positive, and sums up to at most 1.

    Use it in `group_by(...).agg(...)`, with the rows of each group in ranking order. For COCO's 101 points the weight is the
    number of levels newly reached (see `levels_reached`) over 101.

    >>> frame = pl.DataFrame({"p": [1.0, 2 / 3, 0.6], "weight": [0.34, 0.33, 0.33]})
    >>> round(frame.select(average_precision(pl.col("p"), pl.col("weight"))).item(), 3)
    0.758
    """
    return (envelope(precision) * weight).sum()

"""The log-average miss rate: miss rates at several numbers of false positives per image as one number."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

LAMR_POINTS = tuple(10 ** (-2 + j / 4) for j in range(9))
"""False positives per image, from .01 to 1, evenly spaced by their logarithm."""
_LEAST = 1e-10  # whose logarithm is taken where nothing is missed


def log_average_miss_rate(points: Sequence[float] = LAMR_POINTS) -> pl.Expr:
    """An aggregate over the rows of one curve, highest score first, with the columns `fppi` and `miss_rate`.

    It is the geometric mean of the miss rates at `points`. The miss rate at a point is that of the last row whose `fppi` is not
    above it, or 1 if there is none. Null where the miss rate is null.

    Source: Dollár et al., PAMI 2012.

    >>> curve = pl.DataFrame({"fppi": [0.0, 0.5, 0.5, 1.0], "miss_rate": [0.75, 0.75, 0.5, 0.5]})
    >>> round(curve.select(log_average_miss_rate()).item(), 6)
    0.685378
    """
    rate = pl.col("miss_rate")
    at_points = [rate.filter(pl.col("fppi") <= point).last() for point in points]
    logarithms = [pl.max_horizontal(at_point.fill_null(1.0), pl.lit(_LEAST)).log() for at_point in at_points]
    mean = pl.sum_horizontal(logarithms) / len(points)
    return pl.when(rate.is_not_null().any()).then(mean.exp())

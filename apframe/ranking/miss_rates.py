"""The log-average miss rate: miss rates at several numbers of false positives per image as one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from apframe.exceptions import ParameterError, one_of

LAMR = "lamr"  # the column of the metrics

LAMR_POINTS = tuple(10 ** (-2 + j / 4) for j in range(9))
"""False positives per image, from .01 to 1, evenly spaced by their logarithm."""
_LEAST = 1e-10  # whose logarithm is taken where nothing is missed
ROWS = {
    "last": "of the last row that is not above the number; 1 if there is none",
    "last_or_final": "of the last row that is not above the number; of the whole list if there is none",
    "first": "of the first row that is not below the number; of the whole list if there is none",
}
"""Which row of a list the miss rate at a number of false positives per image is that of."""


@dataclass(frozen=True)
class MissRates:
    """How a protocol reads the log-average miss rate (LAMR, MR⁻²): the geometric mean of miss rates at some points.

    Attributes
    ----------
    row
        one of `ROWS`: "last" as published; "last_or_final", where an index of -1 reads the last row of all; or "first"
    points
        numbers of false positives per image, above 0 and increasing
    least
        what a lower miss rate is raised to; with 0, one point where nothing is missed makes the whole 0
    ties_together
        whether detections of equal score are one row; otherwise each is one

    Source: Dollár et al., PAMI 2012; `eval_MR_multisetup.py` of CityPersons; `APMRToolkits` of CrowdDet.

    >>> MissRates("next")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no row 'next'; there are last, last_or_final, first
    """

    row: str = "last"
    points: tuple[float, ...] = LAMR_POINTS
    least: float = _LEAST
    ties_together: bool = True

    def __post_init__(self) -> None:
        one_of("row", self.row, list(ROWS))
        if not self.points or any(low >= high for low, high in zip((0.0, *self.points), self.points, strict=False)):
            raise ParameterError(f"must be above 0 and increase, got {self.points}", option="points")

    @property
    def words(self) -> str:
        """The rule in plain words.

        >>> MissRates().words.split(";")[0]
        'LAMR is the geometric mean of 9 miss rates, at 0.01 to 1 false positives per image'
        """
        at = f"{self.points[0]:g} to {self.points[-1]:g} false positives per image"
        return (
            f"LAMR is the geometric mean of {len(self.points)} miss rates, at {at}; each is that {ROWS[self.row]}"
            f"{'; equal scores are one row' if self.ties_together else ''}"
            f"{f'; at least {self.least:g}' if self.least else ''}"
        )


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

"""Miss rates or sensitivities at several numbers of false positives per image, combined into one number: LAMR and CPM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.metric import Metric
from apframe.option_values import one_of

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights

LAMR_POINTS = tuple(10 ** (-2 + j / 4) for j in range(9))
"""False positives per image, from .01 to 1, evenly spaced by their logarithm."""
CPM_POINTS = tuple(2.0**k for k in range(-3, 4))
"""False positives per image, from 1/8 to 8."""
_LEAST = 1e-10  # the lower bound of miss rates, whose logarithm is averaged
ROWS = {
    "last": "of the last row that is not above the number; 1 if there is none",
    "last_or_final": "of the last row that is not above the number; of the whole list if there is none",
    "first": "of the first row that is not below the number; of the whole list if there is none",
}
"""The row of a list from which the miss rate at a number of false positives per image is read."""


@dataclass(frozen=True)
class MissRates(Metric):
    """The log-average miss rate (LAMR, MR⁻²) of a protocol: the geometric mean of miss rates at some points.

    Attributes
    ----------
    row
        one of `ROWS`: "last" as published; "last_or_final", like an index of -1, which reads the very last row; or "first"
    points
        numbers of false positives per image, above 0 and increasing
    least
        the lower bound of miss rates; if it is 0, one point without misses makes the mean 0
    ties_together
        True if detections of equal score are one row; otherwise each one is a row

    Source: Dollár et al., PAMI 2012; `eval_MR_multisetup.py` of CityPersons; `APMRToolkits` of CrowdDet.

    >>> MissRates("next")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no row 'next'; there are last, last_or_final, first
    """

    row: str = "last"
    points: tuple[float, ...] = LAMR_POINTS
    least: float = _LEAST
    ties_together: bool = True
    columns: ClassVar = ("lamr",)
    line: ClassVar = "miss rates"
    reads_one_list: ClassVar = True

    def __post_init__(self) -> None:
        one_of("row", self.row, list(ROWS))
        _check_points(self.points)

    def describe(self) -> str:
        """Describe the rule in plain words.

        >>> MissRates().describe().split(";")[0]
        'LAMR is the geometric mean of 9 miss rates, at 0.01 to 1 false positives per image'
        """
        at = f"{self.points[0]:g} to {self.points[-1]:g} false positives per image"
        return (
            f"LAMR is the geometric mean of {len(self.points)} miss rates, at {at}; each is that {ROWS[self.row]}"
            f"{'; equal scores are one row' if self.ties_together else ''}"
            f"{f'; at least {self.least:g}' if self.least else ''}"
        )

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return LAMR, under weights divided by their mean.

        >>> from apframe.matching.verdicts import example
        >>> from apframe.metrics.cells import Cell, Cells
        >>> from apframe.metrics.weights import Weights
        >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
        >>> round(MissRates(least=0.25).read(cells, Weights.once(2))["lamr"].item(), 12)
        0.25
        """
        from apframe.metrics.errors_per_image import mean_miss_rates, read_rates

        return read_rates(self.columns, partial(mean_miss_rates, self), cells, weights)


@dataclass(frozen=True)
class Froc(Metric):
    """CPM, the competition performance metric, of a protocol: the mean sensitivity (recall) of the FROC curve.

    The curve has a point for each distinct score, connected by straight lines from (0, 0) on; it is level after the last point.
    If several points have the same number of false positives per image, the largest sensitivity is read.

    Attributes
    ----------
    points
        numbers of false positives per image, above 0 and increasing

    Source: Setio et al., Medical Image Analysis 2017; `noduleCADEvaluationLUNA16.py`.

    >>> Froc((0.5, 0.25))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: points must be above 0 and increase, got (0.5, 0.25)
    """

    points: tuple[float, ...] = CPM_POINTS
    columns: ClassVar = ("cpm",)
    line: ClassVar = "miss rates"
    reads_one_list: ClassVar = True

    def __post_init__(self) -> None:
        _check_points(self.points)

    def describe(self) -> str:
        """Describe the rule in plain words.

        >>> Froc().describe()
        'CPM is the mean recall at 0.125 to 8 false positives per image, with straight lines between scores'
        """
        at = f"{self.points[0]:g} to {self.points[-1]:g} false positives per image"
        return f"CPM is the mean recall at {at}, with straight lines between scores"

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return CPM, under weights divided by their mean.

        >>> from apframe.matching.verdicts import example
        >>> from apframe.metrics.cells import Cell, Cells
        >>> from apframe.metrics.weights import Weights
        >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
        >>> Froc().read(cells, Weights.once(2))["cpm"].item()
        1.0
        """
        from apframe.metrics.errors_per_image import mean_recalls, read_rates

        return read_rates(self.columns, partial(mean_recalls, self), cells, weights)


def _check_points(points: Sequence[float]) -> None:
    if not points or any(low >= high for low, high in zip((0.0, *points), points, strict=False)):
        raise ParameterError(f"must be above 0 and increase, got {points}", option="points")


def log_average_miss_rate(points: Sequence[float] = LAMR_POINTS) -> pl.Expr:
    """Aggregate the rows of one curve, highest score first, with the columns `fppi` and `miss_rate`.

    The result is the geometric mean of the miss rates at `points`. The miss rate at a point is read from the last row whose
    `fppi` does not exceed it, or is 1 if there is no such row. Null if the miss rate is null.

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

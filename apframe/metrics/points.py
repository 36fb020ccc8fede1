"""The interface of definitions of average precision: a frozen value with a name, computed from points or from cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import Recall

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.rankings import WeightsDown
    from apframe.metrics.weights import Weights

SPACING = 2.220446049250313e-16  # numpy.spacing(1)

# the columns of a points table, see `find_points`
TP, RANK, NEW_TP, NEW_N = pl.col("tp"), pl.col("rank"), pl.col("new_tp"), pl.col("new_n")
N_POSITIVES, N_RANKED = pl.col("n_positives"), pl.col("n_ranked")
PRECISION = TP / RANK
GAIN = NEW_TP / N_POSITIVES  # the recall that a point adds


@cache
def read_texts() -> pl.DataFrame:
    """Read the texts of apframe's own definitions from `definitions.csv`, by name.

    >>> read_texts().row(by_predicate=pl.col("name") == "step", named=True)["precision"]
    'as observed'
    """
    return pl.read_csv(files("apframe.metrics").joinpath("definitions.csv").read_bytes())


@dataclass(frozen=True)
class Definition(ABC):
    """A way to compute average precision from a ranking. Immutable and comparable; `str()` gives its name for `definition=`.

    The texts are the columns of `apframe.list_definitions()`. Those of apframe's definitions are rows of `definitions.csv`; a
    definition of your own sets them in its class.

    Attributes
    ----------
    reads_cells
        True if it reads verdicts, as protocols require; otherwise it is for ranked lists only
    ranks
        True if detections are ranked, so that precision is defined at every rank: for curves, thresholds, the cost of errors
    by_score
        True if scores decide which detections count and match
    reads_remainder, at_cut_offs, cut_offs
        see `apframe.metrics.metric.Metric`
    row_weights
        the weights of detections and of annotations, as expressions over their tables; None if each counts once
    recall
        the recall that is reported with it
    averages_errors
        True if errors of the boxes are averaged along with it
    interpolated
        True if it reads the envelope of precision
    varies_as_area
        True if its derivative by the weights of images is that of the area under precision, or under its envelope
    """

    reads_cells: ClassVar[bool] = False
    reads_remainder: ClassVar[bool] = False
    at_cut_offs: ClassVar[bool] = False
    cut_offs: ClassVar[tuple[float, ...]] = ()
    ranks: ClassVar[bool] = True
    by_score: ClassVar[bool] = True
    row_weights: ClassVar[tuple[pl.Expr | None, pl.Expr | None]] = (None, None)
    recall: ClassVar[Recall] = Recall()
    averages_errors: ClassVar[bool] = False
    interpolated: ClassVar[bool] = False

    name: ClassVar[str]
    precision: ClassVar[str]
    weights: ClassVar[str]
    formula: ClassVar[str]
    used_by: ClassVar[str]
    source: ClassVar[str]

    @abstractmethod
    def of_points(self) -> pl.Expr:
        """Return the average precision of each ranking: an aggregate for `points.group_by(...).agg(...)`; 0 without points.

        `points` has a row wherever recall rises, best score first (see `find_points`): tp and rank (true positives and all
        items so far), new_tp and new_n (those that this row adds: 1 and 1, unless items of equal score form one point),
        n_positives (the divisor of recall) and n_ranked (the length of the list).
        """

    def average(self, cells: Cells, weights: Weights, addend: float, absent: float) -> np.ndarray:
        """Return the average precision of each output for every list, of shape (cells, lists, weightings).

        `addend` is added to the divisor of precision. `absent` is the value of lists without positives at a threshold.

        Raises
        ------
        ParameterError
            the definition is for ranked lists only
        """
        del cells, weights, addend, absent
        problem = f"{self.name} is computed from the points of a ranked list, not from verdicts"
        raise ParameterError(problem, "choose another definition", option="definition")

    def arrays(self, cells: Cells, addend: float, precision_at: Sequence[int]) -> dict[str, np.ndarray]:
        """Return the reference's arrays, see `apframe.metrics.coco_arrays.compute_arrays`.

        Raises
        ------
        ParameterError
            the definition has no recall levels
        """
        del cells, addend, precision_at
        raise ParameterError(f"arrays: {self.name} has no recall levels, which the reference's arrays require")

    @property
    def varies_as_area(self) -> bool:
        """True if the derivative by the weights of images is that of the area under precision, or under its envelope."""
        return False

    @property
    def recall_levels(self) -> tuple[float, ...]:
        """The levels of recall at which precision is read, if they can be chosen."""
        return ()

    def at_levels(self, levels: Any) -> Definition:
        """Return the definition with other levels of recall: one number or several.

        Raises
        ------
        ParameterError
            the definition has no levels; or they are not numbers, or do not increase within [0, 1]
        """
        del levels
        raise ParameterError(f"the definition {self} does not use recall levels", option="recall_levels")

    def at_positions(self, positions: int) -> Definition:
        """Return the definition with another number of recall positions.

        Raises
        ------
        ParameterError
            the definition has no positions, or was not published with this number
        """
        del positions
        raise ParameterError(f"the definition {self} does not use recall positions", option="recall_positions")

    def __str__(self) -> str:
        return self.name

    if not TYPE_CHECKING:  # a type checker knows the attributes, and would accept any other

        def __getattr__(self, name: str) -> str:
            if name in ("precision", "weights", "formula", "used_by", "source"):
                for text in read_texts().filter(pl.col("name") == self.name)[name]:
                    return text
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; set it in the class")


class OfVerdicts(Definition):
    """Definitions that read verdicts, which contain more than the points of a ranked list.

    Attributes
    ----------
    why_no_points
        the reason, in words that follow the definition's name
    example
        the name of a protocol that has such a definition
    """

    reads_cells = True
    why_no_points: ClassVar[str]
    example: ClassVar[str]

    def of_points(self) -> pl.Expr:
        """Raise an error: there are no points, see `why_no_points`.

        Raises
        ------
        ParameterError
            always
        """
        raise ParameterError(
            f"{self.name} {self.why_no_points}",
            f"use it with a protocol such as apframe.{self.example}, or choose another definition",
            option="definition",
        )


class WeightedSum(Definition):
    """Definitions of the form `sum(precision * (reached(k) - reached(k - 1)))`."""

    reads_cells, reads_remainder = True, True

    @abstractmethod
    def reached(self, k: pl.Expr, n_positives: pl.Expr) -> pl.Expr:
        """Return the share of the recall axis that k true positives cover: 0 for k = 0, at most 1 for k = n_positives."""

    @abstractmethod
    def reached_in_sql(self) -> str:
        """Return the weight in DuckDB's SQL, for `_ap_k` >= 1 and `_ap.n` (a DOUBLE): see `store/average_precision.sql`."""

    def weighted(self, precision: pl.Expr, weight: pl.Expr) -> pl.Expr:
        """Return the sum of the precision, or of its envelope, times the weight of each point."""
        return ((envelope(precision) if self.interpolated else precision) * weight).sum()

    def of_points(self) -> pl.Expr:
        """Return the weighted sum, in which a point weighs as much as it adds to `reached`."""
        return self.weighted(PRECISION, self.reached(TP, N_POSITIVES) - self.reached(TP - NEW_TP, N_POSITIVES))

    def gains(self, down: WeightsDown, slack: float) -> np.ndarray:
        """Return what `reached` (here, recall) gains at each true positive under weights, (true positives, weightings).

        The arrays of `down` may be overwritten. Sums of weights are rounded by less than `slack`.
        """
        del slack
        return down.own / down.positives

    def average(self, cells: Cells, weights: Weights, addend: float, absent: float) -> np.ndarray:
        """See `Definition.average`; unweighted numbers are computed separately, ten times as fast."""
        if weights.are_once:
            from apframe.metrics.plain_sums import average_precision

            return average_precision(self, addend, absent, cells)
        from apframe.metrics.weighted_sums import weighted_average_precision

        return weighted_average_precision(self, addend, absent, cells, weights)


def precision_of(k: pl.Expr, n: pl.Expr, addend: float = 0.0) -> pl.Expr:
    """Divide the true positives by all counted detections: `k / (n + addend)`.

    `COCOeval.accumulate` adds `SPACING` to every divisor, and so do the evaluations derived from it. This is visible in one
    case: a true positive at rank 1 has the precision 0.9999999999999998.

    >>> frame = pl.DataFrame({"k": [1, 1], "n": [1, 2]})
    >>> frame.select(precision_of(pl.col("k"), pl.col("n"), SPACING)).to_series().to_list()
    [0.9999999999999998, 0.5]
    """
    return k / (n + addend)


def envelope(precision: pl.Expr) -> pl.Expr:
    """Return the right-to-left maximum of the precision: the best that is reached at this recall or a higher one.

    >>> pl.DataFrame({"p": [0.5, 0.6, 0.4]}).select(envelope(pl.col("p"))).to_series().to_list()
    [0.6, 0.6, 0.4]
    """
    return precision.cum_max(reverse=True)


def recall_of(k: pl.Expr, n_positives: pl.Expr) -> pl.Expr:
    """Return recall, `k / n_positives`, exact to the last bit.

    The divisor varies by row: with a constant divisor, Polars multiplies by the reciprocal, and 3 / 10 comes out as
    0.30000000000000004, a level that 3 of 10 must not reach.

    >>> pl.DataFrame({"k": [3, 4]}).select(recall_of(pl.col("k"), pl.lit(10))).to_series().to_list()
    [0.3, 0.4]
    """
    return k / (n_positives + 0 * k)

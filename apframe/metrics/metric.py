"""The interface of metrics: small frozen values that read cells of verdicts under weights of the images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from apframe import static_table
from apframe.exceptions import ParameterError
from apframe.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from apframe.metrics.average_precision import AveragePrecision
    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import RowInfluence
    from apframe.metrics.points import Definition
    from apframe.metrics.weights import Weights

_CORE = {
    "average_precision": "apframe.metrics.average_precision:AveragePrecision",
    "lamr": "apframe.metrics.miss_rates:MissRates",
    "cpm": "apframe.metrics.miss_rates:Froc",
}
KINDS: Registry[type] = Registry(_CORE | static_table.METRICS)
"""The classes of metrics by their names in stored evaluations. Add your own as "its_module:ItsClass"."""


@runtime_checkable
class Metric(Protocol):
    """Numbers of every list. A metric is frozen, comparable and hashable.

    The attributes below have the defaults that most metrics share; a subclass sets only those that differ.

    Attributes
    ----------
    columns
        the columns that it adds to the metrics table
    lines
        its own headline numbers: names of lines of a report, and the column of which each is the mean
    headline_kinds
        kinds of headline numbers that protocols with this metric may have, see `apframe.protocols.headlines.HeadlineKind`
    at_cut_offs, cut_offs
        True if it reads the matches at score cut-offs, which requires matching that provides them; and the cut-offs, if fixed
    counts_pixels
        True if detections and annotations count by their pixels
    line
        its line in `print(protocol)`
    average_precision, by_definition
        the average precision that it reads, and the definition by which it ranks; None without
    box_errors
        the errors of boxes that it averages; None without
    reads_one_list
        True if it reads one list of ranked detections from the top down, which matching at score cut-offs does not have
    reads_remainder
        True if it counts detections that are not in the lists, see `Cells.remainder`; otherwise the lists contain all
        detections
    """

    lines: ClassVar[Mapping[str, str]] = {}
    headline_kinds: ClassVar[tuple[Any, ...]] = ()
    at_cut_offs: ClassVar[bool] = False
    cut_offs: ClassVar[tuple[float, ...]] = ()
    counts_pixels: ClassVar[bool] = False
    line: ClassVar[str] = "metrics"
    reads_one_list: ClassVar[bool] = False

    def describe(self) -> str:
        """Return the metric's text in `print(protocol)`."""
        return repr(self)

    @property
    def average_precision(self) -> AveragePrecision | None:
        """The average precision that the metric reads; None if it reads none."""
        return None

    @property
    def by_definition(self) -> Definition | None:
        """The definition by which the metric ranks detections; None if it ranks none."""
        return None if self.average_precision is None else self.average_precision.definition

    @property
    def box_errors(self) -> ErrorAverages | None:
        """The errors of boxes that the metric averages; None if it averages none."""
        return None

    def with_definition(self, definition: Definition) -> Metric:
        """Return the metric with another definition of average precision, if it reads one."""
        del definition
        return self

    @property
    def reads_remainder(self) -> bool:
        """True if the metric counts detections that are not in the lists, see `Metric`."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the metric adds to the metrics table."""
        ...

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return the numbers of each output for every list, by column, each of shape (cells, lists, weightings).

        NaN if undefined. Under `Weights.once`, these are the unweighted numbers.
        """
        ...

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """Return the contributions of rows to the numbers, by column, under a single weighting; see `RowInfluence`.

        A column that is absent has no derivative: it is resampled.
        """
        del cells, weights
        return {}


class ErrorAverages(Metric, Protocol):
    """A metric that averages errors of the boxes of true positives.

    Attributes
    ----------
    threshold
        the similarity threshold for true positives
    kinds
        the columns of the averages
    """

    threshold: float
    kinds: tuple[str, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the errors are computed from, in both tables."""
        ...

    def undefined_of(self, names: pl.Series) -> pl.Series:
        """Return the undefined kinds for each category name, as bits in the order of `kinds`."""
        ...


def read_columns(metric: Metric, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
    """Read the columns of a metric, and verify their shapes.

    Raises
    ------
    ParameterError
        a column is missing, or does not have the shape (cells, lists, weightings)
    """
    columns, shape = metric.read(cells, weights), (len(cells.wanted), cells.n_lists, weights.n)
    for name in metric.columns:
        own = getattr(columns.get(name), "shape", None)
        if own != shape:
            problem = f"{metric!r}.read gives {name!r} " + ("no values" if own is None else f"the shape {own}")
            raise ParameterError(problem, f"it must be an array of shape (cells, lists, weightings), here {shape}")
    return columns

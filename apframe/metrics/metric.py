"""What a metric is: a small frozen value that reads cells of verdicts under weights of the images."""

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
"""The classes of metrics by the names that stored evaluations have for them. Add your own as "its_module:ItsClass"."""


@runtime_checkable
class Metric(Protocol):
    """Numbers of every list. A metric is frozen, and can be compared and hashed.

    What is said here is what most metrics share; a metric that is a subclass need not repeat it.

    Attributes
    ----------
    columns
        what it adds to the metrics table
    lines
        headline numbers of its own: names of lines of a report, and the column that each is the mean of
    headline_kinds
        kinds of headline numbers that protocols with this metric may have, see `apframe.protocols.headlines.HeadlineKind`
    at_cut_offs, cut_offs
        whether it reads the matches of score cut-offs, which matching must then give; and what these are, where they are fixed
    counts_pixels
        whether detections and annotations count by their pixels
    line
        the line of `print(protocol)` that it has
    average_precision, by_definition
        the average precision that it reads, if it does, and the definition by which it ranks
    box_errors
        the errors of boxes that it averages, if it does
    reads_one_list
        whether it reads down one list of ranked detections, which matching at score cut-offs does not have
    reads_remainder
        whether it counts detections that lists do not have, see `Cells.remainder`; otherwise it reads lists of all detections
    """

    lines: ClassVar[Mapping[str, str]] = {}
    headline_kinds: ClassVar[tuple[Any, ...]] = ()
    at_cut_offs: ClassVar[bool] = False
    cut_offs: ClassVar[tuple[float, ...]] = ()
    counts_pixels: ClassVar[bool] = False
    line: ClassVar[str] = "metrics"
    reads_one_list: ClassVar[bool] = False

    def describe(self) -> str:
        """What `print(protocol)` says of it."""
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
        """The metric by another definition of average precision, if it reads one."""
        del definition
        return self

    @property
    def reads_remainder(self) -> bool:
        """See above."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the numbers."""
        ...

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """The numbers of what is wanted of every list, by column, each of shape (cells, lists, weightings).

        NaN where there is no value. A plain number is the number under `Weights.once`.
        """
        ...

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """What rows contribute to the numbers, by column, under a single weighting; see `RowInfluence`.

        A column that is not there has no derivative: it is resampled.
        """
        del cells, weights
        return {}


class ErrorAverages(Metric, Protocol):
    """A metric that averages errors of the boxes of true positives.

    Attributes
    ----------
    threshold
        that of the similarity at which the true positives are taken
    kinds
        the columns of the averages
    """

    threshold: float
    kinds: tuple[str, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the errors are made of, in both tables."""
        ...

    def undefined_of(self, names: pl.Series) -> pl.Series:
        """The kinds that have no value, for each of the categories of these names: bits in the order of `kinds`."""
        ...


def read_columns(metric: Metric, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
    """What a metric reads.

    Raises
    ------
    ParameterError
        a column is not there, or has another shape than (cells, lists, weightings)
    """
    found, shape = metric.read(cells, weights), (len(cells.wanted), cells.n_lists, weights.n)
    for name in metric.columns:
        own = getattr(found.get(name), "shape", None)
        if own != shape:
            problem = f"{metric!r}.read gives {name!r} " + ("no values" if own is None else f"the shape {own}")
            raise ParameterError(problem, f"it must be an array of shape (cells, lists, weightings), here {shape}")
    return found

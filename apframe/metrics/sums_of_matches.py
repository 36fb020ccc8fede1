"""Numbers computed from sums over matches, without precision down the ranks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from apframe.metrics.metric import Metric
from apframe.metrics.points import Definition, OfVerdicts

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import RowInfluence
    from apframe.metrics.weights import Weights


class OfMatches(OfVerdicts, Metric):
    """Numbers of each list computed from sums over matches; there is no precision down the ranks, so there is no AP."""

    reads_remainder = False
    why_no_points = "is computed from sums over matches, not from a ranked list"
    ranks, by_score = False, False
    line = "numbers"

    def describe(self) -> str:
        """Return the formula."""
        return self.formula

    @property
    def by_definition(self) -> Definition:
        """The definition itself."""
        return self

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return the numbers, under unscaled weights."""
        import numpy as np

        with np.errstate(invalid="ignore"):
            return cells.means(self.columns, lambda *place: self._at(cells, *place), weights)

    @abstractmethod
    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        """Return the numbers at a threshold, in an area range and within a limit."""


class OfSums(OfMatches):
    """Numbers that are functions of sums alone, from which the influence follows.

    Attributes
    ----------
    sums
        the sums over the annotations, the detections or the true positives that count, and the column by which each row is
        multiplied, or None; for true positives, these are columns of `Cells.hits`
    """

    sums: ClassVar[tuple[tuple[str, str | None], ...]]

    @abstractmethod
    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the numbers by column from the sums, of shape (lists, weightings); NaN (0 / 0) if undefined."""

    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        return self.of_sums(*(cells.sum_rows(*each, weights.given, *place) for each in self.sums))

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """See `Metric.influence`: a row contributes its part of a sum times the derivative of the number."""
        from apframe.metrics.influence import influence_of_sums

        return influence_of_sums(self, cells, weights)

"""Numbers that are made of sums over matches, without precision down the ranks."""

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
    """Numbers of each list that are made of sums over matches; there is no precision down the ranks, and so no AP."""

    reads_remainder = False
    why_no_points = "is made of sums over matches, not of a ranked list"
    ranks, by_score = False, False
    line = "numbers"

    def describe(self) -> str:
        """The formula."""
        return self.formula

    @property
    def by_definition(self) -> Definition:
        """Itself."""
        return self

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """The numbers, under weights as they are given."""
        import numpy as np

        with np.errstate(invalid="ignore"):
            return cells.means(self.columns, lambda *given: self._at(cells, *given), weights)

    @abstractmethod
    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        """The numbers at a threshold, in an area range and within a limit."""


class OfSums(OfMatches):
    """Numbers that are functions of sums alone, of which the influence follows.

    Attributes
    ----------
    sums
        what the numbers are made of: sums over the annotations, the detections or the true positives that count, and the column
        that each row is multiplied by, or None. Those of true positives are columns of `Cells.hits`
    """

    sums: ClassVar[tuple[tuple[str, str | None], ...]]

    @abstractmethod
    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """The numbers by column from the sums, of shape (lists, weightings); 0 / 0, which is NaN, where there is none."""

    def _at(self, cells: Cells, weights: Weights, *place: int) -> Mapping[str, np.ndarray]:
        return self.of_sums(*(cells.sum_rows(*each, weights.given, *place) for each in self.sums))

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """See `Metric.influence`: a row changes a sum by its part of it, and the number by that times the derivative."""
        from apframe.metrics.influence import influence_of_sums

        return influence_of_sums(self, cells, weights)

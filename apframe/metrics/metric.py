"""What a metric is: a small frozen value that reads cells of verdicts under weights of the images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights


class Metric(Protocol):
    """Numbers of every list. A metric is frozen, and can be compared and hashed.

    What is said here is what most metrics share; a metric that is a subclass need not repeat it.

    Attributes
    ----------
    columns
        what it adds to the metrics table
    lines
        headline numbers of its own: names of lines of a report, and the column that each is the mean of
    ranks
        whether detections are ranked, so that there is precision down the ranks: curves, thresholds, the cost of errors
    by_score
        whether scores decide which detections count and match
    reads_remainder
        whether it counts detections that lists do not have, see `Cells.remainder`; otherwise it reads lists of all detections
    """

    lines: ClassVar[Mapping[str, str]] = {}
    ranks: ClassVar[bool] = True
    by_score: ClassVar[bool] = True

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

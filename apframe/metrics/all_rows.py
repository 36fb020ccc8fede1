"""Definitions of average precision that need every row of a list."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from apframe.metrics.points import OfVerdicts

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights


@dataclass(frozen=True)
class ListedRows:
    """The detections that count, by list, then rank. Arrays with two axes have the shape (rows or lists, weightings).

    Attributes
    ----------
    list, score, is_true
        the list and the score of each detection, and True for true positives
    bounds
        the first row of each list, and the end of the last list
    own
        the weight of the detection's image
    positives
        the total weight of the annotations that count, for each list
    ends
        a function that returns the lowest and the highest score of each list, including detections that do not count, of shape
        (2, lists, weightings); NaN for a list without detections
    """

    list: np.ndarray
    score: np.ndarray
    is_true: np.ndarray
    bounds: np.ndarray
    own: np.ndarray
    positives: np.ndarray
    ends: Callable[[], np.ndarray]


class AllRows(OfVerdicts):
    """Definitions that need all rows of a list. An image of weight 0 is absent, and so are its scores."""

    why_no_points = "needs all rows of a list with their scores, not the true positives alone"
    n_steps: ClassVar[int] = 0  # the number of values of each list that are computed at once

    @abstractmethod
    def area(self, rows: ListedRows) -> np.ndarray:
        """Return the average precision of each list, of shape (lists, weightings); any value for lists without positives."""

    def average(self, cells: Cells, weights: Weights, addend: float, absent: float) -> np.ndarray:
        """See `Definition.average`."""
        import numpy as np

        del addend

        def at(some: Weights, t: int, k: int, m: int) -> dict[str, np.ndarray]:
            rows, positives = cells.counted(t, k, m), cells.expected(k, some.scaled)
            own, ends = some.scaled.take(rows.image, axis=0), partial(_ends, cells, some.scaled)
            listed = ListedRows(rows.list, rows.score, rows.is_true, rows.bounds, own, positives, ends)
            return {"ap": np.where(positives > 0, self.area(listed), absent)}

        return cells.means(("ap",), at, weights, self.n_steps * cells.n_lists)["ap"]


def _ends(cells: Cells, weights: np.ndarray) -> np.ndarray:
    """Return the lowest and the highest score of each list on images of positive weight, see `ListedRows`."""
    import numpy as np

    from apframe.metrics.list_sums import extremes

    is_there = weights.take(cells.detections["image"], axis=0) > 0
    limits = []
    for pick, none in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        limits.append(extremes(pick, np.where(is_there, cells.detections["score"][:, None], none), cells.starts, none))
    return np.where(np.isfinite(limits), limits, np.nan)

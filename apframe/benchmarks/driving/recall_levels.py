"""Definitions of average precision that read the curve at fixed recalls, also between its points: nuScenes, Argoverse 2."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.metrics.definitions import COCO_101
from apframe.metrics.points import (
    N_POSITIVES,
    N_RANKED,
    NEW_N,
    NEW_TP,
    PRECISION,
    RANK,
    TP,
    Definition,
    envelope,
    recall_of,
)

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights

_LEVELS = pl.lit(pl.Series(COCO_101.levels, dtype=pl.Float64))


class RecallLevels(Definition):
    """Definitions of the form `mean over recall levels x of precision(x)`, where the curve is read between its points too.

    A level belongs to the first true positive whose recall reaches it, and is described by these columns:

    - level; n_positives, the number of all positives;
    - left_tp, left_n, right_tp, right_n: true positives and items down to the points on either side. The left one is the last
      item above the true positive, all 0 at the top of the list;
    - is_end: the level is the recall of the true positive itself;
    - tp, and end_n: the true positives down to here, and all items above the next true positive (of the last: all);
    - best, best_after: the envelope of the precision here and at the next true positive (null if there is none).
    """

    reads_cells, averages_errors = True, True
    first_level: ClassVar[int]

    @abstractmethod
    def at_level(self, of: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the precision at each level, from the columns that describe it, by name."""

    @property
    def n_levels(self) -> int:
        """Return the number of levels in the mean."""
        return len(COCO_101.levels) - self.first_level

    def of_points(self) -> pl.Expr:
        """Return the mean over the levels; a block of equal scores is one point."""
        above_tp, above_n = TP - NEW_TP, RANK - NEW_N
        upto = _LEVELS.search_sorted(recall_of(TP, N_POSITIVES), side="right").cast(pl.Int64)
        before = _LEVELS.search_sorted(recall_of(above_tp, N_POSITIVES), side="right").cast(pl.Int64)
        first = pl.when(above_tp > 0).then(before).otherwise(0).clip(self.first_level)
        n = (upto.clip(self.first_level) - first).clip(0)
        best = envelope(PRECISION)
        columns = {
            "n_positives": N_POSITIVES, "left_tp": above_tp, "left_n": above_n, "right_tp": TP, "right_n": RANK,
            "tp": TP, "end_n": above_n.shift(-1).fill_null(N_RANKED), "best": best, "best_after": best.shift(-1),
            "recall": recall_of(TP, N_POSITIVES),
        }  # fmt: skip
        of = {name: values.cast(pl.Float64).repeat_by(n).explode() for name, values in columns.items()}
        of["level"] = _LEVELS.gather(pl.int_ranges(first, first + n).explode())
        of["is_end"] = of["level"] == of["recall"]
        return self.at_level(of).sum() / self.n_levels

    def average(self, cells: Cells, weights: Weights, addend: float, absent: float) -> np.ndarray:
        """See `Definition.average`."""
        from apframe.benchmarks.driving.level_cuts import average_over_levels

        return average_over_levels(self, addend, absent, cells, weights)

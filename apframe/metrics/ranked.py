"""Metrics that are still read from rankings of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apframe.metrics.metric import Metric

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights


@dataclass(frozen=True)
class Ranked(Metric):
    """The numbers of a ranking, by column."""

    rules: Any
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Metric`."""
        return self.names

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """See `Metric`."""
        from apframe.metrics.miss_rate_ranking import MissRateRanking
        from apframe.metrics.rules import rank_by

        ranking = cells.kept(self, lambda: rank_by(cells.verdicts, self.rules))

        def at(t: int, k: int, m: int) -> Mapping[str, np.ndarray]:
            if isinstance(ranking, MissRateRanking):
                return {self.columns[0]: ranking.weighted(t, k, m, weights.given)}
            found: Mapping[str, np.ndarray] = ranking.weighted([t], k, m, weights.given)[t]
            return found

        return cells.means(self.columns, at, weights.n)

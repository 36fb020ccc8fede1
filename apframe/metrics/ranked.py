"""Miss rates, which are still read from a ranking of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apframe.metrics.metric import Metric

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.miss_rates import Froc, MissRates
    from apframe.metrics.weights import Weights


@dataclass(frozen=True)
class Ranked(Metric):
    """The number of miss rates or sensitivities."""

    rates: MissRates | Froc

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Metric`."""
        return (self.rates.column,)

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """See `Metric`."""
        from apframe.metrics.miss_rate_ranking import MissRateRanking

        ranking = cells.kept(self, lambda: MissRateRanking(cells.verdicts, self.rates))
        return cells.means(self.columns, lambda t, k, m: {self.columns[0]: ranking.weighted(t, k, m, weights.given)}, weights.n)

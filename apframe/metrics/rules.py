"""The rules of ranking, and which of the rankings follows them."""

from __future__ import annotations

from dataclasses import dataclass

from apframe.matching.verdicts import Verdicts
from apframe.metrics.box_errors import BoxErrors
from apframe.metrics.miss_rate_ranking import MissRateRanking
from apframe.metrics.miss_rates import Froc, MissRates
from apframe.metrics.points import Definition
from apframe.metrics.sampled import Sampled
from apframe.metrics.sampled_ranking import SampledRanking

AnyRanking = SampledRanking | MissRateRanking


@dataclass(frozen=True)
class RankingRules:
    """The rules of ranking.

    Attributes
    ----------
    definition, addend
        of average precision, and what is added to the divisor of precision
    errors
        which errors of the true positives are averaged; None: none
    miss_rates
        how log-average miss rates, or CPM, are read; None: there are none
    counts_absent
        whether a list without positives has an average precision, of 0
    """

    definition: Definition
    addend: float = 0.0
    errors: BoxErrors | None = None
    miss_rates: MissRates | Froc | None = None
    counts_absent: bool = False


def rank_by(verdicts: Verdicts, rules: RankingRules) -> AnyRanking:
    """Make verdicts ready to be ranked."""
    if rules.miss_rates is not None:
        return MissRateRanking(verdicts, rules.miss_rates)
    definition = rules.definition
    assert isinstance(definition, Sampled)
    return SampledRanking(verdicts, definition, rules.addend, rules.errors, counts_absent=rules.counts_absent)

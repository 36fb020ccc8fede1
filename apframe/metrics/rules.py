"""The rules of ranking, and which of the rankings follows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apframe.matching.verdicts import Verdicts
from apframe.metrics.at_cut_offs import AtCutOffs
from apframe.metrics.box_errors import BoxErrors
from apframe.metrics.cut_offs import CutOffRanking
from apframe.metrics.definition import Definition, WeightedSum
from apframe.metrics.miss_rate_ranking import MissRateRanking
from apframe.metrics.miss_rates import Froc, MissRates
from apframe.metrics.of_rows import OfRows
from apframe.metrics.ranking import Ranking, Rest, rank
from apframe.metrics.row_ranking import RowRanking
from apframe.metrics.sampled import Sampled
from apframe.metrics.sampled_ranking import SampledRanking
from apframe.metrics.summed import Summed
from apframe.metrics.summed_ranking import SummedRanking

AnyRanking = Ranking | CutOffRanking | SampledRanking | RowRanking | MissRateRanking | SummedRanking


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
    means_by_images
        whether a list counts in means once for each image with annotations of it
    """

    definition: Definition
    addend: float = 0.0
    errors: BoxErrors | None = None
    miss_rates: MissRates | Froc | None = None
    counts_absent: bool = False
    means_by_images: bool = False


def rank_by(verdicts: Verdicts, rules: RankingRules, rest: Rest | None = None) -> AnyRanking:
    """Make verdicts ready to be ranked; a `rest` is for definitions that are a weighted sum.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.definitions import as_definition
    >>> type(rank_by(example(), RankingRules(as_definition("nuscenes")))).__name__
    'SampledRanking'
    """
    if rules.miss_rates is not None:
        ranking = rank_by(verdicts, replace(rules, miss_rates=None))
        assert not isinstance(ranking, MissRateRanking | CutOffRanking | SummedRanking)  # as protocols refuse the last two
        return MissRateRanking(ranking, verdicts, rules.miss_rates)
    definition = rules.definition
    if isinstance(definition, AtCutOffs):
        return CutOffRanking(verdicts, definition, counts_absent=rules.counts_absent)
    if isinstance(definition, OfRows):
        return RowRanking(verdicts, definition, counts_absent=rules.counts_absent)
    if isinstance(definition, Sampled):
        return SampledRanking(verdicts, definition, rules.addend, rules.errors, counts_absent=rules.counts_absent)
    if isinstance(definition, Summed):
        return SummedRanking(verdicts, definition)
    assert isinstance(definition, WeightedSum)  # as protocols refuse others
    return rank(
        verdicts,
        definition,
        rules.addend,
        rest,
        counts_absent=rules.counts_absent,
        means_by_images=rules.means_by_images,
    )

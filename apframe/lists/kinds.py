"""The retrieval measures: a function for each, whose docstring is its specification; `apframe.list_measures()` shows them.

A function returns an aggregate over the hits of a list: `points.group_by("group").agg(...)`, with the columns of
`apframe.lists.measures.find_hits`, of the first k ranks only. A list without hits has no rows there; every measure is 0 for it.
R is the number of all relevant documents, retrieved or not. The measures of `apframe.lists.user_models` are aggregates over all
ranks instead, and counts are expressions over the queries themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, Literal

import polars as pl

from apframe.lists import relevance
from apframe.metrics.definitions import Trec9ElevenPoint, Trec10ElevenPoint, as_definition
from apframe.metrics.points import PRECISION

Level = Literal["relevant", "graded", "judged"]
Cutoff = Literal["rank", "required rank", "recall"]
Average = Literal["mean", "geometric mean", "sum"]
_RANK, _POSITIVES, _GRADE = pl.col("rank"), pl.col("n_positives"), pl.col("relevance")
_ELEVEN_POINTS = {9: Trec9ElevenPoint(), 10: Trec10ElevenPoint()}
_EPSILON = 1e-5  # for infAP, as in trec_eval
CONDENSED = ("judged_only", False)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a measure.

    Attributes
    ----------
    k
        the rank at which the list is cut; None for the whole list
    recall
        for IPrec, the recall at which precision is read
    parameters
        all parameters of the kind, by name
    version
        the version of trec_eval, 9 or 10
    """

    k: int | None
    recall: float
    parameters: Mapping[str, Any]
    version: int


@dataclass(frozen=True)
class MeasureKind:
    """Properties that all measures of one name share.

    Attributes
    ----------
    name
        the usual spelling
    of_hits
        a function from the arguments to an aggregate over the hits; 0 without hits
    hits
        the documents that are hits: "relevant" (relevance at least the measure's `rel`), "graded" (above 0) or "judged" (0 or
        more)
    cutoff
        the value after @: an optional rank, a required rank, or a required recall; None for no value
    parameters
        names and defaults; `rel` is always included if hits are "relevant", `judged_only` for measures of a ranking
    of
        the rows that are aggregated: "hits", all "ranks" (relevance 0 without a hit), or none: a value of the "query"
    ideal
        whether to divide by the same aggregate over the best order of all judged documents
    average
        how the values of queries are averaged; the geometric mean is over values raised to at least 1e-5
    """

    name: str
    of_hits: Callable[[Arguments], pl.Expr]
    hits: Level
    cutoff: Cutoff | None
    parameters: tuple[tuple[str, Any], ...]
    of: Literal["hits", "ranks", "query"]
    ideal: bool
    average: Average

    @property
    def defaults(self) -> dict[str, Any]:
        """All parameters with their defaults."""
        has_ranks = self.of != "query" and self.hits != "judged"
        return (
            dict(self.parameters) | ({"rel": 1} if self.hits == "relevant" else {}) | (dict([CONDENSED]) if has_ranks else {})
        )

    @property
    def meaning(self) -> str:
        """The specification: formula, source, and peculiarities."""
        return " ".join((getdoc(self.of_hits) or "").split())


KINDS: dict[str, MeasureKind] = {}


def measure(
    name: str, *, hits: Level = "relevant", cutoff: Cutoff | None = None, of: Literal["hits", "ranks", "query"] = "hits",
    ideal: bool = False, average: Average = "mean", **parameters: Any,
) -> Callable[[Callable[[Arguments], pl.Expr]], Callable[[Arguments], pl.Expr]]:  # fmt: skip
    """Register a function as the measure of this name; see `MeasureKind` for the arguments; further ones are parameters."""

    def register(of_hits: Callable[[Arguments], pl.Expr]) -> Callable[[Arguments], pl.Expr]:
        KINDS[name] = MeasureKind(name, of_hits, hits, cutoff, tuple(parameters.items()), of, ideal, average)
        return of_hits

    return register


@measure("AP", cutoff="rank", definition="step", over="n_positives")
def average_precision(arguments: Arguments) -> pl.Expr:
    """Average precision, by any definition, over R or min(R, k); trec_eval map and map_cut."""
    return as_definition(arguments.parameters["definition"]).of_points()


@measure("P", cutoff="rank")
def precision(arguments: Arguments) -> pl.Expr:
    """Relevant documents among the first k, divided by k; without k, by the length of the list."""
    return relevance.precision(arguments.k)


@measure("R", cutoff="rank")
def recall(_: Arguments) -> pl.Expr:
    """Relevant documents among the first k, divided by R."""
    return relevance.recall()


@measure("F", cutoff="rank", beta=1)
def f_beta(arguments: Arguments) -> pl.Expr:
    """(1 + beta²) P R / (beta² P + R) of P@k and R@k."""
    return relevance.f_beta(arguments.k, arguments.parameters["beta"])


@measure("RR", cutoff="rank")
def reciprocal_rank(_: Arguments) -> pl.Expr:
    """1 over the rank of the first relevant document."""
    return relevance.reciprocal_rank()


@measure("nDCG", hits="graded", cutoff="rank", ideal=True, gain="linear")
def normalized_gain(arguments: Arguments) -> pl.Expr:
    """Sum of gain / log2(rank + 1), over that of the best order of all judged documents.

    The gain is the grade, as in trec_eval, or with gain=exp 2^grade - 1; Burges et al. 2005.
    """
    return relevance.dcg(arguments.parameters["gain"])


@measure("Success", cutoff="rank")
def success(_: Arguments) -> pl.Expr:
    """1 with a relevant document among the first k, otherwise 0; CMC of re-identification."""
    return relevance.success()


@measure("Judged", hits="judged", cutoff="rank")
def judged(_: Arguments) -> pl.Expr:
    """Judged documents among the first k, divided by k, or by the length of the list if that is shorter."""
    return relevance.precision(None)


@measure("ERR", hits="graded", cutoff="rank", max_grade=None)
def expected_reciprocal_rank(arguments: Arguments) -> pl.Expr:
    """Expected reciprocal rank: the sum of 1 / rank · S_i · product over the hits above of (1 - S_j), where the chance to stop
    is S = (2^grade - 1) / 2^max_grade; Chapelle et al. 2009.

    max_grade is by default the highest grade of all judgements; higher grades count as max_grade.
    """
    highest = max_grade(arguments)
    stops = (2 ** pl.min_horizontal(_GRADE, highest) - 1) / 2**highest
    goes_on = (1 - stops).cum_prod().shift(1).fill_null(1.0)
    return (stops * goes_on / _RANK).sum()


@measure("Rprec")
def r_precision(_: Arguments) -> pl.Expr:
    """Precision at rank R."""
    return relevance.r_precision()


@measure("Bpref")
def binary_preference(_: Arguments) -> pl.Expr:
    """The mean over the relevant documents of 1 - min(judged non-relevant above, R) / min(all judged non-relevant, R); Buckley
    and Voorhees 2004.
    """
    worst = pl.min_horizontal("n_nonrelevant", _POSITIVES)
    above = pl.min_horizontal("nonrelevant_above", _POSITIVES)
    return pl.when(worst > 0).then(1 - above / worst.clip(1)).otherwise(1.0).sum() / _POSITIVES.first()


@measure("GMBpref", average="geometric mean")
def geometric_binary_preference(arguments: Arguments) -> pl.Expr:
    """Bpref; the summary is the geometric mean, of values no less than 1e-5; trec_eval gm_bpref."""
    return binary_preference(arguments)


@measure("infAP")
def inferred_ap(_: Arguments) -> pl.Expr:
    """AP as if the documents of the pool that were not judged were relevant as often as the judged ones above a hit.

    The pool is the judged documents and those of negative relevance. Precision at a hit of rank j + 1 is
    1 / (j + 1) + j / (j + 1) · (pooled above / j) · (relevant above + e) / (judged above + 2 e), e = 1e-5, averaged over R.
    Yilmaz and Aslam 2006.
    """
    above, relevant = _RANK - 1, pl.col("tp") - 1
    judged = relevant + pl.col("nonrelevant_above")
    pooled = (judged + pl.col("unjudged_above")) / above.clip(1)
    inferred = pooled * (relevant + _EPSILON) / (judged + 2 * _EPSILON)
    return ((1 + above * inferred) / _RANK).sum() / _POSITIVES.first()


@measure("GMAP", average="geometric mean")
def geometric_ap(_: Arguments) -> pl.Expr:
    """AP; the summary is the geometric mean, of values no less than 1e-5."""
    return as_definition("step").of_points()


@measure("AP11")
def eleven_point_ap(arguments: Arguments) -> pl.Expr:
    """11-point interpolated AP, with the rounding of the version of trec_eval."""
    return _ELEVEN_POINTS[arguments.version].of_points()


@measure("IPrec", cutoff="recall")
def interpolated_precision(arguments: Arguments) -> pl.Expr:
    """The best precision at this recall or a higher one, with the rounding of the version of trec_eval."""
    rank_needed = _ELEVEN_POINTS[arguments.version].given_to(arguments.recall, _POSITIVES)
    return PRECISION.filter(pl.col("tp") >= rank_needed).max().fill_null(0.0)


@measure("SetP", relative=False)
def set_precision(arguments: Arguments) -> pl.Expr:
    """Precision of the whole list; with relative=True over the best that a list of its length can have, as trec_eval
    set_relative_P: relevant documents retrieved, over R or the length of the list, if that is smaller.
    """
    if arguments.parameters["relative"]:
        return pl.len() / pl.min_horizontal(_POSITIVES.first(), pl.col("n_ranked").first())
    return relevance.precision(None)


@measure("SetR")
def set_recall(_: Arguments) -> pl.Expr:
    """Recall of the whole list."""
    return relevance.recall()


@measure("SetF", beta=1, x=1)
def set_f_beta(arguments: Arguments) -> pl.Expr:
    """(1 + w) P R / (w P + R) of the whole list; the weight w is beta² · x, where x is the parameter of trec_eval set_F."""
    return relevance.f_beta(None, arguments.parameters["beta"] * arguments.parameters["x"] ** 0.5)


@measure("SetAP")
def set_ap(_: Arguments) -> pl.Expr:
    """Precision · recall of the whole list; trec_eval set_map."""
    return as_definition("set").of_points()


@measure("RBP", cutoff="rank", p=0.8)
def rank_biased_precision(arguments: Arguments) -> pl.Expr:
    """(1 - p) sum of p^(rank - 1); Moffat and Zobel 2008. Written in lower case, rbp, p is trec_eval's .9."""
    p = arguments.parameters["p"]
    return ((1 - p) * p ** (_RANK - 1).cast(pl.Float64)).sum()


@measure("INP")
def inverse_negative_penalty(_: Arguments) -> pl.Expr:
    """R over the rank of the last relevant document, 0 unless all are found; its mean is mINP, Ye et al. 2021."""
    return pl.when(pl.len() == _POSITIVES.first()).then(_POSITIVES.first() / _RANK.max()).otherwise(0.0)


@measure("Hits", cutoff="rank")
def hits(_: Arguments) -> pl.Expr:
    """The number of relevant documents among the first k; ranx hits."""
    return pl.len()


@measure("NumQ", hits="judged", of="query", average="sum")
def number_of_queries(_: Arguments) -> pl.Expr:
    """1; the summary is the number of queries, trec_eval num_q."""
    return pl.repeat(1.0, pl.len())


@measure("NumRel", of="query", average="sum")
def number_of_relevant(_: Arguments) -> pl.Expr:
    """R; the summary is the sum, trec_eval num_rel."""
    return _POSITIVES


@measure("NumRet", hits="judged", of="query", average="sum", judged_only=False)
def number_retrieved(_: Arguments) -> pl.Expr:
    """The length of the list; the summary is the sum, trec_eval num_ret."""
    return pl.col("n_ranked")


@measure("NumRelRet", average="sum")
def number_of_relevant_retrieved(_: Arguments) -> pl.Expr:
    """Relevant documents in the list; the summary is the sum, trec_eval num_rel_ret."""
    return pl.len()


def max_grade(arguments: Arguments) -> pl.Expr:
    """Return the best grade: the parameter, or by default the highest grade of all judgements."""
    grade = arguments.parameters["max_grade"]
    return pl.col("max_grade") if grade is None else pl.lit(float(grade))

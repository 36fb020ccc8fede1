"""Retrieval measures as values that parse from, and print as, their names: `nDCG@10`, `AP(rel=2)`, `RBP(p=0.9)`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from apframe.exceptions import ParameterError
from apframe.listing import Listing
from apframe.lists import relevance
from apframe.lists.kinds import KINDS, Arguments, Level, MeasureKind
from apframe.lists.measure_names import parsed, split
from apframe.lists.ranked_lists import rank_items
from apframe.lists.user_models import DEPTH
from apframe.metrics.definitions import as_definition
from apframe.option_values import one_of
from apframe.wording import did_you_mean

USUAL = ("AP", "nDCG@10", "P@10", "R@100", "RR")


@dataclass(frozen=True)
class Measure:
    """One measure with its cut-off and parameters; immutable and comparable, and `str()` gives its name.

    Attributes
    ----------
    name
        one of `apframe.list_measures()`
    cutoff
        the rank (from 1), or for IPrec the recall (0 to 1), that follows the @; None for the whole list
    parameters
        names and values that differ from the defaults, sorted by name

    >>> measure = as_measure("ap(rel=2)@10")
    >>> measure.name, measure.cutoff, measure.rel, str(measure)
    ('AP', 10, 2, 'AP(rel=2)@10')
    """

    name: str
    cutoff: float | None = None
    parameters: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        kind = KINDS.get(self.name)
        if kind is None:
            raise ParameterError(f"no measure {self.name!r}", did_you_mean(self.name, [*KINDS]))
        defaults = kind.defaults
        if len(dict(self.parameters)) < len(self.parameters):
            raise ParameterError(f"{self.name}: a parameter is repeated: {self.parameters}")
        for name, value in self.parameters:
            if name not in defaults:
                has = f"it accepts {', '.join(defaults)}" if defaults else "it accepts none"
                raise ParameterError(f"{self.name} has no parameter {name!r}", f"{has}")
            _check_parameter(self.name, name, value)
        self._check_cutoff(kind)
        if self.get("over") == "min" and self.cutoff is None:
            raise ParameterError(f'{self.name}(over="min") needs a cut-off, such as {self.name}(over=min)@10')
        differing = sorted((name, value) for name, value in self.parameters if value != defaults[name])
        object.__setattr__(self, "parameters", tuple(differing))

    def _check_cutoff(self, kind: MeasureKind) -> None:
        cutoff = self.cutoff
        if kind.cutoff == "recall":
            if cutoff is not None and 0 <= cutoff <= 1:
                object.__setattr__(self, "cutoff", float(cutoff))
            else:
                raise ParameterError(f"{self.name} needs a recall from 0 to 1, as in {self.name}@.1, not {cutoff}")
        elif cutoff is None and kind.cutoff == "required rank":
            raise ParameterError(f"{self.name} needs a cut-off, such as {self.name}@10")
        elif cutoff is not None and kind.cutoff is None:
            raise ParameterError(f"{self.name} has no cut-off; remove @{cutoff:g}")
        elif cutoff is not None and (not math.isfinite(cutoff) or cutoff != int(cutoff) or cutoff < 1):
            raise ParameterError(f"{self.name}@{cutoff:g}: the cut-off must be a whole number of at least 1")
        elif cutoff is not None:
            object.__setattr__(self, "cutoff", int(cutoff))

    @property
    def kind(self) -> MeasureKind:
        """The `MeasureKind` with the properties that all measures of this name share."""
        return KINDS[self.name]

    @property
    def k(self) -> int | None:
        """The rank at which the list is cut; None for the whole list."""
        return int(self.cutoff) if self.cutoff is not None and self.kind.cutoff != "recall" else None

    @property
    def rel(self) -> float:
        """The lowest relevance of relevant documents."""
        return self.get("rel", 1)

    def at_level(self, level: float) -> Measure:
        """Return the measure with this level, if it has levels and does not set one itself.

        >>> str(as_measure("AP@5").at_level(2)), str(as_measure("AP(rel=3)").at_level(2)), str(as_measure("nDCG").at_level(2))
        ('AP(rel=2)@5', 'AP(rel=3)', 'nDCG')
        """
        if "rel" not in self.kind.defaults or "rel" in dict(self.parameters):
            return self
        printable = int(level) if level == int(level) else level  # prints without decimals
        return Measure(self.name, self.cutoff, (*self.parameters, ("rel", printable)))

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a parameter."""
        return (self.kind.defaults | dict(self.parameters)).get(name, default)

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.parameters)
        at = "" if self.cutoff is None else f"@{self.cutoff}".removesuffix(".0")
        return f"{self.name}{f'({shown})' if shown else ''}{at}"


def as_measure(measure: str | Measure) -> Measure:
    """Return the measure with a name (case-insensitive): "nDCG@10", "AP(rel=2)@10", "IPrec@.1"; measures are not changed.

    Names of trec_eval ("map", "ndcg_cut_10", "P.5", "set_F.2"), ranx ("hit_rate@10", "rbp.95") and ir_measures
    ("nDCG(dcg='exp-log2')@10") are accepted too. Case matters for only one name: exact lower-case "rbp" is trec_eval 10's
    measure, whose p is .9, while "RBP" in any other case has the p of its paper, .8.

    Raises
    ------
    ParameterError
        no such measure (similar names are suggested), no such parameter, a cut-off below 1

    >>> as_measure("ndcg@10")
    Measure(name='nDCG', cutoff=10, parameters=())
    >>> [str(as_measure(name)) for name in ("map_cut_5", "P.10", "iprec_at_recall_0.10", "11pt_avg", "set_F.2")]
    ['AP@5', 'P@10', 'IPrec@0.1', 'AP11', 'SetF(x=2)']
    >>> [str(as_measure(name)) for name in ("rbp", "RBP", "rbp(p=0.5)")]
    ['RBP(p=0.9)', 'RBP', 'RBP(p=0.5)']
    """
    return measure if isinstance(measure, Measure) else Measure(*parsed(str(measure), KINDS))


def as_measures(measures: str | Measure | Sequence[str | Measure]) -> tuple[Measure, ...]:
    """Return measures from names, each once; a string may contain several, separated by blanks or commas.

    "official" stands for the measures that trec_eval prints by default, "ndcg_cut.10,20" for two cut-offs.

    >>> [str(measure) for measure in as_measures("ap, ndcg_cut.10,20 AP(rel=2, definition=normalized(5))@5")]
    ['AP', 'nDCG@10', 'nDCG@20', 'AP(definition=normalized(5), rel=2)@5']
    """
    items = [measures] if isinstance(measures, (str, Measure)) else measures
    if not isinstance(items, Iterable):
        raise ParameterError(f"measures must be names, as in 'AP nDCG@10', not {measures!r}", option="measures")
    names = (name for each in items for name in ([each] if isinstance(each, Measure) else split(str(each))))
    unique = tuple(dict.fromkeys(map(as_measure, names)))
    if not unique:
        raise ParameterError("name at least one, such as AP", option="measures")
    return unique


def lowest_level(measures: Iterable[Measure]) -> float:
    """Return the lowest relevance at which a document is relevant for at least one of the measures, but at most 1.

    >>> lowest_level(as_measures("AP(rel=2) nDCG")), lowest_level(as_measures("AP(rel=0.5) P@5"))
    (1, 0.5)
    """
    return min([1, *(max(0, each.rel) for each in measures if each.kind.hits == "relevant")])


def list_measures(name: str | None = None) -> Listing:
    """List the retrieval measures, or describe one.

    Parameters
    ----------
    name
        the measure to describe; None lists all of them

    Returns
    -------
    A frame with name, cutoff (what may follow @), meaning, and parameters with their defaults; it prints within 80 columns.

    Raises
    ------
    ParameterError
        no measure has this name; near names are suggested

    >>> list_measures("RR")
    name        RR
    cutoff      rank
    meaning     1 over the rank of the first relevant document.
    parameters  rel=1, judged_only=False
    """
    rows = []
    for kind in KINDS.values():
        shown = ", ".join(f"{name}={value}" for name, value in kind.defaults.items())
        rows.append((kind.name, kind.cutoff, kind.meaning, shown))
    schema = dict.fromkeys(["name", "cutoff", "meaning", "parameters"], pl.String)
    return Listing(rows, schema=schema, orient="row").named("measure", name)


_FLAGS = ("judged_only", "relative")
_POSITIVE = ("beta", "x", "T", "max_grade")


def _check_parameter(measure: str, name: str, value: Any) -> None:
    if name == "definition":
        as_definition(value)
    elif name == "over" and value not in relevance.OVER:
        raise ParameterError(f"{measure}: over must be one of {', '.join(relevance.OVER)}, not {value!r}")
    elif name == "gain":
        one_of(f"{measure}: gain", value, relevance.GAINS)
    elif name in _FLAGS and not isinstance(value, bool):
        raise ParameterError(f"{measure}: {name} must be True or False, not {value!r}")
    elif name not in ("over", *_FLAGS):
        _check_number(measure, name, value)


def _check_number(measure: str, name: str, value: Any) -> None:
    if name == "max_grade" and value is None:
        return
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ParameterError(f"{measure}: {name} must be a finite number, not {value!r}")
    if name == "p" and not 0 < value < 1:
        raise ParameterError(f"{measure}: p must be between 0 and 1, not {value}")
    if name in _POSITIVE and not value > 0:
        raise ParameterError(f"{measure}: {name} must be above 0, not {value}")


def measure_queries(
    judged: pl.DataFrame, queries: pl.DataFrame, measures: Sequence[Measure], version: int
) -> dict[Measure, pl.Series]:
    """Compute the value of each measure for each query: 0 without hits, null without positives.

    Parameters
    ----------
    judged
        group, document_id, relevance and rank (null: not retrieved) of all judged documents, by group and rank
    queries
        group (0, 1, ...), n_ranked (the length of the query's list), and max_grade (the highest grade of all judgements)
    version
        the version of trec_eval, 9 or 10

    >>> judged = pl.DataFrame({"group": [0, 0, 0], "relevance": [1.0, 0.0, 2.0], "rank": [2, 3, None]})
    >>> queries = pl.DataFrame({"group": [0], "n_ranked": [10], "max_grade": [2.0]})
    >>> values = measure_queries(judged, queries, [as_measure("AP"), as_measure("nDCG")], version=10)
    >>> [round(value.item(), 4) for value in values.values()]
    [0.25, 0.2398]
    """
    plans = [_plan(judged.lazy(), queries.lazy(), measure, version) for measure in measures]
    return dict(zip(measures, (table["value"] for table in pl.collect_all(plans)), strict=True))


def _plan(judged: pl.LazyFrame, queries: pl.LazyFrame, measure: Measure, version: int) -> pl.LazyFrame:
    """Plan one measure's values for each query; work that several measures share is done once, unneeded work is not done."""
    kind = measure.kind
    arguments = Arguments(measure.k, float(measure.cutoff or 0), kind.defaults | dict(measure.parameters), version)
    aggregate = kind.of_hits(arguments).cast(pl.Float64)
    if measure.get("judged_only"):
        judged, queries = condensed(judged, queries)
    points, totals = find_hits(judged, queries, kind.hits, measure.rel)
    if kind.of == "query":
        return totals.select(value=aggregate)
    points = every_rank(points, totals, min(measure.k or DEPTH, DEPTH)) if kind.of == "ranks" else cut(points, measure)
    value = pl.col("value").fill_null(0.0)
    values = points.group_by("group").agg(value=aggregate)
    plan = totals.join(values, on="group", how="left", maintain_order="left")
    if kind.ideal:
        best = _first(best_order(judged), measure.k).group_by("group").agg(best=aggregate)
        plan, value = plan.join(best, on="group", how="left", maintain_order="left"), value / pl.col("best")
    return plan.select(value=pl.when(pl.col("n_positives") > 0).then(value))


def find_hits(judged: pl.LazyFrame, queries: pl.LazyFrame, level: Level, rel: float) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return the retrieved documents that are hits at a level, as a points table, and the totals of whole queries.

    The points have group, rank, relevance, tp, new_tp, new_n (1 and 1), and nonrelevant_above, unjudged_above (judged documents
    that are not hits, and documents of negative relevance, at better ranks), besides the totals of their query. The totals, in
    the order of `queries`: group, n_ranked, max_grade, n_positives (all hits, retrieved or not) and n_nonrelevant.
    """
    relevance = pl.col("relevance")
    is_hit = {"relevant": (relevance >= rel) & (relevance >= 0), "graded": relevance > 0, "judged": relevance >= 0}[level]
    is_other = ~is_hit & (relevance >= 0)
    counts = judged.group_by("group").agg(n_positives=is_hit.sum().cast(pl.Int64), n_nonrelevant=is_other.sum().cast(pl.Int64))
    totals = queries.join(counts, on="group", how="left", maintain_order="left").with_columns(
        pl.col("n_positives", "n_nonrelevant").fill_null(0)
    )
    above = {"nonrelevant_above": is_other, "unjudged_above": relevance < 0, "tp": is_hit}
    one = pl.lit(1, pl.Int64)
    points = (
        judged.select("group", "relevance", "rank")
        .filter(pl.col("rank").is_not_null())
        .with_columns(flag.cast(pl.Int64).cum_sum().over("group").alias(name) for name, flag in above.items())
        .filter(is_hit)
        .with_columns(new_tp=one, new_n=one)
        .join(totals, on="group", maintain_order="left")
    )
    return points, totals


def best_order(judged: pl.LazyFrame) -> pl.LazyFrame:
    """Rank the documents with a grade above 0 by it: no other list has a larger DCG."""
    relevance = pl.col("relevance")
    return rank_items(judged.select("group", relevance, score=relevance).filter(relevance > 0))


def every_rank(points: pl.LazyFrame, totals: pl.LazyFrame, depth: int) -> pl.LazyFrame:
    """Return group, max_grade, rank and relevance of the ranks from 1 to `depth`, with relevance 0 without a hit.

    Queries without a hit among these ranks are omitted: every measure is 0 for them.
    """
    hits = points.filter(pl.col("rank") <= depth).select("group", "rank", "relevance")
    ranks = totals.join(hits, on="group", how="semi").select("group", "max_grade", rank=pl.int_ranges(1, depth + 1))
    return (
        ranks.explode("rank")
        .join(hits, on=["group", "rank"], how="left", maintain_order="left")
        .with_columns(pl.col("relevance").fill_null(0.0))
    )


def condensed(judged: pl.LazyFrame, queries: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Rank among judged documents only, as trec_eval -J, and return the lists' new lengths; the pool is removed as well."""
    judged_only = judged.filter(pl.col("relevance") >= 0)
    place = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("group")
    judged_only = judged_only.with_columns(rank=pl.when(pl.col("rank").is_not_null()).then(place))
    lengths = judged_only.group_by("group").agg(n_ranked=pl.col("rank").count().cast(pl.Int64))
    shorter = queries.drop("n_ranked").join(lengths, on="group", how="left", maintain_order="left")
    return judged_only, shorter.with_columns(pl.col("n_ranked").fill_null(0))


def cut(points: pl.LazyFrame, measure: Measure) -> pl.LazyFrame:
    """Return the points among the first k, with the list's length and the measure's number of positives."""
    if measure.k is not None:
        points = _first(points, measure.k).with_columns(pl.col("n_ranked").clip(upper_bound=measure.k))
    return points.with_columns(n_positives=relevance.divisor(measure.get("over", "n_positives"), measure.k))


def _first(ranked: pl.LazyFrame, k: int | None) -> pl.LazyFrame:
    return ranked if k is None else ranked.filter(pl.col("rank") <= k)

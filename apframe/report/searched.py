"""The subject of a report of search runs: one evaluation of all runs, their names and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import NotComparableError, ParameterError
from apframe.lazily import cached_property
from apframe.lists.measures import Measure, lowest_level
from apframe.report.html_tables import NOTHING
from apframe.report.marks import Mark
from apframe.retrieval.one_run import rankable
from apframe.wording import counted, listed

if TYPE_CHECKING:
    from apframe.report.checkpoints import History
    from apframe.retrieval.evaluation import RunEvaluation

RUN, QUERIES = "run", "queries"
MOST_CHANGED = 10  # maximum number of queries won, and of queries lost
MOST_BARS = 100  # maximum number of differences that are drawn
DEPTHS = (10, 100)  # up to which rank judged documents are counted
_PAIR, _DIGITS = 2, 12
_TEXTS = ("text", "query", "query_text", "title")  # what columns with the text of queries are called
_LOWEST = 50  # queries of one run that have their ranking on the page; of several runs, a fifth as many


@dataclass(frozen=True, eq=False)
class Searched:
    """Runs on the same judgements, and the options of the report.

    Attributes
    ----------
    evaluation
        the evaluation of all runs, whose tables have a column `run`
    names
        the names of the runs, the first one first
    by
        attributes of the queries
    command
        the command that writes the page again
    seed
        the random seed of the draws of ranks
    history
        the history of all runs, if the page is about one; the runs here are the best and its rival
    """

    evaluation: RunEvaluation
    names: Sequence[str]
    by: Sequence[str] = ()
    command: str = ""
    seed: int = 0
    history: History | None = None

    @property
    def measure(self) -> str:
        """The main measure: the first one with a plain mean, unlike GMAP."""
        return next(iter(self.plain), str(self.evaluation.measures[0]))

    @property
    def plain(self) -> list[str]:
        """The measures with a plain mean, which has an interval."""
        return [str(measure) for measure in self.evaluation.measures if measure.kind.average == "mean"]

    @property
    def first_measure(self) -> Measure:
        """The main measure, with its parameters."""
        return next(each for each in self.evaluation.measures if str(each) == self.measure)

    @property
    def level(self) -> float:
        """The relevance from which a document is relevant for the main measure."""
        measure = self.first_measure
        return measure.rel if measure.kind.hits == "relevant" else lowest_level(self.evaluation.measures)

    @property
    def is_pair(self) -> bool:
        """True if there are two runs."""
        return len(self.names) == _PAIR

    @property
    def columns(self) -> dict[str, str]:
        """The names of runs by the columns of tables with a column for each run, because names may equal other columns."""
        return {f"run {number}": name for number, name in enumerate(self.names)}

    @cached_property
    def differences(self) -> pl.DataFrame:
        """The differences of the other runs from the first one, for all measures with plain means."""
        return self.evaluation.compare(self.names[0])

    @cached_property
    def board(self) -> pl.DataFrame:
        """The runs by measure, the best first."""
        return self.evaluation.leaderboard(seed=self.seed)

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """The runs whose rankings are compared: the first one, and the one with the highest mean among the others."""
        first, means = self.names[0], self.evaluation.summary.filter(measure=self.measure)
        others = means.filter(pl.col(RUN) != first).sort("value", descending=True, nulls_last=True, maintain_order=True)
        return (first, *others[RUN].head(1))

    @property
    def compared_columns(self) -> list[str]:
        """The columns of the compared runs, as in `columns`."""
        names = {name: column for column, name in self.columns.items()}
        return [names[name] for name in self.compared]

    @cached_property
    def by_query(self) -> pl.DataFrame:
        """The main measure of every query, lowest first: query_id, a column for each run, `difference` and `n_relevant`.

        The difference is between the compared runs, null if one of them has no value or there is only one.
        """
        rows = self.side_by_side(self.evaluation.per_query.filter(measure=self.measure), ["query_id"])
        first, *others = self.compared_columns
        difference = pl.col(others[0]) - pl.col(first) if others else pl.lit(None, pl.Float64)
        is_relevant, last = pl.col("relevance") >= self.level, [*self.columns][-1]
        counts = self.evaluation.judgements.group_by("query_id").agg(n_relevant=is_relevant.sum().cast(pl.Int64))
        rows = rows.with_columns(difference=difference).join(counts, on="query_id", how="left")
        return rows.sort(last, "query_id", nulls_last=True, maintain_order=True)

    @cached_property
    def changes(self) -> pl.DataFrame:
        """The rows of `by_query` with a difference, the largest gain first."""
        return self.by_query.drop_nulls("difference").sort("difference", "query_id", descending=[True, False])

    @cached_property
    def most_changed(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows of `changes` with the largest gains, and with the largest losses."""
        lost = self.changes.filter(pl.col("difference") < 0).sort("difference", "query_id")
        return self.changes.filter(pl.col("difference") > 0).head(MOST_CHANGED), lost.head(MOST_CHANGED)

    @cached_property
    def drawn(self) -> pl.DataFrame:
        """The rows of `changes` that are drawn as bars."""
        return self.changes[evenly(self.changes.height)]

    @cached_property
    def ranked(self) -> pl.DataFrame:
        """The rows of `by_query` whose rankings are on the page: the visible changes, and the lowest queries."""
        lowest = self.by_query.head(_LOWEST if len(self.names) == 1 else MOST_CHANGED)
        ids = pl.concat([*self.most_changed, lowest, self.drawn])["query_id"]
        return self.by_query.filter(pl.col("query_id").is_in(ids.implode()))

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """The positions of queries among the judged ones, which are their names in links, whatever their ids are."""
        ids = self.evaluation.judgements.select(pl.col("query_id").unique(maintain_order=True)).with_row_index("number", 1)
        shown = ids.filter(pl.col("query_id").is_in(self.ranked["query_id"].implode()))
        return dict(shown.select("query_id", "number").iter_rows())

    def query_marks(self, query_ids: pl.Series) -> list[Mark | None]:
        """Return the links to the rankings of queries; None for queries that are not on the page."""
        numbers = [self._numbers.get(query_id) for query_id in query_ids]
        return [None if number is None else Mark(section=f"query-{number}") for number in numbers]

    def value_marks(self, key: str, values: pl.Series, ns: pl.Series) -> list[Mark]:
        """Return the links to the queries with each value of an attribute, with their numbers."""
        texts = values.cast(pl.String).fill_null(NOTHING)
        return [Mark({filter_name(key): value}, n, QUERIES) for value, n in zip(texts, ns, strict=True)]

    @property
    def text_column(self) -> str | None:
        """The column of the queries that has their text, if there is one."""
        queries = self.evaluation.queries
        return None if queries is None else next((name for name in _TEXTS if queries.schema.get(name) == pl.String), None)

    @property
    def texts(self) -> dict[Any, str | None]:
        """The texts of the queries whose rankings are on the page, by id."""
        queries, name = self.evaluation.queries, self.text_column
        if queries is None or name is None:
            return {}
        return dict(queries.join(self.ranked, on="query_id", how="semi").select("query_id", name).iter_rows())

    @cached_property
    def by_attribute(self) -> list[tuple[str, pl.DataFrame]]:
        """The differences of two runs in the main measure by each attribute; empty for other numbers of runs."""
        if not self.is_pair or self.measure not in self.plain:
            return []
        first = self.names[0]
        return [(key, self.evaluation.compare(first, by=key).filter(measure=self.measure)) for key in self.by]

    @cached_property
    def judged_documents(self) -> pl.DataFrame:
        """The judged documents among the first 10 and the first 100 of the judged queries of each run.

        Columns: run, and for both depths the number of documents and the judged share, null without documents.
        """
        evaluation = self.evaluation
        runs = [rankable(table).select(pl.lit(name).alias(RUN), "query_id") for name, table in evaluation.runs.items()]
        judged_queries = evaluation.judgements.select("query_id").unique()
        lengths = pl.concat(runs).join(judged_queries, on="query_id", how="semi").group_by(RUN, "query_id").len()
        with_judgement = evaluation.matches.filter(pl.col("relevance") >= 0)
        table = pl.DataFrame({RUN: self.names})
        for k in DEPTHS:
            max_rank = min(k, evaluation.options.get("max_documents", k))
            n = lengths.group_by(RUN).agg(pl.col("len").clip(upper_bound=max_rank).sum().cast(pl.Int64).alias(f"n {k}"))
            judged = with_judgement.filter(pl.col("rank") <= max_rank).group_by(RUN).agg(pl.len().alias("judged"))
            table = table.join(n.join(judged, on=RUN, how="left"), on=RUN, how="left", maintain_order="left")
            table = table.with_columns(pl.col("judged").fill_null(0) / pl.col(f"n {k}")).rename({"judged": f"judged {k}"})
        return table

    def side_by_side(self, table: pl.DataFrame, index: Sequence[str]) -> pl.DataFrame:
        """Pivot the values of the runs: from run and value to a column for each run, as in `columns`."""
        column = {name: column for column, name in self.columns.items()}
        return table.with_columns(pl.col(RUN).replace_strict(column)).pivot(
            RUN, on_columns=[*self.columns], index=index, values="value", maintain_order=True
        )


def evenly(n: int) -> list[int]:
    """Return the positions of the rows to draw among `n`: all, or 100 evenly spaced ones including the first and the last.

    >>> evenly(3), evenly(1_000)[:3], evenly(1_000)[-1]
    ([0, 1, 2], [0, 10, 20], 999)
    """
    max_rows = min(n, MOST_BARS)
    return [*range(n)] if n == max_rows else [round(k * (n - 1) / (max_rows - 1)) for k in range(max_rows)]


def filter_name(key: str) -> str:
    """Return the name of an attribute in addresses: its own, with an underscore if addresses use that name already.

    >>> filter_name("topic"), filter_name("queries")
    ('topic', 'queries_')
    """
    return f"{key}_" if key in (QUERIES, "sort") else key


def merge_runs(evaluations: Sequence[RunEvaluation], names: Sequence[str] | None) -> tuple[RunEvaluation, list[str]]:
    """Return one evaluation of all runs, and their names.

    Parameters
    ----------
    evaluations
        evaluations of one or several runs each
    names
        a name for each run; by default their own names, or letters for runs without a name

    Raises
    ------
    NotComparableError
        other judgements or measures
    ParameterError
        a name for each run is needed, all different

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> qrels = {"q": {"good": 1, "bad": 0}}
    >>> both, names = merge_runs([evaluate_run(qrels, {"q": {"good": score}}, "AP") for score in (0.5, 0.9)], ["old", "new"])
    >>> both.summary["run"].to_list()
    ['old', 'new']
    """
    first, *others = evaluations
    for other in others:
        if not other.judgements.equals(first.judgements):
            raise NotComparableError("the runs were evaluated on different judgements", "evaluate them on the same ones")
        if other.measures != first.measures or other.options != first.options:
            raise NotComparableError("the runs have different measures or policies", "evaluate them by the same ones")
    own = [(each, name) for each in evaluations for name in each.runs]
    is_list = isinstance(names, (list, tuple)) and all(isinstance(name, str) and name for name in names)
    if names is not None and not is_list:
        raise ParameterError(f"is a list of texts, one for each run, not {names!r}", option="names")
    final_names = [name or chr(ord("a") + number) for number, (_, name) in enumerate(own)] if names is None else [*names]
    if len(final_names) != len(own) or len(set(final_names)) < len(final_names):
        problem = f"needs {counted(len(own), 'name')}, all different, got {listed(final_names)}"
        raise ParameterError(problem, "name each run once", option="names")
    parts = [_of_run(each, name, new) for (each, name), new in zip(own, final_names, strict=True)]
    tables: dict[str, Any] = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
    runs: dict[str | None, pl.DataFrame] = {new: each.runs[name] for (each, name), new in zip(own, final_names, strict=True)}
    queries = next((each.queries for each in evaluations if each.queries is not None), None)
    return replace(first, runs=runs, queries=queries, tags={}, **tables), final_names


def only(evaluation: RunEvaluation, names: Sequence[str]) -> RunEvaluation:
    """Return the evaluation of some of its runs, in this order.

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> ev = evaluate_run({"q": {"good": 1}}, {name: {"q": {"good": 0.5}} for name in "abc"}, "AP")
    >>> only(ev, ["c", "a"]).summary["run"].to_list()
    ['c', 'a']
    """
    rows = {"matches": evaluation.matches, "per_query": evaluation.per_query, "coverage": evaluation.coverage}
    tables: dict[str, Any] = {key: pl.concat(table.filter(run=name) for name in names) for key, table in rows.items()}
    return replace(evaluation, runs={name: evaluation.runs[name] for name in names}, **tables)


def _of_run(evaluation: RunEvaluation, name: str | None, new: str) -> dict[str, pl.DataFrame]:
    """Return the tables of one run, with its new name.

    The values of queries are rounded, because their last bit depends on the number of threads and the page must not.
    """
    per_query = evaluation.per_query.with_columns(pl.col("value").round(_DIGITS))
    tables = {"matches": evaluation.matches, "per_query": per_query, "coverage": evaluation.coverage}
    if name is not None:
        tables = {key: table.filter(pl.col(RUN) == name).drop(RUN) for key, table in tables.items()}
    return {key: table.select(pl.lit(new).alias(RUN), pl.all()) for key, table in tables.items()}

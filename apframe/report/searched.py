"""The subject of a report of search runs: one evaluation of all runs, their names and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import NotComparableError, ParameterError
from apframe.lazily import cached_property
from apframe.wording import counted, listed

if TYPE_CHECKING:
    from apframe.report.history import History
    from apframe.retrieval.evaluation import RunEvaluation

RUN = "run"
_PAIR, _DIGITS = 2, 12


@dataclass(frozen=True, eq=False)
class Searched:
    """Runs on the same judgements, and what was asked for.

    Attributes
    ----------
    evaluation
        of all runs: its tables have a column `run`
    names
        of the runs, the first one first
    by
        attributes of the queries
    command
        what makes the page again
    seed
        of the draws of ranks
    history
        that of all runs, if the page is about one; the runs here are the best and the one that it is compared with
    """

    evaluation: RunEvaluation
    names: Sequence[str]
    by: Sequence[str] = ()
    command: str = ""
    seed: int = 0
    history: History | None = None

    @property
    def measure(self) -> str:
        """The measure that stands for all: the first one whose mean is a plain one, as that of GMAP is not."""
        return next(iter(self.plain), str(self.evaluation.measures[0]))

    @property
    def plain(self) -> list[str]:
        """The measures whose mean is a plain one, so that it has an interval."""
        return [str(measure) for measure in self.evaluation.measures if measure.kind.average == "mean"]

    @property
    def is_pair(self) -> bool:
        """True if there are two runs."""
        return len(self.names) == _PAIR

    @property
    def columns(self) -> dict[str, str]:
        """The names by the columns of tables that have one for each run: names may be those of other columns."""
        return {f"run {number}": name for number, name in enumerate(self.names)}

    @cached_property
    def differences(self) -> pl.DataFrame:
        """The differences of the other runs from the first one, of all measures that are plain means."""
        return self.evaluation.compare(self.names[0])

    @cached_property
    def board(self) -> pl.DataFrame:
        """The runs by measure, the best first."""
        return self.evaluation.leaderboard(seed=self.seed)

    def beside(self, table: pl.DataFrame, index: Sequence[str]) -> pl.DataFrame:
        """Put the values of the runs beside each other: from run and value to a column for each run, as `columns` has them."""
        column = {name: column for column, name in self.columns.items()}
        return table.with_columns(pl.col(RUN).replace_strict(column)).pivot(
            RUN, on_columns=[*self.columns], index=index, values="value", maintain_order=True
        )


def together(evaluations: Sequence[RunEvaluation], names: Sequence[str] | None) -> tuple[RunEvaluation, list[str]]:
    """Return one evaluation of all runs, and their names.

    Parameters
    ----------
    evaluations
        of one run or several each
    names
        a name for each run; by default their own, and letters for those that have none

    Raises
    ------
    NotComparableError
        other judgements or measures
    ParameterError
        a name for each run is needed, all different

    >>> from apframe.retrieval.evaluation import evaluate_run
    >>> qrels = {"q": {"good": 1, "bad": 0}}
    >>> both, names = together([evaluate_run(qrels, {"q": {"good": score}}, "AP") for score in (0.5, 0.9)], ["old", "new"])
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
    called = [name or chr(ord("a") + number) for number, (_, name) in enumerate(own)] if names is None else [*names]
    if len(called) != len(own) or len(set(called)) < len(called):
        problem = f"needs {counted(len(own), 'name')}, all different, got {listed(called)}"
        raise ParameterError(problem, "name each run once", option="names")
    parts = [_of_run(each, name, new) for (each, name), new in zip(own, called, strict=True)]
    tables: dict[str, Any] = {name: pl.concat([part[name] for part in parts]) for name in parts[0]}
    runs: dict[str | None, pl.DataFrame] = {new: each.runs[name] for (each, name), new in zip(own, called, strict=True)}
    queries = next((each.queries for each in evaluations if each.queries is not None), None)
    return replace(first, runs=runs, queries=queries, tags={}, **tables), called


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
    """The tables of one run, with its new name.

    The last bit of values of queries depends on the number of threads. They are rounded, so that the page does not.
    """
    per_query = evaluation.per_query.with_columns(pl.col("value").round(_DIGITS))
    tables = {"matches": evaluation.matches, "per_query": per_query, "coverage": evaluation.coverage}
    if name is not None:
        tables = {key: table.filter(pl.col(RUN) == name).drop(RUN) for key, table in tables.items()}
    return {key: table.select(pl.lit(new).alias(RUN), pl.all()) for key, table in tables.items()}

"""Retrieval: runs against judgements, query by query. The tables behind the numbers, and what one asks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import (
    ColumnError,
    FractionalGradesWarning,
    InputError,
    ParameterError,
    one_of,
    warn,
    whole_number,
)
from apframe.formats.stored_sets import read_table
from apframe.keywords import names_keywords
from apframe.lists.measures import USUAL, Measure, as_measures
from apframe.retrieval import agreement as run_agreement
from apframe.retrieval import bounds as run_bounds
from apframe.retrieval import comparing, numbers
from apframe.retrieval.one_run import Policies, evaluate_one, name_shown, same_ids
from apframe.retrieval.own_documents import remove_own, warn_of_own
from apframe.retrieval.run_inputs import is_query_id
from apframe.retrieval.trec import canonical_run, read_qrels, read_queries
from apframe.show.markup import latex, markdown
from apframe.show.run_means import run_cells, run_html, run_lines
from apframe.store.databases import write_database
from apframe.store.parquet import RETRIEVAL, labels, read_manifest, refuse_changed, write_tables
from apframe.store.queryable import QueryableResult
from apframe.tables.canonical import refuse_equal_pairs
from apframe.tables.lazy_table import LazyTable
from apframe.tables.result_tables import RUN_RESULTS
from apframe.tables.schemas import TABLES
from apframe.threads import pool
from apframe.wording import counted, did_you_mean, listed, option_name


@names_keywords
def evaluate_run(
    qrels: Any,
    run: Any,
    measures: str | Measure | Sequence[str | Measure] = USUAL,
    *,
    queries: Any = None,
    missing: str = "skip",
    no_relevant: str = "zero",
    unjudged: str = "nonrelevant",
    trec_eval: int = 10,
    relevance_level: float = 1,
    max_documents: int | None = None,
    own_document: str | None = None,
) -> RunEvaluation:
    """Evaluate one run, or several, against relevance judgements.

    Parameters
    ----------
    qrels
        what `read_qrels` takes: a TREC or Parquet file, a frame with query_id, document_id, relevance, a dict of dicts
    run
        what `read_run` takes: a TREC or Parquet file, a frame with query_id, document_id, score, a dict of dicts. Several:
        a dict from their names to these, a list of files, which are named by their file names, or a polars frame with a
        column run.
    measures
        names (see `apframe.list_measures()`), in one string or a list: "AP nDCG@10 AP(rel=2)@100"
    queries
        a frame with query_id, attributes and texts, or a CSV, Parquet, TSV or JSON lines file of these, for `by`, SQL and
        reports; or a data set of ir_datasets
    missing
        a judged query that is not in the run: "skip" leaves it out, as trec_eval does; "zero" gives it 0, as trec_eval -c; or
        "error"
    no_relevant
        a judged query without relevant documents: "zero" gives it 0, as trec_eval does; "skip" leaves it out
    unjudged
        documents without judgement: "nonrelevant", or "remove" them before ranks are given (condensed lists, trec_eval -J)
    trec_eval
        the version to agree with: 10; 9 compares scores in single precision and rounds AP11 and IPrec another way
    relevance_level
        the relevance from which on a document is relevant, trec_eval -l, for measures that say nothing else: with 2, AP is
        AP(rel=2). Grades of judgements may be fractions: with 0.5, those of .5 are relevant
    max_documents
        how many documents of each query are looked at, trec_eval -M; all if it is left out
    own_document
        a document with the id of its query, where the queries are documents themselves: "keep", or "remove" it before ranks are
        given, as BEIR does; None keeps it and warns if queries seem to find themselves

    Returns
    -------
    A `RunEvaluation`.

    Raises
    ------
    InputError
        bad data, with lines or rows named; no query in common; missing queries with missing="error"
    ParameterError
        unknown measures and options

    Warns
    -----
    NothingMatchesWarning
        next to no query or document of the run is judged (none, or less than one in a hundred that could be), so that the two
        probably do not use the same ids
    FractionalGradesWarning
        judgements have a relevance between 0 and 1, and measures count documents as relevant from 1 on
    OwnDocumentWarning
        own_document is None, and at least one query in ten has an unjudged document of its own id among the first ten

    >>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d3": 2}}
    >>> ev = evaluate_run(qrels, {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d1": 0.7, "d3": 0.6}}, "AP P@1")
    >>> ev.summary.rows()
    [('AP', 0.75, 2), ('P@1', 0.5, 2)]
    """
    chosen = as_measures(measures)
    one_of("missing", missing, ("skip", "zero", "error"))
    one_of("no_relevant", no_relevant, ("zero", "skip"))
    one_of("unjudged", unjudged, ("nonrelevant", "remove"))
    one_of("trec_eval", trec_eval, (9, 10))
    max_documents = None if max_documents is None else whole_number("max_documents", max_documents)
    if own_document is not None:
        one_of("own_document", own_document, ("keep", "remove"))
    if not isinstance(relevance_level, (int, float)) or not isfinite(relevance_level):
        raise ParameterError(f"must be a finite number, not {relevance_level!r}", option="relevance_level")
    chosen = tuple(dict.fromkeys(measure.at_level(relevance_level) for measure in chosen))
    policies = Policies(missing, no_relevant, unjudged, trec_eval, max_documents)
    runs = _named(run)
    with pool() as others:
        reading = others.submit(read_qrels, qrels)
        runs = {name: canonical_run(source) for name, source in runs.items()}
        if own_document == "remove":
            runs = {name: remove_own(found) for name, found in runs.items()}
        judgements = reading.result()
        # takes about as long as the evaluation, and is done beside it
        checking = [others.submit(refuse_equal_pairs, name_shown(name), found) for name, found in runs.items()]
        attributes = _attributes(queries, judgements)
        parts = [evaluate_one(name, judgements, found, chosen, policies) for name, found in runs.items()]
        for check in checking:
            check.result()
    per_query, coverage, matches = (pl.concat(tables) for tables in zip(*parts, strict=True))
    if list(runs) == [None]:
        per_query, coverage, matches = (table.drop("run") for table in (per_query, coverage, matches))
    _warn_of_fractions(judgements, chosen)
    options = {name: value for name, value in asdict(policies).items() if value is not None}
    if own_document == "remove":
        options["own_document"] = own_document
    elif own_document is None:
        for name, found in runs.items():
            warn_of_own(name_shown(name), found, judgements)
    return RunEvaluation(chosen, options, judgements, runs, attributes, matches, per_query, coverage)


def _attributes(queries: Any, judgements: pl.DataFrame) -> pl.DataFrame | None:
    """The table of the queries, if one was given; errors where the judgements cannot be used."""
    if judgements.is_empty():
        raise InputError("the table is empty; nothing can be evaluated", table="judgements")
    taken = [name for name in ("run", "score", "rank") if name in judgements.columns]
    if taken:
        raise ColumnError(
            f"matches already has columns {listed(taken)}", "rename or drop those of the judgements", table="judgements"
        )
    return None if queries is None else same_ids("queries", read_queries(queries), judgements, ["query_id"])


def _warn_of_fractions(judgements: pl.DataFrame, measures: Sequence[Measure]) -> None:
    """Warn if judgements lie between 0 and the usual level of 1 and there are measures of this level."""
    fractions = judgements["relevance"].filter(judgements["relevance"].is_between(0, 1, closed="none"))
    names = [str(each) for each in measures if each.kind.hits == "relevant" and each.rel == 1]
    if len(fractions) and names:
        grades = listed(fractions.unique().sort(descending=True).to_list())
        warn(
            f"the relevance of {len(fractions):,} of {counted(judgements.height, 'judgement')} is between 0 and 1 ({grades}); "
            f"{', '.join(names)} {'count' if names[1:] else 'counts'} documents as relevant from 1 on, so not these; lower "
            f"{option_name('relevance_level')} if they are relevant",
            FractionalGradesWarning,
        )


@dataclass(frozen=True, repr=False, eq=False)
class RunEvaluation(QueryableResult):
    """The result of `evaluate_run`. Where several runs were evaluated, tables have `run` as their first column.

    The tables in SQL are per_query, summary, coverage, matches, judgements, runs, and queries if it was given.

    Attributes
    ----------
    measures
        what was measured
    options
        the policies, as they were given to `evaluate_run`
    judgements
        query_id, document_id, relevance
    runs
        the canonical tables of the runs by name (None where only one was evaluated)
    queries
        query_id and attributes, as they were given, or None
    matches
        judgements with the score and rank of their documents, null where these were not retrieved: the table that all
        measures are computed from
    per_query
        query_id, measure, value; null where a query has no relevant documents and no_relevant="skip"
    coverage
        n_judged (queries with judgements), n_evaluated (those that the means are over), n_missing (judged, but not in the run),
        n_without_relevant (judged, without a document of relevance 1 or more, or of the level of a measure with a lower one),
        n_not_judged (queries of the run without judgements)
    tags
        those that it was stored with, such as {"epoch": 7}; none before it is stored
    """

    influence, intervals = comparing.influence, comparing.intervals
    compare, leaderboard = comparing.compare, comparing.leaderboard
    bounds, agreement = run_bounds.bounds, run_agreement.agreement
    to_dict, __getitem__ = numbers.to_dict, numbers.number

    measures: tuple[Measure, ...]
    options: Mapping[str, Any]
    judgements: pl.DataFrame
    runs: Mapping[str | None, pl.DataFrame]
    queries: pl.DataFrame | None
    matches: pl.DataFrame
    per_query: pl.DataFrame
    coverage: pl.DataFrame
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> pl.DataFrame:
        """measure, value and n_queries, how many queries have a value.

        The value is the mean over queries; for GMAP and GMBpref the geometric mean, for the counts NumQ, NumRel, NumRet and
        NumRelRet the sum.
        """
        return self._means(self.per_query, [])

    def by(self, *columns: str) -> pl.DataFrame:
        """The summary for each group of queries: the columns (attributes of `queries`), measure, value, n_queries.

        Queries without the attribute form the group null.

        Raises
        ------
        ParameterError
            no queries were given, or they have no such column
        """
        keys = list(dict.fromkeys(columns))
        means = self._means(self.with_attributes(self.per_query, keys, [*self.per_query.columns, "n_queries"]), keys)
        return means.sort([exact(key) for key in keys], maintain_order=True) if keys else means

    def with_attributes(self, table: pl.DataFrame, keys: list[str], taken: Sequence[str], option: str = "by") -> pl.DataFrame:
        """Join attributes of the queries to a table; none may have the name of a column that the answer has anyway."""
        if self.queries is None:
            raise ParameterError(
                f"give evaluate_run a table with the attributes of the queries, {option_name('queries', '')}", option=option
            )
        attributes = [name for name in self.queries.columns if name != "query_id"]
        for name in keys:
            if name not in attributes:
                raise ParameterError(f"the queries have no column {name!r}", did_you_mean(name, attributes), option=option)
            if name in taken:
                raise ParameterError(
                    f"the summary already has a column {name!r}", "rename the column of the queries", option=option
                )
        return table.join(self.queries[["query_id", *keys]], on="query_id", how="left", maintain_order="left")

    def _means(self, table: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
        """The means of `per_query`, with further columns, for each value of these."""
        keys = [*map(exact, columns), *(["run"] if "run" in table.columns else []), "measure"]
        logs = pl.col("value").clip(1e-5).log()
        means = {"mean": pl.col("value").mean(), "geometric mean": logs.mean().exp(), "sum": pl.col("value").sum()}
        averages = {str(each): each.kind.average for each in self.measures}
        average = pl.col("measure").first().replace_strict(averages, default="mean")  # a stored table may have other names
        return table.group_by(keys, maintain_order=True).agg(
            pl.coalesce(pl.when(average == name).then(mean) for name, mean in means.items()).alias("value"),
            n_queries=pl.col("value").count(),
        )

    def write_parquet(self, folder: str | Path, *, name: str | None = None, tags: Mapping[str, Any] | None = None) -> None:
        """Write all tables as a folder of Parquet files, whole or not at all; `read_run_evaluation` reads it back.

        `name` and `tags`, such as {"lr": 0.1, "epoch": 7}, are kept in the manifest; by default the tags that it was read with.

        Raises
        ------
        OutputError
            the folder holds something else, or cannot be written
        ParameterError
            a name or tags that cannot be stored
        """
        manifest = {
            "kind": RETRIEVAL,
            "measures": [str(measure) for measure in self.measures],
            "options": dict(self.options),
        } | labels(name, self.tags if tags is None else tags)
        write_tables(folder, {name: table.plan().collect() for name, table in self._lazy_tables().items()}, manifest)

    def write_duckdb(self, path: str | Path) -> None:
        """Write all tables into a DuckDB file, which appears whole or not at all; an earlier one of apframe's is replaced.

        Raises
        ------
        OutputError
            something else is there, or it cannot be written
        """
        write_database(path, {name: table.plan() for name, table in self._lazy_tables().items()})

    def _lazy_tables(self) -> dict[str, LazyTable]:
        named = [
            run if name is None else run.select(pl.lit(name).alias("run"), pl.exclude("run")) for name, run in self.runs.items()
        ]
        tables = {
            "per_query": self.per_query, "summary": self.summary, "coverage": self.coverage, "matches": self.matches,
            "judgements": self.judgements, "runs": pl.concat(named, how="diagonal_relaxed"),
        }  # fmt: skip
        if self.queries is not None:
            tables["queries"] = self.queries
        return {name: LazyTable(table.lazy) for name, table in tables.items()}

    def to_markdown(self) -> str:
        """The summary in Markdown: a row for each measure, a column for each run; `apframe.to_markdown` takes any table."""
        head, *rows = run_cells(self.summary, self.coverage)
        return markdown(head, rows)

    def to_latex(self) -> str:
        """Return the means as a LaTeX table, which needs the package booktabs; `apframe.to_latex` takes any table."""
        head, *rows = run_cells(self.summary, self.coverage)
        return latex(head, rows)

    def __str__(self) -> str:
        return "\n".join(run_lines(self.summary, self.coverage, self.options))

    def __repr__(self) -> str:
        names = ", ".join(str(measure) for measure in self.measures)
        return f"RunEvaluation({names}; {len(self.runs)} run{'s' if len(self.runs) > 1 else ''})"

    def _repr_html_(self) -> str:
        return run_html(self.summary, self.coverage, self.options)


def read_run_evaluation(folder: str | Path) -> RunEvaluation:
    """An evaluation that `RunEvaluation.write_parquet` wrote.

    Raises
    ------
    FormatError
        not such a folder, of another schema version, or incomplete
    """
    manifest = read_manifest(folder, RETRIEVAL, ["measures", "options"])
    read = {name: read_table(folder, name, manifest.get("set_id")) for name in manifest["tables"]}
    _refuse_changed_tables(folder, {name: table.schema for name, table in read.items()})
    rows = read["runs"]
    runs: dict[str | None, pl.DataFrame] = {None: rows}
    if "run" in read["per_query"].columns:
        with_rows = _by_name(rows)
        names = map(str, read["coverage"]["run"].unique(maintain_order=True))
        runs = {name: with_rows.get(name, rows.clear().drop("run")) for name in dict.fromkeys([*names, *with_rows])}
    return RunEvaluation(
        as_measures(manifest["measures"]), manifest["options"], read["judgements"], runs, read.get("queries"), read["matches"],
        read["per_query"], read["coverage"], manifest.get("tags", {}),
    )  # fmt: skip


def _refuse_changed_tables(folder: str | Path, tables: Mapping[str, pl.Schema]) -> None:
    """An error where tables lack columns that they were written with, such as `run`, which all have or none."""
    has_runs = "run" in tables.get("per_query", {})
    given = {name: {c.name: None for c in TABLES[name] if c.required} for name in ("judgements", "runs")}
    made = {
        name: {c.name: None if c.is_id or c.name == "score" else c.dtype for c in columns if has_runs or c.name != "run"}
        for name, columns in RUN_RESULTS.items()
    }
    refuse_changed(folder, tables, given | made)
    if has_runs:
        refuse_changed(folder, tables, {"runs": {"run": pl.String}})


def _named(run: Any) -> dict[str | None, Any]:
    """The runs by name; a single one has no name."""
    if isinstance(run, pl.DataFrame) and "run" in run.columns and run["run"].n_unique() > 1:
        return _by_name(run)
    is_columns = isinstance(run, dict) and all(isinstance(value, (list, pl.Series)) for value in run.values())
    if isinstance(run, dict) and not is_columns and not any(is_query_id(str(name)) for name in run):
        is_nested = all(isinstance(value, dict) for value in run.values())
        inner = [item for value in run.values() for item in value.values()] if is_nested else []
        if not is_nested or any(isinstance(item, (dict, list, pl.Series)) for item in inner):
            return {str(name): source for name, source in run.items()}
    if isinstance(run, (list, tuple)) and not (run and _is_row(run[0])):
        return dict(zip(_names_in(run), run, strict=True))
    return {None: run}


def _is_row(item: Any) -> bool:
    return isinstance(item, tuple) or (isinstance(item, dict) and any(is_query_id(str(name)) for name in item))


def _names_in(runs: Sequence[Any]) -> list[str]:
    """The names of runs in a list: those of their files, or what objects have as `name`, as runs of ranx do."""
    paths = [Path(source) if isinstance(source, (str, Path)) else None for source in runs]
    names = [path.name.split(".")[0] if path else getattr(run, "name", "") for path, run in zip(paths, runs, strict=True)]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ParameterError("each run in a list needs a path or a name", "give a dict from names to runs", option="run")
    if len(set(names)) < len(names):
        names = [str(path or name) for path, name in zip(paths, names, strict=True)]
    if len(set(names)) < len(names):
        raise ParameterError(f"a file is listed twice ({listed(names)})", option="run")
    return names


def _by_name(rows: pl.DataFrame) -> dict[str | None, pl.DataFrame]:
    """The parts of a table that has a column run, by its values."""
    return {str(name): part for (name,), part in rows.partition_by("run", as_dict=True, include_key=False).items()}

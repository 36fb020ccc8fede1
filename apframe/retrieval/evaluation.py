"""Retrieval: runs evaluated against judgements, query by query, with the tables behind the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError, FractionalGradesWarning, InputError, ParameterError, warn
from apframe.formats.stored_sets import read_table
from apframe.keywords import names_keywords
from apframe.lists.measures import USUAL, Measure, as_measures
from apframe.option_values import one_of, whole_number
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
        anything that `read_qrels` accepts: a TREC or Parquet file, a frame with query_id, document_id, relevance, nested dicts
    run
        anything that `read_run` accepts: a TREC or Parquet file, a frame with query_id, document_id, score, nested dicts.
        Several runs are a dict from names to these, a list of files, whose names become the names of the runs, or a Polars
        frame with a column run.
    measures
        names (see `apframe.list_measures()`), in one string or a list: "AP nDCG@10 AP(rel=2)@100"
    queries
        a frame with query_id, attributes and texts, or a CSV, TSV, Parquet or JSON lines file, for `by`, SQL and reports; or a
        data set of ir_datasets
    missing
        judged queries that are not in the run: "skip" leaves them out, as trec_eval does; "zero" counts them as 0, as trec_eval
        -c does; or "error"
    no_relevant
        judged queries without relevant documents: "zero" counts them as 0, as trec_eval does; "skip" leaves them out
    unjudged
        documents without a judgement: "nonrelevant", or "remove" them before ranking (condensed lists, trec_eval -J)
    trec_eval
        the version to reproduce: 10; 9 compares scores in single precision and rounds AP11 and IPrec differently
    relevance_level
        the relevance from which a document counts as relevant (trec_eval -l), for measures without their own level: with 2, AP
        is AP(rel=2). Grades of judgements may be fractions: with 0.5, grade .5 is relevant
    max_documents
        the number of documents of each query to evaluate (trec_eval -M); all by default
    own_document
        documents with the id of their query, if the queries are documents themselves: "keep", or "remove" them before ranking,
        as BEIR does; None keeps them and warns if queries seem to retrieve themselves

    Returns
    -------
    A `RunEvaluation`.

    Raises
    ------
    InputError
        bad data, with the lines or rows; no common query; missing queries with missing="error"
    ParameterError
        unknown measures and options

    Warns
    -----
    NothingMatchesWarning
        hardly any query or document of the run is judged (none, or less than one in a hundred that could be), so that the two
        probably use different ids
    FractionalGradesWarning
        judgements have a relevance between 0 and 1, but measures count documents as relevant from 1 on
    OwnDocumentWarning
        own_document is None, and at least one query in ten has an unjudged document with its own id among the first ten

    >>> qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d3": 2}}
    >>> ev = evaluate_run(qrels, {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d1": 0.7, "d3": 0.6}}, "AP P@1")
    >>> ev.summary.rows()
    [('AP', 0.75, 2), ('P@1', 0.5, 2)]
    """
    parsed_measures = as_measures(measures)
    one_of("missing", missing, ("skip", "zero", "error"))
    one_of("no_relevant", no_relevant, ("zero", "skip"))
    one_of("unjudged", unjudged, ("nonrelevant", "remove"))
    one_of("trec_eval", trec_eval, (9, 10))
    max_documents = None if max_documents is None else whole_number("max_documents", max_documents)
    if own_document is not None:
        one_of("own_document", own_document, ("keep", "remove"))
    if not isinstance(relevance_level, (int, float)) or not isfinite(relevance_level):
        raise ParameterError(f"must be a finite number, not {relevance_level!r}", option="relevance_level")
    parsed_measures = tuple(dict.fromkeys(measure.at_level(relevance_level) for measure in parsed_measures))
    policies = Policies(missing, no_relevant, unjudged, trec_eval, max_documents)
    runs = _named(run)
    with pool() as others:
        reading = others.submit(read_qrels, qrels)
        runs = {name: canonical_run(source) for name, source in runs.items()}
        if own_document == "remove":
            runs = {name: remove_own(documents) for name, documents in runs.items()}
        judgements = reading.result()
        # takes about as long as the evaluation, and runs in parallel with it
        checking = [others.submit(refuse_equal_pairs, name_shown(name), documents) for name, documents in runs.items()]
        attributes = _attributes(queries, judgements)
        parts = [evaluate_one(name, judgements, documents, parsed_measures, policies) for name, documents in runs.items()]
        for check in checking:
            check.result()
    per_query, coverage, matches = (pl.concat(tables) for tables in zip(*parts, strict=True))
    if list(runs) == [None]:
        per_query, coverage, matches = (table.drop("run") for table in (per_query, coverage, matches))
    _warn_of_fractions(judgements, parsed_measures)
    options = {name: value for name, value in asdict(policies).items() if value is not None}
    if own_document == "remove":
        options["own_document"] = own_document
    elif own_document is None:
        for name, documents in runs.items():
            warn_of_own(name_shown(name), documents, judgements)
    return RunEvaluation(parsed_measures, options, judgements, runs, attributes, matches, per_query, coverage)


def _attributes(queries: Any, judgements: pl.DataFrame) -> pl.DataFrame | None:
    """Return the table of the queries, if there is one, and check that the judgements can be used."""
    if judgements.is_empty():
        raise InputError("the table is empty; nothing can be evaluated", table="judgements")
    reserved_names = [name for name in ("run", "score", "rank") if name in judgements.columns]
    if reserved_names:
        raise ColumnError(
            f"matches already has columns {listed(reserved_names)}",
            "rename or drop those of the judgements",
            table="judgements",
        )
    return None if queries is None else same_ids("queries", read_queries(queries), judgements, ["query_id"])


def _warn_of_fractions(judgements: pl.DataFrame, measures: Sequence[Measure]) -> None:
    """Warn if judgements lie between 0 and the default level of 1, and some measures use this level."""
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
    """The result of `evaluate_run`. If several runs were evaluated, `run` is the first column of the tables.

    The tables in SQL are per_query, summary, coverage, matches, judgements, runs, and queries if they were passed.

    Attributes
    ----------
    measures
        the evaluated measures
    options
        the policies, as passed to `evaluate_run`
    judgements
        query_id, document_id, relevance
    runs
        the canonical tables of the runs by name (None if only one run was evaluated)
    queries
        query_id and attributes as passed, or None
    matches
        judgements with the score and rank of their documents, null if not retrieved: the table from which all measures are
        computed
    per_query
        query_id, measure, value; null if a query has no relevant documents and no_relevant="skip"
    coverage
        n_judged (queries with judgements), n_evaluated (queries in the means), n_missing (judged, but not in the run),
        n_without_relevant (judged, without a document of relevance 1 or more, or of a measure's lower level),
        n_not_judged (queries of the run without judgements)
    tags
        the tags it was stored with, such as {"epoch": 7}; empty before it is stored
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
        """Return measure, value and n_queries (the number of queries with a value).

        The value is the mean over queries; for GMAP and GMBpref the geometric mean, for the counts NumQ, NumRel, NumRet and
        NumRelRet the sum.
        """
        return self._means(self.per_query, [])

    def by(self, *columns: str) -> pl.DataFrame:
        """Return the summary for each group of queries: the columns (attributes of `queries`), measure, value, n_queries.

        Queries without the attribute form the group null.

        Raises
        ------
        ParameterError
            `queries` is missing, or has no such column
        """
        keys = list(dict.fromkeys(columns))
        means = self._means(self.with_attributes(self.per_query, keys, [*self.per_query.columns, "n_queries"]), keys)
        return means.sort([exact(key) for key in keys], maintain_order=True) if keys else means

    def with_attributes(self, table: pl.DataFrame, keys: list[str], taken: Sequence[str], option: str = "by") -> pl.DataFrame:
        """Join attributes of the queries to a table; none may have the name of another column of the answer."""
        if self.queries is None:
            raise ParameterError(
                f"pass evaluate_run a table with the attributes of the queries, {option_name('queries', '')}", option=option
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
        """Return the means of `per_query` for each value of further columns."""
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
        """Write all tables as a folder of Parquet files, completely or not at all; `read_run_evaluation` reads it back.

        `name` and `tags`, such as {"lr": 0.1, "epoch": 7}, are stored in the manifest; tags default to those it was read with.

        Raises
        ------
        OutputError
            the folder contains something else, or cannot be written
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
        """Write all tables to a DuckDB file, which appears completely or not at all and replaces an earlier one of apframe's.

        Raises
        ------
        OutputError
            the path holds something else, or cannot be written
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
        """Return the summary in Markdown: a row per measure, a column per run; `apframe.to_markdown` accepts any table."""
        head, *rows = run_cells(self.summary, self.coverage)
        return markdown(head, rows)

    def to_latex(self) -> str:
        """Return the means as a LaTeX table, which requires the package booktabs; `apframe.to_latex` accepts any table."""
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
    """Read an evaluation that `RunEvaluation.write_parquet` wrote.

    Raises
    ------
    FormatError
        the folder is not such an evaluation, has another schema version, or is incomplete
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
    """Raise an error if tables lack columns that they were written with, such as `run`, which all or none have."""
    has_runs = "run" in tables.get("per_query", {})
    input_columns = {name: {c.name: None for c in TABLES[name] if c.required} for name in ("judgements", "runs")}
    result_columns = {
        name: {c.name: None if c.is_id or c.name == "score" else c.dtype for c in columns if has_runs or c.name != "run"}
        for name, columns in RUN_RESULTS.items()
    }
    refuse_changed(folder, tables, input_columns | result_columns)
    if has_runs:
        refuse_changed(folder, tables, {"runs": {"run": pl.String}})


def _named(run: Any) -> dict[str | None, Any]:
    """Return the runs by name; a single run has the name None."""
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
    """Return the names of runs in a list: their file names, or the attribute `name` of objects, as runs of ranx have it."""
    paths = [Path(source) if isinstance(source, (str, Path)) else None for source in runs]
    names = [path.name.split(".")[0] if path else getattr(run, "name", "") for path, run in zip(paths, runs, strict=True)]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ParameterError("each run in a list needs a path or a name", "pass a dict from names to runs", option="run")
    if len(set(names)) < len(names):
        names = [str(path or name) for path, name in zip(paths, names, strict=True)]
    if len(set(names)) < len(names):
        raise ParameterError(f"a file is listed twice ({listed(names)})", option="run")
    return names


def _by_name(rows: pl.DataFrame) -> dict[str | None, pl.DataFrame]:
    """Split a table by its column run."""
    return {str(name): part for (name,), part in rows.partition_by("run", as_dict=True, include_key=False).items()}

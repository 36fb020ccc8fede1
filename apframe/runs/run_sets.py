"""Many stored evaluations as one set of tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.restored import NEEDED, stored_evaluation, stored_protocol
from apframe.exceptions import FormatError, NotComparableError, ParameterError, RunsDifferWarning, RunsLeftOutWarning, warn
from apframe.lazily import cached_property
from apframe.listing import html_table
from apframe.paths import names_of
from apframe.protocols.headlines import less_is_better, main_headline
from apframe.runs import comparing, label_errors
from apframe.runs.run_folders import named_folders
from apframe.runs.stacked_tables import TablesOfRuns
from apframe.runs.stored_run import StoredRun, differences
from apframe.show.fitted import SliceTable
from apframe.show.markup import cells
from apframe.show.text_tables import table_lines
from apframe.store import sql
from apframe.store.parquet import DETECTION, REPORT, RETRIEVAL, read_manifest
from apframe.store.queryable import QueryableResult
from apframe.tables.lazy_table import LazyTable
from apframe.tables.result_tables import DIFFERENCES
from apframe.wording import did_you_mean, listed, reason

if TYPE_CHECKING:
    from apframe.evaluation.slices.keys import SliceKey


def scan_runs(folders: str | Path | Iterable[str | Path]) -> RunSets:
    """Open many stored evaluations as one set of tables; only their manifests are read now.

    Parameters
    ----------
    folders
        a folder written by `Evaluation.write_parquet`, a list of such folders, or a pattern such as "runs/*" (`**` matches any
        depth). Among the matches of a pattern, files are ignored, and so are folders that only contain other runs.

    Returns
    -------
    A `RunSets`. The name of a run is that of its folder; if folders share a name, enough of their paths is put in front to
    distinguish them. The runs that a pattern matches are sorted by path.

    Raises
    ------
    FormatError
        nothing matches, or a folder is not an evaluation, lacks files, or has another schema version.
    ParameterError
        no folder is named, or one is named twice.

    Warns
    -----
    RunsDifferWarning
        the runs were evaluated on different ground truth or by different rules, so their numbers cannot be compared
    RunsLeftOutWarning
        a pattern also matches evaluations of search runs

    >>> import tempfile
    >>> from apframe.evaluation.evaluate import evaluate
    >>> truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, width in {"narrow": 6, "wide": 9}.items():
    ...         detections = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, width, 10], "score": 0.5}]
    ...         evaluate(truth, detections).write_parquet(f"{folder}/{name}")
    ...     runs = scan_runs(f"{folder}/*")
    ...     runs.leaderboard().select("run", pl.col("AP50", "AP75").round(3)).rows()
    [('wide', 1.0, 1.0), ('narrow', 1.0, 0.0)]
    """
    paths, is_pattern = named_folders(folders)
    manifests: dict[Path, dict[str, Any]] = {}
    left_out: list[str] = []
    for path in paths:
        kind = read_manifest(path)["kind"] if is_pattern else DETECTION
        if kind == RETRIEVAL:
            left_out.append(str(path))
        elif kind != REPORT:  # the tables of a report lie next to its page
            manifests[path] = read_manifest(path, DETECTION, ["created", "versions", *NEEDED])
    if not manifests:
        others = f", only of {RETRIEVAL}: {listed(left_out)}" if left_out else ""
        raise FormatError(f"no evaluation of {DETECTION} is among them{others}", path=folders)
    if left_out:
        what = (
            f"left out evaluations of {RETRIEVAL}, because only evaluations of {DETECTION} can be combined: {listed(left_out)}"
        )
        warn(what, RunsLeftOutWarning)
    names = names_of(list(manifests))
    runs = [StoredRun.of(name, path, manifest) for name, (path, manifest) in zip(names, manifests.items(), strict=True)]
    different = differences(runs)
    if different:
        warn(f"runs differ in {', and in '.join(different)}; their numbers cannot be compared", RunsDifferWarning)
    return RunSets(runs)


class RunSets(QueryableResult):
    """The result of `scan_runs`: the stacked tables of many runs, with `run` as the first column.

    SQL queries read `tables` and `differences`, the result of `compare()` for all pairs of runs, computed if a query names it.
    Only the files of tables that a query names are opened.

    `len()` is the number of runs. `print` shows the leaderboard with the interval of the main metric, share_best and the range
    of each rank, which requires ranking the detections of all runs; `repr` and notebooks show only stored numbers.

    Attributes
    ----------
    runs
        one row for each run: run, folder, created (UTC), protocol (its name), n_images, n_annotations, n_detections, data
        (equal for equal ground truth), apframe (the version that wrote it), name (null without one). Each tag of any run has a
        column, called `tags.{tag}` if another column has the name of the tag.
    """

    def __init__(self, runs: Sequence[StoredRun]) -> None:
        self._runs = {run.name: run for run in runs}
        overview = pl.DataFrame(
            [
                (
                    run.name, str(run.folder), run.created, run.protocol_name, run.heights["images"],
                    run.heights["annotations"], run.heights["detections"], run.data[:12], run.version, run.label,
                )
                for run in runs
            ],
            schema={
                "run": pl.String, "folder": pl.String, "created": pl.Datetime("us", "UTC"), "protocol": pl.String,
                "n_images": pl.Int64, "n_annotations": pl.Int64, "n_detections": pl.Int64, "data": pl.String,
                "apframe": pl.String, "name": pl.String,
            },
            orient="row",
        )  # fmt: skip
        self.runs = overview
        for tag in dict.fromkeys(tag for run in runs for tag in run.tags):
            self.runs = self.runs.hstack([_tag_column(tag, self.runs.columns, [run.tags.get(tag) for run in runs])])
        self._labels = ["run", *(["name"] if overview["name"].count() else []), *self.runs.columns[overview.width :]]

    @cached_property
    def tables(self) -> Mapping[str, pl.LazyFrame]:
        """Return every table of the runs by name, as a lazy frame, and `runs`. Files are opened when a table is used.

        `run` is the first column; an attribute of that name is renamed to `{table}.run`. Columns that a run does not have are
        null. Enums, which differ between protocols, become strings.

        Raises
        ------
        FormatError
            when a table is used, if one of its files cannot be read.
        ColumnError
            when a table is used, if a column has incompatible types in two runs.
        """
        return TablesOfRuns(self._runs, self.runs)

    @cached_property
    def summary(self) -> pl.DataFrame:
        """Return the headline numbers of all runs: run, metric, value (null if nothing could be evaluated)."""
        try:
            return self.tables["summary"].select("run", "metric", "value").collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            what = reason(error)
            raise FormatError(f"the summary of a run cannot be read ({what})", "evaluate again") from error

    def leaderboard(
        self,
        sort_by: str | None = None,
        *,
        where: str | None = None,
        intervals: bool = False,
        n_resamples: int = 0,
        unit: str | None = None,
        within: str | None = None,
        seed: int = 0,
    ) -> pl.DataFrame:
        """Return a row for each run, the best run first: `run`, its name and tags, and a column for each metric of the summary.

        A metric that a run does not have is null. Runs with equal `sort_by` stay in the order of `runs`, runs without it come
        last. `name` is present if any run has one. A tag with the name of a metric is called `tags.{tag}`.

        Parameters
        ----------
        sort_by
            a metric; by default the main metric of the first run's protocol, such as AP.
        where
            only these runs: a condition in SQL (DuckDB's dialect) over the columns of `runs`, such as "epoch > 5 AND lr < 0.1".
        intervals
            also return the uncertainty of the order: low and high, the 95 % interval of `sort_by`; share_best, the confidence
            that the run leads; rank_low and rank_high, the range of its rank in 95 % of sets like this one. These columns stand
            behind `sort_by`. They are computed from the contribution of each image; see `Evaluation.intervals`
        n_resamples
            compute the same from this number of resamples of the images instead, such as 1000; metrics without a derivative
            always use 1,000
        unit, within, seed
            options of the intervals, see `Evaluation.intervals`

        Raises
        ------
        ParameterError
            an unknown metric, or invalid options of intervals
        NotComparableError
            with intervals: the runs are on different data, or by different rules
        QueryError
            DuckDB rejects the condition.
        """
        table = self.summary.pivot("metric", index="run", values="value", maintain_order=True)
        metrics = table.columns[1:]
        sort_by = self._main if sort_by is None else sort_by
        if sort_by not in metrics:
            raise ParameterError(f"no metric {sort_by!r}", did_you_mean(str(sort_by), metrics), option="sort_by")
        labelled = self.runs.select(pl.col(name).alias(_free(name, metrics)) for name in self._labels)
        table = labelled.join(table, on="run", how="inner", maintain_order="left")
        if where is not None:
            if not isinstance(where, str):
                raise ParameterError(f"is a condition in SQL, not {where!r}", option="where")
            selected = sql.query({"runs": self.runs.lazy()}, f"SELECT run FROM runs WHERE ({where}\n)")
            table = table.join(selected, on="run", how="semi", maintain_order="left")
        table = table.sort(sort_by, descending=not less_is_better(sort_by), nulls_last=True, maintain_order=True)
        if not intervals and n_resamples == 0:
            for option, column in (("unit", unit), ("within", within)):
                if column is not None:
                    raise ParameterError("needs intervals=True", option=option)
        if table.is_empty() or not (intervals or n_resamples):
            return table
        resampling = {"method": "bootstrap", "n_resamples": n_resamples} if n_resamples else {}
        rank_table = comparing.ranks(self, table["run"].to_list(), sort_by, unit=unit, within=within, seed=seed, **resampling)
        at = table.columns.index(sort_by) + 1
        new_names = {name: _free(name, table.columns) for name in rank_table.columns[1:]}
        columns = [*table.columns[:at], *new_names.values(), *table.columns[at:]]
        return table.join(rank_table.rename(new_names), on="run", how="left", maintain_order="left").select(columns)

    def by(self, *keys: SliceKey, level: str = "summary", marginals: bool = False) -> pl.DataFrame:
        """Return the slices of all runs as one table: `run`, and the columns of `Evaluation.by`, which documents the options.

        Quantiles of columns of the detections are computed for each run separately.
        """
        slices = {run: self.evaluation(run).by(*keys, level=level, marginals=marginals) for run in self._runs}
        if any("run" in table.columns for table in slices.values()):
            raise ParameterError("the result has a column 'run' of its own", "rename the attribute", option="by")
        tables = [table.select(pl.lit(run).alias("run"), pl.all()) for run, table in slices.items()]
        alike = all(table.schema == tables[0].schema for table in tables)
        parts = tables if alike else [table.cast({cs.enum(): pl.String}) for table in tables]
        return SliceTable(pl.concat(parts, how="diagonal_relaxed"))

    label_errors = label_errors.label_errors

    def _lazy_tables(self) -> dict[str, LazyTable]:
        """Return `tables` for a query; tables that it does not name are only listed, for error messages, and not opened."""
        tables = {
            name: LazyTable(partial(self.tables.__getitem__, name), unnamed=lambda: pl.LazyFrame({"run": []}))
            for name in self.tables
        }
        if len(self) > 1:
            schema = {column.name: column.dtype for column in DIFFERENCES}
            tables["differences"] = LazyTable(lambda: sql.deferred(lambda: self._differences, schema))
        return tables

    @cached_property
    def _differences(self) -> pl.DataFrame:
        return self.compare()

    compare = comparing.compare

    def evaluation(self, run: str) -> Evaluation:
        """Return the evaluation of one run, as `apframe.read_evaluation` reads it.

        Raises
        ------
        ParameterError
            there is no such run.
        """
        if run not in self._runs:
            raise ParameterError(f"no run {run!r}", did_you_mean(str(run), list(self._runs)))
        return stored_evaluation(self._runs[run].path, self._runs[run].manifest)

    def __len__(self) -> int:
        return len(self._runs)

    @cached_property
    def _board(self) -> pl.DataFrame:
        """Return the leaderboard by the main metric, with intervals if the runs can be compared."""
        if len(self) < 2:
            return self.leaderboard()
        try:
            return self.leaderboard(intervals=True)
        except (NotComparableError, ParameterError):  # different data, or a single image
            return self.leaderboard()

    @cached_property
    def _main(self) -> str:
        """Return the main metric of the first run's protocol."""
        run = next(iter(self._runs.values()))
        return main_headline(stored_protocol(run.path, run.manifest)).metric

    def __str__(self) -> str:
        return table_lines(self._board, 3, width=shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"RunSets({len(self)} run{'s' if len(self) > 1 else ''}: {listed(list(self._runs))})"

    def _repr_html_(self) -> str:
        table = self._board if "_board" in self.__dict__ else self.leaderboard()
        return html_table(*cells(table, 3))


def _free(name: str, used_names: Collection[str]) -> str:
    """Return a name for a column that no other column has.

    >>> _free("lr", ["run"]), _free("run", ["run"])
    ('lr', 'tags.run')
    """
    while name in used_names:
        name = f"tags.{name}"
    return name


def _tag_column(tag: str, used_names: Sequence[str], values: Sequence[Any]) -> pl.Series:
    """Return one tag of all runs, null for runs without it: numbers, flags, or text if the types are mixed."""
    name = _free(tag, used_names)
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    if len(kinds) == 1:
        return pl.Series(name, values)
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)

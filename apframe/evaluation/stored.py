"""Evaluations as stored sets, and the mapping of their tables that SQL and files share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.on_request import OF_SCORES, ON_REQUEST, chosen_tables
from apframe.exceptions import ParameterError
from apframe.progress import with_bar
from apframe.protocols.lookups import threshold_at
from apframe.store import sql
from apframe.store.databases import write_database
from apframe.store.parquet import DETECTION, input_hash, labels, write_tables
from apframe.tables.lazy_table import LazyTable
from apframe.tables.result_tables import result_schema
from apframe.tables.schemas import GROUND_TRUTH

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

INPUTS, LINKS = (*GROUND_TRUTH, "detections"), ("pairs", "assignments")


def write_parquet(
    self: Evaluation,
    folder: str | Path,
    *,
    name: str | None = None,
    tags: Mapping[str, Any] | None = None,
    matches: float | Sequence[float] = (),
    tables: str | Sequence[str] = (),
) -> None:
    """Write the evaluation as a folder: a Parquet file for each table and `manifest.json`.

    The folder appears completely or not at all; an earlier evaluation there is replaced as a whole. `read_evaluation` reads it
    back. The files are images, categories, annotations, detections, pairs, assignments (the matches of all thresholds and area
    ranges, see there), metrics and summary. The manifest records the protocol, the data (hashes of the four tables), earlier
    changes to them (`notes`), the versions and the time.

    Parameters
    ----------
    folder
        the folder, whose name is the name of the run in `scan_runs`
    name
        a different name for the run; that of `evaluate(name=)` by default
    tags
        texts, numbers and flags by name, such as {"lr": 0.1, "epoch": 7}. Name and tags become columns of `RunSets.runs` and
        `RunSets.leaderboard`, which select runs by them. By default, the tags that were read with the evaluation
    matches
        thresholds for which the table `matches` is stored too, with a row for each detection and missed annotation: `matches`
        of the restored evaluation reads them, and `RunSets.sql` can compare those of many runs
    tables
        names of further tables to store, each at the lowest threshold, among those that SQL computes on request: the error for
        an unknown name lists them. SQL over the restored evaluation reads them, and `RunSets.sql` can compare those of many
        runs

    Raises
    ------
    OutputError
        the folder contains something else, or cannot be written
    ParameterError
        an invalid name or tags, an unknown table, or a threshold that was not evaluated
    """
    labelled, added = labels(self._label if name is None else name, self.tags if tags is None else tags), chosen_tables(tables)
    numbers = [threshold_at(self.protocol, each) for each in ([matches] if isinstance(matches, (int, float)) else matches)]
    numbers_of = {"metrics": self.metrics, "summary": self.summary}
    source = self._source
    plans = {
        name: source.table(name).plan() for name in (*LINKS, *INPUTS)
    }  # if objects are read again, the pairs come with them
    inputs_and_pairs = {name: plans[name] if source.reads_again else plans[name].collect() for name in (*INPUTS, *LINKS)}
    manifest = {
        "kind": DETECTION,
        "protocol": self.protocol.as_dict(),
        "inputs": {table: input_hash(table, inputs_and_pairs[table]) for table in INPUTS},
        "category_ids": source.category_ids.to_list(),
        "json_columns": sorted(self.dataset.json_columns),
        "conditions": list(self.conditions),
        "notes": list(self.notes),
        "altered": "they were read in parts" if source.reads_again else source.inputs.altered,
    } | labelled
    further_tables: dict[str, pl.DataFrame | pl.LazyFrame] = {}
    if numbers:
        further_tables["matches"] = pl.concat([self._pipeline.matches(number) for number in dict.fromkeys(numbers)])
    further_tables |= {each: _on_request(self, each) for each in added}
    write_tables(folder, {**inputs_and_pairs, **numbers_of, **further_tables}, manifest)


def write_duckdb(
    self: Evaluation,
    path: str | Path,
    *,
    iou_thresholds: float | Sequence[float] | None = None,
    tables: str | Sequence[str] = (),
) -> None:
    """Write the tables into a DuckDB file, which appears completely or not at all; an earlier file of apframe is replaced.

    `matches`, `curves`, `per_image` and `thresholds` have rows for every threshold and area range: with many detections, this
    takes minutes and gigabytes. A terminal or a notebook shows a progress bar.

    Parameters
    ----------
    path
        the file
    iou_thresholds
        the only thresholds in these tables; by default all
    tables
        names of further tables to write, as in `write_parquet`; those that are already stored are always written

    Raises
    ------
    OutputError
        another kind of file is there, or it cannot be written
    ParameterError
        a threshold that was not evaluated, or an unknown table
    """
    added = chosen_tables(tables)
    thresholds = [iou_thresholds] if isinstance(iou_thresholds, (int, float)) else iou_thresholds
    numbers = None if thresholds is None else sorted({threshold_at(self.protocol, each) for each in thresholds})
    if numbers == []:
        raise ParameterError("is empty", "leave it out for all thresholds", option="iou_thresholds")
    left_out = {name for name in ON_REQUEST if name not in added and name not in self._source.stored}
    plans = {name: table for name, table in lazy_tables(self, numbers).items() if name not in left_out}
    write_database(path, {name: (table.parts or table.plan)() for name, table in plans.items()})


def lazy_tables(self: Evaluation, thresholds: Sequence[int] | None = None) -> dict[str, LazyTable]:
    """Return all tables by name, without computing results; those for every threshold and area range also come in parts.

    The parts are for the thresholds with these numbers, if any are given.
    """
    inputs = {name: self._source.table(name) for name in INPUTS}
    keys = {"images": "image_id", "categories": "category_id", "annotations": "annotation_id", "detections": "detection_id"}
    ids = {key: (inputs[name].unnamed or inputs[name].plan)().collect_schema()[key] for name, key in keys.items()}
    areas = pl.Enum(self.protocol.range_names)
    chosen = range(len(self.protocol.iou_thresholds)) if thresholds is None else thresholds
    grid = [(t, a) for a in range(len(self.protocol.ranges)) for t in chosen]

    def result(name: str, make: Callable[[], pl.DataFrame | pl.LazyFrame]) -> LazyTable:
        computed = sql.deferred(make, result_schema(name, ids, areas, self.protocol.further_columns))
        return LazyTable(lambda: self._source.stored.get(name, computed))

    def in_parts(name: str, make: Callable[..., pl.LazyFrame]) -> LazyTable:  # computed, because only few thresholds are stored
        plan = sql.deferred(make, result_schema(name, ids, areas))
        return LazyTable(lambda: plan, parts=lambda: (make(*at) for at in with_bar(grid, f"writing {name}")))

    tables = inputs | {
        "pairs": result("pairs", lambda: self.pairs),
        "assignments": result("assignments", lambda: self.assignments),
        "matches": in_parts("matches", lambda *at: self._pipeline.matches(*at)),
        "curves": in_parts("curves", lambda *at: self._pipeline.curves(*at)),
        "metrics": result("metrics", lambda: self.metrics),
        "summary": result("summary", lambda: self.summary),
        "per_image": in_parts("per_image", lambda *at: self._pipeline.per_image(*at)),
        "thresholds": in_parts("thresholds", lambda *at: self._pipeline.thresholds(*at)),
        **{name: result(name, partial(_on_request, self, name)) for name in ON_REQUEST},
    }
    if not self.protocol.has_precision:  # tables that do not apply to this evaluation are empty
        empty = {name: pl.LazyFrame(schema=result_schema(name, ids, areas)) for name in OF_SCORES}
        tables |= {name: LazyTable(partial(empty.__getitem__, name)) for name in OF_SCORES}
    return tables


def _on_request(self: Evaluation, name: str) -> pl.DataFrame:
    """Return one of the tables of `ON_REQUEST`, stored or computed."""
    return self._kept(name, lambda: ON_REQUEST[name](self))

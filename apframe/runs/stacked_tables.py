"""The stacked tables of many runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import polars.selectors as cs

from apframe.exceptions import ColumnError
from apframe.formats.stored_sets import scan_table
from apframe.runs.stored_run import StoredRun
from apframe.wording import first_line


class TablesOfRuns(Mapping[str, pl.LazyFrame]):
    """The tables of all runs by name; the files of a table are opened at its first use."""

    def __init__(self, runs: Mapping[str, StoredRun], overview: pl.DataFrame) -> None:
        self._runs, self._opened = runs, {"runs": overview.lazy()}
        self._names = list(dict.fromkeys([*(name for run in runs.values() for name in run.heights if name != "runs"), "runs"]))

    def __getitem__(self, name: str) -> pl.LazyFrame:
        if name not in self._opened:
            if name not in self._names:
                raise KeyError(name)
            self._opened[name] = self._concatenated(name)
        return self._opened[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"tables: {', '.join(self._names)}"

    def _concatenated(self, name: str) -> pl.LazyFrame:
        parts = {
            run.name: scan_table(run.path, name, run.manifest.get("set_id"))
            for run in self._runs.values()
            if name in run.heights
        }
        _refuse_different_kinds(name, {run: table.collect_schema() for run, table in parts.items()})
        named = [
            table.with_columns(cs.enum().cast(pl.String))
            .rename({"run": f"{name}.run"}, strict=False)
            .select(pl.lit(run).alias("run"), pl.all())
            for run, table in parts.items()
        ]
        table = pl.concat(named, how="diagonal_relaxed")
        try:
            table.collect_schema()
        except pl.exceptions.PolarsError as error:
            what = first_line(error)
            raise ColumnError(
                f"the runs have different types in one column ({what})", "read them one by one", table=name
            ) from error
        return table


def _refuse_different_kinds(table: str, schemas: Mapping[str, pl.Schema]) -> None:
    """Raise an error if a column contains lists or structs in one run, and an incompatible type in another."""
    first: dict[str, tuple[str, Any]] = {}
    for run, schema in schemas.items():
        for column, dtype in schema.items():
            other, kind = first.setdefault(column, (run, dtype))
            is_nested = dtype.is_nested() or kind.is_nested()
            if is_nested and dtype.base_type() != kind.base_type() and pl.Null not in (dtype, kind):
                raise ColumnError(
                    f"is {kind} in run {other!r}, {dtype} in run {run!r}", "read them one by one", table=table, column=column
                )

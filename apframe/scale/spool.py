"""The objects of the shards as files: written in one pass, for tables and stored sets that need not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.pipeline import Pipeline
from apframe.exceptions import OutputError
from apframe.rows import KEY_OF
from apframe.scale.layout import INPUT_ROW
from apframe.scale.objects import COPY_OF, OBJECTS, Objects, unique_ids
from apframe.scale.temporary import Temporary
from apframe.wording import reason

if TYPE_CHECKING:
    pass

LINKS = ("pairs", "assignments")


class Spool:
    """The annotations, detections, pairs and assignments of all shards, in Parquet files of a temporary folder.

    The rows of one shard follow those of another; within each, they are in the order in which `Evaluation` has them. Ids are
    those of `Objects.load`.
    """

    def __init__(self, objects: Objects) -> None:
        self._folder = Temporary()
        self._files: dict[str, list[Path]] = {name: [] for name in (*OBJECTS, *LINKS)}
        for number, inputs in enumerate(objects.each("for the tables of annotations and detections")):
            pipeline, tables = Pipeline(inputs), inputs.tables()
            frames = {name: tables[name].drop(INPUT_ROW, strict=False) for name in OBJECTS}
            self._write(number, frames | {"pairs": pipeline.pairs(), "assignments": pipeline.assignments()})
        for name in OBJECTS:
            self._make_unique(name)

    def _make_unique(self, table: str) -> None:
        """Replace ids that repeat, as `Objects.load` does, and what refers to them."""
        key, n_before = KEY_OF[table], 0
        known = self.plan(table).select(pl.col(key, COPY_OF) if COPY_OF in self.plan(table).collect_schema() else key).collect()
        ids = unique_ids(known, table)
        if ids.equals(known[key]):
            return
        for number, path in enumerate(self._files[table]):
            frame = pl.read_parquet(path, glob=False)
            old, new = frame[key], ids.slice(n_before, frame.height)
            n_before += frame.height
            links = {name: pl.read_parquet(self._files[name][number], glob=False) for name in LINKS}
            new_links = {name: link.with_columns(pl.col(key).replace_strict(old, new)) for name, link in links.items()}
            self._write(number, {table: frame.with_columns(new)} | new_links)

    def _write(self, number: int, frames: Mapping[str, pl.DataFrame]) -> None:
        for name, frame in frames.items():
            path = self._folder.path / f"{name}-{number}.parquet"
            try:
                frame.write_parquet(path)
            except (OSError, pl.exceptions.PolarsError) as error:
                self._folder.close()
                problem = f"tables of objects cannot be written ({reason(error)})"
                raise OutputError(problem, "set TMPDIR to a folder with more space", path=self._folder.path.parent) from error
            if number == len(self._files[name]):
                self._files[name].append(path)

    def plan(self, name: str) -> pl.LazyFrame:
        """One of the tables, read when it is collected."""
        return pl.concat([pl.scan_parquet(path, glob=False) for path in self._files[name]], how="diagonal_relaxed")

"""Parquet and Arrow files: the canonical tables without changes, with ids of any kind and nested columns."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import read_json
from apframe.formats.files import reading, write_text
from apframe.formats.format import ANY, OPEN, USUAL, Format, held
from apframe.formats.looks import Look, looks
from apframe.formats.nested_rows import has_objects
from apframe.formats.object_rows import as_detections
from apframe.formats.path_contents import UNREADABLE, PathContents, open_ipc
from apframe.formats.stored_sets import MANIFEST, damage, find_manifest, read_table
from apframe.paths import is_file, is_folder, literal
from apframe.tables.column_sources import from_arrow_stream
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import GROUND_TRUTH
from apframe.tables.table_files import parquet_of
from apframe.wording import first_line, listed, reason

_BATCH = 1 << 19  # rows in a part, if a table is read in parts
_BESIDE = "dataset.json"  # further sections of a data set, as in COCO's JSON


class _Tables(Format):
    """A folder with a file for each table. Results are one file, or the file `detections` of a folder.

    Attributes
    ----------
    endings
        extensions of the files; the first one is written
    """

    endings: ClassVar[tuple[str, ...]]
    kind: ClassVar[str]
    boxes_of_dataset, boxes_of_results = USUAL, OPEN
    image_ids = category_ids = ANY
    holds: ClassVar[dict[str, tuple[str, ...]]] = {table: held(table) for table in (*GROUND_TRUTH, "detections")}
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Return True unless rows are images with lists of objects or annotated sweeps: see `Format.recognizes`."""
        if role == "dataset":
            there = seen.children(*(table + ending for table in GROUND_TRUTH for ending in self.endings))
            return not any(is_of_sweeps(each.columns) for each in there)
        return seen.kind == "folder" or not (has_objects(seen.columns) or is_of_sweeps(seen.columns))

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        return {table: self.read_file(self._file(path, table)) for table in GROUND_TRUTH}

    def read(self, path: Path, *, masks: bool = False, **options: Any) -> Dataset:
        """Read a data set: see `Format.read`. It includes the other sections of COCO's JSON if they were kept."""
        dataset = super().read(path, **options)
        json_columns, other_sections = set[tuple[str, str]](), dict[str, Any]()
        for name in (MANIFEST, _BESIDE):
            if is_file(path / name):
                beside = _beside(path / name)
                json_columns |= {(table, column) for table, column in beside.get("json_columns", ())}
                other_sections |= beside.get("other_sections", {})
        return dataset.with_rest(json_columns, other_sections)

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`. Columns may have the names of `with_canonical_names`."""
        return as_detections(self.read_file(self._file(path, "detections")))

    def results_in_parts(self, path: Path, dataset: Dataset | None) -> Iterator[pl.DataFrame | None]:
        """Read detections part by part: see `Format.results_in_parts`."""
        with self._opened(self._file(path, "detections")) as file:
            for batch in self._batches(file):
                part = from_arrow_stream(batch)
                if as_detections(part) is not part:  # ids depend on the names of all files
                    break
                yield part
            else:
                return
        yield self.read_results(path, dataset)

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        from apframe.tables.label_map_paths import with_own_copies

        path.mkdir(parents=True)
        for table in GROUND_TRUTH:
            self._write(with_own_copies(table, getattr(dataset, table), path), path / (table + self.endings[0]))
        beside = {"json_columns": sorted(dataset.json_columns), "other_sections": dataset.other_sections}
        if any(beside.values()):
            write_text(path / _BESIDE, json.dumps(beside) + "\n")

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        self._write(detections, path)

    @abstractmethod
    def _take(self, file: BinaryIO) -> pl.DataFrame:
        """Read an open file: Polars would interpret its path as a pattern."""

    @abstractmethod
    def _batches(self, file: BinaryIO) -> Iterator[Any]:
        """Read an open file as one or more Arrow tables of some rows each."""

    @abstractmethod
    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        """Write a table to a file."""

    def read_file(self, path: Path) -> pl.DataFrame:
        """Read the table in a file."""
        with self._opened(path) as file:
            return self._take(file)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[BinaryIO]:
        """Open a file; raise an error if it is empty, or if reading it in the context fails."""
        with reading(path) as file:
            if not file.read(1):
                raise FormatError("the file is empty", path=path)
            file.seek(0)
            try:
                yield file
            except UNREADABLE as error:
                raise FormatError(f"cannot be read as {self.kind} ({reason(error)})", path=path) from error

    def _file(self, folder: Path, table: str) -> Path:
        """Return the file of a table in a folder, or the file itself; raise an error if there is none, or several."""
        if not is_folder(folder):
            return folder
        names = [table + ending for ending in self.endings if is_file(folder / (table + ending))]
        if len(names) > 1:
            raise FormatError(f"{' and '.join(names)} both exist", "keep one of them", path=folder)
        if not names:
            there = sorted(path.name for path in folder.iterdir())
            raise FormatError(f"no {table}{self.endings[0]}", f"found: {listed(there) if there else 'nothing'}", path=folder)
        return folder / names[0]


def _looks_of(endings: tuple[str, ...]) -> tuple[tuple[Look, ...], tuple[Look, ...]]:
    """Return the looks of data sets and results in files with these extensions."""
    truth = tuple(table + ending for table in GROUND_TRUTH for ending in endings)
    detections = tuple(f"detections{ending}" for ending in endings)
    return looks(Look("folder", names=truth)), looks(Look("file", endings=endings), Look("folder", names=detections))


class Parquet(_Tables):
    """Parquet files; also the folder of `Evaluation.write_parquet`, which is both a data set and results."""

    name = "parquet"
    title = kind = "Parquet"
    dataset_is = "a folder with images.parquet, categories.parquet and annotations.parquet"
    results_are = "a Parquet file, or a folder with detections.parquet"
    endings = (".parquet",)
    dataset_looks, results_looks = _looks_of(endings)

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`. An evaluation written by apframe works too."""
        manifest = find_manifest(path)
        if manifest is None:
            return super().read_tables(path, **options)
        return {table: read_table(path, table, manifest.get("set_id")) for table in GROUND_TRUTH}

    def _take(self, file: BinaryIO) -> pl.DataFrame:
        return parquet_of(file)

    def _batches(self, file: BinaryIO) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq  # reads batches of a large row group, which Polars reads at once

        parquet = pq.ParquetFile(file)
        for batch in parquet.iter_batches(_BATCH):
            batch.validate(full=True)  # damaged text makes Polars panic
            yield pa.Table.from_batches([batch])
        if not parquet.metadata.num_rows:
            yield parquet.schema_arrow.empty_table()

    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        frame.write_parquet(literal(path), compression="zstd")


class Arrow(_Tables):
    """Arrow IPC, also called Feather: files and streams are read, files are written."""

    name = "arrow"
    title = kind = "Arrow IPC"
    dataset_is = "a folder with images.arrow, categories.arrow and annotations.arrow"
    results_are = "an Arrow IPC file, or a folder with detections.arrow"
    endings = (".arrow", ".feather", ".ipc")
    dataset_looks, results_looks = _looks_of(endings)

    def _take(self, file: BinaryIO) -> pl.DataFrame:
        return from_arrow_stream(read_ipc(file))

    def _batches(self, file: BinaryIO) -> Iterator[Any]:
        import pyarrow as pa

        opened = open_ipc(file)
        is_stream = isinstance(opened, pa.RecordBatchReader)
        yield opened.schema.empty_table()
        for batch in opened if is_stream else map(opened.get_batch, range(opened.num_record_batches)):
            batch.validate(full=True)
            for start in range(0, len(batch), _BATCH):
                yield pa.Table.from_batches([batch.slice(start, _BATCH)])

    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        frame.write_ipc(literal(path), compression="zstd")


def read_ipc(file: BinaryIO) -> Any:
    """Read the Arrow table in an open file or stream of Arrow IPC; raise a `ComputeError` if it is damaged."""
    import pyarrow as pa

    try:
        table = open_ipc(BytesIO(file.read())).read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise pl.exceptions.ComputeError(first_line(error)) from error
    return table


def is_of_sweeps(columns: Collection[str]) -> bool:
    """Return True if the columns are those of annotated sweeps.

    >>> is_of_sweeps(["timestamp_ns", "category", "tx_m"]), is_of_sweeps(["image_id", "cuboid_x"])
    (True, False)
    """
    return {"timestamp_ns", "category", "tx_m"} <= set(columns)


def _beside(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        return {}
    if problem := damage(content):
        raise FormatError(problem, "correct or remove the file", path=path)
    return content

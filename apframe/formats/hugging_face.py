"""Rows of images with lists of objects in Parquet, Arrow or JSON lines, the format of Hugging Face's `datasets`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import polars as pl

from apframe.exceptions import FormatError, ParameterError
from apframe.formats.arrow_files import Arrow, read_ipc
from apframe.formats.columns_of_parts import Columns
from apframe.formats.files import is_packed, read_unpacked, reading
from apframe.formats.format import ANY, INDEX, OPEN, Format, held
from apframe.formats.looks import Look, looks
from apframe.formats.nested_rows import (
    RESERVED,
    find_objects,
    find_results,
    frame_of_rows,
    has_ids,
    has_objects,
    metadata_of,
    results_of_rows,
    rows_of_images,
    tables_of_rows,
    with_numbers,
)
from apframe.formats.path_contents import UNREADABLE, PathContents, see
from apframe.paths import is_folder
from apframe.tables.dataset import Dataset
from apframe.tables.names import labels_of
from apframe.tables.table_files import not_deep
from apframe.wording import did_you_mean, first_line, option_name, reason

_PARQUET, _ARROW, _LINES = ".parquet", ".arrow", ".jsonl"
_BATCH = 1 << 12  # images in a part, if results are read in parts
PIECE = 1 << 24
"""Bytes of lines in a part."""
_SPLITS = ("validation", "val", "valid", "dev", "test", "train")  # the first existing one is read


class HuggingFace(Format):
    """Rows of images, each with its objects in lists, as in data sets of Hugging Face and as `datasets` writes them.

    The objects are a struct of lists, `objects: {bbox, category, ...}`, a list of structs, or several columns of lists. A box
    is [x, y, width, height] in pixels, unless `box_format` and `relative` say otherwise. `category` (or `category_id`, `label`,
    ...) is text, or a number from 0 whose names are in the metadata (`ClassLabel`). Further fields of objects are attributes;
    `id` is its id if all ids differ. An image has `image_id` (or `id`), or else the number of its row, from 0; `width`,
    `height`, `file_name` (or the path of `image`) and attributes. Pixels are not read.

    Files are Parquet, Arrow (`save_to_disk`) or JSON lines (`metadata.jsonl`). In a folder, or its subfolder `data`, a split is
    the files whose names begin with it: by default the first existing of validation, val, valid, dev, test and train.

    One Parquet file is written, which `datasets` loads with the names of the classes.

    Source: the documentation of Hugging Face's datasets, "Create an image dataset", "Object detection", and its Parquet files.
    """

    name = "hugging_face"
    title = "Hugging Face rows"
    dataset_is = "a Parquet, Arrow or JSON lines file with a row for each image and its objects in lists, or a folder of these"
    results_are = "the same with scores"
    dataset_looks = results_looks = looks(
        Look("file", endings=(_PARQUET, _ARROW, _LINES)),
        Look("folder", names=(f"*{_PARQUET}", f"*{_ARROW}", f"*{_LINES}", "data/", *(f"{split}/" for split in _SPLITS))),
    )
    options = ("split",)
    boxes_of_dataset = boxes_of_results = OPEN
    image_ids, category_ids = ANY, INDEX
    holds: ClassVar[dict[str, tuple[str, ...]]] = {
        **{table: held(table, "angle") for table in ("images", "annotations", "detections")},  # boxes are upright
        "categories": ("name",),
    }
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require columns with lists of boxes, and scores only in results."""
        first = seen if seen.kind == "file" else next((files[0] for files in _splits(seen).values()), None)
        if first is None or first.path.suffix not in (_PARQUET, _ARROW, _LINES):
            return False
        return find_objects(first.columns, scored=role == "results") is not None

    def read_tables(self, path: Path, *, split: str | None = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`. An unknown split is a `ParameterError`."""
        return tables_of_rows(*_read(path, split))

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return results_of_rows(*_read(path, None))

    def results_in_parts(self, path: Path, dataset: Dataset | None) -> Iterator[pl.DataFrame | None]:
        """Read detections part by part: see `Format.results_in_parts`.

        Files are read as a whole if objects have ids (only used if all differ), or if parts differ in columns or types.
        """
        number, columns, first = 0, Columns(), None
        for rows, features in _read_in_parts(path):
            layout = (find_results(rows.schema), rows.columns if is_folder(path) else [])
            first = first or (layout, features)
            part = None
            if layout == first[0] and layout[0] is not None and not has_ids(rows.schema, layout[0]):
                part = results_of_rows(with_numbers(rows, number), first[1])
            if part is None or not columns.agree(part):
                yield None
                yield self.read_results(path, dataset)
                return
            number += rows.height
            yield part

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        _write(path, dataset.images, "annotations", dataset.annotations, dataset)

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`. Without a data set, images without detections are left out."""
        images = detections.select(pl.col("image_id").unique(maintain_order=True)) if dataset is None else dataset.images
        _write(path, images, "detections", detections, dataset)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        what = "left out: this name means something else in these files"
        clashes = [name for name in RESERVED.get(table, ()) if name in frame.columns]
        return [(name, frame[name].is_not_null(), what) for name in clashes]


def _splits(seen: PathContents) -> dict[str, list[PathContents]]:
    """Return the files of each split, in the order of `_SPLITS`; files without splits are under ""."""
    for place in filter(None, (seen, seen.child("data"))):
        for ending in (_PARQUET, _ARROW, _LINES):
            files = [*place.children(f"*{ending}")]
            splits = {name: [file for file in files if file.path.name.startswith((f"{name}-", f"{name}."))] for name in _SPLITS}
            inside = {name: place.child(name) for name in _SPLITS}
            splits = {name: own or _files_in(inside[name], ending) for name, own in splits.items()}
            splits = {name: own for name, own in splits.items() if own}
            if splits or files:
                return splits or {"": files}
    return {}


def _files_in(folder: PathContents | None, ending: str) -> list[PathContents]:
    return [] if folder is None else [*folder.children(f"*{ending}")]


def _read(path: Path, split: str | None) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows of all files of a split, and their features."""
    parts = [read_rows(file) for file in _files(path, split)]
    try:
        rows = pl.concat([frame for frame, _ in parts], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        raise FormatError(f"the files have different columns ({first_line(error)})", path=path) from error
    if not has_objects(rows.schema):
        remedy = "objects must be a struct of lists, a list of structs, or lists, with a field bbox"
        raise FormatError(f"no column with boxes; there are {', '.join(rows.columns)}", remedy, path=path)
    return rows, parts[0][1]


def _files(path: Path, split: str | None) -> list[Path]:
    """Return the files of a split."""
    if not is_folder(path):
        return [path]
    splits = _splits(see(path))
    split = next(iter(splits), "") if split is None else split
    if split not in splits:
        there = [each for each in splits if each]
        remedy = did_you_mean(split, there) if there else f"leave {option_name('split', '')} out: its files have no splits"
        raise ParameterError(f"no split {split!r}", remedy, path=path)
    return [file.path for file in splits[split]]


def _read_in_parts(path: Path) -> Iterator[tuple[pl.DataFrame, dict[str, Any]]]:
    """Yield the rows of all files in parts, and their features. Only JSON lines and Parquet are split into parts."""
    for file in _files(path, None):
        with _naming(file):
            yield from _parts_of_file(file)


def _parts_of_file(path: Path) -> Iterator[tuple[pl.DataFrame, dict[str, Any]]]:
    with reading(path) as file:
        if path.suffix == _PARQUET:
            import pyarrow as pa

            parquet, columns = _without_pixels(file)
            for batch in parquet.iter_batches(_BATCH, columns=columns):
                yield frame_of_rows("images", pa.Table.from_batches([batch]))
            if parquet.metadata.num_rows:
                return
        elif path.suffix == _LINES and not is_packed(path):
            rest = b""
            while block := file.read(PIECE):
                end = block.rfind(b"\n") + 1
                if end:
                    yield from _parts_of_text(rest + block[:end])
                rest = block[end:] if end else rest + block
            yield from _parts_of_text(rest)
            if file.tell():
                return
    yield read_rows(path)


def _parts_of_text(lines: bytes) -> Iterator[tuple[pl.DataFrame, dict[str, Any]]]:
    if lines.strip():
        yield pl.read_ndjson(BytesIO(not_deep(lines)), infer_schema_length=None), {}


def _without_pixels(file: BinaryIO) -> tuple[Any, list[str]]:
    """Return a Parquet file, and its columns without pixels of images; the paths of images are included."""
    import pyarrow.parquet as pq  # the only reader that skips the pixels of images but reads their paths

    parquet = pq.ParquetFile(file)
    leaves = [parquet.schema.column(place) for place in range(len(parquet.schema))]
    is_bytes = [leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type == "NONE" for leaf in leaves]
    return parquet, [leaf.path for leaf, left_out in zip(leaves, is_bytes, strict=True) if not left_out]


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in errors of readers in this context."""
    try:
        yield
    except FormatError:
        raise
    except UNREADABLE as error:
        raise FormatError(f"cannot be read as {path.suffix[1:] or 'Parquet'} ({reason(error)})", path=path) from error


def read_rows(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read the rows of a Parquet, Arrow or JSON lines file, without pixels, and its features.

    Raises
    ------
    FormatError
        the file is empty, or cannot be read
    """
    with _naming(path):
        if path.suffix.lower() == _LINES:
            content = read_unpacked(path)
            if not content.strip():
                raise FormatError("the file is empty", path=path)
            return pl.read_ndjson(BytesIO(not_deep(content)), infer_schema_length=None), {}
        with reading(path) as file:
            if path.suffix.lower() in Arrow.endings:
                return frame_of_rows("images", read_ipc(file))
            parquet, columns = _without_pixels(file)
            return frame_of_rows("images", parquet.read(columns))


def _write(path: Path, images: pl.DataFrame, table: str, objects: pl.DataFrame, dataset: Dataset | None) -> None:
    rows = rows_of_images(images, table, objects)
    if without_name := [name for name in (*images.columns, *objects.columns) if "\0" in name]:
        raise FormatError(f"Arrow has no names with a NUL character, as in {without_name[0]!r}", "rename the column", path=path)
    metadata = {}
    if dataset is not None:
        metadata = metadata_of(rows, labels_of("categories", dataset.categories).to_list())
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = rows.to_arrow()
    # `datasets` only accepts the names of classes if types are its own, with offsets of 32 bits
    schema = pa.schema([(field.name, _with_short_offsets(field.type)) for field in arrow.schema])
    with Path(path).open("xb") as file:
        pq.write_table(arrow.cast(schema).replace_schema_metadata(metadata), file, compression="zstd")


def _with_short_offsets(dtype: Any) -> Any:
    """Return the Arrow type with texts and lists whose offsets have 32 bits."""
    import pyarrow as pa

    if pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype):
        return pa.string()
    if pa.types.is_large_list(dtype) or pa.types.is_list(dtype):
        return pa.list_(_with_short_offsets(dtype.value_type))
    if pa.types.is_struct(dtype):
        return pa.struct([(field.name, _with_short_offsets(field.type)) for field in dtype])
    return dtype

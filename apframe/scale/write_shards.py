"""`write_shards`: cut ground truth and detections of any format into shards of whole images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe.formats.reading import Reading
from apframe.formats.reading_options import ReadingOptions
from apframe.formats.writing import refuse_existing, write_new
from apframe.keywords import names_keywords
from apframe.option_values import one_of, whole_number
from apframe.paths import literal
from apframe.rows import MALFORMED_KEPT, treating_malformed
from apframe.scale.ingest import ShardAssignment, numbered, take_detections
from apframe.scale.layout import CATEGORIES, INPUT_ROW, LAYOUT, shard_name, write_layout
from apframe.scale.shard_inputs import detections_in_parts, read_truths
from apframe.scale.sharded_rows import ShardedRows, rows_of_shards
from apframe.tables.dataset import Dataset
from apframe.tables.label_map_paths import with_own_copies
from apframe.threads import map_parts

if TYPE_CHECKING:
    from apframe.formats.input_types import DetectionsLike, TruthLike

_WAITING = ".parts"  # the folder in which detections wait


@names_keywords
def write_shards(
    truth: TruthLike | Sequence[str | Path],
    detections: DetectionsLike,
    folder: str | Path,
    n: int = 64,
    *,
    unknown_images: str = "error",
    image_attributes: Any = None,
    **reading: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """Cut a data set and its detections into shards of whole images, for `evaluate_shards`.

    The images are divided by their sorted ids into `n` groups of about the same size. Each shard is a folder with
    `images.parquet`, `annotations.parquet` and `detections.parquet`; next to the folders are `categories.parquet` and
    `shards.json`, which is written last. Annotations and detections get a column `input_row`, their number in the whole input,
    from 0.

    Memory holds the ground truth, a few parts of the detections, and at the end the detections of as many shards as there are
    threads. These formats of detections are read in parts, so that they may be much larger than memory: COCO's results (a
    JSON list, or JSON lines), Parquet, Arrow, and Hugging Face's rows as Parquet or JSON lines. They are read at once if values
    of an attribute have different kinds, such as text and numbers. Detections in other formats are always read at once.

    Boxes with a negative side, and other malformed shapes, are written unchanged: `evaluate_shards` rejects them, or with its
    option `invalid` drops or keeps them.

    While it writes, it needs about twice the disk space of the shards.

    Parameters
    ----------
    truth
        as for `evaluate`; also a list of files, or a pattern such as "gt/*.json". Then each image is in one file, and
        categories have the same ids in all of them; repeated ids of annotations are replaced by numbers from 1.
    detections
        as for `evaluate`; also a list or a pattern of files, in any order and divided in any way. Ids of detections that repeat
        in other files are replaced by numbers from 1.
    folder
        the folder to write; it must not exist yet, or be empty. It appears completely or not at all.
    n
        the number of shards, at most the number of images.
    unknown_images, image_attributes
        as for `evaluate`.

    Returns
    -------
    One row for each shard: `shard` (the name of its folder), `n_images`, `n_annotations`, `n_detections`.

    Raises
    ------
    InputError
        bad data; the message has the rows.
    ParameterError
        bad options.
    OutputError
        the folder is not empty, or cannot be written.

    Warns
    -----
    MostlyUnknownImagesWarning
        all detections were dropped, because their images are unknown.

    >>> import tempfile
    >>> truth = {"images": [{"id": 7}, {"id": 8}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}
    >>> detections = [{"image_id": 8, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_shards(truth, detections, f"{folder}/shards", n=2).rows()
    [('00000', 1, 0, 0), ('00001', 1, 0, 1)]
    """
    n = whole_number("n", n)
    drops = one_of("unknown_images", unknown_images, ("error", "drop")) == "drop"
    how = Reading.of_options(reading).of_files(truth, detections)
    target = Path(folder)
    refuse_existing(target, "folder")
    layouts: list[pl.DataFrame] = []
    with treating_malformed(MALFORMED_KEPT):
        dataset = read_truths(truth, how)
        if image_attributes is not None:
            dataset = dataset.with_images(image_attributes)
        cut = _cut(dataset, n.__index__())

        def write(part: Path) -> None:
            layouts.append(_write(part, cut, detections_in_parts(detections, how, dataset), drops_unknown=drops))

        write_new(target, "folder", write)
    return layouts[0]


def _cut(dataset: Dataset, n: int) -> ShardAssignment:
    """Cut the images, in the order of their ids, into at most `n` groups."""
    ids = dataset.core("images")["image_id"].sort()
    n_shards = max(1, min(n, len(ids)))
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    shards = ids.to_frame().with_columns(shard=(place * n_shards // max(len(ids), 1)).cast(pl.UInt32))
    return ShardAssignment(dataset, shards, n_shards)


def _write(folder: Path, cut: ShardAssignment, parts: Iterator[tuple[int, Any]], *, drops_unknown: bool) -> pl.DataFrame:
    """Write all shards in a new folder."""
    folder.mkdir()
    waiting = folder / _WAITING
    waiting.mkdir()
    shard_rows = ShardedRows("detections", waiting, cut.n_shards)
    replaces_ids = take_detections(shard_rows, cut, parts, drops_unknown=drops_unknown)
    names = [shard_name(number) for number in range(cut.n_shards)]
    for name in names:
        (folder / name).mkdir()
    dataset = cut.dataset
    _write_table(folder / CATEGORIES, dataset.categories.sort("category_id"))
    annotations = dataset.annotations.with_columns(numbered(0, dataset.annotations.height))
    n_images = _write_rows(folder, names, "images", dataset.images.sort("image_id"), cut)
    n_annotations = _write_rows(folder, names, "annotations", annotations, cut)
    schema = shard_rows.schema

    def write_detections(number: int) -> None:
        rows = shard_rows.of_shard(number, schema)
        if replaces_ids:
            rows = rows.with_columns(pl.col(INPUT_ROW).cast(pl.Int64).alias("detection_id") + 1)
        _write_table(folder / names[number] / "detections.parquet", rows)

    map_parts(write_detections, range(cut.n_shards))
    n_detections = shard_rows.counts
    shard_rows.keep(0)
    waiting.rmdir()
    layout = pl.DataFrame([names, n_images, n_annotations, n_detections], LAYOUT, orient="col")
    write_layout(layout, folder)
    return layout


def _write_rows(folder: Path, names: list[str], table: str, rows: pl.DataFrame, cut: ShardAssignment) -> list[int]:
    """Write the rows of a table in memory into the folders of their shards, and return the numbers of rows."""
    parts = list(rows_of_shards(rows, cut.of(rows), cut.n_shards))
    for name, part in zip(names, parts, strict=True):
        _write_table(folder / name / f"{table}.parquet", part)
    return [part.height for part in parts]


def _write_table(path: Path, rows: pl.DataFrame) -> None:
    rows = with_own_copies(path.stem, rows, path.parent)
    rows.write_parquet(literal(path), compression="lz4")

"""Ground truth and detections in one or several files, read before they are cut into shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import DuplicateIdError, FormatError, RowError
from apframe.folders import matching
from apframe.formats.reading import Reading
from apframe.paths import is_pattern
from apframe.rows import KEY_OF
from apframe.scale.sharded_rows import common_schema
from apframe.tables.dataset import Dataset
from apframe.tables.ids import different_id_types, is_known
from apframe.tables.schemas import GROUND_TRUTH
from apframe.wording import listed


def sources_of(source: Any) -> list[Any]:
    """Return the files of a pattern (sorted by name) or of a list of paths (in its order), or else the single source.

    Raises
    ------
    FormatError
        no file matches a pattern

    >>> sources_of(["a.json", "b.json"]), sources_of([{"image_id": 1}])
    (['a.json', 'b.json'], [[{'image_id': 1}]])
    """
    if isinstance(source, (list, tuple)) and source and all(isinstance(each, (str, Path)) for each in source):
        return [path for each in source for path in sources_of(each)]
    if not (isinstance(source, (str, Path)) and is_pattern(source)):
        return [source]
    paths = matching(source)
    if not paths:
        raise FormatError("no file or folder matches this pattern", path=source)
    return list(paths)


def read_truths(truth: Any, reading: Reading) -> Dataset:
    """Read the ground truth of one or several files as one data set, with all attributes and masks.

    Of several files, each may contain a category, but only one an image. Ids of annotations that are not unique are replaced by
    numbers from 1, in the order of the files.

    Raises
    ------
    DuplicateIdError
        an image is in two files
    RowError
        a category has different names
    IdTypeError
        ids are numbers in one file and text in another
    """
    sources, reading = sources_of(truth), replace(reading, masks=True)
    if len(sources) == 1:
        return reading.dataset(sources[0])
    first = replace(reading, images=None, category_map=None, unmapped="keep")
    return reading.selected(_combined([first.dataset(source) for source in sources]))


def _combined(datasets: Sequence[Dataset]) -> Dataset:
    """Combine data sets of different images."""
    tables = {table: _concatenated(table, [getattr(each, table) for each in datasets]) for table in GROUND_TRUTH}
    images, categories, annotations = tables.values()
    repeated = images["image_id"].filter(images["image_id"].is_duplicated()).unique(maintain_order=True)
    if len(repeated):
        remedy = "an image may be in one file only; merge data sets that number their images alike with apframe.merge"
        raise DuplicateIdError("images", "image_id is not unique across the files", "image_id", repeated, remedy)
    categories = categories.unique("category_id", keep="first", maintain_order=True)
    names = tables["categories"].select("category_id", "name").unique(maintain_order=True)
    differ = names["category_id"].filter(names["category_id"].is_duplicated()).unique(maintain_order=True)
    if len(differ):
        names_in_conflict = listed(names["name"].filter(names["category_id"] == differ[0]).to_list())
        problem = f"a category has different names in different files ({names_in_conflict})"
        remedy = "give categories the same ids in all files, or merge the data sets with apframe.merge"
        raise RowError("categories", problem, "category_id", differ.to_list(), remedy)
    if annotations["annotation_id"].is_duplicated().any():
        annotations = annotations.with_columns(annotation_id=pl.int_range(1, pl.len() + 1))
    left_out = [each.left_out for each in datasets if each.left_out is not None]
    dataset = Dataset(pl.concat([images, *left_out], how="diagonal_relaxed"), categories, annotations, box_format="xywh")
    return dataset.of_images(is_known(dataset.images["image_id"], images["image_id"])) if left_out else dataset


def _concatenated(table: str, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Stack the rows of all files, whose ids are all numbers or all text."""
    frames = [frame for frame in frames if frame.height] or list(frames[:1])
    for name in ("image_id", "category_id"):
        types = [frame[name].dtype for frame in frames if name in frame.columns]
        other = next((dtype for dtype in types if dtype != types[0]), None)
        if other is not None:
            raise different_id_types(table, name, other, f"{table} of another file", types[0])
    if len({frame[KEY_OF[table]].dtype for frame in frames}) > 1:  # of annotations, which nothing refers to
        frames = [frame.with_columns(pl.col(KEY_OF[table]).cast(pl.String)) for frame in frames]
    schema = common_schema(table, [frame.schema for frame in frames])
    return pl.concat([schema.to_frame(), *frames], how="diagonal_relaxed")


def detections_in_parts(detections: Any, reading: Reading, dataset: Dataset) -> Iterator[tuple[int, Any]]:
    """Yield the number of a file, from 0, and an unchecked part of its detections; None discards all parts of this file."""
    for number, source in enumerate(sources_of(detections)):
        for part in reading.results_in_parts(source, dataset):
            yield number, part

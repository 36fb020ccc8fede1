"""Objects in one CSV file, with a line for each object, and common names of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from apframe.columns import exact
from apframe.exceptions import FormatError
from apframe.formats.documents import read_csv
from apframe.formats.files import write_text
from apframe.formats.format import ANY, OPEN, Format
from apframe.formats.looks import TEXT, Look, looks
from apframe.formats.object_rows import (
    is_of_objects,
    numbers_among,
    tables_of_objects,
    with_canonical_names,
    with_objects_alone,
)
from apframe.formats.path_contents import PathContents, see
from apframe.formats.text_lines import Lines
from apframe.rows import REFUSED
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import KEYS, SIZE
from apframe.tables.shapes.boxes import BOX

_OF_IMAGES = ("image_id", "file_name", *SIZE)
_OF_ANNOTATIONS = ("annotation_id", *BOX, "area", "is_crowd", "ignore")


class Csv(Format):
    """A CSV file with a line for each object: an image, a class, a box, and in results a score.

    Columns may have the usual names, see `apframe.formats.object_rows.with_canonical_names`; others become attributes.
    Fields are separated by commas, semicolons or tabs. Ids are numbers if all are whole numbers in their usual form (not 007).
    An image without objects is a line with only its id or file. Images without a line are unknown: to include them, use a
    format that lists images, such as COCO's JSON, or the three tables of a `Dataset`.

    Files are written with ids, files and sizes of images, names of categories, and boxes, and with images without objects.
    """

    name = "csv"
    title = "CSV"
    dataset_is = "a CSV file with a line for each object: image_id or file_name, category or class, and a box"
    results_are = "the same with a score"
    dataset_looks = results_looks = looks(Look("file", begins=TEXT))
    boxes_of_dataset = boxes_of_results = OPEN
    image_ids = category_ids = ANY
    holds: ClassVar[dict[str, tuple[str, ...]]] = {
        "images": ("file_name", *SIZE),
        "categories": ("name",),
        "annotations": _OF_ANNOTATIONS,
        "detections": ("score", *BOX),
    }

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require names for an image, a class and a box in the first line, and a score only in results."""
        return is_of_objects([*seen.columns], scored=role == "results")

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        return tables_of_objects(_read(path, "annotations"))

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return with_objects_alone(with_canonical_names("detections", _read(path, "detections")))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        columns = [name for name in _OF_ANNOTATIONS if name in dataset.annotations.columns]
        annotations = dataset.annotations.select("image_id", "category_id", *columns)
        names = dataset.categories.select("category_id", "name")
        rows = dataset.images.select(_OF_IMAGES).join(annotations, on="image_id", how="left", maintain_order="left_right")
        rows = rows.join(names, on="category_id", how="left", maintain_order="left")
        write_text(path, rows.select(*_OF_IMAGES, "category_id", "name", *columns).write_csv())

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        write_text(path, detections.select("image_id", "category_id", "score", *BOX).write_csv())

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        keys = [key for key in KEYS.values() if key in frame.columns and table != "annotations"]
        texts = [frame[key] for key in keys if frame[key].dtype == pl.String]
        return [(ids.name, ids.is_not_null(), "becomes a number") for ids in texts if _typed(ids).dtype != pl.String]


def _read(path: Path, table: str) -> pl.DataFrame:
    scored = table == "detections"
    texts = read_csv(path, separator=see(path).separator)
    texts = texts.rename(lambda name: name.strip())
    if not is_of_objects(texts.columns):
        remedy = f"each line needs image_id or file_name, category or class, a box{', and a score' if scored else ''}"
        raise FormatError(f"the columns are {', '.join(texts.columns)}", remedy, path=path)
    lines = Lines(table, [path], texts.select(file=pl.repeat(0, pl.len()), line=pl.int_range(2, pl.len() + 2)))
    for values in lines.numbers(texts.select(exact(name).str.strip_chars() for name in numbers_among(texts.columns))):
        texts = texts.with_columns(pl.when(values.is_not_null()).then(exact(values.name)).alias(values.name))
    return typed(lines.marked(texts))


def typed(texts: pl.DataFrame) -> pl.DataFrame:
    """Convert columns of text to the types that their values look like, see `Csv`; drop empty lines.

    >>> typed(pl.DataFrame({"image_id": ["007", None], "score": [".5", None]})).rows()
    [('007', 0.5)]
    """
    columns = [values if values.name == REFUSED else _typed(values) for values in texts]
    return pl.DataFrame(columns).filter(~pl.all_horizontal(pl.exclude(REFUSED).is_null()))


def _typed(texts: pl.Series) -> pl.Series:
    """Return whole numbers if all values are, in their usual form; else numbers, else flags, else the texts."""
    bare = texts.str.strip_chars()
    whole = bare.cast(pl.Int64, strict=False)
    if (whole.cast(pl.String) == bare).fill_null(True).all() and whole.null_count() == texts.null_count():
        return whole
    numbers = bare.cast(pl.Float64, strict=False)
    if numbers.null_count() == texts.null_count() and not bare.str.contains(r"^-?0\d").any():
        return numbers
    is_true = bare.str.to_lowercase() == "true"
    return is_true if bare.str.to_lowercase().is_in(["true", "false"]).fill_null(True).all() else texts

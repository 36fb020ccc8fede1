"""The format of the benchmark: a file of lines that begins with a word of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from apframe.formats.files import read_text
from apframe.formats.format import ReadOnly
from apframe.formats.looks import Look, looks
from apframe.tables.dataset import Dataset

_DATASET, _RESULTS = "lamps", "found lamps"


class Lamps(ReadOnly):
    """Lines of image, x, y, width, height and whether it is lit, or a score, below a line that says which."""

    name: ClassVar[str] = "toy_lamps"
    title: ClassVar[str] = "Lamps"
    dataset_is: ClassVar[str] = "a file that begins with the line: lamps"
    results_are: ClassVar[str] = "a file that begins with the line: found lamps"
    dataset_looks = looks(Look("file", line=_DATASET))
    results_looks = looks(Look("file", line=_RESULTS))

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """See `Format.read_tables`."""
        del options
        frame = _rows(path).rename({"last": "lit"}).with_columns(pl.col("lit") == 1, category_id=pl.lit("lamp"))
        return {
            "images": frame.select(pl.col("image_id").unique(maintain_order=True)),
            "categories": pl.DataFrame({"category_id": ["lamp"], "name": ["lamp"]}),
            "annotations": frame,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """See `Format.read_results`."""
        del dataset
        return _rows(path).rename({"last": "score"}).with_columns(category_id=pl.lit("lamp"))


def _rows(path: Path) -> pl.DataFrame:
    lines = [line.split() for line in read_text(path).splitlines()[1:]]
    numbers = {
        name: [float(line[place]) for line in lines] for place, name in enumerate(("x", "y", "width", "height", "last"), 1)
    }
    return pl.DataFrame({"image_id": [line[0] for line in lines], **numbers})

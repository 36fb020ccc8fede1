"""Results that lack some images, at which the programs of some benchmarks stop."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from apframe.exceptions import MissingResultsWarning, warn
from apframe.tables.dataset import Dataset
from apframe.wording import counted, listed


def warn_of_missing(path: Path, dataset: Dataset | None, named: pl.Series, part: str, program: str) -> None:
    """Warn of images of a data set that are missing from the results, unless all are missing.

    Parameters
    ----------
    path
        the results
    dataset, named
        the data set (None if unknown), and the ids of the images in the results
    part
        the part of the results that belongs to one image: "file" or "line"
    program
        a sentence about the reaction of the benchmark's own program

    Warns
    -----
    MissingResultsWarning
        lists the missing images, which are evaluated as images without detections
    """
    images = named.clear() if dataset is None else dataset.core("images")["image_id"]
    missing = images.filter(~images.is_in(named.implode())) if images.dtype == pl.String else images.clear()
    if 0 < len(missing) < len(images):
        lacking = f"{counted(len(missing), 'image')} without a {part} ({listed(missing.to_list())})"
        warn(f"{path}: {lacking}, evaluated as images without detections. {program}", MissingResultsWarning)

"""Results that do not name every image, at which the programs of some benchmarks stop."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from apframe.exceptions import MissingResultsWarning, warn
from apframe.tables.dataset import Dataset
from apframe.wording import counted, listed


def warn_of_missing(path: Path, dataset: Dataset | None, named: pl.Series, part: str, program: str) -> None:
    """Warn of images of a data set that results do not name, unless they name none of them.

    Parameters
    ----------
    path
        the results
    dataset, named
        the data set, None if it is not known, and the ids of the images that the results name
    part
        what each image has in the results: "file" or "line"
    program
        a sentence on what the program of the benchmark does then

    Warns
    -----
    MissingResultsWarning
        it lists these images; they are evaluated as without detections
    """
    images = named.clear() if dataset is None else dataset.core("images")["image_id"]
    missing = images.filter(~images.is_in(named.implode())) if images.dtype == pl.String else images.clear()
    if 0 < len(missing) < len(images):
        lacking = f"{counted(len(missing), 'image')} without a {part} ({listed(missing.to_list())})"
        warn(f"{path}: {lacking}, evaluated as without detections. {program}", MissingResultsWarning)

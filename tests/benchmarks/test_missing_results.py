"""The warning of images that results do not name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from apframe.benchmarks.missing_results import warn_of_missing
from apframe.exceptions import MissingResultsWarning
from apframe.tables.dataset import Dataset


def warn_of(images: list[object], named: list[str]) -> None:
    dataset = Dataset({"image_id": images}, {"category_id": [1]}, {})
    warn_of_missing(Path("found"), dataset, pl.Series(named, dtype=pl.String), "line", "The kit stops here")


def test_some_are_missing() -> None:
    message = r"^found: 2 images without a line \('b', 'c'\), evaluated as images without detections\. The kit stops here$"
    with pytest.warns(MissingResultsWarning, match=message):
        warn_of(["a", "b", "c"], ["a", "d"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("images", "named"), [(["a", "b"], ["a", "b"]), (["a", "b"], ["c"]), ([1, 2], ["1"])])
def test_none_or_all_are_missing(images: list[object], named: list[str]) -> None:
    """Or names cannot say it, as ids are numbers."""
    warn_of(images, named)

"""The sample sets: each is what its generator makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from polars.testing import assert_frame_equal

import apframe as apf

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aerial", "driving", "medical", "people", "relations", "segments", "video"])
def test_sample_is_what_the_generator_makes(name: str, tmp_path: Path) -> None:
    sample, copy = DATA / name, tmp_path / "made"
    subprocess.run([sys.executable, str(DATA / f"generate_{name}.py"), "--out", str(copy)], check=True, capture_output=True)
    files = {path.relative_to(sample) for path in sample.rglob("*") if path.is_file()}
    assert files == {path.relative_to(copy) for path in copy.rglob("*") if path.is_file()}
    for file in files:
        assert_same(copy / file, sample / file)


def assert_same(made: Path, sample: Path) -> None:
    if sample.suffix == ".parquet":
        assert_frame_equal(pl.read_parquet(made), pl.read_parquet(sample))
    elif sample.suffix == ".png":  # which another version of Pillow may pack in another way
        assert np.array_equal(*(np.asarray(Image.open(path)) for path in (made, sample)))
    elif sample.suffix == ".mat":  # which says when it was written
        assert_frame_equal(*(apf.read_dataset(path.parent).annotations for path in (made, sample)))
    else:
        assert made.read_bytes() == sample.read_bytes(), sample

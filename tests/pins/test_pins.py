"""What must not change without being noticed is as it was written down; see `surface` and `numbers`."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.pins.numbers import arrays, frames
from tests.pins.surface import HERE, TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    assert list(TEXTS[name]()) == (HERE / f"{name}.txt").read_text().splitlines()


def test_tables() -> None:
    computed = dict(frames())
    stored = {path.stem: pl.read_parquet(path) for path in sorted((HERE / "frames").glob("*.parquet"))}
    assert sorted(computed) == sorted(stored)
    for name, frame in computed.items():
        try:
            assert_frame_equal(frame, stored[name], rel_tol=0, abs_tol=1e-12)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


def test_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    found = [f"{name} {digest}" for name, digest in arrays()]
    capsys.readouterr()  # the lines of summarize
    assert found == (HERE / "arrays.txt").read_text().splitlines()

"""The sample set of actions in videos: what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
VIDEO = DATA / "video"


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in VIDEO.rglob("*.*")) < 80_000
    frames = apf.evaluate(VIDEO / "ava" / "truth", VIDEO / "ava" / "model_a.csv", "ava")
    by = dict(frames.by("supercategory").select("supercategory", "AP").rows())
    assert 1 > by["PERSON_MOVEMENT"] > by["PERSON_INTERACTION"] > 0.3
    a, b = (
        apf.evaluate(VIDEO / "thumos14" / "annotation", VIDEO / "thumos14" / f"model_{name}.txt", "thumos14") for name in "ab"
    )
    assert 1 > a["AP50"] > b["AP50"] > 0.2
    assert a.matches(0.5)["outcome"].to_list().count("ignored") > 3

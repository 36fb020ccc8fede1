"""The sample set of panoptic and semantic segmentation: what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
SEGMENTS = DATA / "segments"


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in SEGMENTS.rglob("*.*")) < 300_000
    truth = SEGMENTS / "panoptic" / "truth.json"
    a, b = (apf.evaluate(truth, truth.with_name(f"{name}.json"), "coco_panoptic") for name in ("model_a", "model_b"))
    assert (a.dataset.images.height, a.dataset.annotations["is_crowd"].sum() > 2) == (20, True)
    best = [dict(each.by("isthing").select("isthing", "PQ").rows()) for each in (a, b)]
    assert best[0][0] > best[1][0]  # B draws outlines badly
    assert dict(a.summary.rows())["RQ_things"] < dict(b.summary.rows())["RQ_things"]  # A loses things
    for each in (a, b):
        day, night = each.by("time_of_day").sort("time_of_day")["PQ"]
        assert night < day

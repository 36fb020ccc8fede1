"""The sample set of nodules in scans: what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
MEDICAL = DATA / "medical"


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    assert sum(path.stat().st_size for path in MEDICAL.rglob("*.*")) < 60_000
    scans = MEDICAL / "luna16"
    a, b = (apf.evaluate(scans / "annotations", scans / f"model_{name}.csv", "luna16") for name in "ab")
    assert 0.2 < a["CPM"] < 1 and 0.2 < b["CPM"] < 1
    outcomes = a.matches()["outcome"].to_list()
    assert outcomes.count("ignored") > 3 and outcomes.count("fn") > 3

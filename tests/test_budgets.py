"""Six jobs do no more than `budgets.toml` allows. Nothing is timed: timings are too noisy for a test."""

from __future__ import annotations

import pytest

from tests import budgets
from tests.budgets import COUNTS, JOBS, count, excess, lower, settle, stored, text

MORE = """
import numpy as np, polars as pl
import apframe.report, apframe.pycocotools
from apframe.tables.later import Later
for _ in range(3):
    pl.LazyFrame({"x": [1]}).collect()
_ = Later(lambda: (pl.DataFrame(), set()), None).attributes
passed = np.arange(10_000_000) + 1
for _ in range(300):
    _ = passed[:5] * 2
"""


@pytest.mark.parametrize("jobs", [["boxes_20"], pytest.param([*JOBS][1:], marks=pytest.mark.slow)], ids=["one", "others"])
def test_jobs_keep_to_their_budgets(jobs: list[str]) -> None:
    found, budgets = {job: count(job) for job in jobs}, stored()
    print("\n".join(f"python -m tests.budgets can lower {said}" for job in jobs for said in lower(budgets[job], found[job])))
    assert {job: over for job in jobs if (over := excess(budgets[job], found[job]))} == {}


@pytest.mark.slow
def test_more_of_anything_fails_and_is_named() -> None:
    """A collect, an import, an attribute read and a pass of NumPy."""
    over = [said.partition(":")[0] for said in excess(stored()["boxes_20"], count("boxes_20", MORE))]
    assert over == ["modules", "lines", "attribute_reads", "queries", "numpy_calls", "numpy_rows", "peak_kb"]


def test_only_a_reason_raises_a_number() -> None:
    budget = dict.fromkeys(COUNTS, 100)
    counts = budget | {"queries": 106, "numpy_rows": 105, "lines": 80}
    assert excess(budget, counts) == ["queries: 106, but 100 are allowed"]
    assert lower(budget, counts) == ["lines: 80 of 100"]
    assert settle(budget, counts, {}) == budget | {"lines": 80}
    raised = settle(budget, counts, {"queries": "areas come from Polars", "modules": "needless"})
    assert raised == budget | {"lines": 80, "queries": 106, "because": {"queries": "areas come from Polars (from 100)"}}
    assert excess(raised, counts) == []


def test_the_file_is_as_the_command_writes_it() -> None:
    assert list(stored()) == list(JOBS)
    assert budgets.FILE.read_text() == text(stored())

"""When the gate holds: by the interval, by the drop, at their borders."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.cli.gate import Gate, read_gate
from apframe.exceptions import InputError


def rows(**columns: Any) -> pl.DataFrame:
    row = {"metric": "AP", "run_a": "old", "run_b": "new", "difference": -0.02, "low": -0.03, "high": -0.01} | columns
    return pl.DataFrame([row], schema_overrides=dict.fromkeys(("difference", "low", "high"), pl.Float64))


@pytest.mark.parametrize(("columns", "n_worse", "n_drops"), [
    ({}, 1, 1),
    ({"high": 0.01}, 0, 1),
    ({"high": 0.0}, 0, 1),
    ({"difference": -0.01}, 1, 0),  # not more than the drop
    ({"difference": 0.02, "low": 0.01, "high": 0.03}, 0, 0),
    ({"difference": 0.0, "low": 0.0, "high": 0.0}, 0, 0),
    ({"metric": "AP50"}, 0, 0),
])  # fmt: skip
def test_what_fails(columns: dict[str, Any], n_worse: int, n_drops: int) -> None:
    table = rows(**columns)
    assert len(Gate(("AP",), {}).failures(table)) == n_worse
    assert len(Gate((), {"AP": 0.01}).failures(table)) == n_drops
    assert len(Gate(("AP",), {"AP": 0.01}).failures(table)) == n_worse + n_drops


def test_every_model_is_tested() -> None:
    table = pl.concat([rows(), rows(run_b="third", high=0.5), rows(run_b="fourth")])
    assert [text.split()[2] for text in Gate(("AP",), {}).failures(table)] == ["new", "fourth"]


def test_numbers_that_are_missing() -> None:
    without_interval = rows(low=None, high=None)
    with pytest.raises(InputError, match="AP has no interval"):
        Gate(("AP",), {}).failures(without_interval)
    assert len(Gate((), {"AP": 0.01}).failures(without_interval)) == 1
    with pytest.raises(InputError, match="AP has no value"):
        Gate((), {"AP": 0.01}).failures(rows(difference=None))


def test_reading() -> None:
    assert read_gate(None, None, apf.COCO) == Gate((), {})
    assert read_gate(["AP", "AP,ap50"], ["AP=0", "ARl=1e-3"], apf.COCO) == Gate(("AP", "AP50"), {"AP": 0, "ARl": 0.001})
    assert Gate(("AP", "AP50"), {"AP50": 0.1, "AP75": 0}).metrics == ["AP", "AP50", "AP75"]

"""When the gate holds: by the interval, by the drop, at their borders."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.cli.gate import Gate, read_gate


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


@pytest.mark.parametrize(("columns", "is_failure"), [
    ({"difference": -0.001, "low": -0.02, "high": 0.018}, True),
    ({"difference": -0.001, "low": -0.009, "high": 0.007}, False),
    ({"difference": -0.001, "low": -0.01, "high": 0.008}, False),  # no larger drop
    ({"difference": 0.001, "low": -0.02, "high": 0.022}, True),
    ({"difference": -0.02, "low": -0.025, "high": -0.015}, True),
    ({"low": None, "high": None, "difference": 0.02}, True),
    ({"difference": 0.0, "low": 0.0, "high": 0.0}, False),
])  # fmt: skip
def test_being_sure_of_no_larger_drop(columns: dict[str, Any], is_failure: bool) -> None:
    assert len(Gate((), {"AP": 0.01}, is_sure=True).failures(rows(**columns))) == is_failure


def test_errors_are_worse_above_zero() -> None:
    """Of nuScenes' ATE less is better."""
    more, less = (
        rows(metric="ATE", difference=sign * 0.02, low=sign * 0.02 - 0.01, high=sign * 0.02 + 0.01) for sign in (1, -1)
    )
    assert Gate(("ATE",), {}).failures(more) == ["ATE of new is worse than that of old by 0.0200 (95 % CI 0.0100 to 0.0300)"]
    assert Gate((), {"ATE": 0.01}).failures(more) == ["ATE of new is worse than that of old by 0.0200, more than 0.01"]
    assert Gate((), {"ATE": 0.025}, is_sure=True).failures(more)[0].startswith("ATE of new may be worse")
    assert not Gate((), {"ATE": 0.04}, is_sure=True).failures(more)
    assert not Gate(("ATE",), {"ATE": 0.0}, is_sure=True).failures(less)


def test_numbers_that_are_missing() -> None:
    without_interval = rows(low=None, high=None, reason="annotations in fewer than 10 units")
    failure = "AP of new cannot be tested: annotations in fewer than 10 videos"
    assert Gate(("AP",), {}).failures(without_interval, "video") == [failure]
    assert len(Gate((), {"AP": 0.01}).failures(without_interval)) == 1
    failure = "AP of new cannot be tested: it has no value in both models"
    assert Gate((), {"AP": 0.01}).failures(rows(difference=None)) == [failure]


def test_reading() -> None:
    assert read_gate(None, None, apf.COCO) == Gate((), {})
    assert read_gate(["AP", "AP,ap50"], ["AP=0", "ARl=1e-3"], apf.COCO) == Gate(("AP", "AP50"), {"AP": 0, "ARl": 0.001})
    assert read_gate(None, ["AP=0.1"], apf.COCO, sure=True) == Gate((), {"AP": 0.1}, is_sure=True)
    assert Gate(("AP", "AP50"), {"AP50": 0.1, "AP75": 0}).metrics == ["AP", "AP50", "AP75"]

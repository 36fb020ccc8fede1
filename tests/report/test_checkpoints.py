"""The history of a model."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.report.checkpoints import History, of_evaluations, of_runs
from apframe.report.compared import Compared
from apframe.report.searched import Searched
from apframe.report.tag_axis import TagAxis
from tests.report.sections.test_history import history_of

QRELS = {query: {"good": 1, "bad": 0} for query in "pqrst"}
GOOD, BAD = ({query: {"good": score, "bad": 0.5} for query in "pqrst"} for score in (0.9, 0.1))


def with_values(*values: float | None, metric: str = "AP") -> History:
    axis = TagAxis("epoch", [str(k + 1) for k in range(len(values))], range(len(values)))
    return History(axis, list("abcde"[: len(values)]), metric, values, "image", pl.DataFrame, pl.DataFrame)


@pytest.mark.parametrize(
    ("values", "best", "rival", "words"),
    [
        ([0.1, 0.3, 0.2], 1, 2, {2: "last", 1: "best", 0: "first"}),
        ([0.1, 0.2, 0.3], 2, 0, {0: "first", 2: "best, last"}),
        ([0.3, 0.2, 0.1], 0, 2, {2: "last", 0: "best, first"}),
        ([0.3, 0.3, 0.1], 0, 2, {2: "last", 0: "best, first"}),
        ([0.3, 0.2, 0.3 - 1e-14], 2, 0, {0: "first", 2: "best, last"}),
        ([None, 0.2, None], 1, 2, {2: "last", 1: "best", 0: "first"}),
        ([None, None], 1, 0, {0: "first", 1: "last"}),
    ],
)
def test_the_best_and_what_it_is_compared_with(values: list[Any], best: int, rival: int, words: dict[int, str]) -> None:
    history = with_values(*values)
    assert (history.best, history.rival, history.words) == (best, rival, words)


def test_the_lowest_error_is_the_best() -> None:
    assert with_values(0.3, 0.1, 0.2, metric="ATE").best == 1


@pytest.mark.slow
def test_numbers_are_those_of_intervals_and_compare(models: list[apf.Evaluation]) -> None:
    subject = history_of(models)
    history = subject.history
    assert history is not None and history.names == ["epoch 1", "epoch 2", "epoch 4"]
    third, b, a = history.evaluations
    assert (subject.names, subject.evaluations) == (["epoch 4", "epoch 2"], [a, b])
    expected = a.compare([third, b], names=["epoch 4", "epoch 1", "epoch 2"])
    columns = ["run_b", "metric", "difference", "low", "high", "p_holm"]
    differences = history.differences.filter(pl.col("category_id").is_null())
    assert_frame_equal(differences.select(columns), expected.select(columns), check_row_order=False)
    levels = history.overall.filter(run="epoch 2").select("metric", "estimate", "low", "high")
    assert_frame_equal(levels, b.intervals().select("metric", "estimate", "low", "high"))
    gains = third.compare(a, level="category", metrics="AP").select("category_id", "difference", "low", "high", "q")
    assert_frame_equal(history.changes.select(gains.columns), gains)


@pytest.mark.slow
def test_tags_of_stored_evaluations_are_read(models: list[apf.Evaluation], tmp_path: Any) -> None:
    for epoch, model in zip((7, 3), models, strict=True):
        model.write_parquet(tmp_path / f"{epoch}", tags={"epoch": epoch})
    stored = [apf.read_evaluation(tmp_path / name) for name in ("7", "3")]
    part = stored[0].where("weather = 'fog'")
    assert [each.tags for each in (*stored, part)] == [{"epoch": 7}, {"epoch": 3}, {"epoch": 7}] and models[0].tags == {}
    subject = of_evaluations("epoch", Compared(stored, ["7", "3"]))
    assert subject.history is not None and subject.history.runs == ["3", "7"]
    stored[0].write_parquet(tmp_path / "again")
    assert apf.read_evaluation(tmp_path / "again").tags == {"epoch": 7}


@pytest.mark.slow
def test_search_runs_have_a_history_too(tmp_path: Any) -> None:
    for night, run in (("2026-11-02", GOOD), ("2026-11-01", BAD)):
        apf.evaluate_run(QRELS, run, "AP").write_parquet(tmp_path / night, tags={"night": night})
    read = [apf.read_run_evaluation(tmp_path / night) for night in ("2026-11-02", "2026-11-01")]
    assert read[0].tags == {"night": "2026-11-02"}
    both = apf.evaluate_run(QRELS, {"new": GOOD, "old": BAD, "odd": BAD}, "AP")
    subject = of_runs(
        {"night": [*(each.tags["night"] for each in read), "2026-10-31"]}, Searched(both, ["new", "old", "odd"]), [{}] * 3
    )
    history = subject.history
    assert history is not None and history.runs == ["odd", "old", "new"] and history.values == [0.5, 0.5, 1.0]
    assert subject.names == ["2026-10-31", "2026-11-02"] and [*subject.evaluation.runs] == subject.names
    assert history.tests.select("run_b", "difference").rows() == [("2026-11-01", -0.5), ("2026-10-31", -0.5)]


def test_a_history_needs_two_evaluations(models: list[apf.Evaluation]) -> None:
    with pytest.raises(ParameterError, match="over needs at least two evaluations"):
        of_evaluations({"epoch": [1]}, Compared(models[:1], ["a"]))

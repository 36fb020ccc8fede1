"""Score thresholds chosen by a criterion: which row, ties, and what holds where no score meets it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from apframe.evaluation.thresholds.operating_points import Criterion
from apframe.exceptions import ParameterError
from tests.evaluation.thresholds.test_sweep import EXPECTED, FOUND, evaluate

# of the cat, precision is 1, .5, .667, .5 and recall .333, .333, .667, .667 at .9, .8, .7, .6; of the dog nothing is right
WITH_DOG = [*EXPECTED, (1, 2, 700)], [*FOUND, (1, 2, 0, 10, 0.75)]
CRITERIA: dict[str, tuple[str, tuple[Any, ...]]] = {
    "F1": ("f1", (0.7, 2, 1)),
    "F2": ("f2", (0.7, 2, 1)),
    "F0.5": ("f0.5", (0.9, 1, 0)),
    "LRP": ("lrp", (0.9, 1, 0)),
    "perfect precision": ("precision>=1", (0.9, 1, 0)),
    "recall at a precision, the highest of equal ones": ("precision >= .5", (0.7, 2, 1)),
    "no such precision is needed": ("precision>=0", (0.7, 2, 1)),
    "precision at a recall": ("recall>=0.3", (0.9, 1, 0)),
    "precision at a higher recall": ("recall>=.5", (0.7, 2, 1)),
    "no such recall": ("recall>=0.9", (None, 0, 0)),
    "false positives per image": ("fppi<=0.5", (0.7, 2, 1)),
    "none at all": ("FPPI<=0", (0.9, 1, 0)),
    "a score between two": ("score>=0.75", (0.75, 1, 1)),
    "a score above all": ("score>=0.95", (0.95, 0, 0)),
    "a score below all": ("score>=-1e3", (-1000, 2, 2)),
}


@pytest.mark.parametrize(("criterion", "expected"), CRITERIA.values(), ids=CRITERIA)
def test_the_row_that_is_chosen(criterion: str, expected: tuple[Any, ...]) -> None:
    table = evaluate(EXPECTED, FOUND).operating_points(criterion)
    row = table.row(0, named=True)
    assert (row["score_threshold"], row["tp"], row["fp"]) == expected
    assert row["fn"] == 3 - row["tp"]
    assert (row["criterion"], row["name"], row["iou_threshold"], row["area_range"]) == (criterion, "cat", 0.5, "all")


@pytest.mark.slow
def test_where_no_score_meets_it_nothing_is_detected() -> None:
    dog = evaluate(*WITH_DOG).operating_points("f2").row(1, named=True)
    assert dog["score_threshold"] == 0.75  # all thresholds have an F2 of 0, and this is the highest
    for criterion in ("lrp", "precision>=0.1", "recall>=0.1"):
        row = evaluate(*WITH_DOG).operating_points(criterion).row(1, named=True)
        assert row["score_threshold"] is None
        assert (row["tp"], row["fp"], row["fn"], row["precision"], row["recall"], row["f1"]) == (0, 0, 1, None, 0, 0)
        assert (row["lrp"], row["lrp_loc"], row["lrp_fp"], row["lrp_fn"], row["fppi"], row["miss_rate"]) == (
            1,
            None,
            None,
            1,
            0,
            1,
        )


@pytest.mark.parametrize("criterion", ["f1", "f3", "lrp", "precision>=0", "recall>=0", "fppi<=9"])
def test_a_category_without_annotations_has_no_threshold(criterion: str) -> None:
    row = evaluate(EXPECTED, [(1, 2, 0, 10, 0.9)]).operating_points(criterion).row(1, named=True)
    assert (row["category_id"], row["score_threshold"], row["tp"], row["fp"], row["fn"]) == (2, None, 0, 0, 0)
    assert row["recall"] is row["f1"] is row["miss_rate"] is None


@pytest.mark.slow
def test_one_threshold_for_all_categories() -> None:
    """By the sums of the counts: at .7 two of four are right and two wrong; at .9 one is right and nothing wrong."""
    table = evaluate(*WITH_DOG).operating_points("f1", per_category=False)
    columns = ["category_id", "name", "score_threshold", "tp", "fp", "fn"]
    assert table.select(columns).rows() == [(None, None, 0.7, 2, 2, 2)]
    assert table["f1"].item() == pytest.approx(4 / 8)
    pooled = evaluate(*WITH_DOG, agnostic=True)
    assert pooled.operating_points("f1").select(columns).rows() == [(None, None, 0.7, 2, 2, 2)]


@pytest.mark.slow
def test_the_columns_are_those_of_thresholds() -> None:
    evaluation = evaluate(EXPECTED, FOUND)
    names = [name for name in evaluation.thresholds(beta=2).columns if not name.startswith("is_best")]
    assert evaluation.operating_points("f2").columns == [*names[:2], "criterion", *names[2:]]
    assert "f2" not in evaluation.operating_points("f1").columns
    best = evaluation.thresholds().filter("is_best")
    assert evaluation.operating_points("f1").head(1).select(best.columns[:11]).equals(best.select(best.columns[:11]))


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        ("f", "criterion is 'f'; give one like 'f1', 'f2', 'lrp', 'precision>=0.9'"),
        ("f0", "give one like"), ("best_f1", "give one like"), (0.5, "criterion is 0.5; give one like"),
        (None, "give one like"), ("accuracy>=0.5", "give one like"),
        ("precision", "give one like"), ("precision>0.5", "give one like"),
        ("precision<=0.5", "'precision<=0.5' has the wrong sign; write precision>=0.5"), ("fppi>=1", "write fppi<=1"),
        ("precision>=high", "'precision>=high' has no number after >="), ("recall>=1.5", "recall is from 0 to 1"),
        ("recall>=-0.1", "recall is from 0 to 1"), ("recall>=90", "recall is from 0 to 1"), ("fppi<=-1", "at least 0"),
        ("precision>=nan", "from 0 to 1"), ("score>=nan", "score is a number"),
    ],
)  # fmt: skip
def test_criteria_that_cannot_be_read(criterion: Any, message: str) -> None:
    with pytest.raises(ParameterError) as raised:
        evaluate(EXPECTED, FOUND).operating_points(criterion)
    assert message in str(raised.value)


def test_criteria_are_values() -> None:
    assert Criterion.of("F2.0") == Criterion.of(" f2 ") == Criterion("f_beta", 2.0)


def test_without_images_nothing_is_chosen() -> None:
    part = evaluate(EXPECTED, FOUND).operating_points("f1", area_range="large")
    assert part.select("score_threshold", "fn", "recall").rows() == [(None, 0, None)] * 2
    assert pl.Series(part["fn"]).dtype == pl.Int64

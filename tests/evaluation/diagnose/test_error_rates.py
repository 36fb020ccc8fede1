"""oLRP, log-average miss rate and FROC: examples by hand, the sample, and what has no value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError
from tests.evaluation.thresholds.test_sweep import EXPECTED, FOUND, LRP_MEANS, LRP_OF_CATEGORIES, evaluate

STREET = Path(__file__).parents[3] / "data" / "street"
SAMPLE = {  # pedestrian, car
    "a": {"lamr": (0.691703, 0.579657), "cpm": (0.418661, 0.521346)},
    "b": {"lamr": (0.638617, 0.517773), "cpm": (0.436307, 0.556856)},
}


@pytest.fixture(scope="module", params=["a", "b"])
def street(request: pytest.FixtureRequest) -> tuple[str, apf.Evaluation]:
    return request.param, apf.evaluate(STREET / "instances.json", STREET / f"model_{request.param}.json")


def value(table: pl.DataFrame, column: str, category: int | None = 1) -> Any:
    return table.filter(pl.col("category_id").eq_missing(category))[column].item()


def test_lrp_by_hand() -> None:
    row = evaluate(EXPECTED, FOUND).lrp().row(0, named=True)
    assert (row["score_threshold"], row["lrp_fp"], row["n_annotations"]) == (0.9, 0, 3)
    assert (row["olrp"], row["lrp_loc"], row["lrp_fn"]) == pytest.approx((0.733333, 0.1, 2 / 3), abs=1e-6)


@pytest.mark.slow
def test_lrp_of_the_sample(street: tuple[str, apf.Evaluation]) -> None:
    model, evaluation = street
    table = evaluation.lrp(0.5)
    assert table.head(-1).select(pl.col("olrp").round(6), "score_threshold").rows() == LRP_OF_CATEGORIES[model]
    mean = table.filter(pl.col("category_id").is_null()).select("olrp", "lrp_loc", "lrp_fp", "lrp_fn", "score_threshold").row(0)
    assert mean[:4] == pytest.approx(LRP_MEANS[model][:4], abs=1e-12)
    assert mean[4] == pytest.approx(LRP_MEANS[model][4], abs=1e-6)


def test_lrp_without_true_positives_detections_or_annotations() -> None:
    nothing_right = evaluate([(1, 1, 0)], [(1, 1, 500, 10, 0.9), (1, 2, 0, 10, 0.9)])
    columns = ["category_id", "n_annotations", "olrp", "lrp_loc", "lrp_fp", "lrp_fn", "score_threshold"]
    expected = [(1, 1, 1.0, None, None, 1.0, None), (2, 0, *[None] * 5), (None, 1, 1.0, None, None, 1.0, None)]
    assert nothing_right.lrp().select(columns).rows() == expected
    assert evaluate([(1, 1, 0)], [(1, 2, 0, 10, 0.9)]).lrp().select(columns).rows() == expected


def test_means_are_over_the_categories_that_have_a_value() -> None:
    """Of the dog, nothing is found: it has an LRP of 1, but no error of location."""
    table = evaluate([*EXPECTED, (1, 2, 0)], FOUND).lrp()
    assert value(table, "olrp", None) == pytest.approx((2.2 / 3 + 1) / 2)
    assert value(table, "lrp_loc", None) == pytest.approx(0.1)
    assert value(table, "lrp_fn", None) == pytest.approx((2 / 3 + 1) / 2)
    assert value(table, "n_annotations", None) == 4


@pytest.mark.slow
def test_pooled_categories_have_one_row() -> None:
    evaluation = evaluate([*EXPECTED, (1, 2, 50)], FOUND, agnostic=True)
    for table in (evaluation.lrp(), evaluation.miss_rates(), evaluation.froc()):
        assert table.select("category_id", "n_annotations").rows() == [(None, 4)]
    assert evaluation.froc()["cpm"].item() == pytest.approx((0.25 + 0.25 + 5 * 0.5) / 7)


# R = 4, 2 images: .9 right, .8 wrong, .7 right, .6 wrong
FOUR = [*EXPECTED, (1, 1, 200)]


@pytest.mark.slow
def test_miss_rates_and_froc_by_hand() -> None:
    evaluation = evaluate(FOUR, FOUND)
    assert value(evaluation.miss_rates(0.5), "lamr") == pytest.approx(0.685378, abs=1e-6)
    assert value(evaluation.froc(0.5), "cpm") == pytest.approx(0.428571, abs=1e-6)
    points = evaluation.froc(0.5, level="point").filter(pl.col("category_id") == 1)
    assert points.select("fppi", "score_threshold", "recall").rows() == [
        (0.125, 0.9, 0.25), (0.25, 0.9, 0.25), (0.5, 0.7, 0.5), (1, 0.6, 0.5), (2, 0.6, 0.5), (4, 0.6, 0.5), (8, 0.6, 0.5),
    ]  # fmt: skip
    rates = evaluation.miss_rates(0.5, level="point").filter(pl.col("category_id") == 1)
    assert rates["fppi"].to_list() == [10 ** (-2 + j / 4) for j in range(9)]
    assert rates["miss_rate"].to_list() == [0.75] * 7 + [0.5] * 2


def test_before_the_first_score_everything_is_missed() -> None:
    """Ten images, .9 wrong, .8 right: code that reads the last miss rate at the four lowest points gives .5."""
    evaluation = evaluate([(1, 1, 0), (1, 1, 50)], [(1, 1, 500, 10, 0.9), (1, 1, 0, 10, 0.8)], n_images=10)
    assert value(evaluation.miss_rates(), "lamr") == pytest.approx(0.680395, abs=1e-6)
    points = evaluation.miss_rates(level="point").filter(pl.col("category_id") == 1)
    assert points["miss_rate"].to_list() == [1.0] * 4 + [0.5] * 5
    assert points["score_threshold"].to_list() == [None] * 4 + [0.8] * 5


def test_a_perfect_detector_misses_almost_nothing() -> None:
    perfect = evaluate([(1, 1, 0)], [(1, 1, 0, 10, 0.9)])
    assert value(perfect.miss_rates(), "lamr") == pytest.approx(1e-10)
    assert value(perfect.froc(), "cpm") == 1


@pytest.mark.slow
def test_lines_and_steps_differ_inside_a_group_of_equal_scores() -> None:
    """Two images: one score that is twice right and once wrong. The line rises from (0, 0) to (.5, 1)."""
    evaluation = evaluate([(1, 1, 0), (2, 1, 0)], [(1, 1, 0, 10, 0.9), (1, 1, 500, 10, 0.9), (2, 1, 0, 10, 0.9)])
    options: Any = {"level": "point", "fppi": [0.125, 0.25, 0.5, 1]}
    steps, lines = (evaluation.froc(interpolate=each, **options).filter(pl.col("category_id") == 1) for each in (False, True))
    assert steps["recall"].to_list() == [0, 0, 1, 1]
    assert lines["recall"].to_list() == [0.25, 0.5, 1, 1]
    without = evaluate(FOUR, FOUND)
    assert without.froc(interpolate=True).equals(without.froc())


def test_categories_without_detections_and_without_annotations() -> None:
    evaluation = evaluate([(1, 1, 0)], [(1, 2, 0, 10, 0.9)])
    assert evaluation.miss_rates().select("category_id", "lamr").rows() == [(1, 1.0), (2, None), (None, 1.0)]
    assert evaluation.froc().select("category_id", "cpm").rows() == [(1, 0.0), (2, None), (None, 0.0)]
    points = evaluation.froc(level="point", fppi=[1])
    assert points.select("category_id", "score_threshold", "recall").rows() == [(1, None, 0.0), (2, 0.9, None)]


@pytest.mark.slow
def test_values_of_the_sample(street: tuple[str, apf.Evaluation]) -> None:
    model, evaluation = street
    for name, table in (("lamr", evaluation.miss_rates(0.5)), ("cpm", evaluation.froc(0.5))):
        rates = tuple(table.filter(pl.col("name").is_in(["pedestrian", "car"]))[name])
        assert rates == pytest.approx(SAMPLE[model][name], abs=1e-6)
        assert value(table, name, None) == pytest.approx(table.head(-1)[name].mean())
    assert evaluation.froc(0.5, interpolate=True).equals(evaluation.froc(0.5))


def test_other_points_in_any_order() -> None:
    evaluation = evaluate(FOUR, FOUND)
    assert value(evaluation.froc(fppi=[1, 0.25]), "cpm") == pytest.approx((0.25 + 0.5) / 2)
    assert evaluation.froc(fppi=[1, 0.25, 1]).equals(evaluation.froc(fppi=[0.25, 1]))
    assert value(evaluation.miss_rates(fppi=[0.1]), "lamr") == pytest.approx(0.75)


@pytest.mark.parametrize("fppi", [[], [0], [-1], [1, "2"], [float("nan")], [float("inf")], [True]])
def test_points_are_numbers_above_zero(fppi: Any) -> None:
    for method in (evaluate(FOUR, FOUND).miss_rates, evaluate(FOUR, FOUND).froc):
        with pytest.raises(ParameterError, match="fppi"):
            method(fppi=fppi)


def test_bad_options() -> None:
    evaluation = evaluate(FOUR, FOUND)
    with pytest.raises(ParameterError, match="level"):
        evaluation.froc(level="image")
    for method in (evaluation.lrp, evaluation.miss_rates, evaluation.froc):
        with pytest.raises(ParameterError, match=r"0\.75 was not evaluated; use 0\.5, or add it with iou_thresholds"):
            method(0.75)
        with pytest.raises(ParameterError, match="area_range 'tiny'"):
            method(area_range="tiny")


@pytest.mark.slow
def test_tables_of_sql_are_those_of_the_lowest_threshold() -> None:
    evaluation = evaluate(FOUR, FOUND, iou_thresholds=[0.5, 0.75])
    for name, table in (("lrp", evaluation.lrp()), ("miss_rates", evaluation.miss_rates()), ("froc", evaluation.froc())):
        sql_table = evaluation.sql(f"SELECT * FROM {name}")
        assert sql_table.drop("area_range").equals(table.drop("name", "area_range"))
        pooled = evaluate(FOUR, FOUND, agnostic=True)
        assert pooled.sql(f"SELECT count(*) FROM {name}").item() == 1


@pytest.mark.slow
def test_tables_are_stored_on_request(tmp_path: Path) -> None:
    evaluation = evaluate(FOUR, FOUND)
    evaluation.write_parquet(tmp_path / "run", tables=["lrp", "froc"])
    back = apf.read_evaluation(tmp_path / "run")
    assert back.sql("SELECT cpm FROM froc WHERE category_id = 1").item() == value(evaluation.froc(), "cpm")
    assert back.lrp().equals(evaluation.lrp())

"""Calibration: measures and bins by hand, reference values, and what may not change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.compare.resampling import make_draws
from apframe.evaluation.diagnose.outcomes import verdicts_at
from apframe.evaluation.diagnose.score_bins import Binned, Scored, scored, sum_bins
from apframe.exceptions import FewUnitsWarning, NoAnnotationsWarning, ParameterError, RowError
from tests.parity.families import FAMILIES, scenes
from tests.parity.strategies import half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.UnknownCategoryWarning",
)  # fmt: skip
STREET = Path(__file__).parents[3] / "data" / "street"
Found = tuple[int, list[float], float]
MEASURES = ("ece", "mce", "brier", "mean_gap", "mae")


def evaluated(found: list[Found], annotations: list[tuple[int, list[float]]], **options: Any) -> apf.Evaluation:
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": number, "image_id": 1, "category_id": category, "bbox": box}
            for number, (category, box) in enumerate(annotations)
        ],
    }
    results = [{"image_id": 1, "category_id": category, "bbox": box, "score": score} for category, box, score in found]
    return apf.evaluate(truth, results, **options)


# .95 right (IoU .8), .85 wrong, .85 right (IoU .95), .35 wrong
BY_HAND = evaluated(
    [(1, [0, 0, 8, 10], 0.95), (1, [500, 0, 9, 9], 0.85), (1, [50, 0, 19, 10], 0.85), (1, [600, 0, 9, 9], 0.35)],
    [(1, [0, 0, 10, 10]), (1, [50, 0, 20, 10])],
)


def values(table: pl.DataFrame, row: int = 0) -> dict[str, Any]:
    return table.row(row, named=True)


def test_by_hand() -> None:
    at = {"area_range": "all", "iou_threshold": 0.5, "target": "outcome", "bins": "uniform", "n_bins": 10, "min_score": 0.0}
    expected = {"ece": 0.275, "mce": 0.35, "brier": 0.2175, "mean_gap": -0.25, "mae": (0.05 + 0.85 + 0.15 + 0.35) / 4}
    for row, average in enumerate(("detections", "categories")):
        calibration = values(BY_HAND.calibration(0.5), row)
        assert {name: calibration[name] for name in ("average", *at, "n")} == {"average": average} | at | {"n": 4}
        assert {name: calibration[name] for name in MEASURES} == pytest.approx(expected, abs=1e-15)


def test_similarities_by_hand() -> None:
    calibration = values(BY_HAND.calibration(0.5, n_bins=25, target="similarity"), 1)
    assert (calibration["ece"], calibration["mae"]) == pytest.approx((0.3125, 0.3625), abs=1e-15)


def test_the_bins_by_hand() -> None:
    table = BY_HAND.reliability(0.5, n_bins=10)
    assert table["bin"].to_list() == list(range(1, 11))
    assert table["score_from"].to_list() == [k / 10 for k in range(10)] and table["score_to"].to_list()[-1] == 1
    assert table["n"].to_list() == [0, 0, 0, 1, 0, 0, 0, 0, 2, 1]
    numbers = ["mean_score", "mean_target", "gap", "low", "high"]
    assert table.filter(pl.col("n") == 0).select(pl.col(numbers).null_count()).row(0) == (7,) * 5
    rows = table.filter(pl.col("n") > 0).select("mean_score", "mean_target", "gap").rows()
    assert [value for row in rows for value in row] == pytest.approx(
        [0.35, 0, -0.35, 0.85, 0.5, -0.35, 0.95, 1, 0.05], abs=1e-15
    )
    # (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n) with z = 1.96, n = 1 and 2
    ends = table.filter(pl.col("n") > 0).select("low", "high").rows()
    assert [end for row in ends for end in row] == pytest.approx([0, 0.7935, 0.0945, 0.9055, 0.2065, 1], abs=5e-5)


def test_quantiles_share_detections_and_equal_edges_are_one() -> None:
    table = BY_HAND.reliability(0.5, n_bins=2, bins="quantile")
    assert table.select("score_from", "score_to", "n").rows() == [(0.35, 0.85, 1), (0.85, 0.95, 3)]
    table = BY_HAND.reliability(0.5, n_bins=4, bins="quantile")
    assert table["score_from"].to_list() == pytest.approx([0.35, 0.725, 0.85, 0.875])
    alike = evaluated([(1, [k * 20, 0, 9, 9], 0.5) for k in range(3)], [(1, [0, 0, 9, 9])]).reliability(0.5, bins="quantile")
    assert alike.select("score_from", "score_to", "n").rows() == [(0.5, 0.5, 3)]


def test_scores_on_edges() -> None:
    """Bins are [low, high), but (low, high] for similarities; the outermost are closed."""
    ev = evaluated([(1, [k * 20, 0, 9, 9], score) for k, score in enumerate((0.0, 0.5, 1.0))], [(1, [0, 0, 9, 9])])
    assert ev.reliability(0.5, n_bins=2)["n"].to_list() == [1, 2]
    assert ev.reliability(0.5, n_bins=2, target="similarity")["n"].to_list() == [2, 1]


SAMPLE: dict[str, dict[str, Any]] = {
    "a": {"n": 1955, "ece": 0.262604654731, "mce": 0.482239759036, "brier": 0.228112537969, "above": (0.231006944444, 792),
          "laece": 0.183963985013, "laece_0": 0.185712005265, "laace_0": 0.240395812417},
    "b": {"n": 1840, "ece": 0.237916793478, "mce": 0.473408000000, "brier": 0.194044340125, "above": (0.213171250000, 880),
          "laece": 0.172086274188, "laece_0": 0.172759525466, "laace_0": 0.218985323029},
}  # fmt: skip


@pytest.mark.parametrize("model", SAMPLE)
def test_the_sample(model: str) -> None:
    ev, expected = (
        apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json", iou_thresholds=[1e-9, 0.5]),
        SAMPLE[model],
    )
    calibration = values(ev.calibration())
    assert {name: calibration[name] for name in ("n", "ece", "mce", "brier")} == pytest.approx(
        {name: expected[name] for name in ("n", "ece", "mce", "brier")}, abs=5e-13
    )
    above = values(ev.calibration(min_score=0.3))
    assert (above["ece"], above["n"]) == pytest.approx(expected["above"], abs=5e-13)
    localised = values(ev.calibration(n_bins=25, target="similarity"), 1)
    at_0 = values(ev.calibration(1e-9, n_bins=25, target="similarity"), 1)
    assert (localised["ece"], at_0["ece"], at_0["mae"]) == pytest.approx(
        (expected["laece"], expected["laece_0"], expected["laace_0"]), abs=5e-13
    )


def test_numbers_of_numpy_are_taken() -> None:
    options = {"n_bins": np.int64(5), "min_score": np.float32(0.5)}
    assert_frame_equal(BY_HAND.calibration(**options), BY_HAND.calibration(n_bins=5, min_score=0.5))  # type: ignore[arg-type]


def street(model: str) -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json")


def test_intervals_are_those_of_copied_images() -> None:
    """Each resample has the measures of a list in which the detections of an image are there as often as it was drawn."""
    ev, n_resamples = street("a"), 7
    rows = scored(verdicts_at(ev._pipeline.verdicts, 0, 0), by_similarity=False)
    draws = make_draws(ev.dataset.images.sort("image_id"), None, None, n_resamples, 3)
    weights = np.concatenate(list(draws.blocks(5)), axis=1)
    expected: dict[str, list[float]] = {"detections": [], "categories": []}
    for k in range(n_resamples):
        copies = np.repeat(np.arange(len(rows.score)), weights[rows.image, k].astype(int))
        drawn = Scored(*(values[copies] for values in (rows.number, rows.image, rows.score, rows.target)))
        sums = sum_bins(Binned(drawn, np.arange(11) / 10), drawn.number, 12)
        expected["detections"].append(sums.total().measures()["ece"].item())
        expected["categories"].append(float(np.nanmean(sums.measures()["ece"])))
    table = ev.calibration(n_resamples=n_resamples, seed=3)
    for average, ends in zip(expected, table.select("ece_low", "ece_high").rows(), strict=True):
        assert ends == pytest.approx(np.quantile(expected[average], [0.025, 0.975]), abs=1e-12)
    assert_frame_equal(table.select(ev.calibration().columns), ev.calibration())


@pytest.mark.slow
def test_intervals_of_categories() -> None:
    ev = street("b")
    table = ev.calibration(level="category", n_resamples=50)
    assert table.filter(pl.col("brier") < pl.col("brier_low")).is_empty()
    assert_frame_equal(table, ev.calibration(level="category", n_resamples=50), check_exact=True)
    assert not table.equals(ev.calibration(level="category", n_resamples=50, seed=1))
    narrow = ev.calibration(level="category", n_resamples=50, confidence=0.5)
    assert (narrow["mae_high"] - narrow["mae_low"] < table["mae_high"] - table["mae_low"]).all()


def test_few_units_have_no_interval() -> None:
    with pytest.warns(FewUnitsWarning, match="only 3 images"):
        table = scene_of_three().calibration(n_resamples=20)
    assert table.select(pl.col("^.*_(low|high)$").null_count()).row(0) == (2,) * 10
    with pytest.raises(ParameterError, match=r"confidence is between 0 and 1, such as .*, not 95"):
        scene_of_three().calibration(n_resamples=20, confidence=95)
    with pytest.raises(ParameterError, match="n_resamples is a whole number of at least 1, not -1"):
        scene_of_three().calibration(n_resamples=-1)
    with pytest.raises(ParameterError, match="unit: the images have no column 'video'"):
        scene_of_three().calibration(n_resamples=20, unit="video")


def scene_of_three() -> apf.Evaluation:
    truth = {"images": [{"id": k} for k in (1, 2, 3)], "categories": [{"id": 1}], "annotations": []}
    with pytest.warns(NoAnnotationsWarning):
        return apf.evaluate(truth, [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}])


@pytest.mark.slow
def test_categories_with_the_same_bins() -> None:
    ev = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    table, whole = ev.calibration(level="category"), ev.calibration()
    assert table["n"].sum() == whole["n"][0] == whole["n"][1]
    assert [table[name].mean() for name in MEASURES] == pytest.approx(list(whole.row(1)[-5:]), abs=1e-14)
    bins = ev.reliability(level="category")
    assert bins.columns[:2] == ["category_id", "name"] and bins.height == 120
    assert_frame_equal(bins.group_by("bin").agg(pl.col("n").sum()).sort("bin"), ev.reliability().select("bin", "n"))
    one = ev.where("name = 'car'").calibration()
    assert one.row(0)[-6:] == pytest.approx(table.filter(pl.col("name") == "car").row(0)[-6:], abs=1e-15)


@pytest.mark.slow
def test_without_counted_detections_all_is_null() -> None:
    for ev in (evaluated([], [(1, [0, 0, 9, 9])]), evaluated([(1, [0, 0, 9, 9], 0.5)], [(1, [0, 0, 9, 9])])):
        for options in ({"min_score": 0.9}, {"min_score": 0.9, "bins": "quantile"}):
            table = ev.calibration(**options)
            assert table["n"].to_list() == [0, 0] and table.select(MEASURES).null_count().row(0) == (2,) * 5
        assert ev.calibration(level="category", min_score=0.9)["n"].to_list() == [0, 0]
        assert ev.reliability(min_score=0.9).select("n", "mean_score").unique().rows() == [(0, None)]
        assert ev.reliability(min_score=0.9, bins="quantile").is_empty()


@pytest.mark.slow
def test_pooled_categories_have_no_mean_of_categories() -> None:
    ev = evaluated([(2, [0, 0, 9, 9], 0.75)], [(1, [0, 0, 9, 9])], agnostic=True)
    assert ev.calibration().select("average", "n", "ece").rows() == [("detections", 1, 0.25), ("categories", 1, None)]
    for method in (ev.calibration, ev.reliability):
        with pytest.raises(ParameterError, match='the categories are pooled: there is no level="category"'):
            method(level="category")
    assert ev.sql("SELECT category_id, n, ece FROM calibration").rows() == [(None, 1, 0.25)]


@pytest.mark.slow
def test_a_cut_is_the_evaluation_without_the_others() -> None:
    """With matching by similarity, .2 has the annotation; without it, .9 has."""
    ev = evaluated([(1, [4, 0, 10, 10], 0.9), (1, [0, 0, 10, 10], 0.2)], [(1, [0, 0, 10, 10])], matching="similarity",
                   iou_thresholds=[0.4])  # fmt: skip
    assert ev.calibration(0.4).select("n", "mean_gap").row(0) == (2, pytest.approx(0.5 - 0.55))
    assert ev.calibration(0.4, min_score=0.5).select("n", "mean_gap").row(0) == (1, pytest.approx(0.1))


@pytest.mark.slow
@settings(max_examples=max(settings().max_examples // 4, 1))
@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data(), score=st.sampled_from([0, 0.3]), bins=st.sampled_from(["uniform", "quantile"]))
def test_the_counts_are_those_of_the_other_tables(family: str, data: st.DataObject, score: float, bins: str) -> None:
    ev = data.draw(scenes(family)).evaluate()
    of_images = ev.per_image(0.3, min_score=score)
    rows = ev.reliability(0.3, bins=bins, min_score=score)
    right = (rows["mean_target"] * rows["n"]).sum()
    assert (right, rows["n"].sum() - right) == pytest.approx((of_images["tp"].sum(), of_images["fp"].sum()))
    calibration = values(ev.calibration(0.3, bins=bins, min_score=score))
    assert calibration["n"] == rows["n"].sum()
    if calibration["n"]:
        assert calibration["ece"] == pytest.approx((rows["gap"].abs() * rows["n"]).sum() / calibration["n"])
        assert calibration["mce"] == pytest.approx(rows["gap"].abs().max())
        assert abs(calibration["mean_gap"]) <= calibration["ece"] + 1e-12
        assert calibration["brier"] <= calibration["mae"] + 1e-12


@pytest.mark.slow
@half_as_often
@given(scenes("boxes", ties=False), st.randoms())
def test_the_order_of_rows_changes_nothing(scene: Any, random: Any) -> None:
    again = apf.evaluate(scene.truth, random.sample(scene.results, len(scene.results)), scene.protocol, **scene.options)
    ev = scene.evaluate()
    assert_frame_equal(ev.calibration(0.3), again.calibration(0.3), check_exact=True)
    assert_frame_equal(ev.reliability(0.3, level="category"), again.reliability(0.3, level="category"), check_exact=True)


def test_scores_that_are_no_shares() -> None:
    ev = evaluated([(1, [0, 0, 9, 9], 0.5), (1, [0, 0, 9, 9], 1.5), (1, [0, 0, 9, 9], -2.0)], [(1, [0, 0, 9, 9])])
    for method in (ev.calibration, ev.reliability):
        with pytest.raises(RowError, match=r"detections: score is outside \[0, 1\] for detection_id 2, 3; calibration"):
            method()


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "threshold": ({"iou_threshold": 1e-9}, "iou_threshold 1e-09 was not evaluated; choose from 0.5, 0.55"),
    "area": ({"area_range": "al"}, "area_range 'al' was not evaluated"),
    "bins": ({"bins": "uniforn"}, 'bins is "uniform" or "quantile", not'),
    "target": ({"target": "iou"}, 'target is "outcome" or "similarity", not'),
    "level": ({"level": "image"}, 'level is "summary" or "category", not'),
    "none": ({"n_bins": 0}, "n_bins is a whole number from 1 to 1000, not 0"),
    "flag": ({"n_bins": True}, "n_bins is a whole number from 1 to 1000, not True"),
    "score": ({"min_score": "x"}, "min_score must be a number, not 'x'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    options, message = BAD[name]
    for method in (BY_HAND.calibration, BY_HAND.reliability):
        with pytest.raises(ParameterError, match=message):
            method(**options)


@pytest.mark.slow
def test_in_sql_and_stored(tmp_path: Path) -> None:
    assert BY_HAND.sql("SELECT n, ece FROM calibration ORDER BY category_id").rows() == [(4, pytest.approx(0.275)), (0, None)]
    assert BY_HAND.sql("SELECT sum(n) FROM reliability").item() == 4
    BY_HAND.write_parquet(tmp_path / "run", tables=["calibration", "reliability"])
    again = apf.read_evaluation(tmp_path / "run")
    assert_frame_equal(again.sql("FROM reliability"), BY_HAND.sql("FROM reliability"))

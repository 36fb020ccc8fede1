"""The sections of the report for three models or more."""

from __future__ import annotations

import warnings
from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import NoAnnotationsWarning
from apframe.report.compared import Compared
from apframe.report.sections import leaderboard
from apframe.report.write import sections_of
from tests.conformance.tiny import CATEGORIES, ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, TINY, tiny
from tests.report.sections.test_error_types import tables

NAMES = ["model_a", "model_b", "half_b"]


@pytest.fixture(scope="module")
def three(models: list[apf.Evaluation]) -> Compared:
    """Both models of the sample set, and one that has every second detection of model_b."""
    half = apf.evaluate(models[1].dataset, models[1].detections.gather_every(2))
    return Compared([*models, half], NAMES, by=["weather"])


def of_three(truth: object, *results: object) -> Compared:
    evaluations = [apf.evaluate(truth, each) for each in results]
    return Compared(evaluations, NAMES)


@pytest.mark.slow
def test_numbers_are_those_of_compare_and_the_evaluations(three: Compared) -> None:
    shown = tables(leaderboard.best(three))
    a, b, half = three.evaluations
    expected = a.compare([b, half], names=NAMES, metrics="AP")
    columns = ["difference", "low", "high", "share_better", "p_holm", "detectable"]
    assert_frame_equal(shown["Against model_a"].select("run_b", *columns), expected.select("run_b", *columns), abs_tol=1e-12)
    for name, each in zip(NAMES, three.evaluations, strict=True):
        row = shown["All headline numbers"].filter(model=name).drop("model").row(0)
        assert row == pytest.approx(each.summary["value"].to_list(), abs=1e-12)
    board = shown["Models by AP"]
    assert board["run"].to_list() == ["model_b", "model_a", "half_b"] and board["share_best"].sum() == pytest.approx(1)
    assert board["ranks"].to_list() == ["1 to 2", "1 to 2", "3"]


@pytest.mark.slow
def test_the_answers_in_words(three: Compared) -> None:
    (against,) = leaderboard.best(three).sentences
    assert leaderboard.answer(three).startswith("model_b has the highest AP, 0.277, and leads in 7")
    level = "at the 5 % level, corrected for 2 comparisons"
    assert against == f"Against model_a: half_b is worse; model_b is not significantly different ({level})."
    where = leaderboard.where(three)
    assert where.sentences == [
        "AP by category: model_b is best in 8 of 12, model_a in 4.",
        "AP by weather: model_a is best in 3 of 4, model_b in 1.",
    ]
    assert leaderboard.error_types(three).sentences == ["In all 3 models, missed annotations cost most AP."]


@pytest.mark.slow
def test_best_of_each_row_and_its_lead(three: Compared) -> None:
    shown = tables(leaderboard.where(three))
    assert list(shown) == ["AP by category", "AP by weather", "By the size of objects"]
    a, b, half = three.evaluations
    for caption, key in (("AP by category", "name"), ("AP by weather", "weather")):
        by = [
            dict(
                each.by(*([] if key == "name" else [key]), level="category" if key == "name" else "summary")
                .select(key, "AP")
                .rows()
            )
            for each in (a, b, half)
        ]
        for row in shown[caption].iter_rows(named=True):
            values = [each[row["key 0"]] for each in by]
            assert [row[f"model {k}"] for k in range(3)] == pytest.approx(values, abs=1e-12)
            assert row["best"] == NAMES[values.index(max(values))]
            assert row["lead"] == pytest.approx(max(values) - sorted(values)[1], abs=1e-12)
    expected = a.compare([b, half], names=NAMES, level="category", metrics="AP").filter(pl.col("q") < 0.05)
    differ = {row["key 0"]: row["differ"] for row in shown["AP by category"].iter_rows(named=True) if row["differ"]}
    names_by_category = expected.group_by("name", maintain_order=True).agg(pl.col("run_b").str.join(", "))
    assert differ == dict(names_by_category.select("name", "run_b").rows())


@pytest.mark.slow
def test_error_types_of_all_models_side_by_side(three: Compared) -> None:
    shown = tables(leaderboard.error_types(three))
    for name, each in zip(NAMES, three.evaluations, strict=True):
        expected = each.error_impact(0.5).filter(pl.col("name").is_null()).head(6)
        assert shown["AP that each error type costs"].filter(model=name).row(0)[2:] == tuple(expected["delta_ap"])
        assert shown["Errors of each type"].filter(model=name).row(0)[1:] == tuple(expected["n"])


@pytest.mark.slow
def test_equal_models_are_all_best() -> None:
    compared = of_three(ONE_OF_TWO, ONE_HIT, ONE_HIT, ONE_HIT)
    categories = tables(leaderboard.where(compared))["AP by category"]
    assert categories["best"].to_list() == ["model_a, model_b, half_b"] * 2 and categories["lead"].to_list() == [0.0, 0.0]

    answer = leaderboard.answer(compared)
    assert answer == "model_a, model_b and half_b have the highest AP, 0.500."


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
def test_errors_are_best_where_they_are_lowest() -> None:
    """A protocol may name an error first."""
    board = pl.DataFrame({"run": ["b", "a"], "metric": ["ATE"] * 2, "estimate": [0.1, 0.2], "share_best": [0.75, 0.25]})
    assert leaderboard.leader_sentence(board) == "b has the lowest ATE, 0.100, and leads in 75 % of sets like this one."
    _, _, truth, results, _ = TINY["nuscenes"]
    protocol = replace(apf.NUSCENES, headlines=("ATE", "AP"))
    compared = Compared([apf.evaluate(truth, each, protocol) for each in (results[:1], results, results)], NAMES)
    assert compared.metric == "ATE"
    rows = tables(leaderboard.where(compared))["ATE by category"]
    models = rows.select("model 0", "model 1", "model 2")
    assert (models["model 0"] > models["model 1"]).any()
    lowest = models.min_horizontal()
    for row, least in zip(rows.iter_rows(named=True), lowest, strict=True):
        best = [name for k, name in enumerate(NAMES) if row[f"model {k}"] == least]
        assert row["best"] == (", ".join(best) or None)


@pytest.mark.slow
def test_slices_without_a_value_and_names_of_columns_as_keys() -> None:
    images = [image | {"lead": lead} for image, lead in zip(ONE_OF_TWO["images"], (None, "x"), strict=True)]
    evaluations = [apf.evaluate(ONE_OF_TWO | {"images": images}, each) for each in (ONE_HIT, [], ONE_HIT)]
    section = leaderboard.where(Compared(evaluations, ["best", "differ", "c"], by=["lead"]))
    assert tables(section)["AP by lead"].select("key 0", "best").rows() == [("x", "best, differ, c"), (None, "best, c")]


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_all_sections(name: str) -> None:
    sections = sections_of(Compared([tiny(name)] * 3, NAMES, n_resamples=100))
    expected = ["comparison", "slices", "error_types", "confusion", "threshold", "calibration", "images", "gallery", "labels"]
    keys = [each.key for each in sections]
    # there is no confusion of one category, and no table of images where none has a detection or an annotation that counts
    assert [key for key in expected if key in keys] == keys[:-1] and keys[-1] == "computed"
    assert {*expected} - {*keys} <= {"confusion", "images"}


@pytest.mark.slow
def test_nothing_annotated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoAnnotationsWarning)
        empty = of_three(ONE_OF_TWO | {"annotations": [], "categories": CATEGORIES}, ONE_HIT, [], ONE_HIT)
    sentences = [leaderboard.answer(empty), leaderboard.where(empty).sentences[0], leaderboard.error_types(empty).sentences[0]]
    assert leaderboard.best(empty).sentences == [] and sentences == [
        "AP has no value: no annotation counts.", "AP by category: there are no values.", "No error type costs any AP.",
    ]  # fmt: skip


@pytest.mark.slow
def test_categories_with_intervals_come_first() -> None:
    images = [{"id": k} for k in range(30)]
    rows = [{"image_id": k, "category_id": 1 if k < 28 else 2, "bbox": [0, 0, 9, 9]} for k in range(30)]
    truth = {"images": images, "categories": CATEGORIES, "annotations": [row | {"id": k} for k, row in enumerate(rows)]}
    detections = [[row | {"score": 0.5} for row in rows[:end]] for end in (27, 28, 30)]
    shown = tables(leaderboard.where(of_three(truth, *detections)))["AP by category"]
    assert shown["key 0"].to_list() == ["cat", "dog"] and shown["lead"][0] < shown["lead"][1]


@pytest.mark.slow
def test_low_thresholds_have_error_types_too() -> None:
    """A threshold that is not above the usual background."""
    assert leaderboard.error_types(Compared([tiny("coco", iou_thresholds=0.1)] * 3, NAMES)).blocks

"""Counts and rates at every score: F-beta, LRP, false positives per image, miss rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.pipeline import Pipeline
from apframe.exceptions import ParameterError

STREET = Path(__file__).parents[3] / "data" / "street"
# localization recall precision error: the authors' code, with its own thresholds (a plain loop at distinct scores is the same)
LRP_OF_CATEGORIES = {
    "a": [
        (0.802446, 0.0290), (0.774142, 0.0429), (0.769014, 0.0161), (0.741455, 0.0507), (0.697834, 0.0834), (0.638885, 0.1601),
        (0.632672, 0.1374), (0.745908, 0.0629), (0.750830, 0.1014), (0.764012, 0.0117), (0.864205, 0.0020), (0.873813, 0.0278),
    ],
    "b": [
        (0.782341, 0.0292), (0.737661, 0.0905), (0.860081, 0.0443), (0.697672, 0.0732), (0.676870, 0.1832), (0.632235, 0.0905),
        (0.580683, 0.1715), (0.717100, 0.1059), (0.761455, 0.0897), (0.745812, 0.1475), (0.913067, 0.0012), (0.857922, 0.0177),
    ],
}  # fmt: skip
LRP_MEANS = {
    "a": (0.754601495472, 0.206109367945, 0.224619929505, 0.538389307221, 0.060450),
    "b": (0.746908188070, 0.191738656450, 0.195975711819, 0.560220144620, 0.087033),
}


def evaluate(
    annotations: list[tuple[Any, ...]], found: list[tuple[Any, ...]], n_images: int = 2, **options: Any
) -> apf.Evaluation:
    """Boxes of 10 by 10, the lower edges of which stand at y: image, category, y; found ones have a width and a score too."""
    truth = {
        "images": [{"id": image} for image in range(1, n_images + 1)],
        "categories": [{"id": category, "name": name} for category, name in ((1, "cat"), (2, "dog"))],
        "annotations": [
            {"id": row, "image_id": image, "category_id": category, "bbox": [0, y, 10, 10]}
            for row, (image, category, y) in enumerate(annotations)
        ],
    }
    results = [
        {"image_id": image, "category_id": category, "bbox": [0, y, width, 10], "score": score}
        for image, category, y, width, score in found
    ]
    return apf.evaluate(truth, results, **({"iou_thresholds": [0.5]} | options))


# R = 3; .9 right (IoU .9), .8 wrong, .7 right (IoU .6), .6 wrong
FOUND = [(1, 1, 0, 9, 0.9), (1, 1, 500, 10, 0.8), (2, 1, 0, 6, 0.7), (2, 1, 500, 10, 0.6)]
EXPECTED = [(1, 1, 0), (2, 1, 0), (2, 1, 90)]


@pytest.fixture(scope="module", params=["a", "b"])
def street(request: pytest.FixtureRequest) -> tuple[str, apf.Evaluation]:
    return request.param, apf.evaluate(STREET / "instances.json", STREET / f"model_{request.param}.json")


def test_rates_by_hand() -> None:
    table = evaluate(EXPECTED, FOUND).thresholds(0.5, beta=2)
    expected = pl.DataFrame({
        "score_threshold": [0.9, 0.8, 0.7, 0.6], "tp": [1, 1, 2, 2], "fp": [0, 1, 1, 2], "fn": [2, 2, 1, 1],
        "f1": [0.5, 0.4, 2 / 3, 4 / 7], "is_best": [False, False, True, False],
        "f2": [5 / 13, 5 / 14, 10 / 15, 10 / 16], "is_best_f2": [False, False, True, False],
        "lrp": [2.2 / 3, 0.8, 0.75, 0.8], "lrp_loc": [0.1, 0.1, 0.25, 0.25], "lrp_fp": [0.0, 0.5, 1 / 3, 0.5],
        "lrp_fn": [2 / 3, 2 / 3, 1 / 3, 1 / 3], "is_best_lrp": [True, False, False, False],
        "fppi": [0.0, 0.5, 0.5, 1.0], "miss_rate": [2 / 3, 2 / 3, 1 / 3, 1 / 3],
    }, schema_overrides=dict.fromkeys(("tp", "fp", "fn"), pl.Int64))  # fmt: skip
    assert_frame_equal(table.select(expected.columns), expected, abs_tol=1e-12)


def test_lrp_is_that_of_the_authors(street: tuple[str, apf.Evaluation]) -> None:
    model, evaluation = street
    best = evaluation.thresholds(0.5).filter("is_best_lrp")
    assert best.select(pl.col("lrp").round(6), "score_threshold").rows() == LRP_OF_CATEGORIES[model]
    means = best.select(pl.mean("lrp", "lrp_loc", "lrp_fp", "lrp_fn", "score_threshold")).row(0)
    assert means[:4] == pytest.approx(LRP_MEANS[model][:4], abs=1e-12)
    assert means[4] == pytest.approx(LRP_MEANS[model][4], abs=1e-6)


def test_whole_groups_of_equal_scores_come_in_together() -> None:
    detections = [(1, 1, 500, 10, 0.9), (1, 1, 0, 9, 0.9), (2, 1, 0, 6, 0.9), (2, 1, 600, 10, 0.5)]
    table = evaluate(EXPECTED, detections).thresholds()
    assert table.select("score_threshold", "tp", "fp").rows() == [(0.9, 2, 1), (0.5, 2, 2)]
    assert table["lrp"].to_list() == pytest.approx([(2 * (0.1 + 0.4) + 1 + 1) / 4, (2 * (0.1 + 0.4) + 2 + 1) / 5])
    backwards = evaluate(EXPECTED, detections[::-1]).thresholds()
    assert backwards.equals(table)  # sums too, to the last bit


def test_nothing_to_find_has_no_rates_but_false_positives() -> None:
    row = evaluate([(1, 2, 0)], [(1, 1, 0, 10, 0.9)], n_images=4).thresholds().row(0, named=True)
    assert (row["tp"], row["fp"], row["fn"], row["precision"], row["fppi"]) == (0, 1, 0, 0.0, 0.25)
    for name in ("recall", "f1", "lrp", "lrp_loc", "lrp_fp", "lrp_fn", "miss_rate"):
        assert row[name] is None
    assert not row["is_best"] and not row["is_best_lrp"]


def test_without_a_true_positive_no_threshold_is_best_by_lrp() -> None:
    table = evaluate(EXPECTED, [(1, 1, 500, 10, 0.9), (1, 1, 500, 10, 0.8)]).thresholds()
    assert table.select("lrp", "lrp_loc", "lrp_fp", "lrp_fn", "is_best_lrp").rows() == [(1.0, None, 1.0, 1.0, False)] * 2


def test_of_equal_errors_the_highest_score_is_best() -> None:
    """Both matches have the lowest similarity that is allowed, so that each costs as much as a miss: LRP is 1 throughout."""
    table = evaluate(EXPECTED, [(1, 1, 0, 5, 0.9), (2, 1, 0, 5, 0.8)]).thresholds(0.5)
    assert table.select("score_threshold", "lrp", "is_best_lrp").rows() == [(0.9, 1.0, True), (0.8, 1.0, False)]


def test_a_threshold_of_one_has_no_errors_of_location() -> None:
    row = evaluate(EXPECTED, [(1, 1, 0, 10, 0.9)], iou_thresholds=[1.0]).thresholds().row(0, named=True)
    assert (row["tp"], row["lrp"], row["lrp_loc"], row["is_best_lrp"]) == (1, None, 0.0, False)


def test_an_empty_image_changes_only_false_positives_per_image() -> None:
    few, more = (evaluate(EXPECTED, FOUND, n_images=n).thresholds(beta=0.5) for n in (2, 3))
    assert few.drop("fppi").equals(more.drop("fppi"))
    assert more["fppi"].to_list() == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_no_images_no_rows() -> None:
    evaluation = apf.evaluate({"images": [], "categories": [{"id": 1, "name": "cat"}], "annotations": []}, [])
    assert evaluation.thresholds().height == evaluation.sql("FROM thresholds").height == 0


@pytest.mark.slow
def test_sql_computes_only_what_the_filter_lets_through() -> None:
    evaluation = evaluate(EXPECTED, FOUND, iou_thresholds=[0.5, 0.75], max_detections=[10])
    cells: list[Any] = []
    compute = Pipeline._thresholds_at

    def count(self: Pipeline, at: Any, **options: Any) -> list[pl.DataFrame]:
        cells.extend(at)
        return compute(self, at, **options)

    with mock.patch.object(Pipeline, "_thresholds_at", count):
        rows = evaluation.sql("SELECT score_threshold, lrp FROM thresholds WHERE iou_threshold = 0.75 AND is_best_lrp")
    assert {threshold for threshold, _ in cells[1:]} == {1}  # the first one is for the types
    assert rows["score_threshold"].to_list() == [0.9, 0.9]  # of all areas, and of small ones
    assert rows["lrp"].to_list() == pytest.approx([0.8, 0.8])
    everything = evaluation.sql("FROM thresholds ORDER BY ALL")
    assert everything["iou_threshold"].unique().sort().to_list() == [0.5, 0.75]
    one = evaluation.thresholds(0.75).drop("name")
    at = (pl.col("iou_threshold") == 0.75) & (pl.col("area_range").cast(pl.String) == "all")
    same = everything.filter(at).sort("category_id", "score_threshold", descending=[False, True])
    assert_frame_equal(same.drop("area_range"), one.drop("area_range"), abs_tol=0, rel_tol=0)


@pytest.mark.parametrize("beta", [0, -1, float("inf"), float("nan"), "2", True, None])
def test_beta_is_a_number_above_zero(beta: Any) -> None:
    with pytest.raises(ParameterError, match="beta must be a number above 0"):
        evaluate(EXPECTED, FOUND).thresholds(beta=beta)


def test_all_categories_together_have_one_threshold(street: tuple[str, apf.Evaluation]) -> None:
    table = street[1].thresholds(0.5, per_category=False)
    best = table.filter("is_best")
    expected = street[1].operating_points("f1", 0.5, per_category=False)
    assert best.drop(pl.selectors.starts_with("is_best")).equals(expected.drop("criterion"))
    per_category = street[1].thresholds(0.5).group_by("category_id").agg(pl.col("tp", "fp").last()).select("tp", "fp").sum()
    assert table.select("tp", "fp").row(-1) == per_category.row(0)
    with pytest.raises(ParameterError, match="category: cannot be given with per_category=False"):
        street[1].thresholds(0.5, category="car", per_category=False)

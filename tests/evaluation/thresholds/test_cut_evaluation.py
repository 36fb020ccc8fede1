"""Score thresholds that were chosen on other data: counts by hand, slices, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeError, ColumnError, IdTypeError, InputError, MissingThresholdWarning, ParameterError
from tests.evaluation.thresholds.test_sweep import EXPECTED, FOUND, evaluate

STREET = Path(__file__).parents[3] / "data" / "street"
COUNTS = ["tp", "fp", "fn"]
# a cat and a dog in each of two images
TWO = [(1, 1, 0), (2, 1, 0), (1, 2, 50), (2, 2, 50)]
FOUND_TWO = [(1, 1, 0, 10, 0.9), (2, 1, 0, 10, 0.4), (2, 1, 300, 10, 0.6), (1, 2, 50, 10, 0.8), (1, 2, 300, 10, 0.3)]
CUT = {"category_id": [1, 2], "score_threshold": [0.5, 0.2]}


@pytest.fixture(scope="module")
def street() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json") for model in "ab"]


def test_counts_and_rates_by_hand() -> None:
    cut = evaluate(TWO, FOUND_TWO, n_images=4).at(CUT)
    expected = {"tp": 2, "fp": 2, "fn": 2, "precision": 0.5, "recall": 0.5, "f1": 0.5, "fppi": 0.5, "n_images": 4}
    assert cut.overall.row(0, named=True) == expected
    each = cut.by(level="category").select("category_id", "name", *COUNTS)
    assert each.rows() == [(1, "cat", 1, 1, 1), (2, "dog", 1, 1, 1)]
    assert cut.per_image().rows() == [
        (1, 1, "cat", 1, 0, 0),
        (1, 2, "dog", 1, 1, 0),
        (2, 1, "cat", 0, 1, 1),
        (2, 2, "dog", 0, 0, 1),
    ]
    assert repr(cut) == "CutEvaluation(IoU 0.5, all: precision 0.500, recall 0.500, f1 0.500, fppi 0.500)"


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_what_has_no_value_is_null() -> None:
    nothing = evaluate([], FOUND_TWO[:1]).at(0.95).by(level="category")
    assert nothing.select("precision", "recall", "f1", "fppi").rows() == [(None, None, None, 0.0)] * 2
    only_found = evaluate([(1, 2, 0)], FOUND_TWO[:1]).at(0.5).by(level="category")
    assert only_found.select("precision", "recall", "f1").rows() == [(0.0, None, None), (None, 0.0, 0.0)]


@pytest.mark.parametrize("given", [0.5, {"cat": 0.5, 2: 0.5}, pl.DataFrame({"category_id": [None], "score_threshold": [0.5]})])
def test_one_number_for_all_categories(given: Any) -> None:
    cut = evaluate(TWO, FOUND_TWO).at(given)
    assert cut.thresholds.rows() == [(1, "cat", 0.5), (2, "dog", 0.5)]
    assert cut.overall.select(COUNTS).row(0) == (2, 1, 2)


@pytest.mark.slow
def test_pooled_categories_have_one_threshold() -> None:
    pooled = evaluate(TWO, FOUND_TWO, agnostic=True)
    for given in (0.5, evaluate(TWO, FOUND_TWO).operating_points("score>=0.5", per_category=False)):
        cut = pooled.at(given)
        assert cut.thresholds.rows() == [(None, None, 0.5)]
        assert cut.overall.select(COUNTS).row(0) == (2, 1, 2)
        assert cut.per_image().rows() == [(1, None, None, 2, 0, 0), (2, None, None, 0, 1, 2)]
        with pytest.raises(ParameterError, match="the categories are pooled: there is no level"):
            cut.by(level="category")
    for wrong in (CUT, {"cat": 0.5, "dog": 0.5}):
        with pytest.raises(ParameterError, match=r"but the categories are pooled; give one number, or choose with"):
            pooled.at(wrong)


def test_thresholds_say_where_they_were_chosen() -> None:
    evaluation = evaluate(TWO, FOUND_TWO, iou_thresholds=[0.5, 0.75])
    chosen = evaluation.operating_points("f1", 0.75, "small")
    cut = evaluation.at(chosen)
    assert (cut.iou_threshold, cut.area_range) == (0.75, "small")
    other = evaluation.at(chosen, 0.5, "all")
    assert (other.iou_threshold, other.area_range) == (0.5, "all")
    assert evaluation.at(CUT).iou_threshold == 0.5
    with pytest.raises(ParameterError, match=r"0\.75 was not evaluated"):
        evaluate(TWO, FOUND_TWO).at(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["f1", "f2", "lrp", "precision>=.7", "fppi<=.1", "score>=.3"])
def test_on_the_data_they_were_chosen_on_the_counts_are_the_same(criterion: str, street: list[apf.Evaluation]) -> None:
    chosen = street[0].operating_points(criterion, 0.5)
    rows = street[0].at(chosen).by(level="category")
    assert rows.select("category_id", *COUNTS).rows() == chosen.select("category_id", *COUNTS).rows()
    for rate in ("precision", "recall", "f1", "fppi"):
        assert rows[rate].to_list() == pytest.approx(chosen[rate].to_list(), abs=1e-12)
    one = street[0].operating_points(criterion, 0.5, per_category=False)
    assert street[0].at(one).overall.select(COUNTS).row(0) == one.select(COUNTS).row(0)


@pytest.mark.slow
def test_slices_add_up_and_are_those_of_subsets(street: list[apf.Evaluation]) -> None:
    chosen = street[0].operating_points("f1", 0.5)
    cut = street[1].at(chosen)
    weather = cut.by("weather")
    assert weather.select(pl.sum(*COUNTS, "n_images")).row(0) == cut.overall.select(*COUNTS, "n_images").row(0)
    for row in weather.rows(named=True):
        part = street[1].where(pl.col("weather") == row["weather"]).at(chosen)
        assert part.overall.row(0, named=True) == {name: row[name] for name in part.overall.columns}
    together = cut.by("supercategory", "weather", marginals=True)
    assert together.filter(pl.col("rolled_up") == "supercategory").select(weather.columns).equals(weather)
    assert together.tail(1).select(COUNTS).row(0) == cut.overall.select(COUNTS).row(0)


@pytest.mark.slow
def test_slices_of_objects_are_matched_again(street: list[apf.Evaluation]) -> None:
    chosen = street[0].operating_points("f1", 0.5)
    cut = street[1].at(chosen)
    occlusion = cut.by(apf.bins("occlusion", [0, 0.3, 1]), "weather", level="category")
    near = street[1].where(pl.col("occlusion") < 0.3, pl.col("weather") == "rain").at(chosen).by(level="category")
    same = occlusion.filter(pl.col("occlusion").cast(pl.String) == "[0, 0.3)", pl.col("weather") == "rain")
    assert same.drop("occlusion", "weather").equals(near)
    several = cut.by(
        {"near and dry": [pl.col("occlusion") < 0.3, pl.col("weather") == "clear"], "wet": pl.col("weather") == "rain"}
    )
    dry = street[1].where(pl.col("occlusion") < 0.3, pl.col("weather") == "clear").at(chosen).overall
    assert several.head(1).drop("slice").equals(dry)
    assert several.tail(1).select(COUNTS).equals(cut.by("weather").filter(pl.col("weather") == "rain").select(COUNTS))


@pytest.mark.slow
def test_slices_of_detections_leave_the_others_out() -> None:
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}],
             "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}]}  # fmt: skip
    detections = [
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": score, "source": source}
        for score, source in ((0.9, "lidar"), (0.8, "camera"), (0.1, "camera"))
    ]
    cut = apf.evaluate(truth, detections).at(0.5)
    assert cut.overall.select(COUNTS).row(0) == (1, 1, 0)
    assert cut.by("source").select("source", *COUNTS).rows() == [("camera", 1, 0, 0), ("lidar", 1, 0, 0)]


@pytest.mark.slow
def test_policies_match_again_at_the_cut() -> None:
    """One annotation; .9 overlaps it by .43, .2 by 1: at .5 the first has it."""
    detections = [(1, 1, 0, 5, 0.9), (1, 1, 0, 10, 0.2)]
    for matching in ("similarity", "optimal"):
        evaluation = evaluate([(1, 1, 0)], detections, matching=matching)
        assert evaluation.at(0.1).overall.select(COUNTS).row(0) == (1, 1, 0)
        assert evaluation.at(0.5).overall.select(COUNTS).row(0) == (1, 0, 0)


def test_a_null_threshold_leaves_all_detections_out() -> None:
    evaluation = evaluate(TWO, FOUND_TWO)
    with pytest.warns(MissingThresholdWarning, match="1 of 2 score thresholds is null: no detection of 'dog' counts"):
        cut = evaluation.at({"category_id": [1, 2], "score_threshold": [0.5, None]})
    assert cut.by(level="category").select(COUNTS).rows() == [(1, 1, 1), (0, 0, 2)]
    chosen = evaluation.operating_points("recall>=0.9")
    with pytest.warns(MissingThresholdWarning):
        assert evaluation.at(chosen).overall.select(COUNTS).row(0) == chosen.select(pl.sum(*COUNTS)).row(0)


@pytest.mark.slow
def test_thresholds_travel_as_files_and_any_frame(tmp_path: Path) -> None:
    evaluation = evaluate(TWO, FOUND_TWO)
    chosen = evaluation.operating_points("f1")
    chosen.write_csv(tmp_path / "cut.csv")
    chosen.write_parquet(tmp_path / "cut.parquet")
    expected = evaluation.at(chosen).overall
    for given in (tmp_path / "cut.csv", str(tmp_path / "cut.parquet"), chosen.lazy(), chosen.to_arrow(), chosen.reverse()):
        assert evaluation.at(given).overall.equals(expected)


def test_text_ids() -> None:
    truth = {"images": [{"id": "x"}], "categories": [{"id": "c", "name": "cat"}],
             "annotations": [{"id": "a", "image_id": "x", "category_id": "c", "bbox": [0, 0, 9, 9]}]}  # fmt: skip
    evaluation = apf.evaluate(truth, [{"image_id": "x", "category_id": "c", "bbox": [0, 0, 9, 9], "score": 0.7}])
    assert evaluation.at(evaluation.operating_points("f1")).per_image().rows() == [("x", "c", "cat", 1, 0, 0)]


BAD: dict[str, tuple[Any, type[ApframeError], str]] = {
    "a criterion": ("f1", ParameterError, r"'f1' is a criterion, not a table of thresholds; choose them on other data"),
    "NaN": (float("nan"), ParameterError, "must be a number, not nan"),
    "a flag": (True, ParameterError, "must be a number, not True"),
    "no scores": ({"category_id": [1, 2], "score": [0.5, 0.5]}, ColumnError, "thresholds: no column score_threshold"),
    "texts": ({"category_id": [1, 2], "score_threshold": ["x", "y"]}, ColumnError, "numbers are needed, not String"),
    "NaN in a table": (CUT | {"score_threshold": [0.5, float("nan")]}, InputError, "NaN is no score; use null"),
    "no rows": (pl.DataFrame(CUT).clear(), InputError, "thresholds has no rows"),
    "twice": ({"category_id": [1, 1, 2], "score_threshold": [0.1, 0.2, 0.3]}, InputError, "several thresholds for category 1"),
    "a category is missing": (pl.DataFrame(CUT).head(1), InputError, "no row for category 'dog'; choose"),
    "an unknown one": ({"category_id": [1, 2, 7], "score_threshold": [0.5] * 3}, InputError, "category 7 is not evaluated"),
    "both": (CUT | {"category_id": [1, 7]}, InputError, "no row for category 'dog'; category 7 is not evaluated"),
    "one for all, and others": ({"category_id": [None, 1], "score_threshold": [0.5, 0.5]}, InputError, "give only this row"),
    "other names": (CUT | {"name": ["cat", "cow"]}, InputError, "category 2 is 'cow' there, and 'dog' in the evaluation"),
    "ids of another type": ({"category_id": ["1", "2"], "score_threshold": [0.5, 0.5]}, IdTypeError, "holds strings"),
    "two IoU thresholds": (CUT | {"iou_threshold": [0.5, 0.75]}, InputError, "has 2 values of iou_threshold; filter"),
    "one number of two": ({"cat": 0.5}, ParameterError, "thresholds: no number for 'dog'; give one for every category"),
    "an unknown name": ({"cat": 0.5, "cow": 0.5}, ApframeError, "cow"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "error", "message"), BAD.values(), ids=BAD)
def test_thresholds_that_cannot_be_used(given: Any, error: type[ApframeError], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate(TWO, FOUND_TWO).at(given)


def test_bad_slices() -> None:
    cut = evaluate(EXPECTED, FOUND).at(0.5)
    for keys, options, message in (
        (["nothing"], {}, "nothing"),
        ([], {"level": "image"}, "level"),
        (["name", "name"], {}, "twice"),
    ):
        with pytest.raises(ApframeError, match=message):
            cut.by(*keys, **options)


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
@pytest.mark.parametrize("n_images", [0, 1])
@pytest.mark.parametrize("categories", [[], [{"id": 1, "name": "cat"}]])
def test_without_images_or_categories_everything_is_zero_or_null(n_images: int, categories: list[Any]) -> None:
    truth = {"images": [{"id": 1}][:n_images], "categories": categories, "annotations": []}
    evaluation = apf.evaluate(truth, [])
    cut = evaluation.at(0.5)
    row = cut.overall.row(0, named=True)
    assert [row[name] for name in (*COUNTS, "precision", "recall", "f1")] == [0, 0, 0, None, None, None]
    assert (row["fppi"], row["n_images"]) == ((0.0, 1) if n_images else (None, 0))
    assert cut.per_image().is_empty()
    each = cut.by(level="category")
    assert each.height == len(categories)
    for table in (evaluation.lrp(), evaluation.miss_rates(), evaluation.froc()):
        assert table.height == 2 * len(categories)


@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_points_of_no_categories_are_no_rows() -> None:
    evaluation = apf.evaluate({"images": [{"id": 1}], "categories": [], "annotations": []}, [])
    assert evaluation.at(evaluation.operating_points("f1")).overall.select(COUNTS).row(0) == (0, 0, 0)


@pytest.mark.slow
def test_what_is_stored_or_pickled_is_the_same(tmp_path: Path, street: list[apf.Evaluation]) -> None:
    chosen = street[0].operating_points("f1", 0.5)
    street[0].write_parquet(tmp_path / "run")
    back = apf.read_evaluation(tmp_path / "run")
    assert back.operating_points("f1", 0.5).equals(chosen)
    cut = street[0].at(chosen)
    for same in (back.at(chosen), pickle.loads(pickle.dumps(cut))):
        assert same.by("weather").equals(cut.by("weather"))

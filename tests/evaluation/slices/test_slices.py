"""Slices of a tiny data set, with all numbers by hand; the parts of an evaluation and what these give."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import NoAnnotationsWarning, ParameterError, UnknownCategoryWarning
from apframe.matching.match_input import MatchInput
from apframe.matching.regroup import regroup
from apframe.tables.result_tables import SUPPORT
from tests.parity.reference import Slice, close, evaluate_by_reference, mean_stats, support

STREET = Path(__file__).resolve().parents[3] / "data" / "street"
METRICS = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]
HALF = 51 / 101  # AP of one of two annotations, found without a false positive
THIRD = 34 / 101  # of one of three


def boxes(places: list[int]) -> dict[str, list[int]]:
    """Equal places are equal boxes, different ones do not touch."""
    return {
        "x": [100 * place for place in places], "y": [0] * len(places),
        "width": [10] * len(places), "height": [10] * len(places),
    }  # fmt: skip


IMAGES = {
    "image_id":  [1, 2, 3],
    "weather":   ["sun", "rain", None],
    "hour":      [6, 6, 18],
}  # fmt: skip
CATEGORIES = {
    "category_id":   [1, 2, 3],
    "name":          ["cat", "dog", "car"],
    "supercategory": ["animal", "animal", "vehicle"],
}  # fmt: skip
ANNOTATIONS = {
    "annotation_id": [1, 2, 3, 4, 5, 6, 7],
    "image_id":      [1, 1, 1, 2, 2, 3, 3],
    "category_id":   [1, 1, 3, 1, 2, 3, 3],
    **boxes([         1, 2, 3, 1, 2, 1, 5]),
    "is_crowd":      [False, False, False, False, False, False, True],
    "occlusion":     [0.0, 0.6, None, 0.2, 1.0, 0.0, 0.0],
    "colour":        ["red", "blue", "red", "red", None, "blue", "blue"],
}  # fmt: skip
DETECTIONS = {
    "detection_id": [1, 2, 3, 4, 5, 6, 7],
    "image_id":     [1, 1, 1, 1, 2, 2, 3],
    "category_id":  [1, 1, 1, 3, 1, 2, 3],
    "score":        [0.9, 0.8, 0.7, 0.6, 0.95, 0.5, 0.4],
    # finds annotation 1, 2, none, 3, none, 5, 7 (a crowd); 4 and 6 are missed
    **boxes([        1, 2, 9, 3, 8, 2, 5]),
    "colour":       ["red", "blue", "red", None, "blue", None, "blue"],
    "source":       ["lidar", "camera", "camera", "lidar", "lidar", None, "camera"],
}  # fmt: skip
CAT = 67 * (2 / 3) / 101  # of all cats: false, true, true, false, and one is missed


def evaluated(**options: Any) -> apf.Evaluation:
    return apf.evaluate(apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS), DETECTIONS, **options)


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    return evaluated()


def assert_slices(table: pl.DataFrame, keys: list[str], expected: dict[Any, tuple[float | None, int, int, int, int]]) -> None:
    """AP and the support of each slice, in this order; all matches are exact, so that AP50 and AP75 are AP."""
    assert table.select(keys).rows() == [key if isinstance(key, tuple) else (key,) for key in expected]
    for row, (ap, *counts) in zip(table.iter_rows(named=True), expected.values(), strict=True):
        assert [row["AP"], row["AP50"], row["AP75"]] == close([ap] * 3)
        assert [row[name] for name in SUPPORT] == counts


# ---- keys of each table


@pytest.mark.slow
def test_key_of_the_images(evaluation: apf.Evaluation) -> None:
    expected = {"rain": (0.5, 1, 2, 2, 2), "sun": (1, 1, 3, 4, 2), None: (0, 1, 1, 0, 1)}
    assert_slices(evaluation.by("weather"), ["weather"], expected)
    assert_slices(evaluation.by("images.weather"), ["weather"], expected)


def test_key_of_the_categories(evaluation: apf.Evaluation) -> None:
    expected = {"animal": ((CAT + 1) / 2, 3, 4, 5, 2), "vehicle": (HALF, 3, 2, 1, 1)}
    assert_slices(evaluation.by("supercategory"), ["supercategory"], expected)


def test_key_of_the_annotations_ignores_what_is_outside(evaluation: apf.Evaluation) -> None:
    # were the other annotations left out, detections 2, 4 and 6 would be false in the first slice
    expected = {
        "[0, 0.5)": ((HALF / 2 + 0) / 2, 3, 3, 3, 2),
        "[0.5, 1]": ((1 / 2 + 1) / 2, 3, 2, 4, 2),
        None: (1, 3, 1, 3, 1),
    }
    assert_slices(evaluation.by(apf.bins("occlusion", [0, 0.5, 1])), ["occlusion"], expected)


def test_a_key_of_both_tables_ignores_the_unmatched_outside(evaluation: apf.Evaluation) -> None:
    # detection 3 is red, 5 is blue, neither finds anything; 4 has no colour, and counts with the red one that it finds
    expected = {"blue": (1 / 4, 3, 2, 2, 2), "red": ((HALF + 1) / 2, 3, 3, 3, 2), None: (1, 3, 1, 1, 1)}
    assert_slices(evaluation.by("colour"), ["colour"], expected)


def test_key_of_the_annotations_side_counts_all_unmatched(evaluation: apf.Evaluation) -> None:
    expected = {"blue": (1 / 4, 3, 2, 3, 2), "red": ((HALF / 2 + 1) / 2, 3, 3, 4, 2), None: (1, 3, 1, 3, 1)}
    assert_slices(evaluation.by("annotations.colour"), ["colour"], expected)


def test_key_of_the_detections_removes_the_others(evaluation: apf.Evaluation) -> None:
    expected = {
        "camera": (THIRD / 3, 3, 6, 2, 3),
        "lidar": ((THIRD / 2 + HALF) / 3, 3, 6, 3, 3),
        None: (1 / 3, 3, 6, 1, 3),
    }
    assert_slices(evaluation.by("source"), ["source"], expected)


def test_key_of_the_detections_side_removes_the_others(evaluation: apf.Evaluation) -> None:
    expected = {
        "blue": (THIRD / 2 / 3, 3, 6, 2, 3),
        "red": (THIRD / 3, 3, 6, 2, 3),
        None: ((1 + HALF) / 3, 3, 6, 2, 3),
    }
    assert_slices(evaluation.by("detections.colour"), ["colour"], expected)


def test_ids_are_keys_of_the_tables_that_they_name(evaluation: apf.Evaluation) -> None:
    assert_slices(evaluation.by("image_id"), ["image_id"], {1: (1, 1, 3, 4, 2), 2: (0.5, 1, 2, 2, 2), 3: (0, 1, 1, 0, 1)})
    expected = {1: (CAT, 3, 3, 4, 1), 2: (1, 3, 1, 1, 1), 3: (HALF, 3, 2, 1, 1)}
    assert_slices(evaluation.by("category_id"), ["category_id"], expected)
    assert evaluation.by("name")["AP"].to_list() == close([HALF, CAT, 1])  # car, cat, dog


@pytest.mark.slow
@pytest.mark.parametrize(("key", "n_detections", "ap"), [("colour", 0, 0), ("annotations.colour", 2, 0), ("source", 1, 1)])
def test_max_detections_applies_before_slicing_but_after_removal(key: str, n_detections: int, ap: float) -> None:
    # a key that both sides carry leaves the third detection beyond the limit; one of the detections takes away what is above
    one = {"image_id": [1], "category_id": [1], **boxes([3]), "colour": ["red"]}
    three = {
        "image_id": [1] * 3, "category_id": [1] * 3, "score": [0.9, 0.8, 0.7], **boxes([1, 2, 3]),
        "colour": ["blue", "blue", "red"], "source": ["blue", "blue", "red"],
    }  # fmt: skip
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, one)
    evaluation = apf.evaluate(truth, three, max_detections=[2])
    column, is_red = key.rpartition(".")[2], pl.col(key) == "red"
    row = evaluation.by(key).row(by_predicate=pl.col(column) == "red", named=True)
    assert [row["AP"], row["n_annotations"]] == close([ap, 1])
    assert row["n_detections"] == n_detections  # by the annotations' side alone, the two above the limit are false
    assert evaluation.by({"red": is_red}).row(0)[1:] == evaluation.by(key).row(by_predicate=pl.col(column) == "red")[1:]
    assert evaluation.where(is_red).summary["value"][0] == row["AP"]


# ---- values of columns, and lists


@pytest.mark.slow
def test_chosen_values_alone_in_their_order(evaluation: apf.Evaluation) -> None:
    assert_slices(evaluation.by({"weather": ["sun", "rain"]}), ["weather"], {"sun": (1, 1, 3, 4, 2), "rain": (0.5, 1, 2, 2, 2)})
    assert_frame_equal(evaluation.by({"weather": "rain"}), evaluation.by("weather")[:1])
    assert evaluation.by({"weather": [None, "sun"]})["weather"].to_list() == [None, "sun"]


@pytest.mark.slow
def test_chosen_values_of_the_objects_are_those_slices_of_all(evaluation: apf.Evaluation) -> None:
    for key in ("colour", "annotations.colour", "detections.colour", "source", "supercategory"):
        table = evaluation.by(key)
        chosen = table[1, 0]
        assert_frame_equal(evaluation.by({key: [chosen]}), table.filter(pl.first() == chosen), check_row_order=False)


@pytest.mark.slow
def test_values_of_several_columns_and_keys_in_a_list(evaluation: apf.Evaluation) -> None:
    both = evaluation.by("weather", "colour")
    assert_frame_equal(evaluation.by(["weather", "colour"]), both)
    chosen = both.filter(pl.col("weather") == "sun", pl.col("colour").is_in(["blue", "red"]))
    assert_frame_equal(evaluation.by({"weather": ["sun"], "colour": ["blue", "red"]}), chosen)
    assert_frame_equal(evaluation.by({"weather": ["sun"]}, {"colour": ["blue", "red"]}), chosen)
    assert_frame_equal(evaluation.curves(by=["weather", "hour"]), evaluation.curves(by=("weather", "hour")))
    assert evaluation.curves(by=["weather", "hour"])["weather"].unique().sort().to_list() == ["rain", "sun"]


LISTS: dict[str, list[list[str | None] | None]] = {
    "images": [["wet", "dark"], ["wet", "wet"], []],
    "categories": [["soft"], ["soft", "loud"], None],
    "annotations": [["a", "b"], ["a"], None, ["b"], [], ["a"], ["a"]],
    "detections": [["a", "b"], ["b"], [], ["a"], None, ["b", None], ["a"]],
}


@pytest.mark.slow
@pytest.mark.parametrize("tables", [["images"], ["categories"], ["annotations"], ["annotations", "detections"], ["detections"]])
@pytest.mark.parametrize("dtype", [pl.List(pl.String), pl.List(pl.Categorical)])
def test_each_item_of_a_list_is_a_slice(tables: list[str], dtype: Any) -> None:
    columns_by_table = {"images": IMAGES, "categories": CATEGORIES, "annotations": ANNOTATIONS, "detections": DETECTIONS}
    frames = {name: pl.DataFrame(columns) for name, columns in columns_by_table.items()}
    for name in tables:
        frames[name] = frames[name].with_columns(pl.Series("tags", LISTS[name], dtype=dtype))
    detections = frames.pop("detections")
    ev = apf.evaluate(apf.Dataset(**frames), detections)
    table = ev.by("tags")
    items = sorted({item for name in tables for row in LISTS[name] for item in row or [] if item})
    assert table["tags"].to_list() == [*items, None]
    is_none = pl.col("tags").list.drop_nulls().list.len().fill_null(0) == 0
    conditions = {item: pl.col("tags").cast(pl.List(pl.String)).list.contains(item) for item in items} | {"none": is_none}
    assert_frame_equal(table.drop("tags"), ev.by(conditions).drop("slice"))
    assert_frame_equal(ev.by({"tags": items[:1]}).drop("tags"), table[:1].drop("tags"))
    rolled = ev.by("tags", "hour", marginals=True).filter(pl.col("rolled_up") == "tags, hour")
    assert_frame_equal(rolled.drop("tags", "hour", "rolled_up"), ev.by())


# ---- bins


def test_bins_are_closed_below_and_the_last_above(evaluation: apf.Evaluation) -> None:
    table = evaluation.by(apf.bins("occlusion", [0, 0.2, 0.6, 1]))
    assert table.select("occlusion", "n_annotations").rows() == [("[0, 0.2)", 2), ("[0.2, 0.6)", 1), ("[0.6, 1]", 2), (None, 1)]
    assert table.schema["occlusion"] == pl.Enum(["[0, 0.2)", "[0.2, 0.6)", "[0.6, 1]"])


def test_what_is_outside_all_bins_is_the_slice_null(evaluation: apf.Evaluation) -> None:
    table = evaluation.by(apf.bins("occlusion", [0.1, 0.3, 0.7], labels=["low", "high"]))
    assert table.select("occlusion", "n_annotations").rows() == [("low", 1), ("high", 1), (None, 4)]


@pytest.mark.slow
def test_slice_null_is_there_when_something_falls_in_it(evaluation: apf.Evaluation) -> None:
    assert evaluation.by(apf.bins("hour", [0, 12, 24]))["hour"].to_list() == ["[0, 12)", "[12, 24]"]
    assert evaluation.by(apf.bins("score", [0.4, 0.7, 0.95]))["score"].to_list() == ["[0.4, 0.7)", "[0.7, 0.95]"]
    assert evaluation.by(apf.bins("score", [0.4, 0.7, 0.9]))["score"].to_list() == ["[0.4, 0.7)", "[0.7, 0.9]", None]


@pytest.mark.slow
def test_quantiles_are_bins_between_quantiles() -> None:
    hours = {"image_id": [1, 2, 3, 4, 5], "hour": [0, 1, 2, 9, 10]}
    one = {"image_id": [1], "category_id": [1], **boxes([3])}
    evaluation = apf.evaluate(apf.Dataset(hours, {"category_id": [1]}, one), {**one, "score": [1.0]})
    halves, bins = evaluation.by(apf.quantiles("hour", 2)), evaluation.by(apf.bins("hour", [0, 2, 10]))
    assert_frame_equal(halves, bins)
    assert halves.select("hour", "n_images").rows() == [("[0, 2)", 2), ("[2, 10]", 3)]
    of_probabilities = evaluation.by(apf.quantiles("hour", [0, 0.25, 0.75]))
    assert of_probabilities.select("hour", "n_images").rows() == [("[0, 1)", 1), ("[1, 9]", 3), (None, 1)]


def test_detections_beyond_annotations_are_in_outer_quantiles() -> None:
    truth = apf.Dataset(
        {"image_id": [1]},
        {"category_id": [1]},
        {"image_id": [1] * 3, "category_id": [1] * 3, **boxes([3, 2, 1]), "n": [2, 4, 6]},
    )
    detections = {"image_id": [1] * 2, "category_id": [1] * 2, "score": [0.9, 0.8], **boxes([7, 9]), "n": [0, 8]}
    halves = apf.evaluate(truth, detections).by(apf.quantiles("n", 2))
    assert halves.select("n", "n_annotations", "n_detections").rows() == [("[2, 4)", 1, 1), ("[4, 6]", 2, 1)]


# ---- no key


def test_without_keys_there_is_one_slice_of_everything(evaluation: apf.Evaluation) -> None:
    assert list(evaluation.by().select(evaluation.summary["metric"].to_list()).row(0)) == close(
        evaluation.summary["value"].to_list()
    )
    each = evaluation.by(level="category")
    assert each.select("category_id", "name", "AP").rows() == evaluation.by("category_id", level="summary").with_columns(
        name=pl.Series(["cat", "dog", "car"])).select("category_id", "name", "AP").rows()  # fmt: skip


# ---- several keys


@pytest.mark.slow
def test_values_of_a_table_that_occur_times_those_of_others(evaluation: apf.Evaluation) -> None:
    table = evaluation.by("hour", "supercategory", "weather")
    images = [(6, "rain"), (6, "sun"), (18, None)]
    groups = [
        (hour, group, weather) for hour in (6, 18) for group in ("animal", "vehicle") for h, weather in images if h == hour
    ]
    assert table.select("hour", "supercategory", "weather").rows() == groups
    crossed = evaluation.by("weather", "colour", "source")
    expected = [
        (weather, colour, source)
        for weather in ("rain", "sun", None) for colour in ("blue", "red", None) for source in ("camera", "lidar", None)
    ]  # fmt: skip
    assert crossed.select("weather", "colour", "source").rows() == expected
    assert (crossed["n_images"] == 1).all()


def test_an_object_is_inside_every_key_and_the_area_range(evaluation: apf.Evaluation) -> None:
    row = evaluation.by(apf.bins("occlusion", [0, 0.5, 1]), "colour").row(
        by_predicate=(pl.col("occlusion") == "[0, 0.5)") & (pl.col("colour") == "red"), named=True
    )
    # cats 1 and 4 count: found, with one false (3), and missed
    assert [row["AP"], row["APs"], row["APm"]] == close([HALF, HALF, None])
    assert [row[name] for name in SUPPORT] == [3, 2, 2, 1]


def test_marginals_roll_up_every_subset_of_the_keys(evaluation: apf.Evaluation) -> None:
    table = evaluation.by("hour", "supercategory", marginals=True)
    assert table.columns == ["hour", "supercategory", "rolled_up", *METRICS, *SUPPORT]
    assert table.select("hour", "supercategory", "rolled_up", "n_annotations").rows()[:4] == [
        (6, "animal", "", 4), (6, "vehicle", "", 1), (18, "animal", "", 0), (18, "vehicle", "", 1)
    ]  # fmt: skip
    assert set(table.select("hour", "supercategory", "rolled_up", "n_annotations").rows()[4:]) == {
        (6, None, "supercategory", 5), (18, None, "supercategory", 1),
        (None, "animal", "hour", 4), (None, "vehicle", "hour", 2),
        (None, None, "hour, supercategory", 6),
    }  # fmt: skip
    assert table.schema["rolled_up"] == pl.String


def test_roll_up_is_told_from_the_slice_null(evaluation: apf.Evaluation) -> None:
    table = evaluation.by("weather", marginals=True).select("weather", "rolled_up", "n_images")
    assert table.rows() == [("rain", "", 1), ("sun", "", 1), (None, "", 1), (None, "weather", 3)]


# ---- the table


def test_columns_and_dtypes(evaluation: apf.Evaluation) -> None:
    schema = {"weather": pl.String, "hour": pl.Int64, **dict.fromkeys(METRICS, pl.Float64), **dict.fromkeys(SUPPORT, pl.Int64)}
    assert dict(evaluation.by("weather", "hour").schema) == schema
    assert list(evaluation.by("weather", "hour").schema) == list(schema)


def test_metrics_are_those_of_the_protocol() -> None:
    table = evaluated(area_ranges={"tiny": (0, 50)}, max_detections=[3, 7]).by("weather")
    assert table.columns == ["weather", "AP", "AP50", "AP75", "AP_tiny", "AR3", "AR7", "AR_tiny", *SUPPORT]


def test_level_of_categories_has_a_row_for_each(evaluation: apf.Evaluation) -> None:
    table = evaluation.by("weather", level="category")
    assert table.columns == ["weather", "category_id", "name", *METRICS, *SUPPORT]
    keys = ["weather", "category_id", "name", "AP", "AR100", *SUPPORT]
    assert table.select(keys).rows() == [
        ("rain", 1, "cat", 0.0, 0.0, 1, 1, 1, 1),
        ("rain", 2, "dog", pytest.approx(1), 1.0, 1, 1, 1, 1),
        ("rain", 3, "car", None, None, 1, 0, 0, 0),
        ("sun", 1, "cat", pytest.approx(1), 1.0, 1, 2, 3, 1),
        ("sun", 2, "dog", None, None, 1, 0, 0, 0),
        ("sun", 3, "car", pytest.approx(1), 1.0, 1, 1, 1, 1),
        (None, 1, "cat", None, None, 1, 0, 0, 0),
        (None, 2, "dog", None, None, 1, 0, 0, 0),
        (None, 3, "car", 0.0, 0.0, 1, 1, 0, 1),
    ]


def test_group_of_categories_has_a_row_for_each_of_its_own(evaluation: apf.Evaluation) -> None:
    table = evaluation.by("supercategory", level="category")
    assert table.select("supercategory", "name", "n_annotations").rows() == [
        ("animal", "cat", 3), ("animal", "dog", 1), ("vehicle", "car", 2)
    ]  # fmt: skip


# ---- named slices


def test_named_slices_overlap_and_keep_their_order(evaluation: apf.Evaluation) -> None:
    table = evaluation.by(
        {
            "visible": pl.col("occlusion") < 0.5,
            "red or visible": (pl.col("annotations.colour") == "red") | (pl.col("occlusion") < 0.5),
            "hidden": pl.col("occlusion") >= 0.5,
        }
    )
    assert table.columns == ["slice", *METRICS, *SUPPORT]
    assert table.select("slice", "n_annotations").rows() == [("visible", 3), ("red or visible", 4), ("hidden", 2)]


@pytest.mark.slow
def test_named_slices_by_conditions_on_several_tables_and_by_ids(evaluation: apf.Evaluation) -> None:
    table = evaluation.by(
        {
            "red at six": [pl.col("hour") == 6, pl.col("colour") == "red"],
            "first and last": [1, 3],
            "second": pl.Series([2]),
            "lidar of animals": [pl.col("source") == "lidar", pl.col("supercategory") == "animal"],
        }
    )
    expected = {
        "red at six": ((HALF + 1) / 2, 2, 3, 3, 2),
        "first and last": ((1 + HALF) / 2, 2, 4, 4, 2),
        "second": (0.5, 1, 2, 2, 2),
        "lidar of animals": (THIRD / 2 / 2, 3, 4, 2, 2),
    }
    assert_slices(table, ["slice"], expected)


def test_named_slices_times_a_column(evaluation: apf.Evaluation) -> None:
    table = evaluation.by("hour", {"red": pl.col("colour") == "red", "animals": pl.col("supercategory") == "animal"})
    assert table.select("hour", "slice", "n_annotations").rows() == [
        (6, "red", 3), (6, "animals", 4), (18, "red", 0), (18, "animals", 0)
    ]  # fmt: skip


@pytest.mark.slow
def test_named_slices_of_several_tables_times_bins(evaluation: apf.Evaluation) -> None:
    named = {"at six": pl.col("hour") == 6, "late": pl.col("hour") == 18, "animals": pl.col("supercategory") == "animal"}
    table = evaluation.by(named, apf.bins("occlusion", [0, 0.5, 1]))
    assert table.select("slice", "occlusion", "n_annotations").rows() == [
        ("at six", "[0, 0.5)", 2), ("at six", "[0.5, 1]", 2), ("at six", None, 1),
        ("late", "[0, 0.5)", 1), ("late", "[0.5, 1]", 0), ("late", None, 0),
        ("animals", "[0, 0.5)", 2), ("animals", "[0.5, 1]", 2), ("animals", None, 0),
    ]  # fmt: skip


def test_quantiles_are_those_of_all_rows_in_every_named_slice(evaluation: apf.Evaluation) -> None:
    table = evaluation.by(
        {"at six": pl.col("hour") == 6, "animals": pl.col("supercategory") == "animal"}, apf.quantiles("score", 2)
    )
    # the scores are .4 .5 .6 | .7 .8 .9 .95; that of the car in image 3 is the lowest
    assert table.select("slice", "score", "n_detections").rows() == [
        ("at six", "[0.4, 0.7)", 2), ("at six", "[0.7, 0.95]", 4),
        ("animals", "[0.4, 0.7)", 1), ("animals", "[0.7, 0.95]", 4),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (pl.col("colour") == "green", (None, 3, 0, 0, 0)),
        (pl.col("annotations.colour") == "green", (None, 3, 0, 2, 0)),
        (pl.col("source") == "radar", (0, 3, 6, 0, 3)),
    ],
    ids=["objects", "annotations", "detections"],
)
def test_named_slice_of_nothing_has_a_row(
    evaluation: apf.Evaluation, condition: pl.Expr, expected: tuple[float | None, int, int, int, int]
) -> None:
    red = ((HALF + 1) / 2, 3, 3, 3, 2)
    assert_slices(evaluation.by({"nothing": condition}), ["slice"], {"nothing": expected})
    both = {"red": pl.col("colour") == "red", "nothing": condition}
    assert_slices(evaluation.by(both), ["slice"], {"red": red, "nothing": expected})
    with nullcontext() if expected[2] else pytest.warns(NoAnnotationsWarning, match="where: no annotation"):
        part = evaluation.where(condition)
    assert part.summary["value"][0] == expected[0]


def test_roll_up_is_there_without_a_row_of_the_table() -> None:
    none = pl.DataFrame(DETECTIONS).clear()
    table = apf.evaluate(apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS), none).by("source", "weather", marginals=True)
    assert table.select("source", "weather", "rolled_up", "n_annotations").rows() == [
        (None, "rain", "source", 2), (None, "sun", "source", 3), (None, None, "source", 1), (None, None, "source, weather", 6)
    ]  # fmt: skip


def test_roll_ups_of_named_slices_of_several_tables(evaluation: apf.Evaluation) -> None:
    named = {"at six": pl.col("hour") == 6, "animals": pl.col("supercategory") == "animal"}
    table = evaluation.by(named, marginals=True)
    assert table.select("slice", "rolled_up", "n_annotations").rows() == [
        ("at six", "", 5), ("animals", "", 4), (None, "slice", 6)
    ]  # fmt: skip


# ---- parts


def test_null_predicate_is_outside(evaluation: apf.Evaluation) -> None:
    inside = evaluation.by({"rain": pl.col("weather") == "rain", "no rain": pl.col("weather") != "rain"})
    assert inside["n_images"].to_list() == [1, 1]
    assert evaluation.where(pl.col("weather") != "rain").by("image_id")["image_id"].to_list() == [1]


@pytest.mark.parametrize("ids", [[1, 2], pl.Series([2, 1]), (1, 2), np.array([1, 2])], ids=["list", "Series", "tuple", "NumPy"])
def test_part_of_listed_images(evaluation: apf.Evaluation, ids: Any) -> None:
    assert_frame_equal(evaluation.where(ids).summary, evaluation.where(pl.col("hour") == 6).summary, check_exact=True)


PARTS: dict[str, list[Any]] = {
    "images": [pl.col("hour") == 6],
    "categories": [pl.col("supercategory") == "animal"],
    "objects": [pl.col("colour") == "red"],
    "annotations": [pl.col("occlusion") < 0.5],
    "detections": [pl.col("source") == "lidar"],
    "several": [pl.col("hour") == 6, pl.col("occlusion") < 0.5, pl.col("colour") == "red", pl.col("score") > 0.6],
}


@pytest.mark.slow
@pytest.mark.parametrize("conditions", PARTS.values(), ids=PARTS)
def test_part_is_an_evaluation(evaluation: apf.Evaluation, conditions: list[Any], tmp_path: Path) -> None:
    part = evaluation.where(*conditions)
    row = evaluation.by({"part": conditions}).row(0, named=True)
    assert part.summary["metric"].to_list() == METRICS
    assert part.summary["value"].to_list() == close(row[name] for name in METRICS)
    np.testing.assert_array_equal(part.stats, part.summary["value"].fill_null(-1))
    assert part.arrays()["recall"].shape[1] == part.metrics["category_id"].n_unique()
    matches = part.matches()
    assert matches.filter(pl.col("outcome").is_in(["tp", "fp"])).height == row["n_detections"]
    assert matches.filter(pl.col("outcome").is_in(["tp", "fn"])).height == row["n_annotations"]
    assert part.curves().height == row["n_detections"]
    query = "SELECT outcome, count(*) AS n FROM matches WHERE iou_threshold = 0.5 AND area_range = 'all' GROUP BY outcome"
    assert dict(part.sql(query).rows()) == dict(matches["outcome"].value_counts().rows())
    shown = "SELECT avg(ap) FROM metrics WHERE area_range = 'all' AND max_detections = 100"
    assert part.sql(shown).item() == pytest.approx(row["AP"], rel=0, abs=1e-12)
    assert str(part).startswith(" Average Precision")
    part.write_parquet(tmp_path / "part")
    again = apf.read_evaluation(tmp_path / "part")
    for name in ("summary", "metrics", "pairs", "assignments"):
        assert_frame_equal(getattr(again, name), getattr(part, name), check_exact=True)
    assert_frame_equal(again.matches(), matches, check_exact=True)
    assert_frame_equal(again.by("hour", "colour"), part.by("hour", "colour"), check_exact=True)
    narrower = [pl.col("image_id") == 1, pl.col("area") < 1e4]
    assert_frame_equal(again.where(*narrower).summary, part.where(*narrower).summary, check_exact=True)


def test_matches_of_a_part_by_hand(evaluation: apf.Evaluation) -> None:
    matches = evaluation.where(pl.col("colour") == "red").matches()
    assert dict(matches.drop_nulls("detection_id").select("detection_id", "outcome").sort("detection_id").rows()) == {
        1: "tp", 2: "ignored", 3: "fp", 4: "tp", 5: "ignored", 6: "ignored", 7: "ignored"
    }  # fmt: skip
    assert matches.filter(pl.col("outcome") == "fn")["annotation_id"].to_list() == [4]


def test_part_of_a_part_is_and(evaluation: apf.Evaluation) -> None:
    first, second = pl.col("hour") == 6, pl.col("occlusion") < 0.5
    assert_frame_equal(evaluation.where(first).where(second).metrics, evaluation.where(first, second).metrics, check_exact=True)


def test_part_without_conditions_is_the_whole(evaluation: apf.Evaluation) -> None:
    assert_frame_equal(evaluation.where().summary, evaluation.summary, check_exact=True)


@pytest.mark.slow
def test_part_leaves_the_whole_as_it_is(evaluation: apf.Evaluation) -> None:
    before, matches = evaluation.by("weather"), evaluation.matches()
    assert evaluation.where(pl.col("weather") == "rain", pl.col("colour") == "red").metrics.height == evaluation.metrics.height
    assert_frame_equal(evaluation.by("weather"), before, check_exact=True)
    assert_frame_equal(evaluation.matches(), matches, check_exact=True)
    assert_frame_equal(evaluated().metrics, evaluation.metrics, check_exact=True)


def test_images_without_matches_have_a_row(evaluation: apf.Evaluation) -> None:
    high = evaluation.per_image(0.5, "large", min_score=2)
    assert high.select("tp", "fp", "fn").sum().row(0) == (0, 0, 0)
    assert high.height == len(IMAGES["image_id"])
    none = {name: values[:0] for name, values in ANNOTATIONS.items()}
    with pytest.warns(NoAnnotationsWarning):
        nothing = apf.evaluate(apf.Dataset(IMAGES, CATEGORIES, none), pl.DataFrame(DETECTIONS).clear())
    assert nothing.per_image().height == len(IMAGES["image_id"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["group", "row", "code", "member", "image", "0"])
def test_attribute_may_have_any_name(name: str) -> None:
    images, annotations = (pl.DataFrame(table) for table in (IMAGES, ANNOTATIONS))
    of_images = apf.Dataset(images.rename({"weather": name}), CATEGORIES, annotations)
    expected = evaluated().by("weather", "source", marginals=True).drop("rolled_up")
    assert apf.evaluate(of_images, DETECTIONS).by(name, "source", marginals=True).drop("rolled_up").rows() == expected.rows()
    of_objects = apf.Dataset(images, CATEGORIES, annotations.rename({"occlusion": name}))
    assert apf.evaluate(of_objects, DETECTIONS).by(name).rows() == evaluated().by("occlusion").rows()


def test_without_categories_there_is_nothing_to_average() -> None:
    none = {name: values[:0] for name, values in ANNOTATIONS.items()}
    with pytest.warns(NoAnnotationsWarning):
        nothing = apf.evaluate(apf.Dataset(IMAGES, {"category_id": []}, none), pl.DataFrame(DETECTIONS).clear())
    assert nothing.by().select("AP", "n_images", "n_categories").rows() == [(None, 3, 0)]


def test_sql_is_kept_as_the_condition(evaluation: apf.Evaluation) -> None:
    assert evaluation.where("weather = 'rain'").conditions == ("weather = 'rain'",)


@pytest.mark.slow
def test_conditions_are_told(evaluation: apf.Evaluation, tmp_path: Path) -> None:
    part = evaluation.where(pl.col("weather") == "rain").where([2])
    assert part.conditions == (str(pl.col("weather") == "rain"), "1 image")
    assert repr(part).endswith(f"where {' and '.join(part.conditions)})")
    part.write_parquet(tmp_path / "part")
    assert apf.read_evaluation(tmp_path / "part").conditions == part.conditions


def test_curves_of_no_slice_are_an_error() -> None:
    none = {name: values[:0] for name, values in ANNOTATIONS.items()}
    with pytest.warns(NoAnnotationsWarning):
        nothing = apf.evaluate(apf.Dataset(IMAGES, CATEGORIES, none), DETECTIONS)
    with pytest.raises(ParameterError, match="there are no slices"):
        nothing.curves(by="occlusion")


# ---- where the tables come from


@pytest.mark.slow
def test_attributes_of_files_are_read(evaluation: apf.Evaluation, tmp_path: Path) -> None:
    truth, results = tmp_path / "truth.json", tmp_path / "results.json"
    apf.write_coco(evaluation.dataset, truth)
    apf.write_coco_results(evaluation.detections, results)
    of_files = apf.evaluate(truth, results)
    for key in ("weather", "supercategory", apf.bins("occlusion", [0, 0.5, 1]), "colour", "source"):
        assert_frame_equal(of_files.by(key), evaluation.by(key), check_exact=True)
    condition = pl.col("occlusion") < 0.5
    assert_frame_equal(apf.evaluate(truth, results).where(condition).summary, evaluation.where(condition).summary)


@pytest.mark.slow
def test_stored_evaluation_has_slices(evaluation: apf.Evaluation, tmp_path: Path) -> None:
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    for key in ("weather", "supercategory", "occlusion", "colour", "source"):
        assert_frame_equal(again.by(key), evaluation.by(key), check_exact=True)


@pytest.mark.slow
def test_slices_of_chosen_categories() -> None:
    table = evaluated(categories=["cat", "car"]).by("supercategory")
    assert_slices(table, ["supercategory"], {"animal": (CAT, 3, 3, 4, 1), "vehicle": (HALF, 3, 2, 1, 1)})
    assert evaluated(categories=["cat"]).by("colour", level="category")["name"].unique().to_list() == ["cat"]


def test_slices_of_pooled_categories() -> None:
    table = evaluated(agnostic=True).by("weather")
    # rain: false, true, and one is missed; sun: true, true, false, true
    assert_slices(table, ["weather"], {
        "rain": (HALF / 2, 1, 2, 2, 1), "sun": ((67 + 34 * 3 / 4) / 101, 1, 3, 4, 1), None: (0, 1, 1, 0, 1),
    })  # fmt: skip


@pytest.mark.slow
def test_nothing_found_and_nothing_to_find() -> None:
    none = {name: values[:0] for name, values in DETECTIONS.items()}
    truth = apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS)
    found_nothing = apf.evaluate(truth, none).by("weather")
    assert_slices(found_nothing, ["weather"], {"rain": (0, 1, 2, 0, 2), "sun": (0, 1, 3, 0, 2), None: (0, 1, 1, 0, 1)})
    empty = apf.Dataset(IMAGES, CATEGORIES, {name: values[:0] for name, values in ANNOTATIONS.items()})
    with pytest.warns(NoAnnotationsWarning):
        nothing = apf.evaluate(empty, DETECTIONS)
    assert_slices(nothing.by("weather"), ["weather"], {
        "rain": (None, 1, 0, 2, 0), "sun": (None, 1, 0, 4, 0), None: (None, 1, 0, 1, 0),
    })  # fmt: skip


def test_detections_that_take_no_part_are_in_no_slice() -> None:
    stray = pl.concat([pl.DataFrame(DETECTIONS), pl.DataFrame(DETECTIONS).head(1).with_columns(
        detection_id=pl.lit(8, pl.Int64), category_id=pl.lit(99, pl.Int64), source=pl.lit("radar")
    )])  # fmt: skip
    with pytest.warns(UnknownCategoryWarning):
        evaluation = apf.evaluate(apf.Dataset(IMAGES, CATEGORIES, ANNOTATIONS), stray)
    assert evaluation.by("source")["source"].to_list() == ["camera", "lidar", None]


@pytest.mark.parametrize("dtype", [pl.Enum(["sun", "rain"]), pl.Categorical])
def test_dtype_of_the_column_stays(dtype: Any) -> None:
    images = pl.DataFrame(IMAGES).with_columns(pl.col("weather").cast(dtype))
    table = apf.evaluate(apf.Dataset(images, CATEGORIES, ANNOTATIONS), DETECTIONS).by("weather")
    assert table.schema["weather"] == dtype
    if dtype != pl.Categorical:  # an enumeration has an order of its own
        assert table["weather"].to_list() == ["sun", "rain", None]


# ---- real data


@pytest.mark.slow
@pytest.mark.parametrize("table", ["images", "objects"])
def test_sample_data_equals_reference(table: str) -> None:
    truth, results = (json.loads((STREET / name).read_text()) for name in ("instances.json", "model_a.json"))
    evaluation = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    if table == "images":
        row = evaluation.by("weather").row(by_predicate=pl.col("weather") == "fog", named=True)
        part = Slice(image_ids={image["id"] for image in truth["images"] if image.get("weather") == "fog"})
    else:
        key = apf.bins("occlusion", [0, 0.3, 0.7, 1])
        row = evaluation.by(key).row(by_predicate=pl.col("occlusion") == "[0.3, 0.7)", named=True)
        part = Slice(inside_annotations=[0.3 <= (a.get("occlusion") or 0) < 0.7 for a in truth["annotations"]])
    reference = evaluate_by_reference(truth, results, part=part)
    assert {name: row[name] for name in SUPPORT} == support(reference)
    assert [row[name] for name in METRICS] == close(mean_stats(reference))


def many(n_images: int, n_categories: int, n_objects: int) -> apf.Evaluation:
    """Objects here and there, each found a little off, and as many false positives; values that nearly all differ."""
    rng = np.random.default_rng(0)
    place = {"image_id": rng.integers(n_images, size=n_objects), "category_id": rng.integers(n_categories, size=n_objects)}
    box = {name: rng.uniform(10, 90, n_objects) for name in ("x", "y", "width", "height")}
    values = {"size": rng.uniform(0, 1, n_objects), "depth": rng.uniform(0, 1, n_objects)}
    annotations = pl.DataFrame(place | box | values)
    detections = annotations.drop("depth").with_columns(
        pl.col("x") + rng.normal(0, 5, n_objects), score=rng.uniform(0, 1, n_objects)
    )
    false = detections.with_columns(
        pl.Series("category_id", rng.permutation(place["category_id"])), score=rng.uniform(0, 1, n_objects)
    )
    names = [f"category {number}" for number in range(n_categories)]
    categories = {"category_id": range(n_categories), "name": names}
    dataset = apf.Dataset({"image_id": range(n_images)}, categories, annotations)
    return apf.evaluate(dataset, pl.concat([detections, false]))


@pytest.mark.slow
def test_memory_grows_with_rows_and_not_with_slices() -> None:
    evaluation = many(n_images=50, n_categories=20_000, n_objects=300)
    tracemalloc.start()
    try:
        slices = evaluation.by("name")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert slices.height == 20_000
    assert slices["n_annotations"].sum() == 300
    assert most < 200e6  # an array of categories × categories has 3.2e9 bytes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "most"),
    [
        (["image_id"], 1),
        ([apf.quantiles("size", 200)], 3),  # annotations and detections have it
        ([apf.quantiles("depth", 200)], 3),  # the annotations alone have it
        ([apf.quantiles("depth", 20), "image_id"], 3),
        ([apf.quantiles("size", 20), apf.quantiles("depth", 20)], 20),  # a detection is in 20 groups, whatever its depth
    ],
    ids=str,
)
def test_what_is_matched_for_slices_grows_with_rows(keys: list[Any], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = []

    def recording(*arguments: Any, **options: Any) -> MatchInput:
        ranked.append(regroup(*arguments, **options))
        return ranked[-1]

    monkeypatch.setattr("apframe.evaluation.slices.measure.regroup", recording)
    evaluation = many(n_images=300, n_categories=100, n_objects=1_000)
    assert evaluation.by(*keys).height > 150
    n_rows = [rows.detections.height + rows.annotations.height for rows in ranked]
    assert sum(n_rows) <= most * 3_000  # of which there are 1,000 annotations and 2,000 detections
    assert all(rows.lists.height <= n for rows, n in zip(ranked, n_rows, strict=True))


@pytest.mark.slow
def test_groups_of_objects_may_be_matched_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = many(n_images=5, n_categories=2, n_objects=100)
    for key in ("size", "depth"):
        together = evaluation.by(apf.quantiles(key, 20), marginals=True)
        with monkeypatch.context() as context:
            context.setattr("apframe.evaluation.slices.measure._MOST_ROWS", 50)
            assert_frame_equal(evaluation.by(apf.quantiles(key, 20), marginals=True), together, abs_tol=1e-12)


ONE = {"image_id": [1], "category_id": [1], "x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}


@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_a_table_without_rows_has_no_slices() -> None:
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, pl.DataFrame(ONE | {"colour": ["red"]}).clear())
    slices = apf.evaluate(truth, ONE | {"score": [0.5]}).by("colour")
    assert slices.is_empty() and {"colour", "AP", "n_images"} <= {*slices.columns}


def test_categorical_and_plain_text_are_one_key() -> None:
    annotations = pl.DataFrame(ONE | {"colour": ["red"]}).with_columns(pl.col("colour").cast(pl.Categorical))
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1]}, annotations)
    slices = apf.evaluate(truth, ONE | {"score": [0.5], "colour": ["red"]}).by("colour")
    assert slices.select("colour", "AP", "n_annotations", "n_detections").rows() == [("red", pytest.approx(1), 1, 1)]

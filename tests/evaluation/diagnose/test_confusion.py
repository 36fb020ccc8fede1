"""The confusion matrix: cells by hand, and sums that are those of the other tables under every protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import CategoriesNotComparedWarning, InputError, MissingThresholdWarning, ParameterError
from apframe.tables.result_tables import RESULTS
from tests.parity.families import FAMILIES, scenes
from tests.parity.strategies import half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.UnknownCategoryWarning",
)  # fmt: skip
STREET = Path(__file__).parents[3] / "data" / "street"
A, B, MOVED, CROWD = [0, 0, 10, 10], [50, 50, 10, 10], [2, 0, 10, 10], [50, 50, 40, 40]
TRUE, FOUND = pl.col("true_category_id"), pl.col("found_category_id")
COLUMNS = [column.name for column in RESULTS["confusion"]]
Box = tuple[int, list[int]]


def evaluated(annotations: list[Box], found: list[tuple[int, list[int], float]], **options: Any) -> apf.Evaluation:
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": number, "name": ["cat", "dog", "car"][number - 1]} for number in (1, 2, 3)],
        "annotations": [
            {"id": 10 + number, "image_id": 1, "category_id": category, "bbox": box, "iscrowd": int(box == CROWD)}
            for number, (category, box) in enumerate(annotations)
        ],
    }
    results = [{"image_id": 1, "category_id": category, "bbox": box, "score": score} for category, box, score in found]
    return apf.evaluate(truth, results, **options)


def cells(table: pl.DataFrame) -> dict[tuple[int | None, int | None], int]:
    return {(true, found): n for true, found, n in table.select(TRUE, FOUND, "n").rows()}


@pytest.mark.parametrize(
    ("annotations", "found", "expected"),
    [
        ([(1, A)], [(2, A, 0.9), (1, A, 0.8)], {(1, 1): 1, (None, 2): 1}),
        ([(1, A)], [(2, A, 0.9)], {(1, 2): 1}),
        ([(1, A)], [(1, A, 0.9), (1, A, 0.8)], {(1, 1): 1, (None, 1): 1}),
        ([(1, A), (2, MOVED)], [(1, MOVED, 0.9), (2, A, 0.8)], {(1, 1): 1, (2, 2): 1}),
        ([(1, A), (1, CROWD)], [(1, A, 0.9), (1, B, 0.8)], {(1, 1): 1}),
        ([(1, A)], [(2, A, 0.9), (1, MOVED, 0.5)], {(1, 1): 1, (None, 2): 1}),
        # of two that are equally similar the earlier one is taken; the detection of the higher score chooses first
        ([(1, A), (2, A)], [(3, A, 0.9)], {(1, 3): 1, (2, None): 1}),
        ([(1, A), (2, MOVED)], [(3, A, 0.4), (3, MOVED, 0.9)], {(1, 3): 1, (2, 3): 1}),
        ([(1, A), (2, MOVED)], [(3, [1, 0, 10, 10], 0.9), (3, A, 0.4)], {(1, 3): 1, (2, 3): 1}),
        ([(1, A)], [(3, MOVED, 0.4), (2, A, 0.3)], {(1, 3): 1, (None, 2): 1}),
        # a group of objects is nobody's
        ([(1, CROWD)], [(2, CROWD, 0.9)], {(None, 2): 1}),
        ([], [(2, A, 0.9)], {(None, 2): 1}),
        ([(1, A)], [], {(1, None): 1}),
        ([], [], {}),
    ],
    ids=["C1", "C2", "C3", "C4", "C5", "C6", "earlier", "by score", "most similar", "once", "group", "found", "missed", "none"],
)
def test_by_hand(annotations: list[Box], found: list[Any], expected: dict[Any, int]) -> None:
    assert cells(evaluated(annotations, found).confusion(0.5)) == expected


@pytest.mark.slow
def test_the_table_and_the_rows_behind_it() -> None:
    ev = evaluated([(1, A), (1, B), (2, [100, 0, 9, 9])], [(1, A, 0.9), (3, [51, 50, 10, 10], 0.8), (3, [70, 0, 9, 9], 0.4)])
    at = {"area_range": "all", "iou_threshold": 0.5, "min_score": None}
    expected = pl.DataFrame(
        [
            {"true_category_id": 1, "true_name": "cat", "found_category_id": 1, "found_name": "cat"} | at
            | {"n": 1, "share_of_true": 0.5, "share_of_found": 1.0},
            {"true_category_id": 1, "true_name": "cat", "found_category_id": 3, "found_name": "car"} | at
            | {"n": 1, "share_of_true": 0.5, "share_of_found": 0.5},
            {"true_category_id": 2, "true_name": "dog", "found_category_id": None, "found_name": None} | at
            | {"n": 1, "share_of_true": 1.0, "share_of_found": None},
            {"true_category_id": None, "true_name": None, "found_category_id": 3, "found_name": "car"} | at
            | {"n": 1, "share_of_true": None, "share_of_found": 0.5},
        ],
        schema_overrides={"area_range": pl.Enum(["all", "small", "medium", "large"]), "min_score": pl.Float64},
    )  # fmt: skip
    assert_frame_equal(ev.confusion(), expected)
    assert ev.confusion_pairs().drop("true_category_id", "found_category_id", "file_name").rows() == [
        (1, "cat", "cat", 1, 10, 0.9, 1.0), (1, "cat", "car", 2, 11, 0.8, 90 / 110), (1, "dog", None, None, 12, None, None),
        (1, None, "car", 3, None, 0.4, None),
    ]  # fmt: skip
    assert cells(ev.confusion(min_score=0.5)) == {(1, 1): 1, (1, 3): 1, (2, None): 1}


@pytest.mark.slow
def test_scores_to_cut_at() -> None:
    """cat .9 is right and .3 wrong; dog has no annotation; car is right at .2."""
    ev = evaluated([(1, A), (3, B)], [(1, A, 0.9), (1, [80, 0, 9, 9], 0.3), (2, A, 0.8), (3, B, 0.2)])
    assert cells(ev.confusion()) == {(1, 1): 1, (3, 3): 1, (None, 1): 1, (None, 2): 1}
    assert cells(ev.confusion(min_score="best_f1")) == {(1, 1): 1, (3, 3): 1}
    assert ev.confusion(min_score="best_f1")["min_score"].to_list() == [0.9, 0.2]
    assert cells(ev.confusion(min_score={"cat": 0.3, "dog": 1, 3: 0.5})) == {(1, 1): 1, (3, None): 1, (None, 1): 1}


@pytest.mark.slow
def test_scores_chosen_on_other_data() -> None:
    ev = evaluated([(1, A), (3, B)], [(1, A, 0.9), (1, [80, 0, 9, 9], 0.3), (2, A, 0.8), (3, B, 0.2)])
    other = evaluated([(1, A), (3, B)], [(1, A, 0.5), (3, B, 0.4)])
    with pytest.warns(MissingThresholdWarning, match="no detection of 'dog' counts"):
        assert cells(ev.confusion(min_score=other.operating_points("f1"))) == {(1, 1): 1, (3, None): 1}
    table = pl.DataFrame({"category_id": [1, 2, 3], "score_threshold": [0.0, 0.85, 0.2]})
    assert cells(ev.confusion(min_score=table)) == {(1, 1): 1, (3, 3): 1, (None, 1): 1}
    with pytest.raises(InputError, match="has no rows"):
        ev.confusion(min_score=table.clear())


@pytest.mark.slow
def test_a_cut_detection_may_free_what_it_took() -> None:
    """With matching by similarity, .2 has the annotation; without it, .9 has."""
    ev = evaluated([(1, A)], [(1, [4, 0, 10, 10], 0.9), (1, A, 0.2)], matching="similarity", iou_thresholds=[0.4])
    assert cells(ev.confusion(0.4)) == {(1, 1): 1, (None, 1): 1}
    assert cells(ev.confusion(0.4, min_score=0.5)) == {(1, 1): 1}
    assert ev.confusion_pairs(0.4, min_score=0.5)["detection_id"].to_list() == [1]


@pytest.mark.slow
def test_categories_with_other_keypoints_are_not_compared() -> None:
    points = [value for k in range(17) for value in (k, 2 * k, 2)]
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": k, "name": name, "keypoints": [name] * 17} for k, name in ((1, "man"), (2, "ape"))],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 60], "area": 2400, "keypoints": points},
        ],
    }  # fmt: skip
    ev = apf.evaluate(truth, [{"image_id": 1, "category_id": 2, "keypoints": points, "score": 0.9}], iou_type="keypoints")
    with pytest.warns(CategoriesNotComparedWarning, match="the categories have different keypoints"):
        assert cells(ev.confusion()) == {(1, None): 1, (None, 2): 1}


@pytest.mark.slow
def test_a_similarity_of_ones_own() -> None:
    everything = apf.similarity.UserSimilarity(lambda pairs: pairs["x"] * 0 + 1, "everything")
    ev = evaluated([(1, A), (1, B)], [(2, [900, 0, 9, 9], 0.9)], similarity=everything)
    assert ev.confusion_pairs().select("true_name", "found_name", "annotation_id").rows() == [
        ("cat", "dog", 10), ("cat", None, 11),
    ]  # fmt: skip


@pytest.mark.slow
def test_categories_above_each_other_are_not_mistaken() -> None:
    """Image 1: an animal found on a cat and a car on a cat. The copy of the cat as an animal is nobody's."""
    categories = [{"id": 1, "name": "animal"}, {"id": 2, "name": "cat", "parent_ids": [1]}, {"id": 3, "name": "car"}]
    truth = {
        "images": [{"id": 1}], "categories": categories,
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 2, "bbox": A}, {"id": 2, "image_id": 1, "category_id": 1, "bbox": B},
        ],
    }  # fmt: skip
    detections = [
        {"image_id": 1, "category_id": category, "bbox": box, "score": score}
        for category, box, score in [(3, A, 0.9), (3, A, 0.8), (2, B, 0.7)]
    ]
    table = apf.evaluate(truth, detections, "open_images").confusion()
    # the copy of the cat is missed as an animal; a cat found where an animal is is background
    assert cells(table) == {(2, 3): 1, (1, None): 2, (None, 2): 1, (None, 3): 1}


@pytest.mark.slow
def test_the_sample() -> None:
    names = [("sign", "light", 3), ("car", "van", 3), ("van", "car", 2), ("pedestrian", "rider", 2)]
    expected = {
        ("a", None): (1147, 15, 793, 1204), ("a", 0.3): (731, 4, 57, 1631),
        ("b", None): (1147, 6, 687, 1213), ("b", 0.3): (828, 1, 51, 1537),
    }  # fmt: skip
    for model in "ab":
        ev = apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json")
        for score in (None, 0.3):
            table = ev.confusion(min_score=score)
            parts = (TRUE == FOUND, TRUE != FOUND, TRUE.is_null(), FOUND.is_null())
            assert tuple(table.filter(part)["n"].sum() for part in parts) == expected[model, score]
        if model == "a":
            off = ev.confusion().filter(TRUE != FOUND).sort("n", "true_category_id", descending=True).head(4)
            confusions = {
                (true.split()[-1], found.split()[-1], n) for true, found, n in off.select("true_name", "found_name", "n").rows()
            }
            assert confusions == set(names)


def sums(table: pl.DataFrame, side: pl.Expr) -> dict[Any, int]:
    return dict(table.filter(side.is_not_null()).group_by(side).agg(pl.col("n").sum()).rows())


@pytest.mark.slow
@settings(max_examples=max(settings().max_examples // 3, 1))
@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data(), threshold=st.sampled_from([0.3, 0.5]), score=st.sampled_from([None, 0.3, 0.5]))
def test_the_sums_are_those_of_the_other_tables(
    family: str, data: st.DataObject, threshold: float, score: float | None
) -> None:
    ev = data.draw(scenes(family)).evaluate(area_ranges={"small": (0, 180)})
    for area in ("all", "small"):
        table = ev.confusion(threshold, area, min_score=score)
        diagonal = table.filter(TRUE == FOUND)
        above = ev.thresholds(threshold, area).filter(pl.col("score_threshold") >= (score or 0))
        at = above.sort("score_threshold").unique("category_id", keep="first")
        of_images = ev.per_image(threshold, area, min_score=score)
        tp = {number: n for number, n in at.select("category_id", "tp").rows() if n}
        assert dict(diagonal.select(TRUE, "n").rows()) == tp
        both = {number: n for number, n in at.select("category_id", pl.col("tp") + pl.col("fp")).rows() if n}
        assert sums(table, FOUND) == both
        positives = ev.metrics.filter(pl.col("area_range") == area, pl.col("n_positives") > 0).unique("category_id")
        assert sums(table, TRUE) == dict(positives.select("category_id", "n_positives").rows())
        assert (diagonal["n"].sum(), table.filter(TRUE.is_not_null(), TRUE.ne_missing(FOUND))["n"].sum()) == (
            of_images["tp"].sum(), of_images["fn"].sum(),
        )  # fmt: skip
        assert table.filter(FOUND.is_not_null(), TRUE.ne_missing(FOUND))["n"].sum() == of_images["fp"].sum()


def overlap(a: dict[str, Any], b: dict[str, Any]) -> float:
    wide, high = (
        max(0, min(a[low] + a[size], b[low] + b[size]) - max(a[low], b[low])) for low, size in (("x", "width"), ("y", "height"))
    )
    return float(wide * high / (a["width"] * a["height"] + b["width"] * b["height"] - wide * high))


@pytest.mark.slow
@half_as_often
@given(scenes("boxes"))
def test_the_rule_as_a_plain_loop(scene: Any) -> None:
    ev = scene.evaluate()
    matches = ev.matches(0.3)
    annotations = {row["annotation_id"]: row for row in ev.dataset.annotations.to_dicts()}
    detections = {row["detection_id"]: row for row in ev.detections.to_dicts()}
    missed = [key for key in annotations if key in set(matches.filter(pl.col("outcome") == "fn")["annotation_id"])]
    false = matches.filter(pl.col("outcome") == "fp").sort("score", "image_id", "detection_id", descending=[True, False, False])
    expected = set(matches.filter(pl.col("outcome") == "tp").select("detection_id", "annotation_id").rows())
    for key in false["detection_id"]:
        best, most = None, 0.0
        for other in missed:
            row = annotations[other]
            near = row["image_id"] == detections[key]["image_id"] and row["category_id"] != detections[key]["category_id"]
            similarity = overlap(detections[key], row) if near and not row["is_crowd"] else 0.0
            if similarity >= 0.3 and similarity > most:
                best, most = other, similarity
        expected.add((key, best))
        missed = [other for other in missed if other != best]
    expected |= {(None, key) for key in missed}
    assert set(ev.confusion_pairs(0.3).select("detection_id", "annotation_id").rows()) == expected


@pytest.mark.slow
@half_as_often
@pytest.mark.parametrize("family", ["boxes", "open images"])
@given(data=st.data())
def test_the_rows_are_those_that_the_cells_count(family: str, data: st.DataObject) -> None:
    ev = data.draw(scenes(family)).evaluate()
    rows, table = ev.confusion_pairs(0.3), ev.confusion(0.3)
    keys = ["true_category_id", "found_category_id"]
    counted = rows.group_by(keys).agg(n=pl.len().cast(pl.Int64)).sort(keys, nulls_last=True)
    assert_frame_equal(counted, table.select(*keys, "n"))
    assert not rows["detection_id"].drop_nulls().is_duplicated().any()
    assert not rows["annotation_id"].drop_nulls().is_duplicated().any()
    both = rows.drop_nulls(["detection_id", "annotation_id"])
    assert (both["similarity"] >= 0.3).all() and both.height == rows["similarity"].count()
    of_table = {
        name: frame.select(f"{name}_id", "image_id", "category_id")
        for name, frame in (("detection", ev.detections), ("annotation", ev.dataset.annotations))
    }
    for name, column in (("detection", "found_category_id"), ("annotation", "true_category_id")):
        pairs = rows.drop_nulls(f"{name}_id").join(of_table[name], on=f"{name}_id", suffix="_known")
        assert (pairs["image_id"] == pairs["image_id_known"]).all() and (pairs[column] == pairs["category_id"]).all()


@pytest.mark.slow
@half_as_often
@given(scenes("boxes", ties=False), st.randoms())
def test_the_order_of_rows_changes_nothing(scene: Any, random: Any) -> None:
    results = random.sample(scene.results, len(scene.results))
    again = apf.evaluate(scene.truth, results, scene.protocol, **scene.options)
    assert_frame_equal(scene.evaluate().confusion(), again.confusion())


def test_ids_may_be_texts_and_names_may_be_missing() -> None:
    box = {"image_id": ["i"], "x": [0], "y": [0], "width": [9], "height": [9]}
    truth = apf.Dataset({"image_id": ["i"]}, {"category_id": ["a<b>", "c"]}, box | {"category_id": ["a<b>"]})
    table = apf.evaluate(truth, box | {"category_id": ["c"], "score": [0.9]}).confusion()
    assert table.select("true_category_id", "true_name", "found_category_id", "n").rows() == [("a<b>", None, "c", 1)]


@pytest.mark.slow
def test_a_subset_has_its_own_matrix() -> None:
    ev = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    part = ev.where("category_id <= 4")
    assert set(part.confusion()["found_category_id"].drop_nulls()) == {1, 2, 3, 4}
    weather = [ev.where(pl.col("image_id") < 3000), ev.where(pl.col("image_id") >= 3000)]
    both = (
        pl.concat([each.confusion() for each in weather])
        .group_by("true_category_id", "found_category_id")
        .agg(pl.col("n").sum())
    )
    assert cells(both.select(TRUE, FOUND, "n")) == cells(ev.confusion())


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "threshold": ({"iou_threshold": 0.51}, "iou_threshold 0.51 was not evaluated; choose from 0.5, 0.75, or add it with iou_"),
    "area": ({"area_range": "al"}, "area_range 'al' was not evaluated; did you mean all"),
    "score": ({"min_score": "best"}, "min_score must be a number, a dict of numbers by category or 'best_f1', not 'best'"),
    "nan": ({"min_score": float("nan")}, "min_score must be a number, not nan"),
    "list": ({"min_score": [0.5]}, r"min_score must be a number, not \[0.5\]"),
    "missing": ({"min_score": {"cat": 0.5}}, "min_score: no number for 'dog', 'car'; give one for every category, such as 0"),
    "unknown": ({"min_score": {"cap": 0.5}}, "no category 'cap'; did you mean cat"),
    "twice": ({"min_score": {"cat": 0.5, 1: 0.5}}, "min_score: category 1 is given twice"),
    "text": ({"min_score": {"cat": "x"}}, "min_score must be a number, not 'x'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    options, message = BAD[name]
    ev = evaluated([(1, A)], [(1, A, 0.5)], iou_thresholds=[0.5, 0.75])
    with pytest.raises(ParameterError, match=message):
        ev.confusion(**options)
    with pytest.raises(ParameterError, match=message):
        ev.confusion_pairs(**options)


@pytest.mark.slow
def test_no_threshold_is_the_lowest() -> None:
    ev = evaluated([(1, A)], [(2, A, 0.5)], iou_thresholds=[0.6, 0.75])
    for table in (ev.confusion, ev.calibration, ev.reliability, ev.error_impact, ev.label_errors):
        assert table(None).equals(table(0.6))  # type: ignore[operator]
    assert ev.confusion(None)["iou_threshold"].to_list() == [0.6]


@pytest.mark.slow
def test_pooled_categories_have_none() -> None:
    for options in ({"agnostic": True}, {"protocol": "proposals", "iou_thresholds": [0.5]}):
        with pytest.raises(ParameterError, match="the categories are pooled, so none can be mistaken for another"):
            evaluated([(1, A)], [(1, A, 0.5)], **options).confusion()


@pytest.mark.slow
def test_in_sql_and_stored(tmp_path: Path) -> None:
    ev = evaluated([(1, A), (1, B)], [(3, A, 0.9), (1, MOVED, 0.8)])
    query = "SELECT found.name, n FROM confusion JOIN categories found ON category_id = found_category_id ORDER BY ALL"
    assert ev.sql(query).rows() == [("car", 1), ("cat", 1)]
    assert_frame_equal(ev.sql("FROM confusion").cast(ev.confusion().select("area_range").schema), ev.confusion()[:, COLUMNS])
    ev.write_parquet(tmp_path / "run", tables="confusion")
    assert_frame_equal(apf.read_evaluation(tmp_path / "run").confusion(min_score=0.85), ev.confusion(min_score=0.85))
    assert apf.read_evaluation(tmp_path / "run").sql("SELECT sum(n) FROM confusion").item() == 3
    assert evaluated([(1, A)], [(1, A, 0.5)], agnostic=True).sql("FROM confusion").height == 0

"""Errors and what they cost: the worked examples and reference values of the specification, sums, slices, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS
from apframe.exceptions import ParameterError

STREET = Path(__file__).parents[3] / "data" / "street"
A, B, C = [0, 0, 10, 10], [50, 50, 10, 10], [100, 100, 10, 10]
AT = 51 / 101  # AP where one of two annotations is found without a false positive before it


def truth(*annotations: tuple[int, list[int]], crowds: tuple[tuple[int, list[int]], ...] = ()) -> dict[str, Any]:
    rows = [(category, box, 0) for category, box in annotations] + [(category, box, 1) for category, box in crowds]
    return {
        "images": [{"id": 1}],
        "categories": [{"id": number, "name": f"c{number}"} for number in (1, 2, 3)],
        "annotations": [
            {"id": k, "image_id": 1, "category_id": category, "bbox": box, "area": 100, "iscrowd": crowd}
            for k, (category, box, crowd) in enumerate(rows, 1)
        ],
    }


def found(*detections: tuple[int, list[int], float]) -> list[dict[str, Any]]:
    return [{"image_id": 1, "category_id": category, "bbox": box, "score": score} for category, box, score in detections]


# ground truth, detections, counts of errors (those not named are 0), AP, and the rises (those not named are not checked)
EXAMPLES: dict[str, tuple[Any, Any, dict[str, int], float, dict[str, float]]] = {
    "T1": (
        truth((1, A), (1, B)), found((1, [4, 0, 10, 10], 0.9), (1, [5, 0, 10, 10], 0.8), (1, [6, 0, 10, 10], 0.7)),
        {"loc": 3, "miss": 1, "fp": 3, "fn": 2}, 0, {"loc": AT, "miss": 0},
    ),
    "T2": (
        truth((1, A), (2, B)), found((2, A, 0.9), (2, B, 0.8)),
        {"cls": 1, "fp": 1, "fn": 1}, 0.25, {"cls": 0.75, "fp": 0.25, "fn": 0.5},
    ),
    "T3": (
        truth((1, A), (2, A)), found((1, A, 0.9), (1, A, 0.8)),
        {"cls": 1, "fp": 1, "fn": 1}, 0.5, {"cls": 0.5, "fn": 0.5},
    ),
    "T4": (
        truth((1, A), (1, B)), found((1, A, 0.9), (1, A, 0.8), (1, B, 0.7)),
        {"dupe": 1, "fp": 1}, (51 + 50 * 2 / 3) / 101, {"dupe": 1 - (51 + 50 * 2 / 3) / 101},
    ),
    "T5": (truth((1, A)), found((1, A, 0.9), (3, C, 0.8)), {"bkg": 1, "fp": 1}, 1, {"bkg": 0}),
    "T6": (
        truth((1, A), crowds=((1, [0, 0, 60, 60]),)), found((1, [4, 0, 10, 10], 0.9)),
        {"miss": 1, "fn": 1}, 0, {"miss": 1, "fn": 1},
    ),
    "T7": (truth((1, A)), found((1, [4, 0, 10, 10], 0.95), (1, A, 0.9)), {"loc": 1, "fp": 1}, 0.5, {"loc": 0.5}),
    "T8": (
        truth((1, A), (2, B)), found((1, [4, 0, 10, 10], 0.9), (2, A, 0.8), (2, B, 0.7)),
        {"loc": 1, "cls": 1, "fp": 2, "fn": 1}, 0.25, {"loc": 0.5, "cls": 0.25},
    ),
    "T9": (truth((1, A)), found((1, A, 0.9), (1, [0, 0, 10, 5], 0.8)), {"loc": 1, "fp": 1}, 1, {"loc": 0}),
    "T10": (
        truth((1, A), (1, B)), found((1, A, 0.5), (1, [4, 50, 10, 10], 0.5), (1, B, 0.5)),
        {"bkg": 1, "fp": 1}, (51 + 50 * 2 / 3) / 101, {"bkg": 1 - (51 + 50 * 2 / 3) / 101, "fn": 0},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_worked_examples(name: str) -> None:
    annotations, detections, counts, ap, rises = EXAMPLES[name]
    evaluation = apf.evaluate(annotations, detections)
    mean = evaluation.error_impact().filter(pl.col("category_id").is_null())
    assert mean["error"].to_list() == list(ERROR_KINDS)
    assert dict(mean.select("error", "n").rows()) == dict.fromkeys(ERROR_KINDS, 0) | counts
    assert mean["ap"].to_list() == pytest.approx([ap] * 8)
    assert {kind: rise for kind, rise in mean.select("error", "delta_ap").rows() if kind in rises} == pytest.approx(rises)
    rows = evaluation.errors()
    assert {k: n for k, n in counts.items() if k not in ("fp", "fn")} == dict(rows["error"].value_counts().rows())


@pytest.mark.slow
def test_the_rows_of_an_example() -> None:
    table = apf.evaluate(*EXAMPLES["T8"][:2]).sql("FROM errors")
    nothing = dict.fromkeys(["same", "other"])
    assert table.drop("iou_threshold", "image_id").rows(named=True) == [
        {
            "category_id": 1, "detection_id": 1, "score": 0.9, "error": "loc", "annotation_id": 1, "target_category_id": 1,
            "similarity": 60 / 140, "same": 60 / 140, "other": None, "is_fixable": True,
        },
        {
            "category_id": 2, "detection_id": 2, "score": 0.8, "error": "cls", "annotation_id": 1, "target_category_id": 1,
            "similarity": 1.0, "same": None, "other": 1.0, "is_fixable": False,
        },
    ]  # fmt: skip
    missed = apf.evaluate(truth((1, A), (2, B)), found((2, B, 0.7))).sql("FROM errors")
    assert missed.drop("iou_threshold", "image_id").rows(named=True) == [
        {
            "category_id": 1, "detection_id": None, "score": None, "error": "miss", "annotation_id": 1, "target_category_id": 1,
            "similarity": None, "is_fixable": None,
        } | nothing,
    ]  # fmt: skip


@pytest.mark.slow
def test_between_equal_annotations_the_first_of_the_input_wins() -> None:
    rows = [{"id": key, "image_id": 1, "category_id": 1, "bbox": A} for key in (7, 3)]
    table = apf.evaluate(truth() | {"annotations": rows}, found((1, [4, 0, 10, 10], 0.9), (2, A, 0.8))).errors()
    assert table.drop_nulls("detection_id").select("error", "annotation_id").rows() == [("loc", 7), ("cls", 7)]


def test_the_best_of_the_errors_for_an_annotation_is_fixable() -> None:
    near = [4, 0, 10, 10]
    table = apf.evaluate(truth((1, A)), found((1, near, 0.7), (1, near, 0.9), (2, A, 0.8), (1, near, 0.9))).errors()
    assert table.sort("detection_id")["is_fixable"].to_list() == [False, True, False, False]


# AP50, then cls loc both dupe bkg miss fp fn; DIAGNOSIS.md 1.6
WITHOUT_CROWDS = {
    "a": (
        (0.436893571219, 0.007368320229, 0.003087339752, 0.005618070487, 0.002422366172, 0.047631668137, 0.400038072192,
         0.063931511290, 0.423105017077),
        (21, 44, 47, 70, 746, 1188, 928, 1219),
    ),
    "b": (
        (0.429591683750, 0.002164839437, 0.000880723592, 0.005941986226, 0.002012304214, 0.036971100994, 0.431493276594,
         0.049781253543, 0.438746527674),
        (8, 22, 46, 74, 649, 1209, 799, 1219),
    ),
}  # fmt: skip
WITH_CROWDS = {
    "a": (
        (0.457740667169, 0.006841966083, 0.002164850675, 0.000624918991, 0.002697433657, 0.033703646355, 0.421384112547,
         0.043084415339, 0.442760924889),
        (19, 33, 21, 70, 665, 1192, 808, 1219),
    ),
    "b": (
        (0.451371070890, 0.002224566192, 0.000655404389, 0.000524181493, 0.002491623999, 0.021848656805, 0.456692688675,
         0.028001866404, 0.464133273789),
        (7, 20, 23, 74, 569, 1210, 693, 1219),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("model", "ab")
@pytest.mark.parametrize("crowds", [False, True])
def test_reference_values(model: str, *, crowds: bool) -> None:
    annotations, detections = apf.read_coco(STREET / "instances.json"), apf.read_coco_results(STREET / f"model_{model}.json")
    if not crowds:
        ordinary = annotations.annotations.filter(~pl.col("is_crowd"))
        annotations = apf.Dataset(annotations.images, annotations.categories, ordinary)
        detections = detections.with_columns(score=pl.col("score") - 1e-7 * pl.int_range(pl.len()))
    impact = apf.evaluate(annotations, detections).error_impact()
    values, counts = (WITH_CROWDS if crowds else WITHOUT_CROWDS)[model]
    mean = impact.filter(pl.col("category_id").is_null())
    assert [mean["ap"][0], *mean["delta_ap"]] == pytest.approx(values, abs=1e-12, rel=0)
    assert mean["n"].to_list() == list(counts)
    of_categories = impact.filter(pl.col("category_id").is_not_null())
    sums = of_categories.group_by("error").agg(pl.sum("n"), pl.mean("delta_ap")).sort("error")
    assert sums["n"].to_list() == list(counts)
    assert sums["delta_ap"].to_list() == pytest.approx(values[1:], abs=1e-12, rel=0)


# of tidecv, which reads recall at x / 100
TIDECV = {
    "a": (0.436930718651, 0.007368320229, 0.003089280083, 0.005622480692, 0.002424306503, 0.047594520705, 0.400000924760,
          0.063894363858, 0.423115301094),
    "b": (0.429604787007, 0.002164839437, 0.000880723592, 0.005945614363, 0.002014359341, 0.036957997737, 0.431512018626,
          0.049768150286, 0.438765269707),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("model", "ab")
def test_reference_values_of_tidecv(model: str) -> None:
    annotations, detections = apf.read_coco(STREET / "instances.json"), apf.read_coco_results(STREET / f"model_{model}.json")
    ordinary = annotations.annotations.filter(~pl.col("is_crowd"))
    annotations = apf.Dataset(annotations.images, annotations.categories, ordinary)
    detections = detections.with_columns(score=pl.col("score") - 1e-7 * pl.int_range(pl.len()))
    impact = apf.evaluate(annotations, detections, recall_levels=[k / 100 for k in range(101)]).error_impact()
    mean = impact.filter(pl.col("category_id").is_null())
    assert [mean["ap"][0], *mean["delta_ap"]] == pytest.approx(TIDECV[model], abs=1e-12, rel=0)


@pytest.fixture(scope="module")
def street() -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json")


def impact_of(evaluation: apf.Evaluation) -> list[Any]:
    """The mean over the categories."""
    mean = evaluation.error_impact().filter(pl.col("category_id").is_null())
    return [pytest.approx(row, abs=1e-12) for row in mean.select("n", "ap", "delta_ap").rows()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")  # crowds alone have no occlusion
@pytest.mark.parametrize(
    "keys",
    [
        ["weather"],
        ["weather", "time_of_day"],
        [apf.bins("occlusion", [0, 0.5, 1])],
        ["weather", apf.bins("occlusion", [0, 0.5, 1])],
    ],
    ids=["images", "two keys", "objects", "both"],
)
def test_slices_are_the_evaluations_of_their_parts(keys: list[Any], street: apf.Evaluation) -> None:
    table = street.error_impact(by=keys)
    names = table.columns[:-5]
    assert table.columns[len(names) :] == ["iou_threshold", "error", "n", "ap", "delta_ap"]
    for values, rows in table.group_by(names, maintain_order=True):
        assert rows["error"].to_list() == list(ERROR_KINDS)
        conditions = [_condition(name, value) for name, value in zip(names, values, strict=True)]
        assert rows.select("n", "ap", "delta_ap").rows() == impact_of(street.where(*conditions))


def _condition(name: str, value: Any) -> Any:
    if name != "occlusion":
        return pl.col(name) == value
    if value is None:
        return pl.col(name).is_null()
    return (pl.col(name) < 0.5) if value.startswith("[0, 0.5") else (pl.col(name) >= 0.5)


@pytest.mark.slow
def test_a_key_of_categories_averages_over_those_of_a_slice(street: apf.Evaluation) -> None:
    by_name = street.error_impact(by="name")
    whole = street.error_impact().drop_nulls("name")
    columns = ["name", "error", "n", "ap", "delta_ap"]
    assert by_name.select(columns).equals(whole.select(columns).sort("name", "error"))
    groups = street.dataset.categories.select("name", "supercategory")
    means = whole.join(groups, on="name").group_by("supercategory", "error").agg(pl.sum("n"), pl.mean("ap", "delta_ap"))
    table = street.error_impact(by="supercategory").drop("iou_threshold")
    assert_frame_equal(table, means.sort("supercategory", "error"), abs_tol=1e-12)


@pytest.mark.slow
def test_keys_of_images_and_categories_at_once(street: apf.Evaluation) -> None:
    table = street.error_impact(by=["weather", "name"])
    columns = ["name", "error", "n", "ap", "delta_ap"]
    for (weather,), rows in table.group_by("weather", maintain_order=True):
        of_part = street.where(pl.col("weather") == weather).error_impact().drop_nulls("name")
        assert rows.select(columns).equals(of_part.select(columns).sort("name", "error"))


@pytest.mark.slow
def test_categories_without_positives_count_and_have_no_impact() -> None:
    impact = apf.evaluate(truth((1, A)), found((1, A, 0.9), (3, C, 0.8))).error_impact()
    rows = impact.filter(category_id=3, error="bkg").select("name", "n", "ap", "delta_ap").rows()
    assert rows == [("c3", 1, None, None)]
    nothing = apf.evaluate(truth(crowds=((1, A),)), found((3, C, 0.8))).error_impact().filter(pl.col("category_id").is_null())
    assert nothing["ap"].null_count() == nothing["delta_ap"].null_count() == 8
    assert nothing.filter(error="bkg")["n"].item() == 1


@pytest.mark.slow
def test_pooled_categories_have_one_impact_and_no_confusion() -> None:
    evaluation = apf.evaluate(truth((1, A), (2, B)), found((2, A, 0.9), (2, [4, 50, 10, 10], 0.8)), agnostic=True)
    assert evaluation.errors()["error"].to_list() == ["bkg", "miss"]
    assert evaluation.error_impact()["category_id"].to_list() == [None] * 8
    assert evaluation.error_impact(by=["image_id"])["image_id"].to_list() == [1] * 8
    with pytest.raises(ParameterError, match="name is of the categories, which are pooled"):
        evaluation.error_impact(by="name")


@pytest.mark.slow
def test_ids_that_are_strings() -> None:
    annotations = pl.DataFrame({"annotation_id": ["a"], "image_id": ["i"], "category_id": ["cat"]} | box_columns(A))
    dataset = apf.Dataset({"image_id": ["i"]}, {"category_id": ["cat", "dog"]}, annotations)
    detections = pl.DataFrame(
        {"detection_id": ["d"], "image_id": ["i"], "category_id": ["dog"], "score": [0.5]} | box_columns(A)
    )
    evaluation = apf.evaluate(dataset, detections)
    ids = ["image_id", "category_id", "detection_id", "annotation_id", "target_category_id"]
    assert evaluation.errors().select(ids).rows() == [("i", "dog", "d", "a", "cat")]
    assert evaluation.sql("FROM errors").select(ids).rows() == [("i", "dog", "d", "a", "cat")]


@pytest.mark.slow
def test_names_stand_behind_ids() -> None:
    truth = {
        "images": [{"id": 7, "file_name": "x.jpg"}], "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [{"id": 5, "image_id": 7, "category_id": 1, "bbox": A}],
    }  # fmt: skip
    detections = [{"image_id": 7, "category_id": 2, "bbox": A, "score": 0.9}]
    evaluation = apf.evaluate(truth, [*detections, {"image_id": 7, "category_id": 2, "bbox": [50, 50, 9, 9], "score": 0.8}])
    errors = evaluation.errors()
    assert errors.columns[1:5] == ["image_id", "file_name", "category_id", "name"]
    names = errors.select("error", "file_name", "name", "target_name")
    assert names.rows() == [("cls", "x.jpg", "dog", "cat"), ("bkg", "x.jpg", "dog", None)]
    suspects = evaluation.label_errors().select("kind", "file_name", "name", "proposed_name")
    assert suspects.rows() == [("missing", "x.jpg", None, "dog"), ("wrong_class", "x.jpg", "cat", "dog")]
    pairs = evaluation.confusion_pairs().select("file_name", "true_name", "found_name")
    assert pairs.rows() == [("x.jpg", "cat", "dog"), ("x.jpg", None, "dog")]
    assert "file_name" not in evaluation.sql("FROM errors").columns


def box_columns(box: list[int]) -> dict[str, list[float]]:
    return {name: [float(side)] for name, side in zip(("x", "y", "width", "height"), box, strict=True)}


@pytest.mark.slow
def test_tables_in_sql_and_stored_sets(street: apf.Evaluation, tmp_path: Path) -> None:
    evaluation = apf.evaluate(STREET / "instances.json", STREET / "model_b.json", iou_thresholds=[0.3, 0.5])
    assert evaluation.sql("SELECT count(*) AS n FROM errors").item() == evaluation.errors(0.3).height
    evaluation.write_parquet(tmp_path / "run", tables=["errors", "error_impact"])
    again = apf.read_evaluation(tmp_path / "run")
    for threshold in (0.3, 0.5):
        assert again.errors(threshold).equals(evaluation.errors(threshold))
        assert again.error_impact(threshold).equals(evaluation.error_impact(threshold))
    assert again.errors(0.3, background=0.2).equals(evaluation.errors(0.3, background=0.2))
    query = "SELECT delta_ap FROM error_impact WHERE category_id IS NULL AND error = 'bkg'"
    mean = evaluation.error_impact(0.3).filter(pl.col("category_id").is_null(), error="bkg")
    assert again.sql(query).item() == mean["delta_ap"].item()
    (tmp_path / "run" / "detections.parquet").unlink()  # what was stored is read, and nothing is computed again
    assert street.errors().height


@pytest.mark.slow
def test_a_larger_background_threshold_makes_more_background(street: apf.Evaluation) -> None:
    counts = [street.errors(background=background).filter(error="bkg").height for background in (0, 0.1, 0.3, 0.49)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iou_threshold": 0.51}, "iou_threshold 0.51 was not evaluated; choose from 0.5, .*iou_thresholds"),
        ({"iou_threshold": "x"}, "iou_threshold is a number"),
        ({"background": 0.5}, "background must be at least 0 and below the IoU threshold 0.5, not 0.5"),
        ({"background": -0.1}, "background must be at least 0"),
        ({"background": float("nan")}, "background must be at least 0"),
        ({"background": "x"}, "background must be at least 0"),
    ],
)
def test_bad_thresholds(options: dict[str, Any], message: str, street: apf.Evaluation) -> None:
    for method in (street.errors, street.error_impact):
        with pytest.raises(ParameterError, match=message):
            method(**options)


@pytest.mark.parametrize(("keys", "message"), [("wether", "weather"), (["weather", "weather"], "given twice"), ({}, "slice")])
def test_bad_keys(keys: Any, message: str, street: apf.Evaluation) -> None:
    with pytest.raises(ParameterError, match=message):
        street.error_impact(by=keys)

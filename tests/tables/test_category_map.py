"""Categories are renamed and merged on both sides before matching, and the evaluation says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ApframeError, ColumnError, FormatError, ParameterError, UnknownCategoryWarning, UnknownIdError
from apframe.tables.category_map import merge_categories, read_category_map

STREET = Path(__file__).resolve().parents[2] / "data" / "street"
VEHICLES = {"car": "vehicle", "truck": "vehicle"}


def boxes(places: list[int]) -> dict[str, list[int]]:
    """Equal places are equal boxes, different ones do not touch."""
    n = len(places)
    return {"x": [100 * place for place in places], "y": [0] * n, "width": [10] * n, "height": [10] * n}


CATEGORIES = {"category_id": [1, 2, 3], "name": ["car", "truck", "cat"], "supercategory": ["road", "road", "pet"]}
ANNOTATIONS = {"image_id": [1, 1, 1], "category_id": [1, 2, 3], **boxes([1, 2, 3])}
# a truck that is taken for a car, a car that is found twice, and the cat
FOUND = {"image_id": [1] * 4, "category_id": [1, 1, 2, 3], "score": [0.9, 0.8, 0.7, 0.6], **boxes([2, 1, 1, 3])}
TRUTH = apf.Dataset({"image_id": [1], "file_name": ["a.jpg"]}, CATEGORIES, ANNOTATIONS)


# ---- the map


@pytest.mark.parametrize(("name", "text"), [
    ("map.csv", "from,to\ncar,vehicle\n3,animal\nmisc,\n"),
    ("map.json", '{"car": "vehicle", "3": "animal", "misc": null}'),
    ("rows.json", '[{"from": "car", "to": "vehicle"}, {"from": "3", "to": "animal"}, {"from": "misc", "to": null}]'),
])  # fmt: skip
def test_maps_in_files(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_category_map(tmp_path / name) == {"car": "vehicle", "3": "animal", "misc": None}


def test_maps_in_memory() -> None:
    table = {"from": ["car", "misc"], "to": ["vehicle", None]}
    for source in (table, pl.DataFrame(table), {"car": "vehicle", "misc": None}, {"car": "vehicle", "misc": ""}):
        assert read_category_map(source) == {"car": "vehicle", "misc": None}
    assert read_category_map({"from": "x", "to": "y"}) == {"from": "x", "to": "y"}


WRONG: dict[str, tuple[Any, type[ApframeError], str]] = {
    "nothing": ({}, ParameterError, "^category_map: it is empty; map names to names"),
    "a name of many": ({"car": ["a", "b"]}, ParameterError, r"^category_map: maps 'car' to \['a', 'b'\]; map names to names"),
    "an id": ({"car": 1}, ParameterError, "^category_map: maps 'car' to 1; map names to names"),
    "other columns": ({"old": ["a"], "to": ["b"], "from_": ["c"]}, ParameterError, "^category_map: maps 'old' to"),
    "a table of other columns": (pl.DataFrame({"car": ["vehicle"]}), ColumnError, "no column from and to; .* there are car$"),
    "twice": (pl.DataFrame({"from": ["a", "a"], "to": ["b", "c"]}), ParameterError, "several rows for 'a'; keep one"),
    "no file": ("nothing.json", FormatError, "cannot read nothing.json as JSON: no such file"),
    "no table": ("nothing.csv", FormatError, "cannot read nothing.csv as CSV: no such file"),
    "a number": (3, ColumnError, "an int cannot be read as a table"),
    "other names": ({"boat": "ship"}, ParameterError, "^category_map: matches no category: 'boat'; there are car, truck, cat"),
    "a typing error": ({"trucks": "vehicle"}, ParameterError, "^category_map: matches no category: 'trucks'; did you mean"),
}  # fmt: skip


@pytest.mark.parametrize(("category_map", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_map(category_map: Any, error: type[ApframeError], message: str) -> None:
    with pytest.raises(error, match=message):
        TRUTH.map_categories(category_map)


def test_a_name_that_is_nearly_one_is_asked_about() -> None:
    with pytest.warns(UnknownCategoryWarning, match=r"^category_map: no category is called 'trukc', did you mean truck\?$"):
        TRUTH.map_categories({"car": "vehicle", "trukc": "vehicle"})


def test_unmapped() -> None:
    assert TRUTH.map_categories(VEHICLES, "keep").categories["name"].to_list() == ["vehicle", "cat"]
    dropped = TRUTH.map_categories(VEHICLES, "drop")
    assert dropped.categories["name"].to_list() == ["vehicle"]
    assert dropped.annotations["category_id"].to_list() == [1, 1]
    with pytest.raises(ParameterError, match=r"^category_map does not map 'cat'; map them too"):
        TRUTH.map_categories(VEHICLES, "error")
    assert TRUTH.map_categories(VEHICLES | {"cat": "cat"}, "error").categories.height == 2
    with pytest.raises(ParameterError, match='unmapped is "keep", "drop" or "error", not \'drops\'; did you mean drop'):
        TRUTH.map_categories(VEHICLES, "drops")
    with pytest.raises(ParameterError, match="already been mapped"):
        dropped.map_categories(VEHICLES)


# ---- what becomes of the tables


@pytest.mark.parametrize(("category_map", "categories"), [
    ({"car": "vehicle", "truck": "vehicle"}, [(1, "vehicle", "road"), (3, "cat", "pet")]),
    ({"truck": "car"}, [(1, "car", "road"), (3, "cat", "pet")]),
    ({"car": "truck"}, [(2, "truck", "road"), (3, "cat", "pet")]),  # keeps the row of the one that is called so
    ({"car": "truck", "truck": "car"}, [(1, "truck", "road"), (2, "car", "road"), (3, "cat", "pet")]),
    ({"car": "cat", "truck": "cat"}, [(3, "cat", "pet")]),
    ({1: "a", "2": "a"}, [(1, "a", "road"), (3, "cat", "pet")]),  # ids, where no category has this name
    ({"cat": None}, [(1, "car", "road"), (2, "truck", "road")]),
])  # fmt: skip
def test_categories(category_map: Any, categories: list[Any]) -> None:
    mapped = TRUTH.map_categories(category_map)
    assert mapped.categories.rows() == categories
    assert mapped.annotations["category_id"].is_in(mapped.categories["category_id"].implode()).all()
    apf.Dataset(mapped.images, mapped.categories, mapped.annotations)  # is still right


def test_ids_that_are_names_become_the_new_names() -> None:
    categories = pl.DataFrame({"category_id": ["car", "truck", "cat"], "name": ["car", "truck", "cat"]})
    merged = merge_categories(categories, VEHICLES | {"van": "vehicle", "dog": "pet"}, "keep")
    assert merged["new_category_id"].to_list() == ["vehicle", "vehicle", "cat", "vehicle", None]
    others = categories.with_columns(category_id=pl.Series(["c1", "c2", "c3"]))
    assert merge_categories(others, VEHICLES, "keep")["new_category_id"].to_list() == ["c1", "c1", "c3"]


@pytest.mark.slow
def test_lists_of_categories() -> None:
    images = {
        "image_id": [1, 2], "pos_category_ids": [[1, 2], [3]], "neg_category_ids": [[3], [1]],
        "not_exhaustive_category_ids": [[2], []],
    }  # fmt: skip
    categories = CATEGORIES | {"parent_ids": [[2], [3], []]}
    mapped = apf.Dataset(images, categories, ANNOTATIONS).map_categories(VEHICLES)
    assert mapped.images.select("pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids").rows() == [
        ([1], [3], [1]), ([3], [], []),
    ]  # fmt: skip
    assert mapped.categories["parent_ids"].to_list() == [[], []]  # a car is no kind of itself
    dropped = apf.Dataset(images, categories, ANNOTATIONS).map_categories({"cat": None})
    assert dropped.images["neg_category_ids"].to_list() == [[], [1]]
    assert dropped.categories["parent_ids"].to_list() == [[2], []]


@pytest.mark.slow
@pytest.mark.parametrize("unmapped", ["keep", "drop"])
def test_attributes_and_masks_stay_with_their_annotations(unmapped: str, tmp_path: Path) -> None:
    truth = json.loads((STREET / "instances.json").read_text())
    for row in truth["annotations"]:
        row["note"] = {"id": row["id"]}
        row["segmentation"] = [[row["id"], 0, 9, 0, 9, 9]]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    category_map = {"car": "vehicle", "truck": "vehicle"}
    annotations = apf.read_coco(tmp_path / "truth.json").map_categories(category_map, unmapped).annotations
    assert annotations["note"].str.json_path_match("$.id").cast(pl.Int64).equals(annotations["annotation_id"])
    masks = apf.read_coco(tmp_path / "truth.json").map_categories(category_map, unmapped).with_masks.core("annotations")
    assert masks["mask"].str.json_path_match("$[0][0]").cast(pl.Int64).equals(masks["annotation_id"])


# ---- evaluations


def merged_by_hand() -> apf.Evaluation:
    names = pl.col("category_id").replace(2, 1)
    truth = apf.Dataset(
        TRUTH.images, {"category_id": [1, 3], "name": ["vehicle", "cat"]}, pl.DataFrame(ANNOTATIONS).with_columns(names)
    )
    return apf.evaluate(truth, pl.DataFrame(FOUND).with_columns(names))


@pytest.mark.slow
def test_both_sides_are_mapped_before_matching() -> None:
    expected = merged_by_hand()
    ev = apf.evaluate(TRUTH, FOUND, category_map=VEHICLES)
    assert_frame_equal(ev.metrics, expected.metrics)
    assert ev.metrics.height < apf.evaluate(TRUTH, FOUND).metrics.height
    assert_frame_equal(apf.evaluate(TRUTH.map_categories(VEHICLES), FOUND).metrics, expected.metrics)
    evaluator = apf.Evaluator(TRUTH, category_map=VEHICLES)
    evaluator.update(FOUND)
    assert_frame_equal(evaluator.compute().metrics, expected.metrics)
    assert evaluator.compute().notes == ev.notes


@pytest.mark.slow
def test_print_and_manifest_say_what_was_merged(tmp_path: Path) -> None:
    ev = apf.evaluate(TRUTH, FOUND, category_map=VEHICLES | {"cat": None})
    note = "categories mapped: vehicle = car + truck; left out: cat"
    assert ev.notes == (note,) and str(ev).endswith(f"\n {note}") and f"<p>{note}</p>" in ev._repr_html_()
    assert ev.where("image_id = 1").notes == (note,)
    ev.write_parquet(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["notes"] == [note]
    again = apf.read_evaluation(tmp_path / "run")
    assert (again.notes, str(again)) == (ev.notes, str(ev))
    assert_frame_equal(again.by("name"), ev.by("name"))
    assert_frame_equal(again.curves(0.5), ev.curves(0.5))
    assert apf.evaluate(TRUTH, FOUND, category_map={"car": "car"}).notes == apf.evaluate(TRUTH, FOUND).notes == ()


@pytest.mark.slow
def test_results_that_have_names() -> None:
    named = pl.DataFrame(FOUND).with_columns(category_id=pl.Series(["van", "car", "truck", "cat"]))
    with pytest.raises(UnknownIdError, match="van"):
        apf.evaluate(TRUTH, named, category_map=VEHICLES, join_by_name="categories")
    expected = merged_by_hand().metrics
    for column in ("category_id", "name"):
        detections = named.rename({"category_id": column})
        ev = apf.evaluate(TRUTH, detections, category_map=VEHICLES | {"van": "vehicle"}, join_by_name="categories")
        assert_frame_equal(ev.metrics, expected)


@pytest.mark.slow
def test_text_ids_that_are_names() -> None:
    as_names = pl.col("category_id").replace_strict([1, 2, 3], CATEGORIES["name"])
    truth = apf.Dataset(
        TRUTH.images, pl.DataFrame(CATEGORIES).with_columns(as_names), pl.DataFrame(ANNOTATIONS).with_columns(as_names)
    )
    expected = merged_by_hand().summary
    for names in (["car", "car", "truck", "cat"], ["van", "vehicle", "truck", "cat"]):
        detections = pl.DataFrame(FOUND).with_columns(category_id=pl.Series(names))
        assert_frame_equal(apf.evaluate(truth, detections, category_map=VEHICLES | {"van": "vehicle"}).summary, expected)


def test_detections_of_what_is_dropped_are_dropped_silently() -> None:
    ev = apf.evaluate(TRUTH, FOUND, category_map=VEHICLES, unmapped="drop")
    assert ev.detections["category_id"].to_list() == [1, 1, 1]
    assert ev.dataset.categories["name"].to_list() == ["vehicle"]


def test_unmapped_needs_a_map() -> None:
    with pytest.raises(ParameterError, match=r"^unmapped is for categories that category_map does not name; give that too"):
        apf.evaluate(TRUTH, FOUND, unmapped="drop")


@pytest.mark.slow
def test_check_takes_the_map() -> None:
    detections = pl.DataFrame(FOUND).with_columns(category_id=pl.Series(["van", "car", "truck", "cat"]))
    by_name: Any = {"join_by_name": "categories"}
    assert apf.check(TRUTH, detections, **by_name).filter(severity="error")["check"].to_list() == ["unknown_reference"]
    assert (
        apf.check(TRUTH, detections, category_map=VEHICLES | {"van": "vehicle"}, **by_name).filter(severity="error").is_empty()
    )

"""Every input that can be wrong, one row each, with the exact error or result; in memory and as files where both exist."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    ColumnError,
    DuplicateIdError,
    FormatError,
    IdTypeError,
    InputError,
    NoAnnotationsWarning,
    ParameterError,
    RowError,
    UnknownCategoryWarning,
    UnknownIdError,
)
from apframe.tables.ids import with_id_types

Row = dict[str, Any]
GONE = object()  # in the place of a value: the field is not there

IMAGES = [{"id": 1, "width": 640, "height": 480}, {"id": 2, "width": 640, "height": 480}]
CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
ANNOTATIONS = [
    {"id": 11, "image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0},
    {"id": 12, "image_id": 2, "category_id": 2, "bbox": [5, 5, 40, 40], "area": 1600, "iscrowd": 0},
]
RESULTS = [
    {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9},
    {"image_id": 2, "category_id": 2, "bbox": [5, 5, 40, 40], "score": 0.8},
]
GROUND_TRUTH: dict[str, Any] = {"images": IMAGES, "categories": CATEGORIES, "annotations": ANNOTATIONS}


def changed(rows: list[Row], place: int, fields: Row) -> list[Row]:
    """The rows, with some fields of one of them changed."""
    new = {name: value for name, value in (rows[place] | fields).items() if value is not GONE}
    return [new if number == place else row for number, row in enumerate(rows)]


def given(data: Any, kind: str, folder: Path, name: str) -> Any:
    """The data itself, or the path of a file that holds it."""
    if kind == "memory":
        return data
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    path = folder / (f"{name}.json.gz" if kind == "gzip" else f"{name}.json")
    path.write_bytes(gzip.compress(text) if kind == "gzip" else text)
    return path


def evaluated(truth: Any, results: Any, kind: str, folder: Path, **options: Any) -> apf.Evaluation:
    return apf.evaluate(given(truth, kind, folder, "truth"), given(results, kind, folder, "results"), **options)


def stats(evaluation: apf.Evaluation) -> dict[str, float | None]:
    return dict(evaluation.summary.rows())


def one_line(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text
    return text


in_memory_and_as_files = pytest.mark.parametrize("kind", ["memory", "file", pytest.param("gzip", marks=pytest.mark.slow)])

# fields of one row of the results -> error, and what its message says before it names the row
BAD_RESULTS: dict[str, tuple[Row, type[ApframeError], str]] = {
    "no score": ({"score": GONE}, RowError, "detections: score is missing"),
    "score null": ({"score": None}, RowError, "detections: score is missing"),
    "score NaN": ({"score": nan}, RowError, "detections: score is not a finite number"),
    "score infinite": ({"score": inf}, RowError, "detections: score is not a finite number"),
    "score -infinite": ({"score": -inf}, RowError, "detections: score is not a finite number"),
    "score a word": ({"score": "high"}, RowError, "detections: score is not a number"),
    "score a list": ({"score": [0.5]}, RowError, "detections: score is not a number"),
    "x NaN": ({"bbox": [nan, 0, 1, 1]}, RowError, "detections: x is not a finite number"),
    "height infinite": ({"bbox": [0, 0, 1, inf]}, RowError, "detections: height is not a finite number"),
    "width negative": ({"bbox": [0, 0, -1, 1]}, RowError, "detections: width is negative"),
    "height negative": ({"bbox": [0, 0, 1, -1]}, RowError, "detections: height is negative"),
    "bbox of 3 numbers": ({"bbox": [0, 0, 1]}, RowError, "detections: bbox is missing or not four numbers"),
    "bbox of 5 numbers": ({"bbox": [0, 0, 1, 1, 1]}, RowError, "detections: bbox is missing or not four numbers"),
    "bbox of no numbers": ({"bbox": []}, RowError, "detections: bbox is missing or not four numbers"),
    "bbox null": ({"bbox": None}, RowError, "detections: bbox is missing or not four numbers"),
    "no bbox": ({"bbox": GONE}, RowError, "detections: bbox is missing or not four numbers"),
    "bbox a word": ({"bbox": "all"}, RowError, "detections: bbox is not a list of numbers"),
    "bbox with a null": ({"bbox": [0, 0, 1, None]}, RowError, "detections: height is missing"),
    "bbox of texts": ({"bbox": ["0", "0", "1", "1"]}, RowError, "detections: bbox is not a list of numbers"),
    "bbox with a text": ({"bbox": [0, 0, 1, "1"]}, RowError, "detections: bbox is not a list of numbers"),
    "score a number as text": ({"score": "0.5"}, RowError, "detections: score is not a number"),
    "image_id a truth value": ({"image_id": True}, RowError, "detections: image_id is not "),
    "image_id of another type": ({"image_id": "1"}, RowError, "detections: image_id is not "),
    "category_id of another type": ({"category_id": "2"}, RowError, "detections: category_id is not "),
    "image_id a fraction": ({"image_id": 1.5}, RowError, "detections: image_id is not a whole number"),
    "image_id null": ({"image_id": None}, RowError, "detections: image_id is missing"),
    "no image_id": ({"image_id": GONE}, RowError, "detections: image_id is missing"),
    "category_id null": ({"category_id": None}, RowError, "detections: category_id is missing"),
    "unknown image": ({"image_id": 7}, UnknownIdError, "detections: image_id is not among the images"),
    "image_id 0": ({"image_id": 0}, UnknownIdError, "detections: image_id is not among the images"),
}


@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.slow)])
@in_memory_and_as_files
@pytest.mark.parametrize(("fields", "error", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results(fields: Row, error: type[ApframeError], message: str, kind: str, place: int, tmp_path: Path) -> None:
    with pytest.raises(error, match=message) as caught:
        evaluated(GROUND_TRUTH, changed(RESULTS, place, fields), kind, tmp_path)
    mixed = "is not a string, as in the first row" in str(caught.value)  # then it is the rows after it
    assert f" {2 if mixed else place + 1}; " in one_line(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(("fields", "error", "message"), BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_bad_results_far_down_a_file(fields: Row, error: type[ApframeError], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message) as caught:
        evaluated(GROUND_TRUTH, changed(RESULTS * 2_000, 3_500, fields), "file", tmp_path)
    assert " 3501; " in one_line(caught.value)


# table, fields of one of its rows -> error, and what its message says before it names the row
BAD_TRUTH: dict[str, tuple[str, Row, type[ApframeError], str]] = {
    "x NaN": ("annotations", {"bbox": [nan, 0, 1, 1]}, RowError, "annotations: x is not a finite number"),
    "y infinite": ("annotations", {"bbox": [0, inf, 1, 1]}, RowError, "annotations: y is not a finite number"),
    "width negative": ("annotations", {"bbox": [0, 0, -1, 1]}, RowError, "annotations: width is negative"),
    "area negative": ("annotations", {"area": -1}, RowError, "annotations: area is negative"),
    "area NaN": ("annotations", {"area": nan}, RowError, "annotations: area is not a finite number"),
    "area a word": ("annotations", {"area": "big"}, RowError, "annotations: area is not a number"),
    "iscrowd a word": ("annotations", {"iscrowd": "no"}, RowError, "annotations: iscrowd is not a number"),
    "area a number as text": ("annotations", {"area": "1600"}, RowError, "annotations: area is not a number"),
    "iscrowd a number as text": ("annotations", {"iscrowd": "0"}, RowError, "annotations: iscrowd is not a number"),
    "bbox of texts": ("annotations", {"bbox": ["0", "0", "1", "1"]}, RowError, "annotations: bbox is not a list of numbers"),
    "image_id of another type": ("annotations", {"image_id": "1"}, RowError, "annotations: image_id is not "),
    "image_id a truth value": ("annotations", {"image_id": True}, RowError, "annotations: image_id is not "),
    "image width as text": ("images", {"width": "640"}, RowError, "images: width is not a number"),
    "image height a fraction": ("images", {"height": 480.5}, RowError, "images: image_height is not a whole number"),
    "bbox null": ("annotations", {"bbox": None}, RowError, "annotations: bbox is missing or not four numbers"),
    "bbox of 3 numbers": ("annotations", {"bbox": [0, 0, 1]}, RowError, "annotations: bbox is missing or not four"),
    "no id": ("annotations", {"id": GONE}, RowError, "annotations: annotation_id is missing"),
    "id a fraction": ("annotations", {"id": 1.5}, RowError, "annotations: (annotation_)?id is not a whole number"),
    "no image_id": ("annotations", {"image_id": GONE}, RowError, "annotations: image_id is missing"),
    "unknown image": ("annotations", {"image_id": 77}, UnknownIdError, "image_id is not among the images .*unknown: 77; "),
    "unknown category": ("annotations", {"category_id": 77}, UnknownIdError, "is not among the categories .*unknown: 77; "),
    "image without id": ("images", {"id": GONE}, RowError, "images: image_id is missing"),
    "image id null": ("images", {"id": None}, RowError, "images: image_id is missing"),
    "image width a word": ("images", {"width": "wide"}, RowError, "images: width is not a number"),
    "category without id": ("categories", {"id": GONE}, RowError, "categories: category_id is missing"),
}


@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.slow)])
@in_memory_and_as_files
@pytest.mark.parametrize(("table", "fields", "error", "message"), BAD_TRUTH.values(), ids=BAD_TRUTH)
def test_bad_truth(
    table: str, fields: Row, error: type[ApframeError], message: str, kind: str, place: int, tmp_path: Path
) -> None:
    rows = GROUND_TRUTH[table]
    with pytest.raises(error, match=message) as caught:
        apf.read_coco(given(GROUND_TRUTH | {table: changed(rows, place, fields)}, kind, tmp_path, "truth"))
    if "as in the first row" in one_line(caught.value):  # then it is the rows after it
        return
    assert f" {place + 1}; " in one_line(caught.value) or f"_id {rows[place]['id']}; " in one_line(caught.value)


DUPLICATES = {
    "images": (IMAGES, r"images: image_id is not unique for image_id 1; make the ids unique"),
    "categories": (CATEGORIES, r"categories: category_id is not unique for category_id 1; "),
    "annotations": (ANNOTATIONS, r"annotations: annotation_id is not unique for annotation_id 11; "),
}


@in_memory_and_as_files
@pytest.mark.parametrize("table", DUPLICATES)
def test_duplicate_ids(table: str, kind: str, tmp_path: Path) -> None:
    rows, message = DUPLICATES[table]
    with pytest.raises(DuplicateIdError, match=message):
        apf.read_coco(given(GROUND_TRUTH | {table: [*rows, rows[0]]}, kind, tmp_path, "truth"))


@pytest.mark.parametrize("row", [[1, 2], None, 3, "row"])
@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.slow)])
@in_memory_and_as_files
def test_row_that_is_not_an_object(row: Any, kind: str, place: int, tmp_path: Path) -> None:
    rows = [row if number == place else good for number, good in enumerate(RESULTS)]
    with pytest.raises(InputError, match=r"not (a JSON|an) object|for row 2; "):
        apf.read_coco_results(given(rows, kind, tmp_path, "results"))
    rows = [row if number == place else good for number, good in enumerate(ANNOTATIONS)]
    with pytest.raises(RowError, match=f"annotations: (the row is not a JSON object|bbox .*) for row {place + 1}; "):
        apf.read_coco(given(GROUND_TRUTH | {"annotations": rows}, kind, tmp_path, "truth"))


# ---- what the reference mishandles and has a result here


@pytest.mark.slow
@in_memory_and_as_files
def test_annotation_id_0_is_one_like_any_other(kind: str, tmp_path: Path) -> None:
    truth = GROUND_TRUTH | {"annotations": changed(ANNOTATIONS, 0, {"id": 0})}
    evaluation = evaluated(truth, RESULTS, kind, tmp_path)
    assert evaluation.matches()["outcome"].to_list() == ["tp", "tp"]
    assert stats(evaluation)["AP"] == stats(evaluated(GROUND_TRUTH, RESULTS, kind, tmp_path))["AP"]


@pytest.mark.slow
@in_memory_and_as_files
def test_detections_of_unknown_images(kind: str, tmp_path: Path) -> None:
    results = [*RESULTS, *(RESULTS[0] | {"image_id": image_id} for image_id in (90, 91, 90))]
    with pytest.raises(UnknownIdError, match=r"for detection_id 3, 4, 5; unknown: 90, 91; .*unknown_images=.drop") as caught:
        evaluated(GROUND_TRUTH, results, kind, tmp_path)
    assert (caught.value.table, caught.value.key, caught.value.rows) == ("detections", "detection_id", [3, 4, 5])
    dropped = evaluated(GROUND_TRUTH, results, kind, tmp_path, unknown_images="drop")
    assert dropped.detections["detection_id"].to_list() == [1, 2]
    assert stats(dropped) == stats(evaluated(GROUND_TRUTH, RESULTS, kind, tmp_path))


@pytest.mark.slow
@in_memory_and_as_files
def test_detections_of_unknown_categories_are_counted(kind: str, tmp_path: Path) -> None:
    results = [*RESULTS, *(RESULTS[0] | {"category_id": category_id} for category_id in (8, 9, 8))]
    with pytest.warns(
        UnknownCategoryWarning,
        match="^3 of 5 detections have an unknown category_id and were dropped: 8, 9; the ground truth has ",
    ):
        evaluation = evaluated(GROUND_TRUTH, results, kind, tmp_path)
    assert evaluation.detections["detection_id"].to_list() == [1, 2]
    assert stats(evaluation) == stats(evaluated(GROUND_TRUTH, RESULTS, kind, tmp_path))


@pytest.mark.slow
@in_memory_and_as_files
def test_unknown_categories_are_dropped_when_pooled_too(kind: str, tmp_path: Path) -> None:
    results = [*RESULTS, RESULTS[0] | {"category_id": 9, "score": 1.0, "bbox": [300, 300, 5, 5]}]
    with pytest.warns(UnknownCategoryWarning, match="^1 of 3 detections has an unknown category_id"):
        evaluation = evaluated(GROUND_TRUTH, results, kind, tmp_path, agnostic=True)
    assert stats(evaluation) == stats(evaluated(GROUND_TRUTH, RESULTS, kind, tmp_path, agnostic=True))


@pytest.mark.parametrize("places", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("value", [GONE, None])
@in_memory_and_as_files
def test_missing_area_and_iscrowd(kind: str, value: object, places: tuple[int, ...], tmp_path: Path) -> None:
    rows = ANNOTATIONS
    for place in places:
        rows = changed(rows, place, {"area": value, "iscrowd": value, "bbox": [0, 0, 3, 7 + place]})
    truth = apf.read_coco(given(GROUND_TRUTH | {"annotations": rows}, kind, tmp_path, "truth"))
    expected = [[100.0, 1600.0][place] if place not in places else 3.0 * (7 + place) for place in (0, 1)]
    assert truth.core("annotations")["area"].to_list() == truth.annotations["area"].to_list() == expected
    assert truth.annotations["is_crowd"].to_list() == [False, False]


@in_memory_and_as_files
def test_no_detections_give_zeros(kind: str, tmp_path: Path) -> None:
    values = stats(evaluated(GROUND_TRUTH, [], kind, tmp_path))
    empty = {"APl": None, "ARl": None}  # there are no large objects
    assert values == dict.fromkeys(values, 0.0) | empty


@pytest.mark.parametrize("results", [RESULTS, []], ids=["detections", "none"])
@in_memory_and_as_files
def test_no_annotations_give_nulls_and_a_warning(kind: str, results: list[Row], tmp_path: Path) -> None:
    with pytest.warns(NoAnnotationsWarning, match="no annotations"):
        evaluation = evaluated(GROUND_TRUTH | {"annotations": []}, results, kind, tmp_path)
    assert set(stats(evaluation).values()) == {None}
    assert set(evaluation.stats) == {-1.0}
    assert evaluation.metrics["ap"].null_count() == evaluation.metrics.height


@pytest.mark.slow
@in_memory_and_as_files
def test_no_images_and_no_categories(kind: str, tmp_path: Path) -> None:
    nothing: dict[str, list[Row]] = {"images": [], "categories": [], "annotations": []}
    with pytest.warns(NoAnnotationsWarning):
        evaluation = evaluated(nothing, [], kind, tmp_path)
    assert set(stats(evaluation).values()) == {None}
    assert evaluation.metrics.is_empty() and evaluation.matches().is_empty()


@pytest.mark.slow
@in_memory_and_as_files
def test_string_ids(kind: str, tmp_path: Path) -> None:
    def named(rows: list[Row]) -> list[Row]:
        return [row | {k: f"{v:03}" for k, v in row.items() if k in ("id", "image_id", "category_id")} for row in rows]

    truth = {table: named(rows) for table, rows in GROUND_TRUTH.items()}
    evaluation = evaluated(truth, named(RESULTS), kind, tmp_path)
    assert stats(evaluation) == stats(evaluated(GROUND_TRUTH, RESULTS, kind, tmp_path))
    assert evaluation.matches()["annotation_id"].to_list() == ["011", "012"]
    assert evaluation.metrics["category_id"].unique().sort().to_list() == ["001", "002"]


def test_ids_of_different_types_on_the_two_sides(tmp_path: Path) -> None:
    results = [row | {"image_id": str(row["image_id"])} for row in RESULTS]
    for kind in ("memory", "file"):
        with pytest.raises(
            IdTypeError, match=r"detections.image_id holds strings, not integers like images.image_id; make image_id"
        ):
            evaluated(GROUND_TRUTH, results, kind, tmp_path)
    annotations = [row | {"category_id": str(row["category_id"])} for row in ANNOTATIONS]
    for kind in ("memory", "file"):
        with pytest.raises(
            IdTypeError, match=r"annotations.category_id holds strings, not integers like categories.category_id"
        ):
            apf.read_coco(given(GROUND_TRUTH | {"annotations": annotations}, kind, tmp_path, "truth"))


# ---- files

TRUTH_TEXT, RESULTS_TEXT = json.dumps(GROUND_TRUTH).encode(), json.dumps(RESULTS).encode()
AFTER_A_ROW = RESULTS_TEXT.index(b"}") + 1

BAD_TRUTH_FILES = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n", "the file is empty"),
    "words": (b"hello", "not JSON"),
    "a number": (b"3", "an int is not ground truth"),
    "not text": (b"\xff\xfe\x00\x01", "not UTF-8 text"),
    "an empty object": (b"{}", "no list named images, categories, annotations; .* found: none"),
    "no annotations": (b'{"images": [], "categories": []}', "no list named annotations; .*: images, categories$"),
    "annotations null": (b'{"images": [], "categories": [], "annotations": null}', "no list named annotations"),
    "images an object": (b'{"images": {}, "categories": [], "annotations": []}', "no list named images"),
    "results": (RESULTS_TEXT, "holds a list, .*; is it a results file?"),
    "no results": (b"[]", "holds a list, .*; is it a results file?"),
    **{f"cut at {place}": (TRUTH_TEXT[:place], "not JSON, or cut off") for place in (1, 40, 200, -1)},
    "cut after an annotation": (TRUTH_TEXT[:-2], "not JSON, or cut off"),
    "cut in an annotation": (TRUTH_TEXT[:-20], "not JSON, or cut off"),
    "cut after a comma": (TRUTH_TEXT[: TRUTH_TEXT.rindex(b", {") + 1], "not JSON, or cut off"),
    "more after the end": (TRUTH_TEXT + b"}", "not JSON"),
}
BAD_RESULTS_FILES = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n", "the file is empty"),
    "words": (b"hello", "not (a )?JSON"),
    "a number": (b"3", "not a JSON list of results"),
    "not text": (b"\xff\xfe\x00\x01", "not (a )?JSON"),
    "ground truth": (TRUTH_TEXT, "holds an object, not a list of results; is it ground truth?"),
    "an opening bracket": (b"[", "not JSON, or cut off"),
    "one result, cut": (RESULTS_TEXT[:30], "not JSON, or cut off"),
    "cut after a result": (RESULTS_TEXT[:AFTER_A_ROW], "not JSON, or cut off"),
    "cut after a comma": (RESULTS_TEXT[: AFTER_A_ROW + 1], "not JSON, or cut off"),
    "cut after a comma and a space": (RESULTS_TEXT[: AFTER_A_ROW + 2], "not JSON, or cut off"),
    "cut in the second result": (RESULTS_TEXT[: AFTER_A_ROW + 20], "not JSON, or cut off"),
    "cut after a box": (RESULTS_TEXT[: RESULTS_TEXT.rindex(b"]", 0, -2) + 1], "not JSON, or cut off"),
    "without the last bracket": (RESULTS_TEXT[:-1], "not JSON, or cut off"),
    "a comma too many": (RESULTS_TEXT[:-1] + b",]", "not JSON"),
    "two lists": (RESULTS_TEXT + RESULTS_TEXT, "not JSON"),
    "lines, one of them cut": (b"\n".join(json.dumps(row).encode() for row in RESULTS)[:-9], "not JSON, or cut off"),
    "lines that are no results": (b'{"a": 1}\n{"a": 2}', "holds an object, not a list of results; is it ground truth?"),
}


@pytest.mark.parametrize("kind", ["file", "gzip"])
@pytest.mark.parametrize(("text", "message"), BAD_TRUTH_FILES.values(), ids=BAD_TRUTH_FILES)
def test_bad_truth_file(text: bytes, message: str, kind: str, tmp_path: Path) -> None:
    path = given(text, kind, tmp_path, "truth")
    with pytest.raises(FormatError, match=message) as caught:
        apf.read_coco(path)
    assert one_line(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("kind", ["file", "gzip"])
@pytest.mark.parametrize(("text", "message"), BAD_RESULTS_FILES.values(), ids=BAD_RESULTS_FILES)
def test_bad_results_file(text: bytes, message: str, kind: str, tmp_path: Path) -> None:
    path = given(text, kind, tmp_path, "results")
    with pytest.raises(FormatError, match=message) as caught:
        apf.read_coco_results(path)
    assert one_line(caught.value).startswith(f"{path}: ")


@pytest.mark.slow
def test_large_results_cut_after_a_comma(tmp_path: Path) -> None:
    text = json.dumps(RESULTS * 15_000).encode()  # read in parts
    for cut in (text[: text.rindex(b"}") - 200], text[: text.rindex(b", {") + 1], text[:-1]):
        path = given(cut, "file", tmp_path, "results")
        with pytest.raises(FormatError, match="not JSON, or cut off"):
            apf.read_coco_results(path)


@pytest.mark.parametrize("read", [apf.read_coco, apf.read_coco_results])
def test_no_file(read: Callable[[Any], Any], tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nowhere\.json: there is no such file$"):
        read(tmp_path / "nowhere.json")
    with pytest.raises(FormatError, match=r"this is a folder, but a file is needed$"):
        read(tmp_path)
    with pytest.raises(FormatError, match=r"no such file|cannot be read"):
        read(given(b"[]", "file", tmp_path, "file") / "below")
    whole = gzip.compress(json.dumps(RESULTS * 50).encode())
    damaged = tmp_path / "cut.json.gz"
    for content in (whole[:-3], whole[: len(whole) // 2], whole[:12], whole[:30] + b"\x00\x01\x02" + whole[33:]):
        damaged.write_bytes(content)
        with pytest.raises(FormatError, match="the gzip file is damaged or cut off"):
            read(damaged)


def test_memory_of_the_wrong_shape(tmp_path: Path) -> None:
    wrong: Any = {}
    with pytest.raises(FormatError, match="ground truth: no list named images, categories, annotations"):
        apf.read_coco(wrong)
    with pytest.raises(InputError, match=r"is it ground truth\?"):
        apf.evaluate(GROUND_TRUTH, json.loads(TRUTH_TEXT))
    with pytest.raises(FormatError, match="holds a list"):
        apf.read_coco(RESULTS)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="holds a list"):
        apf.evaluate(given(RESULTS, "file", tmp_path, "truth"), RESULTS)


# ---- frames

DETECTIONS: dict[str, list[Any]] = {
    "image_id": [1, 2], "category_id": [1, 2], "score": [0.9, 0.8], "x": [0, 5], "y": [0, 5], "width": [10, 40],
    "height": [10, 40],
}  # fmt: skip
BAD_FRAMES: dict[str, tuple[dict[str, Any], type[ApframeError], str]] = {
    "score NaN": ({"score": [0.9, nan]}, RowError, "detections: score is not a finite number for detection_id 2; "),
    "x infinite": ({"x": [-inf, 0.0]}, RowError, "detections: x is not a finite number for detection_id 1; "),
    "both infinities": ({"x": [-inf, inf]}, RowError, "detections: x is not a finite number for detection_id 1, 2; "),
    "width negative": ({"width": [1, -1]}, RowError, "detections: width is negative for detection_id 2; "),
    "score null": ({"score": [None, 0.8]}, RowError, "detections: score is missing for detection_id 1; "),
    "score text": ({"score": ["0.9", "0.8"]}, ColumnError, "detections.score must be Float64, not String"),
    "x a list": ({"x": [[1.0], [2.0]]}, ColumnError, r"detections.x must be Float64, not List\(Float64\)"),
    "no score": ({"score": GONE}, ColumnError, "detections: no column score; there are image_id, category_id, x"),
    "score as scores": (
        {"score": GONE, "scores": [0.5, 0.5]}, ColumnError, "no column score .did you mean to rename 'scores' to score"
    ),
    "category_id as categoryid": (
        {"category_id": GONE, "CategoryID": [1, 1]}, ColumnError, ".did you mean to rename 'CategoryID' to category_id"
    ),
    "categories as names": (
        {"category_id": GONE, "labels": ["cat", "cat"]},
        ColumnError,
        "category_id .did you mean to rename 'labels' to name, with join_by_name=.categories.",
    ),
    "image_id as imageid": (
        {"image_id": GONE, "imageid": [1, 1]}, ColumnError, "no column image_id .did you mean to rename 'imageid' to image_id"
    ),
    "score misspelt": ({"score": GONE, "Scor": [1, 2]}, ColumnError, "no column score .did you mean to rename 'Scor'"),
    "image_id a fraction": ({"image_id": [1.0, 1.5]}, RowError, "detections: image_id is not a whole number for row 2; "),
    "image_id NaN": ({"image_id": [1.0, nan]}, RowError, "detections: image_id is not a whole number for row 2; "),
    "image_id null": ({"image_id": [None, 1]}, RowError, "detections: image_id is missing for detection_id 1; "),
    "image_id too large": (
        {"image_id": pl.Series([1, 2**63], dtype=pl.UInt64)}, RowError, "detections: image_id is beyond 64 bits for row 2",
    ),
    "image_id a list": ({"image_id": [[1], [2]]}, ColumnError, "detections.image_id: ids must be integers or strings"),
    "image_id text": ({"image_id": ["1", "2"]}, IdTypeError, "detections.image_id holds strings, not integers like images"),
    "unknown image": ({"image_id": [1, 9]}, UnknownIdError, "for detection_id 2; unknown: 9; "),
    "duplicate ids": ({"detection_id": [4, 4]}, DuplicateIdError, "detection_id is not unique for detection_id 4; "),
    "columns of two lengths": ({"score": [0.9]}, ColumnError, "detections: the columns cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "error", "message"), BAD_FRAMES.values(), ids=BAD_FRAMES)
def test_bad_frame(columns: dict[str, Any], error: type[ApframeError], message: str) -> None:
    frame = {name: value for name, value in (DETECTIONS | columns).items() if value is not GONE}
    with pytest.raises(error, match=message) as caught:
        apf.evaluate(GROUND_TRUTH, frame)
    one_line(caught.value)


def test_no_frame_at_all(tmp_path: Path) -> None:
    (tmp_path / "found.parquet").write_text("no")
    with pytest.raises(ColumnError, match="detections: an int cannot be read as a table; give a Polars"):
        apf.evaluate(GROUND_TRUTH, 3)
    with pytest.raises(FormatError, match=r"found\.parquet: cannot be read as Parquet"):
        apf.evaluate(GROUND_TRUTH, tmp_path / "found.parquet")
    with pytest.raises(FormatError, match=r"nowhere\.parquet: there is no such file or folder$"):
        apf.evaluate(GROUND_TRUTH, tmp_path / "nowhere.parquet")


# ---- options

BAD_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "threshold 0": ({"iou_thresholds": [0.0, 0.5]}, r"iou_thresholds must lie in \(0, 1\] and increase, got 0.0, 0.5"),
    "threshold above 1": ({"iou_thresholds": [0.5, 1.5]}, r"iou_thresholds must lie in \(0, 1\]"),
    "threshold NaN": ({"iou_thresholds": [nan]}, r"iou_thresholds must lie in \(0, 1\]"),
    "thresholds decrease": ({"iou_thresholds": [0.75, 0.5]}, "iou_thresholds must .* increase"),
    "a threshold twice": ({"iou_thresholds": [0.5, 0.5]}, "iou_thresholds must .* increase"),
    "no thresholds": ({"iou_thresholds": []}, r"iou_thresholds must .*, got none"),
    "thresholds of text": ({"iou_thresholds": ["half"]}, "wrong type"),
    "levels below 0": ({"recall_levels": [-0.1, 0.5]}, r"recall_levels must lie in \[0, 1\]"),
    "no levels": ({"recall_levels": []}, "recall_levels must"),
    "no detections": ({"max_detections": [0]}, r"max_detections must be different numbers, at least 1, not 0"),
    "a limit beyond all": ({"max_detections": [10, 2**53]}, "max_detections must be below 2\\^31, got 9007199254740992"),
    "a limit twice": ({"max_detections": [100, 10, 100]}, "max_detections must be different numbers, at least 1"),
    "no max_detections": ({"max_detections": []}, r"max_detections must .*, not none"),
    "half a detection": ({"max_detections": [1.5]}, "max_detections"),
    "a flag as a limit": ({"max_detections": True}, r"has the wrong type \(a number of detections cannot be True or False\)"),
    "words": ({"max_detections": "many"}, "wrong type"),
    "a similarity as protocol": ({"protocol": "segm"}, "choose a similarity with iou_type="),
    "no area range": ({"protocol": apf.COCO, "area_ranges": {"all": (5, 1)}}, "area range 'all' must have"),
    "area range upside down": ({"area_ranges": {"tiny": (10, 5)}}, "area range 'tiny' must have 0 <= low <= high, got 10"),
    "area below 0": ({"area_ranges": {"tiny": (-1, 5)}}, "area range 'tiny' must have"),
    "area NaN": ({"area_ranges": {"tiny": (0, nan)}}, "area range 'tiny' must have"),
    "area of one number": ({"area_ranges": {"tiny": 5}}, "wrong type"),
    "unknown category": ({"categories": ["cat", "bird"]}, "no category 'bird'; there are 'cat', 'dog'"),
    "nearly a category": ({"categories": ["cats"]}, "no category 'cats'; did you mean cat?"),
    "unknown category id": ({"categories": [7]}, "no category 7; there are 'cat', 'dog'"),
    "no categories": ({"categories": []}, "no category was named; there are 'cat', 'dog'"),
    "wrong iou_type": ({"iou_type": "segm3d"}, "COCO has no iou_type 'segm3d'; it has bbox"),
    "wrong unknown_images": ({"unknown_images": "x"}, """unknown_images is "error" or "drop", not 'x'"""),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_option(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        apf.evaluate(GROUND_TRUTH, RESULTS, **options)
    one_line(caught.value)


def test_options_of_numpy_are_taken() -> None:
    evaluation = apf.evaluate(GROUND_TRUTH, RESULTS, iou_thresholds=np.array([0.5, 0.75]), max_detections=np.array([1, 100]))  # type: ignore[arg-type]
    assert evaluation.summary["metric"].head(5).to_list() == ["AP", "AP50", "AP75", "APs", "APm"]


NOT_EVALUATED: dict[str, tuple[dict[str, Any], str]] = {
    "threshold": (
        {"iou_threshold": 0.51},
        "iou_threshold 0.51 was not evaluated; choose from 0.5, 0.75, or add it with iou_thr",
    ),
    "area range": ({"area_range": "tiny"}, "area_range 'tiny' was not evaluated; there are all, small, medium, large$"),
}


@pytest.mark.parametrize(("options", "message"), NOT_EVALUATED.values(), ids=NOT_EVALUATED)
def test_asking_for_what_was_not_evaluated(options: dict[str, Any], message: str) -> None:
    evaluation = apf.evaluate(GROUND_TRUTH, RESULTS, iou_thresholds=[0.5, 0.75])
    with pytest.raises(ParameterError, match=message):
        evaluation.matches(**options)
    with pytest.raises(ParameterError, match=message):
        evaluation.curves(**options)


def test_curves_of_an_unknown_category() -> None:
    with pytest.raises(ParameterError, match="no category 'bird'; there are 'cat', 'dog'"):
        apf.evaluate(GROUND_TRUTH, RESULTS).curves(category="bird")


def test_ids_of_another_type_stay_where_there_are_no_images() -> None:
    """They are named afterwards, as ids of unknown images."""
    nothing = apf.read_coco({"images": [], "categories": CATEGORIES, "annotations": []})
    frame = pl.DataFrame({"image_id": ["a"], "category_id": [1]})
    assert with_id_types("detections", frame, nothing).equals(frame)

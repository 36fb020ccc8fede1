"""Everything that can be checked: files, what is in memory, what a `Dataset` refuses as a whole, and what cannot be read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.checks.check import check
from apframe.exceptions import FormatError, InputError, InvalidRowsWarning, ParameterError, RowError
from tests.checks.test_findings import CLEAN, of_all, with_rows
from tests.parity.strategies import Case, cases

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco-val2014-100"
of_real_data = pytest.mark.skipif(not REAL.is_dir(), reason="the real data are not here")
STREET = Path(__file__).resolve().parents[2] / "data" / "street"
GONE = object()

# two rows that are refused for different reasons, in each table that has such
BROKEN = with_rows(
    annotations=[
        {"id": 14, "image_id": 1, "category_id": 2},
        {"id": 15, "image_id": 1, "category_id": 2, "bbox": [0, 0, -1, 1]},
        {"id": 16, "image_id": 8, "category_id": 8, "bbox": [0, 0, 1, 1]},
    ],
    detections=[
        {"image_id": 1, "category_id": 2, "score": 0.1},
        {"image_id": 1, "category_id": 2, "score": None, "bbox": [0, 0, 1, 1]},
    ],
)
ERRORS = {
    ("annotations", "14", "bbox is missing or not four numbers"),
    ("annotations", "15", "width is negative"),
    ("annotations", "16", "image_id is not among the images"),
    ("detections", "4", "bbox is missing or not four numbers"),
    ("detections", "5", "score is missing"),
}


def frames(data: dict[str, list[dict[str, Any]]]) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """The tables as somebody has them in memory: their own ids, and boxes as lists."""
    keys = {"images": "image_id", "categories": "category_id", "annotations": "annotation_id"}
    truth = {table: pl.DataFrame(data[table]).rename({"id": key}) for table, key in keys.items()}
    return truth, pl.DataFrame(data["detections"])


def errors(findings: pl.DataFrame) -> set[tuple[str, str, str]]:
    of_errors = findings.filter(pl.col("severity") == "error").with_columns(pl.col("problem").str.replace("^.*?: ", ""))
    return {(table, *rows, problem) for table, rows, problem in of_errors.select("table", "rows", "problem").rows()}


@pytest.mark.parametrize("kind", ["memory", "plain", "gzip", "frames"])
def test_every_row_that_is_refused_is_named_wherever_the_data_is(kind: str, tmp_path: Path) -> None:
    truth: Any = {table: rows for table, rows in BROKEN.items() if table != "detections"}
    results: Any = BROKEN["detections"]
    if kind == "frames":
        truth, results = frames(BROKEN)
    elif kind != "memory":
        paths = tmp_path / "truth.json", tmp_path / "results.json"
        for path, data in zip(paths, (truth, results), strict=True):
            text = json.dumps(data).encode()
            path.write_bytes(gzip.compress(text) if kind == "gzip" else text)
        truth, results = paths
    named = {(table, row.removeprefix("row "), problem) for table, row, problem in errors(check(truth, results))}
    assert named == ERRORS


def test_a_dataset_and_detections_are_taken_as_they_are() -> None:
    truth, detections = apf.read_coco(CLEAN), apf.read_coco_results(CLEAN["detections"])
    assert check(truth, detections).is_empty()
    assert check(truth, detections.with_columns(score=0.5))["check"].to_list() == ["equal_scores"]


def test_masks_of_a_file_are_looked_at(tmp_path: Path) -> None:
    triangle = {"id": 14, "image_id": 1, "category_id": 2, "bbox": [0, 0, 50, 50], "segmentation": [[0, 0, 50, 0, 0, 50]]}
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(CLEAN | {"annotations": [triangle | {"area": 2500}]}))
    for truth in (path, apf.read_coco(path)):
        assert "area_of_mask" in check(truth)["check"]


MISSING = {
    "images": ("image_id", "no column image_id"),
    "categories": ("category_id", "no column category_id"),
    "annotations": ("category_id", "no column category_id"),
    "detections": ("score", "no column score"),
}


@pytest.mark.parametrize("table", MISSING)
def test_a_column_that_is_missing_is_a_finding(table: str) -> None:
    truth, detections = frames(CLEAN)
    name, problem = MISSING[table]
    tables = truth | {"detections": detections}
    tables[table] = tables[table].drop(name)
    findings = check({table: tables[table] for table in truth}, tables["detections"])
    first = findings.row(0, named=True)
    assert (first["severity"], first["check"], first["table"], first["n_rows"]) == (
        "error",
        "column",
        table,
        tables[table].height,
    )
    assert first["problem"] == f"{table}: {problem}"
    assert "place" not in first["remedy"] and "detection_id" not in first["remedy"]


def test_a_column_of_another_type_hides_nothing_in_other_tables() -> None:
    truth, detections = frames(with_rows(categories=[{"id": 9, "name": "eel"}]))
    truth["annotations"] = truth["annotations"].with_columns(area=pl.lit("big"))
    detections = detections.with_columns(score=pl.col("score") * 100)
    assert check(truth, detections).select("severity", "check", "table").rows() == [
        ("error", "column", "annotations"),
        ("error", "duplicate_id", "categories"),
        ("warning", "score_outside_0_1", "detections"),
    ]


def test_what_holds_no_columns_is_a_finding() -> None:
    findings = check({"images": 1, "categories": 2, "annotations": 3})
    assert findings.select("severity", "check", "table").rows() == [("error", "column", "images")]


def test_rows_keep_their_numbers_when_earlier_ones_are_refused() -> None:
    data = with_rows(
        detections=[
            {"image_id": 1, "category_id": 2, "score": 0.1, "bbox": [1]},
            {"image_id": 1, "category_id": 2, "score": "high", "bbox": [0, 0, 1, 1]},
            {"image_id": 1, "category_id": 2, "score": float("inf"), "bbox": [0, 0, 1, 1]},
            {"image_id": 77, "category_id": 2, "score": 0.5, "bbox": [0, 0, 1, 1]},
        ]
    )
    assert {(row, problem) for _, row, problem in errors(check(data, data["detections"]))} == {
        ("row 4", "bbox is missing or not four numbers"),
        ("row 5", "score is not a number"),
        ("6", "score is not a finite number"),
        ("7", "image_id is not among the images (77)"),
    }


def test_a_double_that_is_broken_too_is_both() -> None:
    data = with_rows(annotations=[{"id": 11, "image_id": 1, "category_id": 2, "bbox": [0, 0, -1, 1]}])
    assert errors(check(data)) == {
        ("annotations", "11", "annotation_id is not unique (1 id in several rows)"),
        ("annotations", "11", "width is negative"),
    }


def test_annotations_refer_to_an_image_with_a_bad_size() -> None:
    truth, _ = frames(CLEAN)
    truth["images"] = truth["images"].with_columns(width=100.5).rename({"width": "image_width", "height": "image_height"})
    assert errors(check(truth)) == {("images", "1", "4", "image_width is not a whole number")}
    assert check(truth)["severity"].to_list() == ["error"]


@pytest.mark.slow
def test_results_are_joined_by_name_when_asked() -> None:
    names = {image["id"]: image["file_name"] for image in CLEAN["images"]}
    data = of_all("detections", lambda row: {"image_id": names[row["image_id"]]})
    assert check(data, data["detections"], join_by_name="images").is_empty()
    assert check(data, data["detections"])["check"].to_list() == ["id_types"]
    strange = [*data["detections"], data["detections"][0] | {"image_id": "z.jpg", "score": 0.2}]
    assert errors(check(data, strange, join_by_name="images")) == {("detections", "row 4", "image_id is not among the images")}
    double = data | {"images": [row | {"file_name": "a.jpg"} for row in CLEAN["images"]]}
    assert ("error", "invalid_value", "images") in check(double, double["detections"][:2], join_by_name="images").select(
        "severity", "check", "table"
    ).rows()


def test_results_say_that_they_need_a_truth_that_is_refused() -> None:
    truth, detections = frames(CLEAN)
    truth["images"] = truth["images"].drop("image_id")
    findings = check(truth, detections, join_by_name="categories")
    assert findings.select("table", "problem").rows()[-1] == (
        "detections",
        "detections: cannot be read without their ground truth",
    )


@pytest.mark.slow
def test_other_formats(tmp_path: Path) -> None:
    truth, results = tmp_path / "truth", tmp_path / "results"
    for folder, line in ((truth, "cat 10 10 40 30\ncat 10 10 40 29\n"), (results, "cat 1.5 10 10 40 30\neel .5 0 0 9 9\n")):
        folder.mkdir()
        (folder / "a.txt").write_text(line)
    assert check(truth, results).select("severity", "check", "rows").rows() == [
        ("warning", "near_duplicate", ["2"]),
        ("warning", "score_outside_0_1", ["1"]),
        ("warning", "unknown_category", ["2"]),
    ]
    assert check(truth, results, format="boxes", results_format="boxes").height == 3
    with pytest.raises(ParameterError, match="no split 'val'"):
        check(truth, split="val")


OF_FILES: dict[str, Any] = {"format": "coco", "split": "val", "image_sizes": {}, "results_format": "coco"}


@pytest.mark.parametrize("name", OF_FILES)
def test_options_of_files_are_refused_for_what_is_in_memory(name: str) -> None:
    for truth in (CLEAN, apf.read_coco(CLEAN)):
        with pytest.raises(ParameterError, match=f"^{name}=: only for files and folders"):
            check(truth, CLEAN["detections"], **{name: OF_FILES[name]})


def test_ground_truth_in_the_place_of_results_is_told() -> None:
    for truth in (CLEAN, apf.read_coco(CLEAN)):
        with pytest.raises(FormatError, match=r"^results: this has images and annotations, .*; is it ground truth\?$"):
            check(CLEAN, truth)


@pytest.mark.parametrize("text", ["", "{", '{"images": []}', "[]"])
def test_a_file_that_cannot_be_parsed_is_raised(text: str, tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"truth\.json"):
        check(path)
    with pytest.raises(FormatError, match="there is no such file"):
        check(tmp_path / "none.json")


@pytest.mark.parametrize("name", ["model_a", "model_b"])
def test_the_sample_is_clean(name: str) -> None:
    assert set(check(STREET / "instances.json", STREET / f"{name}.json")["severity"]) <= {"note"}


@pytest.mark.slow
@of_real_data
@pytest.mark.parametrize("name", ["detections_bbox", "detections_segm"])
def test_real_annotations_are_clean(name: str) -> None:
    findings = check(REAL / "instances.json", REAL / f"{name}.json")
    assert findings.select("severity", "check", "n_rows").rows() == [("note", "unused_category", 10)]


@pytest.mark.slow
@of_real_data
def test_areas_of_boxes_are_found_among_real_annotations() -> None:
    truth = json.loads((REAL / "instances.json").read_text())
    for row in truth["annotations"]:
        row["area"] = row["bbox"][2] * row["bbox"][3]
    findings = check(truth).filter(pl.col("check") == "area_of_mask")
    assert findings["n_rows"].item() > 0.5 * len(truth["annotations"])


@pytest.mark.slow
@given(case=cases() | cases(strings=True))
def test_what_is_evaluated_has_no_errors(case: Case) -> None:
    assert "error" not in check(case.truth, case.results)["severity"]


# table (None: results) and fields of one of its rows, of which evaluation refuses nearly all
WRONG: list[tuple[str | None, dict[str, Any]]] = [
    *(
        (table, {"id": value})
        for table in ("images", "categories", "annotations")
        for value in (None, 1.5, "x", [1], GONE, True)
    ),
    *(
        (table, {name: value})
        for table in ("annotations", None)
        for name in ("image_id", "category_id", "bbox", "score", "area", "iscrowd")
        for value in (None, 1.5, "x", -1, 2**60, float("nan"), [0, 0, 1], [0, 0, -1, 1], [0, 0, 1, float("inf")], GONE)
    ),
    ("images", {"width": "wide"}),
    ("images", {"width": float("nan")}),
    ("images", {"neg_category_ids": [-99]}),
    ("images", {"neg_category_ids": ["x"]}),
    ("categories", {"parent_ids": [None]}),
    ("annotations", {"keypoints": [1, "x"]}),
]


@pytest.mark.slow
@given(case=cases(), wrong=st.sampled_from(WRONG), place=st.integers(0, 20), double=st.booleans())
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_what_evaluation_refuses_is_an_error(
    case: Case, wrong: tuple[str | None, dict[str, Any]], place: int, double: bool
) -> None:
    table, fields = wrong
    rows = case.results if table is None else case.truth[table]
    if rows:
        row = rows[place % len(rows)]
        new = {name: value for name, value in (row | fields).items() if value is not GONE}
        rows = [*rows, row] if double else [new if each is row else each for each in rows]
    truth, results = (case.truth, rows) if table is None else (case.truth | {table: rows}, case.results)
    try:
        assert apf.evaluate(truth, results).detections.height >= 0
        refused = False
    except InputError:
        refused = True
    assert refused == ("error" in check(truth, results)["severity"])


OBJECTS: list[dict[str, Any]] = [
    {"image_id": 1, "class": "cat", "bbox": [0, 0, 10, 10]},
    {"image_id": 1, "class": "dog", "bbox": [20, 20, -1, 10]},
    {"image_id": 2, "class": "dog", "bbox": [20, 20, 10, 10]},
]
NESTED: list[dict[str, Any]] = [
    {"image_id": 1, "objects": {"bbox": [[0, 0, 10, 10], [20, 20, -1, 10]], "category": ["cat", "dog"]}},
    {"image_id": 2, "objects": {"bbox": [[20, 20, 10, 10]], "category": ["dog"]}},
]


@pytest.mark.parametrize("rows", [OBJECTS, NESTED], ids=["objects", "images"])
@pytest.mark.parametrize("kind", ["list", "frame"])
def test_rows_in_memory_are_checked_and_dropped_as_files_are(rows: list[dict[str, Any]], kind: str) -> None:
    truth = rows if kind == "list" else pl.DataFrame(rows)
    detections = [row | {"score": 0.5} for row in OBJECTS if row["bbox"][2] > 0]
    assert check(truth, detections).filter(pl.col("severity") == "error")["problem"].to_list() == [
        "1 of 3 annotations: width is negative"
    ]
    with pytest.warns(InvalidRowsWarning, match="1 annotation .width is negative"):
        assert apf.evaluate(truth, detections, invalid="drop")["AP"] == pytest.approx(1)
    with pytest.raises(RowError, match=r"width is negative .*; boxes are x, y, width, height"):
        apf.evaluate(truth, detections)


def test_a_box_format_that_only_the_results_have_is_said() -> None:
    truth, detections = OBJECTS[2:], [OBJECTS[2] | {"bbox": [20, 20, 30, 30], "score": 0.5}]
    with pytest.raises(RowError, match=r"box_format applies to both sides; .* read the ground truth first: apf\.read_dataset"):
        apf.evaluate(truth, detections, box_format="xyxy")
    assert apf.evaluate(apf.read_dataset(truth), detections, box_format="xyxy")["AP"] == pytest.approx(1)

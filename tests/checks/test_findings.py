"""Each finding on a tiny data set: the row of the table that is expected, and no other of that severity."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from apframe.checks.check import check, worst
from apframe.checks.masks import has_mask

Row = dict[str, Any]
Found = tuple[str, str, str, int, list[str]]

SQUARE = {"size": [100, 100], "counts": [0, 5, 95, 5, 9895]}  # 10 pixels
CLEAN: dict[str, list[Row]] = {
    "images": [
        {"id": 1, "width": 100, "height": 100, "file_name": "a.jpg"},
        {"id": 4, "width": 100, "height": 100, "file_name": "b.jpg"},
    ],
    "categories": [{"id": 2, "name": "cat"}, {"id": 5, "name": "dog"}, {"id": 9, "name": "owl"}],
    "annotations": [
        {"id": 11, "image_id": 1, "category_id": 2, "bbox": [10, 10, 40, 30], "area": 900},
        {"id": 12, "image_id": 1, "category_id": 5, "bbox": [60, 60, 20, 20], "area": 400},
        {"id": 13, "image_id": 4, "category_id": 9, "bbox": [50, 5, 30, 40], "area": 1000},
    ],
    "detections": [
        {"image_id": 1, "category_id": 2, "bbox": [11, 10, 40, 30], "score": 0.9},
        {"image_id": 1, "category_id": 5, "bbox": [60, 61, 20, 20], "score": 0.4},
        {"image_id": 4, "category_id": 9, "bbox": [50, 5, 31, 40], "score": 0.7},
    ],
}


def changed(table: str, place: int, **fields: Any) -> dict[str, list[Row]]:
    data = copy.deepcopy(CLEAN)
    data[table][place] |= fields
    return data


def with_rows(**rows: list[Row]) -> dict[str, list[Row]]:
    return {table: [*CLEAN[table], *rows.get(table, [])] for table in CLEAN}


def of_all(table: str, change: Callable[[Row], Row]) -> dict[str, list[Row]]:
    return CLEAN | {table: [row | change(row) for row in CLEAN[table]]}


def found(data: dict[str, list[Row]]) -> list[Found]:
    return check(data, data["detections"]).select("severity", "check", "table", "n_rows", "rows").rows()


def as_corners(row: Row) -> Row:
    x, y, width, height = row["bbox"]
    return {"bbox": [x, y, x + width, y + height]}


def test_a_clean_set_gives_an_empty_table() -> None:
    findings = check(CLEAN, CLEAN["detections"])
    assert findings.is_empty() and worst(findings) is None
    assert findings.schema == {
        "severity": pl.Enum(["error", "warning", "note"]),
        "check": pl.String,
        "table": pl.String,
        "n_rows": pl.Int64,
        "rows": pl.List(pl.String),
        "problem": pl.String,
        "remedy": pl.String,
    }


ERRORS: dict[str, tuple[dict[str, list[Row]], Found]] = {
    "image twice": (
        with_rows(images=[CLEAN["images"][0] | {"file_name": "c.jpg"}]),
        ("error", "duplicate_id", "images", 2, ["1"]),
    ),
    "category twice": (with_rows(categories=[{"id": 9, "name": "eel"}]), ("error", "duplicate_id", "categories", 2, ["9"])),
    "annotation twice": (changed("annotations", 1, id=11), ("error", "duplicate_id", "annotations", 2, ["11"])),
    "unknown image": (
        with_rows(annotations=[{"id": 14, "image_id": 8, "category_id": 2, "bbox": [0, 0, 9, 9]}]),
        ("error", "unknown_reference", "annotations", 1, ["14"]),
    ),
    "unknown category": (
        with_rows(annotations=[{"id": 14, "image_id": 1, "category_id": 7, "bbox": [0, 0, 9, 9]}]),
        ("error", "unknown_reference", "annotations", 1, ["14"]),
    ),
    "unknown listed category": (
        changed("images", 0, neg_category_ids=[77]),
        ("error", "unknown_reference", "images", 1, ["1"]),
    ),
    "results of an unknown image": (
        with_rows(detections=[{"image_id": 8, "category_id": 2, "bbox": [0, 0, 9, 9], "score": 0.1}]),
        ("error", "unknown_image", "detections", 1, ["4"]),
    ),
    "score missing": (
        with_rows(detections=[{"image_id": 1, "category_id": 2, "bbox": [0, 0, 9, 9]}]),
        ("error", "invalid_value", "detections", 1, ["4"]),
    ),
    "score NaN": (
        with_rows(detections=[{"image_id": 1, "category_id": 2, "bbox": [0, 0, 9, 9], "score": float("nan")}]),
        ("error", "invalid_value", "detections", 1, ["4"]),
    ),
    "negative width": (
        with_rows(annotations=[{"id": 14, "image_id": 1, "category_id": 2, "bbox": [50, 0, -9, 9]}]),
        ("error", "invalid_value", "annotations", 1, ["14"]),
    ),
    "infinite box": (
        with_rows(annotations=[{"id": 14, "image_id": 1, "category_id": 2, "bbox": [0, 0, float("inf"), 9]}]),
        ("error", "invalid_value", "annotations", 1, ["14"]),
    ),
    "no box in a row": (
        with_rows(annotations=[{"id": 14, "image_id": 1, "category_id": 2}]),
        ("error", "invalid_value", "annotations", 1, ["14"]),
    ),
    "no box in a row of the results": (
        with_rows(detections=[{"image_id": 1, "category_id": 2, "score": 0.2, "bbox": [1, 2]}]),
        ("error", "invalid_value", "detections", 1, ["row 4"]),
    ),
    "a word for a number": (
        with_rows(annotations=[{"id": 14, "image_id": 1, "category_id": 2, "bbox": [0, 0, 9, 9], "area": "big"}]),
        ("error", "invalid_value", "annotations", 1, ["14"]),
    ),
    "a row that is no object": (
        CLEAN | {"detections": [*CLEAN["detections"], 7]},
        ("error", "invalid_value", "detections", 1, ["row 4"]),  # type: ignore[list-item]
    ),
    "results with ids of another type": (
        of_all("detections", lambda row: {"image_id": str(row["image_id"])}),
        ("error", "id_types", "detections", 3, []),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("data", "expected"), ERRORS.values(), ids=ERRORS)
def test_what_is_refused_is_an_error(data: dict[str, list[Row]], expected: Found) -> None:
    assert [row for row in found(data) if row[0] == "error"] == [expected]


SUSPICIONS: dict[str, tuple[dict[str, list[Row]], Found]] = {
    "file name twice": (changed("images", 1, file_name="a.jpg"), ("warning", "duplicate_name", "images", 2, ["1", "4"])),
    "category name twice": (changed("categories", 1, name="cat"), ("warning", "duplicate_name", "categories", 2, ["2", "5"])),
    "annotation id 0": (changed("annotations", 2, id=0), ("warning", "annotation_id_0", "annotations", 1, ["0"])),
    "unused category": (
        with_rows(categories=[{"id": 20, "name": "eel"}]),
        ("note", "unused_category", "categories", 1, ["20"]),
    ),
    "image without annotations": (
        with_rows(images=[{"id": 20, "file_name": "c.jpg"}]),
        ("note", "image_without_annotations", "images", 1, ["20"]),
    ),
    "image of no size": (changed("images", 1, width=0), ("warning", "image_size", "images", 1, ["4"])),
    "annotation partly outside": (
        changed("annotations", 1, bbox=[90, 60, 12, 40]),
        ("note", "outside_image", "annotations", 1, ["12"]),
    ),
    "turned annotation partly outside": (
        changed("annotations", 1, bbox=[60, 75, 40, 20], area=800, angle=math.pi / 2),  # down to 105
        ("note", "outside_image", "annotations", 1, ["12"]),
    ),
    "turned detection partly outside": (
        changed("detections", 1, bbox=[60, 75, 40, 20], angle=math.pi / 2),
        ("note", "outside_image", "detections", 1, ["2"]),
    ),
    "detection partly outside": (
        changed("detections", 1, bbox=[60, -3, 20, 20]),
        ("note", "outside_image", "detections", 1, ["2"]),
    ),
    "annotation wholly outside": (
        changed("annotations", 1, bbox=[160, 60, 20, 20]),
        ("warning", "outside_image", "annotations", 1, ["12"]),
    ),
    "annotation without width": (
        changed("annotations", 1, bbox=[60, 60, 0, 20], area=0),
        ("warning", "empty_box", "annotations", 1, ["12"]),
    ),
    "detection without height": (changed("detections", 1, bbox=[60, 60, 20, 0]), ("note", "empty_box", "detections", 1, ["2"])),
    "area larger than its box": (changed("annotations", 1, area=500), ("warning", "area_of_box", "annotations", 1, ["12"])),
    "area 0 of a box": (changed("annotations", 1, area=0), ("warning", "area_of_box", "annotations", 1, ["12"])),
    "area larger than its box, the mask an empty list": (
        changed("annotations", 1, area=500, segmentation=[]),
        ("warning", "area_of_box", "annotations", 1, ["12"]),
    ),
    "area of a box in the place of the mask's": (
        with_rows(
            annotations=[
                {
                    "id": 14,
                    "image_id": 1,
                    "category_id": 2,
                    "bbox": [0, 0, 50, 50],
                    "area": 2500,
                    "segmentation": [[0, 0, 50, 0, 0, 50]],
                }
            ]
        ),
        ("warning", "area_of_mask", "annotations", 1, ["14"]),
    ),
    "mask of another size than its image": (
        changed("annotations", 1, segmentation={"size": [90, 100], "counts": [60, 1800, 7140]}, area=1800),
        ("warning", "mask_size", "annotations", 1, ["12"]),
    ),
    "mask missing": (
        changed("annotations", 1, segmentation=SQUARE, area=10, bbox=[0, 0, 2, 5]),
        ("note", "missing_mask", "annotations", 2, ["11", "13"]),
    ),
    "near duplicate": (
        with_rows(annotations=[CLEAN["annotations"][0] | {"id": 14, "bbox": [10, 10, 40, 29]}]),
        ("warning", "near_duplicate", "annotations", 1, ["14"]),
    ),
    "annotations as fractions": (
        of_all("annotations", lambda row: {"bbox": [side / 100 for side in row["bbox"]], "area": None}),
        ("warning", "fractions", "annotations", 3, []),
    ),
    "detections as corners": (of_all("detections", as_corners), ("warning", "corners", "detections", 3, [])),
    "no annotations": (CLEAN | {"annotations": []}, ("warning", "no_annotations", "annotations", 0, [])),
    "no detections": (CLEAN | {"detections": []}, ("warning", "no_detections", "detections", 0, [])),
    "unknown category of results": (
        with_rows(detections=[{"image_id": 1, "category_id": 7, "bbox": [0, 0, 9, 9], "score": 0.1}]),
        ("warning", "unknown_category", "detections", 1, ["4"]),
    ),
    "score above 1": (changed("detections", 2, score=70), ("warning", "score_outside_0_1", "detections", 1, ["3"])),
    "score below 0": (changed("detections", 0, score=-0.1), ("warning", "score_outside_0_1", "detections", 1, ["1"])),
    "equal scores": (of_all("detections", lambda _: {"score": 0.5}), ("warning", "equal_scores", "detections", 3, [])),
    "an image's results twice": (
        with_rows(detections=[CLEAN["detections"][2]]),
        ("warning", "repeated_image", "images", 1, ["4"]),
    ),
    "many detections of a category": (
        with_rows(detections=[CLEAN["detections"][2] | {"score": k / 500} for k in range(100)]),
        ("note", "many_of_category", "images", 1, ["4"]),
    ),
    "many detections of an image": (
        with_rows(detections=[CLEAN["detections"][0] | {"score": k / 500, "category_id": [2, 5][k % 2]} for k in range(100)]),
        ("note", "many_detections", "images", 1, ["1"]),
    ),
    "category ids one too small": (
        of_all("detections", lambda row: {"category_id": row["category_id"] - 1}),
        ("warning", "shifted_ids", "detections", 3, []),
    ),
    "category ids one too large": (
        of_all("detections", lambda row: {"category_id": row["category_id"] + 1}),
        ("warning", "shifted_ids", "detections", 3, []),
    ),
    "category ids are places": (
        of_all("detections", lambda row: {"category_id": [2, 5, 9].index(row["category_id"])}),
        ("warning", "shifted_ids", "detections", 3, []),
    ),
    "image ids one too small": (
        of_all("detections", lambda row: {"image_id": row["image_id"] - 1}),
        ("warning", "shifted_ids", "detections", 3, []),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("data", "expected"), SUSPICIONS.values(), ids=SUSPICIONS)
def test_what_is_suspicious_is_found(data: dict[str, list[Row]], expected: Found) -> None:
    assert expected in found(data)


NO_SUSPICIONS = {
    "box a pixel outside": changed("annotations", 1, bbox=[80.9, 60, 20, 20]),
    "image sizes unknown": of_all("images", lambda _: {"width": None, "height": None}),
    "area a little larger than its box": changed("annotations", 1, area=404),
    "same boxes of two categories": changed("annotations", 1, bbox=CLEAN["annotations"][0]["bbox"], area=900),
    "boxes of IoU .89": with_rows(annotations=[CLEAN["annotations"][0] | {"id": 14, "bbox": [10, 10, 40, 26.7], "area": 800}]),
    "a group over an object": with_rows(annotations=[CLEAN["annotations"][0] | {"id": 14, "iscrowd": 1}]),
    "empty lists for masks": of_all("annotations", lambda _: {"segmentation": []}),
    "a detection twice, but not all of its image": with_rows(detections=[CLEAN["detections"][0]]),
    "many detections, but not more than 100": with_rows(
        detections=[CLEAN["detections"][2] | {"score": k / 500} for k in range(99)]
    ),
    "one score": CLEAN | {"detections": CLEAN["detections"][:1]},
    "image names that are missing": of_all("images", lambda _: {"file_name": None}),
}


@pytest.mark.parametrize("data", NO_SUSPICIONS.values(), ids=NO_SUSPICIONS)
def test_what_is_common_is_silent(data: dict[str, list[Row]]) -> None:
    assert found(data) == []


def test_a_shift_of_known_ids_is_seen_by_what_they_overlap() -> None:
    places = [(image_id, category_id, 10 * k) for image_id in (1, 2, 3) for category_id in (2, 3) for k in range(5)]
    truth = {
        "images": [{"id": image_id} for image_id in (1, 2, 3)],
        "categories": [{"id": category_id, "name": str(category_id)} for category_id in (1, 2, 3, 4)],
        "annotations": [
            {"id": number, "image_id": image_id, "category_id": category_id, "bbox": [x, 50 * category_id, 9, 9]}
            for number, (image_id, category_id, x) in enumerate(places, 1)
        ],
    }
    results = [row | {"category_id": row["category_id"] - 1, "score": row["id"] / 100} for row in truth["annotations"]]
    assert [problem for name, problem in check(truth, results).select("check", "problem").rows() if name == "shifted_ids"] == [
        "category_id of the detections looks 1 too small: by that numbering 100% of the annotations have a detection that "
        "fits, with the ids as they are 0%"
    ]
    assert "shifted_ids" not in check(truth, [row | {"score": 0.5} for row in truth["annotations"]])["check"]


def scene(n: int, **fields: Any) -> tuple[dict[str, list[Row]], list[Row]]:
    """One image with n annotations in a row, and as many detections of them."""
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": k, "image_id": 1, "category_id": 1, "bbox": [20 * k, 0, 10, 10]} for k in range(1, n + 1)],
    }
    return truth, [row | {"score": k / 1000} | fields for k, row in enumerate(truth["annotations"])]


@pytest.mark.slow
def test_boxes_that_overlap_nothing_are_of_another_scale() -> None:
    truth, results = scene(60)
    assert check(truth, results).is_empty()
    smaller = [row | {"bbox": [side / 10 for side in row["bbox"]]} for row in results]
    assert check(truth, smaller).select("severity", "check", "n_rows", "problem").rows() == [
        (
            "warning",
            "no_overlap",
            60,
            "none of the detections on images with annotations overlap an annotation (IoU 0.1 or more)",
        )
    ]
    assert check(truth, [*smaller[2:], *results[:2]]).is_empty()  # two of sixty are more than a fiftieth
    assert check(truth, smaller[:49]).is_empty()  # too few to say so


def test_boxes_elsewhere_for_a_reason_are_told_once() -> None:
    truth, results = scene(60)
    fractions = [row | {"bbox": [side / 2000 for side in row["bbox"]]} for row in results]
    assert check(truth, fractions)["check"].to_list() == ["fractions"]


def test_nothing_is_said_to_be_missing_that_was_refused() -> None:
    broken = {table: [row | {"bbox": [0, 0, -1, 1]} for row in CLEAN[table]] for table in ("annotations", "detections")}
    assert found(CLEAN | broken) == [
        ("error", "invalid_value", "annotations", 3, ["11", "12", "13"]),
        ("error", "invalid_value", "detections", 3, ["1", "2", "3"]),
    ]


@pytest.mark.slow
def test_every_line_says_which_table() -> None:
    for data, (_, name, table, _, _) in (*ERRORS.values(), *SUSPICIONS.values()):
        problems = check(data, data["detections"]).filter(check=name, table=table)["problem"]
        assert all(table in problem for problem in problems), problems.to_list()


def test_rows_are_counted_among_all_that_were_given() -> None:
    box = {"image_id": 1, "category_id": 2, "bbox": [60, 60, 20, 20]}
    data = with_rows(
        annotations=[
            box | {"id": 14, "bbox": [0, 0, -1, 1]},  # refused when it is read
            box | {"id": 15, "image_id": 8},  # refused by the data set
            box | {"id": 11},  # a double
            {"id": 16, "image_id": 1, "category_id": 2, "segmentation": SQUARE},  # without a box
            box | {"id": 17, "bbox": [-5, 0, 9, 9], "area": 900},
        ],
        detections=[box | {"score": None}, box | {"score": 0.5, "bbox": [0, 0, 0, 9]}],
    )
    problems = check(data, data["detections"])["problem"].to_list()
    totals = {match for problem in problems for match in re.findall(r"of ([\d,]+ (?:annotation|detection)s?)", problem)}
    assert totals == {"8 annotations", "5 detections"}, problems


@pytest.mark.slow
def test_a_shift_is_not_concluded_from_a_few_rows() -> None:
    numbers = range(1, 1001)
    truth = {
        "images": [{"id": k} for k in numbers],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": k, "image_id": k, "category_id": 1, "bbox": [7 * k, 0, 5, 5]} for k in numbers],
    }
    detections = [row | {"bbox": [0, 900, 5, 5], "score": row["id"] / 1000} for row in truth["annotations"]]
    shifted = [row | {"image_id": row["image_id"] - 1} for row in truth["annotations"]]

    def shift(n: int) -> list[str]:
        results = [*detections[n:], *(row | {"score": 0.5} for row in shifted[:n])]
        return check(truth, results).filter(check="shifted_ids")["problem"].to_list()

    assert shift(25) == []
    assert shift(1000) == [
        "image_id of the detections looks 1 too small: by that numbering 100% of the annotations have a detection that fits, "
        "with the ids as they are 0%"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("n_false", [0, 299])
@pytest.mark.parametrize(("key", "shift"), [("category_id", 1), ("category_id", -1), ("image_id", 1)])
def test_a_shift_is_seen_among_many_false_detections(key: str, shift: int, n_false: int) -> None:
    """It is found by the annotations that have a fitting detection: 299 low scores an image are 99.7 % of the detections."""
    ids = range(5, 105)
    truth = {
        "images": [{"id": k} for k in (4, *ids, 105)],
        "categories": [{"id": k, "name": f"class {k}"} for k in range(5)],
        "annotations": [{"id": k, "image_id": k, "category_id": 1 + k % 3, "bbox": [7 * k, 0, 5, 5]} for k in ids],
    }
    hits = [row | {"score": 0.9, key: row[key] + shift} for row in truth["annotations"]]
    false = [hit | {"score": 0.01, "bbox": [9 * k, 900, 5, 5]} for hit in hits for k in range(n_false)]
    (problem,) = check(truth, hits + false).filter(check="shifted_ids")["problem"]
    looks = "1 too large" if shift == 1 else "1 too small"
    assert problem == (
        f"{key} of the detections looks {looks}: by that numbering 100% of the annotations have a detection that fits, with "
        "the ids as they are 0%"
    )


def test_boxes_without_area_may_match_under_voc() -> None:
    findings = check(changed("annotations", 1, bbox=[60, 60, 0, 20], area=0)).filter(check="empty_box")
    assert findings["problem"].to_list() == ["1 of 3 annotations: width or height is 0"]
    assert findings["remedy"].to_list() == [
        "Remove them or supply their size. Only rules that count pixels inclusively, as VOC's do, can match such a box."
    ]


def test_one_row_has_and_several_have() -> None:
    images = [{"id": 20, "file_name": "c.jpg"}, {"id": 21, "file_name": "d.jpg"}]
    assert check(with_rows(images=images))["problem"].to_list() == ["2 of 4 images have no annotations"]
    assert str(check(with_rows(images=images[:1]))).startswith(
        "note: 1 of 3 images has no annotations [20]. Nothing to do if they really are empty."
    )


def test_every_check_is_named_in_the_documentation() -> None:
    named = {name for _, (_, name, *_) in (*ERRORS.values(), *SUSPICIONS.values())}
    named |= {"column", "no_overlap", "invalid_mask", "invalid_shape"}
    named |= {"centres", "swapped_axes", "scaled", "resized_images", "field_order"}  # of tests/checks/test_misplaced.py
    named |= {"degrees", "swapped_sides"}  # of tests/checks/test_cuboids.py
    named |= {"label_map", "listed_segments"}  # of tests/checks/test_label_maps.py
    named |= {"filtered_results"}  # of tests/evaluation/diagnose/test_filtered.py
    named |= {"unnamed_label"}  # of tests/similarity/test_unnamed_labels.py
    named |= {"broken_plugin"}  # of tests/plugins/test_plugins.py
    named |= {"missing_results", "too_many_detections"}  # of test_kitti.py and test_nuscenes.py of tests/formats
    words = (check.__doc__ or "").split("The checks are")[1].split("Raises")[0]
    documented = set(re.findall(r"`(\w+)`", words))
    assert documented == named


def test_findings_are_printed_as_lines_that_are_not_cut() -> None:
    data = with_rows(categories=[{"id": 20 + k, "name": f"a kind of animal that is rare, number {k}"} for k in range(7)])
    findings = check(data)
    line = (
        "note: 7 of 10 categories have no annotations [20, 21, 22, 23, 24, …]. "
        "Nothing to do if that is intended: most protocols leave them out of means."
    )
    assert str(findings) == repr(findings) == f"{line}\n1 note"
    assert "Nothing to do if that is intended: most protocols leave them out of means." in findings._repr_html_()
    assert str(check(CLEAN)) == "nothing found"


def test_repeats_are_counted() -> None:
    data = with_rows(detections=[*CLEAN["detections"][:2], *CLEAN["detections"]])
    findings = check(data, data["detections"])
    assert findings.select("check", "rows", "problem").rows() == [
        ("repeated_image", ["1", "4"], "2 of 2 images have all of their detections 2 times or more (5 detections too many)")
    ]


def test_findings_are_sorted_by_severity_then_rows() -> None:
    data = with_rows(
        images=[{"id": 20}, {"id": 21}], categories=[{"id": 9, "name": "eel"}, {"id": 30, "name": "cat"}],
        detections=[CLEAN["detections"][2] | {"score": 7}],
    )  # fmt: skip
    findings = check(data, data["detections"])
    assert findings.select("severity", "check", "n_rows").rows() == [
        ("error", "duplicate_id", 2),
        ("warning", "duplicate_name", 2),
        ("warning", "score_outside_0_1", 1),
        ("note", "image_without_annotations", 2),
        ("note", "unused_category", 1),
    ]
    assert worst(findings) == "error"
    assert worst(findings.filter(pl.col("severity") != "error")) == "warning"


@pytest.mark.slow
def test_a_broken_mask_is_a_warning_beside_boxes_else_an_error() -> None:
    broken = changed("annotations", 1, segmentation=[[1, 2, 3]])
    assert [row for row in found(broken) if row[1] == "invalid_mask"] == [("warning", "invalid_mask", "annotations", 1, ["12"])]
    shapes = [{"image_id": 1, "category_id": 2, "score": 0.5, "segmentation": [[1, 2, 3]]}]
    assert ("error", "invalid_mask", "detections", 1, ["1"]) in found(CLEAN | {"detections": shapes})


SHAPES = {
    "interval that ends before it starts": {"start_time": [1.0, 9.0], "end_time": [2.0, 6.0]},
    "cuboid without a length": {
        "cuboid_x": [3.0, 0.0], "cuboid_y": [1.0, 0.0], "cuboid_z": [0.0, 1.0], "cuboid_length": [4.0, 0.0],
        "cuboid_width": [2.0, 2.0], "cuboid_height": [1.5, 1.5], "cuboid_yaw": [0.0, 0.0],
    },
    "corners that cross": {"corners": [[0, 0, 4, 0, 4, 4, 0, 4], [0, 0, 4, 4, 4, 0, 0, 4]]},
}  # fmt: skip


@pytest.mark.parametrize("columns", SHAPES.values(), ids=SHAPES)
def test_shapes_that_cannot_be_right_are_errors(columns: dict[str, Any]) -> None:
    tables = {"images": {"image_id": [1]}, "categories": {"category_id": [1], "name": ["cat"]}}
    shapes = {"image_id": [1, 1], "category_id": [1, 1], **columns}
    findings = check(tables | {"annotations": shapes | {"annotation_id": [11, 12]}}, shapes | {"score": [0.9, 0.8]})
    wrong = findings.filter(pl.col("check") == "invalid_shape").select("severity", "table", "n_rows", "rows").rows()
    assert wrong == [("error", "annotations", 1, ["12"]), ("error", "detections", 1, ["2"])]


def test_masks_of_any_type_are_there_or_not() -> None:
    for masks in (["[[0, 0, 9, 0, 9, 9]]", " [ ] ", None], [[1, 2], [], None], [b"1", None, None]):
        assert has_mask(pl.Series(masks)).to_list() == [True, False, False]

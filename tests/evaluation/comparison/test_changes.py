"""What another model lost, won, adds and removes, and that the sums are the differences of the counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ImagesLeftOutWarning, NotComparableError, ParameterError
from tests.parity.strategies import OF_LISTS, Case, cases, half_as_often

STREET = Path(__file__).resolve().parents[3] / "data" / "street"
ANNOTATIONS = {1: (1, 1, 0), 2: (1, 1, 50), 3: (2, 2, 0), 4: (2, 2, 50)}  # image, category, left side


def truth(image_ids: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    return {
        "images": [{"id": each, "file_name": f"{each}.jpg"} for each in image_ids],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        "annotations": [
            {"id": key, "image_id": image, "category_id": category, "bbox": [left, 0, 10, 10]}
            for key, (image, category, left) in ANNOTATIONS.items()
        ],
    }


def found(*rows: tuple[int, int, float, float], **options: Any) -> apf.Evaluation:
    """Detections as image, category, left side and score."""
    detections = [{"image_id": i, "category_id": c, "bbox": [x, 0, 10, 10], "score": score} for i, c, x, score in rows]
    return apf.evaluate(truth(), detections, **options)


# a finds 1 and 3, b finds 2 and 3; nobody 4. Both see something at 80 of image 1, at 80 of image 2 only a, at 90 only b
A = [(1, 1, 0, 0.9), (2, 2, 1, 0.8), (1, 1, 80, 0.7), (2, 2, 80, 0.6)]
B = [(1, 1, 52, 0.9), (2, 2, 0, 0.8), (1, 1, 81, 0.7), (2, 2, 90, 0.6)]


def test_every_kind_of_change() -> None:
    table = found(*A).changes(found(*B))
    expected = pl.DataFrame(
        {
            "change": ["lost", "won", "fp_added", "fp_removed", "found", "missed", "fp_kept"],
            "image_id": [1, 1, 2, 2, 2, 2, 1],
            "file_name": ["1.jpg", "1.jpg", "2.jpg", "2.jpg", "2.jpg", "2.jpg", "1.jpg"],
            "category_id": [1, 1, 2, 2, 2, 2, 1],
            "name": ["cat", "cat", "dog", "dog", "dog", "dog", "cat"],
            "annotation_id": [1, 2, None, None, 3, 4, None],
            "detection_id_a": [1, None, None, 4, 2, None, 3],
            "score_a": [0.9, None, None, 0.6, 0.8, None, 0.7],
            "similarity_a": [1.0, None, None, None, 9 / 11, None, None],
            "detection_id_b": [None, 1, 4, None, 2, None, 3],
            "score_b": [None, 0.9, 0.6, None, 0.8, None, 0.7],
            "similarity_b": [None, 8 / 12, None, None, 1.0, None, None],
        },
        schema_overrides={"change": table.schema["change"]},
    )
    assert_frame_equal(table, expected)


@pytest.mark.slow
def test_counts() -> None:
    a, b = found(*A), found(*B)
    counts = {"lost": 1, "won": 1, "fp_added": 1, "fp_removed": 1, "found": 1, "missed": 1, "fp_kept": 1}
    assert a.changes(b, level="summary").to_dicts() == [counts]
    of_cats = dict.fromkeys(counts, 0) | {"lost": 1, "won": 1, "fp_kept": 1}
    assert a.changes(b, level="category").to_dicts() == [
        {"category_id": 1, "name": "cat", **of_cats},
        {"category_id": 2, "name": "dog", **{name: n - of_cats[name] for name, n in counts.items()}},
    ]


@pytest.mark.slow
def test_another_threshold_and_score() -> None:
    a, b = found(*A), found(*B)
    at_75 = a.changes(b, 0.75)
    assert at_75.filter(pl.col("change") == "missed")["annotation_id"].to_list() == [2, 4]
    assert at_75["change"].value_counts().sort("change").rows()[1:3] == [("fp_added", 2), ("fp_removed", 1)]
    above = a.changes(b, 0.5, min_score=0.75)
    assert above["change"].to_list() == ["lost", "won", "found", "missed"]


def test_false_positives_are_paired_most_similar_first() -> None:
    """At 80 a has one; b has two that overlap it, of which the nearer one is the same, whatever the scores."""
    table = found((1, 1, 80, 0.5)).changes(found((1, 1, 82, 0.9), (1, 1, 81, 0.1), (1, 2, 80, 0.9)))
    wrong = table.filter(pl.col("annotation_id").is_null())
    assert wrong.select("change", "detection_id_a", "detection_id_b").rows() == [
        ("fp_added", None, 1), ("fp_added", None, 3), ("fp_kept", 1, 2),
    ]  # fmt: skip


def test_pooled_categories() -> None:
    table = found((1, 1, 80, 0.5), agnostic=True).changes(found((1, 2, 80, 0.5), agnostic=True))
    assert table["change"].to_list() == [*["missed"] * 4, "fp_kept"]


@pytest.mark.slow
def test_a_model_against_itself_and_boxes_without_area() -> None:
    detections = [{"image_id": 1, "category_id": 1, "bbox": [80, 0, 0, 0], "score": 0.5}]
    evaluation = apf.evaluate(truth(), detections)
    assert evaluation.changes(evaluation)["change"].to_list() == [*["missed"] * 4, "fp_kept"]
    street = apf.evaluate(STREET / "instances.json", STREET / "model_a.json")
    counts = street.changes(street, level="summary").row(0, named=True)
    assert [counts[name] for name in ("lost", "won", "fp_added", "fp_removed")] == [0, 0, 0, 0]


@pytest.mark.slow
def test_the_sample() -> None:
    """DIAGNOSIS.md 7.3.9."""
    a, b = (apf.evaluate(STREET / "instances.json", STREET / f"model_{name}.json") for name in "ab")
    counts = a.changes(b, 0.5, level="summary").row(0, named=True)
    assert [counts[name] for name in ("found", "lost", "won", "missed")] == [741, 406, 406, 813]


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter() -> None:
    a = found(*A)
    shuffled = [A[2], A[0], A[3], A[1]]
    keys = [1 + A.index(row) for row in shuffled]
    detections = [
        {"id": key, "image_id": i, "category_id": c, "bbox": [x, 0, 10, 10], "score": score}
        for key, (i, c, x, score) in zip(keys, shuffled, strict=True)
    ]
    frame = apf.read_coco_results(detections).with_columns(detection_id=pl.Series(keys))
    assert_frame_equal(apf.evaluate(truth(), frame).changes(found(*B)), a.changes(found(*B)))


def test_what_is_refused() -> None:
    a = found(*A)
    with pytest.raises(NotComparableError, match="differ in images"):
        a.changes(apf.evaluate(truth((1, 2, 3)), []))
    with pytest.warns(ImagesLeftOutWarning):
        assert a.changes(apf.evaluate(truth((1, 2, 3)), []), on_images="common", level="summary")["lost"].item() == 2
    with pytest.raises(ParameterError, match=r"iou_threshold 0.42 was not evaluated"):
        a.changes(a, 0.42)
    with pytest.raises(ParameterError, match=r'level is "object", "category" or "summary", not .objects.'):
        a.changes(a, level="objects")
    with pytest.raises(ParameterError, match=r"min_score must be a number, not nan"):
        a.changes(a, min_score=float("nan"))
    with pytest.raises(ParameterError, match="a list of evaluations is given where one is needed; call it for each of them"):
        a.changes([a])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"an evaluation is compared with evaluations, not with \[\]; call evaluate first"):
        a.changes([])  # type: ignore[arg-type]


@pytest.mark.slow
@half_as_often
@given(
    cases(), cases(), st.sampled_from(OF_LISTS), st.sampled_from(["all", "small"]), st.sampled_from([None, 0.3]),
    st.booleans(),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_sums_are_differences_of_counts(
    case: Case, other: Case, matching: str, area_range: str, min_score: float | None, agnostic: bool
) -> None:
    options: dict[str, Any] = {
        "matching": matching, "iou_thresholds": [0.4, 0.75], "agnostic": agnostic, "area_ranges": {"small": (0, 1023)},
        "unknown_images": "drop",
    }  # fmt: skip
    check_sums(case, other, "coco", options, area_range, min_score)


@pytest.mark.slow
@half_as_often
@given(cases(strings=True), cases(strings=True), st.sampled_from(["voc2007", "lvis", "open_images", "voc2012"]))
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_sums_under_other_protocols(case: Case, other: Case, protocol: str) -> None:
    check_sums(case, other, protocol, {"unknown_images": "drop"}, None, None)


def check_sums(
    case: Case, other: Case, protocol: str, options: dict[str, Any], area_range: str | None, min_score: float | None
) -> None:
    """The second model has half of the first one's results, and what another case has on these images."""
    results = case.results[::2] + other.results
    a, b = (apf.evaluate(case.truth, each, protocol=protocol, **options) for each in (case.results, results))
    t = a.protocol.iou_thresholds[0]
    n = a.changes(b, t, area_range=area_range, min_score=min_score, level="summary").row(0, named=True)
    mine, theirs = (
        each.per_image(t, area_range, min_score=min_score).select(pl.col("tp", "fp", "fn").cast(pl.Int64).sum()).row(0)
        for each in (a, b)
    )
    assert mine == (n["found"] + n["lost"], n["fp_kept"] + n["fp_removed"], n["won"] + n["missed"])
    assert theirs == (n["found"] + n["won"], n["fp_kept"] + n["fp_added"], n["lost"] + n["missed"])
    back = b.changes(a, t, area_range=area_range, min_score=min_score, level="category")
    mirrored = {"lost": "won", "won": "lost", "fp_added": "fp_removed", "fp_removed": "fp_added"}
    there = a.changes(b, t, area_range=area_range, min_score=min_score, level="category")
    assert_frame_equal(there.rename(mirrored).select(back.columns), back)


@pytest.mark.slow
def test_shapes_are_compared_by_the_boxes_around_them() -> None:
    """Masks, and intervals of time: nothing is found, and the false positives are the same where they overlap enough."""
    square, other = [[0, 0, 10, 0, 10, 10, 0, 10]], [[0, 0, 10, 0, 10, 10, 0, 9]]
    masked = {
        "images": [{"id": 1, "width": 40, "height": 40}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 1, "bbox": [20, 20, 9, 9], "area": 81, "iscrowd": 0,
             "segmentation": [[20, 20, 29, 20, 29, 29, 20, 29]]},
        ],
    }  # fmt: skip
    a, b = (
        apf.evaluate(masked, [{"image_id": 1, "category_id": 1, "segmentation": polygon, "score": 0.5}], iou_type="segm")
        for polygon in (square, other)
    )
    assert a.changes(b)["change"].to_list() == ["missed", "fp_kept"]
    videos = apf.Dataset({"image_id": ["v"]}, {"category_id": [1]}, pl.DataFrame(
        {"image_id": ["v"], "category_id": [1], "start_time": [50.0], "end_time": [60.0]}))  # fmt: skip
    a, b, c = (
        apf.evaluate(videos, pl.DataFrame({"image_id": ["v"], "category_id": [1], "score": [0.5], "start_time": [start],
                                           "end_time": [start + 10.0]}), "activitynet")
        for start in (0.0, 1.0, 9.0)
    )  # fmt: skip
    assert a.changes(b)["change"].to_list() == ["missed", "fp_kept"]
    assert a.changes(c)["change"].to_list() == ["fp_added", "fp_removed", "missed"]

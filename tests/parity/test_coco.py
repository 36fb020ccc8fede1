"""Boxes by COCO's rules: every number is that of pycocotools 2.0.11."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from tests.parity.reference import Reference, cells_at, evaluate_by_reference, iou_by_reference, mean_stats
from tests.parity.strategies import Case, cases, options

SAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco-val2014-100"
SPACING = float(np.spacing(1))

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def assert_parity(case: Case, **chosen: Any) -> None:
    """Evaluate with both; the arrays must be equal to the last bit, the stats to 1e-12."""
    reference = evaluate_by_reference(case.truth, case.results, **chosen)
    evaluation = apf.evaluate(case.truth, case.results, **chosen)
    arrays = evaluation.arrays()
    assert arrays.keys() == reference.arrays.keys()
    for name, expected in reference.arrays.items():
        np.testing.assert_array_equal(arrays[name], expected, err_msg=name, strict=True)
    np.testing.assert_allclose(evaluation.stats, mean_stats(reference), rtol=0, atol=1e-12)
    if reference.stats is not None:
        np.testing.assert_allclose(evaluation.stats, reference.stats, rtol=0, atol=1e-12)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the sample of COCO val2014 is not beside this checkout")
@pytest.mark.parametrize("agnostic", [False, True])
def test_real_sample_equals_reference(agnostic: bool) -> None:
    truth, results = (json.loads((SAMPLE / name).read_text()) for name in ("instances.json", "detections_bbox.json"))
    assert_parity(Case(truth, results), agnostic=agnostic)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the sample of COCO val2014 is not beside this checkout")
def test_real_sample_has_its_published_numbers() -> None:
    summary = dict(apf.evaluate(SAMPLE / "instances.json", SAMPLE / "detections_bbox.json").summary.iter_rows())
    assert [round(summary[name], 4) for name in ("AP", "AR100")] == [0.5046, 0.5954]
    assert [round(summary[name], 3) for name in ("AP50", "AP75")] == [0.697, 0.573]


@given(cases())
def test_default_parameters_equal_reference(case: Case) -> None:
    assert_parity(case)


@given(cases(strings=True))
def test_string_ids_equal_reference(case: Case) -> None:
    assert_parity(case)


@given(cases(), options())
def test_own_thresholds_levels_areas_and_limits_equal_reference(case: Case, chosen: dict[str, Any]) -> None:
    assert_parity(case, **chosen)


@given(cases(), st.data())
def test_category_subset_equals_reference(case: Case, data: st.DataObject) -> None:
    ids = [category["id"] for category in case.truth["categories"]]
    assert_parity(case, categories=data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True)))


@given(cases())
def test_agnostic_equals_reference(case: Case) -> None:
    assert_parity(case, agnostic=True)


@given(st.booleans().flatmap(lambda strings: cases(strings=strings)), options(), st.data())
def test_agnostic_on_some_categories_equals_reference(case: Case, chosen: dict[str, Any], data: st.DataObject) -> None:
    ids = [category["id"] for category in case.truth["categories"]]
    categories = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    assert_parity(case, agnostic=True, categories=categories, **chosen)


def row_of_boxes(n_annotations: int, found: list[int]) -> Case:
    """An image with boxes side by side, all of one category, and detections of some, in descending score."""
    cell = {"image_id": 1, "category_id": 1}
    boxes = [cell | {"id": k, "bbox": [50 * k, 0, 20, 10]} for k in range(1, n_annotations + 1)]
    results = [cell | {"bbox": [50 * k, 0, 20, 10], "score": 1 - place / 256} for place, k in enumerate(found)]
    return Case({"images": [{"id": 1}], "categories": [{"id": 1, "name": "box"}], "annotations": boxes}, results)


@pytest.mark.parametrize(("n_found", "n_positives"), [(3, 10), (7, 10), (14, 20), (28, 35), (49, 49)])
@pytest.mark.parametrize("n_levels", [11, 101])
def test_recall_meets_its_levels_as_divided_exactly(n_found: int, n_positives: int, n_levels: int) -> None:
    # times the reciprocal, these recalls would come out on the other side of a level
    case = row_of_boxes(n_positives, list(range(1, n_found + 1)))
    assert_parity(case, area_ranges={}, recall_levels=np.linspace(0, 1, n_levels).tolist())


@pytest.mark.parametrize("n_before", [0, 1, 9, 10, 99, 100, 200])
def test_detections_beyond_the_limit_take_no_part(n_before: int) -> None:
    assert_parity(row_of_boxes(2, [5] * n_before + [1, 2]))


@given(cases())
def test_pairs_are_all_of_a_cell_that_reach_the_lowest_threshold(case: Case) -> None:
    pairs = apf.evaluate(case.truth, case.results, max_detections=[200]).pairs
    expected = {
        (detection_id, annotation["id"]): iou
        for detection_id, detection in enumerate(case.results, 1)
        for annotation in case.truth["annotations"]
        if (annotation["image_id"], annotation["category_id"]) == (detection["image_id"], detection["category_id"])
        and (iou := iou_by_reference(detection, annotation)) >= 0.5
    }
    assert {(detection_id, annotation_id): iou for detection_id, annotation_id, iou in pairs.iter_rows()} == expected
    assert len(expected) == pairs.height


@given(cases(), st.booleans())
def test_metrics_are_means_of_the_arrays(case: Case, agnostic: bool) -> None:
    reference = evaluate_by_reference(case.truth, case.results, agnostic=agnostic)
    precision, recall = reference.arrays["precision"], reference.arrays["recall"]
    metrics = apf.evaluate(case.truth, case.results, agnostic=agnostic).metrics
    keys = metrics.select("category_id", "area_range", "iou_threshold", "max_detections").rows()
    values = dict(zip(keys, metrics.select("ap", "recall", "n_positives").rows(), strict=True))
    assert len(values) == metrics.height == recall.size
    category_ids = [None] if agnostic else reference.category_ids
    areas = list(reference.area_ranges)
    for (t, k, a, m), expected in np.ndenumerate(recall):
        n_positives = count_positives(case, category_ids[k], reference.area_ranges[areas[a]])
        threshold = round(float(reference.iou_thresholds[t]), 10)
        ap, found, positives = values[category_ids[k], areas[a], threshold, reference.max_detections[m]]
        assert positives == n_positives
        if n_positives == 0:
            assert (ap, found) == (None, None)
            assert expected == -1
        else:
            assert found == expected
            assert ap == pytest.approx(precision[t, :, k, a, m].mean(), rel=0, abs=1e-12)


def count_positives(case: Case, category_id: Any, area_range: tuple[float, float]) -> int:
    """Annotations that count: of the category (None for all), no crowds, with an area in the range."""
    n_positives = 0
    for row in case.truth["annotations"]:
        area = row["bbox"][2] * row["bbox"][3] if row.get("area") is None else row["area"]
        is_inside = area_range[0] <= area <= area_range[1]
        n_positives += category_id in (None, row["category_id"]) and is_inside and not row.get("iscrowd")
    return n_positives


MATCHED_AT = (0.5, 0.75, 1.0)


@given(cases(), st.booleans())
def test_matches_pair_and_judge_as_reference_does(case: Case, agnostic: bool) -> None:
    reference = evaluate_by_reference(case.truth, case.results, iou_thresholds=MATCHED_AT, agnostic=agnostic)
    evaluation = apf.evaluate(case.truth, case.results, iou_thresholds=MATCHED_AT, agnostic=agnostic)
    for t, threshold in enumerate(MATCHED_AT):
        for area_range in reference.area_ranges:
            matches = evaluation.matches(threshold, area_range)
            rows = Counter(matches.select("image_id", "detection_id", "annotation_id", "outcome").iter_rows())
            assert rows == Counter(reference_outcomes(reference, t, area_range))
            assert matches.filter(pl.col("annotation_id").is_null() & pl.col("outcome").is_in(["tp", "fn"])).is_empty()
            assert matches["similarity"].drop_nulls().ge(min(threshold, 1 - 1e-10)).all()
            assert set(matches["iou_threshold"]) <= {threshold}
            assert set(matches["area_range"]) <= {area_range}


def reference_outcomes(reference: Reference, t: int, area_range: str) -> list[tuple[Any, int | None, int | None, str]]:
    """image_id, detection_id, annotation_id and outcome, from dtMatches, dtIgnore, gtMatches and gtIgnore."""
    rows: list[tuple[Any, int | None, int | None, str]] = []
    for cell in cells_at(reference, area_range):
        for detection, match, ignored in zip(cell["dtIds"], cell["dtMatches"][t], cell["dtIgnore"][t], strict=True):
            outcome = "ignored" if ignored else "tp" if match else "fp"
            rows.append((cell["image_id"], detection, int(match) or None, outcome))
        for annotation, match, ignored in zip(cell["gtIds"], cell["gtMatches"][t], cell["gtIgnore"], strict=True):
            if not match and not ignored:
                rows.append((cell["image_id"], None, annotation, "fn"))
    return rows


@given(cases(), st.booleans())
def test_ranks_follow_the_order_of_reference(case: Case, agnostic: bool) -> None:
    reference = evaluate_by_reference(case.truth, case.results, agnostic=agnostic)
    matches = apf.evaluate(case.truth, case.results, agnostic=agnostic).matches()
    detections = matches.drop_nulls("detection_id")
    cells = cells_at(reference, "all")
    expected = []
    for category_id in dict.fromkeys(cell["category_id"] for cell in cells):
        of_category = [cell for cell in cells if cell["category_id"] == category_id]
        scores = np.concatenate([cell["dtScores"] for cell in of_category])
        ids = np.concatenate([cell["dtIds"] for cell in of_category])
        expected += list(enumerate(ids[np.argsort(-scores, kind="mergesort")].astype(int).tolist(), 1))
    assert detections.select("rank", "detection_id").rows() == expected
    assert matches.tail(matches.height - detections.height)["outcome"].eq("fn").all()


@given(cases())
def test_curves_count_down_the_matches(case: Case) -> None:
    evaluation = apf.evaluate(case.truth, case.results)
    for area_range in ("all", "small"):
        matches = evaluation.matches(0.5, area_range)
        columns = ("category_id", "detection_id", "rank", "score", "tp", "fp", "precision", "recall")
        curves = evaluation.curves(0.5, area_range).select(columns)
        assert curves.rows() == counted_down(matches.select("category_id", "detection_id", "score", "outcome").rows())


def counted_down(matches: list[tuple[Any, int | None, float | None, str]]) -> list[tuple[Any, ...]]:
    """The curves of matches in ranking order, counted one by one."""
    positives = Counter(category for category, _, _, outcome in matches if outcome in ("tp", "fn"))
    tp, fp, rows = Counter[Any](), Counter[Any](), []
    for category, detection_id, score, outcome in matches:
        if outcome in ("tp", "fp"):
            tp[category] += outcome == "tp"
            fp[category] += outcome == "fp"
            k, n, n_positives = tp[category], tp[category] + fp[category], positives[category]
            recall = k / n_positives if n_positives else None
            rows.append((category, detection_id, n, score, k, n - k, k / (n + SPACING), recall))
    return rows


@given(cases(), st.booleans())
def test_last_point_of_each_curve_is_the_recall_of_the_metrics(case: Case, agnostic: bool) -> None:
    evaluation = apf.evaluate(case.truth, case.results, agnostic=agnostic)
    metrics = evaluation.metrics.filter(area_range="all", iou_threshold=0.5, max_detections=100)
    curves = evaluation.curves(0.5).group_by("category_id", maintain_order=True).last()
    ends = metrics.filter(pl.col("n_detections") > 0).select("category_id", "n_detections", "recall")
    assert curves.select("category_id", "rank", "recall").sort("category_id").rows() == ends.sort("category_id").rows()

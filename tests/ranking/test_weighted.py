"""Weights of images: ones change nothing, and whole numbers are copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.ranking.weighted import average_precision
from tests.parity.reference import evaluate_by_reference
from tests.parity.strategies import Case, cases, half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def weighted(ev: apf.Evaluation, weights: Any = None, k: int = 0) -> np.ndarray:
    protocol = ev.protocol
    return average_precision(ev._pipeline.verdicts, protocol.definition, weights, area_range=k, addend=protocol.addend)


def table_of(ev: apf.Evaluation, k: int = 0) -> np.ndarray:
    """AP at the largest limit, of shape (thresholds, categories)."""
    limit, area = ev.protocol.max_detections[-1], ev.protocol.area_ranges[k][0]
    rows = ev.metrics.filter(area_range=area)
    rows = rows.filter(rows["max_detections"].eq_missing(limit))
    return rows["ap"].to_numpy().reshape(-1, len(ev.protocol.iou_thresholds)).T


@given(cases(), st.sampled_from(["coco", "voc2007", "voc2012", "open_images", "lvis"]))
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
def test_ones_are_the_plain_number(case: Case, protocol: str) -> None:
    ev = apf.evaluate(case.truth, case.results, protocol)
    for k in range(len(ev.protocol.area_ranges)):
        expected = table_of(ev, k)
        np.testing.assert_allclose(weighted(ev, k=k), expected, rtol=0, atol=1e-12)
        n = ev._pipeline.verdicts.images.height
        np.testing.assert_allclose(weighted(ev, np.ones((3, n)), k), np.stack([expected] * 3), rtol=0, atol=1e-12)
        np.testing.assert_allclose(weighted(ev, np.full((1, n), 2.0), k)[0], expected, rtol=0, atol=1e-12)


@half_as_often
@given(cases(ties=False), st.data())
def test_whole_weights_are_copies(case: Case, data: st.DataObject) -> None:
    ids = sorted(row["id"] for row in case.truth["images"])
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
    # an image and the id of a copy of it
    copies = [(old, at * 9 + n) for at, (old, weight) in enumerate(zip(ids, weights, strict=True)) for n in range(weight)]
    annotations = [
        row | {"image_id": new} for old, new in copies for row in case.truth["annotations"] if row["image_id"] == old
    ]
    truth = case.truth | {
        "images": [{"id": new} for _, new in copies],
        "annotations": [row | {"id": number} for number, row in enumerate(annotations, 1)],
    }
    found = [row | {"image_id": new} for old, new in copies for row in case.results if row["image_id"] == old]
    ap = weighted(apf.evaluate(case.truth, case.results), np.array([weights]))[0]
    precision = evaluate_by_reference(truth, found).arrays["precision"][:, :, :, 0, -1]
    expected = np.where((precision > -1).all(axis=1), precision.mean(axis=1), np.nan)
    np.testing.assert_allclose(ap, expected, rtol=0, atol=1e-9)


def test_two_images_by_hand() -> None:
    """Image 1 has one annotation, found at .9; image 2 one that is missed, and a false positive at .95 (DIAGNOSIS.md 7.5)."""
    truth = {
        "images": [{"id": 1}, {"id": 2}], "categories": [{"id": 1}],
        "annotations": [{"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 10, 10]} for i in (1, 2)],
    }  # fmt: skip
    found = [
        {"image_id": 1, "category_id": 1, "score": 0.9, "bbox": [0, 0, 10, 10]},
        {"image_id": 2, "category_id": 1, "score": 0.95, "bbox": [50, 50, 10, 10]},
    ]
    ev = apf.evaluate(truth, found, iou_thresholds=[0.5])
    weights = np.array([[2, 0], [1, 1], [0, 2], [1, 2]])
    expected = [1, 25.5 / 101, 0, 34 / 303]
    assert weighted(ev, weights)[:, 0, 0] == pytest.approx(expected, abs=1e-12)

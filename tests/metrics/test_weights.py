"""Weights of images: ones change nothing, and whole numbers are copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.definitions import as_definition
from apframe.metrics.points import WeightedSum
from apframe.metrics.weights import Weights
from tests.metrics.reading import average_precision
from tests.parity.reference import evaluate_by_reference
from tests.parity.strategies import Case, cases, half_as_often

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)


def weighted(ev: apf.Evaluation, weights: Any, k: int = 0) -> np.ndarray:
    """AP of shape (weightings, thresholds, categories) at the largest limit."""
    verdicts, protocol = ev._pipeline.verdicts, ev.protocol
    cells = [Cell((t,), k, len(verdicts.limits) - 1) for t in range(len(verdicts.thresholds))]
    return average_precision(verdicts, protocol.definition, weights, cells, protocol.addend).transpose(1, 0, 2)


def table_of(ev: apf.Evaluation, k: int = 0) -> np.ndarray:
    """AP at the largest limit, of shape (thresholds, categories)."""
    limit, area = ev.protocol.max_detections[-1], ev.protocol.range_names[k]
    rows = ev.metrics.filter(area_range=area)
    rows = rows.filter(rows["max_detections"].eq_missing(limit))
    return rows["ap"].to_numpy().reshape(-1, len(ev.protocol.iou_thresholds)).T


@pytest.mark.slow
@given(cases(), st.sampled_from(["coco", "voc2007", "voc2012", "open_images", "lvis"]))
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
def test_ones_are_the_plain_number(case: Case, protocol: str) -> None:
    ev = apf.evaluate(case.truth, case.results, protocol)
    for k in range(len(ev.protocol.ranges)):
        expected = table_of(ev, k)
        n = ev._pipeline.verdicts.images.height
        np.testing.assert_allclose(weighted(ev, np.ones((3, n)), k), np.stack([expected] * 3), rtol=0, atol=1e-12)
        np.testing.assert_allclose(weighted(ev, np.full((1, n), 2.0), k)[0], expected, rtol=0, atol=1e-12)


@pytest.mark.slow
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
    detections = [row | {"image_id": new} for old, new in copies for row in case.results if row["image_id"] == old]
    ap = weighted(apf.evaluate(case.truth, case.results), np.array([weights]))[0]
    precision = evaluate_by_reference(truth, detections).arrays["precision"][:, :, :, 0, -1]
    expected = np.where((precision > -1).all(axis=1), precision.mean(axis=1), np.nan)
    np.testing.assert_allclose(ap, expected, rtol=0, atol=1e-9)


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    "name", ["step", "interpolated", "voc2007", "eleven_point", "eleven_point_trec9", "eleven_point_trec10", "coco101"]
)
def test_ones_are_the_plain_number_by_every_definition(name: str) -> None:
    definition = as_definition(name)
    assert isinstance(definition, WeightedSum)
    verdicts = apf.evaluate("data/street/instances.json", "data/street/model_a.json")._pipeline.verdicts
    cells = [Cell((t,), 0, 2) for t in range(10)]
    plain = AveragePrecision(definition).read(Cells.of(verdicts, cells), Weights.once(300))["ap"][..., 0]
    for weight in (1, 3, 0.7) if "trec" not in name else (1,):  # trec_eval's levels are given to whole positives
        precisions = average_precision(verdicts, definition, np.full((1, 300), weight), cells)[:, 0]
        np.testing.assert_allclose(precisions, plain, rtol=0, atol=1e-9 if weight == 0.7 else 1e-12)


def test_two_images_by_hand() -> None:
    """Image 1 has one annotation, found at .9; image 2 one that is missed, and a false positive at .95 (DIAGNOSIS.md 7.5)."""
    truth = {
        "images": [{"id": 1}, {"id": 2}], "categories": [{"id": 1}],
        "annotations": [{"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 10, 10]} for i in (1, 2)],
    }  # fmt: skip
    detections = [
        {"image_id": 1, "category_id": 1, "score": 0.9, "bbox": [0, 0, 10, 10]},
        {"image_id": 2, "category_id": 1, "score": 0.95, "bbox": [50, 50, 10, 10]},
    ]
    ev = apf.evaluate(truth, detections, iou_thresholds=[0.5])
    weights = np.array([[2, 0], [1, 1], [0, 2], [1, 2]])
    expected = [1, 25.5 / 101, 0, 34 / 303]
    assert weighted(ev, weights)[:, 0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("protocol", ["coco", "voc2007", "voc2012"])
def test_what_is_perfect_is_perfect_by_any_weights(protocol: str) -> None:
    """Sums of weights that are not whole are rounded, and still reach the first recall level and the last."""
    rng = np.random.default_rng(0)
    boxes = [
        {"image_id": image, "category_id": category, "bbox": [20 * place, 0, 10, 10]}
        for image in range(20) for category in (1, 2, 3) for place in range((image + category) % 4)
    ]  # fmt: skip
    truth = {
        "images": [{"id": image} for image in range(20)], "categories": [{"id": category} for category in (1, 2, 3)],
        "annotations": [row | {"id": number} for number, row in enumerate(boxes, 1)],
    }  # fmt: skip
    detections = [row | {"score": float(score)} for row, score in zip(boxes, rng.permutation(len(boxes)), strict=True)]
    ev = apf.evaluate(truth, detections, protocol)
    weights = np.concatenate([rng.dirichlet(np.ones(20), size=200), np.full((1, 20), 0.1), np.full((1, 20), 1 / 3)])
    np.testing.assert_allclose(weighted(ev, weights), 1, rtol=0, atol=1e-9)


@pytest.mark.slow
@half_as_often
@given(cases(), st.sampled_from([0.1, 1 / 3, 0.7]))
def test_only_the_ratio_of_weights_counts(case: Case, factor: float) -> None:
    ev = apf.evaluate(case.truth, case.results)
    n = ev._pipeline.verdicts.images.height
    ones, others = weighted(ev, np.array([[1.0] * n, [factor] * n]))
    np.testing.assert_allclose(ones, others, rtol=0, atol=1e-8)

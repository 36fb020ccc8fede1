"""Influences: the numbers of DIAGNOSIS.md 7.6, and derivatives of the numbers that metrics read."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import apframe as apf
from apframe.benchmarks.pixels.panoptic.metric import PanopticQuality
from apframe.benchmarks.pixels.semantic.metric import PixelIoU
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.definitions import Coco101, Interpolated, Step, as_definition
from apframe.metrics.influence import RowInfluence
from apframe.metrics.metric import Metric
from apframe.metrics.points import SPACING, WeightedSum
from apframe.metrics.weights import Weights
from tests.parity.strategies import Case, cases, half_as_often
from tests.pins.sets import cases as pinned

STREET = "data/street"
STEP = 1e-6  # by which weights are moved


def by_image(cells: Cells, made: RowInfluence) -> np.ndarray:
    """The influences of shape (cells, lists, images)."""
    influences = np.zeros((len(made.detections), cells.n_lists, cells.n_images))
    for rows, columns in ((made.detections, cells.detections), (made.annotations, cells.annotations)):
        for k, values in enumerate(rows):
            np.add.at(influences[k], (columns["list"], columns["image"]), values)
    return influences


def slopes(metric: Metric, column: str, cells: Cells, weights: np.ndarray) -> np.ndarray:
    """Central differences of a column, times the weights, of shape (cells, lists, images); NaN at kinks."""
    n = len(weights)
    moved = weights[:, None] * (1 + STEP * np.concatenate([np.eye(n), -np.eye(n), np.zeros((n, 1))], axis=1))
    values = metric.read(cells, Weights.of(moved))[column]
    up, down, here = values[..., :n], values[..., n : 2 * n], values[..., 2 * n :]
    is_kink = np.abs((up - here) - (here - down)) > 1e-3 * STEP
    return np.where(is_kink, np.nan, (up - down) / (2 * STEP))


def everywhere(cells: Cells) -> list[Cell]:
    """Every threshold, and the mean over all, in every range and limit."""
    every = range(len(cells.thresholds))
    return [
        Cell(thresholds, k, m)
        for k, m in product(range(cells.positives.shape[1]), range(len(cells.limits)))
        for thresholds in [*((t,) for t in every), tuple(every)]
    ]


@pytest.fixture(scope="module")
def street() -> dict[str, apf.Evaluation]:
    return {name: apf.evaluate(f"{STREET}/instances.json", f"{STREET}/model_{name}.json") for name in "ab"}


def test_the_two_images_of_the_specification() -> None:
    """Image 1 is found; image 2 is missed, and has the highest false positive: AP = (1 + e)² / 4 under (1 + e, 1 - e)."""
    box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {
        "images": [{"id": 1}, {"id": 2}],
        "categories": [{"id": 1}],
        "annotations": [box | {"id": n, "image_id": n} for n in (1, 2)],
    }
    detections = [box | {"image_id": 1, "score": 0.9}, {"image_id": 2, "category_id": 1, "bbox": [50, 0, 9, 9], "score": 0.95}]
    ev = apf.evaluate(truth, detections)
    assert ev.influence("AP50")["influence"].to_list() == [0.25, -0.25]
    with pytest.warns(apf.exceptions.FewUnitsWarning):
        row = ev.intervals(metrics="AP50").row(0, named=True)
    assert row["se"] is None  # annotations on two images are too few to say so
    assert row["reason"] == "annotations in fewer than 10 units"


@pytest.mark.slow
def test_the_reference_values(street: dict[str, apf.Evaluation]) -> None:
    """DIAGNOSIS.md 7.6, on data/street."""
    names = ["AP", "AP50", "AP75"]
    expected = {
        "a": [0.010854436, 0.017439743, 0.015848980],
        "b": [0.009869872, 0.014500854, 0.015789425],
    }
    for name, se in expected.items():
        assert street[name].intervals(metrics=names)["se"].to_list() == pytest.approx(se, abs=1e-9)
    compared = street["a"].compare(street["b"], metrics=names)
    assert compared["se"].to_list() == pytest.approx([0.012116255, 0.017348122, 0.020186010], abs=1e-9)
    of_category = street["a"].intervals(metrics="AP", level="category").sort("category_id")["se"]
    assert of_category.to_list() == pytest.approx(
        [.013616, .030253, .046604, .013651, .028682, .039871, .045184, .026087, .031910, .046227, .021487, .020185], abs=5e-7
    )  # fmt: skip
    largest = {name: ev.influence("AP") for name, ev in street.items()}
    for name, image_id, value in (("a", 1338, -0.004037704), ("b", 3166, -0.002703208)):
        row = largest[name].sort(largest[name]["influence"].abs(), descending=True).row(0, named=True)
        assert row["image_id"] == image_id
        assert row["influence"] == pytest.approx(value, abs=1e-9)


@pytest.mark.slow
def test_the_area_of_the_specification(street: dict[str, apf.Evaluation]) -> None:
    """The area under the envelope of the precision of model a, beside the mean over 101 levels."""
    rules = replace(apf.COCO, metrics=(AveragePrecision(Interpolated(), SPACING),))
    area = apf.evaluate(f"{STREET}/instances.json", f"{STREET}/model_a.json", rules)
    assert [area[name] for name in ("AP", "AP50", "AP75")] == pytest.approx([0.266259434, 0.455794910, 0.272893294], abs=1e-9)
    one, other = (each.influence(["AP", "AP75"])["influence"].to_numpy() for each in (area, street["a"]))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_influences_sum_to_nothing(street: dict[str, apf.Evaluation]) -> None:
    summary = street["a"].sql("SELECT metric, sum(influence) AS total, count(*) AS n FROM influence GROUP BY metric")
    assert summary.height == 12
    assert summary["total"].abs().max() < 1e-12  # type: ignore[operator]
    assert summary["n"].unique().to_list() == [300]
    of_categories = street["a"].influence(["AP", "AR1", "APs"], level="category")
    each = of_categories.group_by("category_id", "metric").agg(pl.sum("influence"))
    assert each["influence"].abs().max() < 1e-12  # type: ignore[operator]


@pytest.mark.slow
@half_as_often
@given(cases(), st.integers(0, 2**32 - 1), st.sampled_from([Step(), Interpolated(), Coco101()]))
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
def test_influences_are_derivatives_of_the_area(case: Case, seed: int, definition: WeightedSum) -> None:
    """Under any weights; of ignored rows, all sizes and limits, positives that are never found; and of recall."""
    ev = apf.evaluate(case.truth, case.results)
    cells = Cells.of(ev._pipeline.verdicts)
    assume(cells.n_images > 0)
    cells = cells.wanting(everywhere(cells))
    weights = np.random.default_rng(seed).uniform(0.5, 2, cells.n_images)
    area = Step() if definition == Step() else Interpolated()
    for metric, column, of in (
        (AveragePrecision(definition), "ap", AveragePrecision(area)),
        (ev.protocol.all_metrics[1], "recall", ev.protocol.all_metrics[1]),
    ):
        influences = metric.influence(cells, Weights.of(weights[:, None]))[column]
        image_influences, expected = by_image(cells, influences), slopes(of, column, cells, weights)
        has_value = np.isfinite(expected)
        np.testing.assert_allclose(image_influences[has_value], expected[has_value], rtol=0, atol=1e-7)
        assert np.abs(image_influences.sum(axis=2)).max() < 1e-12
        assert influences.is_biased == (column == "ap" and area.interpolated)


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
@pytest.mark.parametrize("name", apf.PUBLISHED)
def test_influences_of_published_protocols_are_derivatives(name: str, tmp_path: Path) -> None:
    n_compared = 0
    for _, data, evaluate in pinned(name, tmp_path):
        if data != "generated":
            continue
        ev = evaluate()
        cells = Cells.of(ev._pipeline.verdicts)
        cells = cells.wanting(everywhere(cells))
        weights = np.random.default_rng(1).uniform(0.5, 2, cells.n_images)
        for metric in ev.protocol.all_metrics:
            of: Metric = metric
            if isinstance(metric, AveragePrecision) and isinstance(metric.definition, Coco101):
                of = AveragePrecision(Interpolated(), metric.addend, metric.counts_absent)
            for column, made in metric.influence(cells, Weights.of(weights[:, None])).items():
                found, expected = by_image(cells, made), slopes(of, column, cells, weights)
                has_value = np.isfinite(expected)
                scale = max(1.0, np.abs(expected[has_value]).max(initial=0))
                np.testing.assert_allclose(found[has_value] / scale, expected[has_value] / scale, rtol=0, atol=1e-6)
                n_compared += has_value.sum()
    assert n_compared > 4 or name == "WAYMO"  # whose numbers all depend on cut-offs


def test_which_numbers_have_a_derivative() -> None:
    evenly = Coco101(tuple(k / 40 for k in range(41)))
    derived = [as_definition(name) for name in ("step", "interpolated", "coco101")] + [evenly]
    assert all(each.varies_as_area for each in derived)
    names = ("voc2007", "eleven_point", "waymo", "nuscenes", "r40", "r11", "wider_face", "crowdhuman", "ultralytics")
    uneven = (Coco101(tuple((k / 100) ** 2 for k in range(101))), Coco101(tuple(k / 39 for k in range(40))))
    assert not any(each.varies_as_area for each in (*map(as_definition, names), *uneven))
    for metric in (PanopticQuality(), PixelIoU()):
        assert type(metric).influence is not Metric.influence


@pytest.mark.slow
def test_copies_of_all_images_halve_the_variance(street: dict[str, apf.Evaluation]) -> None:
    """With an envelope; each image has a second one like it."""
    ev = street["a"]
    cells = Cells.of(ev._pipeline.verdicts, [Cell(tuple(range(10)), 0, 2)])
    metric = AveragePrecision(Interpolated())
    once, twice = (by_image(cells, metric.influence(cells, Weights.of(np.full((300, 1), n)))["ap"]) for n in (1.0, 2.0))
    np.testing.assert_allclose(once, twice, rtol=0, atol=1e-12)  # of both copies together
    np.testing.assert_allclose(2 * ((twice / 2) ** 2).sum(), (once**2).sum() / 2, rtol=1e-12)

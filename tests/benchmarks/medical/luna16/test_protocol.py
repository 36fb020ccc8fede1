"""LUNA16: CPM with other limits is that of loops over the rules of its script; the cases that the script was run on."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError
from tests.benchmarks.medical.luna16.row import Data, Row, cpm, loop, scans
from tests.conformance.samples import together
from tests.metrics.reading import under_weights
from tests.parity.reference import close
from tests.protocols.generated import on_many_sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.FewUnitsWarning",
)  # fmt: skip


def evaluate(data: Data, **options: Any) -> apf.Evaluation:
    images, annotations, detections = (pl.DataFrame(rows) for rows in (data[0]["images"], data[0]["annotations"], data[1]))
    return apf.evaluate(apf.Dataset(images, {"category_id": ["nodule"]}, annotations), detections, "luna16", **options)


@pytest.mark.slow
@on_many_sets
@pytest.mark.parametrize("most", [2, 3, 6])
def test_cpm_with_other_limits_of_marks_in_a_scan_equals_loops(most: int, seeds: range) -> None:
    samples = [loop(np.random.default_rng(seed), seed, most) for seed in seeds]
    dataset, detections = together(samples)
    evaluation = apf.evaluate(dataset, detections, "luna16", max_detections=most)
    assert evaluation.by("set")["CPM"].to_list() == close(sample.numbers["CPM"] for sample in samples)
    assert evaluation.detections["expanded_from"].count() > len(samples) / 4  # marks in several findings


Place = tuple[str, float]


def in_two_scans(nodules: list[Place], marks: list[tuple[str, float, float]], excluded: list[Place] = []) -> Data:  # noqa: B006
    def sphere(scan: str, x: float, **more: Any) -> Row:
        return {"image_id": scan, "category_id": "nodule", "sphere_x": float(x), "sphere_y": 0.0, "sphere_z": 0.0} | more

    annotations = [sphere(*place, sphere_diameter=10.0, ignore=False) for place in nodules]
    annotations += [sphere(*place, sphere_diameter=10.0, ignore=True) for place in excluded]
    detections = [sphere(scan, x, score=score) for scan, x, score in marks]
    return {"images": [{"image_id": "a"}, {"image_id": "b"}], "annotations": annotations}, detections


FOUR: list[Place] = [("a", 0), ("a", 50), ("b", 0), ("b", 80)]
FALSE = 200
# nodules, marks, excluded findings, the limit, what the script printed
OF_THE_SCRIPT: dict[str, tuple[list[Place], list[tuple[str, float, float]], list[Place], int, float]] = {
    "two found": (FOUR, [("a", 0, 0.9), ("a", FALSE, 0.8), ("b", 0, 0.7), ("b", FALSE, 0.6)], [], 100, 0.428571429),
    "the best of two marks": (
        FOUR, [("a", 0, 0.9), ("a", 1, 0.95), ("a", FALSE, 0.8), ("b", 0, 0.7)], [], 100, 0.428571429,
    ),
    "a mark in an excluded finding": (
        FOUR, [("a", 204, 0.8), ("a", 0, 0.9), ("b", 0, 0.7), ("b", FALSE, 0.6)], [("a", 200)], 100, 0.5,
    ),
    "on the surface": (FOUR, [("a", 5, 0.9), ("a", 4.999, 0.7)], [], 100, 0.178571429),
    "a mark in two nodules": (
        [("a", 0), ("a", 4), ("b", 0)], [("a", 2, 0.9), ("a", FALSE, 0.8)], [], 100, 0.666666667,
    ),
    "equal scores": (FOUR, [("a", 0, 0.8), ("a", FALSE, 0.8), ("b", 0, 0.7)], [], 100, 0.383928571),
    "equal scores across the limit": (
        FOUR, [("a", 0, 0.9), ("a", FALSE, 0.8), ("a", 300, 0.7), ("a", 50, 0.7), ("a", 400, 0.6)], [], 3, 0.25,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("nodules", "marks", "excluded", "most", "value"), OF_THE_SCRIPT.values(), ids=OF_THE_SCRIPT)
def test_numbers_of_the_script(nodules: Any, marks: Any, excluded: Any, most: int, value: float) -> None:
    data = in_two_scans(nodules, marks, excluded)
    assert evaluate(data, max_detections=most).summary["value"].to_list() == pytest.approx([value], abs=1e-9)
    assert cpm(*data, most) == pytest.approx(value, abs=1e-9)


def test_outcomes_of_marks() -> None:
    """One mark in two nodules is true twice; another one there, and one in an excluded finding, are ignored."""
    marks = [("a", 2.0, 0.9), ("a", 3.0, 0.8), ("b", 200.0, 0.7), ("b", 90.0, 0.6)]
    evaluation = evaluate(in_two_scans([("a", 0), ("a", 4), ("b", 0)], marks, [("b", 200)]))
    matches = evaluation.matches().sort("score", "detection_id", descending=[True, False], nulls_last=True)
    assert matches.select("score", "outcome").rows() == [
        (0.9, "tp"), (0.9, "tp"), (0.8, "ignored"), (0.8, "ignored"), (0.7, "ignored"), (0.6, "fp"), (None, "fn"),
    ]  # fmt: skip


def test_the_column_is_that_of_froc() -> None:
    data = scans(np.random.default_rng(3), 8)
    evaluation = evaluate(data)
    assert evaluation.metrics["cpm"].to_list() == close(evaluation.froc(interpolate=True)["cpm"].to_list()[:1])


def test_weights_are_copies_of_scans() -> None:
    """Also where many scores are equal."""
    random = np.random.default_rng(5)
    truth, results = scans(random, 6)
    weights = random.integers(0, 4, (6, 5)).astype(float)
    evaluation = evaluate((truth, results))
    weighted_cpm = under_weights(evaluation, "cpm", weights)
    for weighting in range(5):
        copies = {f"scan {k}": [f"scan {k}/{copy}" for copy in range(int(weights[k, weighting]))] for k in range(6)}
        rows = [
            [row | {"image_id": copy} for row in rows for copy in copies[row["image_id"]]]
            for rows in (*truth.values(), results)
        ]
        expected = cpm({"images": rows[0], "annotations": rows[1]}, rows[2])
        assert weighted_cpm[0, weighting] == pytest.approx(expected, abs=1e-9)
    halves = under_weights(evaluation, "cpm", np.full((6, 1), 0.5))
    assert halves[0, 0] == pytest.approx(evaluation.summary["value"][0], abs=1e-9)


def test_a_nodule_needs_a_diameter() -> None:
    truth, results = in_two_scans(FOUR, [("a", 0, 0.9)])
    annotations = pl.DataFrame(truth["annotations"]).drop("sphere_diameter")
    with pytest.raises(ColumnError, match="no column sphere_diameter"):
        apf.evaluate(apf.Dataset({"image_id": ["a", "b"]}, {"category_id": ["nodule"]}, annotations), results, "luna16")


def test_a_report_needs_the_rule_of_its_lines() -> None:
    with pytest.raises(ParameterError, match="LAMR needs a metric of it, such as MissRates"):
        apf.Protocol("mine", "", headlines=("LAMR",), metrics=apf.LUNA16.metrics)

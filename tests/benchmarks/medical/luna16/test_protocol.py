"""LUNA16: CPM is that of loops over the rules of its script, and of the cases that the script was run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError
from tests.metrics.reading import under_weights
from tests.parity.reference import close
from tests.protocols.generated import joined_by_name, on_many_sets, sets
from tests.protocols.parts_of_sets import assert_parts_are_the_whole

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.FewUnitsWarning",
)  # fmt: skip

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
POINTS = [2.0**k for k in range(-3, 4)]
CENTRE = ("sphere_x", "sphere_y", "sphere_z")


def is_inside(mark: Row, finding: Row) -> bool:
    radius = 5.0 if finding["sphere_diameter"] < 0 else finding["sphere_diameter"] / 2
    return mark["image_id"] == finding["image_id"] and sum((mark[k] - finding[k]) ** 2 for k in CENTRE) < radius**2


def points_of(truth: dict[str, list[Row]], results: list[Row], most: int = 100) -> tuple[list[float], list[float]]:
    """False positives per scan and sensitivities of the FROC curve, from (0, 0) on."""
    kept: list[Row] = []
    for scan in truth["images"]:
        own = [row for row in results if row["image_id"] == scan["image_id"]]
        ranked = sorted((row["score"] for row in own), reverse=True)
        kept += [row for row in own if len(own) <= most or row["score"] > ranked[most]]
    nodules = [row for row in truth["annotations"] if not row["ignore"]]
    hits = [max((row["score"] for row in kept if is_inside(row, nodule)), default=None) for nodule in nodules]
    false = [row["score"] for row in kept if not any(is_inside(row, finding) for finding in truth["annotations"])]
    found = [score for score in hits if score is not None]
    fppi, sensitivity = [0.0], [0.0]
    for cut in sorted({*found, *false}, reverse=True):
        fppi.append(sum(score >= cut for score in false) / len(truth["images"]))
        sensitivity.append(sum(score >= cut for score in found) / len(nodules))
    return fppi, sensitivity


def cpm(truth: dict[str, list[Row]], results: list[Row], most: int = 100) -> float | None:
    """The mean over the seven points, on straight lines."""
    if all(row["ignore"] for row in truth["annotations"]):
        return None
    fppi, sensitivity = points_of(truth, results, most)
    values = []
    for point in POINTS:
        left = max(k for k, at in enumerate(fppi) if at <= point)
        value = sensitivity[left]
        if left + 1 < len(fppi):
            share = (point - fppi[left]) / (fppi[left + 1] - fppi[left])
            value += share * (sensitivity[left + 1] - sensitivity[left])
        values.append(value)
    return sum(values) / len(values)


def scans(random: np.random.Generator, n_images: int) -> Data:
    """Nodules and excluded findings that overlap, marks near them and elsewhere, with many equal scores."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"scan {key}" for key in range(n_images)]
    for name in names:
        findings = []
        for _ in range(random.integers(0, 5)):
            centre = (random.integers(0, 25, 3) * (1, 0.5, 0.25)).tolist()
            diameter = float(random.choice([-1, 4, 8, 12]))
            findings.append(
                {"image_id": name, "category_id": "nodule", **dict(zip(CENTRE, centre, strict=True)),
                 "sphere_diameter": diameter, "ignore": bool(random.random() < 0.25)}
            )  # fmt: skip
        annotations += findings
        places = [[row[key] for key in CENTRE] for row in findings for _ in range(random.integers(0, 4))]
        places += random.integers(0, 60, (random.integers(0, 4), 3)).astype(float).tolist()
        for place in places:
            moved = (np.array(place) + random.integers(-4, 5, 3)).tolist()
            score = float(random.integers(1, 12)) / 12
            results.append({"image_id": name, "category_id": "nodule", **dict(zip(CENTRE, moved, strict=True)), "score": score})
    results = [results[place] for place in random.permutation(len(results))]
    return {"images": [{"image_id": name} for name in names], "annotations": annotations}, results


def dataset_of(truth: dict[str, list[Row]]) -> apf.Dataset:
    return apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": ["nodule"]}, pl.DataFrame(truth["annotations"]))


def evaluate(data: Data, **options: Any) -> apf.Evaluation:
    return apf.evaluate(dataset_of(data[0]), pl.DataFrame(data[1]), "luna16", **options)


@given(sets(scans), st.sampled_from([100, 3]))
def test_cpm_equals_loops(data: Data, most: int) -> None:
    evaluation = evaluate(data, max_detections=most)
    assert evaluation.summary.rows() == [("CPM", *close([cpm(*data, most)]))]


@on_many_sets
def test_cpm_of_many_sets_equals_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once, with several limits of marks in a scan."""
    parts = {f"{seed:03}": scans(np.random.default_rng(seed), 1 + seed % 12) for seed in seeds}
    data = joined_by_name(parts)
    for most in (100, 2, 3, 6):
        evaluation = evaluate(data, max_detections=most)
        by = evaluation.by("set")
        assert by["set"].to_list() == list(parts)
        assert by["CPM"].to_list() == close(cpm(*part, most) for part in parts.values())
        assert most < 100 or len(evaluation.detections) - len(data[1]) > 20  # marks in several findings


Place = tuple[str, float]


def in_two_scans(nodules: list[Place], marks: list[tuple[str, float, float]], excluded: list[Place] = []) -> Data:  # noqa: B006
    def sphere(scan: str, x: float, **more: Any) -> Row:
        return {"image_id": scan, "category_id": "nodule", "sphere_x": float(x), "sphere_y": 0.0, "sphere_z": 0.0} | more

    annotations = [sphere(*place, sphere_diameter=10.0, ignore=False) for place in nodules]
    annotations += [sphere(*place, sphere_diameter=10.0, ignore=True) for place in excluded]
    found = [sphere(scan, x, score=score) for scan, x, score in marks]
    return {"images": [{"image_id": "a"}, {"image_id": "b"}], "annotations": annotations}, found


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


def test_stored_sets_slices_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    truth, results = scans(np.random.default_rng(5), 12)
    for number, image in enumerate(truth["images"]):
        image["scanner"] = "one" if number % 3 else "two"
    data = truth, results
    evaluation = evaluate(data)
    evaluation.write_parquet(tmp_path / "stored")
    for each in (evaluation, apf.read_evaluation(tmp_path / "stored")):
        assert_frame_equal(each.summary, evaluation.summary)
        by = each.by("scanner")
        for scanner in ("one", "two"):
            some = {image["image_id"] for image in truth["images"] if image["scanner"] == scanner}
            inside = [[row for row in rows if row["image_id"] in some] for rows in (*truth.values(), results)]
            expected = close([cpm({"images": inside[0], "annotations": inside[1]}, inside[2])])
            assert by.filter(scanner=scanner)["CPM"].to_list() == expected
            assert each.where(pl.col("scanner") == scanner).summary["value"].to_list() == expected
    evaluator = apf.Evaluator(dataset_of(truth), "luna16")
    found = pl.DataFrame(results)
    for name in found["image_id"].unique().sort():
        evaluator.update(found.filter(pl.col("image_id") == name))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)


def test_weights_are_copies_of_scans() -> None:
    random = np.random.default_rng(5)
    truth, results = scans(random, 6)
    weights = random.integers(0, 4, (6, 5)).astype(float)
    evaluation = evaluate((truth, results))
    found = under_weights(evaluation, "cpm", weights)
    for weighting in range(5):
        copies = {f"scan {k}": [f"scan {k}/{copy}" for copy in range(int(weights[k, weighting]))] for k in range(6)}
        rows = [
            [row | {"image_id": copy} for row in rows for copy in copies[row["image_id"]]]
            for rows in (*truth.values(), results)
        ]
        expected = cpm({"images": rows[0], "annotations": rows[1]}, rows[2])
        assert found[0, weighting] == pytest.approx(expected, abs=1e-9)
    halves = under_weights(evaluation, "cpm", np.full((6, 1), 0.5))
    assert halves[0, 0] == pytest.approx(evaluation.summary["value"][0], abs=1e-9)


def test_intervals_and_comparisons() -> None:
    truth, results = scans(np.random.default_rng(7), 30)
    shifted = [row | {"sphere_x": row["sphere_x"] + 2} for row in results]
    a, b = (evaluate((truth, rows)) for rows in (results, shifted))
    intervals = a.intervals(n_resamples=100, method="bootstrap")
    assert intervals["metric"].to_list() == ["CPM"]
    assert intervals["estimate"].to_list() == close(a.summary["value"].to_list())
    assert (intervals["low"] < intervals["estimate"]).all() and (intervals["estimate"] < intervals["high"]).all()
    compared = a.compare(b, n_resamples=50, method="bootstrap")
    assert compared["difference"].to_list() == close([b.summary["value"][0] - a.summary["value"][0]])


def test_a_nodule_needs_a_diameter() -> None:
    truth, results = in_two_scans(FOUR, [("a", 0, 0.9)])
    annotations = pl.DataFrame(truth["annotations"]).drop("sphere_diameter")
    with pytest.raises(ColumnError, match="no column sphere_diameter"):
        apf.evaluate(apf.Dataset({"image_id": ["a", "b"]}, {"category_id": ["nodule"]}, annotations), results, "luna16")


def test_a_report_needs_the_rule_of_its_lines() -> None:
    with pytest.raises(ParameterError, match="LAMR needs a metric of it, such as MissRates"):
        apf.Protocol("mine", "", headlines=("LAMR",), metrics=apf.LUNA16.metrics)


@pytest.mark.slow
def test_parts_are_the_whole(tmp_path: Path) -> None:
    truth, results = scans(np.random.default_rng(11), 12)
    for number, image in enumerate(truth["images"]):
        image["scanner"] = ["one", "two"][number % 2]
    found = pl.DataFrame(results)
    scores = (np.random.default_rng(1).permutation(found.height) + 1) / (found.height + 1)
    one = assert_parts_are_the_whole(dataset_of(truth), found.with_columns(score=scores), apf.LUNA16, tmp_path, "scanner")
    assert one.detections["expanded_from"].count()  # some marks are in two findings

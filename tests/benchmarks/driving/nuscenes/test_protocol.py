"""NUSCENES: the cases of the development kit, its rules one by one, and what is special after the matches."""

from __future__ import annotations

import gc
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.driving.box_errors import BoxErrors
from apframe.benchmarks.driving.level_cuts import SumsDown
from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.protocols.rules.classes import Classes
from tests.benchmarks.driving.driving_boxes import Row, cuboid, evaluate, generated, of_category
from tests.benchmarks.driving.nuscenes import reference
from tests.benchmarks.driving.nuscenes.row import CLASSES, expected_of
from tests.metrics.reading import under_weights
from tests.protocols.rules_of import classes_of, exchanging

ARGOVERSE2_OF_CARS = exchanging(apf.ARGOVERSE2, Classes, classes_of(apf.NUSCENES))


def case(truth: list[float], found: list[tuple[float, float]]) -> apf.Evaluation:
    return evaluate([cuboid(x) for x in truth], [cuboid(x, score) for x, score in found], apf.NUSCENES)


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


TWENTY = [20.0 * k for k in range(20)]
N1 = ([float(x) for x in range(0, 100, 10)],
      [(0.3, 0.9), (500, 0.85), (10.7, 0.8), (21.5, 0.7), (510, 0.6), (33, 0.5), (40.1, 0.4), (50.1, 0.3)])  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "found", "ap", "ate"),
    [
        pytest.param(*N1, [0.045304233, 0.137272193, 0.249301881, 0.352175191], 0.598277778, id="N1"),
        pytest.param([0, 10], [(0.1, 0.5), (0.2, 0.5), (10, 0.4)], [0.737654321] * 4, 0.171666667, id="N2"),
        pytest.param([0, 10], [(0.2, 0.5), (0.1, 0.5), (10, 0.4)], [0.737654321] * 4, 0.085833333, id="N2 swapped"),
        pytest.param([0], [(0.5, 0.9)], [0, 1, 1, 1], 0.5, id="N3"),
        pytest.param([0, 1], [(0, 0.9), (0.1, 0.8)], [0.438271605, 1, 1, 1], 0.1275, id="N4"),
        pytest.param(TWENTY, [(0, 0.9)], [0] * 4, 1, id="N5"),
        pytest.param(TWENTY, [(20 * k, 0.9 - k / 100) for k in range(7)], [0.266666667] * 4, 0, id="N6"),
        pytest.param([0], [(0, 0)], [1] * 4, 1, id="N10"),
        pytest.param([0], [(9, 0.9), (0, 0.5)], [0.2] * 4, 0, id="N13"),
        pytest.param([0], [(0, 0.9), (9, 0.5), (19, 0.4)], [0.991769547] * 4, 0, id="N14"),
    ],
)  # fmt: skip
def test_cases_of_the_kit(truth: list[float], found: list[tuple[float, float]], ap: list[float], ate: float) -> None:
    evaluation = case(truth, found)
    assert of_category(evaluation, "ap") == exactly(ap)
    assert of_category(evaluation, "ate") == [None, None, exactly(ate), None]


@pytest.mark.slow
def test_absent_classes_count() -> None:
    summary = dict(case(*N1).summary.rows())
    assert summary == exactly(
        {"AP": 0.019601337, "ATE": 0.959827778, "ASE": 0.9, "AOE": 0.888888889, "AVE": 0.875, "AAE": 1, "NDS": 0.047429002}
    )


def errors_of_cars(evaluation: apf.Evaluation) -> Any:
    """The five errors at 2 m."""
    at_two = evaluation.metrics.filter(category_id="car", iou_threshold=-2)
    return at_two.select("ate", "ase", "aoe", "ave", "aae").row(0)


@pytest.mark.parametrize(("truth", "score"), [(TWENTY, 0.9), ([0], 0)], ids=["N5", "N10"])
def test_errors_are_1_at_low_recall_and_for_scores_of_0(truth: list[float], score: float) -> None:
    assert errors_of_cars(case(truth, [(0, score)])) == (1, 1, 1, 1, 1)


@pytest.mark.parametrize(("order", "ap"), [("ab", 0.101234568), ("ba", 0.438271605)])
def test_ties_across_samples_go_by_the_order_of_the_file(order: str, ap: float) -> None:
    truth = [cuboid(0, image="a"), cuboid(0, image="b")]
    detections = [cuboid(0 if image == "a" else 9, 0.5, image=image) for image in order]
    assert of_category(evaluate(truth, detections, apf.NUSCENES, images="ab"), "ap") == exactly([ap] * 4)


def test_all_five_errors() -> None:
    truth = [cuboid(0, yaw=0.1, velocity=(1, 0), attribute="moving"), cuboid(10, velocity=(None, None)),
             cuboid(20, yaw=3, velocity=(0, 0), attribute="parked")]  # fmt: skip
    detections = [cuboid(0.2, 0.9, yaw=0.3, velocity=(2, 0), size=(2, 4, 1), attribute="moving"),
                  cuboid(10.4, 0.7, yaw=0.4, attribute="moving"),
                  cuboid(20.6, 0.5, yaw=-3, size=(1, 4, 1.5), attribute="moving")]  # fmt: skip
    evaluation = evaluate(truth, detections, apf.NUSCENES)
    assert of_category(evaluation, "ap") == exactly([0.622222222, 1, 1, 1])
    assert errors_of_cars(evaluation) == exactly((0.275188889, 0.261012346, 0.255041821, 0.904611111, 0.095388889))


def weathered(n_images: int = 12) -> tuple[list[Row], list[Row], dict[str, list[Any]]]:
    """Rows of some images, which are in rain or not."""
    truth, detections = generated(np.random.default_rng(7), ["car", "barrier"], n_images)
    ids = [f"i{k}" for k in range(n_images)]
    return truth, detections, {"image_id": ids, "weather": ["rain" if k % 3 == 0 else "clear" for k in range(n_images)]}


def of_all_classes(truth: list[Row], found: list[Row], images: Any, protocol: apf.Protocol = apf.NUSCENES) -> apf.Evaluation:
    return evaluate(truth, found, protocol, images, CLASSES)


@pytest.mark.slow
def test_slices_have_no_score_where_an_error_is_undefined() -> None:
    truth, detections, images = weathered()
    evaluation = of_all_classes(truth, detections, images)
    rows = {row["name"]: row for row in evaluation.by("name").to_dicts()}
    expected = expected_of(
        *([row for row in rows if row["category_id"] == "car"] for rows in (truth, detections)), names=("car",)
    )
    assert {name: rows["car"][name] for name in expected} == exactly(expected)
    assert rows["barrier"]["AVE"] is None and rows["barrier"]["NDS"] is None and rows["barrier"]["AOE"] is not None
    assert rows["bus"]["AP"] == 0 and rows["bus"]["ATE"] == 1
    assert evaluation.by("weather")["n_categories"].to_list() == [10, 10]  # absent ones count in slices of images too


@pytest.mark.slow
def test_slices_of_objects_are_matched_again() -> None:
    truth, detections, images = weathered()
    for rows in (truth, detections):
        for row in rows:
            row["ego_distance"] = abs(row["cuboid_x"])
    evaluation = of_all_classes(truth, detections, images)
    near = evaluation.by(apf.bins("ego_distance", [0, 3, 8])).row(0, named=True)
    assert near["n_annotations"] == sum(row["ego_distance"] < 3 for row in truth)
    assert 0 < near["AP"] < 1 and 0 < near["NDS"] < 1
    subset = evaluation.where(pl.col("annotations.ego_distance") < 3, pl.col("detections.ego_distance") < 1e9)
    assert subset.summary["value"].null_count() == 0
    assert evaluation.by("annotations.attribute")["NDS"].null_count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [apf.NUSCENES, ARGOVERSE2_OF_CARS], ids=lambda protocol: protocol.name)
def test_weights_are_copies_of_images(protocol: apf.Protocol) -> None:
    rng = np.random.default_rng(5)
    truth, detections, images = weathered(n_images=6)
    for row, noise in zip(detections, rng.random(len(detections)).tolist(), strict=True):
        row["score"] = 0.1 + 0.8 * row["score"] + noise / 1e6  # no ties but those of copies
    evaluation = of_all_classes(truth, detections, images, protocol)
    weights = rng.integers(0, 4, (6, 5)).astype(float)
    columns = ["ap", *(kind for kind in reference.KINDS if kind in evaluation.metrics.columns)]
    for weighting, counts in enumerate(weights.T.astype(int).tolist()):
        copied = {f"i{k}": [f"i{k}/{copy}" for copy in range(n)] for k, n in enumerate(counts)}
        rows = [[row | {"image_id": copy} for row in rows for copy in copied[row["image_id"]]] for rows in (truth, detections)]
        expected = of_all_classes(*rows, [copy for copies in copied.values() for copy in copies], protocol).metrics
        for (t, threshold), column in product(enumerate(protocol.iou_thresholds), columns):
            own = expected.filter(iou_threshold=threshold)[column].fill_null(np.nan).to_numpy()
            under = under_weights(evaluation, column, weights, threshold=t)[:, weighting]
            assert under == pytest.approx(own, abs=1e-9, nan_ok=True)
    for t, column in product(range(4), columns):
        halves, ones = (under_weights(evaluation, column, np.full((6, 1), weight), threshold=t) for weight in (0.5, 1.0))
        assert halves == pytest.approx(ones, abs=1e-9, nan_ok=True)


@pytest.mark.slow
def test_less_of_an_error_is_better(tmp_path: Path) -> None:
    truth, detections, images = weathered(n_images=30)
    runs = {"found": detections, "exact": [row | {"score": 0.5} for row in truth]}
    evaluations = {name: of_all_classes(truth, rows, images) for name, rows in runs.items()}
    compared = evaluations["found"].compare(evaluations["exact"], n_resamples=50, method="bootstrap", metrics=["ATE", "NDS"])
    assert (compared["difference"] < 0).to_list() == [True, False]
    assert compared["share_better"].to_list() == [1.0, 1.0]
    for name, evaluation in evaluations.items():
        evaluation.write_parquet(tmp_path / name)
    board = apf.scan_runs(str(tmp_path / "*")).leaderboard("ATE", n_resamples=50)
    assert board["run"].to_list() == ["exact", "found"] and board["share_best"].to_list() == [1.0, 0.0]


@pytest.mark.slow
def test_the_score_alone_has_its_interval_of_all_and_of_slices() -> None:
    evaluation = of_all_classes(*weathered())
    options = {"n_resamples": 50, "method": "bootstrap"}
    of_all = evaluation.intervals(**options).filter(metric="NDS")
    assert_frame_equal(evaluation.intervals(**options, metrics="NDS"), of_all)
    by_weather = evaluation.intervals(**options, metrics="NDS", by="weather")
    assert by_weather["estimate"].to_list() == exactly(evaluation.by("weather").sort("weather")["NDS"].to_list())


@pytest.mark.slow
def test_what_comes_after_the_matches() -> None:
    evaluation = of_all_classes(*weathered())
    query = "SELECT avg(ate) AS ate FROM metrics JOIN categories USING (category_id) WHERE iou_threshold = -2"
    assert evaluation.sql(query).item() == exactly(evaluation["ATE"])
    assert evaluation.error_impact(-2).filter(pl.col("category_id").is_null(), error="fn")["delta_ap"].item() > 0
    with pytest.raises(ParameterError, match=r"^label errors need similarities from 0 to 1, and NUSCENES compares distances$"):
        evaluation.label_errors(-2)
    with pytest.raises(ParameterError, match=r"^arrays: nuscenes has no recall levels, which the reference's arrays require$"):
        evaluation.arrays()


@pytest.mark.parametrize(
    ("truth", "found", "counts"),
    [
        ({"ego_distance": 49.9}, {"ego_distance": 49.9}, (1, 1)),
        ({"ego_distance": 50.0}, {"ego_distance": 49.9}, (0, 1)),
        ({"ego_distance": 49.9}, {"ego_distance": 50.0}, (1, 0)),
        ({"ego_distance": 39.9, "name": "pedestrian"}, {"ego_distance": 40.0, "name": "pedestrian"}, (1, 0)),
        ({"ego_distance": 29.9, "name": "barrier"}, {"ego_distance": 30.0, "name": "barrier"}, (1, 0)),
        ({"n_points": 0}, {}, (0, 1)),
        ({"n_points": None}, {}, (1, 1)),
        ({"in_rack": 1, "name": "bicycle"}, {"in_rack": 1, "name": "bicycle"}, (0, 0)),
        ({"in_rack": 1}, {"in_rack": 1}, (1, 1)),
    ],
)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.NoAnnotationsWarning")
def test_which_objects_are_kept(truth: Row, found: Row, counts: tuple[int, int]) -> None:
    of_both = {"ego_distance": 9.0, "in_rack": 0}
    rows = [cuboid(0, **{"n_points": 1} | of_both | truth)], [cuboid(0, 0.9, **of_both | found)]
    evaluation = of_all_classes(*rows, ["s"])
    assert (evaluation.dataset.annotations.height, evaluation.detections.height) == counts
    assert evaluation.notes == ()


def test_columns_that_are_missing_are_noted() -> None:
    truth, detections = cuboid(0), cuboid(0, 0.9)
    for row in (truth, detections):
        del row["velocity_x"], row["velocity_y"], row["attribute"]
    evaluation = evaluate([truth], [detections], apf.NUSCENES)
    assert evaluation.notes == (
        "NUSCENES filters objects by columns that are missing: annotations.ego_distance, annotations.n_points, "
        "annotations.in_rack, detections.ego_distance, detections.in_rack",
        "AVE is computed as if there were no true positives: annotations.velocity_x, detections.velocity_x, "
        "annotations.velocity_y, detections.velocity_y are missing",
        "AAE is computed as if there were no true positives: annotations.attribute, detections.attribute are missing",
    )
    assert str(evaluation).splitlines()[-3:] == [f" {note}" for note in evaluation.notes]
    assert of_category(evaluation, "ave") == [None, None, 1.0, None]


@pytest.mark.slow
def test_too_many_detections_and_negative_scores_are_errors() -> None:
    with pytest.raises(RowError) as caught:
        evaluate([cuboid(0)], [cuboid(0, 0.5)] * 501, apf.NUSCENES)
    assert str(caught.value) == (
        "detections: there are 501 detections of an image, and NUSCENES accepts 500, for image_id 's'; keep the 500 with "
        "the highest scores of each image"
    )
    assert evaluate([cuboid(0)], [cuboid(0, 0.5)] * 500, apf.NUSCENES)["AP"]
    with pytest.raises(RowError, match=r"^detections: score is negative for detection_id 1; NUSCENES requires scores of"):
        evaluate([cuboid(0)], [cuboid(0, -0.5)], apf.NUSCENES)


@pytest.mark.parametrize("column", ["velocity_x", "ego_distance", "in_rack"])
def test_text_in_the_place_of_numbers_is_refused(column: str) -> None:
    with pytest.raises(ColumnError, match=rf"^detections\.{column} must hold numbers, not String$"):
        evaluate([cuboid(0)], [cuboid(0, 0.9) | {column: "1"}], apf.NUSCENES)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("column", ["n_points", "ego_distance", "in_rack"])
@pytest.mark.parametrize("table", ["annotations", "detections"])
def test_what_is_not_finite_cannot_say_what_is_kept(table: str, column: str, value: float) -> None:
    sides = {"annotations": [cuboid(0), cuboid(9)], "detections": [cuboid(0, 0.9), cuboid(9, 0.8)]}
    sides[table] = [sides[table][0] | {column: None}, sides[table][1] | {column: value}]
    message = rf"^{table}: {column} is not a finite number for {table[:-1]}_id 2; correct it, or give null"
    is_read = (table, column) != ("detections", "n_points")
    with pytest.raises(RowError, match=message) if is_read else nullcontext():
        evaluate(sides["annotations"], pl.DataFrame(sides["detections"]), apf.NUSCENES)


def test_unknown_velocities_may_be_nan() -> None:
    unknown = {"velocity_x": float("nan"), "velocity_y": float("nan")}
    assert evaluate([cuboid(0) | unknown], [cuboid(0, 0.9)], apf.NUSCENES)["AP"]


@pytest.mark.slow
def test_chosen_categories_alone_are_averaged() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, apf.NUSCENES, images, ["car", "barrier"])
    assert evaluation.metrics["category_id"].n_unique() == 10  # the other eight were added
    alone = apf.evaluate(evaluation.dataset, detections, protocol=apf.NUSCENES, categories=["car"])
    assert alone["AP"] == exactly(evaluation.by("name").filter(name="car")["AP"].item())
    rows = [[cuboid(0, score) | {"category_id": 7}] for score in (None, 0.9)]
    numbered = apf.Dataset({"image_id": ["s"]}, {"category_id": [7], "name": ["Car"]}, rows[0])
    categories = apf.evaluate(numbered, rows[1], protocol=apf.NUSCENES).dataset.categories
    assert categories["category_id"].to_list() == list(range(7, 17))
    assert categories["name"].to_list() == [*CLASSES]


def test_parts_of_the_protocol_that_do_not_fit() -> None:
    with pytest.raises(ParameterError, match=r"^metrics: errors of boxes are averaged with argoverse2, nuscenes, not coco101$"):
        replace(apf.NUSCENES, metrics=(*apf.COCO.metrics, apf.NUSCENES.metrics[1]))
    with pytest.raises(ParameterError, match=r"^headlines: NDS needs AP and the five errors beside it$"):
        replace(apf.NUSCENES, headlines=("AP", "NDS"))
    with pytest.raises(ParameterError, match=r"^errors: no 'abc'; there are ate, ase, aoe, ave, aae$"):
        BoxErrors(-2.0, ("abc",), (1.0,))
    other = apf.NUSCENES.with_options(iou_thresholds=[-4, -1])
    ev = evaluate([cuboid(0)], [cuboid(0, 0.9)], other)
    assert ev.summary.filter(pl.col("value").is_null())["metric"].to_list() == ["ATE", "ASE", "AOE", "AVE", "AAE", "NDS"]
    assert "not evaluated: ATE, ASE, AOE, AVE, AAE, NDS" in str(ev)


@pytest.mark.slow
def test_sums_of_a_block_of_draws_are_gone_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the collector of cycles; they are large."""
    truth, detections, images = weathered(n_images=6)
    evaluation, made, of = of_all_classes(truth, detections, images), [], SumsDown.of

    def watched(*arguments: Any) -> SumsDown:
        down = of(*arguments)
        made.append(ref(down))
        return down

    monkeypatch.setattr(SumsDown, "of", watched)
    gc.disable()
    try:
        evaluation.intervals(n_resamples=200, method="bootstrap")
        assert made and not any(each() for each in made)
    finally:
        gc.enable()

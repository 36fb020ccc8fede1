"""NUSCENES: the cases of the development kit, the rules as plain loops on generated sets, and everything after the matches."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.benchmarks.driving.box_errors import BoxErrors
from apframe.benchmarks.driving.level_cuts import SumsDown
from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.protocols.rules.classes import Classes
from tests.benchmarks.driving.driving_boxes import Row, cuboid, evaluate, generated, of_category
from tests.benchmarks.driving.nuscenes import reference
from tests.metrics.reading import under_weights
from tests.parity.strategies import half_as_often
from tests.protocols.many_sets import slices_of
from tests.protocols.rules_of import classes_of, exchanging

CLASSES = classes_of(apf.NUSCENES).names
METRES = [0.5, 1, 2, 4]
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


def test_absent_classes_count() -> None:
    summary = dict(case(*N1).summary.rows())
    assert summary == exactly(
        {"AP": 0.019601337, "ATE": 0.959827778, "ASE": 0.9, "AOE": 0.888888889, "AVE": 0.875, "AAE": 1, "NDS": 0.047429002}
    )


@pytest.mark.parametrize("case", ["N5", "N10"])
def test_all_errors_are_1_below_the_lowest_recall_and_for_scores_of_0(case: str) -> None:
    truth = TWENTY if case == "N5" else [0.0]
    evaluation = evaluate([cuboid(x) for x in truth], [cuboid(0, 0.9 if case == "N5" else 0)], apf.NUSCENES)
    at_two = evaluation.metrics.filter(category_id="car", iou_threshold=-2)
    assert at_two.select("ate", "ase", "aoe", "ave", "aae").row(0) == (1, 1, 1, 1, 1)


@pytest.mark.parametrize(("order", "ap"), [("ab", 0.101234568), ("ba", 0.438271605)])
def test_ties_across_samples_go_by_the_order_of_the_file(order: str, ap: float) -> None:
    found = {"a": cuboid(0, 0.5, image="a"), "b": cuboid(9, 0.5, image="b")}
    evaluation = evaluate(
        [cuboid(0, image="a"), cuboid(0, image="b")], [found[name] for name in order], apf.NUSCENES, images=("a", "b")
    )
    assert of_category(evaluation, "ap") == exactly([ap] * 4)


def test_all_five_errors() -> None:
    truth = [
        cuboid(0, yaw=0.1, velocity=(1, 0), attribute="moving"),
        cuboid(10, velocity=(None, None)),
        cuboid(20, yaw=3, velocity=(0, 0), attribute="parked"),
    ]
    found = [
        cuboid(0.2, 0.9, yaw=0.3, velocity=(2, 0), size=(2, 4, 1), attribute="moving"),
        cuboid(10.4, 0.7, yaw=0.4, attribute="moving"),
        cuboid(20.6, 0.5, yaw=-3, size=(1, 4, 1.5), attribute="moving"),
    ]
    evaluation = evaluate(truth, found, apf.NUSCENES)
    assert of_category(evaluation, "ap") == exactly([0.622222222, 1, 1, 1])
    at_two = evaluation.metrics.filter(category_id="car", iou_threshold=-2).select("ate", "ase", "aoe", "ave", "aae")
    assert at_two.row(0) == exactly((0.275188889, 0.261012346, 0.255041821, 0.904611111, 0.095388889))


def expected_of(truth: list[Row], found: list[Row], names: tuple[str, ...] = CLASSES) -> dict[str, float]:
    """The summary by the plain loops."""
    aps, means = [], {kind: [] for kind in reference.KINDS}
    for name in names:
        own = [[row for row in rows if row["category_id"] == name] for rows in (truth, found)]
        aps.append(np.mean([reference.average_precision(own[0], own[1], metres) for metres in METRES]))
        for kind, error in reference.errors(own[0], own[1], half_turns=name == "barrier").items():
            if (name, kind) not in apf.NUSCENES.errors.undefined:
                means[kind].append(error)
    values = {"AP": np.mean(aps)} | {kind.upper(): np.mean(of) for kind, of in means.items()}
    score = 5 * values["AP"] + sum(max(0, 1 - values[kind.upper()]) for kind in reference.KINDS)
    return values | {"NDS": score / 10}


def same_on_sets(seeds: range) -> None:
    sets = {seed: generated(np.random.default_rng(seed), ["car", "barrier", "traffic_cone"], 2, 6) for seed in seeds}
    table = slices_of(sets, CLASSES, apf.NUSCENES)
    for row in table.rows(named=True):
        expected = expected_of(*sets[row["set"]])
        assert {name: row[name] for name in expected} == exactly(expected), row["set"]
    assert table.height == len(sets) and (table["AP"] > 0).sum() > len(sets) / 2


def test_as_plain_loops_on_fifty_sets() -> None:
    same_on_sets(range(50))


@pytest.mark.slow
def test_as_plain_loops_on_five_hundred_sets() -> None:
    same_on_sets(range(50, 550))


@half_as_often
@given(st.integers(0, 2**32 - 1))
def test_as_plain_loops_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, found = generated(rng, ["car", "barrier", "traffic_cone"])
    evaluation = evaluate(truth, found, apf.NUSCENES, [f"i{k}" for k in range(4)], CLASSES)
    assert dict(evaluation.summary.rows()) == exactly(expected_of(truth, found))


def weathered(seed: int = 7, n_images: int = 12) -> tuple[list[Row], list[Row], dict[str, list[Any]]]:
    """Rows of some images, which are in rain or not."""
    truth, found = generated(np.random.default_rng(seed), ["car", "barrier"], n_images)
    ids = [f"i{k}" for k in range(n_images)]
    return truth, found, {"image_id": ids, "weather": ["rain" if k % 3 == 0 else "clear" for k in range(n_images)]}


def on(images: set[str], *tables: list[Row]) -> list[list[Row]]:
    return [[row for row in rows if row["image_id"] in images] for rows in tables]


def test_slices_and_subsets_are_evaluations_of_their_images() -> None:
    truth, found, images = weathered()
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    table = evaluation.by("weather")
    for weather in ("clear", "rain"):
        some = {image for image, own in zip(images["image_id"], images["weather"], strict=True) if own == weather}
        expected = expected_of(*on(some, truth, found))
        row = table.row(by_predicate=pl.col("weather") == weather, named=True)
        assert {name: row[name] for name in expected} == exactly(expected)
        assert row["n_categories"] == 10
        assert dict(evaluation.where(pl.col("weather") == weather).summary.rows()) == exactly(expected)


def test_slices_by_category_have_no_score_where_an_error_is_undefined() -> None:
    truth, found, images = weathered()
    table = evaluate(truth, found, apf.NUSCENES, images, CLASSES).by("name")
    rows = {row["name"]: row for row in table.to_dicts()}
    expected = expected_of(*([row for row in rows if row["category_id"] == "car"] for rows in (truth, found)), names=("car",))
    assert {name: rows["car"][name] for name in expected} == exactly(expected)
    assert rows["barrier"]["AVE"] is None and rows["barrier"]["NDS"] is None and rows["barrier"]["AOE"] is not None
    assert rows["bus"]["AP"] == 0 and rows["bus"]["ATE"] == 1


def test_slices_of_objects_are_matched_again() -> None:
    truth, found, images = weathered()
    for rows in (truth, found):
        for row in rows:
            row["ego_distance"] = abs(row["cuboid_x"])
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    near = evaluation.by(apf.bins("ego_distance", [0, 3, 8])).row(0, named=True)
    subset = evaluation.where(pl.col("annotations.ego_distance") < 3, pl.col("detections.ego_distance") < 1e9)
    assert near["n_annotations"] == sum(row["ego_distance"] < 3 for row in truth)
    assert 0 < near["AP"] < 1 and 0 < near["NDS"] < 1
    assert subset.summary["value"].null_count() == 0
    one_side = evaluation.by("annotations.attribute")
    assert one_side["NDS"].null_count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [apf.NUSCENES, ARGOVERSE2_OF_CARS], ids=lambda protocol: protocol.name)
def test_weights_are_copies_of_images(protocol: apf.Protocol) -> None:
    rng = np.random.default_rng(5)
    truth, found, images = weathered(n_images=6)
    for row, noise in zip(found, rng.random(len(found)).tolist(), strict=True):
        row["score"] = 0.1 + 0.8 * row["score"] + noise / 1e6  # no ties but those of copies
    evaluation = evaluate(truth, found, protocol, images, CLASSES)
    weights = rng.integers(0, 4, (6, 5)).astype(float)
    columns = ["ap", *(kind for kind in reference.KINDS if kind in evaluation.metrics.columns)]
    for weighting in range(5):
        copied = {f"i{k}": [f"i{k}/{copy}" for copy in range(int(weights[k, weighting]))] for k in range(6)}
        rows = [[row | {"image_id": copy} for row in rows for copy in copied[row["image_id"]]] for rows in (truth, found)]
        expected = evaluate(*rows, protocol, [copy for copies in copied.values() for copy in copies], CLASSES).metrics
        for t, threshold in enumerate(protocol.iou_thresholds):
            own = expected.filter(iou_threshold=threshold)
            for column in columns:
                assert under_weights(evaluation, column, weights, threshold=t)[:, weighting] == pytest.approx(
                    own[column].fill_null(np.nan).to_numpy(), abs=1e-9, nan_ok=True
                )
    for t, column in product(range(4), columns):
        halves, ones = (under_weights(evaluation, column, np.full((6, 1), weight), threshold=t) for weight in (0.5, 1.0))
        assert halves == pytest.approx(ones, abs=1e-9, nan_ok=True)


@pytest.mark.slow
def test_intervals_and_comparisons() -> None:
    truth, found, images = weathered(n_images=30)
    shifted = [row | {"cuboid_x": row["cuboid_x"] + 0.5} for row in found]
    a, b = (evaluate(truth, rows, apf.NUSCENES, images, CLASSES) for rows in (found, shifted))
    intervals = a.intervals(n_resamples=100, method="bootstrap")
    assert intervals["metric"].to_list() == ["AP", "ATE", "ASE", "AOE", "AVE", "AAE", "NDS"]
    assert intervals["estimate"].to_list() == exactly(a.summary["value"].to_list())
    assert ((intervals["low"] < intervals["estimate"]) & (intervals["estimate"] < intervals["high"])).all()
    alone = a.intervals(n_resamples=100, method="bootstrap", metrics="NDS")
    assert_frame_equal(alone, intervals.filter(metric="NDS"))
    by_weather = a.intervals(n_resamples=50, method="bootstrap", metrics="NDS", by="weather")
    assert by_weather["estimate"].to_list() == exactly(a.by("weather").sort("weather")["NDS"].to_list())
    # less of an error is better
    exact = [row | {name: other[name] for name in ("cuboid_x", "cuboid_y")} for row, other in nearest_of(truth, found)]
    best = evaluate(truth, exact, apf.NUSCENES, images, CLASSES)
    compared = a.compare(best, n_resamples=50, method="bootstrap", metrics=["ATE", "NDS"])
    assert (compared["difference"] < 0).to_list() == [True, False]
    assert compared["share_better"].to_list() == [1.0, 1.0]
    assert str(b.protocol) == str(a.protocol)


def nearest_of(truth: list[Row], found: list[Row]) -> list[tuple[Row, Row]]:
    """Each detection with the nearest annotation of its sample and class, if there is one."""
    pairs = []
    for row in found:
        same = [other for other in truth if (other["image_id"], other["category_id"]) == (row["image_id"], row["category_id"])]
        if same:
            pairs.append((row, min(same, key=lambda other: abs(other["cuboid_x"] - row["cuboid_x"]))))
    return pairs


@pytest.mark.slow
def test_stored_sets_queries_shards_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    truth, found, images = weathered()
    for number, row in enumerate(found):
        row["score"] = (number + 1) / (len(found) + 1)  # shards have an order of their own for equal scores
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    evaluation.write_parquet(tmp_path / "run")
    stored = apf.read_evaluation(tmp_path / "run")
    assert stored.protocol == apf.NUSCENES
    assert_frame_equal(stored.summary, evaluation.summary)
    assert_frame_equal(stored.by("weather"), evaluation.by("weather"))
    query = "SELECT avg(ate) AS ate FROM metrics JOIN categories USING (category_id) WHERE iou_threshold = -2"
    assert stored.sql(query).item() == exactly(evaluation["ATE"])
    assert evaluation.sql(query).item() == exactly(evaluation["ATE"])
    dataset = evaluation.dataset
    for shard in range(3):
        (tmp_path / "shards" / str(shard)).mkdir(parents=True)
        ids = pl.Series(images["image_id"][shard::3]).implode()
        tables = {"images": dataset.images, "annotations": dataset.annotations, "detections": evaluation.detections}
        for name, frame in tables.items():
            frame.filter(pl.col("image_id").is_in(ids)).write_parquet(tmp_path / "shards" / str(shard) / f"{name}.parquet")
        dataset.categories.write_parquet(tmp_path / "shards" / str(shard) / "categories.parquet")
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=apf.NUSCENES)
    assert_frame_equal(sharded.metrics, evaluation.metrics)
    assert_frame_equal(sharded.by("weather"), evaluation.by("weather"))
    evaluator = apf.Evaluator(dataset, protocol=apf.NUSCENES)
    for shard in range(3):
        ids = pl.Series(images["image_id"][shard::3]).implode()
        evaluator.update(evaluation.detections.drop("detection_id").filter(pl.col("image_id").is_in(ids)))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)


def test_what_comes_after_the_matches() -> None:
    truth, found, images = weathered()
    evaluation = evaluate(truth, found, apf.NUSCENES, images, CLASSES)
    impact = evaluation.error_impact(-2).filter(pl.col("category_id").is_null())
    assert impact.filter(error="fn")["delta_ap"].item() > 0
    assert evaluation.matches(-4)["outcome"].value_counts().sort("outcome")["outcome"].to_list() == ["tp", "fp", "fn"]
    assert evaluation.errors(-2).height and evaluation.confusion(-2).height and evaluation.curves(-1).height
    with pytest.raises(ParameterError, match=r"^label errors need similarities from 0 to 1, and NUSCENES compares distances$"):
        evaluation.label_errors(-2)
    with pytest.raises(ParameterError, match=r"^arrays: nuscenes has no recall levels, which the reference's arrays are over$"):
        evaluation.arrays()


@pytest.mark.slow
def test_the_best_run_by_an_error_has_the_least(tmp_path: Path) -> None:
    truth, found, images = weathered(n_images=30)
    near = [row | {"cuboid_x": other["cuboid_x"]} for row, other in nearest_of(truth, found)]
    for name, rows in (("far", found), ("near", near)):
        evaluate(truth, rows, apf.NUSCENES, images, CLASSES).write_parquet(tmp_path / name)
    runs = apf.scan_runs(str(tmp_path / "*"))
    board = runs.leaderboard("ATE", n_resamples=50)
    assert board["run"].to_list() == ["near", "far"] and board["share_best"].to_list() == [1.0, 0.0]


def of_objects(truth: Row, found: Row, **options: Any) -> apf.Evaluation:
    row = {"ego_distance": 9.0, "n_points": 1, "in_rack": 0}
    return evaluate([cuboid(0, **row | truth)], [cuboid(0, 0.9, **{k: row[k] for k in ("ego_distance", "in_rack")} | found)],
                    apf.NUSCENES, categories=CLASSES, **options)  # fmt: skip


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
    evaluation = of_objects(truth, found)
    assert (evaluation.dataset.annotations.height, evaluation.detections.height) == counts
    assert evaluation.notes == ()


def test_columns_that_are_missing_are_noted() -> None:
    truth, found = cuboid(0), cuboid(0, 0.9)
    for row in (truth, found):
        del row["velocity_x"], row["velocity_y"], row["attribute"]
    evaluation = evaluate([truth], [found], apf.NUSCENES)
    assert evaluation.notes == (
        "NUSCENES leaves objects out by columns that are not there: annotations.ego_distance, annotations.n_points, "
        "annotations.in_rack, detections.ego_distance, detections.in_rack",
        "AVE is as without true positives: there is no annotations.velocity_x, detections.velocity_x, annotations.velocity_y, "
        "detections.velocity_y",
        "AAE is as without true positives: there is no annotations.attribute, detections.attribute",
    )
    assert str(evaluation).splitlines()[-3:] == [f" {note}" for note in evaluation.notes]
    assert of_category(evaluation, "ave") == [None, None, 1.0, None]


def test_too_many_detections_and_negative_scores_are_errors() -> None:
    with pytest.raises(RowError) as caught:
        evaluate([cuboid(0)], [cuboid(0, 0.5)] * 501, apf.NUSCENES)
    assert str(caught.value) == (
        "detections: there are 501 detections of an image, and NUSCENES accepts 500, where image_id is 's'; keep the 500 with "
        "the highest scores of each image"
    )
    assert evaluate([cuboid(0)], [cuboid(0, 0.5)] * 500, apf.NUSCENES)["AP"]
    with pytest.raises(RowError, match=r"^detections: score is negative where detection_id is 1; NUSCENES needs scores of at"):
        evaluate([cuboid(0)], [cuboid(0, -0.5)], apf.NUSCENES)


@pytest.mark.parametrize("column", ["velocity_x", "ego_distance", "in_rack"])
def test_text_in_the_place_of_numbers_is_refused(column: str) -> None:
    with pytest.raises(ColumnError, match=rf"^detections\.{column} must hold numbers, not String$"):
        evaluate([cuboid(0)], [cuboid(0, 0.9) | {column: "1"}], apf.NUSCENES)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("table", "column"),
    [("annotations", name) for name in ("n_points", "ego_distance", "in_rack")]
    + [("detections", name) for name in ("ego_distance", "in_rack")],
)
def test_what_is_not_finite_cannot_say_what_is_kept(table: str, column: str, value: float) -> None:
    sides = {"annotations": [cuboid(0), cuboid(9)], "detections": [cuboid(0, 0.9), cuboid(9, 0.8)]}
    sides[table] = [sides[table][0] | {column: None}, sides[table][1] | {column: value}]
    key = table.removesuffix("s")
    with pytest.raises(
        RowError, match=rf"^{table}: {column} is not a finite number where {key}_id is 2; correct it, or give null"
    ):
        evaluate(sides["annotations"], pl.DataFrame(sides["detections"]), apf.NUSCENES)


def test_unknown_velocities_may_be_nan() -> None:
    unknown = {"velocity_x": float("nan"), "velocity_y": float("nan")}
    assert evaluate([cuboid(0) | unknown], [cuboid(0, 0.9)], apf.NUSCENES)["AP"]


def test_chosen_categories_alone_are_averaged() -> None:
    truth, found, images = weathered()
    evaluation = evaluate(truth, found, apf.NUSCENES, images, ["car", "barrier"])
    assert evaluation.metrics["category_id"].n_unique() == 10  # the other eight were added
    alone = apf.evaluate(evaluation.dataset, found, protocol=apf.NUSCENES, categories=["car"])
    assert alone["AP"] == exactly(evaluation.by("name").filter(name="car")["AP"].item())
    rows = [[cuboid(0, score) | {"category_id": 7}] for score in (None, 0.9)]
    numbered = apf.Dataset({"image_id": ["s"]}, {"category_id": [7], "name": ["Car"]}, rows[0])
    categories = apf.evaluate(numbered, rows[1], protocol=apf.NUSCENES).dataset.categories
    assert categories["category_id"].to_list() == list(range(7, 17))
    assert categories["name"].to_list() == [*CLASSES]


def test_parts_of_the_protocol_that_do_not_fit() -> None:
    with pytest.raises(ParameterError, match=r"^metrics: errors of boxes are not averaged with coco101; choose another one$"):
        replace(apf.NUSCENES, metrics=(*apf.COCO.metrics, apf.NUSCENES.metrics[1]))
    with pytest.raises(ParameterError, match=r"^headlines: NDS needs AP and the five errors beside it$"):
        replace(apf.NUSCENES, headlines=("AP", "NDS"))
    with pytest.raises(ParameterError, match=r"^errors: no 'abc'; there are ate, ase, aoe, ave, aae$"):
        BoxErrors(-2.0, ("abc",), (1.0,))
    other = apf.NUSCENES.with_options(iou_thresholds=[-4, -1])
    ev = evaluate([cuboid(0)], [cuboid(0, 0.9)], other)
    assert ev.summary.filter(pl.col("value").is_null())["metric"].to_list() == ["ATE", "ASE", "AOE", "AVE", "AAE", "NDS"]
    assert "not evaluated: ATE, ASE, AOE, AVE, AAE, NDS" in str(ev)


def test_sums_of_a_block_of_draws_are_gone_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the collector of cycles; they are large."""
    truth, found, images = weathered(n_images=6)
    evaluation, made, of = evaluate(truth, found, apf.NUSCENES, images, CLASSES), [], SumsDown.of

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

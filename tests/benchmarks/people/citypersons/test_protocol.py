"""CITYPERSONS, CALTECH, EUROCITY: the cases of the script, its rules as a plain loop on generated sets, and what follows."""

from __future__ import annotations

import json
import math
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError, UnknownValueWarning
from apframe.metrics.miss_rates import LAMR_POINTS, MissRates
from apframe.protocols.headlines import headlines
from tests.benchmarks.people.citypersons.reference import BOUNDS, POINTS, eurocity, miss_rates
from tests.metrics.reading import under_weights
from tests.protocols.generated import on_many_sets
from tests.protocols.many_sets import Sets, together

Row = dict[str, Any]
IMAGES = range(1, 5)
NAMES = tuple(f"LAMR_{subset}" for subset in BOUNDS)
OF_2017 = slice(4)


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def person(x: float, y: float, width: float, height: float, visible: float = 0.9, image: int = 1, ignore: int = 0) -> Row:
    return {"image_id": image, "category_id": 1, "x": x, "y": y, "width": width, "height": height, "vis_ratio": visible,
            "ignore": bool(ignore)}  # fmt: skip


def found(x: float, y: float, width: float, height: float, score: float, image: int = 1) -> Row:
    return {"image_id": image, "category_id": 1, "x": x, "y": y, "width": width, "height": height, "score": score}


def evaluate(
    truth: list[Row], detections: list[Row], protocol: apf.Protocol = apf.CITYPERSONS, images: Any = 10, **options: Any
) -> apf.Evaluation:
    rows = {"image_id": list(range(1, images + 1))} if isinstance(images, int) else images
    dataset = apf.Dataset(rows, {"category_id": [1], "name": ["pedestrian"]}, pl.DataFrame(truth) if truth else {})
    table: Any = pl.DataFrame(detections) if detections else {}
    return apf.evaluate(dataset, table, protocol=protocol, **options)


def summary(evaluation: apf.Evaluation) -> list[float | None]:
    values = dict(evaluation.summary.rows())
    return [values[name] for name in NAMES]


A, M = person(0, 0, 41, 100), person(100, 0, 41, 100)
S, S2, MS = person(200, 0, 25, 60), person(300, 0, 25, 60), person(400, 0, 25, 60)
FIVE = [A, M, S, S2, MS]
THREE = [found(300, 0, 25, 60, 0.98), found(0, 0, 41, 100, 0.97), found(200, 0, 25, 60, 0.9)]
NOTHING_WRONG, ONE_WRONG = [0.4, 1 / 3, None, 0.4], [0.478985948, 1 / 3, None, 0.478985948]


@pytest.mark.parametrize(
    ("height", "values"),
    [
        (None, NOTHING_WRONG),
        (100, ONE_WRONG),
        (93.75, ONE_WRONG),
        (93.74, [0.478985948, 0.453596667, None, 0.478985948]),
        (40, [0.478985948, 0.453596667, None, 0.478985948]),
        (39.9, [0.4, 1 / 3, None, 0.478985948]),
        (15.9, NOTHING_WRONG),
    ],
)
def test_detections_are_left_out_by_height(height: float | None, values: list[float | None]) -> None:
    wrong = [] if height is None else [found(0, 0, 20, height, 0.95, image=2)]
    assert summary(evaluate(FIVE, THREE + wrong))[OF_2017] == exactly(values)


def test_people_outside_the_subset_are_regions() -> None:
    hidden = person(500, 0, 41, 100, 0.4)
    inside = [found(500, 0, 41, 45, 0.95), found(500, 0, 41, 55, 0.94)]
    values = summary(evaluate([*FIVE, hidden], THREE + inside))
    assert [values[0], values[1], values[3]] == exactly([0.4, 1 / 3, 0.453596667])


@pytest.mark.parametrize(("inside", "value"), [(25, 0.4), (24, 0.478985948)])
def test_detections_half_in_a_region_are_ignored(inside: float, value: float) -> None:
    region = person(500, 0, 300, 300, ignore=1, image=2)
    values = summary(evaluate([*FIVE, region], [*THREE, found(450 + inside, 0, 50, 100, 0.95, image=2)]))
    assert values[0] == exactly(value)


PATTERN = [found(900, 0, 41, 100, 0.9), found(0, 0, 41, 100, 0.8), found(1200, 0, 41, 100, 0.7), found(100, 0, 41, 100, 0.6)]
FOUR = [person(100 * k, 0, 41, 100) for k in range(4)]


def test_points_before_the_first_row_read_the_last_one() -> None:
    in_front = found(200, 0, 41, 100, 0.95)
    assert summary(evaluate(FOUR, PATTERN))[0] == exactly(0.547143690)
    assert summary(evaluate(FOUR, [in_front, *PATTERN]))[0] == exactly(0.475214249)
    as_published = replace(apf.CITYPERSONS, name="mine", metrics=(apf.CITYPERSONS.metrics[0], MissRates()))
    assert summary(evaluate(FOUR, PATTERN, as_published))[0] == exactly(0.744547662)


def test_without_detections_misses_or_people() -> None:
    assert summary(evaluate(FIVE, []))[OF_2017] == [1, 1, None, 1]
    perfect = [found(row["x"], row["y"], row["width"], row["height"], 0.9) for row in FIVE]
    assert summary(evaluate(FIVE, perfect))[OF_2017] == [0, 0, None, 0]
    published = replace(apf.CITYPERSONS, name="mine", metrics=(apf.CITYPERSONS.metrics[0], MissRates()))
    assert summary(evaluate(FIVE, perfect, published))[OF_2017] == exactly([1e-10, 1e-10, None, 1e-10])


def test_a_visible_share_at_a_bound_is_in_two_subsets() -> None:
    shares = [0.1, 0.2, 0.65, 0.9]
    evaluation = evaluate([person(100 * k, 0, 41, 100, share) for k, share in enumerate(shares)], [])
    counted = dict(evaluation.metrics.select("area_range", "n_positives").rows())
    of_2017 = {"reasonable": 2, "small": 0, "heavy": 2, "all": 3}
    assert counted == of_2017 | {"bare": 1, "partial": 2, "heavy_2019": 3}


def test_subsets_since_2019_by_hand() -> None:
    """Of four people of one height, those with a visible share of .1 and .65 are found."""
    people = [person(100 * k, 0, 41, 100, share) for k, share in enumerate([0.1, 0.4, 0.65, 0.95])]
    values = dict(evaluate(people, [found(0, 0, 41, 100, 0.9), found(200, 0, 41, 100, 0.8)]).summary.rows())
    expected = {"reasonable": 1 / 2, "heavy": 1 / 2, "bare": 1, "partial": 0, "heavy_2019": 1 / 3}
    assert {name: values[f"LAMR_{name}"] for name in expected} == exactly(expected)


def test_persons_are_pedestrians_and_the_visible_share_is_needed() -> None:
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["person", "car"]}, [A])
    results = pl.DataFrame([found(0, 0, 41, 100, 0.9)])
    assert apf.evaluate(truth, results, protocol="caltech")["LAMR_reasonable"] == 0
    bare = apf.Dataset(truth.images, truth.categories, truth.annotations.drop("vis_ratio"))
    with pytest.raises(ColumnError, match=r"^annotations: no column vis_ratio \(or vis_bbox\); add it, as null"):
        apf.evaluate(bare, results, protocol="caltech")


@pytest.mark.parametrize("visible", [{"vis_ratio": math.nan}, {"vis_ratio": None, "vis_bbox": [0.0, 0.0, math.inf, 9.0]}])
def test_visible_shares_are_finite(visible: Row) -> None:
    with pytest.raises(RowError, match=r"^annotations: vis_ratio is not a finite number where annotation_id is 2; correct it"):
        evaluate([A | {"vis_bbox": None}, M | visible], [])


JSON_OF_THE_KIT = {
    "images": [{"id": k, "im_name": f"{k}.png", "width": 2048, "height": 1024} for k in range(1, 11)],
    "categories": [{"id": 1, "name": "pedestrian"}],
    "annotations": [
        {"id": number, "image_id": 1, "category_id": 1, "iscrowd": 0, "ignore": 0, "vis_ratio": 0.9, "height": row["height"],
         "bbox": [row[name] for name in ("x", "y", "width", "height")],
         "vis_bbox": [row["x"], row["y"], row["width"], 0.9 * row["height"]]}
        for number, row in enumerate(FIVE, 1)
    ],
}  # fmt: skip


@pytest.mark.parametrize("lacking", ["nothing", "vis_bbox", "vis_ratio", "both"])
def test_files_of_the_kit(tmp_path: Path, lacking: str) -> None:
    data = json.loads(json.dumps(JSON_OF_THE_KIT))
    for name in ("vis_bbox", "vis_ratio"):
        if lacking in (name, "both"):
            del data["annotations"][3][name]
    (tmp_path / "val_gt.json").write_text(json.dumps(data))
    boxes = [{"image_id": row["image_id"], "category_id": 1, "score": row["score"],
              "bbox": [row[name] for name in ("x", "y", "width", "height")]} for row in THREE]  # fmt: skip
    (tmp_path / "results.json").write_text(json.dumps(boxes))
    note = "1 annotation without vis_ratio or vis_bbox (4): counted in every subset of CITYPERSONS"
    with nullcontext() if lacking != "both" else pytest.warns(UnknownValueWarning, match=re.escape(note)):
        evaluation = apf.evaluate(tmp_path / "val_gt.json", tmp_path / "results.json", protocol="citypersons")
    assert evaluation.notes == ((note,) if lacking == "both" else ())
    # the fourth person, who is found, is heavily occluded too if nothing is known
    assert summary(evaluation)[OF_2017] == exactly([0.4, 1 / 3, 0.0 if lacking == "both" else None, 0.4])


def generated(rng: np.random.Generator, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """People and regions of many sizes and visible shares, and detections near them or anywhere, at most 12 of an image."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in range(1, n_images + 1):
        for _ in range(rng.integers(0, 6)):
            height = float(rng.choice([15, 20, 45, 50, 60, 75, 76, 94, 120]))
            box = [float(rng.integers(0, 80)), float(rng.integers(0, 40)), float(round(height * 0.41)), height]
            share = float(rng.choice([0.1, 0.2, 0.4, 0.65, 0.9]))
            x, y, width, tall = box
            truth.append(person(x, y, width, tall, share, image, int(rng.random() < 0.2)))
            for _ in range(rng.integers(0, 3)):
                off = rng.integers(-6, 7, 4) * (rng.random(4) < 0.6)
                x, y, width, tall = (np.array(box) + off).tolist()
                detections.append(found(x, y, max(width, 1.0), max(tall, 1.0), 0, image))
        for _ in range(rng.integers(0, 3)):
            tall = float(rng.choice([15, 16, 40, 60, 93.75, 130]))
            detections.append(found(float(rng.integers(0, 300)), 0.0, 20.0, tall, 0, image))
    for row, score in zip(detections, (rng.permutation(len(detections)) + 1) / (len(detections) + 1), strict=True):
        row["score"] = float(score)
    return truth, detections


def by_set(sets: dict[int, Sets], protocol: apf.Protocol) -> list[list[float | None]]:
    """The numbers of each set, with all of them evaluated at once."""
    truth, detections, images = together(sets, IMAGES)
    evaluation = evaluate(truth, detections, protocol, images)
    return [list(row) for row in evaluation.by("set").sort("set").select(evaluation.summary["metric"].to_list()).rows()]


@on_many_sets
def test_as_a_plain_loop_does(seeds: range) -> None:
    sets = {seed: generated(np.random.default_rng(seed)) for seed in seeds}
    for found, rows in zip(by_set(sets, apf.CITYPERSONS), sets.values(), strict=True):
        assert found == exactly(miss_rates(*rows, len(IMAGES)))


def weathered(seed: int = 3, n_images: int = 12) -> tuple[list[Row], list[Row], Row]:
    truth, detections = generated(np.random.default_rng(seed), n_images)
    ids = list(range(1, n_images + 1))
    return truth, detections, {"image_id": ids, "weather": ["rain" if k % 3 == 0 else "clear" for k in ids]}


def on(images: list[int], rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["image_id"] in images]


def test_slices_and_subsets_have_the_miss_rates_of_their_images() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images=images)
    for weather, row in zip(("clear", "rain"), evaluation.by("weather").sort("weather").to_dicts(), strict=True):
        ids = [image for image, own in zip(images["image_id"], images["weather"], strict=True) if own == weather]
        expected = miss_rates(on(ids, truth), on(ids, detections), len(ids))
        assert [row[name] for name in NAMES] == exactly(expected)
        assert summary(evaluation.where(pl.col("weather") == weather)) == exactly(expected)


def test_slices_of_objects_are_matched_again() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images=images)
    wide = evaluation.by(apf.bins("annotations.width", [0, 30, 200]), "weather").sort("width", "weather")
    low, high = 30, 200
    for weather, row in zip(("clear", "rain"), wide.filter(width="[30, 200]").to_dicts(), strict=True):
        ids = [image for image, own in zip(images["image_id"], images["weather"], strict=True) if own == weather]
        people = [person | {"ignore": person["ignore"] or not low <= person["width"] <= high} for person in truth]
        expected = miss_rates(on(ids, people), on(ids, detections), len(ids))
        assert [row[name] for name in NAMES] == exactly(expected)


@pytest.mark.slow
@pytest.mark.parametrize("row", ["last", "last_or_final", "first"])
@pytest.mark.parametrize("together", [False, True])
def test_weights_are_copies_of_images(row: str, together: bool) -> None:
    rule = MissRates(row, LAMR_POINTS, 0.0, ties_together=together)
    protocol = replace(apf.CITYPERSONS, name="mine", metrics=(apf.CITYPERSONS.metrics[0], rule))
    truth, detections, _ = weathered(n_images=6)
    evaluation = evaluate(truth, detections, protocol, images=6)
    weights = np.random.default_rng(2).integers(0, 4, (6, 5)).astype(float)
    for weighting in range(5):
        copies = [(k, 10 * copy + k) for k in range(1, 7) for copy in range(int(weights[k - 1, weighting]))]
        rows = [
            [each | {"image_id": new} for k, new in copies for each in rows if each["image_id"] == k]
            for rows in (truth, detections)
        ]
        expected = dict(evaluate(rows[0], rows[1], protocol, {"image_id": [new for _, new in copies]}).summary.rows())
        for k, name in enumerate(NAMES):
            own = under_weights(evaluation, "lamr", weights, area_range=k)[0, weighting]
            assert own == pytest.approx(math.nan if expected[name] is None else expected[name], abs=1e-9, nan_ok=True)
    halves, ones = (under_weights(evaluation, "lamr", np.full((6, 1), weight)) for weight in (0.5, 1.0))
    assert halves == exactly(ones)


def test_intervals_and_comparisons() -> None:
    truth, detections, images = weathered(n_images=30)
    worse = [row | {"x": row["x"] + 8} for row in detections]
    a, b = (evaluate(truth, rows, images=images) for rows in (detections, worse))
    intervals = a.intervals(n_resamples=60, method="bootstrap")
    assert intervals["metric"].to_list() == list(NAMES)
    assert intervals["estimate"].to_list() == exactly(summary(a))
    assert ((intervals["low"] < intervals["estimate"]) & (intervals["estimate"] < intervals["high"])).any()
    by_weather = a.intervals(n_resamples=20, method="bootstrap", by="weather", metrics="LAMR_all")
    assert by_weather["estimate"].to_list() == exactly(a.by("weather").sort("weather")["LAMR_all"].to_list())
    compared = a.compare(b, n_resamples=60, method="bootstrap", metrics="LAMR_all")
    assert compared["difference"].item() > 0 and compared["share_better"].item() < 0.1


@pytest.mark.slow
def test_stored_sets_queries_shards_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images=images)
    evaluation.write_parquet(tmp_path / "run")
    stored = apf.read_evaluation(tmp_path / "run")
    assert stored.protocol == apf.CITYPERSONS
    assert_frame_equal(stored.summary, evaluation.summary)
    assert_frame_equal(stored.by("weather"), evaluation.by("weather"))
    query = "SELECT lamr FROM metrics WHERE area_range = 'reasonable'"
    assert stored.sql(query).item() == exactly(evaluation["LAMR_reasonable"])
    dataset = evaluation.dataset
    for shard in range(3):
        (tmp_path / "shards" / str(shard)).mkdir(parents=True)
        ids = pl.Series(images["image_id"][shard::3]).implode()
        tables = {"images": dataset.images, "annotations": dataset.annotations, "detections": evaluation.detections}
        for name, frame in tables.items():
            frame.filter(pl.col("image_id").is_in(ids)).write_parquet(tmp_path / "shards" / str(shard) / f"{name}.parquet")
        dataset.categories.write_parquet(tmp_path / "shards" / str(shard) / "categories.parquet")
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=apf.CITYPERSONS)
    assert_frame_equal(sharded.metrics, evaluation.metrics)
    assert_frame_equal(sharded.by("weather"), evaluation.by("weather"))
    evaluator = apf.Evaluator(dataset, protocol=apf.CITYPERSONS)
    for shard in range(3):
        ids = pl.Series(images["image_id"][shard::3]).implode()
        evaluator.update(evaluation.detections.drop("detection_id").filter(pl.col("image_id").is_in(ids)))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)


def test_what_comes_after_the_matches() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images=images)
    outcomes = evaluation.matches(0.5, "small").filter(pl.col("detection_id").is_not_null())
    assert {"tp", "fp", "ignored"} <= set(outcomes["outcome"])
    heights = outcomes.join(evaluation.detections, on="detection_id").filter(outcome="fp")["height"]
    low, high = BOUNDS["small"][0] / 1.25, BOUNDS["small"][1] * 1.25
    assert heights.is_between(low, high, "left").all()
    impact = evaluation.error_impact(0.5).filter(pl.col("category_id").is_null())
    assert impact.filter(error="fn")["delta_ap"].item() > 0
    assert evaluation.errors(0.5).height and evaluation.curves(0.5).height and evaluation.thresholds(0.5).height
    assert " Avg. Miss Rate   (LAMR) @[ IoU=0.50      | area=reasonable | maxDets=1000 ] = 0.488" in str(evaluation)


@pytest.mark.parametrize(
    ("height", "occlusion", "truncation", "counted"),
    [
        (40, 0.1, 0.0, ["reasonable", "small", "all"]),
        (39.9, 0.0, 0.1, ["small", "all"]),
        (61, 0.4, 0.0, ["occluded", "all"]),
        (61, 0.0, 0.4, ["all"]),
        (61, 0.8, 0.0, []),
        (61, 0.0, 0.8, []),
        (61, 0.4, 0.79, ["occluded", "all"]),
        (61, 0.4, 0.8, []),
        (30, None, None, ["small", "all"]),
        (19.9, 0.0, 0.0, []),
    ],
)
def test_subsets_of_eurocity(height: float, occlusion: float | None, truncation: float | None, counted: list[str]) -> None:
    row = A | {"height": height, "occlusion": occlusion, "truncation": truncation}
    truth = pl.DataFrame([row], schema_overrides={"occlusion": pl.Float64, "truncation": pl.Float64})
    dataset = apf.Dataset({"image_id": [1]}, {"category_id": [1], "name": ["pedestrian"]}, truth)
    metrics = apf.evaluate(dataset, {}, protocol="eurocity").metrics
    assert metrics.filter(n_positives=1)["area_range"].to_list() == counted


@pytest.mark.parametrize(("height", "n_wrong"), [(32, 0), (32.1, 1)])
def test_eurocity_leaves_out_detections_at_the_bound(height: float, n_wrong: int) -> None:
    truth = [A | {"occlusion": 0.0, "truncation": 0.0}]
    evaluation = evaluate(truth, [found(500, 0, 20, height, 0.9)], apf.EUROCITY)
    counted = evaluation.metrics.filter(area_range="reasonable")["n_detections"].item()
    assert counted == n_wrong
    assert evaluation["LAMR_reasonable"] == 1


def in_euro_city(seed: int) -> Sets:
    """A set whose people are occluded and cut off, and some of which are groups."""
    rng = np.random.default_rng(seed)
    truth, detections = generated(rng)
    for row in truth:
        row |= {"occlusion": float(rng.choice([0, 0.1, 0.4, 0.8])), "truncation": float(rng.choice([0, 0.1, 0.4, 0.8]))}
        row["is_crowd"] = bool(rng.random() < 0.15)
    return truth, detections


@on_many_sets
def test_eurocity_as_a_plain_loop_does(seeds: range) -> None:
    sets = {seed: in_euro_city(seed) for seed in seeds}
    for found, rows in zip(by_set(sets, apf.EUROCITY), sets.values(), strict=True):
        assert found == exactly(eurocity(*rows, len(IMAGES)))


@pytest.mark.parametrize("place", [0, 1])  # as a group, each detection is inside it
def test_a_rider_or_group_of_eurocity_takes_any_number_of_detections(place: int) -> None:
    of_eurocity = {"occlusion": 0.0, "truncation": 0.0, "is_crowd": False}
    other = person(500, 0, 41, 100) | of_eurocity | [{"ignore": True}, {"is_crowd": True}][place]
    twice = [found(500, 0, 41, 100, 0.95), found(501, 0, 41, 100, 0.94), found(500, 0, 41, 48, 0.93), found(0, 0, 41, 100, 0.9)]
    evaluation = evaluate([A | of_eurocity, other], twice, apf.EUROCITY, images=1)
    assert evaluation["LAMR_all"] == exactly([1e-10 ** (1 / 9), 1e-10][place])
    by_score = evaluation.matches(0.5, "all").sort("score", descending=True)["outcome"].to_list()
    assert by_score == ["ignored", "ignored", ["fp", "ignored"][place], "tp"]


def test_eurocity_reads_miss_rates_as_published() -> None:
    truth = [row | {"occlusion": 0.0, "truncation": 0.0} for row in FOUR]
    assert evaluate(truth, PATTERN, apf.EUROCITY)["LAMR_reasonable"] == exactly(0.744547662)
    at_once = [row | {"score": 0.5} for row in PATTERN]
    evaluation = evaluate(truth, at_once, apf.EUROCITY)
    assert evaluation["LAMR_reasonable"] == exactly(0.5 ** (3 / 9))  # one row, with .2 false positives per image
    assert evaluation.miss_rates(0.5, "reasonable")["lamr"][0] == exactly(evaluation["LAMR_reasonable"])


def test_the_rule_is_said_and_refused() -> None:
    text = str(apf.CITYPERSONS)
    assert (
        "miss rates  LAMR is the geometric mean of 9 miss rates, at 0.01 to 1 false positives per image; each is that of"
        in text
    )
    assert "small (height from 50 up to 75, vis_ratio from 0.65; detections with height from 40 below 93.75 alone" in text
    assert [line.metric for line in headlines(apf.CITYPERSONS)] == list(NAMES)
    assert apf.CITYPERSONS.metrics[1] == MissRates("last_or_final", tuple(POINTS), 0.0, ties_together=False)
    with pytest.raises(ParameterError, match=r"^headlines: LAMR needs a metric of it, such as MissRates\(\)$"):
        replace(apf.COCO, headlines=("LAMR",), variants=())
    with pytest.raises(ParameterError, match=r"^metrics: MissRates reads one list, and this protocol matches anew"):
        replace(apf.KITTI, metrics=(*apf.KITTI.metrics, MissRates()), variants=())
    with pytest.raises(ParameterError, match=r"^points must be above 0 and increase, got \(0.1, 0.1\)$"):
        MissRates(points=(0.1, 0.1))

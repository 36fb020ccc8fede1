"""CITYPERSONS, CALTECH, EUROCITY: the cases of the script, its rules one by one, and what is special after the matches."""

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

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError, UnknownValueWarning
from apframe.metrics.miss_rates import LAMR_POINTS, MissRates
from apframe.protocols.headlines import headlines
from tests.benchmarks.people.citypersons.reference import BOUNDS, POINTS, miss_rates
from tests.benchmarks.people.citypersons.row import Row, generated, person
from tests.benchmarks.people.citypersons.row import detection as found
from tests.metrics.reading import under_weights

NAMES = tuple(f"LAMR_{subset}" for subset in BOUNDS)
OF_2017 = slice(4)


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def evaluate(truth: Any, detections: list[Row], protocol: apf.Protocol = apf.CITYPERSONS, images: Any = 10) -> apf.Evaluation:
    rows = {"image_id": list(range(1, images + 1))} if isinstance(images, int) else images
    dataset = apf.Dataset(rows, {"category_id": [1], "name": ["pedestrian"]}, pl.DataFrame(truth))
    return apf.evaluate(dataset, pl.DataFrame(detections), protocol)


def summary(evaluation: apf.Evaluation) -> list[float | None]:
    return [evaluation[name] for name in NAMES]


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
    evaluation = evaluate([*FIVE, region], [*THREE, found(450 + inside, 0, 50, 100, 0.95, image=2)])
    assert evaluation["LAMR_reasonable"] == exactly(value)


AS_PUBLISHED = replace(apf.CITYPERSONS, name="mine", metrics=(apf.CITYPERSONS.metrics[0], MissRates()))
PATTERN = [found(900, 0, 41, 100, 0.9), found(0, 0, 41, 100, 0.8), found(1200, 0, 41, 100, 0.7), found(100, 0, 41, 100, 0.6)]
FOUR = [person(100 * k, 0, 41, 100) for k in range(4)]


@pytest.mark.slow
def test_points_before_the_first_row_read_the_last_one() -> None:
    in_front = found(200, 0, 41, 100, 0.95)
    assert summary(evaluate(FOUR, PATTERN))[0] == exactly(0.547143690)
    assert summary(evaluate(FOUR, [in_front, *PATTERN]))[0] == exactly(0.475214249)
    assert summary(evaluate(FOUR, PATTERN, AS_PUBLISHED))[0] == exactly(0.744547662)


@pytest.mark.slow
def test_without_detections_misses_or_people() -> None:
    assert summary(evaluate(FIVE, []))[OF_2017] == [1, 1, None, 1]
    perfect = [found(row["x"], row["y"], row["width"], row["height"], 0.9) for row in FIVE]
    assert summary(evaluate(FIVE, perfect))[OF_2017] == [0, 0, None, 0]
    assert summary(evaluate(FIVE, perfect, AS_PUBLISHED))[OF_2017] == exactly([1e-10, 1e-10, None, 1e-10])


def test_a_visible_share_at_a_bound_is_in_two_subsets() -> None:
    evaluation = evaluate([person(100 * k, 0, 41, 100, share) for k, share in enumerate([0.1, 0.2, 0.65, 0.9])], [])
    counted = dict(evaluation.metrics.select("area_range", "n_positives").rows())
    of_2017 = {"reasonable": 2, "small": 0, "heavy": 2, "all": 3}
    assert counted == of_2017 | {"bare": 1, "partial": 2, "heavy_2019": 3}


def test_subsets_since_2019_by_hand() -> None:
    """Of four people of one height, those with a visible share of .1 and .65 are found."""
    people = [person(100 * k, 0, 41, 100, share) for k, share in enumerate([0.1, 0.4, 0.65, 0.95])]
    evaluation = evaluate(people, [found(0, 0, 41, 100, 0.9), found(200, 0, 41, 100, 0.8)])
    expected = {"reasonable": 1 / 2, "heavy": 1 / 2, "bare": 1, "partial": 0, "heavy_2019": 1 / 3}
    assert {name: evaluation[f"LAMR_{name}"] for name in expected} == exactly(expected)


@pytest.mark.slow
def test_persons_are_pedestrians_and_the_visible_share_is_needed() -> None:
    truth = apf.Dataset({"image_id": [1]}, {"category_id": [1, 2], "name": ["person", "car"]}, [A])
    results = pl.DataFrame([found(0, 0, 41, 100, 0.9)])
    assert apf.evaluate(truth, results, protocol="caltech")["LAMR_reasonable"] == 0
    bare = apf.Dataset(truth.images, truth.categories, truth.annotations.drop("vis_ratio"))
    with pytest.raises(ColumnError, match=r"^annotations: no column vis_ratio \(or vis_bbox\); add it, as null"):
        apf.evaluate(bare, results, protocol="caltech")


@pytest.mark.parametrize("visible", [{"vis_ratio": math.nan}, {"vis_ratio": None, "vis_bbox": [0.0, 0.0, math.inf, 9.0]}])
def test_visible_shares_are_finite(visible: Row) -> None:
    with pytest.raises(RowError, match=r"^annotations: vis_ratio is not a finite number for annotation_id 2; correct it"):
        evaluate([A | {"vis_bbox": None}, M | visible], [])


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("lacking", [(), ("vis_bbox",), ("vis_ratio",), ("vis_bbox", "vis_ratio")])
def test_files_of_the_kit(tmp_path: Path, lacking: tuple[str, ...]) -> None:
    def box_of(row: Row) -> list[float]:
        return [row[name] for name in ("x", "y", "width", "height")]

    people: list[Row] = [
        {"id": number, "image_id": 1, "category_id": 1, "iscrowd": 0, "ignore": 0, "vis_ratio": 0.9, "height": row["height"],
         "bbox": box_of(row), "vis_bbox": [*box_of(row)[:3], 0.9 * row["height"]]}
        for number, row in enumerate(FIVE, 1)
    ]  # fmt: skip
    for name in lacking:
        del people[3][name]
    images = [{"id": k, "im_name": f"{k}.png", "width": 2048, "height": 1024} for k in range(1, 11)]
    truth = {"images": images, "categories": [{"id": 1, "name": "pedestrian"}], "annotations": people}
    results = [{"image_id": 1, "category_id": 1, "score": row["score"], "bbox": box_of(row)} for row in THREE]
    for name, data in (("val_gt", truth), ("results", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    is_unknown = len(lacking) == 2
    note = "1 annotation without vis_ratio or vis_bbox (4): counted in every subset of CITYPERSONS"
    with pytest.warns(UnknownValueWarning, match=re.escape(note)) if is_unknown else nullcontext():
        evaluation = apf.evaluate(tmp_path / "val_gt.json", tmp_path / "results.json", protocol="citypersons")
    assert evaluation.notes == ((note,) if is_unknown else ())
    # the fourth person, who is found, is heavily occluded too if nothing is known
    assert summary(evaluation)[OF_2017] == exactly([0.4, 1 / 3, 0.0 if is_unknown else None, 0.4])


def weathered(n_images: int = 12) -> tuple[list[Row], list[Row], Row]:
    truth, detections = generated(np.random.default_rng(3), n_images)
    ids = list(range(1, n_images + 1))
    return truth, detections, {"image_id": ids, "weather": ["rain" if k % 3 == 0 else "clear" for k in ids]}


@pytest.mark.slow
def test_slices_of_objects_are_matched_again() -> None:
    truth, detections, images = weathered()
    by = evaluate(truth, detections, images=images).by(apf.bins("annotations.width", [0, 30, 200]), "weather")
    people = [row | {"ignore": row["ignore"] or not 30 <= row["width"] <= 200} for row in truth]
    for weather in ("clear", "rain"):
        ids = [image for image, own in zip(images["image_id"], images["weather"], strict=True) if own == weather]
        expected = miss_rates(*([row for row in rows if row["image_id"] in ids] for rows in (people, detections)), len(ids))
        assert by.filter(width="[30, 200]", weather=weather).select(NAMES).row(0) == exactly(tuple(expected))


@pytest.mark.slow
@pytest.mark.parametrize("row", ["last", "last_or_final", "first"])
@pytest.mark.parametrize("together", [False, True])
def test_weights_are_copies_of_images(row: str, together: bool) -> None:
    rule = MissRates(row, LAMR_POINTS, 0.0, ties_together=together)
    protocol = replace(apf.CITYPERSONS, name="mine", metrics=(apf.CITYPERSONS.metrics[0], rule))
    *sides, _ = weathered(n_images=6)
    evaluation = evaluate(*sides, protocol, images=6)
    weights = np.random.default_rng(2).integers(0, 4, (6, 5)).astype(float)
    for weighting, counts in enumerate(weights.T.astype(int).tolist()):
        copies = [(k, 10 * copy + k) for k, n in enumerate(counts, 1) for copy in range(n)]
        copied_sides = [
            [each | {"image_id": new} for k, new in copies for each in rows if each["image_id"] == k] for rows in sides
        ]
        expected = summary(evaluate(*copied_sides, protocol, {"image_id": [new for _, new in copies]}))
        own = [under_weights(evaluation, "lamr", weights, area_range=k)[0, weighting] for k in range(len(NAMES))]
        assert own == pytest.approx([math.nan if value is None else value for value in expected], abs=1e-9, nan_ok=True)
    halves, ones = (under_weights(evaluation, "lamr", np.full((6, 1), weight)) for weight in (0.5, 1.0))
    assert halves == exactly(ones)


@pytest.mark.slow
def test_less_of_the_miss_rate_is_better() -> None:
    truth, detections, images = weathered(n_images=30)
    worse = [row | {"x": row["x"] + 8} for row in detections]
    a, b = (evaluate(truth, rows, images=images) for rows in (detections, worse))
    compared = a.compare(b, n_resamples=60, method="bootstrap", metrics="LAMR_all")
    assert compared["difference"].item() > 0 and compared["share_better"].item() < 0.1


@pytest.mark.slow
def test_what_comes_after_the_matches() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images=images)
    outcomes = evaluation.matches(0.5, "small").drop_nulls("detection_id")
    assert {"tp", "fp", "ignored"} <= set(outcomes["outcome"])
    heights = outcomes.join(evaluation.detections, on="detection_id").filter(outcome="fp")["height"]
    assert heights.is_between(50 / 1.25, 75 * 1.25, "left").all()
    query = "SELECT lamr FROM metrics WHERE area_range = 'reasonable'"
    assert evaluation.sql(query).item() == exactly(evaluation["LAMR_reasonable"])
    assert str(evaluation).splitlines()[:2] == [" subset           MR", " reasonable    48.81"]


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
    metrics = evaluate(truth, [], apf.EUROCITY, images=1).metrics
    assert metrics.filter(n_positives=1)["area_range"].to_list() == counted


@pytest.mark.parametrize(("height", "n_wrong"), [(32, 0), (32.1, 1)])
def test_eurocity_leaves_out_detections_at_the_bound(height: float, n_wrong: int) -> None:
    truth = [A | {"occlusion": 0.0, "truncation": 0.0}]
    evaluation = evaluate(truth, [found(500, 0, 20, height, 0.9)], apf.EUROCITY)
    assert evaluation.metrics.filter(area_range="reasonable")["n_detections"].item() == n_wrong
    assert evaluation["LAMR_reasonable"] == 1


@pytest.mark.parametrize("place", [0, 1])  # as a group, each detection is inside it
def test_riders_of_eurocity_take_any_number_of_detections(place: int) -> None:
    of_eurocity = {"occlusion": 0.0, "truncation": 0.0, "is_crowd": False}
    other = person(500, 0, 41, 100) | of_eurocity | [{"ignore": True}, {"is_crowd": True}][place]
    twice = [found(500, 0, 41, 100, 0.95), found(501, 0, 41, 100, 0.94), found(500, 0, 41, 48, 0.93), found(0, 0, 41, 100, 0.9)]
    evaluation = evaluate([A | of_eurocity, other], twice, apf.EUROCITY, images=1)
    assert evaluation["LAMR_all"] == exactly([1e-10 ** (1 / 9), 1e-10][place])
    by_score = evaluation.matches(0.5, "all").sort("score", descending=True)["outcome"].to_list()
    assert by_score == ["ignored", "ignored", ["fp", "ignored"][place], "tp"]


@pytest.mark.slow
def test_eurocity_reads_miss_rates_as_published() -> None:
    truth = [row | {"occlusion": 0.0, "truncation": 0.0} for row in FOUR]
    assert evaluate(truth, PATTERN, apf.EUROCITY)["LAMR_reasonable"] == exactly(0.744547662)
    at_once = [row | {"score": 0.5} for row in PATTERN]
    evaluation = evaluate(truth, at_once, apf.EUROCITY)
    assert evaluation["LAMR_reasonable"] == exactly(0.5 ** (3 / 9))  # one row, with .2 false positives per image
    assert evaluation.miss_rates(0.5, "reasonable")["lamr"][0] == exactly(evaluation["LAMR_reasonable"])


def test_the_rule_is_said_and_refused() -> None:
    text = str(apf.CITYPERSONS)
    rule = "miss rates  LAMR is the geometric mean of 9 miss rates, at 0.01 to 1 false positives per image; each is that of"
    assert rule in text
    assert "small (height from 50 up to 75, vis_ratio from 0.65; detections with height from 40 below 93.75 alone" in text
    assert [line.metric for line in headlines(apf.CITYPERSONS)] == list(NAMES)
    assert apf.CITYPERSONS.metrics[1] == MissRates("last_or_final", tuple(POINTS), 0.0, ties_together=False)
    with pytest.raises(ParameterError, match=r"^headlines: LAMR needs a metric of it, such as MissRates\(\)$"):
        replace(apf.COCO, headlines=("LAMR",), variants=())
    with pytest.raises(ParameterError, match=r"^metrics: MissRates reads one list, and this protocol matches anew"):
        replace(apf.KITTI, metrics=(*apf.KITTI.metrics, MissRates()), variants=())
    with pytest.raises(ParameterError, match=r"^points must be above 0 and increase, got \(0.1, 0.1\)$"):
        MissRates(points=(0.1, 0.1))

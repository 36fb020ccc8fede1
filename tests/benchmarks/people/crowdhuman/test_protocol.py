"""CROWDHUMAN: the cases of CrowdDet's evaluation, its rules as plain loops on generated sets, and what follows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import NotComparableError, ParameterError, UnitWarning
from tests.benchmarks.people.crowdhuman import reference
from tests.metrics.reading import under_weights
from tests.protocols.generated import on_many_sets
from tests.protocols.many_sets import together

Row = dict[str, Any]
WIDTH, HEIGHT = 1000, 600
IMAGES = [1, 2, 3, 4]


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def person(x: float, y: float, width: float, height: float, image: int = 1, *, ignore: bool = False) -> Row:
    return {"image_id": image, "category_id": 1, "x": float(x), "y": float(y), "width": float(width), "height": float(height),
            "ignore": ignore}  # fmt: skip


def found(x: float, y: float, width: float, height: float, score: float, image: int = 1) -> Row:
    return {"image_id": image, "category_id": 1, "x": float(x), "y": float(y), "width": float(width), "height": float(height),
            "score": score}  # fmt: skip


def evaluate(truth: list[Row], detections: list[Row], images: Any = 1, **options: Any) -> apf.Evaluation:
    rows = {"image_id": list(range(1, images + 1))} if isinstance(images, int) else images
    sizes = {"image_width": [WIDTH] * len(rows["image_id"]), "image_height": [HEIGHT] * len(rows["image_id"])}
    table: Any = pl.DataFrame(truth) if truth else {}
    dataset = apf.Dataset(rows | sizes, {"category_id": [1], "name": ["person"]}, table)
    results: Any = pl.DataFrame(detections) if detections else {}
    return apf.evaluate(dataset, results, protocol=apf.CROWDHUMAN, **options)


def numbers(evaluation: apf.Evaluation) -> list[float | None]:
    return evaluation.summary["value"].to_list()


P, P2, NOWHERE = (0, 0, 100, 100), (300, 0, 100, 100), (700, 300, 50, 50)
THREE = [person(200 * k, 0, 100, 100) for k in range(3)]
HITS = [found(200 * k, 0, 100, 100, 0.9 - k / 5) for k in range(3)]
WRONG = [found(200 * k, 300, 50, 50, 0.8 - k / 5) for k in range(2)]


@pytest.mark.parametrize(
    ("truth", "detections", "values"),
    [
        pytest.param(THREE, HITS + WRONG, [0.377777778, 0.666666667, 0.599999880], id="list A"),
        pytest.param([person(*P)], [found(*P, 0.9)], [0, 0, 0.999999000], id="one hit"),
        pytest.param([person(*P)], [found(*NOWHERE, 0.9), found(*P, 0.8)], [0.25, 1, 0.499999750], id="fp, hit"),
        pytest.param(
            [person(*P), person(*P2), person(600, 0, 300, 300, ignore=True)],
            [found(620, 20, 50, 50, 0.95), found(*P, 0.9), found(*NOWHERE, 0.85), found(*P2, 0.8)],
            [0.291666667, 0.5, 0.666666444],
            id="region",
        ),
        pytest.param([person(*P)], [found(0, 0, 100, 50, 0.9)], [0, 1, 0], id="exactly .5"),
        pytest.param(
            [person(*P), person(30, 0, 100, 100)],
            [found(14, 0, 100, 100, 0.9), found(0, 0, 75, 100, 0.8)],
            [0, 0.5, 0.999999500],
            id="two pairs",
        ),
        pytest.param(
            [person(*P), person(*P2), person(300, 0, 200, 200, ignore=True)], [found(*P, 0.9)], [0, 0.5, 0.999999], id="missed"
        ),
    ],
)
def test_cases_of_the_kit(truth: list[Row], detections: list[Row], values: list[float]) -> None:
    assert numbers(evaluate(truth, detections)) == exactly(values)


def test_the_published_miss_rate_of_list_a() -> None:
    assert evaluate(THREE, HITS + WRONG).miss_rates(0.5)["lamr"].drop_nulls().unique().to_list() == exactly([0.617249808])


def test_boxes_are_cut_off_at_the_edges() -> None:
    truth = [person(-50, -50, 100, 100), person(WIDTH - 20, 0, 100, 700), person(WIDTH + 50, 0, 10, 10)]
    evaluation = evaluate(truth, [found(0, 0, 50, 50, 0.9), found(WIDTH - 20, 0, 20, 600, 0.8), found(10, 10, 5, 5, 0.1)])
    boxes = evaluation.dataset.annotations.select("x", "y", "width", "height", "area").rows()
    assert boxes == [(0, 0, 50, 50, 2500), (WIDTH - 20, 0, 20, HEIGHT, 20 * HEIGHT), (WIDTH - 1, 0, 1, 10, 10)]
    assert evaluation.matches()["outcome"].to_list().count("tp") == 2
    assert evaluation.notes == ()


def test_images_of_unknown_size_are_noted() -> None:
    dataset = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1], "name": ["person"]}, [person(-50, 0, 100, 100)])
    results = pl.DataFrame([found(0, 0, 50, 100, 0.9)])
    assert apf.evaluate(dataset, results, "crowdhuman").notes == (
        "1 image of unknown size: boxes are not cut off at the edges there",
    )
    sized = apf.evaluate(dataset, results.with_columns(image_width=1000, image_height=600), "crowdhuman")
    assert sized.notes == () and sized.matches()["outcome"].to_list() == ["tp"]


def generated(rng: np.random.Generator, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """People over each other, regions, boxes across the edges; detections of them and of nothing."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in range(1, n_images + 1):
        for _ in range(rng.integers(0, 6)):
            x, y, width, height = *rng.integers(-30, 60, 2).tolist(), *rng.choice([30, 50, 80], 2).tolist()
            truth.append(person(x, y, width, height, image, ignore=bool(rng.random() < 0.3)))
            for _ in range(rng.integers(0, 3)):
                off = rng.integers(-9, 10, 4) * (rng.random(4) < 0.6)
                box = np.array([x, y, width, height]) + off
                detections.append(found(*box.tolist(), 0, image))
        detections += [found(*rng.integers(200, 500, 2).tolist(), 40, 40, 0, image) for _ in range(rng.integers(0, 2))]
    for row, score in zip(detections, rng.permutation(len(detections)), strict=True):
        row["score"] = float((score + 1) / (len(detections) + 2))
    return truth, detections


def clipped(rows: list[Row]) -> list[Row]:
    return [reference.clipped(row, WIDTH, HEIGHT) for row in rows]


@on_many_sets
def test_as_plain_loops_do(seeds: range) -> None:
    """Every set and all as one, evaluated at once; the Jaccard index of a set is the best of the means of its images."""
    sets = {seed: generated(np.random.default_rng(seed)) for seed in seeds}
    truth, detections, images = together(sets, IMAGES)
    evaluation = evaluate(truth, detections, images)
    whole = clipped(truth), clipped(detections), images["image_id"]
    assert numbers(evaluation) == exactly([*reference.summary(*whole), reference.jaccard_index(*whole)])
    found = {row["set"]: (row["AP"], row["LAMR"]) for row in evaluation.by("set").iter_rows(named=True)}
    of_images = evaluation.jaccard_index(level="image").join(evaluation.dataset.images, on="image_id")
    means = of_images.group_by("set", "score_threshold").agg(pl.col("jaccard_index").mean())
    indices = dict(means.group_by("set").agg(pl.col("jaccard_index").max()).rows())
    for seed, rows in sets.items():
        own = [clipped(side) for side in rows]
        assert found[seed] == exactly(reference.summary(own[0], own[1], IMAGES)), seed
        assert indices.get(seed) == exactly(reference.jaccard_index(own[0], own[1], IMAGES)), seed


def crowded(seed: int = 5, n_images: int = 12) -> tuple[list[Row], list[Row], Row]:
    truth, detections = generated(np.random.default_rng(seed), n_images)
    ids = list(range(1, n_images + 1))
    return truth, detections, {"image_id": ids, "place": ["street" if k % 3 == 0 else "square" for k in ids]}


def on(images: list[int], rows: list[Row]) -> list[Row]:
    return [row for row in clipped(rows) if row["image_id"] in images]


def test_slices_and_subsets_are_evaluations_of_their_images() -> None:
    truth, detections, images = crowded()
    evaluation = evaluate(truth, detections, images)
    for place, row in zip(("square", "street"), evaluation.by("place").sort("place").to_dicts(), strict=True):
        ids = [image for image, own in zip(images["image_id"], images["place"], strict=True) if own == place]
        expected = reference.summary(on(ids, truth), on(ids, detections), ids)
        assert (row["AP"], row["LAMR"]) == exactly(expected)
        part = evaluation.where(pl.col("place") == place)
        assert numbers(part) == exactly([*expected, reference.jaccard_index(on(ids, truth), on(ids, detections), ids)])


def test_weights_are_copies_of_images() -> None:
    truth, detections, _ = crowded(n_images=6)
    evaluation = evaluate(truth, detections, 6)
    weights = np.random.default_rng(2).integers(0, 4, (6, 5)).astype(float)
    for weighting in range(5):
        copies = [(k, 10 * copy + k) for k in range(1, 7) for copy in range(int(weights[k - 1, weighting]))]
        rows = [
            [each | {"image_id": new} for each in rows for k, new in copies if each["image_id"] == k]
            for rows in (truth, detections)
        ]
        expected = evaluate(rows[0], rows[1], {"image_id": [new for _, new in copies]}).summary["value"].head(2).to_list()
        own = [
            under_weights(evaluation, "ap", weights)[0, weighting],
            under_weights(evaluation, "lamr", weights)[0, weighting],
        ]
        assert own == pytest.approx([math.nan if value is None else value for value in expected], abs=1e-9, nan_ok=True)


def test_intervals_and_comparisons() -> None:
    truth, detections, images = crowded(n_images=30)
    worse = [row | {"x": row["x"] + 12} for row in detections]
    a, b = (evaluate(truth, rows, images) for rows in (detections, worse))
    intervals = a.intervals(n_resamples=60, method="bootstrap")
    assert intervals["metric"].to_list() == ["AP", "LAMR"]
    assert intervals["estimate"].to_list() == exactly(a.summary["value"].head(2).to_list())
    assert ((intervals["low"] < intervals["estimate"]) & (intervals["estimate"] < intervals["high"])).all()
    with pytest.raises(ParameterError, match=r"^metrics: JI matches anew, so it has no interval; it is in the summary$"):
        a.intervals(metrics=["AP", "JI"], n_resamples=60, method="bootstrap")
    compared = a.compare(b, n_resamples=60, method="bootstrap")
    assert (compared["difference"] < 0).to_list() == [True, False]
    assert (compared["share_better"] < 0.2).all()


def test_scores_beyond_all_thresholds_of_the_jaccard_index_are_warned_of() -> None:
    evaluation = evaluate(THREE, [row | {"score": 100 * row["score"]} for row in HITS])
    with pytest.warns(UnitWarning, match=r"^scores go up to 90, but those that the Jaccard index tries only to 0\.9: scale"):
        assert evaluation["JI"] == exactly(3 / (3 + 1e-6))
    assert evaluation.jaccard_index(min_scores=[0, 50])["score_threshold"].item() == 0


def test_models_are_compared_where_one_finds_nothing_and_so_says_no_size() -> None:
    people = pl.DataFrame([person(-20, 0, 100, 100), person(-20, 0, 100, 100, image=2)])
    truth = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1], "name": ["person"]}, people)
    sized = pl.DataFrame([found(0, 0, 80, 100, 0.9), found(0, 0, 80, 100, 0.8, image=2)]).with_columns(
        image_width=pl.lit(WIDTH), image_height=pl.lit(HEIGHT)
    )
    a, b = (apf.evaluate(truth, rows, apf.CROWDHUMAN) for rows in (sized, sized.head(1)))
    assert a.notes == b.notes == ()
    assert [each.matches()["outcome"].to_list() for each in (a, b)] == [["tp", "tp"], ["tp", "fn"]]
    for pair in ((a, b), (b, a)):
        compared = pair[0].compare(pair[1], n_resamples=20, method="bootstrap")
        assert compared["difference"][0] == exactly(pair[1]["AP"] - pair[0]["AP"])
    moved = people.with_columns(x=pl.Series([-20, 7]))
    other = apf.evaluate(apf.Dataset(truth.images, truth.categories, moved), sized, apf.CROWDHUMAN)
    with pytest.raises(NotComparableError, match="differ in the ground truth"):
        a.compare(other, n_resamples=20, method="bootstrap")


@pytest.mark.slow
def test_stored_sets_queries_shards_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    truth, detections, images = crowded()
    evaluation = evaluate(truth, detections, images)
    evaluation.write_parquet(tmp_path / "run")
    stored = apf.read_evaluation(tmp_path / "run")
    assert stored.protocol == apf.CROWDHUMAN
    assert_frame_equal(stored.summary, evaluation.summary)
    assert_frame_equal(stored.by("place"), evaluation.by("place"))
    assert_frame_equal(stored.jaccard_index(), evaluation.jaccard_index())
    assert stored.sql("SELECT lamr FROM metrics").item() == exactly(evaluation["LAMR"])
    dataset = evaluation.dataset
    for shard in range(3):
        (tmp_path / "shards" / str(shard)).mkdir(parents=True)
        ids = pl.Series(images["image_id"][shard::3]).implode()
        tables = {"images": dataset.images, "annotations": dataset.annotations, "detections": evaluation.detections}
        for name, frame in tables.items():
            frame.filter(pl.col("image_id").is_in(ids)).write_parquet(tmp_path / "shards" / str(shard) / f"{name}.parquet")
        dataset.categories.write_parquet(tmp_path / "shards" / str(shard) / "categories.parquet")
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=apf.CROWDHUMAN)
    assert_frame_equal(sharded.metrics, evaluation.metrics)
    assert_frame_equal(sharded.by("place"), evaluation.by("place"))
    assert sharded["JI"] is None and "JI" not in sharded.by("place").columns
    evaluator = apf.Evaluator(dataset, protocol=apf.CROWDHUMAN)
    for shard in range(3):
        ids = pl.Series(images["image_id"][shard::3]).implode()
        evaluator.update(evaluation.detections.drop("detection_id").filter(pl.col("image_id").is_in(ids)))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)


def test_jaccard_index_by_image_and_what_it_refuses() -> None:
    truth = [person(*P), person(*P2)]
    evaluation = evaluate(truth, [found(*P, 0.9), found(*NOWHERE, 0.35), found(*P, 0.1, image=2)], 3)
    table = evaluation.jaccard_index(level="image", min_scores=[0, 0.35])
    assert table.select("image_id", "score_threshold", "n_annotations", "n_detections", "n_matched").rows() == [
        (1, 0, 2, 2, 1), (2, 0, 0, 1, 0), (1, 0.35, 2, 1, 1),
    ]  # fmt: skip
    best = evaluation.jaccard_index()
    assert best.select("name", "iou_threshold", "score_threshold", "n_images").rows() == [("person", 0.5, 0.4, 1)]
    assert best["jaccard_index"].item() == exactly(1 / (2 + 1e-6))
    for options, message in (
        ({"min_scores": []}, r"^min_scores must be one number or more, not \[\]$"),
        ({"min_scores": ["a"]}, r"^min_scores must be one number or more, not \['a'\]$"),
        ({"level": "point"}, r"^level is \"category\" or \"image\", not 'point'$"),
    ):
        with pytest.raises(ParameterError, match=message):
            evaluation.jaccard_index(**options)  # type: ignore[arg-type]


def test_what_comes_after_the_matches() -> None:
    truth, detections, images = crowded()
    evaluation = evaluate(truth, detections, images)
    impact = evaluation.error_impact(0.5).filter(pl.col("category_id").is_null())
    assert impact.filter(error="fn")["delta_ap"].item() > 0
    assert evaluation.errors(0.5).height and evaluation.curves(0.5).height and evaluation.thresholds(0.5).height

"""CROWDHUMAN: the cases of CrowdDet's evaluation, and the Jaccard index, which is that of plain loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NotComparableError, ParameterError, UnitWarning
from tests.benchmarks.people.crowdhuman import reference
from tests.benchmarks.people.crowdhuman.row import HEIGHT, WIDTH, Row, clipped, loop, person, seen
from tests.conformance.samples import together
from tests.protocols.generated import on_many_sets


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def evaluate(truth: list[Row], detections: list[Row], n_images: int = 1) -> apf.Evaluation:
    images = {"image_id": range(1, n_images + 1), "image_width": [WIDTH] * n_images, "image_height": [HEIGHT] * n_images}
    dataset = apf.Dataset(pl.DataFrame(images), {"category_id": [1], "name": ["person"]}, pl.DataFrame(truth))
    return apf.evaluate(dataset, pl.DataFrame(detections), protocol=apf.CROWDHUMAN)


def numbers(evaluation: apf.Evaluation) -> list[float | None]:
    return evaluation.summary["value"].to_list()


P, P2, NOWHERE = (0, 0, 100, 100), (300, 0, 100, 100), (700, 300, 50, 50)
THREE = [person(200 * k, 0, 100, 100) for k in range(3)]
HITS = [seen(200 * k, 0, 100, 100, 0.9 - k / 5) for k in range(3)]
WRONG = [seen(200 * k, 300, 50, 50, 0.8 - k / 5) for k in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "detections", "values"),
    [
        pytest.param(THREE, HITS + WRONG, [0.377777778, 0.666666667, 0.599999880], id="list A"),
        pytest.param([person(*P)], [seen(*P, 0.9)], [0, 0, 0.999999000], id="one hit"),
        pytest.param([person(*P)], [seen(*NOWHERE, 0.9), seen(*P, 0.8)], [0.25, 1, 0.499999750], id="fp, hit"),
        pytest.param(
            [person(*P), person(*P2), person(600, 0, 300, 300, ignore=True)],
            [seen(620, 20, 50, 50, 0.95), seen(*P, 0.9), seen(*NOWHERE, 0.85), seen(*P2, 0.8)],
            [0.291666667, 0.5, 0.666666444],
            id="region",
        ),
        pytest.param([person(*P)], [seen(0, 0, 100, 50, 0.9)], [0, 1, 0], id="exactly .5"),
        pytest.param(
            [person(*P), person(30, 0, 100, 100)],
            [seen(14, 0, 100, 100, 0.9), seen(0, 0, 75, 100, 0.8)],
            [0, 0.5, 0.999999500],
            id="two pairs",
        ),
        pytest.param(
            [person(*P), person(*P2), person(300, 0, 200, 200, ignore=True)], [seen(*P, 0.9)], [0, 0.5, 0.999999], id="missed"
        ),
    ],
)
def test_cases_of_the_kit(truth: list[Row], detections: list[Row], values: list[float]) -> None:
    assert numbers(evaluate(truth, detections)) == exactly(values)


def test_the_published_miss_rate_of_list_a() -> None:
    assert evaluate(THREE, HITS + WRONG).miss_rates(0.5)["lamr"].drop_nulls().unique().to_list() == exactly([0.617249808])


def test_boxes_are_cut_off_at_the_edges() -> None:
    truth = [person(-50, -50, 100, 100), person(WIDTH - 20, 0, 100, 700), person(WIDTH + 50, 0, 10, 10)]
    evaluation = evaluate(truth, [seen(0, 0, 50, 50, 0.9), seen(WIDTH - 20, 0, 20, 600, 0.8), seen(10, 10, 5, 5, 0.1)])
    boxes = evaluation.dataset.annotations.select("x", "y", "width", "height", "area").rows()
    assert boxes == [(0, 0, 50, 50, 2500), (WIDTH - 20, 0, 20, HEIGHT, 20 * HEIGHT), (WIDTH - 1, 0, 1, 10, 10)]
    assert evaluation.matches()["outcome"].to_list().count("tp") == 2
    assert evaluation.notes == ()


def test_images_of_unknown_size_are_noted() -> None:
    dataset = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1], "name": ["person"]}, [person(-50, 0, 100, 100)])
    results = pl.DataFrame([seen(0, 0, 50, 100, 0.9)])
    assert apf.evaluate(dataset, results, "crowdhuman").notes == (
        "1 image of unknown size: boxes are not cut off at the edges there",
    )
    sized = apf.evaluate(dataset, results.with_columns(image_width=1000, image_height=600), "crowdhuman")
    assert sized.notes == () and sized.matches()["outcome"].to_list() == ["tp"]


def rows_of(dataset: apf.Dataset, found: pl.DataFrame) -> tuple[list[Row], list[Row], list[Any]]:
    return clipped(dataset.annotations.to_dicts()), clipped(found.to_dicts()), dataset.images["image_id"].to_list()


@pytest.mark.slow
@on_many_sets
def test_the_jaccard_index_is_that_of_plain_loops(seeds: range) -> None:
    """Of all sets as one, with the other numbers; of every set, where it is the best of the means of its images."""
    samples = {seed: loop(np.random.default_rng(seed), seed) for seed in seeds}
    dataset, detections = together(list(samples.values()))
    evaluation = apf.evaluate(dataset, detections, apf.CROWDHUMAN)
    whole = rows_of(dataset, detections)
    assert numbers(evaluation) == exactly([*reference.summary(*whole), reference.jaccard_index(*whole)])
    of_images = evaluation.jaccard_index(level="image").join(evaluation.dataset.images, on="image_id")
    means = of_images.group_by("set", "score_threshold").agg(pl.col("jaccard_index").mean())
    indices = dict(means.group_by("set").agg(pl.col("jaccard_index").max()).rows())
    for number, (seed, sample) in enumerate(samples.items()):
        expected = reference.jaccard_index(*rows_of(sample.dataset, sample.found))
        assert indices.get(number) == exactly(expected), seed
        assert number >= 5 or evaluation.where(pl.col("set") == number)["JI"] == exactly(expected), seed


@pytest.mark.slow
def test_the_jaccard_index_has_no_interval_shard_or_slice(tmp_path: Path) -> None:
    dataset, detections = together([loop(np.random.default_rng(seed), seed) for seed in range(1, 6)])
    evaluation = apf.evaluate(dataset, detections, apf.CROWDHUMAN)
    assert evaluation.intervals(n_resamples=60, method="bootstrap")["metric"].to_list() == ["AP", "LAMR"]
    with pytest.raises(ParameterError, match=r"^metrics: JI matches anew, so it has no interval; it is in the summary$"):
        evaluation.intervals(metrics=["AP", "JI"], n_resamples=60, method="bootstrap")
    apf.write_shards(dataset, detections, tmp_path / "shards", n=3)
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=apf.CROWDHUMAN)
    assert sharded["JI"] is None and "JI" not in sharded.by("set").columns


@pytest.mark.slow
def test_scores_beyond_all_thresholds_are_warned_of() -> None:
    evaluation = evaluate(THREE, [row | {"score": 100 * row["score"]} for row in HITS])
    with pytest.warns(UnitWarning, match=r"^scores go up to 90, but the Jaccard index is only computed up to 0\.9: scale"):
        assert evaluation["JI"] == exactly(3 / (3 + 1e-6))
    assert evaluation.jaccard_index(min_scores=[0, 50])["score_threshold"].item() == 0


@pytest.mark.slow
def test_models_are_compared_where_one_finds_nothing() -> None:
    people = pl.DataFrame([person(-20, 0, 100, 100), person(-20, 0, 100, 100, image=2)])
    truth = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1], "name": ["person"]}, people)
    sized = pl.DataFrame([seen(0, 0, 80, 100, 0.9), seen(0, 0, 80, 100, 0.8, image=2)]).with_columns(
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
def test_jaccard_index_by_image_and_what_it_refuses() -> None:
    truth = [person(*P), person(*P2)]
    evaluation = evaluate(truth, [seen(*P, 0.9), seen(*NOWHERE, 0.35), seen(*P, 0.1, image=2)], 3)
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

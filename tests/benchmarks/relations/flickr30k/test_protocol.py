"""Phrases and referring expressions: Success@k is that of loops over the rules, and of search runs with the same grades."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from tests.parity.reference import close
from tests.protocols.generated import joined_by_name, on_many_sets

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
LIMITS = [1, 5, 10]


def iou(one: list[float], other: list[float]) -> float:
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    shared = max(width, 0.0) * max(height, 0.0)
    return shared / (one[2] * one[3] + other[2] * other[3] - shared)


def phrases(random: np.random.Generator, n_images: int) -> Data:
    """Phrases with no box, one or several; boxes near them and elsewhere, with many equal scores."""
    names = [f"phrase {key}" for key in range(n_images)]
    annotations: list[Row] = []
    results: list[Row] = []
    for name in names:
        boxes = [
            [*random.integers(0, 9, 2).tolist(), *random.integers(4, 20, 2).tolist()] for _ in range(random.integers(0, 4))
        ]
        annotations += [{"image_id": name, "category_id": 1, "bbox": box} for box in boxes]
        for box in [*boxes, *boxes, [60, 60, 5, 5], [70, 70, 5, 5]]:
            near = np.maximum(np.array(box) + random.integers(-5, 6, 4), 1).tolist()
            score = float(random.integers(1, 6)) / 6
            results += [{"image_id": name, "category_id": 1, "bbox": near, "score": score}] * int(random.integers(0, 3))
    images = [{"image_id": name, "kind": "people" if number % 2 else "other"} for number, name in enumerate(names)]
    return {"images": images, "annotations": annotations}, [results[place] for place in random.permutation(len(results))]


def success(data: Data, k: int) -> float | None:
    truth, results = data
    hits = []
    for image in truth["images"]:
        boxes, best = (
            [row for row in rows if row["image_id"] == image["image_id"]]
            for rows in (truth["annotations"], sorted(results, key=lambda row: -row["score"]))
        )
        if boxes:
            hits.append(any(iou(row["bbox"], box["bbox"]) >= 0.5 for row in best[:k] for box in boxes))
    return sum(hits) / len(hits) if hits else None


def evaluate(data: Data, protocol: str = "flickr30k", **options: Any) -> apf.Evaluation:
    truth, results = data
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": [1]}, pl.DataFrame(truth["annotations"]))
    return apf.evaluate(dataset, pl.DataFrame(results), protocol, **options)


@on_many_sets
def test_success_equals_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    parts = {f"{seed:03}": phrases(np.random.default_rng(seed), 1 + seed % 6) for seed in seeds}
    data = joined_by_name(parts)
    for protocol, limits in (("flickr30k", LIMITS), ("refcoco", LIMITS[:1])):
        by = evaluate(data, protocol).by("set")
        assert by["set"].to_list() == list(parts)
        for k in limits:
            assert by[f"Success@{k}"].to_list() == close([success(part, k) for part in parts.values()])


def test_slices_are_phrases_of_a_kind() -> None:
    data = phrases(np.random.default_rng(4), 20)
    by = evaluate(data).by("kind")
    for kind in ("people", "other"):
        part = {**data[0], "images": [image for image in data[0]["images"] if image["kind"] == kind]}, data[1]
        expected = close([success(part, k) for k in LIMITS])
        assert [*by.filter(kind=kind).select(f"Success@{k}" for k in LIMITS).row(0)] == expected


def test_search_runs_with_the_same_grades_have_the_same_numbers() -> None:
    """A phrase is a query, a detection a document: relevant if it fits one of the boxes."""
    evaluation = evaluate(phrases(np.random.default_rng(8), 30))
    matches = evaluation.matches().filter(pl.col("detection_id").is_not_null())
    first = evaluation.detections.filter(pl.col("expanded_from").is_null())
    fits = matches.filter(pl.col("outcome") != "fp")["detection_id"]
    documents = first.with_columns(
        query_id=pl.col("image_id"), document_id=pl.col("detection_id").cast(pl.String),
        relevance=pl.col("detection_id").is_in(fits.implode()).cast(pl.Int64),
        score=-pl.col("place_in_image").cast(pl.Float64),
    )  # fmt: skip
    known = documents.filter(pl.col("query_id").is_in(evaluation.dataset.annotations["image_id"].unique().implode()))
    run = apf.evaluate_run(
        known.select("query_id", "document_id", "relevance"), known.select("query_id", "document_id", "score"),
        measures=[f"Success@{k}" for k in LIMITS],
    )  # fmt: skip
    n_phrases = evaluation.dataset.annotations["image_id"].n_unique()
    n_of_run = known["query_id"].n_unique()
    means = dict(run.summary.select("measure", "value").rows())
    for k, value in zip(LIMITS, evaluation.summary["value"], strict=True):
        assert means[f"Success@{k}"] * n_of_run / n_phrases == pytest.approx(value, abs=1e-12)

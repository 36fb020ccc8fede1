"""Phrases and referring expressions: Success@k is that of search runs with the same grades."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import apframe as apf
from tests.benchmarks.relations.flickr30k.row import LIMITS, phrases


@pytest.mark.slow
def test_search_runs_with_the_same_grades_have_the_same_numbers() -> None:
    """A phrase is a query, a detection a document: relevant if it fits one of the boxes."""
    truth, results = phrases(np.random.default_rng(8), 30)
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": [1]}, pl.DataFrame(truth["annotations"]))
    evaluation = apf.evaluate(dataset, pl.DataFrame(results), "flickr30k")
    matches = evaluation.matches().filter(pl.col("detection_id").is_not_null())
    first = evaluation.detections.filter(pl.col("expanded_from").is_null())
    fits = matches.filter(pl.col("outcome") != "fp")["detection_id"]
    documents = first.with_columns(
        query_id=pl.col("image_id"), document_id=pl.col("detection_id").cast(pl.String),
        relevance=pl.col("detection_id").is_in(fits.implode()).cast(pl.Int64),
        score=-pl.col("place_in_image").cast(pl.Float64),
    )  # fmt: skip
    candidates = documents.filter(pl.col("query_id").is_in(evaluation.dataset.annotations["image_id"].unique().implode()))
    run = apf.evaluate_run(
        candidates.select("query_id", "document_id", "relevance"), candidates.select("query_id", "document_id", "score"),
        measures=[f"Success@{k}" for k in LIMITS],
    )  # fmt: skip
    n_phrases = evaluation.dataset.annotations["image_id"].n_unique()
    n_of_run = candidates["query_id"].n_unique()
    means = dict(run.summary.select("measure", "value").rows())
    for k, value in zip(LIMITS, evaluation.summary["value"], strict=True):
        assert means[f"Success@{k}"] * n_of_run / n_phrases == pytest.approx(value, abs=1e-12)

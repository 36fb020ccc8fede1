"""Draws are the values that intervals and differences are made of."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.evaluation import Evaluation
from apframe.exceptions import NotComparableError, ParameterError

BOX = {"category_id": 1, "bbox": [0, 0, 9, 9]}


def evaluated(*found: int, n: int = 40) -> Evaluation:
    """An object on each image, and where it is found."""
    truth = {
        "images": [{"id": k, "site": "ab"[k % 2]} for k in range(n)],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": k, "image_id": k} | BOX for k in range(n)],
    }
    return apf.evaluate(truth, [{"image_id": k, "score": 1 - k / 100} | BOX for k in found])


def test_draws_of_one_number_are_those_of_its_interval() -> None:
    ev = evaluated(*range(0, 40, 2), 1, 7)
    draws = ev.draws(metric="AP75", n_resamples=200, seed=3, within="site")
    assert draws.columns == ["metric", "estimate", "draw", "value"]
    assert draws["draw"].to_list() == list(range(1, 201))
    row = ev.intervals(metrics="AP75", n_resamples=200, seed=3, within="site", method="bootstrap").row(0, named=True)
    assert draws["estimate"].unique().to_list() == [row["estimate"]] == [ev["AP75"]]
    assert np.quantile(draws["value"], [0.025, 0.975]).tolist() == [row["low"], row["high"]]


@pytest.mark.slow
def test_draws_of_a_difference() -> None:
    a, b = evaluated(*range(20)), evaluated(*range(10, 33))
    draws = a.draws(b, n_resamples=200, names=["old", "new"])
    assert draws.columns == ["metric", "run_a", "run_b", "estimate", "draw", "value"]
    assert draws.select("metric", "run_a", "run_b").unique().rows() == [("AP", "old", "new")]
    row = a.compare(b, metrics="AP", n_resamples=200, method="bootstrap").row(0, named=True)
    assert draws["estimate"][0] == row["difference"]
    assert np.quantile(draws["value"], [0.025, 0.975]).tolist() == pytest.approx([row["low"], row["high"]], abs=1e-12)
    apart = [each.draws(n_resamples=200)["value"] for each in (a, b)]
    assert draws["value"].to_list() == (apart[1] - apart[0]).to_list()


def test_a_number_without_annotations_is_null() -> None:
    draws = evaluated(1).draws(metric="APl", n_resamples=30)
    assert draws["estimate"].null_count() == draws["value"].null_count() == draws.height == 30
    assert draws.schema["estimate"] == pl.Float64


@pytest.mark.slow
def test_bad_options() -> None:
    with pytest.raises(ParameterError, match="AP55"):
        evaluated(1).draws(metric="AP55")
    with pytest.raises(ParameterError, match="n_resamples"):
        evaluated(1).draws(n_resamples=0)
    with pytest.raises(NotComparableError):
        evaluated(1).draws(evaluated(1, n=39))

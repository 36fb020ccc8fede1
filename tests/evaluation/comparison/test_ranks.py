"""How sure an order of evaluations is: the numbers are those of `intervals` and of `rank_ranges`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.comparison.ranks import ranks
from apframe.evaluation.comparison.sampling import Sampling

STREET = Path(__file__).resolve().parents[3] / "data" / "street"


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"model_{name}.json") for name in "ab"]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_intervals_and_shares(models: list[apf.Evaluation], method: str) -> None:
    table = ranks(models, ["a", "b"], Sampling(metrics="AP", n_resamples=200, method=method))
    assert table["run"].to_list() == ["a", "b"]
    for row, model in zip(table.rows(named=True), models, strict=True):
        alone = model.intervals(metrics="AP", n_resamples=200, method=method).row(0, named=True)
        assert [row[name] for name in ("estimate", "low", "high")] == [alone[name] for name in ("estimate", "low", "high")]
    share = models[0].compare(models[1], metrics="AP", n_resamples=200, method=method)["share_better"][0]
    assert table["share_best"].to_list() == pytest.approx([1 - share, share], abs=0 if method == "bootstrap" else 0.01)
    assert table.select("rank_low", "rank_high").rows() == [(1, 2), (1, 2)]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("method", ["influence", "bootstrap"])
def test_equal_models_share_the_lead(models: list[apf.Evaluation], method: str) -> None:
    table = ranks([models[0]] * 3, ["a", "b", "c"], Sampling(metrics="AP50", n_resamples=50, method=method))
    assert table["share_best"].to_list() == pytest.approx([1 / 3] * 3)
    assert table.select("rank_low", "rank_high").rows() == [(1, 1)] * 3


def test_a_metric_without_values() -> None:
    truth = {"images": [{"id": n} for n in range(30)], "categories": [{"id": 1, "name": "cat"}],
             "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 200, 200], "area": 40000}]}  # fmt: skip
    evaluation = apf.evaluate(truth, [])
    table = ranks([evaluation, evaluation], ["a", "b"], Sampling(metrics="APs", n_resamples=10))
    without = pl.DataFrame({"run": ["a", "b"]}).with_columns(
        *(pl.lit(None, table.schema[name]).alias(name) for name in table.columns[1:])
    )
    assert_frame_equal(table, without)


def test_few_images_with_annotations_have_no_interval() -> None:
    """As in `intervals`: four images with annotations are too few."""
    box = {"category_id": 1, "bbox": [0, 0, 20, 20]}
    truth = {"images": [{"id": n} for n in range(30)], "categories": [{"id": 1, "name": "cat"}],
             "annotations": [box | {"id": n, "image_id": n} for n in range(4)]}  # fmt: skip
    evaluation = apf.evaluate(truth, [box | {"image_id": n, "score": 0.5} for n in range(2)])
    alone = evaluation.intervals(metrics="AP", n_resamples=20)
    table = ranks([evaluation], ["a"], Sampling(metrics="AP", n_resamples=20))
    assert table.select("estimate", "low", "high").rows() == alone.select("estimate", "low", "high").rows()
    assert table["low"].to_list() == [None]

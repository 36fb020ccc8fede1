"""How sure the gain of fixing errors is: resamples are copies of images, and the kinds of errors stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.compare.resampling import make_draws
from apframe.exceptions import ParameterError

KEYS = ["category_id", "error"]


@pytest.fixture(scope="module")
def a() -> apf.Evaluation:
    return apf.evaluate("data/street/instances.json", "data/street/model_a.json")


def test_a_resample_is_a_set_with_copies_of_images() -> None:
    """The rises of each draw, computed from copied images one by one, have the same quantiles."""
    rng = np.random.default_rng(1)
    images, n = range(24), 0
    truth: dict[str, Any] = {"images": [{"id": k} for k in images], "categories": [{"id": 1}, {"id": 2}], "annotations": []}
    found = []
    for k in images:
        for category in (1, 2):
            n += 1
            truth["annotations"].append({"id": n, "image_id": k, "category_id": category, "bbox": [0, 60 * category, 40, 40]})
            shift, other = int(rng.integers(0, 45)), rng.random() < 0.3
            box = [shift, 60 * category, 40, 40]
            found.append(
                {"image_id": k, "category_id": 3 - category if other else category, "bbox": box, "score": rng.random()}
            )
    ev = apf.evaluate(truth, found, iou_thresholds=[0.5])
    table = ev.error_impact(n_resamples=40)
    draws = np.concatenate(list(make_draws(pl.DataFrame({"image_id": images}), None, None, 40, 0).blocks(64)), axis=1)
    rises = []
    for counts in draws.T.astype(int):
        copies = [(old, 100 * old + c) for old in images for c in range(counts[old])]
        rows = [row | {"image_id": new} for old, new in copies for row in truth["annotations"] if row["image_id"] == old]
        copied = truth | {
            "images": [{"id": new} for _, new in copies],
            "annotations": [row | {"id": at} for at, row in enumerate(rows)],
        }
        of_copies = [row | {"image_id": new} for old, new in copies for row in found if row["image_id"] == old]
        impact = apf.evaluate(copied, of_copies, iou_thresholds=[0.5]).error_impact()
        rises.append(impact["delta_ap"].to_numpy())
    for column, q in (("low", 0.025), ("high", 0.975)):
        np.testing.assert_allclose(table[column], np.quantile(rises, q, axis=0), rtol=0, atol=1e-12)


def test_the_other_columns_stay(a: apf.Evaluation) -> None:
    table, plain = a.error_impact(n_resamples=50), a.error_impact()
    assert_frame_equal(table.drop("low", "high", "se"), plain)
    inside = table.drop_nulls("low").filter(pl.col("low") <= pl.col("delta_ap"), pl.col("delta_ap") <= pl.col("high"))
    assert inside.height > 0.9 * table.drop_nulls("low").height
    assert table.columns[-3:] == ["low", "high", "se"]


@pytest.mark.parametrize("by", ["weather", apf.bins("occlusion", [0, 0.3, 1]), "supercategory"])
def test_slices(a: apf.Evaluation, by: Any) -> None:
    table, plain = a.error_impact(by=by, n_resamples=20), a.error_impact(by=by)
    assert_frame_equal(table.drop("low", "high", "se"), plain)
    if by == "weather":
        fog = a.where("weather = 'fog'").error_impact().filter(pl.col("category_id").is_null())
        assert table.filter(weather="fog")["delta_ap"].to_list() == pytest.approx(fog["delta_ap"].to_list())
    assert (table["low"] <= table["high"]).all()


def test_options_that_cannot_be(a: apf.Evaluation) -> None:
    with pytest.raises(ParameterError, match="unit: the images have no column 'video'"):
        a.error_impact(n_resamples=10, unit="video")
    with pytest.raises(ParameterError, match="unit is about intervals; give n_resamples=1000 too to get them"):
        a.error_impact(unit="city")

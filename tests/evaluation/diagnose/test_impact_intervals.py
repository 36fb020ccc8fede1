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


@pytest.fixture(scope="module")
def a() -> apf.Evaluation:
    return apf.evaluate("data/street/instances.json", "data/street/model_a.json")


BY: list[Any] = [(), ["weather", "category_id"], apf.bins("depth", [0, 1, 3])]


def keys_of(table: pl.DataFrame) -> list[str]:
    """The columns that tell the rows apart."""
    return [name for name in table.columns[: table.columns.index("n")] if name not in ("name", "iou_threshold")]


@pytest.mark.slow
def test_a_resample_is_a_set_with_copies_of_images() -> None:
    """The rises of each draw, computed from copied images one by one, have the same quantiles; also in slices."""
    rng = np.random.default_rng(1)
    images, n = range(24), 0
    truth: dict[str, Any] = {
        "images": [{"id": k, "weather": "fog" if k % 3 else "sun"} for k in images],
        "categories": [{"id": 1}, {"id": 2}],
        "annotations": [],
    }
    found = []
    for k in images:
        for category in (1, 2):
            n += 1
            box, depth = [0, 60 * category, 40, 40], float(n % 3)
            truth["annotations"].append({"id": n, "image_id": k, "category_id": category, "bbox": box, "depth": depth})
            shift, other = int(rng.integers(0, 45)), rng.random() < 0.3
            row = {"category_id": 3 - category if other else category, "bbox": [shift, *box[1:]], "depth": depth}
            found.append({"image_id": k, "score": rng.random()} | row)
    ev = apf.evaluate(truth, found, iou_thresholds=[0.5])
    tables = [ev.error_impact(by=by, n_resamples=6) for by in BY]
    draws = np.concatenate(list(make_draws(pl.DataFrame({"image_id": images}), None, None, 6, 0).blocks(64)), axis=1)
    rises: list[list[pl.Series]] = [[] for _ in BY]
    for counts in draws.T.astype(int):
        copies = [(old, 100 * old + c) for old in images for c in range(counts[old])]
        rows = [row | {"image_id": new} for old, new in copies for row in truth["annotations"] if row["image_id"] == old]
        copied = truth | {
            "images": [truth["images"][old] | {"id": new} for old, new in copies],
            "annotations": [row | {"id": at} for at, row in enumerate(rows)],
        }
        of_copies = [row | {"image_id": new} for old, new in copies for row in found if row["image_id"] == old]
        of_draw = apf.evaluate(copied, of_copies, iou_thresholds=[0.5])
        for by, table, drawn in zip(BY, tables, rises, strict=True):
            keys = keys_of(table)
            impact = table.select(keys).join(of_draw.error_impact(by=by), on=keys, nulls_equal=True, how="left")
            drawn.append(impact.sort(keys)["delta_ap"])
    for table, drawn in zip(tables, rises, strict=True):
        keys = keys_of(table)
        for column, q in (("low", 0.025), ("high", 0.975)):
            np.testing.assert_allclose(table.sort(keys)[column], np.quantile(drawn, q, axis=0), rtol=0, atol=1e-12)


def test_the_other_columns_stay(a: apf.Evaluation) -> None:
    table, plain = a.error_impact(n_resamples=50), a.error_impact()
    assert_frame_equal(table.drop("low", "high", "se"), plain)
    inside = table.drop_nulls("low").filter(pl.col("low") <= pl.col("delta_ap"), pl.col("delta_ap") <= pl.col("high"))
    assert inside.height > 0.9 * table.drop_nulls("low").height
    assert table.columns[-3:] == ["low", "high", "se"]


@pytest.mark.slow
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

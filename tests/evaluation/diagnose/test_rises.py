"""How sure the gain of fixing errors is: from derivatives with respect to the weights of images."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t

import apframe as apf
from apframe.exceptions import ParameterError


@pytest.fixture(scope="module")
def a() -> apf.Evaluation:
    return apf.evaluate("data/street/instances.json", "data/street/model_a.json")


N = 24
BY: list[Any] = [(), ["weather", "category_id"], apf.bins("depth", [0, 1, 3])]


def keys_of(table: pl.DataFrame) -> list[str]:
    """The columns that tell the rows apart."""
    return [name for name in table.columns[: table.columns.index("n")] if name not in ("name", "iou_threshold")]


def small_set() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Images with two objects each, some of which are found elsewhere or as the other category."""
    rng = np.random.default_rng(1)
    truth: dict[str, Any] = {"images": [], "categories": [{"id": 1}, {"id": 2}], "annotations": []}
    detections = []
    for image, category in product(range(N), (1, 2)):
        box, depth = [0, 60 * category, 40, 40], float((image + category) % 2)
        truth["annotations"].append({"image_id": image, "category_id": category, "bbox": box, "depth": depth})
        shift, other = int(rng.integers(0, 45)), rng.random() < 0.3
        row = {"category_id": 3 - category if other else category, "bbox": [shift, *box[1:]], "depth": depth}
        detections.append({"image_id": image, "score": rng.random()} | row)
    truth["images"] = [{"id": image, "weather": "fog" if image % 2 else "sun"} for image in range(N)]
    return truth, detections


def with_copies(n_copies: Sequence[int]) -> apf.Evaluation:
    """The set with so many copies of each image, judged by the area under the envelope."""
    truth, detections = small_set()
    copies = [(old, 1000 * old + copy) for old in range(N) for copy in range(n_copies[old])]

    def rows(of: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_image = [[row for row in of if row["image_id"] == image] for image in range(N)]
        return [row | {"image_id": new} for old, new in copies for row in by_image[old]]

    images = [truth["images"][old] | {"id": new} for old, new in copies]
    annotations = [row | {"id": at} for at, row in enumerate(rows(truth["annotations"]))]
    return apf.evaluate(truth | {"images": images, "annotations": annotations}, rows(detections), "voc2012")


@pytest.mark.slow
def test_errors_follow_from_one_more_copy() -> None:
    """The standard errors are those of derivatives: the rise with one more copy of an image, where there are many of each.

    Where precisions are equal, the envelope has a kink, and the derivative is another one on either side.
    """
    keys = [keys_of(with_copies([1] * N).error_impact(by=by)) for by in BY]

    def rises(evaluation: apf.Evaluation) -> list[np.ndarray]:
        return [evaluation.error_impact(by=by).sort(own)["delta_ap"].to_numpy() for by, own in zip(BY, keys, strict=True)]

    many = 60
    before = rises(with_copies([many] * N))
    more = [rises(with_copies([many + (image == one) for image in range(N)])) for one in range(N)]
    tables = [with_copies([1] * N).error_impact(by=by, intervals=True) for by in BY]
    for place, (table, own) in enumerate(zip(tables, keys, strict=True)):
        influence = np.array([each[place] - before[place] for each in more]) * many
        n = N if "weather" not in own else N / 2
        expected = np.sqrt(n / (n - 1) * (influence**2).sum(axis=0))
        got = table.sort(own)["se"].to_numpy()
        has_value = np.isfinite(got)
        assert has_value.sum() > len(got) / 2
        np.testing.assert_allclose(got[has_value], expected[has_value], rtol=0.05, atol=8e-3)
        assert np.median(np.abs(got[has_value] - expected[has_value])) < 1e-3


@pytest.mark.slow
def test_the_other_columns_stay(a: apf.Evaluation) -> None:
    table, plain = a.error_impact(intervals=True), a.error_impact()
    assert_frame_equal(table.drop("low", "high", "se"), plain)
    half = pl.col("se") * t.ppf(0.975, 299)
    ends = table.select(low=pl.col("delta_ap") - half, high=pl.col("delta_ap") + half)
    assert_frame_equal(table.select("low", "high"), ends)
    assert table["se"].null_count() == 0
    assert table.columns[-3:] == ["low", "high", "se"]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["weather", apf.bins("occlusion", [0, 0.3, 1]), "supercategory"])
def test_slices(a: apf.Evaluation, by: Any) -> None:
    table, plain = a.error_impact(by=by, intervals=True), a.error_impact(by=by)
    assert_frame_equal(table.drop("low", "high", "se"), plain)
    if by == "weather":
        clear = a.where("weather = 'clear'").error_impact(intervals=True).filter(pl.col("category_id").is_null())
        of_slice = table.filter(weather="clear")
        assert_frame_equal(of_slice.select("delta_ap", "low", "high"), clear.select("delta_ap", "low", "high"))
    assert table["low"].count() > 0


def test_options_that_cannot_be(a: apf.Evaluation) -> None:
    with pytest.raises(ParameterError, match="unit: the images have no column 'video'"):
        a.error_impact(intervals=True, unit="video")
    with pytest.raises(ParameterError, match="unit is about intervals; give intervals=True too to get them"):
        a.error_impact(unit="city")


@pytest.mark.slow
def test_units_and_strata(a: apf.Evaluation) -> None:
    """Images of a unit count together; differences between strata do not count. The rises stay."""
    plain, united, stratified = (
        a.error_impact(intervals=True, **options) for options in ({}, {"unit": "weather"}, {"within": "weather"})
    )
    assert plain["delta_ap"].equals(united["delta_ap"]) and plain["delta_ap"].equals(stratified["delta_ap"])
    assert united["se"].null_count() == united.height  # there are four values, fewer than ten units
    assert not stratified["se"].equals(plain["se"])
    np.testing.assert_allclose(stratified["se"].head(8), plain["se"].head(8), rtol=0.1)


@pytest.mark.slow
def test_without_a_derivative_there_are_no_intervals() -> None:
    table = apf.evaluate("data/street/instances.json", "data/street/model_a.json", "voc2007").error_impact(intervals=True)
    assert table["delta_ap"].count() > 0
    assert table.select("low", "high", "se").null_count().row(0) == (table.height,) * 3

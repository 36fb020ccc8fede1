"""The tables that sections share."""

from __future__ import annotations

import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.report.compared import Compared


@pytest.mark.slow
def test_tables_are_those_of_compare(pair: Compared, models: list[apf.Evaluation]) -> None:
    a, b = models
    assert_frame_equal(pair.overall, a.compare(b), abs_tol=1e-12)
    wanted = a.compare(b, level="category")
    assert_frame_equal(pair.by_category.drop("n_positives"), wanted, abs_tol=1e-12)
    weather = pair.by_key("weather")
    assert_frame_equal(weather.drop("n_images", "n_annotations"), a.compare(b, by="weather", metrics="AP"), abs_tol=1e-12)
    assert weather["n_images"].sum() == 300


def test_positives_are_those_of_the_metrics(one: Compared) -> None:
    assert one.by_category.filter(metric="AP")["n_positives"].sum() == one.first.by()["n_annotations"].item()
    assert one.iou_threshold == 0.5 and one.metric == "AP"

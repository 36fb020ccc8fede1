"""The tables that sections share."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.report.compared import Compared


@pytest.mark.slow
def test_tables_are_those_of_compare(pair: Compared, models: list[apf.Evaluation]) -> None:
    a, b = models
    assert pair.overall.equals(a.compare(b, n_resamples=500))
    wanted = a.compare(b, level="category", n_resamples=500)
    assert pair.by_category.drop("n_positives").equals(wanted)
    weather = pair.by_key("weather")
    assert weather.drop("n_images", "n_annotations").equals(a.compare(b, by="weather", metrics="AP", n_resamples=500))
    assert weather["n_images"].sum() == 300


def test_positives_are_those_of_the_metrics(one: Compared) -> None:
    assert one.by_category.filter(metric="AP")["n_positives"].sum() == one.first.by()["n_annotations"].item()
    assert one.iou_threshold == 0.5 and one.metric == "AP"

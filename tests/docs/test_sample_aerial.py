"""The sample set of aerial images: what it shows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf

DATA = Path(__file__).parents[2] / "data"
AERIAL = DATA / "aerial"


@pytest.mark.slow
def test_sample_is_as_described() -> None:
    truth, detections = AERIAL / "visdrone" / "annotations", AERIAL / "visdrone" / "results"
    weighted, plain = (apf.evaluate(truth, detections, name) for name in ("visdrone", "visdrone_mean"))
    assert abs(weighted["AP"] - plain["AP"]) > 0.005
    regions = pl.col("category_id") == 0
    assert not apf.read_dataset(truth).annotations.filter(regions).is_empty()
    assert weighted.detections.height < apf.read_results(detections).height  # some are in the regions
    pytest.importorskip("shapely", reason="rotated boxes are compared with shapely")
    labels, results = AERIAL / "dota" / "labelTxt", AERIAL / "dota" / "results"
    values = {name: apf.evaluate(labels, results, name)["AP"] for name in ("dota", "dota_v1", "dota_v15", "mmrotate")}
    assert values["dota"] > 0.5 and values["dota_v1"] == pytest.approx(values["dota"] * 3 / 15, abs=1e-12)
    assert values["dota_v15"] < values["dota_v1"] and values["mmrotate"] != values["dota"]

"""Numbers of one image, without intervals."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.estimates import estimates
from apframe.report.write import about, sections_of
from tests.protocols.test_protocol_values import ONE_HIT, ONE_OF_TWO, TINY

ALONE = ONE_OF_TWO | {"images": ONE_OF_TWO["images"][:1], "annotations": ONE_OF_TWO["annotations"][:1]}


def models(n: int, **options: object) -> list[apf.Evaluation]:
    found = ONE_HIT[:1]
    return [apf.evaluate(ALONE, each, **options) for each in ([], found, found)[:n]]  # type: ignore[arg-type]


def test_numbers_are_those_of_the_evaluations() -> None:
    table = estimates(models(3), ["a", "b", "c"], ["AP", "AP50"], level="both")
    means = table.filter(pl.col("name").is_null())
    assert means.select("metric", "run_a", "run_b", "estimate_a", pl.col("estimate_b", "difference").round(12)).rows() == [
        (metric, "a", run, 0.0, 1.0, 1.0) for run in "bc" for metric in ("AP", "AP50")
    ]
    assert table.filter(name="cat", metric="AP", run_b="b")["difference"].round(12).to_list() == [1.0]
    assert table.filter(name="dog")["estimate_b"].null_count() == 4
    one = estimates(models(1), ["a"], ["AP"], ["weather"])
    assert one.select("weather", "metric", "estimate", "low").rows() == [("fog", "AP", 0.0, None)]


@pytest.mark.slow
def test_every_section_can_be_made_of_one_image() -> None:
    for n in (1, 2, 3):
        made = {each.key: each for each in sections_of(about(models(n), None, "weather"))}
        assert made["better"].notes[0] == "Intervals need two images or more."
    protocol, options, *_ = TINY["proposals"]
    pooled = about(models(2, protocol=protocol, **options), None, ())
    assert [each.key for each in sections_of(pooled)][:3] == ["what", "better", "where"]

"""The section of the report: thresholds."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.section import Chart, Details, Table
from apframe.report.sections import thresholds
from tests.report.sections.test_kinds import of
from tests.rule_sets.test_protocol_values import ONE_HIT, ONE_OF_TWO, TINY, tiny


def test_counts_are_those_of_operating_points(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = thresholds.section(pair)
    tables = [block for block in section.blocks if isinstance(block, Table)]
    columns = ["tp", "fp", "fn", "precision", "recall", "f1"]
    for name, each in zip(pair.names, models, strict=True):
        shown = tables[0].frame.filter(model=name)
        for score in (0.1, 0.3, 0.5, 0.7, 0.9):
            wanted = each.operating_points(f"score>={score}", 0.5, per_category=False)
            assert shown.filter(pl.col("score") == score).select(columns).rows() == wanted.select(columns).rows()
        best = each.operating_points("f1", 0.5, per_category=False)
        assert (
            shown.filter(pl.col("choice") != "").select("score", *columns).rows()
            == best.select("score_threshold", *columns).rows()
        )
    assert f"F1 is largest, {best['f1'][0]:.3f}" in section.sentences[1]


def test_every_category_has_its_best_score(pair: Compared, models: list[apf.Evaluation]) -> None:
    details = [block for block in thresholds.section(pair).blocks if isinstance(block, Details)]
    table = details[0].blocks[0]
    assert isinstance(table, Table)
    for number, each in enumerate(models):
        assert table.frame[f"f1 {number}"].to_list() == each.operating_points("f1", 0.5)["f1"].to_list()


def test_curves_have_at_most_101_points(pair: Compared) -> None:
    chart = next(block for block in thresholds.section(pair).blocks if isinstance(block, Chart))
    paths = chart.svg.split('class="curve')[1:]
    assert len(paths) == 8
    assert all(path.partition('"/')[0].split("</path>")[0].count("L") <= 100 for path in paths)
    assert len(chart.svg) < 20_000


@pytest.mark.parametrize("name", TINY)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        assert thresholds.section(of(tiny(name), tiny(name))).blocks


def test_nothing_to_choose_from() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        nothing = thresholds.section(of(apf.evaluate(ONE_OF_TWO, [])))
        no_truth = thresholds.section(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)))
    assert nothing.sentences == ("There are no detections to choose from.",)
    assert no_truth.sentences == []

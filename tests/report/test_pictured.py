"""The rows that cards are about, their cells in the matrix, and which of them are chosen."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import apframe as apf
from apframe.protocols.coco import COCO
from apframe.protocols.headlines import size_ranges
from apframe.report.compared import Compared
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_error_types import of


def test_counts_are_those_of_the_file(pair: Compared) -> None:
    rows = pair.rows
    errors = rows.table().filter(pl.col("error").is_not_null())
    assert rows.keys == ["weather", "area"] and rows.errors.height == errors.height
    for columns in (["name"], ["weather"], ["name", "weather"], ["area"]):
        table = errors
        for key in {*columns} & {*rows.keys}:
            table = table.explode(key)
        expected = table.select(columns).drop_nulls().group_by(columns).len()
        assert rows.counts(*columns) == {tuple(values): n for *values, n in expected.iter_rows()}


def test_each_error_of_a_model_is_in_one_row_of_it(pair: Compared, models: list[apf.Evaluation]) -> None:
    """A missed annotation has one row for both models only if both have it as an error `miss`."""
    rows = pair.rows.table().explode("model").drop_nulls("error")
    for name, each in zip(pair.names, models, strict=True):
        expected = each.errors(0.5).select(pl.col("error").cast(pl.String), "detection_id", "annotation_id")
        assert sorted(rows.filter(model=name).select(expected.columns).rows(), key=str) == sorted(expected.rows(), key=str)


def test_every_stay_is_in_exactly_one_row(pair: Compared) -> None:
    cells = pair.cells
    assert cells is not None
    columns = ["true", "found", "score_from", "score_to", "is_first"]
    table = pair.rows.table()
    for name, stays in zip(pair.names, pair.matrix.stays, strict=True):
        own = cells.filter(model=name)
        assert own.height == stays.height
        assert sorted(own.select(columns).rows()) == sorted(stays.select(columns).rows())
        rows = table[own["row"]]
        assert rows["model"].list.contains(name).all()
        # a detection is there up to its score, and a missed annotation from the score of its true positive on
        assert rows.filter(own["found"] != "missed")["detection_id"].null_count() == 0
        assert (rows.filter(own["found"] == "missed")["outcome"] != "fp").all()


def test_cells_at_the_operating_point_are_those_of_the_matrix(pair: Compared) -> None:
    assert pair.cells is not None
    for k, name in enumerate(pair.names):
        n = pair.cells.filter("is_first", model=name).group_by("true", "found").len()
        for true, found, count in n.iter_rows():
            row, column = pair.matrix.rows.index(true), pair.matrix.columns.index(found)
            assert pair.matrix.counts[k][row, column, 0] == count


@pytest.mark.slow
def test_each_error_type_and_category_has_a_card(pair: Compared) -> None:
    few = replace(pair, max_images=60)
    for compared, most in ((few, 60), (pair, 300)):
        chosen, errors = compared.chosen, compared.rows.errors
        assert chosen.height == most and chosen["row"].is_unique().all()
        for columns in (["kind", "model"], ["change"], ["name"]):
            expected = set(errors.select(columns).drop_nulls().rows())
            assert expected <= set(chosen.drop_nulls("kind").select(columns).rows()), (most, columns)


@pytest.mark.slow
def test_marks_of_the_page_have_cards(pair: Compared) -> None:
    """With 300 cards each slice, cell of the matrix and image that is shown one by one has some."""
    rows = pair.rows.table()[pair.chosen["row"]]
    weather = rows.drop_nulls("error").explode("weather")["weather"].unique().sort().to_list()
    assert weather == ["clear", "fog", "rain", "snow"] and set(rows["outcome"]) == {"tp", "fp", "fn"}
    assert pair.cells is not None
    now = pair.cells.filter("is_first")
    expected = set(now.select("model", "true", "found").rows())
    assert expected == set(
        now.filter(pl.col("row").is_in(pair.chosen["row"].implode())).select("model", "true", "found").rows()
    )
    assert set(pair.worst_images["image_id"].head(24)) <= set(pair.chosen.drop_nulls("kind")["image_id"])


@pytest.mark.slow
def test_few_cards_are_of_the_first_marks(pair: Compared) -> None:
    chosen = replace(pair, max_images=3).chosen
    assert chosen.height == 3 and chosen["kind"].null_count() == 0
    assert chosen.select("kind", "model").is_unique().all()


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_its_rows_and_cells(name: str) -> None:
    compared = of(tiny(name), tiny(name))
    assert compared.chosen.height == compared.rows.frame.height  # there are few
    if compared.cells is not None:
        n = sum(stays.height for stays in compared.matrix.stays)
        assert compared.cells.height == n


def test_keys_of_sizes_need_ranges_that_follow_on() -> None:
    assert [each.name for each in size_ranges(COCO)] == ["small", "medium", "large"]
    assert size_ranges(tiny("kitti").protocol) == []

"""The section of the report: label errors."""

from __future__ import annotations

import polars as pl

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Table
from apframe.report.sections import labels
from tests.report.sections.test_kinds import of


def test_candidates_are_those_of_label_errors(one: Compared, models: list[apf.Evaluation]) -> None:
    section = labels.section(one)
    table, cards = section.blocks
    assert isinstance(table, Table) and isinstance(cards, Fragment)
    wanted = models[0].label_errors(0.5).sort("suspicion", descending=True, maintain_order=True)
    assert table.frame["suspicion"].equals(wanted["suspicion"])
    assert table.frame["file_name"].to_list() == wanted["file_name"].to_list()
    assert cards.markup.count("<article") == wanted.height
    assert "suggested by model_a" in cards.markup


def test_what_both_models_suggest_is_listed_once(pair: Compared, models: list[apf.Evaluation]) -> None:
    table = labels.section(pair).blocks[0]
    assert isinstance(table, Table)
    each = [model.label_errors(0.5).filter(pl.col("annotation_id").is_not_null()) for model in models]
    same = ["kind", "annotation_id", "other_annotation_id"]
    n_distinct = pl.concat([rows.select(same) for rows in each]).unique().height
    assert table.frame.filter(pl.col("labelled").is_not_null()).height == n_distinct


def test_candidates_of_pooled_categories_may_have_none() -> None:
    """The missing annotation that a detection suggests has no category; the pair of annotations has one."""
    box = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1, "width": 200, "height": 90}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": number, "bbox": [0, 0, 50, 50 + number]} | box for number in (1, 2)],
    }
    found = [box | {"bbox": [100, 0, 50, 50], "score": 0.9}, box | {"bbox": [0, 0, 50, 50], "score": 0.9}]
    section = labels.section(of(apf.evaluate(truth, found, agnostic=True)))
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert sorted(table.frame["labelled"].is_null()) == [False, True]

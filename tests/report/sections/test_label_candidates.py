"""The section of the report: label errors."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Table
from apframe.report.sections import label_candidates
from tests.report.sections.test_error_types import of


def once(rows: pl.DataFrame) -> pl.DataFrame:
    """The candidates without those about the same annotations, whichever of a pair comes first."""
    seen: set[object] = set()
    kept = []
    for kind, *ids in rows.select("kind", "annotation_id", "other_annotation_id", "detection_id").iter_rows():
        key = (kind, frozenset(ids[:2])) if ids[0] is not None else (kind, ids[2])
        kept.append(key not in seen or ids[0] is None)
        seen.add(key)
    return rows.filter(pl.Series(kept))


@pytest.mark.slow
def test_candidates_are_those_of_label_errors(one: Compared, models: list[apf.Evaluation]) -> None:
    section = label_candidates.section(one)
    table, cards = section.blocks
    assert isinstance(table, Table) and isinstance(cards, Fragment)
    expected = once(models[0].label_errors(0.5).sort("suspicion", descending=True, maintain_order=True))
    assert table.frame["suspicion"].equals(expected["suspicion"])
    assert table.frame["file_name"].to_list() == expected["file_name"].to_list()
    assert cards.markup.count("<article") == expected.height
    n_of = dict(expected.group_by("kind").len().rows())
    links = table.links["kind"]
    assert [mark and (mark.section, mark.selection["kind"], mark.n) for mark in links] == [
        ("labels", kind, n_of[kind]) for kind in expected["kind"]
    ]
    assert "suggested by model_a" in cards.markup
    assert "data-values=" in cards.markup and "data-rows=" not in cards.markup.partition('class="cards"')[0], (
        "no rows but cards"
    )


@pytest.mark.slow
def test_what_both_models_suggest_is_listed_once(pair: Compared, models: list[apf.Evaluation]) -> None:
    table = label_candidates.section(pair).blocks[0]
    assert isinstance(table, Table)
    each = [model.label_errors(0.5).filter(pl.col("annotation_id").is_not_null()) for model in models]
    n_distinct = once(pl.concat(each)).height
    assert table.frame.filter(pl.col("labelled").is_not_null()).height == n_distinct


@pytest.mark.slow
def test_candidates_of_pooled_categories_may_have_none() -> None:
    """The missing annotation that a detection suggests has no category; the pair of annotations has one."""
    box = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1, "width": 200, "height": 90}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": number, "bbox": [0, 0, 50, 50 + number]} | box for number in (1, 2)],
    }
    detections = [box | {"bbox": [100, 0, 50, 50], "score": 0.9}, box | {"bbox": [0, 0, 50, 50], "score": 0.9}]
    section = label_candidates.section(of(apf.evaluate(truth, detections, agnostic=True)))
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert sorted(table.frame["labelled"].is_null()) == [False, True]


@pytest.mark.slow
def test_a_pair_of_annotations_is_one_candidate_with_one_label() -> None:
    """Nobody finds either of them, so each is the duplicate of the other one; they have different categories."""
    box = {"image_id": 1, "bbox": [10, 10, 50, 50]}
    truth = {
        "images": [{"id": 1, "width": 200, "height": 90}],
        "categories": [{"id": 1, "name": "rider"}, {"id": 2, "name": "pedestrian"}],
        "annotations": [{"id": number, "category_id": number} | box for number in (1, 2)],
    }
    models = [apf.evaluate(truth, []), apf.evaluate(truth, [])]
    assert models[0].label_errors(0.5).height == 2
    table, cards = label_candidates.section(of(*models)).blocks
    assert isinstance(table, Table) and isinstance(cards, Fragment)
    assert table.frame.height == cards.markup.count("<article") == 1
    assert "<strong>rider also annotated as pedestrian</strong>" in cards.markup
    assert "missed by model_0, similarity 1.000 to the other annotation" in cards.markup
    assert cards.markup.count("<title>") == 2
    assert cards.markup.count("<text") == 3, "on the card, and once it is opened, on wide screens and on narrow ones"

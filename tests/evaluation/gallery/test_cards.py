"""Which errors are shown, of one model and of two."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.evaluation.gallery.cards import by_score, choose_cards, find_cards, find_rows, marks_by, of_model
from tests.conformance.tiny import ELSEWHERE, ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny

STREET = Path(__file__).parents[3] / "data" / "street"


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


@pytest.mark.slow
def test_cards_of_one_model_are_its_errors(models: list[apf.Evaluation]) -> None:
    cards, errors = find_cards(models[:1], 0.5), models[0].errors(0.5)
    assert cards["detection_id"].equals(errors["detection_id"])
    assert cards["kind"].to_list() == errors["error"].cast(pl.String).to_list()
    assert cards["change"].null_count() == cards.height


@pytest.mark.slow
def test_every_object_that_was_lost_or_won_has_a_card(models: list[apf.Evaluation]) -> None:
    cards, changes = find_cards(models, 0.5), models[0].changes(models[1], 0.5)
    for change, model, found in (("lost", "b", "score_a"), ("won", "a", "score_b")):
        rows = cards.filter(change=change)
        expected = changes.filter(change=change)
        assert rows["model"].unique().to_list() == [model]
        assert set(rows["annotation_id"]) == set(expected["annotation_id"])
        scores = rows.unique("annotation_id").sort("annotation_id")["found_score"]
        assert scores.equals(expected.sort("annotation_id")[found].alias("found_score"))
    # a false positive about an object that was lost or won is called by that
    added = changes.filter(change="fp_added")["detection_id_b"]
    assert set(cards.filter(change="added")["detection_id"]) <= set(added)
    assert set(added) <= set(cards.filter(pl.col("change").is_in(["added", "lost"]), model="b")["detection_id"])


@pytest.mark.slow
def test_annotations_that_both_missed_have_one_card(models: list[apf.Evaluation]) -> None:
    cards, missed = find_cards(models, 0.5), models[0].changes(models[1], 0.5).filter(change="missed")
    both = cards.filter(kind="miss", change="both")
    assert both["annotation_id"].is_unique().all() and set(both["annotation_id"]) <= set(missed["annotation_id"])
    of_each = [set(each.errors(0.5).filter(error="miss")["annotation_id"]) for each in models]
    assert set(both.filter(model="a")["annotation_id"]) >= of_each[0] & of_each[1]


@pytest.mark.slow
def test_every_mark_has_its_turn(models: list[apf.Evaluation]) -> None:
    cards = by_score(find_cards(models, 0.5)).with_row_index("number")
    groups = ["kind", "change", "model"]
    marks = [marks_by(cards, *groups), marks_by(cards, *groups, "category_id")]
    n_groups = cards.select(groups).unique().height
    assert choose_cards(cards, marks, n_groups).select(groups).unique().height == n_groups
    few = choose_cards(cards, marks, 100)
    assert few.height == 100 and few["number"].is_unique().all()
    # within a type, a category that has an error comes before the second error of another one
    for keys, rows in few.group_by(groups):
        of_all = cards.filter(pl.col(name).eq_missing(pl.lit(key)) for name, key in zip(groups, keys, strict=True))
        assert rows["category_id"].n_unique() == min(rows.height, of_all["category_id"].n_unique())
    assert choose_cards(cards, marks, 10**6).height == cards.height
    again = [marks_by(by_score(find_cards(models, 0.5)), *columns) for columns in (groups, [*groups, "category_id"])]
    assert choose_cards(cards, again, 300).equals(choose_cards(cards, marks, 300))


@pytest.mark.slow
def test_cards_have_the_highest_scores_of_their_mark(models: list[apf.Evaluation]) -> None:
    """A mark has as many cards as there were turns, or all that it has."""
    cards = by_score(find_cards(models[:1], 0.5)).with_row_index("number")
    n_kinds = cards["kind"].n_unique()
    chosen = choose_cards(cards, [marks_by(cards, "kind")], 3 * n_kinds)
    for (kind,), rows in chosen.group_by("kind"):
        assert rows["number"].sort().to_list() == cards.filter(kind=kind)["number"].head(3).to_list()


def test_many_categories_do_not_hide_an_error_type() -> None:
    """1,000 categories with false positives of high scores, and one rare type with low ones."""
    n = 1_000
    rows = {"kind": ["bkg"] * n + ["dupe", "miss"], "category_id": [*range(n), 0, 0], "score": [0.9] * n + [0.1, None]}
    cards = by_score(pl.DataFrame(rows).with_columns(found_score=pl.lit(None)))
    marks = [marks_by(cards, "kind"), marks_by(cards, "category_id")]
    assert choose_cards(cards, marks, 3)["kind"].to_list() == ["bkg", "dupe", "miss"]
    assert choose_cards(cards, marks, 300)["kind"].n_unique() == 3


def test_rows_of_several_marks_and_of_none() -> None:
    """One card may be enough for two marks; rows without a mark are not chosen."""
    cards = pl.DataFrame({"kind": ["cls", "cls", None], "name": ["cat", "dog", None]})
    marks = [marks_by(cards, "kind"), marks_by(cards, "name")]
    assert marks[0]["row"].to_list() == [0, 1]
    assert choose_cards(cards, marks, 1)["name"].to_list() == ["cat"]
    assert choose_cards(cards, marks, 10)["name"].to_list() == ["cat", "dog"]
    assert choose_cards(cards, marks, 0).height == 0


def test_found_scores_count_and_missing_ones_come_last() -> None:
    rows = pl.DataFrame({"score": [0.2, None, None], "found_score": [None, 0.9, None]})
    assert by_score(rows.with_row_index("n"))["n"].to_list() == [1, 0, 2]


@pytest.mark.slow
def test_rows_are_all_that_was_matched(models: list[apf.Evaluation]) -> None:
    """Each true positive, false positive and missed annotation of a model is in exactly one row of it."""
    rows = find_rows(models, 0.5)
    for model, each in zip("ab", models, strict=True):
        matches, own = each.matches(0.5), rows.filter(of_model(model))
        for outcome, name in (("tp", "detection_id"), ("fp", "detection_id"), ("fn", "annotation_id")):
            ids = own.filter(outcome=outcome)[name]
            assert ids.is_unique().all() and set(ids) == set(matches.filter(outcome=outcome)[name])
        n_of = dict(each.errors(0.5)["error"].cast(pl.String).value_counts().rows())
        assert dict(own.drop_nulls("kind")["kind"].cast(pl.String).value_counts().rows()) == n_of


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_error_has_one_card(name: str) -> None:
    """Also where copies of annotations stand for categories above theirs."""
    models = [tiny(name), tiny(name)]
    threshold = models[0].protocol.iou_thresholds[0]
    errors = models[0].errors(threshold)
    assert find_cards(models, threshold).height == 2 * errors.height - errors.filter(error="miss").height  # missed by both


def test_categories_without_a_name_are_called_by_their_id() -> None:
    nameless = ONE_OF_TWO | {"categories": [{"id": 1}, {"id": 2, "name": "dog"}]}
    cards = find_cards([apf.evaluate(nameless, [ONE_HIT[0] | {"category_id": 2}, ONE_HIT[0] | {"bbox": ELSEWHERE}])], 0.5)
    assert cards.select("kind", "name", "target_name").rows() == [
        ("bkg", "category 1", None),
        ("cls", "dog", "category 1"),
        ("miss", "dog", "dog"),
    ]

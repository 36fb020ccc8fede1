"""Which errors are shown, of one model and of two."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.detection.look.cards import choose_cards, find_cards
from tests.rule_sets.test_protocol_values import ELSEWHERE, ONE_HIT, ONE_OF_TWO, TINY, tiny

STREET = Path(__file__).parents[3] / "data" / "street"


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


def test_cards_of_one_model_are_its_errors(models: list[apf.Evaluation]) -> None:
    cards, errors = find_cards(models[:1], 0.5), models[0].errors(0.5)
    assert cards["detection_id"].equals(errors["detection_id"])
    assert cards["kind"].to_list() == errors["error"].cast(pl.String).to_list()
    assert cards["change"].null_count() == cards.height


def test_every_object_that_was_lost_or_won_has_a_card(models: list[apf.Evaluation]) -> None:
    cards, changes = find_cards(models, 0.5), models[0].changes(models[1], 0.5)
    for change, model, found in (("lost", "b", "score_a"), ("won", "a", "score_b")):
        rows = cards.filter(change=change)
        wanted = changes.filter(change=change)
        assert rows["model"].unique().to_list() == [model]
        assert set(rows["annotation_id"]) == set(wanted["annotation_id"])
        scores = rows.unique("annotation_id").sort("annotation_id")["found_score"]
        assert scores.equals(wanted.sort("annotation_id")[found].alias("found_score"))
    # a false positive about an object that was lost or won is called by that
    added = changes.filter(change="fp_added")["detection_id_b"]
    assert set(cards.filter(change="added")["detection_id"]) <= set(added)
    assert set(added) <= set(cards.filter(pl.col("change").is_in(["added", "lost"]), model="b")["detection_id"])


def test_every_kind_and_category_has_its_turn(models: list[apf.Evaluation]) -> None:
    cards = find_cards(models, 0.5)
    groups = ["model", "change", "kind", "category_id"]
    n_groups = cards.select(groups).unique().height
    chosen = choose_cards(cards, n_groups)
    assert chosen.select(groups).unique().height == n_groups
    best = cards.group_by(groups).agg(pl.col("score").max())
    assert chosen.select(*groups, "score").sort(groups).equals(best.sort(groups))
    assert choose_cards(cards, 10**6).height == cards.height
    assert choose_cards(find_cards(models, 0.5), 300).equals(choose_cards(cards, 300))


@pytest.mark.parametrize("name", TINY)
def test_every_error_has_one_card(name: str) -> None:
    """Also where copies of annotations stand for categories above theirs."""
    models = [tiny(name), tiny(name)]
    threshold = models[0].protocol.iou_thresholds[0]
    assert find_cards(models, threshold).height == 2 * models[0].errors(threshold).height


def test_categories_without_a_name_are_called_by_their_id() -> None:
    nameless = ONE_OF_TWO | {"categories": [{"id": 1}, {"id": 2, "name": "dog"}]}
    cards = find_cards([apf.evaluate(nameless, [ONE_HIT[0] | {"category_id": 2}, ONE_HIT[0] | {"bbox": ELSEWHERE}])], 0.5)
    assert cards.select("kind", "name", "target_name").rows() == [
        ("bkg", "category 1", None),
        ("cls", "dog", "category 1"),
        ("miss", "dog", "dog"),
    ]

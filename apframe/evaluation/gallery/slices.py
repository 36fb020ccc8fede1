"""The slices that errors are in, so that their cards can be filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.gallery.cards import MODELS
from apframe.evaluation.slices.keys import SEVERAL, make_keys
from apframe.rows import KEY_OF
from apframe.tables.conditions import columns_of

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.evaluation.slices.keys import Key, SliceKey
    from apframe.tables.conditions import Masks, Tables

NOTHING = "–"  # what the slice of null is called


@dataclass(frozen=True, eq=False)
class CardSlices:
    """A key of slices, what its slices are called in their order, and a list of those of each card."""

    name: str
    values: Sequence[str]
    of_cards: pl.Series


def slices_of_cards(
    evaluations: Sequence[Evaluation], cards: pl.DataFrame, keys: Sequence[SliceKey | Sequence[SliceKey]]
) -> list[CardSlices]:
    """The slices of each card, for every key that `Evaluation.by` takes, each once.

    A card is in the slices of its image and of its category. By a key of the objects it is in those of the detection, and where
    there is none, or detections do not carry the key, in those of the annotation that the error is about. It may be in several
    slices of a key, and in none. In a named slice about several tables are the cards that are inside by each of them.

    Parameters
    ----------
    evaluations
        those that `cards` is about
    cards
        model, image_id, category_id, detection_id and annotation_id
    keys
        as in `by`; a list stands for the combinations of its keys, which are taken one by one
    """
    tables = [_tables(each) for each in evaluations]
    of_models = [cards.with_row_index("card").filter(model=model) for model in MODELS[: len(tables)]]
    found: list[CardSlices] = []
    for key in keys:
        for made in zip(*(make_keys([key], each) for each in tables), strict=True):  # one key, of each model
            parts = [_slices(*each) for each in zip(made, tables, of_models, strict=True)]
            lists = pl.concat(parts).group_by("card", maintain_order=True).agg("value")
            lists = cards.select(card=pl.int_range(pl.len(), dtype=pl.UInt32)).join(
                lists, on="card", how="left", maintain_order="left"
            )
            names = list(dict.fromkeys(name for each in made for name in _names(each)))
            new = CardSlices(made[0].name, names, lists["value"].fill_null([]))
            if (new.name, new.values) not in [(each.name, each.values) for each in found]:
                found.append(new)
    return found


def _tables(self: Evaluation) -> Tables:
    return self._source.tables()


def _slices(key: Key, tables: Tables, cards: pl.DataFrame) -> pl.DataFrame:
    """card and value: the slices of the cards of one model."""
    if key.table == SEVERAL:
        parts = [
            _inside_all(masks, tables, cards).with_columns(code=pl.lit(code)) for code, masks in enumerate(key.masks.values())
        ]
        rows = pl.concat(parts).sort("card", "code")
    else:
        rows = _codes(key.members, tables, cards)
    return rows.select("card", value=_names(key).gather(rows["code"]))


def _inside_all(masks: Masks, tables: Tables, cards: pl.DataFrame) -> pl.DataFrame:
    """card: those that meet the conditions of each table of a named slice."""
    inside = cards.select("card")
    for owners in masks.values():
        members = {owner: mask.arg_true().to_frame("row").with_columns(code=pl.lit(0)) for owner, mask in owners.items()}
        inside = inside.join(_codes(members, tables, cards), on="card", how="semi")
    return inside


def _codes(all_members: Mapping[str, pl.DataFrame], tables: Tables, cards: pl.DataFrame) -> pl.DataFrame:
    """card and code, by the rows of the tables that carry a key."""
    parts = []
    for table, members in all_members.items():
        is_second = table == "annotations" and "detections" in all_members
        rows = cards.filter(pl.col("detection_id").is_null()) if is_second else cards
        ids = columns_of(tables[table], KEY_OF[table]).with_row_index("row")
        rows = rows.select("card", KEY_OF[table]).join(ids, on=KEY_OF[table])
        parts.append(rows.join(members.cast({"row": pl.UInt32}), on="row").select("card", "code"))
    return pl.concat(parts).unique().sort("card", "code")


def _names(key: Key) -> pl.Series:
    return key.values.cast(pl.String).fill_null(NOTHING)

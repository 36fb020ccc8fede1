"""The slices of errors, for filters of their cards."""

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
    from apframe.protocols.ranges import AreaRange
    from apframe.tables.conditions import Masks, Tables

_OF_CARDS = ("images", "categories", "annotations", "detections")
NOTHING = "–"  # the name of the slice of null


@dataclass(frozen=True, eq=False)
class CardSlices:
    """A key of slices, the names of its slices in their order, and the cards of each slice as card and value."""

    name: str
    values: Sequence[str]
    members: pl.DataFrame

    def lists(self, cards: pl.Series) -> pl.Series:
        """Return the slices of some cards, by their numbers, as one list each."""
        rows = cards.cast(pl.UInt32).alias("card").to_frame()
        own = self.members.filter(pl.col("card").is_in(rows["card"].implode()))
        lists = own.group_by("card", maintain_order=True).agg("value")
        return rows.join(lists, on="card", how="left", maintain_order="left")["value"].fill_null([])


def slices_of_cards(
    evaluations: Sequence[Evaluation], cards: pl.DataFrame, keys: Sequence[SliceKey | Sequence[SliceKey]]
) -> list[CardSlices]:
    """Return the slices of cards, for every key that `Evaluation.by` accepts, each once.

    A card is in the slices of its image and of its category. For a key of the objects it is in the slices of the detection;
    without a detection, or if detections do not have the key, in those of the annotation that the error is about. It may be in
    several slices of a key, or in none. A named slice about several tables contains the cards that meet the conditions of each
    of them.

    Parameters
    ----------
    evaluations
        the evaluations of `cards`
    cards
        model, image_id, category_id, detection_id and annotation_id
    keys
        as in `by`; a list stands for the combinations of its keys, which are used one by one
    """
    tables = [_tables(each) for each in evaluations]
    ids = cards.with_row_index("card").select("card", "model", *(KEY_OF[name] for name in _OF_CARDS))
    of_models = [ids.filter(model=model) for model in MODELS[: len(tables)]]
    slices: list[CardSlices] = []
    for key in keys:
        for keys_of_models in zip(*(make_keys([key], each) for each in tables), strict=True):  # one key, of each model
            parts = [_slices(*each) for each in zip(keys_of_models, tables, of_models, strict=True)]
            names = list(dict.fromkeys(name for each in keys_of_models for name in _names(each)))
            new = CardSlices(keys_of_models[0].name, names, pl.concat(parts))
            if (new.name, new.values) not in [(each.name, each.values) for each in slices]:
                slices.append(new)
    return slices


def size_slices(evaluations: Sequence[Evaluation], cards: pl.DataFrame, ranges: Sequence[AreaRange]) -> list[CardSlices]:
    """Return slices by the size of objects: by the area of the detection, or of the missed annotation.

    The result equals that of `slices_of_cards` for a key of bins of the area, in a quarter of the time. `ranges` must be
    adjacent. Without any, or if a table has no areas, there are no slices.
    """
    ids = cards.with_row_index("card").select("card", "model", "detection_id", "annotation_id")
    parts = [_areas(each, ids.filter(model=letter)) for letter, each in zip(MODELS, evaluations, strict=False)]
    existing = [each for each in parts if each is not None]
    if not ranges or len(existing) < len(parts):
        return []
    areas = pl.concat(existing)
    code = areas.select(pl.sum_horizontal((pl.col("area") >= each.low).cast(pl.UInt32) for each in ranges[1:])).to_series()
    names = pl.Series([each.name for each in ranges])
    return [CardSlices("area", names.to_list(), areas.select("card", value=names.gather(code)))]


def _areas(self: Evaluation, cards: pl.DataFrame) -> pl.DataFrame | None:
    """Return card and area of the cards of one model; None if there are no areas."""
    detections, annotations = self._inputs.detections, self._inputs.annotations
    if "area" not in detections.columns or "area" not in annotations.columns:
        return None
    missed = cards.filter(pl.col("detection_id").is_null())
    of_detections = cards.join(detections.select("detection_id", "area"), on="detection_id")
    return pl.concat(
        each.select("card", pl.col("area").cast(pl.Float64))
        for each in (of_detections, missed.join(annotations.select("annotation_id", "area"), on="annotation_id"))
    )


def _tables(self: Evaluation) -> Tables:
    return self._source.tables()


def _slices(key: Key, tables: Tables, cards: pl.DataFrame) -> pl.DataFrame:
    """Return card and value: the slices of the cards of one model."""
    if key.table == SEVERAL:
        parts = [
            _inside_all(masks, tables, cards).with_columns(code=pl.lit(code)) for code, masks in enumerate(key.masks.values())
        ]
        rows = pl.concat(parts).sort("card", "code")
    else:
        rows = _codes(key.members, tables, cards)
    return rows.select("card", value=_names(key).gather(rows["code"]))


def _inside_all(masks: Masks, tables: Tables, cards: pl.DataFrame) -> pl.DataFrame:
    """Return card of the cards that meet the conditions of each table of a named slice."""
    inside = cards.select("card")
    for owners in masks.values():
        members = {owner: mask.arg_true().to_frame("row").with_columns(code=pl.lit(0)) for owner, mask in owners.items()}
        inside = inside.join(_codes(members, tables, cards), on="card", how="semi")
    return inside


def _codes(all_members: Mapping[str, pl.DataFrame], tables: Tables, cards: pl.DataFrame) -> pl.DataFrame:
    """Return card and code, by the rows of the tables that have a key."""
    parts = []
    for table, members in all_members.items():
        is_second = table == "annotations" and "detections" in all_members
        rows = cards.filter(pl.col("detection_id").is_null()) if is_second else cards
        ids = columns_of(tables[table], KEY_OF[table]).with_row_index("row")
        if members["row"].n_unique() < members.height:  # values of lists
            members = members.unique().sort("row", "code")
        codes = ids.join(members.cast({"row": pl.UInt32}), on="row", maintain_order="right").select(KEY_OF[table], "code")
        parts.append(rows.select("card", KEY_OF[table]).join(codes, on=KEY_OF[table], maintain_order="left_right"))
    columns = [each.select("card", "code") for each in parts]
    return columns[0] if len(columns) == 1 else pl.concat(columns).sort("card", "code")


def _names(key: Key) -> pl.Series:
    return key.values.cast(pl.String).fill_null(NOTHING)

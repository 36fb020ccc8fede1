"""Which errors are shown: of every kind in turn, and within a kind of every category, the highest scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.comparison.changes import changes
from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS, OF_DETECTIONS
from apframe.evaluation.tables import with_labels
from apframe.tables.results import LABEL_ERRORS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

MODELS = ("a", "b")
_PAIR = 2
# of each model: the other one, the changes of objects that it misses and of false positives that it has alone, and their name
_CHANGES = (("a", "b", "won", "fp_removed", "removed"), ("b", "a", "lost", "fp_added", "added"))
_OBJECTS = ("lost", "won")
_LABELS = tuple(LABEL_ERRORS.categories[:4])  # those of one run
_TURNS = ["kind", "change", "model", "category_id"]  # the first ones take turns first
_MODEL, _CHANGE = pl.Enum(MODELS), pl.Enum(["lost", "won", "added", "removed", "both"])


def find_cards(evaluations: Sequence[Evaluation], iou_threshold: float) -> pl.DataFrame:
    """Every error of one model or two, as cards have them. An annotation that both missed is there once, as one of a.

    Returns
    -------
    model ("a" or "b"), kind (see `apframe.error_kinds`), image_id, file_name, category_id, name, detection_id, score (null for
    missed annotations), annotation_id (what the error is about, if anything), target_name (its category), similarity, change,
    found_score. `change` is null for one model. Of a pair it says what b changed: "lost" and "won" are objects, "added" and
    "removed" false positives that only one model has; "both" are annotations that both missed and false positives that both
    have. `found_score` is the score with which the other model found an object that was lost or won.
    """
    tables = [
        each.errors(iou_threshold).select(
            pl.lit(model, _MODEL).alias("model"), pl.col("error").alias("kind"), "image_id", "file_name", "category_id",
            _named("name", "category_id"), "detection_id", "score", "annotation_id",
            _named("target_name", "target_category_id"), "similarity",
        )
        for model, each in zip(MODELS, evaluations, strict=False)
    ]  # fmt: skip
    if len(tables) < _PAIR:
        return tables[0].with_columns(change=pl.lit(None, _CHANGE), found_score=pl.lit(None, pl.Float64))
    changed = changes(evaluations[0], evaluations[1], iou_threshold)
    joined = []
    for (model, other, missed, wrong, named), table in zip(_CHANGES, tables, strict=True):
        rows = changed.filter(change=missed)
        objects = rows.select("annotation_id", of_object=pl.lit(missed, _CHANGE), found_score=f"score_{other}")
        rows = changed.filter(change=wrong)
        detections = rows.select(pl.col(f"detection_id_{model}").alias("detection_id"), of_detection=pl.lit(named, _CHANGE))
        table = table.join(objects, on="annotation_id", how="left", maintain_order="left")
        table = table.join(detections, on="detection_id", how="left", maintain_order="left")
        joined.append(table.with_columns(change=pl.coalesce("of_object", "of_detection", pl.lit("both", _CHANGE))))
    of_a, of_b = (table.drop("of_object", "of_detection") for table in joined)
    is_missed = (pl.col("kind") == "miss") & (pl.col("change") == "both")
    again = of_b.filter(is_missed).join(of_a.filter(is_missed), on="annotation_id", how="semi")
    return pl.concat([of_a, of_b.join(again, on=["kind", "annotation_id"], how="anti", maintain_order="left")])


def choose_cards(cards: pl.DataFrame, most: int) -> pl.DataFrame:
    """At most so many cards: kinds take turns, within a kind changes, then models, then categories, the highest scores first.

    Every kind has cards as long as there are no more kinds than cards, however many categories there are. For objects that the
    other model found, its score counts. Rows without a score come last. Equal scores keep their order.

    >>> cards = {"model": ["a"] * 3, "change": ["both"] * 3, "kind": ["cls", "cls", "loc"], "category_id": [1, 1, 1],
    ...          "score": [0.9, 0.8, 0.1], "found_score": [None] * 3, "detection_id": [1, 2, 3]}
    >>> choose_cards(pl.DataFrame(cards), 2)["detection_id"].to_list()
    [1, 3]
    """
    score = pl.coalesce("score", "found_score").cast(pl.Float64)
    ordered = cards.select(*_TURNS, score=score).with_row_index("row")
    ordered = ordered.sort("score", descending=True, nulls_last=True, maintain_order=True)
    for n in range(len(_TURNS), 0, -1):
        ordered = ordered.with_columns(turn=pl.int_range(pl.len()).over(_TURNS[:n]))
        ordered = ordered.filter(pl.col("turn") < most).sort("turn", maintain_order=True)  # later ones never have their turn
    return cards[ordered["row"].head(most)]


def card_kinds(*, are_two: bool) -> list[str]:
    """The kinds that `cards_of_kind` takes, of one evaluation or of two.

    >>> card_kinds(are_two=False)
    ['cls', 'loc', 'both', 'dupe', 'bkg', 'miss', 'fp', 'fn', 'missing', 'wrong_class', 'misplaced', 'duplicate']
    """
    return [*ERROR_KINDS, *_LABELS, *(_OBJECTS if are_two else ())]


def cards_of_kind(evaluations: Sequence[Evaluation], kind: str, iou_threshold: float) -> pl.DataFrame:
    """The errors of one kind of the first evaluation, in the columns of `find_cards`; label errors the most suspicious first.

    A kind is one of `apframe.error_kinds()`, one of `label_errors`, or "lost" or "won": objects that only the first evaluation
    found, or only the second.
    """
    first = evaluations[0]
    if kind in _LABELS:
        return label_cards(first, first.label_errors(iou_threshold).filter(kind=kind).with_columns(model=pl.lit("a")))
    if kind in _OBJECTS:
        missed_by, found_by = ("b", "a") if kind == "lost" else ("a", "b")
        objects = changes(evaluations[0], evaluations[1], iou_threshold).filter(change=kind)
        return _missed(first, objects.with_columns(model=pl.lit(missed_by), found_score=f"score_{found_by}"))
    if kind == "fn":  # with those that an error cls or loc is about
        return _missed(first, with_labels(first, first.matches(iou_threshold).filter(outcome=kind)))
    errors = find_cards(evaluations[:_PAIR], iou_threshold).filter(model="a")
    return errors.filter(pl.col("kind").is_in(OF_DETECTIONS if kind == "fp" else [kind]))


def label_cards(self: Evaluation, rows: pl.DataFrame) -> pl.DataFrame:
    """The cards of rows of `label_errors`, with the column model: those of `find_cards`, suspicion and other_annotation_id.

    target_name is the category that is proposed; of duplicates that of the other annotation.
    """
    categories = self.dataset.categories.select(other_category_id="category_id", other_name="name")
    others = self.dataset.core("annotations").select(other_annotation_id="annotation_id", other_category_id="category_id")
    others = others.join(categories, on="other_category_id", how="left", maintain_order="left")
    rows = rows.join(others, on="other_annotation_id", how="left", maintain_order="left")
    name, proposed = _named("name", "category_id"), _named("proposed_name", "proposed_category_id")
    target = pl.coalesce(proposed, _named("other_name", "other_category_id")).alias("target_name")
    return rows.select(
        "model", pl.col("kind").cast(pl.String), "image_id", "file_name", "category_id", pl.coalesce(name, proposed),
        "detection_id", "score", "annotation_id", "other_annotation_id", target, "similarity",
        "suspicion", change=pl.lit(None, pl.String), found_score=pl.lit(None, pl.Float64),
    )  # fmt: skip


def _missed(self: Evaluation, objects: pl.DataFrame) -> pl.DataFrame:
    """The cards of annotations that were missed."""
    absent = {"model": pl.lit("a"), "change": pl.lit(None, pl.String), "found_score": pl.lit(None, pl.Float64)}
    objects = objects.with_columns(**{name: value for name, value in absent.items() if name not in objects.columns})
    return objects.select(
        "model", pl.lit("miss").alias("kind"), "image_id", "file_name", "category_id", _named("name", "category_id"),
        pl.lit(None, self.detections.schema["detection_id"]).alias("detection_id"), pl.lit(None, pl.Float64).alias("score"),
        "annotation_id", pl.lit(None, pl.String).alias("target_name"), pl.lit(None, pl.Float64).alias("similarity"),
        pl.col("change").cast(pl.String), "found_score",
    )  # fmt: skip


def _named(name: str, category_id: str) -> pl.Expr:
    """The name of a category, or its id where it has none."""
    return pl.coalesce(name, pl.format("category {}", category_id)).alias(name)

"""The rows that cards can be about, and the selection of those that a page shows: some for each of its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.comparison.changes import ObjectOutcomes, change_rows, changes, outcomes_of
from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS, OF_DETECTIONS
from apframe.evaluation.diagnose.errors import error_rows
from apframe.evaluation.side_by_side import of_each
from apframe.evaluation.tables_at_threshold import with_labels
from apframe.protocols.lookups import place_at
from apframe.tables.names import unique_names
from apframe.tables.result_tables import LABEL_ERRORS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

MODELS = ("a", "b")
_PAIR = 2
_TURNS = 12  # cards for each of many marks
# for each model: the other one, the changes of objects that it misses and of false positives that only it has, and their name
_CHANGES = (("a", "b", "won", "fp_removed", "removed"), ("b", "a", "lost", "fp_added", "added"))
_OBJECTS = ("lost", "won")
_LABELS = tuple(LABEL_ERRORS.categories[:4])  # for one run
_OUTCOME = pl.Enum(["tp", "fp", "fn"])
_MODEL, _CHANGE = pl.Enum(MODELS), pl.Enum(["lost", "won", "added", "removed", "both"])


def find_cards(evaluations: Sequence[Evaluation], iou_threshold: float) -> pl.DataFrame:
    """Return every error of one model or two as rows of cards. An annotation that both missed is there once, as one of a.

    Returns
    -------
    The columns of `find_rows` except outcome and is_of_both, with file_name; kind is never null.
    """
    first = evaluations[0]
    rows = find_rows(evaluations, iou_threshold).filter(pl.col("kind").is_not_null()).drop("outcome", "is_of_both")
    files = first.dataset.images.select("image_id", "file_name")
    rows = rows.join(files, on="image_id", how="left", maintain_order="left")
    return rows.select("model", "kind", "image_id", "file_name", pl.exclude("model", "kind", "image_id", "file_name"))


def find_rows(evaluations: Sequence[Evaluation], iou_threshold: float) -> pl.DataFrame:
    """Return all rows for cards: the errors of one model or two, true positives, and the other missed annotations.

    An error `miss` of both models is there once, as one of a.

    Returns
    -------
    model ("a" or "b"), kind (see `apframe.error_kinds`; null for true positives, and for a missed annotation that is the target
    of an error `cls` or `loc`, which has its own row), image_id, category_id, name, detection_id, score (null for missed
    annotations), annotation_id (the target, if any), target_name (its category), similarity, change, found_score, outcome
    ("tp", "fp" or "fn") and is_of_both.

    `change` is null for one model, and for rows that are not errors. For a pair it describes the change by b: "lost" and "won"
    are objects, "added" and "removed" are false positives that only one model has; "both" are annotations that both missed and
    false positives that both have. `found_score` is the score with which the other model detected an object that was lost or
    won.
    """
    first = evaluations[0]
    threshold, area = place_at(first.protocol, iou_threshold, None)
    results = of_each(lambda each: (error_rows(each, iou_threshold), outcomes_of(each, threshold, area)), evaluations[:_PAIR])
    parts = [
        _of_model(errors, outcomes).with_columns(pl.lit(model, _MODEL).alias("model"))
        for model, (errors, outcomes) in zip(MODELS, results, strict=False)
    ]
    if len(parts) == _PAIR:
        parts = _with_changes(parts, change_rows(first, [outcomes for _, outcomes in results], threshold))
    else:
        parts = [parts[0].with_columns(change=pl.lit(None, _CHANGE), found_score=pl.lit(None, pl.Float64))]
    missed = [each.filter(kind="miss")["annotation_id"] for each in parts]
    is_miss = (pl.col("kind") == "miss").fill_null(False)
    shared = missed[0].filter(missed[0].is_in(missed[-1].implode())) if len(parts) == _PAIR else missed[0].clear()
    is_shared = is_miss & pl.col("annotation_id").is_in(shared.implode()).fill_null(False)
    rows = [parts[0].with_columns(is_of_both=is_shared)]
    rows += [each.filter(~is_shared).with_columns(is_of_both=pl.lit(False)) for each in parts[1:]]
    names = unique_names(first.dataset.categories).rename({"label": "name"})
    table = pl.concat(rows).join(names, on="category_id", how="left", maintain_order="left")
    names = names.rename({"category_id": "target_category_id", "name": "target_name"})
    table = table.join(names, on="target_category_id", how="left", maintain_order="left")
    return table.select(
        "model", "kind", "image_id", "category_id", "name", "detection_id", "score", "annotation_id", "target_name",
        "similarity", "change", "found_score", "outcome", "is_of_both",
    )  # fmt: skip


def _of_model(errors: pl.DataFrame, outcomes: ObjectOutcomes) -> pl.DataFrame:
    """Return the rows of one model: its errors, its true positives, and missed annotations that are targets of errors."""
    outcome = pl.when(pl.col("detection_id").is_null()).then(pl.lit("fn")).otherwise(pl.lit("fp"))
    errors = errors.select(
        pl.col("error").alias("kind"), "image_id", "category_id", "detection_id", "score",
        "annotation_id", "target_category_id", "similarity", outcome=outcome.cast(_OUTCOME),
    )  # fmt: skip
    objects, true_positives, _ = outcomes
    known_ids = pl.concat([true_positives["annotation_id"], errors.filter(kind="miss")["annotation_id"]])
    others = [
        true_positives.join(objects, on="annotation_id", maintain_order="left").with_columns(outcome=pl.lit("tp", _OUTCOME)),
        objects.filter(~pl.col("annotation_id").is_in(known_ids.implode())).with_columns(outcome=pl.lit("fn", _OUTCOME)),
    ]
    return pl.concat([errors, *others], how="diagonal")


def _with_changes(parts: Sequence[pl.DataFrame], changed: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the rows of both models with `change` and `found_score`."""
    joined = []
    for (model, other, missed, wrong, named), table in zip(_CHANGES, parts, strict=True):
        objects = changed.filter(change=missed)
        objects = objects.select("annotation_id", of_object=pl.lit(missed, _CHANGE), found_score=f"score_{other}")
        detections = changed.filter(change=wrong)[f"detection_id_{model}"]
        table = table.join(objects, on="annotation_id", how="left", maintain_order="left")
        is_alone = pl.col("detection_id").is_in(detections.implode())
        of_detection = pl.when(is_alone).then(pl.lit(named, _CHANGE))
        is_error = pl.col("kind").is_not_null()
        change = pl.when(is_error).then(pl.coalesce("of_object", of_detection, pl.lit("both", _CHANGE)))
        found_score = pl.when(is_error).then("found_score")
        joined.append(table.with_columns(change=change, found_score=found_score).drop("of_object"))
    return joined


def of_model(letter: str) -> pl.Expr:
    """Return a condition for rows of `find_rows` that are about a model, "a" or "b"."""
    return (pl.col("model") == letter) | pl.col("is_of_both")


def by_score(rows: pl.DataFrame) -> pl.DataFrame:
    """Sort rows by score, the highest first, for `choose_cards`. Those without a score come last.

    For objects that the other model detected, its score counts. Equal scores keep their order.
    """
    score = pl.coalesce("score", "found_score").cast(pl.Float64)
    return rows.sort(score, descending=True, nulls_last=True, maintain_order=True)


def choose_cards(rows: pl.DataFrame, marks: Sequence[pl.DataFrame], most: int) -> pl.DataFrame:
    """Select at most `most` rows, so that each mark has some of them, the first ones; a row may belong to several marks.

    Marks take turns: in each turn, every mark with fewer cards than turns so far gets one, if it has any left. If not all marks
    can have one, the first tables come first, and within a table the marks with many rows. Marks of the first table may have
    any number of cards, the others a dozen if they are many.

    Parameters
    ----------
    rows
        in order of priority, see `by_score`
    marks
        for each kind of mark a table: row (the number of one of `rows`, in their order), and the columns that distinguish marks
    most
        the largest number of selected rows

    >>> rows = pl.DataFrame({"score": [0.9, 0.8, 0.1], "kind": ["cls", "cls", "loc"]})
    >>> choose_cards(rows, [marks_by(rows, "kind")], 2)["score"].to_list()
    [0.9, 0.1]
    """
    waiting = [_first_ones(table, most, most if place == 0 else _TURNS) for place, table in enumerate(marks)]
    chosen = pl.DataFrame(schema={"row": pl.UInt32})
    turn = 0
    while chosen.height < most and any(table.height for table in waiting):
        for place in range(len(waiting)):
            new = waiting[place].filter(pl.col("n") <= turn).unique("mark", keep="first", maintain_order=True)
            new = new.select("row").unique(maintain_order=True).head(most - chosen.height)
            chosen = pl.concat([chosen, new])
            waiting = [_without(each, new) for each in waiting]
        turn += 1
    return rows[chosen["row"]]


def marks_by(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """Return the rows of marks by values of columns, for `choose_cards`; a null is no mark."""
    return rows.select(*columns).with_row_index("row").drop_nulls()


def _first_ones(table: pl.DataFrame, most: int, turns: int) -> pl.DataFrame:
    """Return mark (a number, small for marks of many rows), row, and n (the mark's number of cards): each mark's first rows."""
    keys = [name for name in table.columns if name != "row"]
    marks = table.group_by(keys, maintain_order=True).agg(pl.len().alias("size"), pl.col("row").head(most))
    marks = marks.sort("size", descending=True, maintain_order=True).with_row_index("mark")
    enough = max(turns, 2 * most // max(marks.height, 1))
    return marks.select("mark", pl.col("row").list.head(enough), n=pl.lit(0, pl.UInt32)).explode("row")


def _without(waiting: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Remove selected rows from those of marks, and increase the number of cards of their marks."""
    is_new = pl.col("row").is_in(new["row"].implode())
    return waiting.with_columns(n=pl.col("n") + is_new.sum().over("mark").cast(pl.UInt32)).filter(~is_new)


def card_kinds(*, are_two: bool) -> list[str]:
    """Return the kinds that `cards_of_kind` accepts, for one evaluation or for two.

    >>> card_kinds(are_two=False)
    ['cls', 'loc', 'both', 'dupe', 'bkg', 'miss', 'fp', 'fn', 'missing', 'wrong_class', 'misplaced', 'duplicate']
    """
    return [*ERROR_KINDS, *_LABELS, *(_OBJECTS if are_two else ())]


def cards_of_kind(evaluations: Sequence[Evaluation], kind: str, iou_threshold: float) -> pl.DataFrame:
    """Return the errors of one kind of the first evaluation, in the columns of `find_cards`; for label errors by suspicion.

    A kind is one of `apframe.error_kinds()`, one of `label_errors`, or "lost" or "won": objects that only the first evaluation
    detected, or only the second.
    """
    first = evaluations[0]
    if kind in _LABELS:
        return label_cards(first, first.label_errors(iou_threshold).filter(kind=kind).with_columns(model=pl.lit("a")))
    if kind in _OBJECTS:
        missed_by, found_by = ("b", "a") if kind == "lost" else ("a", "b")
        objects = changes(evaluations[0], evaluations[1], iou_threshold).filter(change=kind)
        return _missed(first, objects.with_columns(model=pl.lit(missed_by), found_score=f"score_{found_by}"))
    if kind == "fn":  # including the targets of errors cls and loc
        return _missed(first, with_labels(first, first.matches(iou_threshold).filter(outcome=kind)))
    errors = find_cards(evaluations[:_PAIR], iou_threshold).filter(model="a")
    return errors.filter(pl.col("kind").is_in(OF_DETECTIONS if kind == "fp" else [kind]))


def label_cards(self: Evaluation, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cards of rows of `label_errors` with the column model: as `find_cards`, with suspicion, other_annotation_id.

    target_name is the proposed category; for duplicates, the category of the other annotation.
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
    """Return the cards of missed annotations."""
    absent = {"model": pl.lit("a"), "change": pl.lit(None, pl.String), "found_score": pl.lit(None, pl.Float64)}
    objects = objects.with_columns(**{name: value for name, value in absent.items() if name not in objects.columns})
    return objects.select(
        "model", pl.lit("miss").alias("kind"), "image_id", "file_name", "category_id", _named("name", "category_id"),
        pl.lit(None, self.detections.schema["detection_id"]).alias("detection_id"), pl.lit(None, pl.Float64).alias("score"),
        "annotation_id", pl.lit(None, pl.String).alias("target_name"), pl.lit(None, pl.Float64).alias("similarity"),
        pl.col("change").cast(pl.String), "found_score",
    )  # fmt: skip


def _named(name: str, category_id: str) -> pl.Expr:
    """Return the name of a category, or its id if it has no name."""
    return pl.coalesce(name, pl.format("category {}", category_id)).alias(name)

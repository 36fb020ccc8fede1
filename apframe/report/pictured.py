"""The rows that a page's cards can show: their table, their cells in the matrix, and the choice of cards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.gallery.card_slices import CardSlices, size_slices, slices_of_cards
from apframe.evaluation.gallery.cards import MODELS, by_score, choose_cards, find_rows, marks_by, of_model
from apframe.lazily import cached_property
from apframe.protocols.headlines import size_ranges

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.report.compared import SliceKeys
    from apframe.report.matrix import Matrix
    from apframe.report.operating_point import OperatingPoint

_OWN = (
    "model", "outcome", "error", "name", "target_name", "score", "found_score", "change", "image_id", "file_name",
    "detection_id", "annotation_id", "similarity",
)  # fmt: skip
_BINS = 10  # ranges of scores, each with cards
SELECTED = (
    "category", "error", "kind", "model", "change", "image", "true", "found", "outcome", "from", "to", "at", "sort", "gallery",
    "labels",
)  # fmt: skip
"""Names with another meaning than slices in addresses."""
_CELLS = ("row", "model", "true", "found", "score_from", "score_to", "is_first")


@dataclass(frozen=True, eq=False)
class PicturedRows:
    """Every counted detection and every missed annotation of one or two models, with its outcome.

    Attributes
    ----------
    frame
        the columns of `find_rows`, in the order of `by_score`
    slices
        for each key of slices their names, and the list of slices of each row
    names
        the names of the models
    images
        image_id and file_name of all images
    """

    frame: pl.DataFrame
    slices: Sequence[CardSlices]
    names: Sequence[str]
    images: pl.DataFrame
    _known: dict[tuple[str, ...], dict[tuple[str, ...], int]] = field(default_factory=dict, repr=False)

    @cached_property
    def errors(self) -> pl.DataFrame:
        """The rows that are errors, with their number `card`: the default selection of the gallery."""
        return self.frame.with_row_index("card").filter(pl.col("kind").is_not_null())

    @cached_property
    def keys(self) -> list[str]:
        """The names of the slices in addresses and queries: their keys, with an underscore after names that are in use."""
        used_names, keys = {*_OWN, *SELECTED, *_CELLS}, list[str]()
        for each in self.slices:
            name = each.name
            while name.lower() in used_names:  # queries ignore case
                name += "_"
            used_names.add(name.lower())
            keys.append(name)
        return keys

    def counts(self, *columns: str) -> dict[tuple[str, ...], int]:
        """Count the errors of each value of columns, or in the slices of keys; a row may be in several slices."""
        if columns not in self._known:
            self._known[columns] = self._count(columns)
        return self._known[columns]

    def _count(self, columns: tuple[str, ...]) -> dict[tuple[str, ...], int]:
        members = dict(zip(self.keys, self.members, strict=True))
        parts = []
        for k, name in enumerate(columns):
            own = members[name] if name in members else self.errors.select("card", pl.col(name).alias("value"))
            parts.append(own.rename({"value": f"value {k}"}))
        table, *others = parts
        for each in others:
            table = table.join(each, on="card")
        values = table.select(pl.exclude("card").cast(pl.String)).drop_nulls()
        return {tuple(each): n for *each, n in values.group_by(pl.all()).agg(pl.len()).iter_rows()}

    @cached_property
    def members(self) -> list[pl.DataFrame]:
        """Card and value: the errors in the slices of each key, in their order."""
        is_error = self.frame["kind"].is_not_null()
        return [each.members.filter(is_error.gather(each.members["card"])).sort("card") for each in self.slices]

    def table(self) -> pl.DataFrame:
        """Return the rows as a file for the queries of the page: model is a list of names, slices are lists."""
        letters = MODELS[: len(self.names)]
        model_names = [pl.when(of_model(letter)).then(pl.lit(name)) for letter, name in zip(letters, self.names, strict=True)]
        own = self.frame.join(self.images, on="image_id", how="left", maintain_order="left").with_columns(
            error=pl.col("kind").cast(pl.String),
            change=pl.col("change").cast(pl.String),
            outcome=pl.col("outcome").cast(pl.String),
            model=pl.concat_list(model_names).list.drop_nulls(),
        )
        every = pl.int_range(own.height, dtype=pl.UInt32, eager=True)
        lists = [each.lists(every).alias(key) for each, key in zip(self.slices, self.keys, strict=True)]
        return own.select(_OWN).hstack(lists).with_row_index("row")


def rows_of(
    evaluations: Sequence[Evaluation], names: Sequence[str], iou_threshold: float, keys: Sequence[SliceKeys]
) -> PicturedRows:
    """Return the rows of one or two models, with the slices of some keys and of the sizes of objects."""
    frame = by_score(find_rows(evaluations, iou_threshold))
    slices = [
        *slices_of_cards(evaluations, frame, keys),
        *size_slices(evaluations, frame, size_ranges(evaluations[0].protocol)),
    ]
    return PicturedRows(frame, slices, names, evaluations[0].dataset.images.select("image_id", "file_name"))


def cells_of(rows: PicturedRows, matrix: Matrix) -> pl.DataFrame:
    """Return the cells of the matrix of each row, with a range of scores for each.

    Returns
    -------
    row (its number), model (the name), true, found (the labels of the cell), score_from, score_to (both included) and is_first
    (True at the operating point). An annotation matched by a true positive is missed above the score of the latter.
    """
    numbered = rows.frame.select("model", "is_of_both", "outcome", "detection_id", "annotation_id").with_row_index("row")
    columns = ["true", "found", "score_from", "score_to", "is_first"]
    parts = []
    for letter, name, stays in zip(MODELS, rows.names, matrix.stays, strict=False):
        own = numbered.filter(of_model(letter))
        named = pl.lit(name).alias("model")
        of_detections = stays.filter(pl.col("detection_id").is_not_null()).select("detection_id", *columns)
        detections = own.filter(pl.col("detection_id").is_not_null()).select("row", "detection_id")
        parts.append(of_detections.join(detections, on="detection_id").select("row", named, *columns))
        missed = stays.filter(pl.col("detection_id").is_null()).select("annotation_id", *columns)
        annotations = own.filter(pl.col("outcome") != "fp").select("row", "annotation_id")
        parts.append(missed.join(annotations, on="annotation_id").select("row", named, *columns))
    return pl.concat(parts)


def chosen_rows(
    rows: PicturedRows, cells: pl.DataFrame | None, point: OperatingPoint | None, image_ids: pl.Series, max_cards: int
) -> pl.DataFrame:
    """Return the rows with cards, with their numbers, chosen so that each mark of the page has some.

    Parameters
    ----------
    cells
        the result of `cells_of`; None without a matrix
    image_ids
        the images that the page lists
    """
    best = [-math.inf, -math.inf] if point is None else [*point.best, -math.inf][:2]
    is_kept = pl.col("score") >= pl.when(pl.col("model") == MODELS[0]).then(best[0]).otherwise(best[1])
    outcome = pl.when(is_kept).then("outcome").when(pl.col("outcome") != "fp").then(pl.lit("fn", rows.frame.schema["outcome"]))
    is_error = pl.col("kind").is_not_null()
    error = [pl.when(is_error).then(name).alias(name) for name in ("kind", "change", "category_id", "model")]
    is_shown = is_error & pl.col("image_id").is_in(image_ids.implode())
    frame = rows.frame.select(
        *error, of="model", counted=outcome, bin=(pl.col("score") * _BINS).floor().cast(pl.Int32, strict=False),
        image=pl.when(is_shown).then("image_id"),
    )  # fmt: skip
    by = [("kind", "model"), ("change",), ("of", "counted"), ("category_id",)]
    marks = [marks_by(frame, *columns) for columns in by]
    marks += [each.rename({"card": "row"}) for each in rows.members]
    if cells is not None:
        marks.append(cells.filter("is_first").select("row", "model", "true", "found").sort("row"))
    marks += [marks_by(frame, *columns) for columns in (("image",), ("of", "bin"), ("model", "kind", "category_id"))]
    return choose_cards(rows.frame.with_row_index("row"), marks, max_cards)

"""The confusion matrix of a page at all positions of its slider, for any number of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.confusion_ranges import confusion_ranges
from apframe.evaluation.side_by_side import of_each
from apframe.report.operating_point import OperatingPoint
from apframe.show.confusion_marks import MOST_CATEGORIES, SIDES, axes_of, chosen_categories

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Matrix:
    """The cells of a confusion matrix.

    Attributes
    ----------
    labels
        the categories with a row and a column, those with most confusions first, and one label for all others, if there are
        more than 30
    background, missed
        the names of the last row and the last column, which no category has
    groups
        the supercategory of each label; "" without one
    counts
        for each model an array of rows, columns and positions
    stays
        for each model the rows of `confusion_ranges`, with the labels of their row and column, `true` and `found`
    """

    labels: Sequence[str]
    background: str
    missed: str
    groups: Sequence[str]
    counts: Sequence[np.ndarray]
    stays: Sequence[pl.DataFrame]

    @property
    def rows(self) -> list[str]:
        """The names of the rows."""
        return [*self.labels, self.background]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [*self.labels, self.missed]


def matrix_of(
    evaluations: Sequence[Evaluation], iou_threshold: float, point: OperatingPoint | None, categories: pl.DataFrame
) -> Matrix:
    """Return the confusion matrix of each evaluation, all with the same rows and columns.

    Parameters
    ----------
    point
        the operating point of the page; None without scores, which leaves one position
    categories
        category_id, label, and supercategory if there is one, in the order of the ground truth

    Raises
    ------
    ParameterError
        the categories are pooled
    """
    number = {id(each): k for k, each in enumerate(evaluations)}
    stays = of_each(lambda each: _stays(each, iou_threshold, point, number[id(each)]), evaluations)
    places, labels, groups = _places(stays, categories)
    background, missed = (names[-1] for names in axes_of(labels).values())
    size = len(labels) + 1
    counts, named = [], []
    for k, table in enumerate(stays):
        for side, none in zip(SIDES, (background, missed), strict=True):
            at = places.select(pl.col("category_id").alias(f"{side}_category_id"), pl.col("place").alias(f"{side}_place"))
            table = table.join(at, on=f"{side}_category_id", how="left", maintain_order="left")
            table = table.with_columns(pl.col(f"{side}_place").fill_null(size - 1))
            names = pl.Series([*labels, none], dtype=pl.String)
            table = table.with_columns(names.gather(table[f"{side}_place"]).alias(side))
        counts.append(_counts(table, size, None if point is None else [place for _, place in point.rising(k)]))
        named.append(table.drop("true_place", "found_place"))
    return Matrix(labels, background, missed, groups, counts, named)


def _stays(self: Evaluation, iou_threshold: float, point: OperatingPoint | None, model: int) -> pl.DataFrame:
    """Return the rows of `confusion_ranges`; is_first is True if they are in their cell at position 0."""
    if point is None:
        pairs = self.confusion_pairs(iou_threshold)
        return pairs.with_columns(first=pl.lit(0), last=pl.lit(0), is_first=pl.lit(True))
    rising = point.rising(model)
    at = next(k for k, (_, position) in enumerate(rising) if position == 0)
    rows = confusion_ranges(self, iou_threshold, [score for score, _ in rising])
    scores = pl.Series([score for score, _ in rising], dtype=pl.Float64)
    return rows.with_columns(
        score_from=scores.gather(rows["first"]),
        score_to=scores.gather(rows["last"]),
        is_first=pl.lit(at).is_between("first", "last"),
    )


def _places(stays: Sequence[pl.DataFrame], categories: pl.DataFrame) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Return category_id and place of all categories, and the labels and supercategories of the places."""
    sides = [f"{side}_category_id" for side in SIDES]
    now = pl.concat([table.filter("is_first").select(*sides, n=1) for table in stays])
    ranked, labels = chosen_categories(now, categories, MOST_CATEGORIES)
    groups = [""] * len(labels)
    if "supercategory" in ranked.columns:
        of_shown = ranked["supercategory"].head(MOST_CATEGORIES).cast(pl.String).fill_null("").to_list()
        groups[: len(of_shown)] = of_shown
    return ranked.select("category_id", "place"), labels, groups


def _counts(stays: pl.DataFrame, size: int, positions: Sequence[int] | None) -> np.ndarray:
    """Count the stays in each cell at each position; a stay has a first and a last position."""
    n = 1 if positions is None else len(positions)
    cell = stays["true_place"].to_numpy().astype(np.int64) * size + stays["found_place"].to_numpy()
    changes = np.zeros((size * size, n + 1), np.int64)
    np.add.at(changes, (cell, stays["first"].to_numpy()), 1)
    np.add.at(changes, (cell, stays["last"].to_numpy().astype(np.int64) + 1), -1)
    rising = changes.cumsum(axis=1)[:, :n]
    counts = np.empty_like(rising)
    counts[:, positions or [0]] = rising
    return counts.reshape(size, size, n)

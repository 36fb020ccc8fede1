"""The lists that each row of a result is a mean of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.matching.verdicts import list_bounds
from apframe.metrics.list_sums import ranges, sums


@dataclass(frozen=True)
class ListRows:
    """The lists that each row of a result is a mean of; a list can be in several rows.

    Attributes
    ----------
    list
        the numbers of the lists, by row
    bounds
        the position of each row's first list, and the end of the last row's lists
    """

    list: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, lists: pl.DataFrame, n_groups: int, members: pl.DataFrame, n_of_categories: int) -> ListRows:
        """Group lists with a `group` (of `n_groups`) and a `category`: each counts in every group that contains its category.

        `members` has the `row` of each category and each `group` of categories (of `n_of_categories`) that contains it. The
        result has a row for each group, and within it for each group of categories.
        """
        category, group = (lists[name].to_numpy().astype(np.int64) for name in ("category", "group"))
        members = members.sort("row")
        bounds = list_bounds(members["row"].to_numpy(), int(category.max(initial=-1)) + 1)
        place, number = ranges(bounds[category], np.diff(bounds)[category])
        row = group[number] * n_of_categories + members["group"].to_numpy()[place]
        order = np.argsort(row, kind="stable")
        return cls(number[order], list_bounds(row[order], n_groups * n_of_categories))

    def rows_of_lists(self, n_lists: int) -> Sequence[np.ndarray]:
        """Return the row of each list, or -1; further arrays have the second row, third row and so on of lists in several rows.

        >>> [each.tolist() for each in ListRows(np.array([0, 2, 0]), np.array([0, 2, 3])).rows_of_lists(3)]
        [[0, -1, 0], [1, -1, -1]]
        """
        order = np.argsort(self.list, kind="stable")
        number, row = self.list[order], np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))[order]
        turn = np.arange(len(number)) - np.searchsorted(number, number)
        rows = np.full((int(turn.max(initial=-1)) + 1, n_lists), -1)
        rows[turn, number] = row
        return [*rows]

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum values of the lists, of shape (lists, weightings), in each row.

        >>> ListRows(np.array([0, 1, 1]), np.array([0, 2, 2, 3])).sums(np.array([[0.5], [0.25]])).ravel().tolist()
        [0.75, 0.0, 0.25]
        """
        return sums(values.take(self.list, axis=0), self.bounds)

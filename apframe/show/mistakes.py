"""A confusion matrix in words: totals in a line, and the cells of one category predicted as another."""

from __future__ import annotations

import polars as pl

from apframe.wording import counted

_SIDES = ("true", "found")


def mistakes(table: pl.DataFrame) -> pl.DataFrame:
    """Select the cells of `Evaluation.confusion` in which one category is predicted as another, the largest first.

    true and found are names, or ids where there is no name, in front of the columns of the table.

    >>> cells = {"true_category_id": [1, 1, None], "true_name": ["cat", "cat", None], "n": [9, 2, 5],
    ...          "found_category_id": [1, 2, 1], "found_name": ["cat", "dog", "cat"]}
    >>> mistakes(pl.DataFrame(cells)).select("true", "found", "n").rows()
    [('cat', 'dog', 2)]
    """
    true, found = (pl.col(f"{side}_category_id") for side in _SIDES)
    rows = table.filter(true != found).sort("n", true, found, descending=[True, False, False])
    labels = [pl.coalesce(f"{side}_name", pl.col(f"{side}_category_id").cast(pl.String)).alias(side) for side in _SIDES]
    return rows.select(*labels, pl.all())


def confusion_totals(table: pl.DataFrame) -> str:
    """Count the right and confused detections of `Evaluation.confusion`, those on background, and the missed annotations.

    >>> cells = {"true_category_id": [1, 1, None], "found_category_id": [1, 2, 1], "n": [9, 2, 5]}
    >>> confusion_totals(pl.DataFrame(cells))
    '9 detections right, 2 predicted as another category, 5 on background; 0 annotations missed'
    """
    true, found = (pl.col(f"{side}_category_id") for side in _SIDES)
    parts = (true == found, true != found, true.is_null(), found.is_null())
    right, others, nothing, missed = (int(table.filter(part)["n"].sum()) for part in parts)
    found_so = f"{counted(right, 'detection')} right, {others:,} predicted as another category, {nothing:,} on background"
    return f"{found_so}; {counted(missed, 'annotation')} missed"

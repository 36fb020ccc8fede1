"""The order in which detections are walked, in matching and in ranking alike."""

from __future__ import annotations

import numpy as np
import polars as pl


def order_detections(detections: pl.DataFrame, *, by_image: bool = True) -> pl.DataFrame:
    """Put detections in order: by category, then score descending, then image (COCO; left out otherwise), then as they came.

    Parameters
    ----------
    detections
        columns `image` and `category` (dense codes from 0, in the order of the ids), `cell` (one number for each pair
        of image and category) and `score`
    by_image
        whether of equal scores those of the first image come first, or those that came first

    Returns
    -------
    One row per detection, in that order: `row` (the detection's row number in the input), `category`, `cell`, and `cell_rank`
    (from 1, the place among the detections of the same cell, which max_detections limits).

    Source: `COCOeval.evaluateImg` and `accumulate`, both of which sort with a stable merge sort by descending score.

    >>> order_detections(pl.DataFrame({
    ...     "image": [1, 0, 0], "category": [0, 0, 0], "cell": [1, 0, 0], "score": [0.5, 0.5, 0.9],
    ... })).rows()
    [(2, 0, 0, 1), (1, 0, 0, 2), (0, 0, 1, 1)]
    """
    rows = detections.select("image", "category", "score").with_row_index("row")
    if by_image and not rows["image"].is_sorted():
        rows = rows.sort("image", maintain_order=True)
    walk = (
        rows.lazy()
        .group_by("category")
        .agg(pl.col("row").sort_by("score", descending=True, maintain_order=True))
        .sort("category")
        .explode("row")
        .select("row", "category")
        .collect()
        .rechunk()
    )
    cell = detections["cell"].gather(walk["row"])
    return walk.with_columns(cell, cell_rank=place_within(cell.to_numpy()))


def number_within(groups: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Dense numbers from 0, one for each item of each group.

    >>> number_within(np.array([0, 0, 1]), np.array([7, 7, 7])).tolist()
    [0, 0, 1]
    """
    return np.unique(groups * (np.int64(items.max(initial=0)) + 1) + items, return_inverse=True)[1]


def place_within(groups: np.ndarray) -> np.ndarray:
    """The place of each item among those of the same group, from 1, in the order given.

    >>> place_within(np.array([5, 3, 5, 5, 3])).tolist()
    [1, 1, 2, 3, 2]
    """
    n = len(groups)
    # Sorting plain integers is several times as fast as a stable sort of rows, so the row number rides along in the
    # low bits of the group's number.
    bits = n.bit_length()
    if n and int(groups.max()).bit_length() + bits > 62:  # too many groups for that: give those there are numbers of their own
        groups = np.unique(groups, return_inverse=True)[1]
    keyed = np.sort((groups.astype(np.int64) << bits) | np.arange(n))
    group, row = keyed >> bits, keyed & ((1 << bits) - 1)
    is_first = np.ones(n, dtype=bool)
    np.not_equal(group[1:], group[:-1], out=is_first[1:])
    # most items are the first of their group, and need no more
    place = np.ones(n, dtype=np.uint32)
    later = np.flatnonzero(~is_first)
    place[row[later]] += (later - np.flatnonzero(is_first)[np.cumsum(is_first)[later] - 1]).astype(np.uint32)
    return place

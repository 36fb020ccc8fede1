"""The order of detections, for both matching and ranking."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.threads import map_parts, part_bounds


def order_detections(detections: pl.DataFrame, *, ties: str = "image") -> pl.DataFrame:
    """Sort detections by list, then descending score, then image (COCO; left out otherwise), then input order.

    Parameters
    ----------
    detections
        columns `list` and `image` (dense codes from 0, in the order of the ids), `score`, and any others
    ties
        which of equal scores comes first: "image", that of the first image; "input", the first in the input; "later", the last

    Returns
    -------
    The same columns in this order, with `row` (the row number in the input) and `place` (from 1, among the detections of the
    same list and image, which max_detections limits).

    Source: `COCOeval.evaluateImg` and `accumulate`, both of which sort with a stable merge sort by descending score.

    >>> order_detections(pl.DataFrame({"list": [0, 0, 0], "image": [1, 0, 0], "score": [0.5, 0.5, 0.9]})).rows()
    [(0, 0, 0.9, 2, 1), (0, 0, 0.5, 1, 2), (0, 1, 0.5, 0, 1)]
    """
    columns = {column.name: column.to_numpy() for column in detections}
    number, image = columns["list"], columns["image"]
    n_images = int(image.max(initial=0)) + 1
    rows = _stable_order(number)
    if ties == "later":
        rows = len(number) - 1 - _stable_order(number[::-1])
    if ties == "image" and (image[1:] < image[:-1]).any():
        rows = _stable_order(image)
        rows = rows[_stable_order(number[rows])]
    sizes = np.bincount(number)
    bounds = np.append(0, np.cumsum(sizes))
    ordered = {name: np.empty_like(column) for name, column in columns.items()}
    ordered |= {name: np.empty(len(rows), dtype=np.uint32) for name in ("row", "place")}

    def fill(part: tuple[int, int]) -> None:
        own = slice(*bounds[list(part)])
        of = rows[own]
        lists, score = np.repeat(np.arange(*part), sizes[slice(*part)]), columns["score"][of]
        order = _order_part(lists, score)
        of = of[order]
        ordered["list"][own], ordered["score"][own], ordered["row"][own] = lists, score[order], of
        for name in columns.keys() - {"list", "score"}:
            ordered[name][own] = columns[name][of]
        ordered["place"][own] = place_within(lists * n_images + ordered["image"][own])

    map_parts(fill, part_bounds(sizes))
    return pl.DataFrame(ordered)


def _stable_order(codes: np.ndarray) -> np.ndarray:
    """Return the stable order of codes from 0; small integers are sorted in linear time."""
    return np.argsort(codes.astype(np.min_scalar_type(codes.max(initial=0))), kind="stable")


def _order_part(number: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the order of some rows by list and descending score, stable for equal scores.

    Plain integers sort several times as fast as rows, so the list, score and number of each row are packed into 64 bits. If
    the last bits of the scores do not fit, rows that differ only in these are compared again.

    >>> _order_part(np.array([0, 0, 1, 1]), np.array([0.5, 0.75, -1.0, -1.0])).tolist()
    [1, 0, 2, 3]
    """
    if not len(score):
        return np.arange(0)
    bits = np.uint64(len(score).bit_length())
    # floating-point numbers sort like their bits as integers; negative ones sort the other way round
    ascending = (score + 0.0).view(np.int64)
    ascending ^= (ascending >> 63) & np.int64(2**63 - 1)
    keys = ascending.max().astype(np.uint64) - ascending.view(np.uint64)
    first = number.min()
    room = 64 - int(number.max() - first).bit_length()
    excess = np.uint64(max(int(keys.max()).bit_length() + int(bits) - room, 0))
    keys >>= excess
    keys <<= bits
    keys |= np.arange(len(score), dtype=np.uint64)
    if room < 64:
        keys |= (number - first).astype(np.uint64) << np.uint64(room)
    keys.sort()
    order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    if excess:
        keys >>= bits
        ordered, alike = score[order], np.append(keys[1:] == keys[:-1], False)
        if (alike[:-1] & (ordered[1:] > ordered[:-1])).any():
            unsure = np.flatnonzero(alike | np.append(False, alike[:-1]))
            order[unsure] = order[unsure][np.lexsort((-ordered[unsure], keys[unsure]))]
    return order


def merge_order(number: np.ndarray, score: np.ndarray, tie: np.ndarray) -> np.ndarray:
    """Return the order by list and descending score of the rows of several rankings, given one after the other.

    Rows of equal score are ordered by `tie`, and rows of equal `tie` stay in their order.

    >>> merge_order(np.array([0, 1, 0, 0]), np.array([0.5, 0.9, 0.9, 0.5]), np.array([7, 1, 2, 3])).tolist()
    [2, 3, 0, 1]
    """
    rows = _stable_order(number)
    sizes = np.bincount(number)
    bounds = np.append(0, np.cumsum(sizes))
    order = np.empty(len(rows), dtype=np.int64)

    def fill(part: tuple[int, int]) -> None:
        own = slice(*bounds[list(part)])
        of = rows[own]
        lists, scores = np.repeat(np.arange(*part), sizes[slice(*part)]), score[of]
        placed = _order_part(lists, scores)
        of, scores, ties = of[placed], scores[placed], tie[of[placed]]
        alike = np.append((scores[1:] == scores[:-1]) & (lists[1:] == lists[:-1]), False)
        if (alike[:-1] & (ties[1:] < ties[:-1])).any():
            tied = np.flatnonzero(alike | np.append(False, alike[:-1]))
            of[tied] = of[tied][np.lexsort((ties[tied], -scores[tied], lists[tied]))]
        order[own] = of

    map_parts(fill, part_bounds(sizes))
    return order


def number_within(groups: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Number the different items of each group, densely from 0.

    >>> number_within(np.array([0, 0, 1]), np.array([7, 7, 7])).tolist()
    [0, 0, 1]
    """
    return np.unique(groups * (np.int64(items.max(initial=0)) + 1) + items, return_inverse=True)[1]


def place_within(groups: np.ndarray) -> np.ndarray:
    """Return the place of each item within its group, from 1, in the order given.

    >>> place_within(np.array([5, 3, 5, 5, 3])).tolist()
    [1, 1, 2, 3, 2]
    """
    n = len(groups)
    # Sorting plain integers is several times as fast as a stable sort of rows, so the row number rides along in the
    # low bits of the group's number.
    bits = n.bit_length()
    if n and int(groups.max()).bit_length() + bits > 62:  # the numbers of groups are too large: use dense ones
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

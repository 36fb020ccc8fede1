"""Comparison of similarities with thresholds; all matchers use these functions, and nothing else compares."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

NEARLY_ONE = 1 - 1e-10  # a similarity must reach this for a threshold of 1


def compared_columns(columns: Collection[str]) -> list[str]:
    """Return the columns of pairs that are compared with thresholds: `similarity`, and `inside` if it exists.

    >>> compared_columns(["detection", "annotation", "similarity", "weight"])
    ['similarity']
    """
    return [name for name in ("similarity", "inside") if name in columns]


def count_reached(similarity: np.ndarray, thresholds: np.ndarray, *, strict: bool) -> np.ndarray:
    """Count the ascending thresholds that each similarity reaches: n means that it reaches numbers 0, 1, ... n - 1.

    A similarity of at least `min(t, 1 - 1e-10)` reaches a threshold t, so that a box reaches 1 with itself although its sides
    lose digits (source: `COCOeval.evaluateImg`). With `strict`, the similarity must exceed t itself.

    >>> count_reached(np.array([0.4, 0.5, 0.8, 1.0]), np.array([0.5, 0.75, 1.0]), strict=False).tolist()
    [0, 1, 2, 3]
    >>> count_reached(np.array([0.4, 0.5, 0.8, 1.0]), np.array([0.5, 0.75, 1.0]), strict=True).tolist()
    [0, 0, 2, 2]
    """
    if strict:
        return np.searchsorted(thresholds, similarity, side="left")
    return np.searchsorted(np.minimum(thresholds, NEARLY_ONE), similarity, side="right")


def reaches(similarity: np.ndarray, threshold: np.ndarray, *, strict: bool) -> np.ndarray:
    """Flag the similarities that reach a threshold of their own; see `count_reached`.

    >>> reaches(np.array([0.6, 0.6]), np.array([0.5, 0.7]), strict=False).tolist()
    [True, False]
    """
    flags: np.ndarray = similarity > threshold if strict else similarity >= np.minimum(threshold, NEARLY_ONE)
    return flags


def reached_before(group: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Return the largest `reach` of the rows before each row in its group, 0 for the first; groups must be contiguous.

    >>> reached_before(np.array([4, 4, 4, 9]), np.array([2, 1, 5, 3])).tolist()
    [0, 2, 2, 0]
    """
    step = int(reach.max(initial=0)) + 1
    base = np.cumsum(np.diff(group, prepend=group[:1]) != 0) * step
    running = np.maximum.accumulate(base + reach)
    before = np.concatenate([[0], running[:-1]]) if len(running) else running
    return np.maximum(before - base, 0)

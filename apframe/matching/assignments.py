"""Assignments: who is matched with whom, in all slices of the objects and at all thresholds, as every matcher gives them.

A matcher takes `pairs`, with the columns `detection` (row numbers in the order of `order_detections`: lower is better ranked),
`annotation` (row numbers) and `similarity`, where pairs that reach no threshold may be absent; `is_crowd`, one flag per
annotation; `ignored`, flags of shape (slices, annotations); `thresholds`, ascending; and `strict`, whether a similarity must
be greater than a threshold, or at least equal to it (see `count_reached`). It gives assignments.

A table with the columns `detection` and `annotation` (numbers), `similarity`, `slice` (its number, or `EVERY_SLICE`), `first`
and `last` (it holds at thresholds number first, first + 1, ... last - 1) and `is_repeat` (the detection is ignored although
its annotation counts: a group of objects that another detection has already). A detection may have several rows, which
do not overlap.
"""

from __future__ import annotations

import numpy as np
import polars as pl

EVERY_SLICE = -1  # an assignment that holds in all slices of the objects alike


def find_contested(pairs: pl.DataFrame, n_annotations: int) -> np.ndarray:
    """One flag per pair: whether a rival for its annotation, or its detection, has another candidate."""
    detection, annotation = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    has_choice = np.bincount(detection)[detection] > 1 if len(detection) else np.zeros(0, dtype=bool)
    in_conflict = np.zeros(n_annotations, dtype=bool)
    in_conflict[annotation[has_choice]] = True
    return in_conflict[annotation]

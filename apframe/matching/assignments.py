"""Assignments: who is matched with whom, in all slices of the objects and at all thresholds; returned by every matcher.

A matcher accepts `pairs`, with the columns `detection` (row numbers in the order of `order_detections`: lower is better
ranked), `annotation` (row numbers) and `similarity`, where pairs that reach no threshold may be absent; `is_crowd`, one flag
per annotation; `ignored`, flags of shape (slices, annotations); `thresholds`, ascending; and `strict`, whether a similarity
must exceed a threshold; otherwise reaching it is enough (see `count_reached`). It returns assignments.

Assignments are a table with the columns `detection` and `annotation` (numbers), `similarity`, `slice` (its number, or
`EVERY_SLICE`), `first` and `last` (it holds at thresholds number first, first + 1, ... last - 1) and `is_repeat` (the
detection is ignored although its annotation counts: a group of objects that another detection already has). A detection may
have several rows, which do not overlap. `find_hits` converts them to hits of verdicts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.verdicts import has_bit

if TYPE_CHECKING:
    from apframe.matching.match_input import MatchInput

EVERY_SLICE = -1  # an assignment that holds in all slices of the objects
_OF_RANGES = ("left_out", "ranges", "void")  # columns of pairs that are bits of area ranges


def find_contested(pairs: pl.DataFrame, n_annotations: int) -> np.ndarray:
    """Flag the pairs whose detection, or a rival for whose annotation, has another candidate."""
    detection, annotation = pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()
    has_choice = np.bincount(detection)[detection] > 1 if len(detection) else np.zeros(0, dtype=bool)
    in_conflict = np.zeros(n_annotations, dtype=bool)
    in_conflict[annotation[has_choice]] = True
    return in_conflict[annotation]


def find_hits(rows: MatchInput, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the hits among some pairs: see `Verdicts.hits`, without `limit`.

    If pairs have a column `inside`, an annotation that is ignored in a range is a crowd there, and `inside` its similarity.
    `left_out` has bits of the ranges in which the pair does not exist.
    """
    if "inside" in pairs.columns or "left_out" in pairs.columns:
        return pl.concat([_find_in_range(rows, pairs, k) for k in range(rows.n_ranges)]).sort("detection")
    counts, n_ranges = rows.annotations["counts"].to_numpy(), rows.n_ranges
    is_crowd = rows.annotations["is_crowd"].to_numpy()
    if not rows.matcher.finds_groups:  # groups that count are missed
        counts = np.where(is_crowd, counts.dtype.type(0), counts)
    ignored = ~np.array([has_bit(counts, k) for k in range(n_ranges)])
    assigned = rows.matcher.match(pairs, is_crowd, ignored, rows.cuts)
    number = assigned["slice"].to_numpy()
    everywhere = counts.dtype.type((1 << n_ranges) - 1)
    ranges = np.where(
        number == EVERY_SLICE, everywhere, np.left_shift(counts.dtype.type(1), number.clip(0).astype(counts.dtype))
    )
    counted = counts[assigned["annotation"].to_numpy()]
    if rows.matcher.counts_everywhere:
        counted = np.where(counted > 0, everywhere, counted)
    true = np.where(assigned["is_repeat"].to_numpy(), 0, ranges & counted)
    further = [name for name in pairs.columns if name == "weight" or name.endswith("_error")]
    if further:
        of_pairs = pairs.select(pl.col("detection", "annotation").cast(pl.UInt32), *further)
        assigned = assigned.cast({"detection": pl.UInt32, "annotation": pl.UInt32})
        assigned = assigned.join(of_pairs, on=["detection", "annotation"], how="left", maintain_order="left")
    return assigned.select(
        pl.col("detection").cast(pl.UInt32),
        pl.col("annotation").cast(pl.UInt32),
        "similarity",
        "first",
        "last",
        pl.Series("ranges", ranges),
        pl.Series("true", true),
        *further,
    )


def _find_in_range(rows: MatchInput, pairs: pl.DataFrame, k: int) -> pl.DataFrame:
    """Return the hits among some pairs in one area range: without pairs left out there, and with `inside` for ignored ones."""
    counts = rows.annotations["counts"]
    flags = {name: pl.Series(has_bit(pairs[name].to_numpy(), k)) for name in _OF_RANGES if name in pairs.columns}
    pairs = pairs.with_columns(**flags)
    if "left_out" in flags:
        pairs = pairs.filter(~pl.col("left_out")).drop("left_out")
    ignored = pl.Series(~has_bit(counts.to_numpy(), k))
    of_range = rows.annotations.with_columns(counts=(~ignored).cast(counts.dtype))
    eligible = pairs
    if "inside" in pairs.columns:
        of_range = of_range.with_columns(is_crowd=rows.annotations["is_crowd"] | ignored)
        similarity = pl.when(ignored.gather(pairs["annotation"])).then("inside").otherwise("similarity").alias("similarity")
        eligible = pairs.with_columns(similarity).drop("inside").drop_nulls("similarity")
    hits = find_hits(replace(rows, annotations=of_range, n_ranges=1), eligible)
    return hits.with_columns((pl.col("ranges", "true").cast(pl.UInt64) * 2**k).cast(counts.dtype))

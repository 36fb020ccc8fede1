"""Ids of results that are another numbering of the images or categories: shifted by one, or places in a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from apframe.analysis.overlaps import n_overlapping, spread
from apframe.checks.findings import Finding, of_table
from apframe.schema import KEYS, Dataset, is_known

_LEAST, _TIMES = 10, 4  # so many, and so many times as many, must overlap by another numbering to be believed


def check_shifts(detections: pl.DataFrame, dataset: Dataset) -> Iterable[Finding]:
    """`shifted_ids`: image or category ids that look as if another numbering was meant.

    Other numberings are one less, one more, and places in the sorted list of ids, from 0 or 1. One is believed if not all ids
    are known as they are, but all by it, and no fewer detections overlap (IoU .5) an annotation of their image and category
    by it; or if many more do: at least 10, and more than four times as many.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1, 2]}, {
    ...     "image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> found = pl.DataFrame({
    ...     "image_id": [1, 1], "category_id": [0, 1], "x": [0.0, 50.0], "y": [0.0, 0.0], "width": [9.0, 9.0],
    ...     "height": [9.0, 9.0]})
    >>> print(*(finding.problem for finding in check_shifts(found, dataset)))  # doctest: +NORMALIZE_WHITESPACE
    detections: category_id looks 1 too small: 1 of 2 ids are unknown, 0 by that; 1 of 2 detections overlap an annotation so,
    0 as they are
    """
    if detections.is_empty():
        return
    sample, annotations = spread(detections), dataset.core("annotations")
    n_own = n_overlapping(sample, annotations, tuple(KEYS.values()), 0.5)
    for owner, key in KEYS.items():
        known, given = dataset.core(owner)[key].unique().sort(), detections[key].unique().sort()
        if known.is_empty() or known.dtype != pl.Int64 or given.dtype != pl.Int64:
            continue
        n_unknown = int((~is_known(given, known)).sum())
        if not n_unknown and sample.height <= _TIMES * n_own:
            continue
        believed = []
        for words, meant in _numberings(known, given):
            n_left = int((~is_known(meant, known)).sum())
            ids = pl.DataFrame({key: given, "meant": meant}).filter(pl.col("meant").is_not_null())
            renumbered = sample.join(ids, on=key).with_columns(pl.col("meant").alias(key))
            n_meant = n_overlapping(renumbered, annotations, tuple(KEYS.values()), 0.5)
            if (n_unknown and not n_left and n_meant >= n_own) or n_meant >= max(_LEAST, _TIMES * n_own + 1):
                believed.append((n_meant, n_left, words))
        if believed:
            n_meant, n_left, words = max(believed, key=lambda numbering: numbering[0])
            problem = (
                f"{key} looks {words}: {n_unknown:,} of {len(given):,} ids are unknown, {n_left:,} by that; {n_meant:,} of "
                f"{sample.height:,} detections overlap an annotation so, {n_own:,} as they are"
            )
            remedy = f"give the ids of the ground truth's {owner}"
            yield of_table("warning", "shifted_ids", "detections", detections.height, problem, remedy)


def _numberings(known: pl.Series, given: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """What ids may mean: words, and for each of the given ones another id (or null)."""
    yield "1 too small", given + 1
    yield "1 too large", given - 1
    if known[-1] - known[0] >= len(known):  # else places are the ids, or shifted by one
        for first in (0, 1):
            places = pl.DataFrame({"place": pl.int_range(first, first + len(known), eager=True), "meant": known})
            meant = given.alias("place").to_frame().join(places, on="place", how="left", maintain_order="left")["meant"]
            yield f"like a place in the list of ids, from {first}", meant

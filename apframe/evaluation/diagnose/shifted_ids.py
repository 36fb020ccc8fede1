"""Ids of results in a different numbering of the images or categories: shifted by one, or positions in a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from apframe.evaluation.diagnose.rare_overlaps import n_fitted, of_some_images
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import KEYS
from apframe.wording import option_name

# a different numbering is believed if it gives nearly all detections known ids, and this share of the annotations a
# # detection that fits, and this many times more annotations than the given ids
_KNOWN, _SHARE, _TIMES = 0.99, 0.2, 4
_LEAST = 10  # annotations with such a detection, if all ids are known as given


def find_shifts(detections: pl.DataFrame, dataset: Dataset) -> Iterable[tuple[str, str]]:
    """Yield ids of images or categories that seem to have a different numbering, with reason and remedy.

    Other numberings are one less, one more, and positions in the sorted list of ids, from 0 or 1. One is believed if it gives
    99 % of the detections ids of the ground truth, and a fifth of the annotations or more a detection that fits (IoU .5), more
    than four times as many as the given ids do; at least 10, if all given ids are known. These are the annotations of images
    (and categories, if their ids are in question) with detections; additional false positives change nothing. If one side has
    no boxes, known ids count instead.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1, 2]}, {
    ...     "image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> detections = pl.DataFrame({
    ...     "image_id": [1, 1], "category_id": [0, 1], "x": [0.0, 50.0], "y": [0.0, 0.0], "width": [9.0, 9.0],
    ...     "height": [9.0, 9.0]})
    >>> print(*next(iter(find_shifts(detections, dataset))))  # doctest: +NORMALIZE_WHITESPACE
    category_id of the detections looks 1 too small: by that numbering 100% of the annotations have a detection that fits, with
    the ids as they are 0% use the ids of the categories of the ground truth, or give names as a JSON file with the name of
    each of these numbers, {"1": ...}
    """
    if detections.is_empty():
        return
    sample, annotations = of_some_images(detections), dataset.core("annotations")
    has_boxes = bool(sample["x"].count() and annotations["x"].count())

    def fitting(rows: pl.DataFrame, on: Sequence[str]) -> tuple[int, int]:
        return n_fitted(rows, annotations, on, 0.5) if has_boxes else (rows.height, sample.height)

    for owner, key in KEYS.items():
        on = ("image_id",) if key == "image_id" else ("image_id", key)  # images first: categories may be shifted as well
        true_ids, result_ids = dataset.core(owner)[key].unique().sort(), detections[key].unique().sort()
        if true_ids.is_empty() or true_ids.dtype != pl.Int64 or result_ids.dtype != pl.Int64:
            continue
        all_known = bool(is_known(result_ids, true_ids).all())
        n_own, of_own = fitting(sample.filter(is_known(sample[key], true_ids)), on)
        believed = []
        for words, new_ids in _numberings(true_ids, result_ids) if _TIMES * n_own <= of_own else ():
            ids = pl.DataFrame({key: result_ids, "meant": new_ids}).filter(is_known(new_ids, true_ids))
            renumbered = sample.join(ids, on=key).with_columns(pl.col("meant").alias(key))
            n_meant, of_meant = fitting(renumbered, on) if renumbered.height >= _KNOWN * sample.height else (0, 0)
            if n_meant >= max(_SHARE * of_meant, _TIMES * n_own + 1, _LEAST if all_known else 1):
                believed.append((n_meant, of_meant, words))
        if believed:
            n_meant, of_meant, words = max(believed, key=lambda numbering: numbering[0])
            what = "annotations have a detection that fits" if has_boxes else "detections have a known id"
            remedy = f"use the ids of the {owner} of the ground truth"
            if owner == "categories":
                remedy += (
                    f', or give {option_name("names")} as a JSON file with the name of each of these numbers, {{"1": ...}}'
                )
            yield (
                f"{key} of the detections looks {words}: by that numbering {n_meant / of_meant:.0%} of the {what}, with the "
                f"ids as they are {n_own / max(1, of_own):.0%}",
                remedy,
            )


def _numberings(true_ids: pl.Series, result_ids: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """Yield other meanings of ids: words, and another id (or null) for each id of the results."""
    yield "1 too small", result_ids + 1
    yield "1 too large", result_ids - 1
    if true_ids[-1] - true_ids[0] >= len(true_ids):  # otherwise positions are the ids, or shifted by one
        for first in (0, 1):
            places = pl.DataFrame({"place": pl.int_range(first, first + len(true_ids), eager=True), "meant": true_ids})
            meant = result_ids.alias("place").to_frame().join(places, on="place", how="left", maintain_order="left")["meant"]
            yield f"like a place in the list of ids, from {first}", meant

"""What is odd about results by themselves: scores, repeated images, more detections than are counted."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, of_rows, of_table
from apframe.exceptions import counted

_MOST = 100  # detections of an image and category that COCO counts


def check_scores(detections: pl.DataFrame) -> Iterable[Finding]:
    """`no_detections`, `score_outside_0_1`, `equal_scores`.

    >>> found = pl.DataFrame({"detection_id": [1, 2], "score": [97.0, 97.0]})
    >>> [finding.check for finding in check_scores(found)]
    ['score_outside_0_1', 'equal_scores']
    """
    scores = detections["score"]
    if scores.is_empty():
        yield of_table(
            "warning", "no_detections", "detections", 0, "there are none: everything is missed", "is it the right file?"
        )
        return
    low, high = (float(edge) for edge in (scores.min(), scores.max()))  # type: ignore[arg-type]
    outside = (scores < 0) | (scores > 1)
    problem = f"score is outside 0 and 1, from {low:g} to {high:g} in all"
    remedy = "only the order counts, so nothing, if they are no probabilities; else bring all results to one scale"
    yield from of_rows("warning", "score_outside_0_1", "detections", detections, outside, problem, remedy)
    if low == high and len(scores) > 1:
        problem = f"all {len(scores):,} scores are {low:g}: ties are ranked in the order of the input"
        yield of_table(
            "warning", "equal_scores", "detections", len(scores), problem, "give the confidence of each as its score"
        )


def check_repeats(detections: pl.DataFrame) -> Iterable[Finding]:
    """`repeated_image`: images all of whose detections are there several times, equal in everything but their id.

    Samplers that pad each process's share of a data set to equal lengths leave such.

    >>> found = pl.DataFrame({"detection_id": [1, 2, 3], "image_id": [5, 5, 6], "score": [0.5, 0.5, 0.5]})
    >>> [(finding.rows, finding.problem) for finding in check_repeats(found)]
    [(('5',), 'images: all results of 1 of 2 are there 2 times or more, 1 detection too many')]
    """
    hashes = detections.drop("detection_id").hash_rows()
    if hashes.n_unique() == len(hashes):
        return
    rows = pl.DataFrame({"image_id": detections["image_id"], "hash": hashes})
    images = (
        rows.group_by("image_id", "hash")
        .len()
        .group_by("image_id")
        .agg(n_times=pl.min("len"), n_rows=pl.sum("len"), n=pl.len())
    )
    repeated = images.filter(pl.col("n_times") > 1).sort("image_id")
    if repeated.height:
        too_many, at_least = repeated.select(pl.sum("n_rows") - pl.sum("n"), pl.min("n_times")).row(0)
        problem = (
            f"all results of {repeated.height:,} of {images.height:,} are there {at_least} times or more, "
            f"{counted(too_many, 'detection')} too many"
        )
        remedy = "keep one of each: a distributed sampler that pads its shares evaluates some images twice"
        yield of_table("warning", "repeated_image", "images", repeated.height, problem, remedy, repeated["image_id"])


def check_numbers(detections: pl.DataFrame) -> Iterable[Finding]:
    """`many_detections`: images with more than 100 detections of a category, and images with more than 100 in all.

    >>> found = pl.DataFrame({"image_id": [5] * 150, "category_id": [1] * 90 + [2] * 60})
    >>> [finding.problem for finding in check_numbers(found)]
    ['images: more than 100 detections on 1 image (150 at most)']
    """
    cells = detections.group_by("image_id", "category_id").len()
    crowded = cells.filter(pl.col("len") > _MOST)
    images = cells.group_by("image_id").agg(pl.sum("len")).filter(pl.col("len") > _MOST)
    for found, what, of, remedy in (
        (
            crowded,
            "many_of_category",
            " of a category",
            f"COCO counts the {_MOST} of the highest scores of these; see max_detections",
        ),
        (images, "many_detections", "", f"COCO counts {_MOST} of each category, some other rules {_MOST} of each image"),
    ):
        if found.height:
            ids, most = found["image_id"].unique().sort(), found.select(pl.max("len")).item()
            problem = f"more than {_MOST} detections{of} on {counted(len(ids), 'image')} ({most:,} at most)"
            yield of_table("note", what, "images", len(ids), problem, remedy, ids)

"""Checks of results alone: scores, repeated images, more detections than are counted."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, as_sentence, of_ids, of_rows, of_table
from apframe.evaluation.diagnose.filtered import EQUAL_REMEDY, detections_per_image, why_equal, why_filtered
from apframe.protocols.published import PUBLISHED
from apframe.protocols.rules.limits import RequireAtMost
from apframe.registry import published_for
from apframe.tables.shapes.declarations import RELATIONS, shape_of
from apframe.wording import counted

_MOST = 100  # number of detections of an image and category that COCO counts


def check_scores(detections: pl.DataFrame) -> Iterable[Finding]:
    """Find `no_detections`, `score_outside_0_1` and `equal_scores`.

    >>> detections = pl.DataFrame({"detection_id": [1, 2], "score": [97.0, 97.0]})
    >>> [finding.check for finding in check_scores(detections)]
    ['score_outside_0_1', 'equal_scores']
    """
    scores = detections["score"]
    if scores.is_empty():
        problem = "there are no detections, so everything is missed"
        yield of_table("warning", "no_detections", "detections", 0, problem, "Check that this is the right file.")
        return
    if not scores.count():  # segments have no scores
        return
    low, high = (float(edge) for edge in (scores.min(), scores.max()))  # type: ignore[arg-type]
    outside = (scores < 0) | (scores > 1)
    problem = f"score is not between 0 and 1 (all scores are from {low:g} to {high:g})"
    remedy = "Nothing to do if scores are not probabilities: only their order counts. Otherwise rescale them all to one scale."
    yield from of_rows("warning", "score_outside_0_1", "detections", detections, outside, problem, remedy)
    if low == high and len(scores) > 1:
        yield of_table("warning", "equal_scores", "detections", len(scores), why_equal(low), as_sentence(EQUAL_REMEDY))


def check_filtered(detections: pl.DataFrame, n_images: int) -> Iterable[Finding]:
    """Find `filtered_results`: a score threshold was probably applied, see `why_filtered`.

    Equal scores are a separate finding, and relations are left out because only the top few of each image count.

    >>> detections = pl.DataFrame({"image_id": range(10), "score": [0.9, *[0.5] * 9]})
    >>> [finding.check for finding in check_filtered(detections, 300)]
    ['filtered_results']
    """
    scores = detections["score"]
    if scores.min() == scores.max() or shape_of(detections) is RELATIONS:
        return
    reasons = why_filtered(scores, lambda: detections_per_image(detections, n_images))
    if reasons is not None:
        problem, remedy = reasons[0], f"{as_sentence(reasons[1])} Nothing to do if the protocol does not measure AP or AR."
        yield of_table("warning", "filtered_results", "detections", len(scores), problem, remedy)


def check_repeats(detections: pl.DataFrame) -> Iterable[Finding]:
    """Find `repeated_image`: images whose detections all occur several times, equal in everything but their id.

    Samplers that pad the share of each process to equal lengths cause them.

    >>> detections = pl.DataFrame({"detection_id": [1, 2, 3], "image_id": [5, 5, 6], "score": [0.5, 0.5, 0.5]})
    >>> [(finding.rows, finding.problem) for finding in check_repeats(detections)]
    [(('5',), 'have all of their detections 2 times or more (1 detection too many)')]
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
        problem = f"have all of their detections {at_least} times or more ({counted(too_many, 'detection')} too many)"
        remedy = "Keep one of each. A distributed sampler that pads its shares evaluates some images twice."
        yield from of_ids("warning", "repeated_image", "images", repeated["image_id"], problem, remedy)


def check_missing(message: str) -> Finding:
    """Find `missing_results`: images without a result file or an entry in the results, as the reader warns of them.

    >>> check_missing("2 samples without an entry in the results").check
    'missing_results'
    """
    remedy = "Supply their results: an empty file or list where nothing was detected."
    return of_table("warning", "missing_results", "images", 0, message, remedy)


def check_numbers(detections: pl.DataFrame) -> Iterable[Finding]:
    """Find `many_of_category` and `many_detections`: images with more than 100 detections of a category, and with more in all.

    `too_many_detections` are images with more in all than the benchmark of such results accepts. Cuboids with velocities are
    results of benchmarks that compare distances.

    >>> detections = pl.DataFrame({"image_id": [5] * 150, "category_id": [1] * 90 + [2] * 60})
    >>> [finding.problem for finding in check_numbers(detections)]
    ['have more than 100 detections (150 at most)']
    """
    cells = detections.group_by("image_id", "category_id").len()
    images = cells.group_by("image_id").agg(pl.sum("len"))
    remedy = f"COCO counts only the {_MOST} with the highest scores of an image and category; see max_detections."
    yield from _of_many("note", "many_of_category", cells, _MOST, " of a category", "", remedy)
    remedy = f"COCO counts {_MOST} of each category on an image, some other protocols {_MOST} on an image in all."
    yield from _of_many("note", "many_detections", images, _MOST, "", "", remedy)
    for name in map(str.upper, published_for("distance") if "velocity_x" in detections.columns else ()):
        if (rule := PUBLISHED[name].rule(RequireAtMost)) is not None:
            remedy = f"Keep the {rule.limit} with the highest scores of each image."
            yield from _of_many("warning", "too_many_detections", images, rule.limit, "", f", which {name} rejects", remedy)


def _of_many(
    severity: str, check: str, numbers: pl.DataFrame, limit: int, of: str, consequence: str, remedy: str
) -> Iterable[Finding]:
    """Yield a finding about the images with a number (`len`) beyond a limit."""
    beyond = numbers.filter(pl.col("len") > limit)
    most = beyond.select(pl.max("len").fill_null(0)).item()
    problem = f"have more than {limit} detections{of} ({most:,} at most){consequence}"
    yield from of_ids(severity, check, "images", beyond["image_id"].unique().sort(), problem, remedy)

"""Counts for the Jaccard index: matched detections and annotations of an image in the best assignment, and their totals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.largest_sum import match_largest_sum
from apframe.matching.reached import count_reached
from apframe.protocols.pairing import number_cells, pair

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

_SMALL = 1e-6  # added to the divisor, as in the reference


class JaccardCounts:
    """The objects of each image and category, with their overlaps; `at` counts detections above one score.

    Parameters
    ----------
    inputs
        the input of the evaluation
    threshold
        the similarity that a pair has to reach or exceed
    """

    def __init__(self, inputs: Inputs, threshold: float) -> None:
        self._strict, self._threshold = inputs.protocol.matcher.strict, threshold
        self._ids = inputs.image_ids
        ignored = inputs.ignored
        detection_cells, annotation_cells = cells = number_cells(inputs)
        self._score = inputs.detections["score"]
        self._found, self._truth = detection_cells, annotation_cells.with_columns(ignored=ignored)
        pairs = pair(inputs, min_similarity=threshold, is_crowd=ignored, cells=cells)
        reach = self._reached(pairs)
        of_region = ignored.gather(pairs["annotation"])
        pairs = pairs.filter(reach)
        of_region = of_region.filter(reach)
        self._pairs = pairs.filter(~of_region)
        self._found_inside = pairs.filter(of_region)["detection"].unique()
        self._truth_inside = self._people_inside(inputs)

    def _reached(self, pairs: pl.DataFrame) -> pl.Series:
        similarity = pairs["similarity"].to_numpy()
        return pl.Series(count_reached(similarity, np.array([self._threshold]), strict=self._strict) > 0)

    def _people_inside(self, inputs: Inputs) -> pl.Series:
        """Return the annotations inside an ignored one."""
        ignored = self._truth["ignored"]
        rows = pl.int_range(len(ignored), eager=True)
        people, regions = rows.filter(~ignored), rows.filter(ignored)
        if not len(people) or not len(regions):
            return people.clear()
        as_detections = inputs.annotations[people].with_columns(detection_id="annotation_id", score=pl.lit(1.0))
        only_regions = replace(inputs, annotations=inputs.annotations[regions], detections=as_detections, prepared={})
        whole = pl.repeat(True, len(regions), eager=True)
        pairs = pair(only_regions, min_similarity=self._threshold, is_crowd=whole)
        return people.gather(pairs.filter(self._reached(pairs))["detection"].unique())

    def at(self, score: float) -> pl.DataFrame:
        """Count objects in the images with any, at a score.

        Columns: category, image, image_id, score_threshold, n_annotations, n_detections, n_matched, jaccard_index.
        """
        is_above = (self._score > score).fill_null(False)
        pairs = self._pairs.filter(is_above.gather(self._pairs["detection"]))
        n = self._truth.height
        matched = match_largest_sum(
            pairs, np.zeros(n, dtype=bool), np.zeros((1, n), dtype=bool), np.array([-np.inf]), strict=False
        )
        detections = self._found.select("category", "image").with_row_index("row").filter(is_above)
        detections = detections.with_columns(
            is_matched=pl.col("row").is_in(matched["detection"].implode()),
            is_inside=pl.col("row").is_in(self._found_inside.implode()),
        )
        truth = self._truth.with_row_index("row").filter(~pl.col("ignored"))
        truth = truth.with_columns(
            is_matched=pl.col("row").is_in(matched["annotation"].implode()),
            is_inside=pl.col("row").is_in(self._truth_inside.implode()),
        )
        counts = pl.concat(
            [
                each.filter(pl.col("is_matched") | ~pl.col("is_inside"))
                .group_by("category", "image")
                .agg(pl.len().alias(name), n_matched=pl.col("is_matched").sum())
                for each, name in ((truth, "n_annotations"), (detections, "n_detections"))
            ],
            how="diagonal",
        )
        counts = counts.group_by("category", "image").agg(
            pl.col("n_annotations", "n_detections").sum(), n_matched=pl.col("n_matched").max()
        )
        counts = counts.sort("category", "image").with_columns(
            pl.col("n_annotations", "n_detections", "n_matched").cast(pl.Int64)
        )
        m, n_detections, k = (pl.col(name) for name in ("n_annotations", "n_detections", "n_matched"))
        return counts.select(
            "category",
            "image",
            self._ids.gather(counts["image"]).alias("image_id"),
            pl.lit(score).alias("score_threshold"),
            m,
            n_detections,
            k,
            jaccard_index=k / (m + n_detections - k + _SMALL),
        )

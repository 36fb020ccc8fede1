"""Verdicts at one threshold and area range, and the outcomes of detections and annotations there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from apframe.matching.verdicts import Verdicts, has_bit


def verdicts_at(verdicts: Verdicts, threshold: int, k: int) -> Verdicts:
    """Return the verdicts for one threshold, one area range (numbers) and the largest limit; further detections are removed.

    >>> from apframe.matching.verdicts import example
    >>> verdicts_at(example(), 0, 0).hits.select("first", "last", "ranges", "true").rows()
    [(0, 1, 1, 1)]
    """
    limit = verdicts.limits[-1]
    hits = verdicts.hits_at(-1)
    holds = has_bit(hits["ranges"].to_numpy(), k)
    holds &= (hits["first"].to_numpy() <= threshold) & (threshold < hits["last"].to_numpy())
    hits = hits.filter(pl.Series(holds))
    ones = np.ones(hits.height, dtype=np.uint8)
    is_within = (verdicts.detections["place"] <= limit).to_numpy()
    at_one = replace(
        verdicts,
        thresholds=verdicts.thresholds[threshold : threshold + 1],
        ranges=verdicts.ranges[k : k + 1],
        limits=(limit,),
        detections=_as_one(verdicts.detections, "inside", k),
        annotations=_as_one(verdicts.annotations, "counts", k),
        hits=hits.select(
            "detection",
            "annotation",
            "similarity",
            pl.Series("first", ones * 0, dtype=pl.UInt16),
            pl.Series("last", ones, dtype=pl.UInt16),
            pl.Series("ranges", ones),
            pl.Series("true", has_bit(hits["true"].to_numpy(), k).astype(np.uint8)),
        ),
    )
    return at_one if is_within.all() else at_one.without(np.flatnonzero(~is_within))


def _as_one(table: pl.DataFrame, bits: str, k: int) -> pl.DataFrame:
    return table.with_columns(pl.Series(bits, has_bit(table[bits].to_numpy(), k).astype(np.uint8)))


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of the detections and annotations of `verdicts_at`, by position.

    Attributes
    ----------
    is_true, is_false
        for detections; a detection that is neither is ignored
    counts, is_found, is_taken
        for annotations: whether it is a positive, whether a true positive matches it, and whether any detection does: even an
        ignored detection keeps it from being missed
    """

    is_true: np.ndarray
    is_false: np.ndarray
    counts: np.ndarray
    is_found: np.ndarray
    is_taken: np.ndarray

    @property
    def is_missed(self) -> np.ndarray:
        """True for positives that no detection matches."""
        return self.counts & ~self.is_taken


def outcomes(verdicts: Verdicts) -> Outcomes:
    """Compute the outcomes of `verdicts_at`.

    >>> from apframe.matching.verdicts import example
    >>> result = outcomes(verdicts_at(example(), 0, 0))
    >>> result.is_true.tolist(), result.is_false.tolist(), result.is_missed.tolist()
    ([True, False], [False, True], [False])
    """
    detection, annotation, true = (verdicts.hits[name].to_numpy() for name in ("detection", "annotation", "true"))
    is_hit, is_true = np.zeros((2, verdicts.detections.height), dtype=bool)
    is_found, is_taken = np.zeros((2, verdicts.annotations.height), dtype=bool)
    is_hit[detection] = True
    is_true[detection[true > 0]] = True
    is_found[annotation[true > 0]] = True
    is_taken[annotation] = True
    inside = verdicts.detections["inside"].to_numpy() > 0
    return Outcomes(is_true, inside & ~is_hit, verdicts.annotations["counts"].to_numpy() > 0, is_found, is_taken)

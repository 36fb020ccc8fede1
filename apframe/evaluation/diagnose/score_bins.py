"""Scores and outcomes: detections that count in bins of their scores, as sums that add up over groups of detections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.outcomes import outcomes
from apframe.matching.verdicts import Verdicts

Z95 = 1.959963984540054  # of the normal distribution, for 95 %


@dataclass(frozen=True)
class Scored:
    """The detections that count, true and false positives, in the order of the verdicts.

    Attributes
    ----------
    number, image
        the numbers of each one's list and image
    score
        the score from the input
    target
        the value to compare the score with: 1 or the similarity for a true positive, 0 for a false one
    """

    number: np.ndarray
    image: np.ndarray
    score: np.ndarray
    target: np.ndarray


@dataclass(frozen=True)
class BinSums:
    """Sums over the detections of each group and bin, of shape (groups, bins). Sums of groups can be added.

    Attributes
    ----------
    n, score, target, square, absolute
        the number of detections, and the sums of score, target, (score - target)² and |score - target|
    """

    n: np.ndarray
    score: np.ndarray
    target: np.ndarray
    square: np.ndarray
    absolute: np.ndarray

    def total(self) -> BinSums:
        """Return the sums over all groups, as those of one."""
        return BinSums(*(each.sum(axis=0, keepdims=True) for each in vars(self).values()))

    def measures(self) -> dict[str, np.ndarray]:
        """Return n, ece, mce, brier, mean_gap and mae of every group; NaN without detections.

        >>> one = np.ones((1, 1))
        >>> BinSums(one, 0.75 * one, one, 0.0625 * one, 0.25 * one).measures()["mean_gap"].tolist()
        [0.25]
        """
        n = self.n.sum(axis=1)
        gaps = self.target - self.score
        with np.errstate(invalid="ignore"):
            return {
                "n": n,
                "ece": np.abs(gaps).sum(axis=1) / n,
                "mce": np.where(n > 0, np.abs(gaps / np.maximum(self.n, 1)).max(axis=1, initial=0), np.nan),
                "brier": self.square.sum(axis=1) / n,
                "mean_gap": gaps.sum(axis=1) / n,
                "mae": self.absolute.sum(axis=1) / n,
            }


def scored(verdicts: Verdicts, *, by_similarity: bool) -> Scored:
    """Return the detections that count from verdicts at one threshold and area range, see `verdicts_at`.

    >>> from apframe.evaluation.diagnose.outcomes import verdicts_at
    >>> from apframe.matching.verdicts import example
    >>> rows = scored(verdicts_at(example(), 0, 0), by_similarity=True)
    >>> rows.score.tolist(), rows.target.tolist()
    ([0.9, 0.8], [0.75, 0.0])
    """
    rows, became = verdicts.detections, outcomes(verdicts)
    counts = became.is_true | became.is_false
    target = became.is_true.astype(np.float64)
    if by_similarity:
        hits = verdicts.hits.filter(pl.col("true") > 0)
        target[hits["detection"].to_numpy()] = hits["similarity"].to_numpy()
    number, image, score = (rows[name].to_numpy()[counts] for name in ("list", "image", "score"))
    return Scored(number, image, score, target[counts])


def bin_edges(score: np.ndarray, n_bins: int, *, by_quantile: bool) -> np.ndarray:
    """Return the edges of the bins, one more than there are bins; empty if quantiles have no scores.

    >>> bin_edges(np.array([0.5]), 4, by_quantile=False).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> bin_edges(np.array([0.1, 0.1, 0.1, 0.5]), 2, by_quantile=True).tolist()
    [0.1, 0.5]
    >>> bin_edges(np.array([0.1, 0.1]), 2, by_quantile=True).tolist()
    [0.1, 0.1]
    """
    steps = np.arange(n_bins + 1) / n_bins
    if not by_quantile:
        return steps
    if not len(score):
        return np.empty(0)
    edges = np.unique(np.quantile(score, steps))
    return np.repeat(edges, 2) if len(edges) == 1 else edges


@dataclass(frozen=True)
class Binned:
    """Detections that count, and the edges of their bins, which are closed on one side; the outermost ones on both."""

    rows: Scored
    edges: np.ndarray
    closed: Literal["left", "right"] = "left"


def sum_bins(binned: Binned, group: np.ndarray, n_groups: int) -> BinSums:
    """Sum the rows of each group and bin; `group` is the number of each row's group.

    >>> rows = Scored(*map(np.array, ([0, 0], [0, 1], [0.5, 1.0], [0.0, 1.0])))
    >>> sum_bins(Binned(rows, np.array([0.0, 0.5, 1.0])), rows.image, 2).n.tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    rows, edges = binned.rows, binned.edges
    n_bins = max(len(edges) - 1, 0)
    side: Literal["left", "right"] = "right" if binned.closed == "left" else "left"
    at = (np.searchsorted(edges, rows.score, side=side) - 1).clip(0, max(n_bins - 1, 0))
    cell = group.astype(np.int64) * n_bins + at
    gap = rows.score - rows.target
    values = (np.ones(len(cell)), rows.score, rows.target, gap * gap, np.abs(gap))
    sums = (np.bincount(cell, weights=value, minlength=n_groups * n_bins) for value in values)
    return BinSums(*(each.reshape(n_groups, n_bins) for each in sums))


def wilson(share: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper end of Wilson's 95 % interval of a share of n; NaN if n is 0.

    Source: Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 1927.

    >>> [end.round(4).tolist() for end in wilson(np.array([0.5]), np.array([10]))]
    [[0.2366], [0.7634]]
    """
    z2 = Z95 * Z95
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = Z95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return np.maximum(centre - half, 0), np.minimum(centre + half, 1)

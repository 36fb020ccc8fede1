"""The detections that count: true and false positives, in rank order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.matching.verdicts import Verdicts, has_bit, list_bounds


@dataclass(frozen=True)
class Counted:
    """The detections that count at a threshold, in a range, within a limit; by list, then rank.

    Attributes
    ----------
    at
        their places among all detections
    list, image, score
        of each of them
    bounds
        where each list begins, and the last one ends
    hit
        the row in `hits` by which each is a true positive; -1 for false positives
    hits
        the hits that hold
    """

    at: np.ndarray
    list: np.ndarray
    image: np.ndarray
    score: np.ndarray
    bounds: np.ndarray
    hit: np.ndarray
    hits: pl.DataFrame

    @property
    def is_true(self) -> np.ndarray:
        """Flags of the true positives."""
        flags: np.ndarray = self.hit >= 0
        return flags


def count_rows(verdicts: Verdicts, t: int, k: int, m: int) -> Counted:
    """The detections that count at threshold t, in range k and within limit m, all by number.

    >>> from apframe.matching.verdicts import example
    >>> count_rows(example(), 0, 0, 0).is_true.tolist()
    [True, False]
    """
    rows, hits = verdicts.detections, verdicts.hits_at(m)
    holds = (hits["first"].to_numpy() <= t) & (t < hits["last"].to_numpy()) & has_bit(hits["ranges"].to_numpy(), k)
    hits = hits.filter(pl.Series(holds))
    detection, is_true = hits["detection"].to_numpy(), has_bit(hits["true"].to_numpy(), k)
    counts = has_bit(rows["inside"].to_numpy(), k).copy()
    hit = np.full(rows.height, -1)
    counts[detection], hit[detection[is_true]] = is_true, np.flatnonzero(is_true)
    counts &= rows["place"].to_numpy() <= verdicts.limits[m]
    at = np.flatnonzero(counts)
    of, image, score = (rows[name].to_numpy()[at] for name in ("list", "image", "score"))
    return Counted(at, of, image, score, list_bounds(of, verdicts.lists.height), hit[at], hits)


def count_positives(verdicts: Verdicts, k: int, weights: np.ndarray) -> np.ndarray:
    """How many annotations count in range k, under weights of shape (images, weightings); of shape (lists, weightings).

    >>> from apframe.matching.verdicts import example
    >>> count_positives(example(), 0, np.array([[2.0], [1.0]])).tolist()
    [[2.0]]
    """
    positives = np.zeros((verdicts.lists.height, weights.shape[1]))
    counts = has_bit(verdicts.annotations["counts"].to_numpy(), k)
    number, image = (verdicts.annotations[name].to_numpy()[counts] for name in ("list", "image"))
    np.add.at(positives, number, weights[image])
    return positives


def count_images(verdicts: Verdicts, k: int, weights: np.ndarray) -> np.ndarray:
    """How many images have annotations of a list that count in range k, under weights of shape (images, weightings).

    Returns
    -------
    An array of shape (lists, weightings).

    >>> from apframe.matching.verdicts import example
    >>> count_images(example(), 0, np.array([[2.0], [1.0]])).tolist()
    [[2.0]]
    """
    counts = has_bit(verdicts.annotations["counts"].to_numpy(), k)
    pairs = verdicts.annotations.select("list", "image").filter(pl.Series(counts)).unique().sort("list", "image")
    n = np.zeros((verdicts.lists.height, weights.shape[1]))
    np.add.at(n, pairs["list"].to_numpy(), weights.take(pairs["image"].to_numpy(), axis=0))
    return n

"""Average precision with a weight for every image: a resample of the images is such weights, and matches nothing again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from apframe.matching.verdicts import Verdicts, has_bit
from apframe.ranking.counts import SliceRows
from apframe.ranking.definitions import WeightedSum
from apframe.ranking.metrics import running_best
from apframe.ranking.ranking import Ranking, rank

_MOST = 1 << 21  # weights of detections at a time
_ROUNDING = 1e-9  # the share of the positives that sums of weights may be short of, where these are not whole


def average_precision(
    verdicts: Verdicts,
    definition: WeightedSum,
    image_weights: np.ndarray | None = None,
    *,
    area_range: int = 0,
    limit: int = -1,
    addend: float = 0.0,
) -> np.ndarray:
    """Average precision of every threshold and list, with all images once or with a weight for each.

    An image of weight 2 counts as two copies of it: its detections, false positives and annotations all do. For definitions
    with an envelope and whole weights the result is that of a data set with copies; other definitions take the precision
    after all copies of a detection. Copies of an image follow one another, so detections of one image that have equal scores
    must be alike for that. Where weights are not whole numbers, a recall of 1e-9 less than a level reaches it, for sums are
    rounded: what is perfect stays perfect.

    Parameters
    ----------
    verdicts
        what matching decided
    definition
        of average precision
    image_weights
        of shape (resamples, images), at least 0; None: all images once
    area_range, limit
        by number; the first range and the largest limit by default
    addend
        see `precision`

    Returns
    -------
    An array of shape (resamples, thresholds, lists), or (thresholds, lists) without weights; NaN where no annotation counts.

    Source: DIAGNOSIS.md 7.4.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.ranking.definitions import as_definition
    >>> average_precision(example(), as_definition("step"), np.array([[1, 1], [0, 3], [2, 0]])).tolist()
    [[[1.0]], [[nan]], [[1.0]]]
    """
    weights = np.ones((1, verdicts.images.height)) if image_weights is None else np.asarray(image_weights, dtype=np.float64)
    ranking = rank(verdicts, definition, addend)
    m = range(len(ranking.limits))[limit]
    rows = ranking.rows_of(area_range, m)
    image = verdicts.detections["image"].to_numpy()
    counts = ranking.walk(area_range, m).counts
    expected = verdicts.annotations.filter(pl.Series(has_bit(verdicts.annotations["counts"].to_numpy(), area_range)))
    slack = np.where((weights == np.rint(weights)).all(axis=1), 1.0, 1 + _ROUNDING)
    result = np.full((len(weights), ranking.n_thresholds, verdicts.lists.height), np.nan)
    for first, last in _blocks(ranking.starts, len(weights)):
        here = slice(*np.searchsorted(rows.category, [first, last]).tolist())
        begin, end = ranking.starts[first], ranking.starts[last]
        of_block = expected.filter(pl.col("list").is_between(first, last - 1))
        for chosen in np.array_split(np.arange(len(weights)), max(1, len(weights) * int(end - begin) // _MOST)):
            some = weights[chosen]
            positives = np.zeros((len(chosen), last - first))
            number = of_block["list"].to_numpy().astype(np.int64) - first
            np.add.at(positives.T, number, some[:, of_block["image"].to_numpy()].T)
            counted = np.zeros((len(chosen), end - begin + 1))
            np.cumsum(some[:, image[begin:end]] * counts[begin:end], axis=1, out=counted[:, 1:])
            of_rows = some[:, image[rows.detection[here]]]
            result[chosen, :, first:last] = _of_block(
                ranking, rows.only(here), of_rows, counted, positives, slack[chosen], first
            )
    return result[0] if image_weights is None else result


def _of_block(
    ranking: Ranking,
    rows: SliceRows,
    weights: np.ndarray,
    counted: np.ndarray,
    positives: np.ndarray,
    slack: np.ndarray,
    first: int,
) -> np.ndarray:
    """AP of some lists, the first of which has that number: of shape (resamples, thresholds, lists).

    `weights` are those of the rows, `counted` those of all detections summed down the lists, `positives` the sums of the
    annotations, and `slack` what true positives are multiplied by before they reach a level, each of shape (resamples, ...).
    """
    ap = np.where(positives > 0, 0.0, np.nan)[:, None, :].repeat(ranking.n_thresholds, axis=1)
    if not len(rows.category):
        return ap
    begin = ranking.starts[first]
    number = rows.category.astype(np.int64) - first
    alone = counted[:, rows.detection + 1 - begin] - counted[:, ranking.starts[rows.category] - begin]
    for t in range(ranking.n_thresholds):
        held = np.flatnonzero((rows.first <= t) & (t < rows.last))
        if not len(held):
            continue
        starts = np.flatnonzero(np.diff(number[held], prepend=-1))
        own, is_true = weights[:, held], rows.is_true[held]
        k = _running(own * is_true, starts)
        n = alone[:, held] + _running(own * rows.change[held], starts)
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = np.where(n > 0, k / (n + ranking.addend), 0.0)
        taken = running_best(observed, starts) if ranking.definition.interpolated else observed
        expected = positives[:, number[held]]
        so_far = np.minimum(k * slack[:, None], expected)
        before = np.concatenate([np.zeros((len(k), 1)), so_far[:, :-1]], axis=1)  # k - own would be rounded, and not reach 0
        before[:, starts] = 0
        share = pl.DataFrame({"k": so_far.ravel(), "before": before.ravel(), "n": expected.ravel()})
        reached = [ranking.definition.reached(pl.col(name), pl.col("n")) for name in ("k", "before")]
        gain = share.select(pl.when(pl.col("n") > 0).then(reached[0] - reached[1]).otherwise(0.0)).to_series().to_numpy()
        sums = np.add.reduceat(taken * gain.reshape(k.shape) * is_true, starts, axis=1)
        at = number[held][starts]
        ap[:, t, at] = np.where(positives[:, at] > 0, sums, np.nan)
    return ap


def _running(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Running sums along the rows, begun anew at each of the starts."""
    total = np.cumsum(values, axis=1)
    before = np.concatenate([np.zeros((len(values), 1)), total[:, starts[1:] - 1]], axis=1)
    return total - np.repeat(before, np.diff(starts, append=values.shape[1]), axis=1)


def _blocks(starts: np.ndarray, n_weights: int) -> Iterator[tuple[int, int]]:
    """Runs of lists that together have about so many detections that a few resamples fit into memory."""
    n_lists = len(starts) - 1
    if n_lists:
        size = max(_MOST // max(n_weights, 1), 1 << 14)
        cuts = np.unique(np.searchsorted(starts[:-1], np.arange(0, int(starts[-1]) + 1, size)))
        yield from pairwise(np.unique([0, *cuts[cuts < n_lists], n_lists]).tolist())

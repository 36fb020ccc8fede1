"""Average precision as a training objective: its value and its gradient, for a batch of queries at once.

Average precision is a step function of the scores: its gradient is 0 or does not exist. Each function here replaces the
counts of items by soft counts: `quantized_ap` and `fast_ap` count in the bins of a histogram, `smooth_ap` compares each
relevant item with all others. The loss is `1 - mean`, and its gradient is `-mean_gradient`; `ap_loss` of
`apframe.training.torch_losses` does that for PyTorch. To *report* average precision, use the exact metrics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apframe.exceptions import InputError, ParameterError, RowError
from apframe.option_values import whole_number

BLOCK = 1 << 22  # comparisons that smooth_ap keeps at a time: 32 MiB per array, and it needs about six


@dataclass(frozen=True, eq=False)
class DifferentiableAP:
    """A soft average precision of each query, and its derivative.

    `value` has shape (queries,) and lies in (0, 1]; it is NaN for a query without relevant items. `gradient` has the shape of
    the scores, (queries, items): the derivative of a query's value by each of its scores, 0 where the value is NaN.

    >>> ap = DifferentiableAP(np.array([0.5, np.nan]), np.array([[0.2, -0.2], [0.0, 0.0]]))
    >>> ap.mean, ap.n_queries, ap.mean_gradient.tolist()
    (0.5, 1, [[0.2, -0.2], [0.0, 0.0]])
    """

    value: np.ndarray
    gradient: np.ndarray

    @property
    def n_queries(self) -> int:
        """Number of queries with a relevant item; only these count in the mean."""
        return int(np.count_nonzero(~np.isnan(self.value)))

    @property
    def mean(self) -> float:
        """Mean over the queries with a relevant item; NaN without such queries."""
        return float(np.nansum(self.value)) / self.n_queries if self.n_queries else float("nan")

    @property
    def mean_gradient(self) -> np.ndarray:
        """Derivative of `mean` by each score; all 0 if no query has a relevant item."""
        return self.gradient / max(self.n_queries, 1)


def quantized_ap(
    similarity: np.ndarray,
    relevant: np.ndarray,
    *,
    n_bins: int = 20,
    low: float = -1.0,
    high: float = 1.0,
    valid: np.ndarray | None = None,
) -> DifferentiableAP:
    """Compute average precision of similarities counted in bins: `sum(precision * change of recall)` down the bins.

    The bins have `n_bins` centres, evenly spaced from `high` down to `low`, both included. An item counts as
    `max(1 - |similarity - centre| / spacing, 0)` in each bin, which is 1 in all. Precision is relevant items over all items
    up to and including a bin; the change of recall is the share of the relevant items in the bin.

    Parameters
    ----------
    similarity
        Scores of shape (queries, items), the larger the better; or (items,) for one query, which makes `value` a 0-d array.
        The default range is that of cosines. A score beyond `low` or `high` counts as that end and has gradient 0.
    relevant
        Of the same shape, bool or 0 and 1.
    n_bins
        Number of centres, 2 or more. Memory grows with queries × bins.
    low
        The similarity of the last centre.
    high
        The similarity of the first centre.
    valid
        Of the same shape: items where it is False are ignored, have gradient 0, and may be NaN. Use it to leave out the query
        itself, or to pad rows of different lengths.

    Returns
    -------
    Values and gradients in float64. On a centre, where the derivative jumps, it is the one towards lower similarity.

    Raises
    ------
    ParameterError
        Shapes differ, or an option is out of its range.
    RowError
        A score is NaN or infinite, or a flag is not 0 or 1.

    Time and memory grow linearly with the number of items, not with its square as in `smooth_ap`; in return, items within
    one bin are tied. More bins do not make it exact: an item between two centres is counted in two parts, and the
    first part is ranked without the second. With scores that share no bin, the value is at most (3 - √8) / 2 = 0.086 below
    the exact one, and equal to it if all scores are centres.
    More bins make gradients sparser: an irrelevant item has one only if a relevant item is in the upper of its two bins.

    He, Lu, Sclaroff: Local Descriptors Optimized for Average Precision, CVPR 2018. Revaud, Almazán, Rezende, de Souza:
    Learning with Average Precision: Training Image Retrieval with a Listwise Loss, ICCV 2019; as there, `n_bins` counts
    centres, and the first and last bins include the scores beyond.

    Centres 1, 0.5 and 0. The bins hold 0.5, 1, 0.5 of the two relevant items and 0.5, 2, 0.5 of all three, so the
    precisions are 0.5 / 0.5, 1.5 / 2.5 and 2 / 3, and the value is (0.5 * 1 + 1 * 0.6 + 0.5 * 0.667) / 2.

    >>> ap = quantized_ap(np.array([[0.75, 0.5, 0.25]]), np.array([[1, 0, 1]]), n_bins=3, low=0, high=1)
    >>> ap.value.round(3).tolist(), ap.gradient.round(3).tolist()
    ([0.717], [[0.4, -0.24, 0.093]])
    """
    _check_bins(n_bins, low, high)
    return _binned_ap("similarity", similarity, relevant, valid, n_centres=n_bins, first=high, last=low)


def fast_ap(
    distance: np.ndarray,
    relevant: np.ndarray,
    *,
    n_bins: int = 10,
    low: float = 0.0,
    high: float = 4.0,
    valid: np.ndarray | None = None,
) -> DifferentiableAP:
    """Compute average precision of distances counted in bins: `sum(h+ * H+ / H) / N+` over the bins.

    `h+` are the relevant items in a bin, `H+` and `H` the relevant items and all items up to and including it, `N+` all
    relevant items. This is the sum of `quantized_ap` in another notation: `fast_ap(d, r, n_bins=n)` is
    `quantized_ap(-d, r, n_bins=n + 1, low=-high, high=-low)` with the gradient negated. Use it for distances, and to
    compare with papers about FastAP. As in the authors' code, `n_bins` counts the *intervals*, whose n_bins + 1 ends are
    the centres, while `quantized_ap` counts the centres.

    Parameters
    ----------
    distance
        Distances of shape (queries, items) or (items,), the smaller the better. The default range is that of squared
        Euclidean distances of unit vectors, [0, 4]. A distance beyond `low` or `high` counts as that end and has gradient 0
        (the authors' code lets such items fade out instead; there, only rounding errors lie beyond).
    relevant
        Of the same shape, bool or 0 and 1.
    n_bins
        Number of intervals, 2 or more.
    low
        The distance of the first centre.
    high
        The distance of the last centre.
    valid
        Of the same shape: items where it is False take no part, have gradient 0, and may hold NaN.

    Returns
    -------
    Values and gradients in float64. On a centre, where the derivative jumps, it is the one towards larger distance.

    Raises
    ------
    ParameterError
        Shapes differ, or an option is out of its range.
    RowError
        A distance is NaN or infinite, or a flag is not 0 or 1.

    Cakir, He, Xia, Kulis, Sclaroff: Deep Metric Learning to Rank, CVPR 2019.

    Centres 0, 2 and 4; the bins hold 0.5, 1, 0.5 of the relevant items and 0.5, 2, 0.5 of all.

    >>> ap = fast_ap(np.array([[1.0, 2.0, 3.0]]), np.array([[1, 0, 1]]), n_bins=2)
    >>> ap.value.round(3).tolist(), ap.gradient.round(3).tolist()
    ([0.717], [[-0.1, 0.06, -0.023]])
    """
    _check_bins(n_bins, low, high)
    return _binned_ap("distance", distance, relevant, valid, n_centres=n_bins + 1, first=low, last=high)


def smooth_ap(
    similarity: np.ndarray, relevant: np.ndarray, *, temperature: float = 0.01, valid: np.ndarray | None = None
) -> DifferentiableAP:
    """Compute average precision with a sigmoid in place of "ranks above": the mean of `hits / above` over relevant items i.

    `above` is 1 plus the sum of `sigmoid((similarity[j] - similarity[i]) / temperature)` over all other items j, a soft
    rank; `hits` is the same with only relevant items j.

    Parameters
    ----------
    similarity
        Scores of shape (queries, items) or (items,), the larger the better, of any finite size.
    relevant
        Of the same shape, bool or 0 and 1.
    temperature
        In units of the similarity, above 0. Towards 0 the value approaches the exact average precision (with half an item for
        each tie), and the gradient vanishes except between items about this close to each other.
    valid
        Of the same shape: items where it is False take no part, have gradient 0, and may hold NaN.

    Returns
    -------
    Values and gradients in float64.

    Raises
    ------
    ParameterError
        Shapes differ, or the temperature is not above 0.
    RowError
        A score is NaN or infinite, or a flag is not 0 or 1.

    Unlike the two functions with bins, it needs no range of scores, is smooth everywhere, and distinguishes any two items; its
    time grows with relevant items × items. Memory is bounded, because it computes in blocks.

    Brown, Xie, Kalogeiton, Zisserman: Smooth-AP: Smoothing the Path Towards Large-Scale Image Retrieval, ECCV 2020.

    The relevant item lies log(3) below the other, and sigmoid(log(3)) = 3/4: the value is 1 / (1 + 3/4) = 4/7.

    >>> ap = smooth_ap(np.array([[0.0, np.log(3)]]), np.array([[1, 0]]), temperature=1)
    >>> ap.value.round(3).tolist(), ap.gradient.round(3).tolist()
    ([0.571], [[0.061, -0.061]])
    """
    if not 0 < temperature < np.inf:
        raise ParameterError(f"must be a number above 0, not {temperature!r}; the paper uses 0.01", option="temperature")
    scores, positive, valid_items = _checked("similarity", similarity, relevant, valid)
    total, slope = np.zeros(len(scores)), np.zeros(scores.shape)
    queries, items = np.nonzero(positive)
    step = max(1, BLOCK // max(1, scores.shape[1]))
    for start in range(0, len(queries), step):  # one row for each relevant item, one column for each other item
        q, i = queries[start : start + step], items[start : start + step]
        own = np.arange(len(q)), i
        others = valid_items[q]
        others[own] = False
        with np.errstate(over="ignore"):  # tanh of infinity is correctly 1
            t = np.tanh((scores[q] - scores[q, i][:, None]) / (2 * temperature))
        ahead = others * (1 + t) / 2  # the sigmoid without overflow
        above = 1 + ahead.sum(axis=1, keepdims=True)
        ratio = (1 + (ahead * positive[q]).sum(axis=1, keepdims=True)) / above
        change = ahead * (1 - t) / (2 * temperature) * (positive[q] - ratio) / above
        change[own] = -change.sum(axis=1)  # only differences count
        first = np.flatnonzero(np.diff(q, prepend=-1))  # rows of one query follow each other
        total[q[first]] += np.add.reduceat(ratio[:, 0], first)
        slope[q[first]] += np.add.reduceat(change, first)
    return _per_relevant_item(total, slope, positive, np.shape(similarity))


def _binned_ap(
    name: str,
    values: np.ndarray,
    relevant: np.ndarray,
    valid: np.ndarray | None,
    *,
    n_centres: int,
    first: float,
    last: float,
) -> DifferentiableAP:
    """Sum over bins whose centres go from `first` to `last`, in the direction of the ranking.

    An item lies between two neighbouring centres, and moving it from the upper bin m to the lower one changes nothing
    elsewhere. With share = relevant in bin m / all up to m, that adds share × precision (all up to m become fewer), and for
    a relevant item also the precision of the next bin, less the precision of m and less the share.
    """
    scores, positive, valid_items = _checked(name, values, relevant, valid)
    inside = np.clip(scores, min(first, last), max(first, last))
    place = (inside - first) / (last - first) * (n_centres - 1)
    upper = np.minimum(place.astype(np.int64), n_centres - 2)
    part = place - upper
    cell = (np.arange(len(scores))[:, None] * n_centres + upper).ravel()
    size = len(scores) * n_centres

    def histogram(who: np.ndarray) -> np.ndarray:
        in_upper = np.bincount(cell, (who * (1 - part)).ravel(), size)
        return (in_upper + np.bincount(cell + 1, (who * part).ravel(), size)).reshape(-1, n_centres)

    hits = histogram(positive)
    above = np.cumsum(histogram(valid_items), axis=1)
    precision = np.divide(np.cumsum(hits, axis=1), above, out=np.zeros(hits.shape), where=above > 0)
    share = np.divide(hits, above, out=np.zeros(hits.shape), where=above > 0)

    for_any = (share * precision)[:, :-1]
    for_relevant = for_any + np.diff(precision, axis=1) - share[:, :-1]
    change = np.where(positive, np.take_along_axis(for_relevant, upper, 1), np.take_along_axis(for_any, upper, 1))
    moves = valid_items & (inside == scores) & (place < n_centres - 1)  # beyond the last centre the value is constant
    slope = np.where(moves, change * ((n_centres - 1) / (last - first)), 0.0)
    return _per_relevant_item((hits * precision).sum(axis=1), slope, positive, np.shape(values))


def _per_relevant_item(total: np.ndarray, slope: np.ndarray, positive: np.ndarray, shape: tuple[int, ...]) -> DifferentiableAP:
    """Divide sums over relevant items by their number, in the shape of the original scores."""
    n_positives = positive.sum(axis=1)
    value = np.divide(total, n_positives, out=np.full(len(total), np.nan), where=n_positives > 0)
    return DifferentiableAP(value.reshape(shape[:-1]), (slope / np.maximum(n_positives, 1)[:, None]).reshape(shape))


def _checked(
    name: str, values: np.ndarray, relevant: np.ndarray, valid: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the scores, the relevant items and the items that count, each of shape (queries, items); other scores are 0."""
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers in rows of the same length: {error}", option=name) from error
    if scores.ndim not in (1, 2):
        raise ParameterError(
            f"has shape {scores.shape}", "its shape must be (queries, items), or (items,) for one query", option=name
        )
    shape = scores.shape
    valid_items = np.ones(shape, dtype=bool) if valid is None else _flags("valid", valid, np.ones(shape, dtype=bool))
    positive = _flags("relevant", relevant, valid_items)
    _refuse(name, "NaN or infinite", valid_items & ~np.isfinite(scores), "mask items without a score with valid=")
    return np.atleast_2d(np.where(valid_items, scores, 0.0)), np.atleast_2d(positive), np.atleast_2d(valid_items)


def _flags(name: str, values: np.ndarray, valid_items: np.ndarray) -> np.ndarray:
    """Return flags (bool, or 0 and 1) as bool; False for items that do not count."""
    flags = np.asarray(values)
    if flags.shape != valid_items.shape:
        raise ParameterError(f"has shape {flags.shape}, the scores {valid_items.shape}", "give one flag per score", option=name)
    _refuse(name, "neither 0 nor 1", valid_items & (flags != 0) & (flags != 1), "use bool, or 0 and 1")
    return valid_items & (flags == 1)


def _refuse(name: str, problem: str, bad: np.ndarray, remedy: str) -> None:
    if bad.any():
        raise RowError(name, problem, "(query, item)", map(tuple, np.argwhere(np.atleast_2d(bad)).tolist()), remedy)


def _check_bins(n_bins: int, low: float, high: float) -> None:
    whole_number("n_bins", n_bins, 2)
    if not 0 < high - low < np.inf:
        raise ParameterError(
            f"must lie below high, got low={low!r}, high={high!r}", "give the range of the scores", option="low"
        )

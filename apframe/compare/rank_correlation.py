"""Agreement of two rankings: Kendall's tau, AP correlation and rank-biased overlap.

Internally, each function works on many pairs of rankings at once (the queries of two runs, or the draws of a bootstrap); the
public ones accept a single pair. Pairs of items in the same order are counted in O(n log n), one pass for each bit of a rank.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apframe.exceptions import ParameterError
from apframe.option_values import one_of, proper_share
from apframe.wording import listed

P = 0.9  # for rank-biased overlap: the first ten ranks have 86 % of the weight


def kendall_tau(a: Sequence[float] | Any, b: Sequence[float] | Any, *, variant: str = "b") -> float | None:
    """Compute Kendall's tau of two lists of scores for the same items: 1 for the same order, -1 for the reverse.

    With C pairs of items in the same order and D in opposite orders, of n (n - 1) / 2 pairs in all:

    - variant "a" is (C - D) over all pairs. A pair with equal scores counts as 0, so ties lower it (Kendall 1938).
    - variant "b" is (C - D) / √((pairs not tied in a) (pairs not tied in b)), as in scipy (Kendall 1945).

    Without ties the two are the same.

    Parameters
    ----------
    a, b
        a score for each item, the items in the same order in both
    variant
        "a" or "b"

    Returns
    -------
    A number from -1 to 1. None with fewer than two items, and for variant "b" if all scores of a list are equal.

    Raises
    ------
    ParameterError
        lists of different lengths, missing scores, NaN, another variant

    Five of the six pairs are in the same order:

    >>> round(kendall_tau([0.4, 0.3, 0.2, 0.1], [0.3, 0.4, 0.2, 0.1]), 4)
    0.6667
    """
    one_of("variant", variant, ("a", "b"))
    pairs = Pairs.of(*_scores(a, b))
    return _number(pairs.tau_a() if variant == "a" else pairs.tau_b())


def tau_ap(a: Sequence[float] | Any, b: Sequence[float] | Any, *, variant: str = "a") -> float | None:
    """Compute the AP rank correlation of two lists of scores: Kendall's tau with more weight on differences at the top.

    For each item of b but the first: the share of the items above it in b that are also above it in a. The coefficient is 2 ×
    the mean of these shares - 1 (Yilmaz, Aslam and Robertson 2008). It is 1 for the same order and -1 for the reverse. The
    variants differ in their treatment of equal scores, and are from Urbano and Marrero 2017:

    - variant "a" (accuracy): a is the true order and b an estimate. It is the mean over all orders of items that are tied in
      either list.
    - variant "b" (agreement): neither list is the true one. The items of the first tied group have no share; for the others it
      is the share among items with a higher score, and items tied in the other list are not in the same order. The coefficient
      is the mean of both directions, so it is symmetric.

    Parameters
    ----------
    a, b
        a score for each item, higher is better, the items in the same order in both
    variant
        "a" or "b"

    Returns
    -------
    A number from -1 to 1. None with fewer than two items, and for variant "b" if all scores of a list are equal.

    Raises
    ------
    ParameterError
        lists of different lengths, missing scores, NaN, another variant

    A swap at the top costs more than one at the bottom, while Kendall's tau is .6667 for both:

    >>> round(tau_ap([0.4, 0.3, 0.2, 0.1], [0.3, 0.4, 0.2, 0.1]), 4)
    0.3333
    >>> round(tau_ap([0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.1, 0.2]), 4)
    0.7778
    """
    one_of("variant", variant, ("a", "b"))
    group, first, second = _scores(a, b)
    pairs = Pairs.of(group, first, second)
    return _number(pairs.tau_ap_a() if variant == "a" else tau_ap_b(pairs, Pairs.of(group, second, first)))


def rank_biased_overlap(a: Sequence[Hashable], b: Sequence[Hashable], *, p: float = P) -> float | None:
    """Compute the rank-biased overlap of two rankings, which may have different items and lengths.

    It is the mean overlap of the first d items over all depths d, where depth d has the weight (1 - p) p^(d - 1). Beyond the
    ends of the lists the overlap is extrapolated: RBO_EXT, equation 32 of Webber, Moffat and Zobel 2010.

    Parameters
    ----------
    a, b
        the items, best first, each once; resolve ties beforehand
    p
        the chance to look at the next depth, between 0 and 1; with .9 the first ten ranks have 86 % of the weight

    Returns
    -------
    A number from 0 (no item in common) to 1 (the same list). None if a list is empty.

    Raises
    ------
    ParameterError
        an item is listed twice, or p is not between 0 and 1

    The overlaps are 1 of 1, 1 of 2 and 2 of 3:

    >>> round(rank_biased_overlap(["x", "y", "z"], ["x", "z", "u"], p=0.5), 4)
    0.7917
    """
    proper_share("p", p, P)
    places = [{item: rank for rank, item in enumerate(items, 1)} for items in (a, b)]
    for name, items, rank_of in zip("ab", (a, b), places, strict=True):
        if len(rank_of) < len(items):
            repeated = dict.fromkeys(item for rank, item in enumerate(items, 1) if rank_of[item] != rank)
            raise ParameterError(f"lists an item twice: {listed([*repeated])}", "keep its best rank", option=name)
    common = places[0].keys() & places[1].keys()
    deeper = np.array([max(places[0][item], places[1][item]) for item in common], dtype=np.int64)
    shorter, longer = sorted([len(a), len(b)])
    return _number(overlaps(np.zeros(len(deeper), np.int64), deeper, np.array([shorter]), np.array([longer]), p))


@dataclass(frozen=True)
class Pairs:
    """The pairs of items of many groups, counted: one row for each item, by group and score of b (best first).

    Attributes
    ----------
    group
        the group of each item, from 0
    n
        the number of items in each group
    place
        the position of each item in its group, from 0
    above
        the number of items in its group with a higher score in b
    in_order
        how many of these also have a higher score in a
    equal
        how many of these have the same score in a
    equal_in_a
        the number of earlier items in the group with the same score in a
    equal_in_both
        the number of earlier items in the group with the same scores in a and b
    """

    group: np.ndarray
    n: np.ndarray
    place: np.ndarray
    above: np.ndarray
    in_order: np.ndarray
    equal: np.ndarray
    equal_in_a: np.ndarray
    equal_in_both: np.ndarray

    @staticmethod
    def of(group: np.ndarray, a: np.ndarray, b: np.ndarray) -> Pairs:
        """Count the pairs in groups numbered from 0 (each with at least one item), with two scores for each item.

        >>> pairs = Pairs.of(np.array([0, 0, 0]), np.array([0.9, 0.5, 0.1]), np.array([0.5, 0.9, 0.1]))
        >>> pairs.above.tolist(), pairs.in_order.tolist()
        ([0, 1, 2], [0, 0, 2])
        """
        place_a, place_b = (_descending(group, scores) for scores in (a, b))
        # among equal scores of b, the worse in a come first, so that none of them is in order with a later one
        order = np.lexsort((-place_a, place_b, group))
        group, place_a, place_b = group[order], place_a[order], place_b[order]
        place = _since(_changes(group))
        tied = _changes(group, place_b)
        above = place - _since(tied)
        in_order, equal_in_a = _better_before(place_a, place)
        equal_in_both = _since(tied | _changes(place_a))
        n = np.bincount(group)
        return Pairs(group, n, place, above, in_order, equal_in_a - equal_in_both, equal_in_a, equal_in_both)

    def tau_a(self) -> np.ndarray:
        """Return Kendall's tau-a of each group; NaN with fewer than two items."""
        return _over(self._in_order_more_than_not(), self._all())

    def tau_b(self) -> np.ndarray:
        """Return Kendall's tau-b of each group; NaN if all scores of a list are equal."""
        untied_a = self._all() - self._sum(self.equal_in_a)
        untied_b = self._all() - self._sum(self.place - self.above)
        return _over(self._in_order_more_than_not(), np.sqrt(untied_a * untied_b))

    def tau_ap_a(self) -> np.ndarray:
        """Return the AP correlation of each group with a as the true order, averaged over the orders of tied items."""
        tie = np.cumsum(self.above == self.place) - 1  # the number of the tied group, in which an item may have any position
        among = self.place - self.above
        inverse = np.divide(1, self.place, out=np.zeros(len(self.place)), where=self.place > 0)
        share = (np.bincount(tie, inverse) / np.bincount(tie))[tie] if len(tie) else inverse
        from_above = np.where(self.above > 0, (self.in_order + self.equal / 2) * share, 0)
        return 2 * _over(self._sum(from_above + among / 2 * inverse), self.n - 1.0) - 1

    def to_b(self) -> np.ndarray:
        """Return the AP correlation of each group by variant "b", in the direction from b to a."""
        has_above = self.above > 0
        shares = np.divide(self.in_order, self.above, out=np.zeros(len(self.above)), where=has_above)
        return 2 * _over(self._sum(shares), self._sum(has_above)) - 1

    def _all(self) -> np.ndarray:
        return self.n * (self.n - 1) / 2

    def _in_order_more_than_not(self) -> np.ndarray:
        tied = self._sum(self.equal_in_a) + self._sum(self.place - self.above) - self._sum(self.equal_in_both)
        return 2 * self._sum(self.in_order) + tied - self._all()

    def _sum(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.group, values, minlength=len(self.n))


def tau_ap_b(pairs: Pairs, exchanged: Pairs) -> np.ndarray:
    """Return the AP correlation by variant "b" of each group, from the pairs of a and b, and those of b and a."""
    mean: np.ndarray = (pairs.to_b() + exchanged.to_b()) / 2
    return mean


def overlaps(group: np.ndarray, deeper: np.ndarray, shorter: np.ndarray, longer: np.ndarray, p: float) -> np.ndarray:
    """Return the extrapolated rank-biased overlap of each pair of rankings; NaN if a list is empty.

    Parameters
    ----------
    group, deeper
        for each item that two rankings have in common: the number of the pair (from 0), and the larger of its ranks (from 1)
    shorter, longer
        the lengths of the lists of each pair

    >>> overlaps(np.array([0]), np.array([1]), np.array([1, 1]), np.array([1, 2]), 0.9).round(9).tolist()
    [1.0, 0.0]
    """
    s, l = shorter.astype(np.float64), longer.astype(np.float64)  # noqa: E741 - the names of the paper
    depths = np.arange(1, int(longer.max(initial=0)) + 1)
    sums = np.concatenate([[0.0], np.cumsum(p**depths / depths)])  # of p^d / d, to each depth
    common = np.bincount(group, minlength=len(s))
    within_shorter = np.bincount(group, deeper <= shorter[group], minlength=len(s))
    seen = np.bincount(group, sums[longer[group]] - sums[deeper - 1], minlength=len(s))
    with np.errstate(divide="ignore", invalid="ignore"):
        unseen = within_shorter * ((p ** (s + 1) - p ** (l + 1)) / (1 - p) / s - (sums[longer] - sums[shorter]))
        overlap = (1 - p) / p * (seen + unseen) + ((common - within_shorter) / l + within_shorter / s) * p**l
    return np.where(shorter > 0, np.clip(overlap, 0, 1), np.nan)


def _scores(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return one group of items with two scores each, or raise an error about invalid scores."""
    scores = []
    for name, values in (("a", a), ("b", b)):
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError("must be a list of numbers", option=name) from error
        if array.ndim != 1:
            raise ParameterError(f"must be a list of numbers, not an array of {array.ndim} dimensions", option=name)
        if np.isnan(array).any():
            where = listed((np.flatnonzero(np.isnan(array)) + 1).tolist())
            raise ParameterError(f"has no score at place {where}", "leave these items out of both lists", option=name)
        scores.append(array)
    if len(scores[0]) != len(scores[1]):
        problem = f"a has {len(scores[0])} scores, b has {len(scores[1])}"
        raise ParameterError(problem, "give the scores of the same items, in the same order")
    return np.zeros(len(scores[0]), dtype=np.int64), scores[0], scores[1]


def _number(values: np.ndarray) -> float | None:
    return None if len(values) == 0 or np.isnan(values[0]) else float(values[0])


def _over(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the quotient, NaN if the denominator is not positive."""
    return np.divide(numerator, denominator, out=np.full(len(numerator), np.nan), where=denominator > 0)


def _descending(group: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the position of each score among the distinct ones of its group, the highest first."""
    order = np.lexsort((-scores, group))
    is_first, is_next = _changes(group[order]), _changes(group[order], scores[order])
    number = np.cumsum(is_next)
    places = np.empty(len(group), dtype=np.int64)
    places[order] = number - number[np.arange(len(group)) - _since(is_first)]
    return places


def _changes(*columns: np.ndarray) -> np.ndarray:
    """True for the first row, and for rows that differ from the one before in a column."""
    changed = np.ones(len(columns[0]), dtype=bool)
    changed[1:] = False
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def _since(starts: np.ndarray) -> np.ndarray:
    """Number of rows since the last start."""
    rows = np.arange(len(starts))
    return rows - np.maximum.accumulate(np.where(starts, rows, 0))


def _better_before(values: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count, for each row, the earlier rows of its group with a lower value, and those with the same value.

    `place` is the row's position in its group. Rows are split by the bits of their values, highest first, in a stable order.
    When two rows of one group are separated, all earlier rows with the lower bit are lower. This is the counting step of a
    wavelet tree.
    """
    n = len(values)
    rows = np.arange(n)
    start = rows - place
    ends = np.append(np.flatnonzero(place == 0), n)[1:]
    end = ends[np.cumsum(place == 0) - 1]
    row, lower = rows, np.zeros(n, dtype=np.int64)
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        is_one = (values >> bit & 1).astype(bool)
        zeros = np.concatenate([[0], np.cumsum(~is_one)])
        zeros_before = zeros[:-1] - zeros[start]
        middle = start + zeros[end] - zeros[start]  # the first row of the upper half
        lower[row] += np.where(is_one, zeros_before, 0)
        target = np.where(is_one, middle + (rows - start) - zeros_before, start + zeros_before)
        start, end = np.where(is_one, middle, start), np.where(is_one, end, middle)
        moved = np.empty((4, n), dtype=np.int64)
        moved[:, target] = row, values, start, end
        row, values, start, end = moved
    equal = np.empty(n, dtype=np.int64)
    equal[row] = rows - start
    return lower, equal

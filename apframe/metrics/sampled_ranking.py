"""Verdicts ranked by definitions that read the curve at fixed recalls, with weights for the images or without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from apframe.lazily import cached_property
from apframe.matching.verdicts import Verdicts
from apframe.metrics.box_errors import BoxErrors
from apframe.metrics.counted import count_positives, count_rows
from apframe.metrics.definitions import COCO_101
from apframe.metrics.mean_errors import Cuts, mean_errors
from apframe.metrics.sampled import LEVELS, Sampled
from apframe.metrics.segments import running_sums
from apframe.metrics.weighted_sums import levels_reached
from apframe.metrics.weights import ROUNDING

_MOST = 1 << 23  # of sums that are computed together
_REACHED = levels_reached(COCO_101)
_TINY = np.finfo(float).tiny


class SampledRanking:
    """Verdicts of a policy that decides once, ranked by a `Sampled` definition; it stands in the place of a `Ranking`.

    An image of weight 2 counts as two copies of it, whose detections follow one another. Weights that are not whole are divided
    by their mean, and the last copy of a detection is a part of one.

    Parameters
    ----------
    verdicts
        what matching decided; lists may have `undefined_errors`, bits of the kinds that have no value there
    definition, addend
        of average precision, and what is added to the divisor of precision
    errors
        which errors of the true positives are averaged, and how; None: none
    counts_absent
        whether lists without positives have an average precision, of 0
    """

    rest = None

    def __init__(
        self,
        verdicts: Verdicts,
        definition: Sampled,
        addend: float = 0.0,
        errors: BoxErrors | None = None,
        *,
        counts_absent: bool = False,
    ) -> None:
        self._verdicts, self._definition, self._addend, self._errors = verdicts, definition, addend, errors
        self.counts_absent = counts_absent
        self.limits = verdicts.limits
        self.shape = (len(verdicts.thresholds), verdicts.lists.height, len(verdicts.ranges), len(verdicts.limits))
        self._walks: dict[tuple[int, int, int], Walk] = {}

    def parts(self) -> list[tuple[slice, SampledRanking]]:
        """All lists at once."""
        return [(slice(None), self)]

    @cached_property
    def positives(self) -> np.ndarray:
        """How many annotations count, of shape (lists, ranges)."""
        return self._verdicts.positives

    @property
    def further(self) -> tuple[str, ...]:
        """The names of the numbers of each list beside average precision and counts."""
        return () if self._errors is None else self._errors.columns

    def compute(self, ranges: Sequence[int], m: int) -> dict[str, np.ndarray]:
        """`ap`, `hits`, `n_detections` and the further numbers, of shape (thresholds, ranges, lists), at limit number m.

        Errors are those at the threshold of theirs, and NaN at others. `ap` is NaN in lists without positives, unless these
        count.
        """
        once = np.ones((self._verdicts.images.height, 1))
        found = [self.weighted(range(self.shape[0]), k, m, once) for k in ranges]
        names = ("ap", "hits", "n_detections", *self.further)
        return {
            name: np.array([[of_range[t][name][:, 0] for of_range in found] for t in range(self.shape[0])]) for name in names
        }

    def weighted(self, thresholds: Sequence[int], k: int, m: int, weights: np.ndarray) -> dict[int, dict[str, np.ndarray]]:
        """The numbers of each list by threshold, in range number k at limit number m, of shape (lists, weightings).

        `weights` are at least 0, of shape (images, weightings). Beside what `compute` gives there are `positives` and `recall`.
        """
        is_whole = bool((weights == np.rint(weights)).all())
        if not is_whole:
            weights = weights / np.maximum(weights.mean(axis=0), _TINY)
        expected = count_positives(self._verdicts, k, weights)
        at_errors = None if self._errors is None else self._errors.threshold_number(self._verdicts.thresholds)
        wanted = sorted({*thresholds} if at_errors is None else {*thresholds, at_errors})
        walks = {t: self._walk(t, k, m) for t in wanted}
        n_rows = max((len(walk.image) for walk in walks.values()), default=0)
        step = max(1, _MOST // max(1, n_rows))
        parts: dict[int, list[dict[str, np.ndarray]]] = {t: [] for t in wanted}
        for begin in range(0, weights.shape[1], step):
            block = slice(begin, begin + step)
            rows: np.ndarray | None = None
            for t, walk in walks.items():
                if walk.image is not rows:  # thresholds at which the same detections count share their sums
                    rows = walk.image
                    own: np.ndarray = weights[:, block].take(rows, axis=0)
                    upto = np.zeros((len(own) + 1, own.shape[1]))
                    np.cumsum(own, axis=0, out=upto[1:])
                slack = 0.0 if is_whole else ROUNDING
                part = self._of_walk(walk, own, upto, expected[:, block], with_errors=t == at_errors, slack=slack)
                parts[t].append(part)
        found = {t: {name: np.concatenate([each[name] for each in of], axis=1) for name in of[0]} for t, of in parts.items()}
        return {t: found[t] | self._errors_at(found, t, at_errors, expected) for t in thresholds}

    def _errors_at(
        self, found: Mapping[int, Mapping[str, np.ndarray]], t: int, at: int | None, expected: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The columns of the errors at threshold t, and the score that is made of these and average precision."""
        if self._errors is None:
            return {}
        nothing = np.full(expected.shape, np.nan)
        there = {kind: nothing if at is None else found[at][kind] for kind in self._errors.kinds}
        cds = {"cds": self._errors.cds(found[t]["ap"], there)} if self._errors.with_cds else {}
        return (there if t == at else dict.fromkeys(there, nothing)) | cds

    def _of_walk(
        self, walk: Walk, own_of_all: np.ndarray, upto: np.ndarray, expected: np.ndarray, *, with_errors: bool, slack: float
    ) -> dict[str, np.ndarray]:
        """The numbers at one threshold: sums of weights down the lists, read at the levels of recall.

        `own_of_all` are the weights of the detections that count, and `upto` their sums before each.
        """
        base, number = upto[walk.bounds[:-1]], walk.number
        total = upto[walk.bounds[1:]] - base
        own, n = own_of_all[walk.true], upto[walk.true + 1] - base[number]
        k = running_sums(own, walk.starts, walk.segment)
        n = np.maximum(n, k)
        hits = np.zeros_like(expected)
        hits[number[walk.last]] = k[walk.last]
        ap = np.where(expected > 0, 0.0, 0.0 if self.counts_absent else np.nan)
        with np.errstate(invalid="ignore"):
            found = {"ap": ap, "hits": hits, "n_detections": total, "positives": expected, "recall": hits / expected}
        cuts = None
        if len(walk.true):
            cuts = _cut(k, n, own, total[number], np.where(expected > 0, expected, 1.0)[number], walk, self._definition, slack)
            best = _best_from_here(k / (np.maximum(n, _TINY) + self._addend), walk.segment)
            values = cuts.frame(best).select(self._definition.at_level(_COLUMNS)).to_series().to_numpy()
            at = number[cuts.row] * ap.shape[1] + cuts.weighting
            ap += np.bincount(at, values, minlength=ap.size).reshape(ap.shape) / self._definition.n_levels
        if with_errors and self._errors is not None:
            found |= mean_errors(self._errors, walk, own_of_all, cuts, hits)
        return found

    def _walk(self, t: int, k: int, m: int) -> Walk:
        """The walk at threshold t, in range k and within limit m, all by number."""
        if (t, k, m) not in self._walks:
            at = None if self._errors is None else self._errors.threshold_number(self._verdicts.thresholds)
            made = Walk.of(self._verdicts, self._errors if t == at else None, t, k, m)
            known = (walk for (_, *others), walk in self._walks.items() if others == [k, m])
            same = next((walk for walk in known if np.array_equal(walk.image, made.image)), made)
            self._walks[t, k, m] = replace(made, image=same.image)
        return self._walks[t, k, m]


@dataclass(frozen=True)
class Walk:
    """The detections that count at a threshold, in a range, within a limit; by list, then rank.

    Attributes
    ----------
    image, score
        of each of them
    bounds
        where each list begins, and the last one ends
    true
        the places of the true positives among them
    number
        the list of each true positive
    starts, last, segment
        the first and the last true positive of each list that has some, and the number of such a list of each
    errors
        of the true positives, by kind; NaN where there is none
    undefined
        of the lists, bits of the kinds of errors that have no value
    """

    image: np.ndarray
    score: np.ndarray
    bounds: np.ndarray
    true: np.ndarray
    number: np.ndarray
    starts: np.ndarray
    last: np.ndarray
    segment: np.ndarray
    errors: Mapping[str, np.ndarray]
    undefined: np.ndarray

    @classmethod
    def of(cls, verdicts: Verdicts, errors: BoxErrors | None, t: int, k: int, m: int) -> Walk:
        """The walk at threshold t, in range k and within limit m, all by number."""
        rows, n_lists = count_rows(verdicts, t, k, m), verdicts.lists.height
        true = np.flatnonzero(rows.is_true)
        number = rows.list[true].astype(np.int64)
        is_first = np.diff(number, prepend=-1) != 0
        starts = np.flatnonzero(is_first)
        kinds = {} if errors is None else errors.of_hits(rows.hits[rows.hit[true]])
        undefined = np.zeros(n_lists, dtype=np.uint8)
        if "undefined_errors" in verdicts.lists.columns:
            undefined = verdicts.lists["undefined_errors"].to_numpy()
        return cls(
            image=rows.image,
            score=rows.score,
            bounds=rows.bounds,
            true=true,
            number=number,
            starts=starts,
            last=np.append(starts[1:], len(true))[: len(starts)] - 1,
            segment=np.cumsum(is_first) - 1,
            errors=kinds,
            undefined=undefined,
        )


_COLUMNS = {
    name: pl.col(name)
    for name in ("level", "n_positives", "left_tp", "left_n", "right_tp", "right_n", "is_end", "tp", "end_n", "best",
                 "best_after")
}  # fmt: skip


def _best_from_here(values: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """The largest value from each row to the end of its segment, down the columns.

    Complex numbers are compared by their real parts first, so the number of the segment keeps the maxima apart.
    """
    backwards = np.empty(values.shape, dtype=np.complex128)
    backwards.real = -segment[::-1, None]
    backwards.imag = values[::-1]
    best: np.ndarray = np.maximum.accumulate(backwards, axis=0).imag[::-1]
    return best


def _cut(
    k: np.ndarray,
    n: np.ndarray,
    own: np.ndarray,
    total: np.ndarray,
    positives: np.ndarray,
    walk: Walk,
    definition: Sampled,
    slack: float,
) -> Cuts:
    """Where each level of recall lies, see `Cuts`; the arrays are of shape (true positives, weightings)."""
    recall = k / positives
    reached = _REACHED(k.copy(), positives, slack).astype(np.int64)
    before = np.zeros_like(reached)
    before[1:] = reached[:-1]
    before[walk.starts] = 0
    first = np.maximum(before, definition.first_level)
    times = np.maximum(np.maximum(reached, definition.first_level) - first, 0).ravel()
    cell = np.repeat(np.arange(len(times)), times)
    place = first.ravel()[cell] + np.arange(len(cell)) - np.repeat(np.cumsum(times) - times, times)
    level = np.array(LEVELS)[place]
    row, weighting = np.divmod(cell, k.shape[1])
    # the next true positive of the list that weighs something
    at = np.where(own > 0, np.arange(len(own))[:, None], len(own))
    following = np.full_like(at, len(own))
    following[:-1] = np.minimum.accumulate(at[::-1], axis=0)[::-1][1:]
    after = following[row, weighting]
    after[walk.segment[np.minimum(after, len(own) - 1)] != walk.segment[row]] = -1
    after[after == len(own)] = -1
    values = {name: of[row, weighting] for name, of in (("k", k), ("n", n), ("own", own), ("R", positives))}
    above_tp, above_n = values["k"] - values["own"], values["n"] - values["own"]
    # how far the level is beyond the items above, and between which copies of the detection
    beyond = np.clip(level * values["R"] - above_tp, 0, values["own"])
    copies = np.minimum(np.floor(beyond), np.maximum(np.ceil(values["own"]) - 1, 0))
    end_n = np.where(after >= 0, n[after, weighting] - own[after, weighting], total[row, weighting])
    return Cuts(
        row=row,
        weighting=weighting,
        after=after,
        copy=copies,
        is_end=np.abs(level - recall[row, weighting]) <= slack,
        columns={
            "level": level,
            "n_positives": values["R"],
            "left_tp": above_tp + copies,
            "left_n": above_n + copies,
            "right_tp": above_tp + np.minimum(copies + 1, values["own"]),
            "right_n": above_n + np.minimum(copies + 1, values["own"]),
            "tp": values["k"],
            "end_n": end_n,
        },
    )

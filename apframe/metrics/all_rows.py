"""Definitions of average precision that need every row of a list: WIDER FACE, CrowdHuman, Ultralytics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.metrics.points import GAIN, NEW_N, NEW_TP, PRECISION, RANK, TP, OfVerdicts

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights

_MOST = 1 << 14  # rows that are worked on together
_SLACK = 1e-9  # by which sums of weights that are not whole miss a level


@dataclass(frozen=True)
class ListedRows:
    """The detections that count, by list, then rank; what has two axes is of shape (rows or lists, weightings).

    Attributes
    ----------
    list, score, is_true
        of each of them
    bounds
        where each list begins, and the last one ends
    own
        the weight of its image
    positives
        the weight of the annotations that count, of each list
    ends
        gives the lowest and the highest score of each list, also of detections that do not count, of shape (2, lists,
        weightings); NaN where there is none
    """

    list: np.ndarray
    score: np.ndarray
    is_true: np.ndarray
    bounds: np.ndarray
    own: np.ndarray
    positives: np.ndarray
    ends: Callable[[], np.ndarray]


class AllRows(OfVerdicts):
    """Definitions of all rows of a list. An image of weight 0 is not there, its scores neither."""

    why_no_points = "needs all rows of a list with their scores, not the true positives alone"
    example = "WIDER_FACE"
    n_steps: ClassVar[int] = 0  # numbers of each list that are computed at once

    @abstractmethod
    def area(self, rows: ListedRows) -> np.ndarray:
        """Average precision of each list, of shape (lists, weightings); anything where there are no positives."""

    def average(self, cells: Cells, weights: Weights, addend: float, absent: float) -> np.ndarray:
        """See `Definition.average`."""
        import numpy as np

        del addend

        def at(some: Weights, t: int, k: int, m: int) -> dict[str, np.ndarray]:
            rows, positives = cells.counted(t, k, m), cells.expected(k, some.scaled)
            own, ends = some.scaled.take(rows.image, axis=0), partial(_ends, cells, some.scaled)
            listed = ListedRows(rows.list, rows.score, rows.is_true, rows.bounds, own, positives, ends)
            return {"ap": np.where(positives > 0, self.area(listed), absent)}

        return cells.means(("ap",), at, weights, self.n_steps * cells.n_lists)["ap"]


class WiderFace(AllRows):
    """The area under the envelope at 1,000 score cut-offs, evenly spaced from the highest score down to the lowest.

    Scores are made relative to the lowest and the highest of the whole result set, s' = (s - min) / (max - min). Point t of
    1,000 is made of the detections with s' of at least 1 - t / 1000, so those of one step count together. If all scores are
    equal, there are no points, and average precision is 0. Steps are told apart in double precision.

    Source: WIDER FACE's MATLAB kit, `norm_score.m` and `evaluation.m`; Yang et al. 2016.
    """

    name = "wider_face"
    n_steps = 1000

    def area(self, rows: ListedRows) -> np.ndarray:
        """The sum of the envelope times the gain of recall, over the cut-offs."""
        import numpy as np

        from apframe.metrics.segments import divide

        (n_lists, n_weightings), n, (low, high) = rows.positives.shape, self.n_steps, rows.ends()
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (rows.score[:, None] - low[rows.list]) / (high - low)[rows.list]
        cut_offs = (1 - np.arange(1, n + 1) / n)[::-1]
        step = n - np.searchsorted(cut_offs, share, side="right")  # from 0; n where a share is below all of them, or none
        step = np.where(np.isfinite(share), step, n)
        at = ((rows.list[:, None].astype(np.int64) * (n + 1) + step) * n_weightings + np.arange(n_weightings)).ravel()
        shape = (n_lists, n + 1, n_weightings)
        ranked, found = (
            np.bincount(at, own.ravel(), n_lists * (n + 1) * n_weightings).astype(float).reshape(shape)[:, :n].cumsum(axis=1)
            for own in (rows.own, rows.own * rows.is_true[:, None])
        )
        precision = divide(found, ranked)
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        gains = np.diff(found, axis=1, prepend=0)
        area: np.ndarray = (best * gains).sum(axis=1) / np.maximum(rows.positives, np.finfo(float).tiny)
        return area


class CrowdHuman(AllRows):
    """The area under straight lines between the rows, from the second row on: no envelope, and the first row adds nothing.

    A true positive in row k adds the mean of the precision there and in the row above, over R. One in the first row adds
    nothing. So a single person who is found has 0.

    Source: CrowdHuman (Shao et al. 2018); CrowdDet, `APMRToolkits/database.py`.
    """

    name = "crowdhuman"

    def of_points(self) -> pl.Expr:
        """The sum of the trapezoids that have a row above; a block of equal scores is one row."""
        n_above = RANK - NEW_N
        return pl.when(n_above > 0).then(((TP - NEW_TP) / n_above + PRECISION) / 2 * GAIN).otherwise(0.0).sum()

    def area(self, rows: ListedRows) -> np.ndarray:
        """The sum over the true positives; a detection of weight 2 is two rows."""
        import numpy as np

        from apframe.metrics.segments import divide, sums, sums_before

        own = rows.own * rows.is_true[:, None]
        upto = [sums_before(values) for values in (own, rows.own)]
        tp, n = (each[:-1] - each[rows.bounds[rows.list]] for each in upto)
        total = np.zeros_like(own)
        for copy in range(int(np.ceil(own.max(initial=0)))):
            part = np.clip(own - copy, 0, 1)  # of this copy
            above, here = divide(tp + copy, n + copy), divide(tp + copy + part, n + copy + part)
            total += np.where(n + copy > 0, part * (above + here) / 2, 0)
        area: np.ndarray = sums(total, rows.bounds) / np.maximum(rows.positives, np.finfo(float).tiny)
        return area


class Ultralytics(AllRows):
    """The area under straight lines between the rows, read at 101 recalls, 0 from the last row on.

    The curve goes from (0, 1) through recall and envelope of every row. It is read at linspace(0, 1, 101), at a recall that
    several rows have from the last of them, and what was read is joined by straight lines again. From the recall of the last
    row on the curve is 0, at that recall too. So a perfect list has .995, as the last of the 101 values is 0. A list without
    detections has 0.

    Source: ultralytics 8.4.37 and later, `compute_ap` in `utils/metrics.py`.
    """

    name = "ultralytics"
    falls_at_once: ClassVar[bool] = True  # to 0 after the last row; otherwise along a line to recall 1

    def area(self, rows: ListedRows) -> np.ndarray:
        """Average precision of each list; a detection of weight 2 is two rows."""
        import numpy as np

        is_whole = bool((rows.own == np.rint(rows.own)).all())
        step = max(1, _MOST // max(1, len(rows.own))) if is_whole else 1  # long sums of other numbers are less exact
        blocks = [slice(begin, begin + step) for begin in range(0, rows.own.shape[1], step)]
        areas = [self._of_weightings(rows, block, is_whole=is_whole) for block in blocks]
        return np.concatenate(areas, axis=1) if areas else np.zeros(rows.positives.shape)

    def _of_weightings(self, rows: ListedRows, block: slice, *, is_whole: bool) -> np.ndarray:
        """The same under some of the weightings, whose lists follow one another."""
        import numpy as np

        from apframe.metrics.segments import ranges, suffix_maxima, sums_before

        own, positives = rows.own[:, block].T.ravel(), rows.positives[:, block].T.ravel()
        n_lists, of_each = len(positives), len(rows.bounds) - 1
        begins = of_each * np.arange(rows.positives[:, block].shape[1])[:, None]  # the first list of each weighting
        is_true, of = np.tile(rows.is_true, len(begins)), (rows.list + begins).ravel()
        copies = np.ceil(own).astype(np.int64)
        copy, row = ranges(np.zeros_like(copies), copies)
        of = of[row]
        part = np.ones(len(row)) if is_whole else np.minimum(own[row] - copy, 1)
        bounds = np.searchsorted(of, np.arange(n_lists + 1))
        tp, ranked = (upto[1:] - upto[bounds[of]] for upto in map(sums_before, (part * is_true[row], part)))
        recall = tp / np.maximum(positives[of], np.finfo(float).tiny)
        levels = np.linspace(0, 1, 101)
        if not is_whole:
            nearest = np.rint(recall * 100).astype(np.int64).clip(0, 100)
            recall = np.where(np.abs(recall - levels[nearest]) < _SLACK, levels[nearest], recall)
        best = suffix_maxima(tp / ranked, of)
        # how many rows of each list have a recall of at most each level
        above = np.searchsorted(levels, recall, side="left")
        width = len(levels) + 1
        within = np.bincount(of * width + above, minlength=n_lists * width).reshape(n_lists, width)[:, :-1].cumsum(axis=1)
        begin, total = bounds[:-1, None], np.diff(bounds)[:, None]
        recall, best = np.append(recall, 0.0), np.append(best, 0.0)  # so that there is something to look up in an empty list
        at, following = np.minimum(begin + within - 1, len(row)), np.minimum(begin + within, len(row))
        r0, p0 = np.where(within > 0, recall[at], 0.0), np.where(within > 0, best[at], 1.0)
        is_last = within == total
        r1, p1 = np.where(is_last, 1.0, recall[following]), np.where(is_last, 0.0, best[following])
        read = p0 + (p1 - p0) * np.divide(levels - r0, r1 - r0, out=np.ones_like(r0), where=r1 > r0)
        read = np.where((total == 0) | (is_last & self.falls_at_once), 0.0, read)
        area: np.ndarray = ((read[:, 1:] + read[:, :-1]) / 2 * np.diff(levels)).sum(axis=1)
        return area.reshape(len(begins), of_each).T


class UltralyticsBefore(Ultralytics):
    """As `ultralytics`, but after the last row a straight line leads from there to recall 1 and precision 0.

    A list that ends at recall r gains about (1 - r) P / 2, where P is the precision of its last row.

    Source: ultralytics up to 8.4.36, `compute_ap` in `utils/metrics.py`.
    """

    name = "ultralytics_8_4_35"
    falls_at_once = False


def _ends(cells: Cells, weights: np.ndarray) -> np.ndarray:
    """The lowest and the highest score of each list on images that weigh something, see `ListedRows`."""
    import numpy as np

    from apframe.metrics.segments import extremes

    is_there = weights.take(cells.detections["image"], axis=0) > 0
    found = []
    for pick, none in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        found.append(extremes(pick, np.where(is_there, cells.detections["score"][:, None], none), cells.starts, none))
    return np.where(np.isfinite(found), found, np.nan)

"""Ultralytics' definitions of average precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from apframe.metrics.all_rows import AllRows, ListedRows

if TYPE_CHECKING:
    import numpy as np
_MOST = 1 << 14  # the maximum number of rows processed together
_SLACK = 1e-9  # the tolerance at a level for sums of fractional weights


class Ultralytics(AllRows):
    """The area under straight lines between the rows, read at 101 recalls, 0 from the last row on.

    The curve goes from (0, 1) through recall and envelope of every row. It is read at linspace(0, 1, 101), using the last of
    several rows with the same recall, and the 101 values are joined by straight lines again. From the recall of the last row
    on, this recall included, the curve is 0. So a perfect list has .995, as the last of the 101 values is 0. A list without
    detections has 0.

    Source: ultralytics 8.4.37 and later, `compute_ap` in `utils/metrics.py`.
    """

    name = "ultralytics"
    example = "ULTRALYTICS"
    precision = "envelope of all rows, straight lines between them"
    weights = "trapezoids between 101 recalls"
    formula = "area under the curve through all rows, read at linspace(0, 1, 101); 0 from the last row on"
    used_by = "Ultralytics from 8.4.37"
    source = "ultralytics, utils/metrics.py"
    falls_at_once: ClassVar[bool] = True  # to 0 after the last row; otherwise along a line to recall 1

    def area(self, rows: ListedRows) -> np.ndarray:
        """Return average precision of each list; a detection of weight 2 is two rows."""
        import numpy as np

        is_whole = bool((rows.own == np.rint(rows.own)).all())
        step = max(1, _MOST // max(1, len(rows.own))) if is_whole else 1  # long sums of fractions are less exact
        blocks = [slice(begin, begin + step) for begin in range(0, rows.own.shape[1], step)]
        areas = [self._of_weightings(rows, block, is_whole=is_whole) for block in blocks]
        return np.concatenate(areas, axis=1) if areas else np.zeros(rows.positives.shape)

    def _of_weightings(self, rows: ListedRows, block: slice, *, is_whole: bool) -> np.ndarray:
        """Return average precision under some of the weightings, whose lists follow one another."""
        import numpy as np

        from apframe.metrics.list_sums import ranges, suffix_maxima, sums_before

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
        # the number of rows of each list with a recall of at most each level
        above = np.searchsorted(levels, recall, side="left")
        width = len(levels) + 1
        within = np.bincount(of * width + above, minlength=n_lists * width).reshape(n_lists, width)[:, :-1].cumsum(axis=1)
        begin, total = bounds[:-1, None], np.diff(bounds)[:, None]
        recall, best = np.append(recall, 0.0), np.append(best, 0.0)  # gives an empty list something to look up
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
    precision = "envelope of all rows, straight lines between them"
    weights = "trapezoids between 101 recalls"
    formula = "area under the curve through all rows and (1, 0), read at linspace(0, 1, 101)"
    used_by = "Ultralytics up to 8.4.36"
    source = "ultralytics, utils/metrics.py"
    falls_at_once = False

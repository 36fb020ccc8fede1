"""Average precision from straight lines between all rows of a list, read at 101 recalls: Ultralytics."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from apframe.metrics.of_rows import ListedRows, OfRows

if TYPE_CHECKING:
    import numpy as np

_MOST = 1 << 14  # rows that are worked on together
_SLACK = 1e-9  # by which sums of weights that are not whole miss a level


class Ultralytics(OfRows):
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

        own, positives = rows.own[:, block].T.ravel(), rows.positives[:, block].T.ravel()
        n_lists, of_each = len(positives), len(rows.bounds) - 1
        begins = of_each * np.arange(rows.positives[:, block].shape[1])[:, None]  # the first list of each weighting
        is_true, of = np.tile(rows.is_true, len(begins)), (rows.list + begins).ravel()
        copies = np.ceil(own).astype(np.int64)
        row = np.repeat(np.arange(len(own)), copies)
        of, part = of[row], np.ones(len(row))
        if not is_whole:
            part = np.minimum(own[row] - (np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)), 1)
        bounds = np.searchsorted(of, np.arange(n_lists + 1))
        tp, ranked = (_down(values, bounds, of) for values in (part * is_true[row], part))
        recall = tp / np.maximum(positives[of], np.finfo(float).tiny)
        levels = np.linspace(0, 1, 101)
        if not is_whole:
            nearest = np.rint(recall * 100).astype(np.int64).clip(0, 100)
            recall = np.where(np.abs(recall - levels[nearest]) < _SLACK, levels[nearest], recall)
        best = _envelope(tp / ranked, of)
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


def _down(values: np.ndarray, bounds: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The sums of the values down to each row, in its list.

    >>> import numpy as np
    >>> _down(np.array([1, 0, 1, 1.0]), np.array([0, 2, 4]), np.array([0, 0, 1, 1])).tolist()
    [1.0, 1.0, 1.0, 2.0]
    """
    import numpy as np

    upto = np.append(0.0, np.cumsum(values))
    down: np.ndarray = upto[1:] - upto[bounds[of]]
    return down


def _envelope(precision: np.ndarray, of: np.ndarray) -> np.ndarray:
    """The largest precision from each row to the end of its list.

    Complex numbers are compared by their real parts first, the number of the list, so that a later list has no part in it.

    >>> import numpy as np
    >>> _envelope(np.array([0.5, 0.6, 0.9]), np.array([0, 0, 1])).tolist()
    [0.6, 0.6, 0.9]
    """
    import numpy as np

    backwards = np.empty(len(precision), dtype=np.complex128)
    np.negative(of[::-1], out=backwards.real, casting="unsafe")
    backwards.imag = precision[::-1]
    best: np.ndarray = np.maximum.accumulate(backwards).imag[::-1]
    return best

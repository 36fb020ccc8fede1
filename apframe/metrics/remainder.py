"""Detections that count in lists of objects without being in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apframe.metrics.cells import Cells
from apframe.metrics.list_sums import ranges as numbers_from
from apframe.metrics.running_counts import SliceRows, count_at, count_detections, select_rows


@dataclass(frozen=True)
class Remainder:
    """Detections that count in lists without being in them, because all objects near them are ignored there.

    `cells` are whole lists, with all annotations ignored. Some of their detections are also in the lists of other cells:
    `place` is their position in the whole lists, and `whole` is the number of the whole list that contains each list. A list's
    count is the whole list's count with all annotations ignored, corrected for the list's own detections.
    """

    cells: Cells
    place: np.ndarray
    whole: np.ndarray

    def n_detections(self, k: int, m: int) -> np.ndarray:
        """Return the number of detections that count in each whole list, of shape (thresholds, whole lists)."""
        return count_detections(self.cells.rows_of([k], m, for_curves=False), len(self.cells.thresholds))

    def count(self, rows: SliceRows, ranges: Sequence[int], m: int, category: np.ndarray, *, for_curves: bool) -> SliceRows:
        """Return the assignments of the lists in one range, with the counts of whole lists; `category` is the detections'."""
        walk, n_thresholds = self.cells.walk(ranges, m), len(self.cells.thresholds)
        of_whole = select_rows(self.cells.hits[m], walk, ranges)
        begin, end = (np.searchsorted(of_whole.detection, self.place, side) for side in ("left", "right"))
        at, again = numbers_from(begin, end - begin)
        # the outcome of these detections in the whole list is undone before their outcome here is applied
        back = (
            category[again],
            again,
            np.zeros(len(at), dtype=bool),
            -of_whole.change[at],
            of_whole.first[at],
            of_whole.last[at],
        )
        here = rows.category, rows.detection, rows.is_true, rows.change, rows.first, rows.last
        order = np.argsort(np.concatenate([back[1], here[1]]), kind="stable")
        of_list, detection, is_true, change, first, last = (
            np.concatenate(both)[order] for both in zip(back, here, strict=True)
        )
        n_unmatched = np.zeros(len(order), dtype=np.int32)
        if for_curves:
            n_unmatched = count_at(of_whole, walk, self.whole[of_list], self.place[detection], n_thresholds)
        n_counted = count_detections(of_whole, n_thresholds)[:, self.whole]
        return SliceRows(n_counted, of_list, detection, n_unmatched, is_true, change, first, last)

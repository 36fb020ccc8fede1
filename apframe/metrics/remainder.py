"""Detections that count in lists of objects although these do not have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apframe.metrics.cells import Cells
from apframe.metrics.list_sums import ranges as numbers_from
from apframe.metrics.running_counts import SliceRows, count_at, count_detections, select_rows


@dataclass(frozen=True)
class Remainder:
    """Detections that count in lists although these do not have them, as all that is found near them is ignored there.

    `cells` are of whole lists, all annotations ignored. Some detections of them are in the lists of other cells: `place` is
    theirs in the whole lists, and `whole` says of which of these each list is a part. A list counts what is left of the whole
    one where all annotations are ignored, corrected for the detections that it has itself.
    """

    cells: Cells
    place: np.ndarray
    whole: np.ndarray

    def n_detections(self, k: int, m: int) -> np.ndarray:
        """How many detections count in each whole list, of shape (thresholds, whole lists)."""
        return count_detections(self.cells.rows_of([k], m, for_curves=False), len(self.cells.thresholds))

    def count(self, rows: SliceRows, ranges: Sequence[int], m: int, category: np.ndarray, *, for_curves: bool) -> SliceRows:
        """The assignments of the lists in one range, with the counts of whole lists; `category` is that of the detections."""
        walk, n_thresholds = self.cells.walk(ranges, m), len(self.cells.thresholds)
        of_whole = select_rows(self.cells.hits[m], walk, ranges)
        begin, end = (np.searchsorted(of_whole.detection, self.place, side) for side in ("left", "right"))
        at, again = numbers_from(begin, end - begin)
        # what became of these detections in the whole list is taken back, before what becomes of them here
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

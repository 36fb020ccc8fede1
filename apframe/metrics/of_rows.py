"""Definitions of average precision that need every row of a list, false positives too: WIDER FACE, CrowdHuman."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.points import GAIN, NEW_N, NEW_TP, PRECISION, RANK, TP, Definition

if TYPE_CHECKING:
    import numpy as np


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
    low, high
        the lowest and the highest score of each list, also of detections that do not count; NaN if there is none
    """

    list: np.ndarray
    score: np.ndarray
    is_true: np.ndarray
    bounds: np.ndarray
    own: np.ndarray
    positives: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sums of a value of each row, down each list."""
        import numpy as np

        sums = np.zeros((len(self.bounds) - 1, values.shape[1]))
        filled = np.flatnonzero(np.diff(self.bounds))
        if len(filled):
            sums[filled] = np.add.reduceat(values, self.bounds[filled], axis=0)
        return sums

    def before(self, values: np.ndarray) -> np.ndarray:
        """The sums of a value of the rows before each, in its list."""
        import numpy as np

        upto = np.zeros((len(values) + 1, values.shape[1]))
        np.cumsum(values, axis=0, out=upto[1:])
        before: np.ndarray = upto[:-1] - upto[self.bounds[self.list]]
        return before


class OfRows(Definition):
    """Definitions of all rows of a list."""

    @abstractmethod
    def area(self, rows: ListedRows) -> np.ndarray:
        """Average precision of each list, of shape (lists, weightings); anything where there are no positives."""

    def of_points(self) -> pl.Expr:
        """Not there, unless true positives and their ranks are enough.

        Raises
        ------
        ParameterError
            always
        """
        raise ParameterError(
            f"{self.name} needs all rows of a list with their scores, not the true positives alone",
            "use it with a protocol such as apframe.WIDER_FACE, or choose another definition",
            option="definition",
        )


class WiderFace(OfRows):
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

        (n_lists, n_weightings), n = rows.positives.shape, self.n_steps
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (rows.score[:, None] - rows.low[rows.list]) / (rows.high - rows.low)[rows.list]
        cut_offs = (1 - np.arange(1, n + 1) / n)[::-1]
        step = n - np.searchsorted(cut_offs, share, side="right")  # from 0; n where a share is below all of them, or none
        step = np.where(np.isfinite(share), step, n)
        at = ((rows.list[:, None].astype(np.int64) * (n + 1) + step) * n_weightings + np.arange(n_weightings)).ravel()
        shape = (n_lists, n + 1, n_weightings)
        ranked, found = (
            np.bincount(at, own.ravel(), n_lists * (n + 1) * n_weightings).astype(float).reshape(shape)[:, :n].cumsum(axis=1)
            for own in (rows.own, rows.own * rows.is_true[:, None])
        )
        precision = np.divide(found, ranked, out=np.zeros_like(found), where=ranked > 0)
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        gains = np.diff(found, axis=1, prepend=0)
        area: np.ndarray = (best * gains).sum(axis=1) / np.maximum(rows.positives, np.finfo(float).tiny)
        return area


class CrowdHuman(OfRows):
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

        own = rows.own * rows.is_true[:, None]
        tp, n = rows.before(own), rows.before(rows.own)
        total = np.zeros_like(own)
        for copy in range(int(np.ceil(own.max(initial=0)))):
            part = np.clip(own - copy, 0, 1)  # of this copy
            above = np.divide(tp + copy, n + copy, out=np.zeros_like(own), where=n + copy > 0)
            here = np.divide(tp + copy + part, n + copy + part, out=np.zeros_like(own), where=n + copy + part > 0)
            total += np.where(n + copy > 0, part * (above + here) / 2, 0)
        area: np.ndarray = rows.sums(total) / np.maximum(rows.positives, np.finfo(float).tiny)
        return area

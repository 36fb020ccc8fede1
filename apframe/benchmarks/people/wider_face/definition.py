"""WIDER FACE's definition of average precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apframe.metrics.all_rows import AllRows, ListedRows

if TYPE_CHECKING:
    import numpy as np


class WiderFace(AllRows):
    """The area under the envelope at 1,000 score cut-offs, evenly spaced from the highest score down to the lowest.

    Scores are normalised by the lowest and the highest of the whole result set, s' = (s - min) / (max - min). Point t of 1,000
    contains the detections with s' of at least 1 - t / 1000, so that those of one step count together. If all scores are equal,
    there are no points, and average precision is 0. Steps are distinguished in double precision.

    Source: WIDER FACE's MATLAB kit, `norm_score.m` and `evaluation.m`; Yang et al. 2016.
    """

    name = "wider_face"
    example = "WIDER_FACE"
    precision = "envelope at 1,000 score cut-offs"
    weights = "r_t - r_(t-1)"
    formula = "sum over cut-offs t of P_t (r_t - r_(t-1)), cut-offs max - (max - min) t / 1000 of the scores"
    used_by = "WIDER FACE"
    source = "Yang et al. 2016; WIDER FACE evaluation tools, evaluation.m"
    n_steps = 1000

    def area(self, rows: ListedRows) -> np.ndarray:
        """Return the sum over the cut-offs of the envelope times the gain of recall."""
        import numpy as np

        from apframe.metrics.list_sums import divide

        (n_lists, n_weightings), n, (low, high) = rows.positives.shape, self.n_steps, rows.ends()
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (rows.score[:, None] - low[rows.list]) / (high - low)[rows.list]
        cut_offs = (1 - np.arange(1, n + 1) / n)[::-1]
        step = n - np.searchsorted(cut_offs, share, side="right")  # from 0; n if a share is below all of them, or undefined
        step = np.where(np.isfinite(share), step, n)
        at = ((rows.list[:, None].astype(np.int64) * (n + 1) + step) * n_weightings + np.arange(n_weightings)).ravel()
        shape = (n_lists, n + 1, n_weightings)
        ranked, n_true = (
            np.bincount(at, own.ravel(), n_lists * (n + 1) * n_weightings).astype(float).reshape(shape)[:, :n].cumsum(axis=1)
            for own in (rows.own, rows.own * rows.is_true[:, None])
        )
        precision = divide(n_true, ranked)
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        gains = np.diff(n_true, axis=1, prepend=0)
        area: np.ndarray = (best * gains).sum(axis=1) / np.maximum(rows.positives, np.finfo(float).tiny)
        return area

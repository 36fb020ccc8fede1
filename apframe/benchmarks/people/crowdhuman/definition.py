"""CrowdHuman's definition of average precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.metrics.all_rows import AllRows, ListedRows
from apframe.metrics.points import GAIN, NEW_N, NEW_TP, PRECISION, RANK, TP

if TYPE_CHECKING:
    import numpy as np


class CrowdHuman(AllRows):
    """The area under straight lines between the rows, from the second row on: no envelope, and the first row adds nothing.

    A true positive in row k adds the mean of the precision there and in the row above, over R. One in the first row adds
    nothing, so that a single detected person has AP 0.

    Source: CrowdHuman (Shao et al. 2018); CrowdDet, `APMRToolkits/database.py`.
    """

    name = "crowdhuman"
    example = "CROWDHUMAN"
    precision = "mean of precision here and one row above"
    weights = "r_k - r_(k-1), 0 in the first row"
    formula = "sum over true positives below the first row of (p_k + p_(k-1)) / 2 / R"
    used_by = "CrowdHuman"
    source = "Shao et al. 2018; CrowdDet, lib/evaluate/APMRToolkits/database.py"

    def of_points(self) -> pl.Expr:
        """Return the sum of the trapezoids that have a row above; a block of equal scores is one row."""
        n_above = RANK - NEW_N
        return pl.when(n_above > 0).then(((TP - NEW_TP) / n_above + PRECISION) / 2 * GAIN).otherwise(0.0).sum()

    def area(self, rows: ListedRows) -> np.ndarray:
        """Return the sum over the true positives; a detection of weight 2 is two rows."""
        import numpy as np

        from apframe.metrics.list_sums import divide, sums, sums_before

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

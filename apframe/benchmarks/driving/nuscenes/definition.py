"""nuScenes' definition of average precision."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from apframe.benchmarks.driving.box_errors import BoxErrors
from apframe.benchmarks.driving.recall_levels import RecallLevels


class NuScenes(RecallLevels):
    """Precision above .1 at the recalls .11, .12 … 1, interpolated linearly between the items of the list.

    Source: nuScenes detection benchmark (Caesar et al. 2020); nuscenes-devkit, `accumulate` and `calc_ap`. Precision is
    interpolated over all items, as numpy.interp does: if the level is the recall of several items, the last one is used.
    Beyond the final recall it is 0. The mean of max(precision - .1, 0) is divided by .9.
    """

    name = "nuscenes"
    precision = "straight lines between items, minus .1, over .9"
    weights = "levels .11, .12 … 1, over 90"
    formula = "mean over the levels of max(precision on straight lines between items - .1, 0) / .9"
    used_by = "nuScenes detection"
    source = "Caesar et al. 2020; nuscenes-devkit, detection/algo.py"
    first_level = BoxErrors.first_level

    def at_level(self, of: Mapping[str, pl.Expr]) -> pl.Expr:
        """Interpolate between the two points; at the recall of a true positive, take the last item with that recall."""
        right = of["right_tp"] / of["right_n"]
        left = pl.when(of["left_n"] > 0).then(of["left_tp"] / of["left_n"]).otherwise(right)
        share = (of["level"] * of["n_positives"] - of["left_tp"]) / (of["right_tp"] - of["left_tp"])
        value = pl.when(of["is_end"]).then(of["tp"] / of["end_n"]).otherwise(left + share * (right - left))
        return (value - 0.1).clip(0) / 0.9

"""Argoverse 2's definition of average precision."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from apframe.benchmarks.driving.recall_levels import RecallLevels


class Argoverse2(RecallLevels):
    """The envelope at the recalls 0, .01 … 1, read beyond each true positive, not at it.

    Source: Argoverse 2 (Wilson et al. 2021); av2-api, `compute_average_precision`. A level takes the envelope at the first true
    positive whose recall is above it. The final recall itself takes the precision of the whole list, and levels beyond it 0.
    """

    name = "argoverse2"
    precision = "envelope"
    weights = "levels 0, .01 … 1 in [r_(k-1), r_k), over 101"
    formula = "mean over the levels linspace(0, 1, 101) of the envelope at the first recall > level; at the last recall tp / n"
    used_by = "Argoverse 2 detection"
    source = "Wilson et al. 2021; av2-api, evaluation/detection/utils.py"
    first_level = 0

    def at_level(self, of: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the envelope at the true positive, or, where the level is its recall, at the next one."""
        after = of["best_after"].fill_null(of["tp"] / of["end_n"])
        return pl.when(of["is_end"]).then(after).otherwise(of["best"])

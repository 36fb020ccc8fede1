"""Intervals of what fixing errors gains: the images are resampled, and the verdicts as they are and as fixed ranked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare.intervals import describe
from apframe.compare.resampling import Draws, fill_blocks
from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.weighted import BLOCK, Cell, weighted_ranking
from apframe.protocols.refused import rules_of_edits

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

_CELLS = (Cell("ap", (0,), 0, 0), Cell("n_detections", (0,), 0, 0))
ENDS = ["low", "high", "se"]


@dataclass(frozen=True)
class Rises:
    """By how much AP rises in each resample once the errors of a kind are fixed.

    Attributes
    ----------
    drawn
        of shape (kinds, lists, resamples); NaN where a resample has no positives of the list
    units
        list and unit of the annotations that count, each pair once
    """

    drawn: np.ndarray
    units: pl.DataFrame

    @classmethod
    def of(
        cls,
        verdicts: Verdicts,
        fixed: Mapping[str, Verdicts],
        protocol: Protocol,
        draws: Draws,
        image: np.ndarray,
    ) -> Rises:
        """Of verdicts at one threshold and area range, and of those in which the errors of each kind are fixed.

        `image` is the number of each of their images among the rows of the draws, or -1 for one that does not count. Where
        fixing leaves a list no positives, its AP is 1 if no detection counts, otherwise 0.
        """
        edited = [verdicts, *(fixed[kind] for kind in ERROR_KINDS)]
        ready = [weighted_ranking(each, rules_of_edits(protocol), _CELLS) for each in edited]
        drawn = np.full((len(ERROR_KINDS), verdicts.lists.height, draws.n_resamples), np.nan)

        def fill(places: slice, counts: np.ndarray) -> None:
            weights = counts.take(image, axis=0)
            weights[image < 0] = 0
            before = dict(ready[0].values(weights))[0]
            for number, ranking in enumerate(ready[1:]):
                after = dict(ranking.values(weights))
                drawn[number, :, places] = np.where(np.isnan(after[0]), after[1] == 0, after[0]) - before

        fill_blocks(draws, BLOCK, fill)
        counted = verdicts.annotations.filter(pl.Series(has_bit(verdicts.annotations["counts"].to_numpy(), 0)))
        at = image[counted["image"].to_numpy()]
        units = counted.select("list").with_columns(unit=pl.Series(draws.unit[at])).filter(pl.Series(at >= 0))
        return cls(drawn, units.unique())

    def interval(self, lists: np.ndarray, rises: np.ndarray) -> pl.DataFrame:
        """low, high and se of the mean rise over some lists, which are given by number, by kind; `rises` are the means."""
        chosen = self.drawn[:, lists]
        has_value = np.isfinite(chosen)
        with np.errstate(invalid="ignore"):
            means = np.where(has_value, chosen, 0).sum(axis=1) / has_value.sum(axis=1)
        n_with = self.units.filter(pl.col("list").is_in(lists.tolist()))["unit"].n_unique()
        made = describe(rises, means, n_with=np.full(len(rises), n_with))
        return pl.DataFrame({name: pl.Series(made[name], nan_to_null=True) for name in ENDS})

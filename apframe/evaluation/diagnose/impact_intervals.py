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
from apframe.evaluation.diagnose.fixes import THE_CELL
from apframe.matching.verdicts import Verdicts, has_bit
from apframe.metrics.average_precision import DetectionCount
from apframe.metrics.cells import Cells
from apframe.metrics.weights import BLOCK, Weights
from apframe.protocols.refused import metric_of_edits

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

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
        ready, metric = [Cells.of(each, [THE_CELL]) for each in edited], metric_of_edits(protocol)
        drawn = np.full((len(ERROR_KINDS), verdicts.lists.height, draws.n_resamples), np.nan)

        def fill(places: slice, counts: np.ndarray) -> None:
            own = counts.take(image, axis=0)
            own[image < 0] = 0
            weights = Weights.of(own)
            before = metric.read(ready[0], weights)["ap"][0]
            for number, cells in enumerate(ready[1:]):
                after = metric.read(cells, weights)["ap"][0]
                without = DetectionCount().read(cells, weights)["n_detections"][0] == 0
                drawn[number, :, places] = np.where(np.isnan(after), without, after) - before

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

"""The rise of AP if verdicts are edited, with its uncertainty: from the influence of images before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.compare.inference import EQUAL
from apframe.compare.resampling import Units
from apframe.compare.standard_errors import LEAST_UNITS, compare, standard_errors
from apframe.evaluation.comparison.influences import MOST_RARE
from apframe.evaluation.diagnose.error_kinds import ENDS
from apframe.matching.verdicts import Verdicts
from apframe.metrics.average_precision import DetectionCount
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.weights import Weights
from apframe.protocols.headline_values import images_of_lists
from apframe.protocols.refused import metric_of_edits

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol

_THE_CELL = Cell((0,), area_range=0, limit=0)  # of verdicts at one threshold, area range and limit
_NUMBERS = 1 << 22  # numbers that are computed at once


@dataclass(frozen=True, eq=False)
class Sampled:
    """The units of all images, and the numbers of the images of some verdicts among them."""

    units: Units
    images: np.ndarray

    @property
    def unit(self) -> np.ndarray:
        """The unit of each image of the verdicts."""
        return self.units.unit[self.images]


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of rows of verdicts to the AP of their lists: the list, the unit and the influence of each row."""

    lists: np.ndarray
    units: np.ndarray
    influence: np.ndarray

    def less(self, other: Contributions) -> Contributions:
        """Return the contributions to the difference of both."""
        lists, units = (np.concatenate([getattr(each, name) for each in (self, other)]) for name in ("lists", "units"))
        return Contributions(lists, units, np.concatenate([self.influence, -other.influence]))

    def by_list(self, begin: int, end: int, n_units: int) -> np.ndarray:
        """Return the sums by list, from one number to another, and by unit."""
        own = (self.lists >= begin) & (self.lists < end)
        place = (self.lists[own].astype(np.int64) - begin) * n_units + self.units[own]
        return np.bincount(place, self.influence[own], (end - begin) * n_units).reshape(end - begin, n_units)

    def of_mean(self, shares: np.ndarray, n_units: int) -> np.ndarray:
        """Return the sums by unit, weighted by a share of each list."""
        return np.bincount(self.units, self.influence * shares[self.lists], n_units)


@dataclass(frozen=True, eq=False)
class Ranked:
    """AP of each list of verdicts at one threshold and area range, and the contributions to it, if it has a derivative.

    Attributes
    ----------
    ap
        without positives it is 1 if no detection counts, otherwise 0
    has_positives
        whether AP is defined
    weights
        the weight of each list in means
    contributions
        None if they were not requested, or AP has no derivative
    positives
        the list and the image of the first annotation that counts of each list and image
    """

    ap: np.ndarray
    has_positives: np.ndarray
    weights: np.ndarray
    contributions: Contributions | None
    positives: tuple[np.ndarray, np.ndarray]


def rank(verdicts: Verdicts, protocol: Protocol, sampled: Sampled | None = None) -> Ranked:
    """Return the AP of every list of verdicts, and with `sampled` the contribution of each row to it.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.protocols.voc import VOC2012
    >>> rank(example(), VOC2012).ap.tolist(), rank(example().without_annotations([0]), VOC2012).ap.tolist()
    ([1.0], [0.0])
    """
    cells, once, metric = Cells.of(verdicts, [_THE_CELL]), Weights.once(verdicts.images.height), metric_of_edits(protocol)
    has_positives = cells.positives[:, 0] > 0
    n_detections = DetectionCount().read(cells, once)["n_detections"][0, :, 0]
    ap = np.where(has_positives, metric.read(cells, once)["ap"][0, :, 0], n_detections == 0)
    n_images = images_of_lists(cells, protocol, once)
    weights = np.ones(cells.n_lists) if n_images is None else next(iter(n_images.values()))[:, 0]
    first = cells.first_positives(0)
    positives = cells.annotations["list"][first], cells.annotations["image"][first]
    influence_on_ap = None if sampled is None else metric.influence(cells, once).get("ap")
    if sampled is None or influence_on_ap is None:
        return Ranked(ap, has_positives, weights, None, positives)
    rows = cells.detections, cells.annotations
    lists, images = (np.concatenate([each[name] for each in rows]) for name in ("list", "image"))
    # without positives, AP is 1 or 0 whatever the images
    influence = np.concatenate([influence_on_ap.detections[0], influence_on_ap.annotations[0]]) * has_positives[lists]
    return Ranked(ap, has_positives, weights, Contributions(lists, sampled.unit[images], influence), positives)


@dataclass(frozen=True, eq=False)
class Rises:
    """The rise of the AP of each list in one way or several, and the contributions of each unit to it.

    Attributes
    ----------
    before
        the unedited verdicts
    rises
        of shape (ways, lists)
    contributions
        the contributions to the rises of each way
    sampled
        the images
    """

    before: Ranked
    rises: np.ndarray
    contributions: Sequence[Contributions]
    sampled: Sampled

    @classmethod
    def of(cls, before: Ranked, after: Sequence[Ranked], sampled: Sampled | None) -> Rises | None:
        """Compute the rises from the verdicts before to those after each way of fixing; None without contributions."""
        start, ends = before.contributions, [each.contributions for each in after if each.contributions is not None]
        if sampled is None or start is None:  # all have them, or none
            return None
        differences = [end.less(start) for end in ends]
        return cls(before, np.stack([each.ap - before.ap for each in after]), differences, sampled)

    def each(self) -> dict[str, np.ndarray]:
        """Return low, high and se of every list, of shape (ways, lists); NaN if unknown."""
        n_ways, n_lists = self.rises.shape
        results = {name: np.full((n_ways, n_lists), np.nan) for name in ENDS}
        n_units, n_units_with_positives = self.sampled.units.n_units, self._n_units_with_positives()
        for begin in range(0, n_lists, step := max(1, _NUMBERS // max(n_units, 1))):
            some = slice(begin, min(begin + step, n_lists))
            for way, each in enumerate(self.contributions):
                influence = each.by_list(some.start, some.stop, n_units)
                interval = self._describe(self.rises[way, some], influence, n_units_with_positives[some] < LEAST_UNITS)
                for name in ENDS:
                    results[name][way, some] = interval[name]
        return results

    def mean(self, lists: np.ndarray) -> dict[str, np.ndarray]:
        """Return low, high and se of the means over some lists, given as flags, of shape (ways,)."""
        kept, (number, image) = lists & self.before.has_positives, self.before.positives
        weights, n_units = np.where(kept, self.before.weights, 0.0), self.sampled.units.n_units
        shares = weights / max(weights.sum(), 1)
        means = self.rises @ shares
        influence = np.stack([each.of_mean(shares, n_units) for each in self.contributions])
        if (self.before.weights != 1).any():  # the weight of a list is its number of images
            apart = (self.rises - means[:, None]) * kept / max(weights.sum(), 1)
            influence += np.stack([np.bincount(self.sampled.unit[image], each[number], n_units) for each in apart])
        n_units_with_positives = len(np.unique(self.sampled.unit[image[kept[number]]]))
        is_rare = (self._n_units_with_positives()[kept] < LEAST_UNITS).sum() > MOST_RARE * kept.sum()
        return self._describe(means, influence, np.full(len(means), is_rare or n_units_with_positives < LEAST_UNITS))

    def _n_units_with_positives(self) -> np.ndarray:
        """Count the units in which each list has annotations that count."""
        number, image = self.before.positives
        pairs = pl.DataFrame({"list": number, "unit": self.sampled.unit[image]}).unique()
        return np.bincount(pairs["list"].to_numpy(), minlength=len(self.before.ap))

    def _describe(self, rises: np.ndarray, influence: np.ndarray, has_few: np.ndarray) -> dict[str, np.ndarray]:
        units = self.sampled.units
        is_there = np.zeros(len(units.unit))
        is_there[self.sampled.images] = 1
        n_units = np.repeat(units.counts(is_there[None]), len(rises), axis=0)
        se = standard_errors(influence, n_units, units.stratum)
        se[has_few | ~np.isfinite(rises) | ((se < EQUAL) & (np.abs(rises) >= EQUAL))] = np.nan
        interval = compare(rises, se, n_units.sum(axis=1))
        return {name: interval[name] for name in ENDS}

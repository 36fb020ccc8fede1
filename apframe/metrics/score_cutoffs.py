"""Definitions of average precision by counts at score cut-offs, where each cut-off has its own matches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from struct import pack, unpack
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import Recall
from apframe.metrics.metric import Metric
from apframe.metrics.points import GAIN, PRECISION, OfVerdicts, envelope

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.influence import RowInfluence
    from apframe.metrics.weights import Weights


class AtCutOffs(OfVerdicts):
    """Definitions by counts at score cut-offs, each with its own matches, for protocols that match in this way.

    Attributes
    ----------
    chooses
        True if the cut-offs are scores of true positives, see `apframe.metrics.cutoff_counts.choose_copies`
    cut_offs
        the cut-offs otherwise, ascending
    """

    at_cut_offs = True
    why_no_points = "is computed from counts at score cut-offs, each with its own matches, which a ranked list does not have"
    chooses: ClassVar[bool]

    def positives(self, expected: np.ndarray, at_lowest: np.ndarray) -> np.ndarray:
        """Count the annotations: `expected` of them count, `at_lowest` are detected or missed at the lowest cut-off."""
        del at_lowest
        return expected

    @abstractmethod
    def area(self, precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
        """Return the average precision from arrays whose first axis is the cut-offs, with 0 for absent cut-offs."""

    def average(self, cells: Cells, weights: Weights, addend: float, absent: float) -> np.ndarray:
        """See `Definition.average`."""
        from apframe.metrics.cutoff_counts import areas

        del addend
        return areas(self, absent, cells, weights, ("tp",))["tp"]


@dataclass(frozen=True)
class RecallOfFound(Recall):
    """Recall that also counts optional annotations if they are detected at the lowest score cut-off."""

    def positives(self, cells: Cells, weights: Weights) -> np.ndarray:
        """Count the annotations that are detected or missed at the lowest cut-off and the lowest threshold."""
        from apframe.matching.verdicts import has_bit
        from apframe.metrics.cells import held_at
        from apframe.metrics.list_sums import sums_of_weights

        positives = super().positives(cells, weights).astype(float)
        for place, cell in enumerate(cells.wanted):
            k, hits = cell.area_range, cells.hits[cell.limit]
            beside = has_bit(hits["true"], k).astype(float) - has_bit(cells.annotations["counts"], k)[hits["annotation"]]
            image = cells.detections["image"][hits["detection"]]
            positives[place] += sums_of_weights(weights.given, image, hits["list"], cells.n_lists, beside * held_at(hits, 0, k))
        return positives

    def influence(self, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
        """Return nothing: detections change the number of positives."""
        return Metric.influence(self, cells, weights)


@dataclass(frozen=True)
class Waymo(AtCutOffs):
    """The area under the envelope, with straight lines between points whose recalls are close.

    If two points are more than `gap` apart in recall, points are inserted between them at steps of `gap` from the right, with
    the precision of the right one. The area of the trapezoids is at least that of `interpolated`. The points are those of a
    ranked list, or, in a protocol such as `WAYMO`, those of the score cut-offs 0, .01 ... 1 in single precision. There, recall
    is tp / (tp + fn) of each cut-off, and a true positive at a level of difficulty may be of another one, so that the number of
    positives can grow.

    Source: Waymo Open Dataset, `metrics_utils.cc`, which computes in single precision, so that a perfect result has 1.0000001.
    """

    gap: float = 0.05
    name = "waymo"
    example = "WAYMO"
    chooses = False
    recall = RecallOfFound()
    cut_offs = (*(unpack("f", pack("f", k * 0.01))[0] for k in range(100)), 1.0)

    def __post_init__(self) -> None:
        if not 0 < self.gap <= 1:
            raise ParameterError(f"waymo: gap must be in (0, 1], not {self.gap}")

    def of_points(self) -> pl.Expr:
        """Add the flat areas and the triangles between each last inserted point and the point before it."""
        best = envelope(PRECISION)
        put_in = (GAIN / self.gap - 1e-9).ceil() - 1  # the tolerance keeps .2 / .05 from needing a fourth
        left = GAIN - self.gap * put_in.clip(0)
        drop = best.shift(1).fill_null(best.first()) - best
        return (best * GAIN + drop * left / 2).sum()

    def positives(self, expected: np.ndarray, at_lowest: np.ndarray) -> np.ndarray:
        """Count the positives at the lowest cut-off: true positives count even if they are of another level."""
        del expected
        return at_lowest

    def area(self, precision: np.ndarray, recall: np.ndarray) -> np.ndarray:
        """Return the area of `of_points`, at equal recalls with the largest precision, and without points at recall 0."""
        import numpy as np

        order = np.argsort(recall, axis=0, kind="stable")
        recall, precision = (np.take_along_axis(each, order, axis=0) for each in (recall, precision))
        best = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
        gain = np.diff(recall, axis=0, prepend=0)
        # the value at a recall is the best of all points there, which the first of them has
        place = np.broadcast_to(np.arange(len(gain)).reshape(-1, *[1] * (gain.ndim - 1)), gain.shape)
        best = np.take_along_axis(best, np.maximum.accumulate(np.where(gain > 0, place, 0), axis=0), axis=0)
        before = np.concatenate([best[:1], best[:-1]])
        before = np.where(recall - gain > 0, before, best)
        left = gain - self.gap * np.maximum(np.ceil((gain - 1e-6) / self.gap) - 1, 0)
        area: np.ndarray = (best * gain + (before - best) * left / 2).sum(axis=0)
        return area

    def __str__(self) -> str:
        return self.name if self == Waymo() else f"{self.name}({self.gap})"

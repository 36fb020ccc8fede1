"""Average precision and recall of every list, area range, threshold and number of detections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from apframe.metrics.counts import Counts, count_detections, count_down, count_hits
from apframe.metrics.cut_offs import CutOffRanking
from apframe.metrics.miss_rate_ranking import MissRateRanking
from apframe.metrics.ranking import N_IMAGES, Ranking
from apframe.metrics.row_ranking import RowRanking
from apframe.metrics.rules import AnyRanking
from apframe.metrics.sampled_ranking import SampledRanking
from apframe.metrics.summed_ranking import SummedRanking
from apframe.threads import map_parts


@dataclass(frozen=True)
class Cells:
    """The lists of some area ranges at one of `max_detections`, in arrays of shape (thresholds, ranges, lists).

    `ap` is 0 where a list has no positives, and None where it was not asked for or does not exist; `hits` are the
    true positives. `further` are numbers that only some rankings have, by name: NaN where there is none.
    """

    ap: np.ndarray | None
    hits: np.ndarray
    n_detections: np.ndarray
    further: Mapping[str, np.ndarray] = field(default_factory=dict)


def compute_cells(ranking: AnyRanking, ranges: Sequence[int], limits: Sequence[int], ap_at: Sequence[int]) -> dict[int, Cells]:
    """Some area ranges at some of `max_detections`, given by their places, the last one always.

    Hits are cheap. `ap` takes the most time, and is computed for the places in `ap_at`, and for the last one.
    """
    if isinstance(ranking, CutOffRanking):
        return {0: _cells(ranking, ranking.compute(range(ranking.shape[0]), ranges))}
    if isinstance(ranking, MissRateRanking):
        cells = compute_cells(ranking.base, ranges, limits, ap_at)
        return {
            m: replace(each, further={**each.further, ranking.column: ranking.compute(ranges, m)}) for m, each in cells.items()
        }
    last = len(ranking.limits) - 1
    if isinstance(ranking, SampledRanking | RowRanking | SummedRanking):
        return {m: _cells(ranking, ranking.compute(ranges, m)) for m in {*limits, last}}
    whole = _compute(ranking, ranges, last, None, with_ap=True)
    cells = {last: whole}
    for m in {*limits} - {last}:
        # a list that has no cell beyond the limit is the same as without the limit
        limited = ranking.deepest > ranking.limits[m]
        own = _compute(ranking, ranges, m, limited, with_ap=m in ap_at)
        hits, n_detections = np.where(limited, own.hits, whole.hits), np.where(limited, own.n_detections, whole.n_detections)
        ap = None if own.ap is None or whole.ap is None else np.where(limited, own.ap, whole.ap)
        cells[m] = Cells(ap, hits, n_detections, whole.further)
    return cells


def _cells(ranking: AnyRanking, found: Mapping[str, np.ndarray]) -> Cells:
    """The cells from numbers by their names."""
    further = {name: found[name] for name in ranking.further}
    ap = np.nan_to_num(found["ap"]) if "ap" in found else None
    return Cells(ap, found["hits"], found["n_detections"].astype(np.int64), further)


def _compute(ranking: Ranking, ranges: Sequence[int], m: int, lists: np.ndarray | None, *, with_ap: bool) -> Cells:
    """Some area ranges at one of `max_detections`: all lists, or those with a flag; ignore what it gives for the others."""
    n_thresholds, n_lists = ranking.shape[:2]
    shape = (n_thresholds, len(ranges), n_lists)
    rows = ranking.rows_of(ranges, m, lists=lists, for_curves=with_ap)
    n_detections = count_detections(rows, n_thresholds).reshape(shape)
    further = {}
    if ranking.n_images is not None:
        further[N_IMAGES] = np.broadcast_to(ranking.n_images.T[list(ranges)], shape)
    if not with_ap:
        return Cells(None, count_hits(rows, n_thresholds).reshape(shape), n_detections, further)
    counts = count_down(rows, n_thresholds)
    ap, hits = np.zeros((n_thresholds, len(ranges) * n_lists)), np.zeros((n_thresholds, len(ranges) * n_lists), dtype=np.int64)
    if len(counts.starts):
        taken = ranking.precision(counts)
        if ranking.definition.interpolated:
            # between true positives the precision only falls, so they alone make the envelope
            taken = running_best(taken, counts)
        weighted = taken * ranking.weights[ranking.step(ranges, counts)]
        at = counts.threshold, counts.category
        ap[at], hits[at] = np.add.reduceat(weighted, counts.starts), np.diff(counts.starts, append=len(counts.row))
    return Cells(ap.reshape(shape), hits.reshape(shape), n_detections, further)


def compute_metrics(ranking: AnyRanking, ap_at: Sequence[int]) -> dict[str, np.ndarray]:
    """`ap`, `recall`, `n_detections` and the further numbers, as arrays of shape (thresholds, lists, ranges, max_detections).

    Recall is that of the whole list. `ap` is NaN at those of `max_detections` that are not in `ap_at`, see `compute_cells`.
    `ap` and `recall` are NaN where a category has no positives in a slice, but for an `ap` that counts as 0 there. Further
    numbers are NaN where they have no value.
    """
    *_, n_ranges, n_limits = ranking.shape
    found = {name: np.full(ranking.shape, np.nan) for name in ("ap", *ranking.further)}
    hits, n_detections = np.zeros(ranking.shape), np.zeros(ranking.shape, dtype=np.int64)

    def fill(part: tuple[slice, AnyRanking]) -> None:
        lists, own = part
        for m, cells in compute_cells(own, range(n_ranges), range(n_limits), ap_at).items():
            every = [(hits, cells.hits), (n_detections, cells.n_detections)]
            every += [] if cells.ap is None else [(found["ap"], cells.ap)]
            for target, values in [*every, *((found[name], values) for name, values in cells.further.items())]:
                target[:, lists, :, m] = values.transpose(0, 2, 1)

    parts: list[tuple[slice, AnyRanking]] = [*ranking.parts()]
    map_parts(fill, parts)
    positives = np.where(ranking.positives > 0, ranking.positives, np.nan)[None, :, :, None]
    if not ranking.counts_absent:
        found["ap"][np.broadcast_to(np.isnan(positives), ranking.shape)] = np.nan
    return found | {"recall": hits / positives, "n_detections": n_detections}


def running_best(values: np.ndarray, counts: Counts) -> np.ndarray:
    """The largest value from each true positive to the end of its run.

    Complex numbers are compared by their real parts first. With the number of the run there, all values of a run are larger
    than those of the later ones, where the maximum comes from.
    """
    backwards = np.empty(len(values), dtype=np.complex128)
    np.negative(counts.run[::-1], out=backwards.real, casting="unsafe")
    backwards.imag = values[::-1]
    best: np.ndarray = np.maximum.accumulate(backwards, out=backwards).imag[::-1]
    return best

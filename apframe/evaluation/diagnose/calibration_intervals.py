"""Intervals of calibration: resamples of the images weight the sums of each image and bin, without new matching."""

from __future__ import annotations

import numpy as np

from apframe.compare.inference import describe
from apframe.compare.resampling import Draws
from apframe.evaluation.diagnose.score_bins import Binned, BinSums, sum_bins

_NUMBERS = 1 << 22  # numbers that are multiplied at a time


def measure(
    binned: Binned, n_lists: int, draws: Draws | None, confidence: float, *, pooled: bool
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Compute the measures of every list, of all detections together, and their mean over lists with detections that count.

    Parameters
    ----------
    binned, n_lists
        the detections, and the number of lists
    draws, confidence
        of the images, for `ece_low`, `ece_high` and so on after each measure; None for no intervals
    pooled
        whether categories are pooled, which leaves the mean over them undefined

    Returns
    -------
    n, ece, mce, brier, mean_gap and mae, with their intervals: arrays over the lists, of one row, and of one row. NaN if
    undefined.
    """
    rows = binned.rows
    sums = sum_bins(binned, rows.number, n_lists)
    lists, of_everything = sums.measures(), sums.total().measures()
    mean = {name: of_everything[name] if name == "n" else _mean(value[:, None], pooled=pooled) for name, value in lists.items()}
    if draws is None:
        return lists, of_everything, mean
    drawn = _draw(binned, n_lists, draws)
    unit = draws.unit[rows.image]
    pairs = np.unique(rows.number.astype(np.int64) * draws.n_units + unit)
    n_units_with_detections = np.bincount(pairs // draws.n_units, minlength=n_lists)
    n_units = np.array([len(np.unique(unit))])
    of_lists = {name: values[:-1] for name, values in drawn.items()}
    of_all = {name: values[-1:] for name, values in drawn.items()}
    of_mean = {name: _mean(values, pooled=pooled)[None, :] for name, values in of_lists.items()}
    return (
        _with_ends(lists, of_lists, n_units_with_detections, confidence),
        _with_ends(of_everything, of_all, n_units, confidence),
        _with_ends(mean, of_mean, n_units, confidence),
    )


def _with_ends(
    estimates: dict[str, np.ndarray], drawn: dict[str, np.ndarray], n_units_with_detections: np.ndarray, confidence: float
) -> dict[str, np.ndarray]:
    """Add intervals after each estimate except n; the last count is of the units with a detection that counts."""
    table = {"n": estimates["n"]}
    for name, estimate in estimates.items():
        if name != "n":
            interval = describe(estimate, drawn[name], confidence, n_units_with_detections)
            table |= {name: estimate, f"{name}_low": interval["low"], f"{name}_high": interval["high"]}
    return table


def _mean(values: np.ndarray, *, pooled: bool) -> np.ndarray:
    """Return the mean of each column over the rows with a value; NaN without any."""
    has_value = np.isfinite(values) & (not pooled)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = np.where(has_value, values, 0).sum(axis=0) / has_value.sum(axis=0)
    return mean


def _draw(binned: Binned, n_lists: int, draws: Draws) -> dict[str, np.ndarray]:
    """Compute the measures of every list, and of all detections together in the last row, in each resample of the images.

    Bins do not change. The arrays have the shape (lists + 1, resamples); NaN if a resample has no detection that counts.
    """
    rows, n_images = binned.rows, len(draws.unit)
    # the sums that each image adds to each list and bin
    pairs_of_list_and_image, group = np.unique(rows.number.astype(np.int64) * n_images + rows.image, return_inverse=True)
    sums = sum_bins(binned, group, len(pairs_of_list_and_image))
    n_bins = sums.n.shape[1]
    row, at = np.nonzero(sums.n)
    place, image = pairs_of_list_and_image[row] // n_images * n_bins + at, pairs_of_list_and_image[row] % n_images
    order = np.argsort(place, kind="stable")
    place, image = place[order], image[order]
    added = {name: values[row, at][order, None] for name, values in vars(sums).items()}
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    results: dict[str, list[np.ndarray]] = {}
    for weights in draws.blocks(max(1, _NUMBERS // max(len(place), n_lists * n_bins, n_images, 1))):
        drawn, totals = weights[image], {}
        for name, values in added.items():
            total = np.zeros((n_lists * n_bins, weights.shape[1]))
            if len(place):
                total[place[starts]] = np.add.reduceat(drawn * values, starts, axis=0)
            totals[name] = total.reshape(n_lists, n_bins, -1)
        of_lists = BinSums(**totals)
        of_all = of_lists.total().measures()
        for name, values in of_lists.measures().items():
            results.setdefault(name, []).append(np.concatenate([values, of_all[name]]))
    return {name: np.concatenate(parts, axis=1) for name, parts in results.items()}

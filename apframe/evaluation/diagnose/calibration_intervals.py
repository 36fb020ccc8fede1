"""Intervals of calibration: resamples of the images weight the sums of each image and bin, and match nothing again."""

from __future__ import annotations

import numpy as np

from apframe.compare.inference import describe
from apframe.compare.resampling import Draws
from apframe.evaluation.diagnose.score_bins import Binned, BinSums, sum_bins

_NUMBERS = 1 << 22  # that are multiplied at a time


def measure(
    binned: Binned, n_lists: int, draws: Draws | None, confidence: float, *, pooled: bool
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The measures of every list, of all detections together, and their mean over the lists that have a counted detection.

    Parameters
    ----------
    binned, n_lists
        the detections, and how many lists there are
    draws, confidence
        of the images, for `ece_low`, `ece_high` and so on behind each measure; None: no intervals
    pooled
        whether categories are pooled, so that there is no mean over them

    Returns
    -------
    n, ece, mce, brier, mean_gap and mae, with their intervals: arrays over the lists, of one row, and of one row. NaN where
    there is no value.
    """
    rows = binned.rows
    sums = sum_bins(binned, rows.number, n_lists)
    lists, whole = sums.measures(), sums.total().measures()
    mean = {name: whole[name] if name == "n" else _mean(value[:, None], pooled=pooled) for name, value in lists.items()}
    if draws is None:
        return lists, whole, mean
    drawn = _draw(binned, n_lists, draws)
    unit = draws.unit[rows.image]
    pairs = np.unique(rows.number.astype(np.int64) * draws.n_units + unit)
    n_with = np.bincount(pairs // draws.n_units, minlength=n_lists)
    n_units = np.array([len(np.unique(unit))])
    of_lists = {name: values[:-1] for name, values in drawn.items()}
    of_all = {name: values[-1:] for name, values in drawn.items()}
    of_mean = {name: _mean(values, pooled=pooled)[None, :] for name, values in of_lists.items()}
    return (
        _with_ends(lists, of_lists, n_with, confidence),
        _with_ends(whole, of_all, n_units, confidence),
        _with_ends(mean, of_mean, n_units, confidence),
    )


def _with_ends(
    estimates: dict[str, np.ndarray], drawn: dict[str, np.ndarray], n_with: np.ndarray, confidence: float
) -> dict[str, np.ndarray]:
    """The estimates, each but n with its interval behind it; `n_with` is how many units have a counted detection."""
    table = {"n": estimates["n"]}
    for name, estimate in estimates.items():
        if name != "n":
            made = describe(estimate, drawn[name], confidence, n_with)
            table |= {name: estimate, f"{name}_low": made["low"], f"{name}_high": made["high"]}
    return table


def _mean(values: np.ndarray, *, pooled: bool) -> np.ndarray:
    """The mean of each column over the rows that have a value; NaN without any."""
    known = np.isfinite(values) & (not pooled)
    with np.errstate(invalid="ignore"):
        mean: np.ndarray = np.where(known, values, 0).sum(axis=0) / known.sum(axis=0)
    return mean


def _draw(binned: Binned, n_lists: int, draws: Draws) -> dict[str, np.ndarray]:
    """The measures of every list, and of all detections together in the last row, in each resample of the images.

    Bins stay as they are. The arrays are of shape (lists + 1, resamples); NaN where a resample has no counted detection.
    """
    rows, n_images = binned.rows, len(draws.unit)
    # what each image adds to each list and bin, of those that have any
    known, group = np.unique(rows.number.astype(np.int64) * n_images + rows.image, return_inverse=True)
    sums = sum_bins(binned, group, len(known))
    n_bins = sums.n.shape[1]
    row, at = np.nonzero(sums.n)
    place, image = known[row] // n_images * n_bins + at, known[row] % n_images
    order = np.argsort(place, kind="stable")
    place, image = place[order], image[order]
    added = {name: values[row, at][order, None] for name, values in vars(sums).items()}
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    found: dict[str, list[np.ndarray]] = {}
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
            found.setdefault(name, []).append(np.concatenate([values, of_all[name]]))
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items()}

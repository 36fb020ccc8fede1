"""Rates at a cut, which are quotients of sums over images, and their intervals: from each image's part of the sums."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.compare.inference import EQUAL
from apframe.compare.resampling import Units
from apframe.compare.standard_errors import LEAST_UNITS, describe, standard_errors
from apframe.evaluation.slices.slices import Slicing
from apframe.metrics.influence import slopes

COUNTS = ("tp", "fp", "fn")
RATES = ("precision", "recall", "f1", "fppi")
_NUMBERS = 1 << 22  # numbers that are computed at once
_BOUNDS = dict.fromkeys(RATES, (0.0, 1.0)) | {"fppi": (0.0, np.inf)}


def rates(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, n_images: np.ndarray) -> dict[str, np.ndarray]:
    """Compute precision, recall, F1 and false positives per image from counts of any shape; NaN if undefined.

    >>> values = rates(*(np.array([n]) for n in (2.0, 1.0, 2.0, 4.0)))
    >>> [float(each[0].round(3)) for each in values.values()]
    [0.667, 0.5, 0.571, 0.25]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = tp / (tp + fn)
        f1 = np.where(np.isnan(recall), np.nan, 2 * tp / (2 * tp + fp + fn))
        return {"precision": tp / (tp + fp), "recall": recall, "f1": f1, "fppi": fp / n_images}


def rate_intervals(cells: pl.DataFrame, slicing: Slicing, units: Units, confidence: float = 0.95) -> dict[str, np.ndarray]:
    """Compute the standard error and the interval of each rate in every slice.

    Parameters
    ----------
    cells
        the result of `cells_of_slices`
    slicing
        the groups that form the slices
    units
        the units of the images
    confidence
        the confidence of the intervals

    Returns
    -------
    precision_se, precision_low, precision_high and so on: arrays over the groups of images, detections, objects and categories.
    NaN if annotations that count are in fewer than ten units, or if no unit changes a rate of 0 or 1.
    """
    shape = tuple(len(groups) for groups in slicing.axes.values())
    size, n = int(np.prod(shape)), len(units.unit)
    group, row = (slicing.images.members[name].to_numpy() for name in ("group", "row"))
    is_member = np.zeros((shape[0], n))
    is_member[group, row] = 1
    number, image = cells["slice"].to_numpy(), cells["image"].to_numpy()
    columns = {f"{name}_{end}": np.full(size, np.nan) for name in RATES for end in ("se", "low", "high")}
    for begin in range(0, size, step := max(1, _NUMBERS // max(n, 1))):
        some = np.arange(begin, min(begin + step, size))
        own = slice(*np.searchsorted(number, [begin, begin + len(some)]))
        place, count = (number[own] - begin) * n + image[own], len(some) * n
        of_images: list[np.ndarray] = [
            np.bincount(place, cells[name].to_numpy()[own], minlength=count).reshape(-1, n) for name in COUNTS
        ]
        of_images.append(is_member[some // max(size // max(shape[0], 1), 1)])
        n_units = units.counts(of_images[3] > 0)
        few = units.counts(of_images[0] + of_images[2] > 0).sum(axis=1) < LEAST_UNITS
        sums = [each.sum(axis=1) for each in of_images]
        estimates = rates(*sums)
        influences = {name: np.zeros((len(some), n)) for name in RATES}
        for values, slope in zip(of_images, slopes(rates, sums), strict=True):
            for name in RATES:
                influences[name] += slope[name][:, None] * values
        for name in RATES:
            se = standard_errors(units.sums(influences[name]), n_units, units.stratum)
            se[few | ((se < EQUAL) & np.isin(estimates[name], _BOUNDS[name])) | ~np.isfinite(estimates[name])] = np.nan
            interval = describe(estimates[name], se, n_units.sum(axis=1), confidence, bounds=_BOUNDS[name])
            for end in ("se", "low", "high"):
                columns[f"{name}_{end}"][some] = interval[end]
    return {name: values.reshape(shape) for name, values in columns.items()}

"""Intervals of the rates at a cut: resamples of the images add up the counts of each image, and match nothing again."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.compare.intervals import describe
from apframe.compare.resampling import Draws
from apframe.evaluation.diagnose.cut_counts import COUNTS, RATES, rates
from apframe.evaluation.slices.slices import Slicing

_NUMBERS = 1 << 22  # that are multiplied or sorted at a time


def rate_intervals(cells: pl.DataFrame, slicing: Slicing, draws: Draws, confidence: float = 0.95) -> dict[str, np.ndarray]:
    """The percentile interval of each rate in every slice.

    Parameters
    ----------
    cells
        from `cells_of_slices`
    slicing
        the groups that the slices are made of
    draws
        of the images
    confidence
        the share of the resamples within the interval

    Returns
    -------
    precision_low, precision_high and so on: arrays over the groups of images, detections, objects and categories. NaN as in
    `describe`: fewer than half of the resamples have a value, or fewer than five units have annotations that count.
    """
    shape = tuple(len(groups) for groups in slicing.axes.values())
    size, per_group = int(np.prod(shape)), int(np.prod(shape[1:]))
    image, place = cells["image"].to_numpy(), cells["slice"].to_numpy()
    numbers = np.stack([cells[name].to_numpy() for name in COUNTS])
    members = slicing.images.members.sort("group")
    row, group = members["row"].to_numpy(), members["group"].to_numpy()
    counts = np.zeros((len(COUNTS), size, draws.n_resamples))
    n_images = np.zeros((shape[0], draws.n_resamples))
    begin = 0
    for weights in draws.blocks(max(1, _NUMBERS // max(len(image), len(row), 1))):
        block = slice(begin, begin + weights.shape[1])
        drawn = weights[image]
        for k, number in enumerate(numbers):
            counts[k, :, block] = _sums(drawn * number[:, None], place, size)
        n_images[:, block] = _sums(weights[row], group, shape[0])
        begin = block.stop
    of_group = np.arange(size) // max(per_group, 1)
    tp, fp, fn = (np.bincount(place, weights=number, minlength=size) for number in numbers)
    estimates = rates(tp, fp, fn, np.bincount(group, minlength=shape[0])[of_group].astype(np.float64))
    n_with = _units_with_positives(cells, draws, size)
    ends = {f"{name}_{end}": np.full(size, np.nan) for name in RATES for end in ("low", "high")}
    step = max(1, _NUMBERS // draws.n_resamples)
    for start in range(0, size, step):
        some = np.arange(start, min(start + step, size))
        drawn_rates = rates(counts[0, some], counts[1, some], counts[2, some], n_images[of_group[some]])
        for name in RATES:
            made = describe(estimates[name][some], drawn_rates[name], confidence, n_with[some])
            ends[f"{name}_low"][some], ends[f"{name}_high"][some] = made["low"], made["high"]
    return {name: values.reshape(shape) for name, values in ends.items()}


def _sums(values: np.ndarray, place: np.ndarray, size: int) -> np.ndarray:
    """The sums of the rows of each place, which ascends: of shape (size, columns)."""
    sums = np.zeros((size, values.shape[1]))
    if len(place):
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        sums[place[starts]] = np.add.reduceat(values, starts, axis=0)
    return sums


def _units_with_positives(cells: pl.DataFrame, draws: Draws, size: int) -> np.ndarray:
    """How many units have annotations that count, in each slice."""
    positive = cells.filter(pl.col("tp") + pl.col("fn") > 0)
    unit = draws.unit[positive["image"].to_numpy()]
    pairs = np.unique(positive["slice"].to_numpy() * max(draws.n_units, 1) + unit)
    return np.bincount(pairs // max(draws.n_units, 1), minlength=size)

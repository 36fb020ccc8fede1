"""The headline numbers of evaluations in resamples of their images: the same draws for every model, metric and slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apframe.compare.resampling import Draws, fill_blocks
from apframe.evaluation.comparison.image_weights import ImageWeights
from apframe.evaluation.comparison.slice_rows import Block, RowSums, SlicedEvaluation
from apframe.exceptions import LargeResultWarning, warn
from apframe.metrics.weights import BLOCK
from apframe.protocols.headline_values import compose, images_of_lists, numbers, sum_values, values_of_lists
from apframe.protocols.headlines import Headline, with_terms
from apframe.protocols.lookups import area_at
from apframe.protocols.protocol import Protocol

_LARGE = 1_000_000_000  # bytes of results above which there is a warning


@dataclass(frozen=True)
class Resampled:
    """Headline numbers of several evaluations in resamples.

    Attributes
    ----------
    estimates, draws
        of shape (evaluations, metrics, rows) and (evaluations, metrics, rows, resamples); NaN if undefined
    n_units_with_positives
        the number of units with annotations that count, of shape (metrics, rows)
    """

    estimates: np.ndarray
    draws: np.ndarray
    n_units_with_positives: np.ndarray


def resample(
    parts: Sequence[SlicedEvaluation],
    requested_lines: Sequence[Headline],
    protocol: Protocol,
    draws: Draws,
    weights: ImageWeights,
    n_rows: int,
) -> Resampled:
    """Compute the headline numbers of aligned evaluations of the same images in every row and resample.

    Warns
    -----
    LargeResultWarning
        the numbers take more than 1 GB
    """
    lines = with_terms(requested_lines, protocol)
    n_bytes = len(parts) * n_rows * len(lines) * draws.n_resamples * 8
    if n_bytes > _LARGE:
        warn(f"the resamples of {n_rows:,} rows take {n_bytes / 1e9:.1f} GB of memory", LargeResultWarning)
    blocks = [list(part.blocks()) for part in parts]
    estimates, resampled_numbers = (np.full((len(parts), len(lines), n_rows, n), np.nan) for n in (1, draws.n_resamples))

    def fill_all(of_images: np.ndarray, into: np.ndarray) -> None:
        for of_part, values in zip(blocks, into, strict=True):
            for block in of_part:
                _fill(block, lines, protocol, of_images, values)
        means = {line.metric: into[:, at] for at, line in enumerate(lines)}
        composed_numbers = compose(means, [line for line in requested_lines if line.is_of_others], protocol)
        for name, number in composed_numbers.items():
            means[name][:] = number

    def fill(places: slice, counts: np.ndarray) -> None:
        fill_all(weights.apply(counts), resampled_numbers[..., places])

    fill_all(weights.apply(np.ones((len(draws.unit), 1))), estimates)
    fill_blocks(draws, BLOCK, fill)
    n_units_with_positives = _units_with_positives(
        [block for of_part in blocks for block in of_part], requested_lines, protocol, draws, weights, n_rows
    )
    return Resampled(
        estimates[:, : len(requested_lines), :, 0], resampled_numbers[:, : len(requested_lines)], n_units_with_positives
    )


def _fill(block: Block, lines: Sequence[Headline], protocol: Protocol, weights: np.ndarray, result: np.ndarray) -> None:
    """Write the means over the lists of each row into `result`, of shape (metrics, rows, resamples)."""
    own = block.weights(weights)
    n_images = images_of_lists(block.cells, protocol, own)
    for line, values in values_of_lists(block.cells, protocol, lines, own):
        for row, of in block.levels:
            means = numbers(sum_values([(line, values)], of, n_images), [line], protocol)[line.metric]
            filled = np.flatnonzero(np.diff(of.bounds))
            result[lines.index(line), row[filled]] = means[filled]


def _units_with_positives(
    blocks: Sequence[Block], lines: Sequence[Headline], protocol: Protocol, draws: Draws, weights: ImageWeights, n_rows: int
) -> np.ndarray:
    ranges = {line.area_range: area_at(protocol, line.area_range) for line in lines}
    sums = RowSums.of(np.arange(n_rows), n_rows, len(draws.unit))
    for block in blocks:
        for name, k in ranges.items():
            sums.count(block, sums.places(block), name, k, weights.weighing(draws), draws.n_units)
    n_units_with_positives = {name: sums.have_positives(name, draws).sum(axis=1) for name in ranges if sums.of_images}
    return np.stack([n_units_with_positives.get(line.area_range, np.zeros(n_rows, dtype=np.int64)) for line in lines])

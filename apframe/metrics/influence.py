"""Contributions of each detection and each annotation to a number; sums by image are the influences of the images.

The influence of an image is the derivative of a number with respect to the weight of the image, times that weight. Standard
errors, intervals and tests follow from it, see `apframe.compare.standard_errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from apframe.matching.verdicts import has_bit
from apframe.metrics.list_sums import divide
from apframe.metrics.rankings import AreaSlopes
from apframe.metrics.weighted_sums import true_positives

if TYPE_CHECKING:
    from apframe.metrics.cells import Cell, Cells
    from apframe.metrics.sums_of_matches import OfSums
    from apframe.metrics.weights import Weights

_STEP = 1e-30j


@dataclass(frozen=True, eq=False)
class RowInfluence:
    """Contributions to the numbers of lists, of shape (cells, rows); a row contributes to the number of its own list.

    Attributes
    ----------
    detections, annotations
        the contributions of all rows of `Cells`; those of a list sum to 0
    is_biased
        True if the number is too high with few images, as a maximum over them is
    """

    detections: np.ndarray
    annotations: np.ndarray
    is_biased: bool = False


def influence_of(
    cells: Cells,
    weights: Weights,
    contribute: Callable[[Cell], tuple[np.ndarray, np.ndarray]],
    *,
    is_biased: bool = False,
) -> RowInfluence:
    """Return the influence on each output under a single weighting.

    For a cell, `contribute` returns the derivative of the number with respect to the weight of each detection, and the number
    of each list, which is divided by the list's positives.
    """
    own_weights, rows, detection_parts, annotation_parts = weights.given[:, 0], cells.annotations, [], []
    for cell in cells.wanted:
        of_detections, value = contribute(cell)
        each = divide(value, cells.positives_under(cell.area_range, weights)[:, 0])
        of_annotations = np.where(has_bit(rows["counts"], cell.area_range), -each[rows["list"]], 0)
        if not weights.are_once:
            of_detections = of_detections * own_weights[cells.detections["image"]]
            of_annotations = of_annotations * own_weights[rows["image"]]
        detection_parts.append(of_detections)
        annotation_parts.append(of_annotations)
    return RowInfluence(np.stack(detection_parts), np.stack(annotation_parts), is_biased)


def influence_on_area(cells: Cells, weights: Weights, addend: float, *, interpolated: bool) -> RowInfluence:
    """Return the influence on the area under precision or its envelope, over recall.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.cells import Cell, Cells
    >>> from apframe.metrics.weights import Weights
    >>> cells = Cells.of(example(), [Cell((0,), area_range=0, limit=0)])
    >>> influence = influence_on_area(cells, Weights.once(2), 0.0, interpolated=True)
    >>> influence.detections.tolist(), influence.annotations.tolist()
    ([[1.0, 0.0]], [[-1.0]])
    """

    def contribute(cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        slopes = AreaSlopes.of(cells, weights, cell.area_range, cell.limit, addend, interpolated=interpolated)
        return slopes.of_detections(cell.thresholds), slopes.area[list(cell.thresholds)].mean(axis=0)

    return influence_of(cells, weights, contribute, is_biased=interpolated)


def influence_on_recall(cells: Cells, weights: Weights) -> RowInfluence:
    """Return the influence on the share of the positives that are detected.

    >>> from apframe.matching.verdicts import example
    >>> from apframe.metrics.cells import Cell, Cells
    >>> from apframe.metrics.weights import Weights
    >>> influence = influence_on_recall(Cells.of(example(), [Cell((0,), area_range=0, limit=0)]), Weights.once(2))
    >>> influence.detections.tolist(), influence.annotations.tolist()
    ([[1.0, 0.0]], [[-1.0]])
    """

    def contribute(cell: Cell) -> tuple[np.ndarray, np.ndarray]:
        detection, share = true_positives(cells, cell)
        number, own = cells.detections["list"][detection], weights.given[cells.detections["image"][detection], 0]
        each = divide(share, cells.positives_under(cell.area_range, weights)[number, 0])
        recall = np.bincount(number, each * own, minlength=cells.n_lists)
        return np.bincount(detection, each, minlength=len(cells.detections["list"])), recall

    return influence_of(cells, weights, contribute)


def influence_of_sums(metric: OfSums, cells: Cells, weights: Weights) -> Mapping[str, RowInfluence]:
    """Return the influence on functions of sums: each row's part of a sum times the derivative with respect to the sum."""
    own_weights = weights.given
    shape = len(metric.columns), len(cells.wanted)
    contributions = {kind: np.zeros((*shape, len(getattr(cells, kind)["list"]))) for kind in ("detections", "annotations")}
    for at, cell in enumerate(cells.wanted):
        for t in cell.thresholds:
            place = t, cell.area_range, cell.limit
            sums = [cells.sum_rows(*each, own_weights, *place)[:, 0] for each in metric.sums]
            for (kind, factor), slope in zip(metric.sums, slopes(metric.of_sums, sums), strict=True):
                table = "annotations" if kind == "annotations" else "detections"
                columns, (rows, factors) = getattr(cells, table), cells.rows_at(kind, factor, *place)
                own = own_weights[columns["image"][rows], 0] * (1 if factors is None else factors) / len(cell.thresholds)
                for column, name in enumerate(metric.columns):
                    contributions[table][column, at, rows] += slope[name][columns["list"][rows]] * own
    return {
        name: RowInfluence(contributions["detections"][k], contributions["annotations"][k])
        for k, name in enumerate(metric.columns)
    }


def slopes(numbers: Callable[..., Mapping[str, np.ndarray]], sums: Sequence[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Return the derivatives of numbers with respect to each of the sums they are computed from; 0 where undefined.

    A derivative is the imaginary part of the number when a tiny imaginary part is added to the sum, which is exact.

    >>> [each["ratio"].tolist() for each in slopes(lambda a, b: {"ratio": a / b}, [np.array([1.0]), np.array([2.0])])]
    [[0.5], [-0.25]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        raised = [numbers(*(each + _STEP * (j == k) for j, each in enumerate(sums))) for k in range(len(sums))]
    return [{name: np.nan_to_num(np.imag(value) / _STEP.imag) for name, value in values.items()} for values in raised]


def influence_on_means(cells: Cells, weights: Weights, shares: Callable[..., tuple[np.ndarray, np.ndarray]]) -> RowInfluence:
    """Return the influence on means over images: `(value - mean) / n`.

    For a threshold, a range and a limit, `shares` returns one annotation of each image and list, and the value of that image.
    """
    rows, own_weights = cells.annotations, weights.given[:, 0]
    contributions = np.zeros((len(cells.wanted), len(rows["list"])))
    for at, cell in enumerate(cells.wanted):
        for t in cell.thresholds:
            first, value = shares(cells, t, cell.area_range, cell.limit)
            number, own = rows["list"][first], own_weights[rows["image"][first]]
            n, total = (np.bincount(number, each, minlength=cells.n_lists) for each in (own, own * value))
            contributions[at, first] += divide(own * (value - divide(total, n)[number]), n[number]) / len(cell.thresholds)
    return RowInfluence(np.zeros((len(cells.wanted), len(cells.detections["list"]))), contributions)

"""Numbers of an evaluation under weights of its images."""

from __future__ import annotations

from typing import Any

import numpy as np

import apframe as apf
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.points import Definition
from apframe.metrics.weights import Weights


def under_weights(
    evaluation: apf.Evaluation, column: str, weights: Any, *, threshold: int = 0, area_range: int = 0, limit: int = 0
) -> np.ndarray:
    """A column of the metrics, of shape (lists, weightings); `weights` are of shape (images, weightings)."""
    cells = Cells.of(evaluation._pipeline.verdicts, [Cell((threshold,), area_range, limit)])
    metric = next(metric for metric in evaluation.protocol.all_metrics if column in metric.columns)
    return metric.read(cells, Weights.of(weights))[column][0]


def average_precision(
    verdicts: Any, definition: Definition, weights: Any, cells: list[Cell], addend: float = 0.0
) -> np.ndarray:
    """Average precision of shape (cells, weightings, lists); `weights` are of shape (weightings, images)."""
    columns = AveragePrecision(definition, addend).read(Cells.of(verdicts, cells), Weights.of(np.asarray(weights).T))
    return columns["ap"].transpose(0, 2, 1)

"""Plain numbers are what metrics read under weights of one; a few metrics have a faster way for them, with the same result."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import apframe as apf
from apframe.metrics.average_precision import AveragePrecision, DetectionCount, Recall
from apframe.metrics.cells import Cell, Cells
from apframe.metrics.metric import Metric
from apframe.metrics.points import WeightedSum
from apframe.metrics.weights import Weights
from tests.pins.sets import cases


class Watched(Weights):
    """Weights of one, which know whether a metric asks if they are so."""

    asked: bool

    def __getattribute__(self, name: str) -> Any:
        if name == "are_once":
            object.__setattr__(self, "asked", True)
        return super().__getattribute__(name)


def has_its_own_way(metric: Metric) -> bool:
    """Whether a metric has a faster way for plain numbers; all others have one way."""
    if isinstance(metric, AveragePrecision):
        return isinstance(metric.definition, WeightedSum)
    return isinstance(metric, (Recall, DetectionCount))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
@pytest.mark.parametrize("name", apf.PUBLISHED)
def test_both_ways_agree(name: str, tmp_path: Path) -> None:
    n_finite = 0
    for _, data, evaluate in cases(name, tmp_path):
        if data != "generated":
            continue
        evaluation = evaluate()
        cells = Cells.of(evaluation._pipeline.verdicts)
        every = range(len(cells.thresholds))
        all_cells = [
            Cell(thresholds, k, m)
            for k, m in product(range(cells.positives.shape[1]), range(len(cells.limits)))
            for thresholds in [*((t,) for t in every), tuple(every)]
        ]
        for metric in evaluation.protocol.all_metrics:
            once = Watched.once(cells.n_images)
            plain = metric.read(cells.wanting(all_cells), once)
            ones = Cells.of(evaluation._pipeline.verdicts, all_cells)  # which has nothing ready of the plain numbers
            weighted = metric.read(ones, Weights.of(np.ones((cells.n_images, 1))))
            assert getattr(once, "asked", False) == has_its_own_way(metric), metric
            tolerance = 1e-12 if has_its_own_way(metric) else 0
            for column in metric.columns:
                assert plain[column].shape == weighted[column].shape == (len(all_cells), cells.n_lists, 1)
                np.testing.assert_allclose(
                    weighted[column], plain[column], rtol=0, atol=tolerance, err_msg=f"{metric} {column}"
                )
                n_finite += np.isfinite(plain[column]).sum()
    assert n_finite > 4

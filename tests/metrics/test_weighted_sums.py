"""Blocks of lists: where they are cut changes no number."""

from __future__ import annotations

import numpy as np
import pytest

import apframe as apf
from apframe.metrics import weighted_sums
from apframe.metrics.cells import Cell
from apframe.metrics.definitions import as_definition
from apframe.metrics.points import WeightedSum
from tests.metrics.reading import average_precision


@pytest.mark.parametrize("definition", ["coco101", "interpolated", "step"])
def test_the_size_of_blocks_changes_nothing(definition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = apf.evaluate("data/street/instances.json", "data/street/model_a.json")._pipeline.verdicts
    chosen = as_definition(definition)
    assert isinstance(chosen, WeightedSum)
    cells = [Cell(tuple(range(10)), k, 2) for k in range(4)] + [Cell((3, 7), 0, 2)]
    weights = np.random.default_rng(0).multinomial(300, np.full(300, 1 / 300), size=5)
    whole = average_precision(verdicts, chosen, weights, cells)
    monkeypatch.setattr(weighted_sums, "_ROWS", 3)
    np.testing.assert_allclose(average_precision(verdicts, chosen, weights, cells), whole, rtol=0, atol=1e-12)

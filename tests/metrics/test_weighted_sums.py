"""Chunks of rows: where they are cut changes no number."""

from __future__ import annotations

import numpy as np
import pytest

import apframe as apf
from apframe.metrics import segments, weighted_sums
from apframe.metrics.cells import Cell
from apframe.metrics.definitions import as_definition
from apframe.metrics.points import WeightedSum
from tests.metrics.reading import average_precision


@pytest.mark.slow
@pytest.mark.parametrize("definition", ["coco101", "interpolated", "step"])
def test_the_size_of_chunks_changes_nothing(definition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = apf.evaluate("data/street/instances.json", "data/street/model_a.json")._pipeline.verdicts
    chosen = as_definition(definition)
    assert isinstance(chosen, WeightedSum)
    cells = [Cell(tuple(range(10)), k, 2) for k in range(4)] + [Cell((3, 7), 0, 2)]
    weights = np.random.default_rng(0).multinomial(300, np.full(300, 1 / 300), size=5)
    whole = average_precision(verdicts, chosen, weights, cells)
    for name, value in (("_ROWS", 3), ("_SEGMENTS", 2), ("_MARKS", 5), ("_STRIDE", 3)):
        monkeypatch.setattr(segments if name == "_STRIDE" else weighted_sums, name, value)
        found = average_precision(verdicts, chosen, weights, cells)
        np.testing.assert_allclose(found, whole, rtol=0, atol=1e-12)

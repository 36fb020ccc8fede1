"""Every number of a protocol is that of plain loops, on many generated sets."""

from __future__ import annotations

import numpy as np
import pytest

import apframe as apf
from tests.conformance.rows import LOOPS
from tests.conformance.samples import together
from tests.protocols.generated import on_many_sets

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")


@on_many_sets
@pytest.mark.parametrize("key", LOOPS)
def test_every_number_is_that_of_plain_loops(key: str, seeds: range) -> None:
    """`key` is the name of a protocol, and the iou_type if it is not the first one."""
    name, _, iou_type = key.partition(" ")
    samples = [LOOPS[key](np.random.default_rng(seed), seed) for seed in seeds]
    dataset, detections = together(samples)
    by = apf.evaluate(dataset, detections, name, iou_type=iou_type or None).by("set")
    for row in by.iter_rows(named=True):
        expected = samples[row["set"]].numbers
        assert {metric: row[metric] for metric in expected} == pytest.approx(expected, abs=1e-9, nan_ok=True), row["set"]
    assert by.height == len(samples)
    values = [value for sample in samples for value in sample.numbers.values()]
    assert sum(value not in (0, 1, None) for value in values) > len(samples) / 4

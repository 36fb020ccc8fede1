"""Bounds leave pairs out before anything exact is computed: never one that belongs, whatever the blocks and threads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from apframe.similarity import poses
from apframe.similarity.oks import OKS
from tests.similarity.test_oks import pairs, people

THREE = OKS((0.1, 0.2, 0.3))


@given(people(3), people(3), st.sampled_from([1e-310, 1e-12, 0.1, 0.5, 0.75, 0.95, 1.0]))
def test_bounds_leave_out_what_is_below_alone(found: list[dict[str, Any]], truth: list[dict[str, Any]], least: float) -> None:
    expected = {pair: value for pair, value in pairs(THREE, found, truth).items() if value >= least}
    assert pairs(THREE, found, truth, least) == expected


@given(people(17, most=2), st.floats(0, 3), st.sampled_from([0.3, 0.5, 0.9]))
def test_poses_nearby(truth: list[dict[str, Any]], shift: float, least: float) -> None:
    detections = [row | {"keypoints": [number + shift for number in row["keypoints"]]} for row in truth]
    expected = {pair: value for pair, value in pairs(OKS(), detections, truth).items() if value >= least}
    assert pairs(OKS(), detections, truth, least) == expected


@pytest.mark.slow
@given(people(3), people(3), st.sampled_from([1, 2]))
def test_the_size_of_blocks_changes_nothing(found: list[dict[str, Any]], truth: list[dict[str, Any]], threads: int) -> None:
    expected = pairs(THREE, found, truth)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poses, "_BLOCK", 6)  # two pairs at a time
        apf.set_threads(threads)
        try:
            assert pairs(THREE, found, truth) == expected
        finally:
            apf.set_threads(None)

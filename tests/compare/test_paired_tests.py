"""Tests of paired differences: by hand, and against SciPy where it is there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from apframe.compare.paired_tests import randomisation, t_p_value


def test_t_with_one_and_two_degrees_of_freedom() -> None:
    assert t_p_value(1, 1) == pytest.approx(0.5, abs=1e-14)  # 1 - 2 atan(t) / π
    assert t_p_value(1e-9, 1) == pytest.approx(1 - 2e-9 / math.pi, abs=1e-15)
    assert t_p_value(-2, 2) == pytest.approx(1 - 2 / math.sqrt(6), abs=1e-14)  # 1 - |t| / √(t² + 2)
    assert (t_p_value(0, 3), t_p_value(math.inf, 3), t_p_value(1e200, 3)) == (1, 0, 0)


@pytest.mark.slow
def test_t_against_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for df in (1, 2, 3, 5, 10, 49, 999, 4999, 49_999):
        for t in 10 ** np.linspace(-5, 3, 50):
            assert t_p_value(float(t), df) == pytest.approx(2 * stats.t.sf(t, df), rel=0, abs=1e-10), (t, df)


def test_columns_are_tested_alone() -> None:
    d = np.array([[0.4, 0.0, 0.1], [0.1, 0.0, 0.1], [-0.1, 0.0, 0.1], [0.2, 0.0, 0.1]])
    assert randomisation(d, 16, seed=0).tolist() == [6 / 16, 1, 2 / 16]  # all sixteen choices of signs

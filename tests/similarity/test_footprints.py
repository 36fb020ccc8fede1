"""The area that two turned rectangles share, beside shapely, and beside plain arithmetic where they are upright."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from apframe.similarity.footprints import shared_footprints

Array = np.ndarray[Any, Any]
RIGHT = np.pi / 2


def rectangles(n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.array([*rng.uniform(-3, 3, (2, n)), *rng.uniform(0.2, 6, (2, n)), rng.uniform(-7, 7, n)])


def by_shapely(left: Array, right: Array) -> Array:
    shapely = pytest.importorskip("shapely")

    def shapes(rectangle: Array) -> Any:
        x, y, length, width, yaw = rectangle
        corners = [
            (x + a * length * np.cos(yaw) - b * width * np.sin(yaw), y + a * length * np.sin(yaw) + b * width * np.cos(yaw))
            for a, b in ((0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5))
        ]
        return shapely.polygons(np.array(corners).transpose(2, 0, 1))

    areas: Array = shapely.area(shapely.intersection(shapes(left), shapes(right)))
    return areas


@pytest.mark.slow
def test_as_shapely() -> None:
    left, right = rectangles(20_000, 0), rectangles(20_000, 1)
    expected = by_shapely(left, right)
    assert 0.2 < (expected == 0).mean() < 0.8
    np.testing.assert_allclose(shared_footprints(left, right), expected, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_sides_that_nearly_lie_on_each_other(turn: float) -> None:
    left = rectangles(5_000, 2)
    rng = np.random.default_rng(3)
    right = left + np.array([[0.0], [0.0], [0.0], [0.0], [1.0]]) * turn * rng.standard_normal(5_000)
    np.testing.assert_allclose(shared_footprints(left, right), by_shapely(left, right), atol=1e-13)
    moved = right + np.array([*rng.uniform(-2, 2, (2, 5_000)), *np.zeros((3, 5_000))])
    np.testing.assert_allclose(shared_footprints(left, moved), by_shapely(left, moved), atol=1e-13)
    np.testing.assert_allclose(shared_footprints(left, moved), shared_footprints(moved, left), atol=1e-13)


@pytest.mark.parametrize("turn", [0.0, np.pi, -np.pi, 2 * np.pi])
def test_equal_rectangles_share_all_to_the_last_bit(turn: float) -> None:
    left = rectangles(10_000, 4)
    left[4] %= 2 * np.pi
    right = left + np.array([[0.0]] * 4 + [[turn]])
    kept = (right[4] - left[4]) % np.pi == 0 if turn else np.ones(10_000, dtype=bool)
    assert (shared_footprints(left, left) == left[2] * left[3]).all()
    np.testing.assert_allclose(shared_footprints(left, right), left[2] * left[3], rtol=1e-14)
    assert (shared_footprints(left, right)[kept] == (left[2] * left[3])[kept]).all()


@pytest.mark.parametrize("turn", [0, 1, 2, 3, -1, 5])
def test_upright_rectangles_as_plain_arithmetic(turn: int) -> None:
    """With sides, centres and shifts that are sums of powers of two, the product of the shared sides is exact."""
    rng = np.random.default_rng(turn + 9)
    x, y = rng.integers(-12, 13, (2, 500)) / 4
    length, width = rng.integers(1, 20, (2, 500)) / 4
    left = np.array([[0.0], [0.0], [4.0], [2.0], [0.0]]).repeat(500, axis=1)
    along, across = (width, length) if turn % 2 else (length, width)
    shared_x = np.minimum(2, x + along / 2) - np.maximum(-2, x - along / 2)
    shared_y = np.minimum(1, y + across / 2) - np.maximum(-1, y - across / 2)
    right = np.array([x, y, length, width, np.full(500, turn * RIGHT)])
    expected = np.where((shared_x > 0) & (shared_y > 0), shared_x * shared_y, 0)
    assert (expected > 0).any() and (shared_footprints(left, right) == expected).all()


def test_rectangles_that_only_touch_share_nothing() -> None:
    left = np.array([[0.0], [0.0], [4.0], [2.0], [0.0]])
    beside, corner = np.array([[4.0], [0.0], [4.0], [2.0], [np.pi]]), np.array([[4.0], [2.0], [4.0], [2.0], [0.0]])
    assert shared_footprints(left, beside) == shared_footprints(left, corner) == 0

"""Outlines of masks: their lines enclose the pixels again, holes included."""

from __future__ import annotations

import numpy as np
import pytest

from apframe.tables.shapes import outlines as module
from apframe.tables.shapes.outlines import outlines
from apframe.tables.shapes.pixel_runs import from_bitmaps


def of_bitmaps(*bitmaps: np.ndarray) -> list[list[list[float]]]:
    sizes = np.array([bitmap.shape for bitmap in bitmaps])
    pixels = np.concatenate([bitmap.ravel() for bitmap in bitmaps]).astype(bool)
    return outlines(from_bitmaps(pixels, sizes[:, 0], sizes[:, 1])).to_list()


def area(line: list[float]) -> float:
    """By the shoelace formula: positive for lines that go clockwise on the screen."""
    x, y = np.array(line[::2]), np.array(line[1::2])
    return float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum() / 2)


@pytest.mark.parametrize("seed", range(5))
def test_lines_enclose_the_pixels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without smoothing, the signed areas of the lines add up to the pixels, and each line alternates between x and y."""
    monkeypatch.setattr(module, "_ROUNDS", 0)
    rng = np.random.default_rng(seed)
    bitmaps = [rng.random((rng.integers(1, 9), rng.integers(1, 9))) < share for share in (0.3, 0.5, 0.8, 0.0, 1.0)]
    for bitmap, lines in zip(bitmaps, of_bitmaps(*bitmaps), strict=True):
        assert sum(map(area, lines)) == bitmap.sum()
        for line in lines:
            points = np.array(line).reshape(-1, 2)
            steps = np.roll(points, -1, axis=0) - points
            assert ((steps == 0).any(axis=1)).all()


def test_a_hole_goes_the_other_way_round() -> None:
    ring = np.ones((30, 30), dtype=bool)
    ring[10:20, 10:20] = False
    assert sorted(area(line) for line in of_bitmaps(ring)[0]) == [-100, 900]


def test_curves_are_smooth_and_near() -> None:
    y, x = np.mgrid[:300, :300]
    disc = (x - 150) ** 2 + (y - 150) ** 2 < 120**2
    (line,) = of_bitmaps(disc)[0]
    points = np.array(line).reshape(-1, 2)
    assert len(points) < 40
    assert abs(np.hypot(*(points - 150.5).T) - 120).max() < 4
    assert area(line) == pytest.approx(disc.sum(), rel=0.03)


def test_masks_without_pixels() -> None:
    assert of_bitmaps(np.zeros((4, 4), dtype=bool)) == [[]]
    assert outlines(from_bitmaps(np.zeros(0, dtype=bool), np.zeros(0, dtype=int), np.zeros(0, dtype=int))).to_list() == []

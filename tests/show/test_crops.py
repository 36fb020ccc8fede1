"""Crops: around the subjects, inside their picture, and all of one shape."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest

from apframe.show.crops import crop_pictures
from apframe.show.drawings import RATIO

SIZE = {"image_width": 640, "image_height": 480}
BOX = {"x": 300.0, "y": 100.0, "width": 100.0, "height": 120.0}


def crop(*boxes: dict[str, Any], least: float = 0.25, **shared: Any) -> tuple[float, ...]:
    rows = [{"image_id": 1, "is_subject": True} | SIZE | BOX | shared | box for box in boxes]
    crops = crop_pictures(pl.DataFrame(rows, infer_schema_length=None), least)
    return crops.select("crop_x", "crop_y", "crop_width").row(0)


def test_the_margin_is_half_the_size_of_the_subject() -> None:
    assert crop({}) == (190, 40, 320)
    assert crop({"height": 20.0}) == (250, 35, 200)


def test_all_subjects_are_seen_and_other_objects_do_not_count() -> None:
    assert crop({}, {"x": 340.0}, {"x": 0.0, "is_subject": False}) == crop({"width": 140.0})


def test_small_subjects_are_seen_with_a_part_of_the_picture() -> None:
    tiny = {"x": 320.0, "y": 240.0, "width": 0.0, "height": 0.0}
    assert crop(tiny) == (240, 180, 160)
    assert crop(tiny, least=0.5) == (160, 120, 320)


def test_crops_are_inside_the_picture() -> None:
    assert crop({"x": 0.0, "y": 0.0}) == (0, 0, 320)
    assert crop({"x": 600.0, "y": 440.0}) == (480, 360, 160), "what is outside of the picture does not count"
    assert crop({"x": 900.0, "y": 900.0}) == (480, 360, 160)


def test_a_crop_that_does_not_fit_has_free_stripes() -> None:
    x, y, across = crop({"x": 100.0, "width": 800.0, "y": 0.0}, image_width=1242, image_height=375)
    assert (across, y) == (1000, (375 - 750) / 2)
    assert 0 <= x <= 100 and 900 <= x + across <= 1242
    assert crop({"y": 50.0, "height": 1000.0}, image_width=600, image_height=1200) == (-500, 0, 1600), "the whole picture"
    assert crop({"x": 10.0, "y": 10.0, "width": 620.0, "height": 460.0}) == (0, 0, 640), "the whole picture"


def test_a_crop_that_fits_with_a_small_margin_has_no_stripes() -> None:
    assert crop({"y": 20.0, "height": 300.0}, image_width=1242, image_height=375) == (100, 0, 500)


def test_pictures_without_subjects_are_whole() -> None:
    assert crop({"is_subject": False}) == (0, 0, 640)
    assert crop({"is_subject": None}, image_width=None, image_height=None)[0] == 0
    assert crop(dict.fromkeys(BOX), {"is_subject": False}) == (0, 0, 640)


def test_turned_boxes_are_whole() -> None:
    x, y, across = crop({"angle": math.pi / 2, "height": 20.0})
    assert (x + across / 2, y + across / RATIO / 2) == pytest.approx((350, 110))
    assert across == pytest.approx(200 * RATIO), "100 high, with its margins"


@pytest.mark.slow
def test_every_crop_shows_its_subject() -> None:
    draw = random.Random(1)
    for _ in range(100):
        width, height = draw.randint(20, 2000), draw.randint(20, 2000)
        left, right = sorted(draw.uniform(0, width) for _ in range(2))
        top, bottom = sorted(draw.uniform(0, height) for _ in range(2))
        box = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        x, y, across = crop(box, image_width=width, image_height=height)
        down = across / RATIO
        assert x - 1e-6 <= left and right <= x + across + 1e-6
        assert y - 1e-6 <= top and bottom <= y + down + 1e-6
        assert (x >= 0 and x + across <= width + 1e-6) or (x < 0 and x + across == pytest.approx(width - x))
        assert (y >= 0 and y + down <= height + 1e-6) or (y < 0 and y + down == pytest.approx(height - y))

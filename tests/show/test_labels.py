"""Labels on pictures: beside their object, whole, and not over each other."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from typing import Any

import polars as pl
import pytest

from apframe.show.labels import place_labels

LINE, LETTER = 13 * 1.3, 8.8  # on a picture that is as wide as it is shown
BOX = {"x": 100.0, "y": 100.0, "width": 20.0, "height": 10.0}
MISSED = "○ traffic_cone 0.97, missed by model_a"


def placed(*rows: dict[str, Any], across: int = 400, down: int = 280) -> list[ET.Element]:
    common = {"image_id": 1, "across": across, "down": down, "words": "✗ car", "is_below": False, "is_subject": False} | BOX
    return [ET.fromstring(f"<text {text}") for text in place_labels(pl.DataFrame([common | row for row in rows]), 400)]


def starts(*rows: dict[str, Any]) -> list[tuple[float, float]]:
    """Where labels begin, from the left and from the top."""
    return [(float(text.attrib["x"]), round(float(text.attrib["y"]) - 13, 1)) for text in placed(*rows)]


def lines(text: ET.Element) -> list[str]:
    return [(each.text or "").strip() for each in (text, *text)]


def test_labels_are_above_or_below_their_object() -> None:
    assert starts({}) == [(100, 83.1)]
    assert starts({"is_below": True}) == [(100, 110)]


def test_a_label_takes_the_next_place_if_the_first_is_taken() -> None:
    """Above, below, beside; then one line farther."""
    high = {"height": 40.0}
    assert starts(high, high, high, high) == [(100, 83.1), (100, 140), (123.9, 111.5), (100, 66.2)]
    assert starts({}, {"height": 100.0}) == [(100, 83.1), (100, 100)], "inside, where there is room"


def test_labels_of_other_pictures_take_no_place() -> None:
    one, two = starts({}, {"image_id": 2})
    assert one == two


def test_subjects_choose_first() -> None:
    assert starts({}, {"is_subject": True})[::-1] == starts({}, {})


def test_labels_are_inside_at_the_edges_of_the_picture() -> None:
    assert starts({"y": 1.0, "height": 90.0}) == [(100, 1)]
    assert starts({"y": 1.0}) == [(100, 11)], "below a small object at the upper edge"
    assert starts(*[{"y": -5.0, "height": 300.0, "x": -5.0, "width": 500.0}] * 3) == [(0, 0), (0, 263.1), (0, 16.9)], (
        "an object as large as the picture"
    )
    (text,) = placed({"x": 380.0, "width": 15.0})
    assert (text.attrib["x"], text.attrib["text-anchor"]) == ("395", "end"), "it ends where its object ends"


@pytest.mark.parametrize(("across", "down"), [(200, 280), (70, 280), (400, 40)])
def test_long_labels_are_broken_into_lines_that_fit(across: int, down: int) -> None:
    (text,) = placed({"words": MISSED, "y": 20.0, "x": 50.0}, across=across, down=down)
    assert re.sub(r"\s", "", "".join(lines(text))) == MISSED.replace(" ", "")
    assert max(map(len, lines(text))) * LETTER <= across
    assert float(text.attrib["y"]) - 13 + len(lines(text)) * LINE <= down


def test_lines_of_a_label_are_about_as_long_as_each_other() -> None:
    (text,) = placed({"words": "○ Car 0.93, missed by model_b"}, across=210)
    assert lines(text) == ["○ Car 0.93,", "missed by model_b"]


def test_a_name_that_fills_the_picture_loses_its_middle() -> None:
    (text,) = placed({"words": f"○ {'long ' * 500}0.93, missed by model_b"})
    assert len(lines(text)) <= 280 / LINE
    assert " ".join(lines(text)).startswith("○ long long")
    assert " ".join(lines(text)).endswith("0.93, missed by model_b")
    assert "…" in " ".join(lines(text))


def test_letters_of_chinese_are_wider() -> None:
    (text,) = placed({"words": f"○ {'车' * 40}"})
    assert max(map(len, lines(text))) * 1.5 * LETTER <= 400


def test_labels_do_not_cover_each_other_where_there_is_room() -> None:
    """Ten objects in the middle of a large picture, as on cards that are opened."""
    for seed in range(20):
        draw = random.Random(seed)
        boxes = [{"x": draw.uniform(300, 500), "y": draw.uniform(150, 500), "is_below": draw.random() < 0.5} for _ in range(10)]
        rows = [{**BOX, **box, "words": "○ car 0.50, missed by a"} for box in boxes]
        rest = {"image_id": 1, "across": 960, "down": 672, "is_subject": False}
        texts = place_labels(pl.DataFrame([rest | row for row in rows]), 960).to_list()
        attributes = [ET.fromstring(f"<text {text}").attrib for text in texts]
        corners = [(float(each["x"]), float(each["y"])) for each in attributes]
        for number, (x, y) in enumerate(corners):
            for other_x, other_y in corners[:number]:
                assert abs(x - other_x) > 23 * LETTER - 0.1 or abs(y - other_y) > LINE - 0.1
        assert texts == place_labels(pl.DataFrame([rest | row for row in rows]), 960).to_list()


def test_objects_without_words_or_place_have_no_label() -> None:
    common = {"image_id": 1, "across": 400, "down": 280, "is_below": False, "is_subject": False, "words": "✗ car"} | BOX
    rows = pl.DataFrame([common | {"words": None}, common | {"x": None}, common], infer_schema_length=None)
    assert place_labels(rows, 400).is_null().to_list() == [True, True, False]

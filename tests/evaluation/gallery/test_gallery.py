"""Cards: cropped to what is in question, with labels inside the crop, and scores for the slider."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import apframe as apf
from apframe.evaluation.gallery.cards import by_score, choose_cards, find_cards, marks_by
from apframe.evaluation.gallery.gallery import draw_cards
from apframe.evaluation.gallery.pictures import Pictures

STREET = Path(__file__).parents[3] / "data" / "street"


def parsed(card: str) -> ET.Element:
    """A card as a tree: `img` has no end in HTML."""
    return ET.fromstring(re.sub(r"(<img[^>]*)>", r"\1/>", card))


def seen(card: ET.Element) -> tuple[float, float, float, float]:
    """Which part of the picture a card shows: left, top, right and bottom, in the picture's units."""
    (whole,) = card.iterfind(".//div[@class='whole']")
    left, top, width, height = (float(number) for number in re.findall(r"(-?[\d.e-]+)%", whole.attrib["style"]))
    across, down = (float(number) for number in whole.find("svg").attrib["viewBox"].split()[2:])  # type: ignore[union-attr]
    start = (-left / width * across, -top / height * down)
    return (*start, start[0] + 100 / width * across, start[1] + 100 / height * down)


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(STREET / "instances.json", STREET / f"{name}.json") for name in ("model_a", "model_b")]


@pytest.fixture(scope="module")
def chosen(models: list[apf.Evaluation]) -> pl.DataFrame:
    cards = by_score(find_cards(models, 0.5))
    return choose_cards(cards, [marks_by(cards, "kind", "change", "model")], 40)


@pytest.fixture(scope="module")
def cards(models: list[apf.Evaluation], chosen: pl.DataFrame) -> list[ET.Element]:
    return [parsed(card) for card in draw_cards(models, ["a", "b"], chosen, Pictures(STREET / "images"), 0.5)]


@pytest.mark.slow
def test_crops_contain_what_is_in_question(cards: list[ET.Element]) -> None:
    for card in cards:
        left, top, right, bottom = seen(card)
        assert (right - left) / (bottom - top) == pytest.approx(4 / 3, rel=1e-4)
        subjects = [each for each in card.iter("g") if "subject" in each.attrib["class"].split()]
        assert subjects
        for line in (path.attrib["d"] for each in subjects for path in each.iterfind("path[@class='line']")):
            x0, y0, x1, y1 = (float(number) for number in re.findall(r"-?[\d.]+", line)[:4])
            assert left - 0.1 <= max(x0, 0) <= min(x1, 1280) <= right + 0.1
            assert top - 0.1 <= max(y0, 0) <= min(y1, 720) <= bottom + 0.1


@pytest.mark.slow
def test_labels_of_a_card_are_inside_its_crop(cards: list[ET.Element]) -> None:
    for card in cards:
        left, top, right, bottom = seen(card)
        texts = card.findall(".//g[@class='closed']/text")
        assert texts
        for text in texts:
            start = [float(number) for number in re.findall(r"-?[\d.]+", text.attrib["transform"])]
            x, y = (first + float(text.attrib[name]) for first, name in zip(start, "xy", strict=True))
            assert left - 0.1 <= x <= right + 0.1
            assert top - 0.1 <= y <= bottom + 0.1
            assert float(text.attrib["font-size"]) >= (right - left) / 400 * 13 * 0.99
        assert len(card.findall(".//g[@class='opened']")) == len(card.findall(".//g[@class='narrow']")) == 1


def test_detections_carry_their_scores(chosen: pl.DataFrame, cards: list[ET.Element]) -> None:
    for row, card in zip(chosen.iter_rows(named=True), cards, strict=True):
        elements = [(each.attrib["class"].split(), each) for each in card.iter() if each.tag in ("text", "g")]
        drawn = [(classes, each) for classes, each in elements if len(classes) > 1 and "narrow" not in classes]
        assert all(("data-score" in each.attrib) == (classes[0] in ("a", "b")) for classes, each in drawn)
        if row["detection_id"] is not None:
            own = {each.attrib["data-score"] for classes, each in drawn if {row["model"], "subject"} <= {*classes}}
            assert own == {f"{row['score']:.6g}"}


@pytest.mark.slow
def test_thumbnails_are_shown_with_more_around(tmp_path: Path) -> None:
    Image.new("RGB", (400, 300)).save(tmp_path / "a.png")
    truth = {
        "images": [{"id": 1, "file_name": "a.png", "width": 400, "height": 300}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [195, 145, 10, 10]}],
    }
    ev = apf.evaluate(truth, [])
    for embed, expected in ((False, (150, 112.5, 250, 187.5)), (True, (100, 75, 300, 225))):
        (card,) = draw_cards([ev], ["a"], find_cards([ev], 0.5), Pictures(tmp_path, embed=embed), 0.5)
        assert seen(parsed(card)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_what_is_not_on_pictures_is_whole() -> None:
    """It has one place for labels of cards and of narrow screens."""
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "run"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "start_time": 1.0, "end_time": 1.5}],
    }
    ev = apf.evaluate(truth, [], "activitynet")
    (card,) = draw_cards([ev], ["a"], find_cards([ev], 0.5), Pictures(None), 0.5)
    assert '<div class="whole"><svg' in card
    assert card.count('<g class="closed narrow">') == 1
    assert 'class="narrow"' not in card

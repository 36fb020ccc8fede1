"""The tables that sections share."""

from __future__ import annotations

import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.write import about, sections_of
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import TINY

ONE_IMAGE = ONE_OF_TWO | {"images": ONE_OF_TWO["images"][:1], "annotations": ONE_OF_TWO["annotations"][:1]}


@pytest.mark.slow
def test_tables_are_those_of_compare(pair: Compared, models: list[apf.Evaluation]) -> None:
    a, b = models
    assert_frame_equal(pair.overall, a.compare(b), abs_tol=1e-12)
    expected = a.compare(b, level="category")
    assert_frame_equal(pair.by_category.drop("n_positives"), expected, abs_tol=1e-12)
    weather = pair.by_key("weather")
    assert_frame_equal(weather.drop("n_images", "n_annotations"), a.compare(b, by="weather", metrics="AP"), abs_tol=1e-12)
    assert weather["n_images"].sum() == 300


def test_positives_are_those_of_the_metrics(one: Compared) -> None:
    assert one.by_category.filter(metric="AP")["n_positives"].sum() == one.first.by()["n_annotations"].item()
    assert one.iou_threshold == 0.5 and one.metric == "AP"


def of_one_image(n: int, **options: object) -> list[apf.Evaluation]:
    detections = ONE_HIT[:1]
    return [apf.evaluate(ONE_IMAGE, each, **options) for each in ([], detections, detections)[:n]]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_section_can_be_made_of_one_image(n: int) -> None:
    sections = {each.key: each for each in sections_of(about(of_one_image(n), None, "weather"))}
    notes = [note for note in sections["comparison"].notes[1:] if not note.startswith("Test: ")]
    assert notes == [
        "No interval for AP, AP50, AP75, APm, AR1, AR10, AR100, ARm: fewer than 2 images.",
        "There are fewer than two images; there are no intervals.",
    ]
    assert not any("fewer than two images" in note for key in ("slices", "computed") for note in sections[key].notes)


@pytest.mark.slow
def test_pooled_categories_of_one_image() -> None:
    protocol, options, *_ = TINY["proposals"]
    pooled = about(of_one_image(2, protocol=protocol, **options), None, ())
    assert [each.key for each in sections_of(pooled)][:3] == ["comparison", "slices", "error_types"]

"""Reports about one image, which has no intervals."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.report.write import about, sections_of
from tests.protocols.test_protocol_values import ONE_HIT, ONE_OF_TWO, TINY

ALONE = ONE_OF_TWO | {"images": ONE_OF_TWO["images"][:1], "annotations": ONE_OF_TWO["annotations"][:1]}


def models(n: int, **options: object) -> list[apf.Evaluation]:
    found = ONE_HIT[:1]
    return [apf.evaluate(ALONE, each, **options) for each in ([], found, found)[:n]]  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_section_can_be_made_of_one_image(n: int) -> None:
    made = {each.key: each for each in sections_of(about(models(n), None, "weather"))}
    notes = [note for note in made["better"].notes[1:] if not note.startswith("Test: ")]
    assert notes == [
        "No interval for AP, AP50, AP75, APm, AR1, AR10, AR100, ARm: fewer than 2 images.",
        "There are fewer than two images; there are no intervals.",
    ]
    assert not any("fewer than two images" in note for key in ("where", "rules") for note in made[key].notes)


def test_pooled_categories_of_one_image() -> None:
    protocol, options, *_ = TINY["proposals"]
    pooled = about(models(2, protocol=protocol, **options), None, ())
    assert [each.key for each in sections_of(pooled)][:3] == ["what", "better", "where"]

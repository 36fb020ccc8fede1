"""The section of the report: the errors as cards."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import apframe as apf
from apframe.detection.look.cards import choose_cards, find_cards
from apframe.detection.look.pictures import Pictures
from apframe.exceptions import ApframeWarning
from apframe.report.compared import Compared
from apframe.report.section import Fragment, Section
from apframe.report.sections import labels, look
from tests.report.sections.test_kinds import of
from tests.rule_sets.test_protocol_values import ONE_HIT, ONE_OF_TWO, TINY, tiny

BAD = "<img src=x onerror=alert(1)>"


def markup(section: Section) -> str:
    return "".join(str(block.markup) for block in section.blocks if isinstance(block, Fragment))


def test_every_chosen_error_has_its_card(pair: Compared, models: list[apf.Evaluation]) -> None:
    few = replace(pair, max_images=40)
    section = look.section(few)
    text = markup(section)
    cards = choose_cards(find_cards(models, 0.5), 40)
    shown = re.findall(r'data-kind="(\w+)" data-category="([^"]+)" data-model="([^"]+)" data-change="(\w+)"', text)
    names = {"a": "model_a", "b": "model_b"}
    wanted = cards.select("kind", "name", "model", "change").rows()
    assert shown == [(kind, name, names[model], change) for kind, name, model, change in wanted]
    assert text.count('class="ids"') == 40
    assert text.count(" subject") >= 40
    assert section.notes[0].startswith(f"40 of {find_cards(models, 0.5).height:,} errors are shown: ")
    assert "No folder of pictures was given" in section.notes[-1]


def test_slices_are_filters(pair: Compared) -> None:
    text = markup(look.section(replace(pair, max_images=20)))
    assert '<select name="weather">' in text and 'data-weather="clear"' in text
    assert '<option value="lost">lost by model_b</option>' in text


def test_pictures_are_linked_and_missing_ones_counted(one: Compared, tmp_path: Path) -> None:
    errors = choose_cards(find_cards(one.evaluations, 0.5), 10)
    names = errors["file_name"].unique(maintain_order=True).to_list()
    (tmp_path / "pictures #1").mkdir()
    (tmp_path / "pictures #1" / names[0]).write_text("x")
    linked = replace(one, pictures=Pictures(tmp_path / "pictures #1", tmp_path), max_images=10)
    section = look.section(linked)
    assert f'src="pictures%20%231/{names[0]}"' in markup(section)
    assert (
        section.notes[-1] == f"The pictures of {len(names) - 1} of {len(names)} images are missing, or their size is unknown."
    )


@pytest.mark.parametrize("name", TINY)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        compared = of(tiny(name), tiny(name))
        text = markup(look.section(compared))
    assert text.count("<article") == find_cards(compared.evaluations, compared.iou_threshold).height
    assert isinstance(labels.section(compared), Section)


def test_names_are_text() -> None:
    truth = ONE_OF_TWO | {"categories": [{"id": 1, "name": "a"}, {"id": 2, "name": BAD}]}
    section = look.section(of(apf.evaluate(truth, ONE_HIT)))
    assert BAD not in markup(section)
    assert "&lt;img src=x onerror=alert(1)&gt;" in markup(section)


def test_without_errors_there_are_no_cards() -> None:
    whole = ONE_OF_TWO | {"annotations": ONE_OF_TWO["annotations"][:1]}
    section = look.section(of(apf.evaluate(whole, ONE_HIT[:1])))
    assert (section.blocks, section.notes[0]) == ((), "There are no errors.")

"""The section of the report: rules."""

from __future__ import annotations

from dataclasses import replace

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.section import Fragment
from apframe.report.sections import rules
from tests.report.sections.test_kinds import of
from tests.rule_sets.test_protocol_values import ONE_HIT, ONE_OF_TWO


def text(compared: Compared) -> str:
    (block,) = rules.section(compared).blocks
    assert isinstance(block, Fragment)
    return block.markup


def test_what_was_asked_for_is_said(pair: Compared, one: Compared) -> None:
    said = text(replace(pair, n_resamples=700, seed=3, max_images=25))
    assert "700 times, starting from seed 3, the same images for all models" in said
    assert "those at IoU 0.5" in said and "the rules of COCO" in said
    assert "p is how surprising" in said and "the page 25 cards" in said
    assert "needs no network" in said
    alone = text(one)
    assert "p is how surprising" not in alone and "500 times, starting from seed 0. " in alone


def test_one_image_has_no_intervals() -> None:
    truth = ONE_OF_TWO | {"images": ONE_OF_TWO["images"][:1], "annotations": ONE_OF_TWO["annotations"][:1]}
    one_image = apf.evaluate(truth, ONE_HIT[:1])
    assert "intervals" not in text(of(one_image, one_image))

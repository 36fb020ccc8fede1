"""The section of the report: rules."""

from __future__ import annotations

from dataclasses import replace

from apframe.report.compared import Compared
from apframe.report.sections import rules


def test_what_was_asked_for_is_said(pair: Compared, one: Compared) -> None:
    text = " ".join(rules.section(replace(pair, n_resamples=700, seed=3)).sentences)
    assert "700 times, starting from seed 3, the same images for all models" in text
    assert "IoU 0.5" in text and "the rules of COCO" in text
    assert "p is how surprising" in text
    assert "p is how surprising" not in " ".join(rules.section(one).sentences)

"""The section of the report: what."""

from __future__ import annotations

from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections import what


def test_says_what_was_compared(pair: Compared) -> None:
    section = what.section(pair)
    assert section.sentences[0] == "model_a and model_b on 300 images, 2,400 annotations, 12 categories, by the rules of COCO."
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert table.frame["detections"].to_list() == [each.detections.height for each in pair.evaluations]

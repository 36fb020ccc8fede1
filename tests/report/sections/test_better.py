"""The section of the report: better."""

from __future__ import annotations

import pytest

from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections import better


def test_of_two_and_of_one(pair: Compared, one: Compared) -> None:
    two = better.section(pair)
    assert two.heading == "Is model_b better?"
    assert "includes 0" in two.sentences[0]
    table = better.section(one).blocks[0]
    assert isinstance(table, Table)
    assert table.frame["value"].to_list() == pytest.approx(one.first.summary["value"].to_list(), abs=1e-12)
    assert better.section(one).heading == "How good is model_a?"

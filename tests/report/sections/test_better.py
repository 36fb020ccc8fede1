"""The section of the report: better."""

from __future__ import annotations

import pytest

from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections import better
from tests.protocols.test_protocol_values import tiny


@pytest.mark.slow
def test_of_two_and_of_one(pair: Compared, one: Compared) -> None:
    two = better.section(pair)
    assert two.heading == "Is model_b better?"
    assert "includes 0" in two.sentences[0]
    differences = two.blocks[0]
    assert isinstance(differences, Table)  # of one pair, p needs no correction for the number of pairs
    assert differences.frame["p"].equals(pair.overall["p"]) and "p_holm" not in differences.frame.columns
    assert differences.heads["share_better"] == "resamples in which model_b is better"
    table = better.section(one).blocks[0]
    assert isinstance(table, Table)
    assert table.frame["value"].to_list() == pytest.approx(one.first.summary["value"].to_list(), abs=1e-12)
    assert better.section(one).heading == "How good is model_a?"


@pytest.mark.slow
def test_the_answer_is_about_the_mean_over_all_categories() -> None:
    """Some protocols name the numbers of a category first."""
    for n in (1, 2):
        said = better.section(Compared([tiny("kitti")] * n, ["a", "b"][:n])).sentences[0]
        assert "AP_moderate" in said and "AP_Car" not in said

"""The section of the report: better."""

from __future__ import annotations

import polars as pl
import pytest

from apframe.report.compared import Compared
from apframe.report.section import Table
from apframe.report.sections import better
from apframe.report.tables import cell_texts
from tests.protocols.test_protocol_values import tiny


@pytest.mark.slow
def test_of_two_and_of_one(pair: Compared, one: Compared) -> None:
    two = better.section(pair)
    assert two.heading == "Is model_b better?"
    assert two.sentences[0] == "No significant difference in AP: +0.008 for model_b (95 % CI −0.016 to +0.032)."
    assert two.notes[1].startswith("No interval for APs, APl, ARs, ARl: more than a tenth of the categories")
    assert two.notes[2:] == ["Test: t test on the influences of 300 images."] and len(better.section(one).notes) == 2
    differences = two.blocks[0]
    assert isinstance(differences, Table)  # of one pair, p needs no correction for the number of pairs
    assert differences.frame["p"].equals(pair.overall["p"]) and "p_holm" not in differences.frame.columns
    assert differences.heads["share_better"] == "how sure model_b is better"
    table = better.section(one).blocks[0]
    assert isinstance(table, Table)
    assert table.frame["value"].to_list() == pytest.approx(one.first.summary["value"].to_list(), abs=1e-12)
    assert better.section(one).heading == "How good is model_a?"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
def test_the_answer_is_about_the_mean_over_all_categories() -> None:
    """Some protocols name the numbers of a category first."""
    for n in (1, 2):
        said = better.section(Compared([tiny("kitti")] * n, ["a", "b"][:n])).sentences[0]
        assert "AP_moderate" in said and "AP_Car" not in said


def test_small_p_values_are_bounds(pair: Compared) -> None:
    """The frame keeps the numbers, for Parquet."""
    rows = pair.overall.head(3).with_columns(
        p=pl.Series([1e-9, 0.002, 0.5]), method=pl.Series(["influence", "bootstrap", "influence"]), n_resamples=pl.lit(999)
    )
    table = better.difference_table(rows.select("metric", *better.OF_PAIR, "p"), "x", {}, rows)
    assert cell_texts(table)["p"] == ["< 0.001", "≤ 0.002", "0.500"] and table.frame["p"].equals(rows["p"])

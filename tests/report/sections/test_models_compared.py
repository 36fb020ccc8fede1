"""The section of the report: the headline numbers of one model or two."""

from __future__ import annotations

import polars as pl
import pytest

from apframe.report.compared import Compared
from apframe.report.html_tables import cell_texts
from apframe.report.section import Table
from apframe.report.sections import models_compared
from tests.protocols.test_protocol_values import tiny


@pytest.mark.slow
def test_of_two_and_of_one(pair: Compared, one: Compared) -> None:
    two = models_compared.section(pair)
    assert two.heading == "Is model_b better?" and two.scope == "all scores"
    assert models_compared.answer(pair) == "No significant difference in AP: +0.008 for model_b (95 % CI −0.016 to +0.032)."
    assert list(two.sentences) == ["With 300 images, differences below about 0.034 cannot be told from chance."]
    assert two.notes[1].startswith("No interval for APs, APl, ARs, ARl: more than a tenth of the categories")
    assert two.notes[2:] == ["Test: t test on the influences of 300 images."] and len(models_compared.section(one).notes) == 2
    differences = two.blocks[0]
    assert isinstance(differences, Table)  # of one pair, p needs no correction for the number of pairs
    assert differences.frame["p"].equals(pair.overall["p"]) and "p_holm" not in differences.frame.columns
    assert differences.heads["share_better"] == "how sure model_b is better"
    assert list(differences.folded) == ["p", "share_better", "detectable"] == differences.frame.columns[-3:]
    table = models_compared.section(one).blocks[0]
    assert isinstance(table, Table)
    assert table.frame["value"].to_list() == pytest.approx(one.first.summary["value"].to_list(), abs=1e-12)
    assert models_compared.section(one).heading == "How good is model_a?"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
def test_the_answer_is_about_the_mean_over_all_categories() -> None:
    """Some protocols name the numbers of a category first."""
    for n in (1, 2):
        answer = models_compared.answer(Compared([tiny("kitti")] * n, ["a", "b"][:n]))
        assert "AP_moderate" in answer and "AP_Car" not in answer


@pytest.mark.slow
def test_small_p_values_are_bounds(pair: Compared) -> None:
    """The frame keeps the numbers, for Parquet."""
    rows = pair.overall.head(3).with_columns(
        p=pl.Series([1e-9, 0.002, 0.5]), method=pl.Series(["influence", "bootstrap", "influence"]), n_resamples=pl.lit(999)
    )
    table = models_compared.difference_table(rows, ["metric"], "x", {}, ["p"])
    assert cell_texts(table)["p"] == ["< 0.001", "≤ 0.002", "0.500"] and table.frame["p"].equals(rows["p"])

"""The section of the report: mistaken."""

from __future__ import annotations

import re
import warnings

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NoAnnotationsWarning
from apframe.report.compared import Compared
from apframe.report.section import Chart, Table
from apframe.report.sections import mistaken
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_kinds import of


def test_counts_are_those_of_confusion(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = mistaken.section(pair)
    table = section.blocks[0]
    assert isinstance(table, Table)
    for k, each in enumerate(models):
        cells = each.confusion(0.5, min_score="best_f1").filter(pl.col("true_name") != pl.col("found_name"))
        shown = table.frame.filter(pl.col(f"n {k}") > 0).select("true", "found", f"n {k}", f"share_of_true {k}")
        assert sorted(shown.rows()) == sorted(cells.select("true_name", "found_name", "n", "share_of_true").rows())
    totals = table.frame.select(pl.col("n 0") + pl.col("n 1")).to_series().to_list()
    assert totals == sorted(totals, reverse=True)


def test_the_answer_in_words(pair: Compared, one: Compared) -> None:
    assert list(mistaken.section(pair).sentences) == [
        "model_a: 1,080 detections right, 10 found as another category, 383 where nothing is; 1,276 annotations missed.",
        "model_b: 1,079 detections right, 3 found as another category, 312 where nothing is; 1,284 annotations missed.",
        "The most frequent mistake is traffic sign found as traffic light: 3 times by model_a, 0 times by model_b.",
    ]
    assert mistaken.section(one).sentences[1].endswith("traffic sign found as traffic light: 3 times by model_a.")


def test_mistakes_that_occur_once() -> None:
    rows = pl.DataFrame({"true": ["a", "b"], "found": ["b", "a"], "n 0": [1, 0], "n 1": [0, 1]})
    two = of(*[apf.evaluate(ONE_OF_TWO, ONE_HIT)] * 2)
    assert mistaken._first(rows, two) == "Each of the 2 mistakes occurs once, such as a found as b."
    twice = mistaken._first(rows.with_columns(pl.col("n 0", "n 1") * 2), two)
    assert twice == "Among the most frequent mistakes is a found as b: 2 times by model_0, 0 times by model_1."
    assert mistaken._first(rows.head(1), two).startswith("The most frequent mistake is a found as b: 1 time by model_0")


def test_heat_maps_have_the_shares_of_confusion(pair: Compared, models: list[apf.Evaluation]) -> None:
    charts = [each for each in mistaken.section(pair).blocks if isinstance(each, Chart)]
    assert len(charts) == 2
    shown = re.findall(r"<title>pedestrian (?:found as )?([a-z ]+): (\d+), (\S+) % of the row", charts[1].svg)
    cells = models[1].confusion(0.5, min_score="best_f1").filter(true_name="pedestrian")
    wanted = cells.select(pl.col("found_name").fill_null("missed"), "n", "share_of_true").rows()
    assert [(name, int(n)) for name, n, _ in shown] == [(name, n) for name, n, _ in wanted]
    assert [text for *_, text in shown] == [f"{share:.0%}".strip("%") if share >= 0.005 else "&lt;1" for *_, share in wanted]


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    section = mistaken.section(of(tiny(name), tiny(name)))
    if name == "proposals":
        assert section.sentences == ("The categories are pooled, so none can be mistaken for another.",)
    else:
        assert section.sentences[0].startswith("model_0: ")


def test_nothing_detected_or_annotated_one_category_and_many() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoAnnotationsWarning)
        nothing = mistaken.section(of(apf.evaluate(ONE_OF_TWO, [])))
        assert nothing.sentences[-1] == "No category is found as another." and nothing.blocks == []
        section = mistaken.section(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)))
        assert section.sentences == ("No annotation counts, so there is nothing to mistake for another.",)
        assert section.blocks == ()
    alone = mistaken.section(of(apf.evaluate(ONE_OF_TWO, ONE_HIT, categories=[1])))
    assert alone.blocks == []
    many = ONE_OF_TWO | {"categories": [{"id": k, "name": f"c{k}"} for k in range(1, 1204)]}
    section = mistaken.section(of(apf.evaluate(many, ONE_HIT)))
    assert section.blocks == [] and section.notes[-1] == "Heat maps are drawn for up to 30 categories; there are 1,203."


def test_the_most_frequent_mistake_may_not_be_alone() -> None:
    """Two cats and two dogs: one of each is found, one of each is found as the other."""
    twice = [row | {"id": 10 * row["id"]} for row in ONE_OF_TWO["annotations"]]
    found = [
        {"image_id": image, "category_id": category, "bbox": [0, 0, 40, 40], "score": 0.8 + 0.1 * (image != category)}
        for image in (1, 2)
        for category in (1, 2)
    ]
    section = mistaken.section(of(apf.evaluate(ONE_OF_TWO | {"annotations": ONE_OF_TWO["annotations"] + twice}, found)))
    assert section.sentences[-1] == "Each of the 2 mistakes occurs once, such as cat found as dog."

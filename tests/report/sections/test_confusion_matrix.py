"""The section of the report: the confusion matrix."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NoAnnotationsWarning
from apframe.report.compared import Compared
from apframe.report.html_tables import table_markup
from apframe.report.operating_point import series
from apframe.report.section import Fragment, Section, Table
from apframe.report.sections import confusion_matrix
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_error_types import of


def made(compared: Compared) -> Section:
    section = confusion_matrix.section(compared)
    assert section is not None
    return section


@pytest.mark.slow
def test_counts_are_those_of_confusion(pair: Compared, models: list[apf.Evaluation]) -> None:
    """At the operating point of the page: the score with the best F1 over all categories."""
    section = made(pair)
    table = section.blocks[0]
    assert isinstance(table, Table) and section.scope == "at the operating point"
    for k, each in enumerate(models):
        best = each.operating_points("f1", 0.5, per_category=False)["score_threshold"].item()
        cells = each.confusion(0.5, min_score=best).filter(pl.col("true_name") != pl.col("found_name"))
        shown = table.frame.filter(pl.col(f"n {k}") > 0).select("true", "found", f"n {k}", f"share {k}")
        assert sorted(shown.rows()) == sorted(cells.select("true_name", "found_name", "n", "share_of_true").rows())
    totals = table.frame.select(pl.col("n 0") + pl.col("n 1")).to_series().to_list()
    assert totals == sorted(totals, reverse=True)


@pytest.mark.slow
def test_the_answer_in_words(pair: Compared, one: Compared) -> None:
    assert list(made(pair).sentences) == [
        "model_a: 1,052 detections right, 12 predicted as another category, 364 on background; 1,302 annotations missed.",
        "model_b: 1,061 detections right, 5 predicted as another category, 287 on background; 1,300 annotations missed.",
        "Among the most frequent confusions is van predicted as car: 2 times by model_a, 1 time by model_b.",
    ]
    assert made(one).sentences[1].endswith("traffic sign predicted as traffic light: 3 times by model_a.")


def test_confusions_that_occur_once() -> None:
    rows = pl.DataFrame({"true": ["a", "b"], "found": ["b", "a"], "n 0": [1, 0], "n 1": [0, 1]})
    two = ["old", "new"]
    assert confusion_matrix._first(rows, two) == "Each of the 2 confusions occurs once, such as a predicted as b."
    twice = confusion_matrix._first(rows.with_columns(pl.col("n 0", "n 1") * 2), two)
    assert twice == "Among the most frequent confusions is a predicted as b: 2 times by old, 0 times by new."
    assert confusion_matrix._first(rows.head(1), two).startswith(
        "The most frequent confusion is a predicted as b: 1 time by old"
    )


def test_counts_follow_the_slider_and_link_to_cards(pair: Compared) -> None:
    assert pair.point is not None
    table = made(pair).blocks[0]
    assert isinstance(table, Table)
    for k, name in enumerate(pair.names):
        links, following = table.links[f"n {k}"], table.series[f"n {k}"]
        for true, found, mark, at in zip(table.frame["true"], table.frame["found"], links, following, strict=True):
            assert mark is not None and mark.selection == {"model": name, "true": true, "found": found}
            counts = pair.matrix.counts[k][pair.matrix.rows.index(true), pair.matrix.columns.index(found)]
            assert at == series(f"{n:,}" for n in counts) and len(counts) == 1 + len(pair.point.even)


@pytest.mark.slow
def test_each_model_has_a_matrix_of_its_own(pair: Compared) -> None:
    drawn = made(pair).blocks[1]
    assert isinstance(drawn, Fragment)
    captions = re.findall(r"<caption>([^:]+): annotated as \(rows\), predicted as \(columns\)", drawn.markup)
    assert captions == ["model_a", "model_b"] and drawn.markup.count('class="matrix"') == 2
    unlinked = made(replace(pair, max_images=0)).blocks[1]
    assert isinstance(unlinked, Fragment) and "data-select" in drawn.markup and "data-select" not in unlinked.markup


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    compared = of(tiny(name), tiny(name))
    section = confusion_matrix.section(compared)
    if name == "proposals":
        assert section is not None
        assert section.sentences == ("The categories are pooled, so none can be mistaken for another.",)
    elif compared.categories.height < 2:
        assert section is None
    else:
        assert section is not None
        assert section.sentences[0].startswith("model_0: ")


@pytest.mark.slow
def test_nothing_detected_or_annotated_one_category_and_many() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoAnnotationsWarning)
        nothing = made(of(apf.evaluate(ONE_OF_TWO, [])))
        assert nothing.sentences[-1] == "No category is predicted as another."
        assert not any(isinstance(block, Table) for block in nothing.blocks)
        section = made(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)))
        assert section.sentences == ("No annotation counts, so no category can be confused with another.",)
        assert section.blocks == ()
    assert confusion_matrix.section(of(apf.evaluate(ONE_OF_TWO, ONE_HIT, categories=[1]))) is None
    many = ONE_OF_TWO | {"categories": [{"id": k, "name": f"c{k}"} for k in range(1, 1204)]}
    section = made(of(apf.evaluate(many, ONE_HIT)))
    (drawn,) = section.blocks
    assert isinstance(drawn, Fragment) and drawn.markup.count("<tr>") == 1 + 30 + 1 + 1  # the others, and background
    assert section.notes[-1] == ("The 30 categories with most confusions have rows and columns; the other 1,173 are together.")


@pytest.mark.slow
def test_rows_that_are_cut_are_said() -> None:
    """Of 45 confusions, the list shows 30."""
    box = {"bbox": [0, 0, 40, 40]}
    rows = [{"id": k, "image_id": k, "category_id": k % 10} | box for k in range(90)]
    truth = {
        "images": [{"id": k, "width": 90, "height": 90} for k in range(90)],
        "categories": [{"id": k, "name": f"c{k}"} for k in range(10)],
        "annotations": rows,
    }
    detections = [{"image_id": k, "category_id": (k + 1 + k // 10) % 10, "score": 0.9} | box for k in range(90)]
    detections.append({"image_id": 0, "category_id": 0, "score": 0.8, "bbox": [0, 0, 40, 39]})
    table = made(of(apf.evaluate(truth, detections))).blocks[0]
    assert isinstance(table, Table) and table.frame.height > 30
    assert f"The first 10 of {table.frame.height} rows are shown." in table_markup(table)


@pytest.mark.slow
def test_the_most_frequent_confusion_may_not_be_alone() -> None:
    """Two cats and two dogs: one of each is found, one of each is found as the other."""
    twice = [row | {"id": 10 * row["id"]} for row in ONE_OF_TWO["annotations"]]
    detections = [
        {"image_id": image, "category_id": category, "bbox": [0, 0, 40, 40], "score": 0.8 + 0.1 * (image != category)}
        for image in (1, 2)
        for category in (1, 2)
    ]
    truth = ONE_OF_TWO | {"annotations": ONE_OF_TWO["annotations"] + twice}
    section = made(of(apf.evaluate(truth, [row | {"score": 0.5} for row in detections])))
    assert section.sentences[-1] == "Each of the 2 confusions occurs once, such as cat predicted as dog."

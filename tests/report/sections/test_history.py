"""The sections of a history."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.report.checkpoints import of_evaluations
from apframe.report.compared import Compared
from apframe.report.section import Chart
from apframe.report.sections import history
from apframe.report.text import lines_about
from apframe.report.write import about, first_screen, sections_of
from tests.conformance.tiny import CATEGORIES, ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_error_types import tables


def history_of(models: list[apf.Evaluation]) -> Compared:
    """Every third detection of model_b at epoch 1, model_b at epoch 2, and model_a at epoch 4."""
    third = apf.evaluate(models[1].dataset, models[1].detections.gather_every(3))
    return of_evaluations({"epoch": [4, 1, 2]}, Compared([models[0], third, models[1]], ["a", "third", "b"]))


@pytest.fixture(scope="module")
def street(models: list[apf.Evaluation]) -> Compared:
    return history_of(models)


@pytest.mark.slow
def test_the_answer_in_words(street: Compared) -> None:
    assert history.answer(street) == (
        "AP is best at epoch 2, 0.277, and not significantly better than at the last one, epoch 4 "
        "(+0.008, 95 % CI −0.016 to +0.032, p = 0.500, corrected for 2 comparisons)."
    )
    section = history.section(street)
    assert section.heading == "How did it develop?"
    trend, categories, below = section.sentences
    assert trend == (
        "Against the last one, epoch 4: epoch 1 is worse; epoch 2 is not significantly different "
        "(at the 5 % level, corrected for 2 comparisons)."
    )
    assert categories.startswith("AP, from epoch 1 to 4: 1")
    assert below == "The sections below compare the best one, epoch 2, with the last one, epoch 4."
    screen = first_screen(street)
    assert [each.name for each in screen.figures] == ["epoch 4 (last)", "epoch 2 (best)", "epoch 1 (first)"]
    assert screen.figures[1].value == "0.277" and screen.chips_about.endswith(" in epoch 2 than in epoch 4.")


@pytest.mark.slow
def test_the_last_one_may_be_the_best(models: list[apf.Evaluation]) -> None:
    subject = of_evaluations({"release": ["v1", "v2"]}, Compared(models, ["a", "b"]))
    assert history.answer(subject) == (
        "AP is best at the last one, v2, 0.277, and not significantly better than at the first one, v1 "
        "(+0.008, 95 % CI −0.016 to +0.032, p = 0.500)."
    )
    same = of_evaluations({"release": ["v1", "v2"]}, Compared([models[0], models[0]], ["a", "b"]))
    assert history.answer(same) == "AP is best at the last one, v2, 0.268, and the same at the first one, v1."


@pytest.mark.slow
def test_the_table_has_the_last_one_first(street: Compared) -> None:
    tables_by_caption = tables(history.section(street))
    table = tables_by_caption["AP over epoch, the last one first"]
    assert table.select("at", "place", "called").rows() == [("4", "last", "a"), ("2", "best", "b"), ("1", "first", "third")]
    assert table["difference"].to_list()[0] is None
    assert table["estimate"].to_list() == pytest.approx([each["AP"] for each in street.history.evaluations[::-1]])  # type: ignore[union-attr]
    row = tables_by_caption["All headline numbers"].row(1, named=True)
    assert row["run"] == "epoch 2" and row["AP50"] == pytest.approx(street.evaluations[1]["AP50"])
    changes = tables_by_caption["AP by category from epoch 1 to 4"]
    differences = changes.drop_nulls("low")["difference"].abs()
    assert (
        changes.height == 12
        and differences.len() > 8
        and (changes["estimate_b"] - changes["estimate_a"]).is_close(changes["difference"]).all()
    )


def test_charts_of_numbers_and_categories(street: Compared) -> None:
    main, numbers, categories = (block.svg for block in history.section(street).blocks if isinstance(block, Chart))
    assert (main.count("<svg"), numbers.count("<svg"), categories.count("<svg")) == (1, 11, 8)
    assert "epoch 2: AP 0.277, 95 % interval" in main and main.count("mark b") == 1
    assert "AP50 over epoch: 0.1" in numbers and "car over epoch: 0." in categories


@pytest.mark.slow
def test_error_types_of_all_checkpoints(street: Compared) -> None:
    section = history.error_types(street)
    assert section.sentences[0].startswith("From epoch 1 to 4, missed annotations cost ")
    (caption,) = [name for name in tables(section) if name.startswith("AP at IoU 0.5 that each error type costs")]
    shown = tables(section)[caption]
    for name, each in zip(street.history.names, street.history.evaluations, strict=True):  # type: ignore[union-attr]
        expected = each.error_impact(0.5).filter(pl.col("name").is_null()).head(6)
        assert shown.filter(run=name).row(0)[1:] == tuple(expected["delta_ap"])


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_a_history(name: str) -> None:
    subject = of_evaluations({"epoch": [1, 2, 3]}, Compared([tiny(name)] * 3, list("abc"), n_resamples=100))
    sections = {each.key: each for each in sections_of(subject)}
    assert "comparison" not in sections and sections["history"].blocks and first_screen(subject).sentence


@pytest.mark.slow
def test_few_images_and_no_annotations() -> None:
    evaluations = [apf.evaluate(ONE_OF_TWO, each) for each in (ONE_HIT, [], ONE_HIT)]
    answer = history.answer(of_evaluations({"epoch": [1, 2, 3]}, Compared(evaluations, list("abc"))))
    assert answer == (
        "AP is best at the last one, epoch 3, 0.500, and cannot be tested against the first one, epoch 1 "
        "(+0.000): annotations in fewer than 10 images."
    )
    empty = ONE_OF_TWO | {"annotations": [], "categories": CATEGORIES}
    with pytest.warns(apf.exceptions.NoAnnotationsWarning):
        nothing = [apf.evaluate(empty, each) for each in (ONE_HIT, ONE_HIT)]
        subject = of_evaluations({"epoch": [1, 2]}, Compared(nothing, list("ab")))
    assert history.answer(subject) == "AP has no value at any epoch."
    assert sections_of(subject)[0].key == "history"


@pytest.mark.slow
def test_pages_and_terminals_of_search_runs(tmp_path: Path) -> None:
    qrels = {f"q{k}": {"good": 1, "bad": 0} for k in range(30)}
    runs = {
        name: {query: {"good": 0.9 if k % step else 0.1, "bad": 0.5} for k, query in enumerate(qrels)}
        for name, step in (("old", 2), ("mid", 5), ("new", 4))
    }
    ev = apf.evaluate_run(qrels, runs, "AP P@1")
    lines = lines_about(about([ev], over={"week": [1, 2, 3]}))
    assert lines[0].startswith("AP is best at week 2, 0.900, and not significantly better than at the last one, week 3 (+0.033")
    assert "Against the last one, week 3: week 1 is worse; week 2 is not significantly different" in "\n".join(lines)
    text = apf.write_report(tmp_path / "r.html", ev, over={"week": [1, 2, 3]}).read_text()
    assert "<h1>week 1 to 3</h1>" in text and text.count('class="lines history"') == 2
    assert re.findall(r"P@1 over week: [^\"]*", text) == ["P@1 over week: 0.500 at 1, 0.733 at 3"]


@pytest.mark.slow
def test_names_are_text(models: list[apf.Evaluation], tmp_path: Path) -> None:
    over = {"<b>": ["<img onerror=alert(1)>", "x"]}
    text = apf.write_report(tmp_path / "r.html", *models, over=over, max_images=0, tables=True).read_text()
    assert "<img onerror" not in text and "<b>" not in text
    assert "history_ap_over_b_the_last_one_first.parquet" in [each.name for each in (tmp_path / "r_tables").iterdir()]
    assert replace(history_of(models), history=None).names == ["epoch 4", "epoch 2"]

"""The section of the report: the score threshold."""

from __future__ import annotations

import re
import warnings

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.charts.line_chart import scales
from apframe.report.compared import Compared
from apframe.report.html_tables import table_markup
from apframe.report.operating_point import series
from apframe.report.page import page
from apframe.report.section import Chart, Details, Table
from apframe.report.sections import score_threshold
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_error_types import of

RATES = ["precision", "recall", "f1"]
COUNTS = ["tp", "fp", "fn", *RATES]


def opened(compared: Compared, summary: str) -> Table:
    """The table that a click on the summary shows."""
    blocks = score_threshold.section(compared).blocks
    (details,) = (each for each in blocks if isinstance(each, Details) and each.summary == summary)
    assert isinstance(details.blocks[0], Table)
    return details.blocks[0]


def by_category(compared: Compared) -> Table:
    """The table of the categories."""
    return opened(compared, "By category")


def at_some_scores(compared: Compared) -> pl.DataFrame:
    return opened(compared, "At some scores").frame


@pytest.mark.slow
def test_counts_are_those_of_operating_points(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = score_threshold.section(pair)
    table = at_some_scores(pair)
    for name, each, sentence in zip(pair.names, models, section.sentences, strict=True):
        shown = table.filter(model=name)
        for score in (0.1, 0.3, 0.5, 0.7, 0.9):
            expected = each.operating_points(f"score>={score}", 0.5, per_category=False)
            assert shown.filter(score=score).select(COUNTS).rows() == expected.select(COUNTS).rows()
        best = each.operating_points("f1", 0.5, per_category=False)
        marked = shown.filter(best="best F1")
        assert marked.select("score", *COUNTS).rows() == best.select("score_threshold", *COUNTS).rows()
        assert sentence.startswith(
            f"{name}: the best F1, {best['f1'][0]:.3f}, is at a score of {best['score_threshold'][0]:.3f}"
        )


@pytest.mark.slow
def test_the_operating_point_follows_the_slider(pair: Compared, models: list[apf.Evaluation]) -> None:
    """Its table has the counts at the best F1 of each model, and all others as series."""
    assert pair.point is not None
    table = score_threshold.section(pair).blocks[0]
    assert isinstance(table, Table)
    for k, (name, each) in enumerate(zip(pair.names, models, strict=True)):
        best = each.operating_points("f1", 0.5, per_category=False)
        assert table.frame.filter(model=name).select("score", *COUNTS).rows() == best.select("score_threshold", *COUNTS).rows()
        for count in ("tp", "fp", "fn"):
            assert table.series[count][k] == series(f"{n:,}" for n in pair.point.counts[k][count])
            mark = table.links[count][k]
            assert mark is not None and mark.selection == {"model": name, "outcome": count}


@pytest.mark.slow
def test_links_of_scores_have_as_many_rows_as_they_say(pair: Compared) -> None:
    rows = pair.rows.table().explode("model")
    table = opened(pair, "At some scores")
    for count in ("tp", "fp", "fn"):
        for model, score, n, mark in zip(*table.frame.select("model", "score", count), table.links[count], strict=True):
            is_kept = (pl.col("score") >= score).fill_null(False)
            is_in = (pl.col("outcome") == count) & is_kept
            if count == "fn":
                is_in = (pl.col("outcome") == "fn") | ((pl.col("outcome") == "tp") & ~is_kept)
            assert rows.filter(is_in, model=model).height == n
            assert (mark is None) == (n == 0)
            assert mark is None or (mark.n, mark.selection["at"]) == (n, str(score))


def test_points_of_curves_link_to_their_detections(pair: Compared) -> None:
    assert pair.point is not None
    rows = pair.rows.table().explode("model").drop_nulls("detection_id")
    for k, name in enumerate(pair.names):
        spots = score_threshold._spots(k, pair, pair.point)
        assert len(spots) == 10
        for _, mark in spots:
            if mark is not None:
                begin, end = (float(mark.selection[key]) for key in ("from", "to"))
                is_in = pl.col("score").is_between(begin, end, closed="left")
                assert mark.n == rows.filter(is_in, model=name).height > 0


@pytest.mark.slow
def test_every_category_has_its_best_score(pair: Compared, one: Compared, models: list[apf.Evaluation]) -> None:
    table = by_category(pair).frame
    assert table["objects"].is_sorted(descending=True)
    for number, each in enumerate(models):
        best = each.operating_points("f1", 0.5)
        expected = table.select(name="category").join(best, on="name", maintain_order="left")
        assert table[f"score_threshold {number}"].equals(expected["score_threshold"])
        assert table[f"f1 {number}"].equals(expected["f1"])
        assert table["objects"].equals(expected["tp"] + expected["fn"])
    alone = by_category(one).frame
    assert alone.columns[2:] == ["score_threshold 0", "precision 0", "recall 0", "f1 0"]


@pytest.mark.slow
def test_curves_have_at_most_101_points(pair: Compared) -> None:
    chart = next(block for block in score_threshold.section(pair).blocks if isinstance(block, Chart))
    paths = re.findall(r'<path class="curve [^>]*>', chart.svg)
    assert len(paths) == 8
    assert all(path.count("V") <= 100 for path in paths)
    assert len(chart.svg) < 60_000


@pytest.mark.slow
def test_curves_begin_at_the_lowest_score(one: Compared, models: list[apf.Evaluation]) -> None:
    chart = next(block for block in score_threshold.section(one).blocks if isinstance(block, Chart))
    _, down = scales((0.0, 1.0))
    recall = re.findall(r'<path class="curve a" d="M\d+ (\d+)', chart.svg)[1]
    lowest = models[0].thresholds(0.5, per_category=False)["recall"][-1]
    assert recall == str(down(lowest))


@pytest.mark.slow
def test_the_section_of_many_categories_is_small() -> None:
    section = score_threshold.section(many(n_categories=80, n_models=2))
    assert 20_000 < len(page("a", [section])) - len(page("a", [])) < 300_000


@pytest.mark.slow
def test_the_rarest_of_very_many_categories_are_cut() -> None:
    table = by_category(many(n_categories=203, n_models=1))
    assert table.frame.height == 203
    assert {len(cells) for cells in table.drawn.values()} == {200}
    assert "The first 200 of 203 rows are shown." in table_markup(table)


@pytest.mark.slow
def test_more_models_than_can_be_drawn(models: list[apf.Evaluation]) -> None:
    section = score_threshold.section(Compared([models[0]] * 8, [f"m{k}" for k in range(8)]))
    assert len(section.sentences) == 8
    assert "Charts show the first 6 of 8 models." in section.notes


@pytest.mark.slow
def test_scores_beyond_1() -> None:
    logits = [row | {"score": score} for row, score in zip(ONE_HIT, (7.5, -2.5), strict=True)]
    compared = of(apf.evaluate(ONE_OF_TWO, logits))
    section, table = score_threshold.section(compared), at_some_scores(compared)
    assert table["score"].to_list() == [-1.5, 0.5, 2.5, 4.5, 6.5, 7.5]
    assert table["tp"].to_list() == [1] * 6
    assert section.sentences[0].startswith("model_0: the best F1, 0.667, is at a score of 7.5")


@pytest.mark.slow
def test_above_all_scores_nothing_is_detected() -> None:
    evaluation = apf.evaluate(ONE_OF_TWO, [row | {"score": 0.25} for row in ONE_HIT])
    table = at_some_scores(of(evaluation))
    expected = evaluation.operating_points("score>=0.5", per_category=False)
    assert table.filter(score=0.5).select(COUNTS).rows() == expected.select(COUNTS).rows() == [(0, 0, 2, None, 0.0, 0.0)]


def many(n_categories: int, n_models: int) -> Compared:
    """Models with 100 detections of each category, half of which are right."""
    n = 100 * n_categories
    rows = {"image_id": [k % 100 for k in range(n)], "category_id": [k // 100 for k in range(n)]}
    box = {"y": [0] * n, "width": [9] * n, "height": [9] * n}
    categories = {"category_id": range(n_categories), "name": [f"category {k}" for k in range(n_categories)]}
    truth = apf.Dataset({"image_id": range(100)}, categories, {**rows, "x": [0] * n, **box})
    scores = [[(k * step) % 101 / 101 for k in range(n)] for step in (37, 53)]
    detections = [{**rows, **box, "x": [20 * (k % 3 % 2) for k in range(n)], "score": score} for score in scores[:n_models]]
    return of(*(apf.evaluate(truth, each) for each in detections))


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        assert score_threshold.section(of(tiny(name), tiny(name))).blocks


def test_nothing_to_choose_from() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        nothing = score_threshold.section(of(apf.evaluate(ONE_OF_TWO, [])))
        no_truth = score_threshold.section(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)))
    assert nothing.sentences == ("There are no detections to choose from.",)
    assert no_truth.sentences == ("No annotation counts, so no score is best.",) and no_truth.blocks == ()

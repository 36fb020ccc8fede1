"""The section of the report: thresholds."""

from __future__ import annotations

import warnings

import pytest

import apframe as apf
from apframe.exceptions import ApframeWarning
from apframe.report.charts.lines import scales
from apframe.report.compared import Compared
from apframe.report.page import page
from apframe.report.section import Chart, Details, Table
from apframe.report.sections import thresholds
from apframe.report.tables import table_markup
from tests.conformance.tiny import ONE_HIT, ONE_OF_TWO
from tests.protocols.test_protocol_values import RANKED, tiny
from tests.report.sections.test_kinds import of

RATES = ["precision", "recall", "f1"]
COUNTS = ["tp", "fp", "fn", *RATES]


def by_category(compared: Compared) -> Table:
    """The table of the categories."""
    details = next(block for block in thresholds.section(compared).blocks if isinstance(block, Details))
    assert isinstance(details.blocks[0], Table)
    return details.blocks[0]


def test_counts_are_those_of_operating_points(pair: Compared, models: list[apf.Evaluation]) -> None:
    section = thresholds.section(pair)
    table = next(block.frame for block in section.blocks if isinstance(block, Table))
    for name, each, sentence in zip(pair.names, models, section.sentences, strict=True):
        shown = table.filter(model=name)
        for score in (0.1, 0.3, 0.5, 0.7, 0.9):
            wanted = each.operating_points(f"score>={score}", 0.5, per_category=False)
            assert shown.filter(score=score).select(COUNTS).rows() == wanted.select(COUNTS).rows()
        best = each.operating_points("f1", 0.5, per_category=False)
        marked = shown.filter(best="largest F1")
        assert marked.select("score", *COUNTS).rows() == best.select("score_threshold", *COUNTS).rows()
        assert sentence.startswith(f"{name}: F1 is largest, {best['f1'][0]:.3f}, at a score of")


def test_every_category_has_its_best_score(pair: Compared, one: Compared, models: list[apf.Evaluation]) -> None:
    table = by_category(pair).frame
    assert table["objects"].is_sorted(descending=True)
    for number, each in enumerate(models):
        best = each.operating_points("f1", 0.5)
        wanted = table.select(name="category").join(best, on="name", maintain_order="left")
        assert table[f"score_threshold {number}"].equals(wanted["score_threshold"])
        assert table[f"f1 {number}"].equals(wanted["f1"])
        assert table["objects"].equals(wanted["tp"] + wanted["fn"])
    alone = by_category(one).frame
    assert alone.columns[2:] == ["score_threshold 0", "precision 0", "recall 0", "f1 0"]


def test_curves_have_at_most_101_points(pair: Compared) -> None:
    chart = next(block for block in thresholds.section(pair).blocks if isinstance(block, Chart))
    paths = chart.svg.split('class="curve')[1:]
    assert len(paths) == 8
    assert all(path.partition('"/')[0].split("</path>")[0].count("L") <= 100 for path in paths)
    assert len(chart.svg) < 20_000


def test_curves_end_at_the_lowest_score(one: Compared, models: list[apf.Evaluation]) -> None:
    chart = next(block for block in thresholds.section(one).blocks if isinstance(block, Chart))
    _, down = scales((0.0, 1.0))
    recall = chart.svg.split('class="curve a" d="M')[2].split('"')[0]
    lowest = models[0].thresholds(0.5, per_category=False)["recall"][-1]
    assert recall.split("L")[-1].split(" ")[1] == str(down(lowest))


def test_the_section_of_many_categories_is_small() -> None:
    section = thresholds.section(many(n_categories=80, n_models=2))
    assert 20_000 < len(page("a", [section])) - len(page("a", [])) < 300_000


@pytest.mark.slow
def test_the_rarest_of_very_many_categories_are_cut() -> None:
    table = by_category(many(n_categories=1_203, n_models=1))
    assert table.frame.height == 1_203
    assert {len(cells) for cells in table.drawn.values()} == {200}
    assert "The first 200 of 1,203 rows are shown." in table_markup(table)


def test_more_models_than_can_be_drawn(models: list[apf.Evaluation]) -> None:
    section = thresholds.section(Compared([models[0]] * 8, [f"m{k}" for k in range(8)]))
    assert len(section.sentences) == 8
    assert "Charts show the first 6 of 8 models." in section.notes


def test_scores_beyond_1() -> None:
    logits = [row | {"score": score} for row, score in zip(ONE_HIT, (7.5, -2.5), strict=True)]
    section = thresholds.section(of(apf.evaluate(ONE_OF_TWO, logits)))
    table = next(block.frame for block in section.blocks if isinstance(block, Table))
    assert table["score"].to_list() == [-1.5, 0.5, 2.5, 4.5, 6.5, 7.5]
    assert table["tp"].to_list() == [1] * 6
    assert section.sentences[0].startswith("model_0: F1 is largest, 0.667, at a score of 7.5")


def test_above_all_scores_nothing_is_detected() -> None:
    evaluation = apf.evaluate(ONE_OF_TWO, [row | {"score": 0.25} for row in ONE_HIT])
    table = next(block.frame for block in thresholds.section(of(evaluation)).blocks if isinstance(block, Table))
    wanted = evaluation.operating_points("score>=0.5", per_category=False)
    assert table.filter(score=0.5).select(COUNTS).rows() == wanted.select(COUNTS).rows() == [(0, 0, 2, None, 0.0, 0.0)]


def many(n_categories: int, n_models: int) -> Compared:
    """Models with 100 detections of each category, half of which are right."""
    n = 100 * n_categories
    rows = {"image_id": [k % 100 for k in range(n)], "category_id": [k // 100 for k in range(n)]}
    box = {"y": [0] * n, "width": [9] * n, "height": [9] * n}
    categories = {"category_id": range(n_categories), "name": [f"category {k}" for k in range(n_categories)]}
    truth = apf.Dataset({"image_id": range(100)}, categories, {**rows, "x": [0] * n, **box})
    scores = [[(k * step) % 101 / 101 for k in range(n)] for step in (37, 53)]
    found = [{**rows, **box, "x": [20 * (k % 3 % 2) for k in range(n)], "score": score} for score in scores[:n_models]]
    return of(*(apf.evaluate(truth, each) for each in found))


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKED)
def test_every_protocol_has_the_section(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        assert thresholds.section(of(tiny(name), tiny(name))).blocks


def test_nothing_to_choose_from() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApframeWarning)
        nothing = thresholds.section(of(apf.evaluate(ONE_OF_TWO, [])))
        no_truth = thresholds.section(of(apf.evaluate(ONE_OF_TWO | {"annotations": []}, ONE_HIT)))
    assert nothing.sentences == ("There are no detections to choose from.",)
    assert no_truth.sentences == ("No annotation counts, so no score is best.",) and no_truth.blocks == ()

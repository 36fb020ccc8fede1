"""The section of the report: categories, slices and sizes."""

from __future__ import annotations

import polars as pl
import pytest

import apframe as apf
from apframe.report.compared import Compared
from apframe.report.html_tables import table_markup
from apframe.report.section import Table
from apframe.report.sections import by_slice, leaderboard
from tests.protocols.test_protocol_values import tiny
from tests.report.conftest import STREET
from tests.report.read_back import read_tables


@pytest.mark.slow
def test_tables_by_category_slice_and_size(pair: Compared) -> None:
    blocks = [each for each in by_slice.section(pair).blocks if isinstance(each, Table)]
    assert by_slice.section(pair).sentences[1] == (
        "AP by weather: the 95 % interval includes 0 in all 2 slices. 2 slices without an interval: "
        "more than a tenth of the categories have annotations in fewer than 10 images."
    )
    assert [each.caption for each in blocks] == ["AP by category", "AP by weather", "By the size of objects"]
    differences = blocks[0].frame["difference"][1:].abs().to_list()
    assert differences == sorted(differences, reverse=True)
    assert blocks[2].frame["metric"].to_list() == ["AP", "APs", "APm", "APl"]


@pytest.mark.slow
def test_all_together_come_first(pair: Compared, one: Compared) -> None:
    for compared, value in ((pair, "difference"), (one, "value")):
        expected = compared.overall.filter(metric="AP")[value if value in compared.overall.columns else "estimate"].item()
        blocks = [each for each in by_slice.section(compared).blocks if isinstance(each, Table)]
        assert [(each.n_means, each.frame[value][0]) for each in blocks] == [(1, expected)] * len(blocks)
        assert [each.frame[each.frame.columns[0]][0] for each in blocks] == ["all"] * (len(blocks) - 1) + ["AP"]


@pytest.mark.slow
def test_rows_link_to_their_errors(pair: Compared) -> None:
    by_category, by_weather, by_size = (each for each in by_slice.section(pair).blocks if isinstance(each, Table))
    errors = pair.rows.table().filter(pl.col("error").is_not_null())
    for table, column, mark_of in ((by_category, "name", "category"), (by_weather, "key 0", "weather")):
        marks = table.links[column]
        assert marks[0] is None and len(marks) == table.frame.height
        for value, mark in zip(table.frame[column][1:], marks[1:], strict=True):
            is_in = pl.col("name") == value if column == "name" else pl.col("weather").list.contains(value)
            assert mark is not None and (mark.selection, mark.n) == ({mark_of: value}, errors.filter(is_in).height)
    assert [mark and mark.selection["area"] for mark in by_size.links["metric"]] == [None, "small", "medium", "large"]


@pytest.mark.slow
def test_columns_to_slice_by_are_named_if_none_was_asked_for(one: Compared) -> None:
    assert "weather, time_of_day, camera, city" in by_slice.section(one).notes[0]


@pytest.mark.slow
def test_categories_without_intervals_come_last(one: Compared, pair: Compared) -> None:
    for compared in (one, pair):
        rows = compared.by_category.filter(metric="AP")
        cut = rows.with_columns(low=pl.when(pl.col("name") != "worker").then("low"))
        assert by_slice._sorted(cut, compared)["name"][-1] == "worker"


@pytest.mark.slow
def test_keys_may_be_called_what_other_columns_are(models: list[apf.Evaluation]) -> None:
    for name in ("interval", "value"):
        street = models[0].dataset
        images = street.images.with_columns(pl.col("weather").alias(name))
        data = apf.Dataset(images, street.categories, street.annotations)
        for n in (1, 2):
            evaluations = [apf.evaluate(data, each.detections) for each in models[:n]]
            section = by_slice.section(Compared(evaluations, ["a", "b"][:n], by=[name]))
            (table,) = (each for each in section.blocks if isinstance(each, Table) and each.caption == f"AP by {name}")
            head, *rows = next(iter(read_tables(table_markup(table)).values()))
            assert head[0] == name and [row[0] for row in rows] == ["all", "clear", "fog", "rain", "snow"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
def test_one_category_with_a_value() -> None:
    sentences = by_slice.section(Compared([tiny("kitti")], ["a"])).sentences
    assert sentences == ["Only Car has a value of AP_moderate, 0.475."]


@pytest.mark.slow
def test_the_range_over_categories(one: Compared) -> None:
    """Categories without an interval come last in the table, and are not called the lowest."""
    rows = one.by_category.filter(metric="AP").sort("estimate")
    lowest = rows["name"].to_list()
    assert f"({lowest[0]})" in by_slice._worst(rows, "AP")[0]
    cut = rows.with_columns(low=pl.when(pl.col("name") != lowest[0]).then("low"))
    assert f"({lowest[1]})" in by_slice._worst(cut, "AP")[0]
    assert by_slice._worst(rows.with_columns(estimate=0.0), "AP") == ["AP is 0.000 in all 12 categories."]


@pytest.mark.slow
def test_the_mean_of_iou_is_not_what_a_category_has() -> None:
    segments = STREET.parent / "segments" / "semantic"
    evaluation = apf.evaluate(segments / "truth", segments / "model_a", protocol="semantic")
    for n, make in ((1, by_slice.section), (2, by_slice.section), (3, leaderboard.where)):
        section = make(Compared([evaluation] * n, ["a", "b", "c"][:n], n_resamples=200))
        assert section.blocks[0].caption == "IoU by category" and section.sentences[0].startswith("IoU")  # type: ignore[union-attr]


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore::apframe.exceptions.ResampledWarning")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_levels_of_difficulty_are_no_sizes(n: int) -> None:
    compared = Compared([tiny("kitti")] * n, ["a", "b", "c"][:n], n_resamples=50)
    section = (leaderboard.where if n > 2 else by_slice.section)(compared)
    captions = [each.caption for each in section.blocks if isinstance(each, Table)]
    assert captions[-1] == "By level of difficulty"
    assert not any("size" in text for text in [*captions, *section.notes])


@pytest.mark.slow
def test_tests_are_called_what_they_are(pair: Compared, models: list[apf.Evaluation]) -> None:
    """Over one row, q is p: it is shown only where there are several rows to correct for."""
    by_category, by_weather, by_size = (each.frame for each in by_slice.section(pair).blocks if isinstance(each, Table))
    p = dict(pair.overall.select("metric", "p").iter_rows())
    assert by_size["p"].to_list() == [p[metric] for metric in by_size["metric"]] and "q" not in by_size.columns
    expected = by_slice._sorted(pair.by_category.filter(metric="AP"), pair)["q"]
    assert by_category.height > 2 and by_category["q"][1:].equals(expected)
    p_of_slices = models[0].compare(models[1], by="weather", metrics="AP")["p"]
    q = by_weather["q"][1:]
    assert (q >= p_of_slices).all() and not q.equals(p_of_slices.alias("q"))


def test_what_says_nothing_about_images_is_no_slice() -> None:
    image = {"id": 1, "license": 3, "coco_url": "x", "flickr_url": "y", "date_captured": "2013", "weather": "fog"}
    truth = {
        "images": [image],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}],
    }
    hint = by_slice.hint(Compared([apf.evaluate(truth, [])], ["a"]))
    assert hint == "No slices were requested. The images have 1 column to slice by: weather."


def test_categories_that_come_last_are_explained(one: Compared) -> None:
    rows = one.by_category.filter(metric="AP")
    assert by_slice.last_ones(rows) == []
    cut = rows.with_columns(low=pl.when(pl.col("name") != "worker").then("low"))
    assert by_slice.last_ones(cut) == ["Categories without an interval come last in the table, whatever their numbers."]

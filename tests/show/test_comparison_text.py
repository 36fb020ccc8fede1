"""What a comparison says in words, and which of its columns people get."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from apframe.show.comparison_text import compact_comparison, comparison_sentences, p_texts, ranks_table

NO_INTERVAL = dict.fromkeys(["low", "high", "p", "q"])
NUMBERS = ["estimate_a", "estimate_b", "difference", "low", "high", "p", "p_holm", "q", "detectable"]
TEXTS: dict[str, Any] = {"n_resamples": pl.Int64, "reason": pl.String}


def row(**columns: Any) -> dict[str, Any]:
    return {
        "metric": "AP", "run_a": "old", "run_b": "new", "estimate_a": 0.25, "estimate_b": 0.5, "difference": 0.25,
        "low": 0.125, "high": 0.375, "p": 0.002, "p_holm": 0.004, "q": 0.03, "detectable": 0.2, "n_units": 300,
        "n_resamples": None, "method": "influence", "reason": None,
    } | columns  # fmt: skip


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(NUMBERS, pl.Float64) | TEXTS)


@pytest.mark.parametrize(("columns", "sentence"), [
    ({}, "new is better by 0.250 AP (95 % CI 0.125 to 0.375, p = 0.002)."),
    ({"difference": -0.02, "low": -0.04, "high": -0.01, "p": 1e-9},
     "new is worse by 0.020 AP (95 % CI 0.010 to 0.040, p < 0.001)."),
    ({"difference": 0.0004, "low": 0.0003, "high": 0.0005},
     "new is better by less than 0.001 AP (95 % CI 0.000 to 0.001, p = 0.002)."),
    ({"difference": 0.008, "low": -0.015, "high": 0.032, "p": 0.49, "detectable": 0.033},
     "No significant difference in AP: +0.008 for new (95 % CI −0.015 to +0.032).|"
     "With 300 images, differences below about 0.033 cannot be told from chance."),
    ({"difference": -0.02, "low": -0.04, "high": 0.01},
     "No significant difference in AP: −0.020 for new (95 % CI −0.040 to +0.010).|"
     "With 300 images, differences below about 0.200 cannot be told from chance."),
    ({"difference": 0.0, "low": 0.0, "high": 0.0}, "new and old have the same AP, also with other images of the same kind."),
    ({"difference": 0.0, "low": -0.01, "high": 0.01, "detectable": None},
     "No significant difference in AP: 0.000 for new (95 % CI −0.010 to +0.010)."),
    ({"difference": -0.0004, "low": -0.04, "high": 0.01, "detectable": None},
     "No significant difference in AP: less than 0.001 for new (95 % CI −0.040 to +0.010)."),
    ({"low": -0.01, "high": -0.01, "p": 1.0, "detectable": None},  # one resample, on the other side of 0
     "No significant difference in AP: +0.250 for new (95 % CI −0.010 to −0.010)."),
    ({"low": None, "high": None, "p": None, "detectable": None, "reason": "annotations in fewer than 10 units"},
     "No interval for the difference in AP, +0.250 for new: annotations in fewer than 10 images."),
    ({"low": None, "high": None, "p": None, "detectable": None},
     "No interval for the difference in AP, +0.250 for new: too few images have a value."),
    ({"difference": None, "low": None, "high": None}, "AP of old and new cannot be compared: it has no value."),
    ({"metric": "ATE", "difference": -0.25, "low": -0.5, "high": -0.125},
     "new is better by 0.250 ATE (95 % CI 0.125 to 0.500, p = 0.002)."),
])  # fmt: skip
def test_sentences_of_a_pair(columns: dict[str, Any], sentence: str) -> None:
    assert comparison_sentences(table(row(**columns), row(metric="AP50"))) == sentence.split("|")


def test_what_was_counted_as_one_is_named() -> None:
    rows = table(row(low=-0.1, n_units=12))
    assert comparison_sentences(rows, unit="video_id")[1].startswith("With 12 videos, differences below about 0.200")
    lacking = table(row(low=None, high=None, p=None, reason="no unit changes it"))
    assert comparison_sentences(lacking, unit="city")[0].endswith(": no city changes it.")


def test_the_lowest_p_of_resamples_is_a_bound() -> None:
    """With 999 resamples, p is at least 2 / 1000. Corrected values stand on it."""
    drawn = {"method": "bootstrap", "n_resamples": 999, "p": 0.002, "p_holm": 0.004}
    rows = table(row(**drawn), row(**drawn | {"metric": "AP50", "p": 0.004}), row(**drawn | {"method": "influence"}))
    assert p_texts(rows, "p").to_list() == ["≤ 0.002", "0.004", "0.002"]
    assert p_texts(rows, "p_holm").to_list() == ["≤ 0.004", "0.004", "0.004"]
    assert comparison_sentences(rows.head(2)) == ["new is better by 0.250 AP (95 % CI 0.125 to 0.375, p ≤ 0.002)."]


def test_the_sentence_may_be_about_another_metric() -> None:
    (sentence,) = comparison_sentences(table(row(), row(metric="NDS", difference=-0.25, low=-0.5, high=-0.1)), metric="NDS")
    assert sentence.startswith("new is worse by 0.250 NDS")


def test_sentences_of_several_models() -> None:
    rows = table(row(), row(run_b="third", difference=-0.1, low=-0.2, high=-0.01, p=0.04, p_holm=0.06))
    assert comparison_sentences(rows) == [
        "new is better than old by 0.250 AP (95 % CI 0.125 to 0.375, p = 0.004, corrected for 2 comparisons).",
        "No significant difference in AP: −0.100 for third (95 % CI −0.200 to −0.010, p = 0.060, corrected for 2 comparisons).",
        "With 300 images, differences below about 0.200 cannot be told from chance.",
    ]
    assert compact_comparison(rows).columns == ["metric", "run", "value", "difference", "low", "high", "p_holm"]


def test_ranks() -> None:
    numbers = {"low": 0.1, "high": 0.3, "share_best": 0.5}
    board = pl.DataFrame(
        [
            {"run": "a", "estimate": 0.2, "rank_low": 2, "rank_high": 2, **numbers},
            {"run": "b", "estimate": None, "rank_low": None, "rank_high": None, **numbers},
            {"run": "c", "estimate": 0.25, "rank_low": 1, "rank_high": 3, **numbers},
        ]
    )
    table = ranks_table(board, "AP")
    assert table.columns == ["run", "AP", "low", "high", "share_best", "ranks"]
    assert table.select("run", "AP", "ranks").rows() == [("c", 0.25, "1 to 3"), ("a", 0.2, "2"), ("b", None, None)]


@pytest.mark.parametrize(("rows", "sentence"), [
    ([{}, {"low": -0.1, "q": 0.4}],
     "AP: 1 of 2 categories (c0) differs by the 95 % interval; after correcting for 2 comparisons, 1 does (q < 0.05)."),
    ([{"q": 0.1}, {"low": -0.2, "high": -0.1, "q": 0.1}, NO_INTERVAL],
     "AP: 2 of 2 categories (c0, c1) differ by the 95 % interval; after correcting for 2 comparisons, none does (q < 0.05). "
     "1 category without an interval: too few images have a value."),
    ([{}, {}, {"low": -0.1, "q": 0.4}],
     "AP: 2 of 3 categories (c0, c1) differ by the 95 % interval; after correcting for 3 comparisons, 2 do (q < 0.05)."),
    ([{"low": -0.1, "q": 0.4}], "AP: the 95 % interval of the category includes 0."),
    ([{"low": -0.1, "q": 0.4}] * 2, "AP: the 95 % interval includes 0 in all 2 categories."),
    ([{}], "AP: 1 of 1 category differs by the 95 % interval; after correcting for 1 comparison, 1 does (q < 0.05)."),
    ([NO_INTERVAL] * 2, "AP: 2 categories without an interval: too few images have a value."),
    ([NO_INTERVAL, NO_INTERVAL | {"difference": None}, NO_INTERVAL | {"difference": None}],
     "AP: 1 category without an interval: too few images have a value. 2 categories without AP."),
    ([{"low": -0.1, "q": 0.4}, NO_INTERVAL | {"reason": "no unit changes it"}],
     "AP: the 95 % interval of the category includes 0. 1 category without an interval: no image changes it."),
])  # fmt: skip
def test_sentences_of_categories(rows: list[dict[str, Any]], sentence: str) -> None:
    named = [row(**columns) | {"name": f"c{number}"} for number, columns in enumerate(rows)]
    assert comparison_sentences(table(*named), ["name"]) == [sentence]


def test_sentences_of_slices() -> None:
    rows = [row(run_b=run) | {"weather": value} for run in ("new", "third") for value in ("fog", "rain")]
    assert [text.split(" differ")[0] for text in comparison_sentences(table(*rows), ["weather"])] == [
        "AP of new: 2 of 2 slices (fog, rain)", "AP of third: 2 of 2 slices (fog, rain)",
    ]  # fmt: skip
    assert comparison_sentences(table()) == []


def test_columns() -> None:
    assert compact_comparison(table(row())).columns == ["metric", "old", "new", "difference", "low", "high", "p"]
    long = table(row(run_b="a name that is longer"))
    assert compact_comparison(long).columns == ["metric", "a", "b", "difference", "low", "high", "p"]
    assert compact_comparison(table(row(run_b="low"))).columns[1:3] == ["a", "b"]
    named = pl.DataFrame([row() | {"name": "cat"}])
    assert compact_comparison(named, ["name"]).columns == [
        "name",
        "metric",
        "old",
        "new",
        "difference",
        "low",
        "high",
        "p",
        "q",
    ]

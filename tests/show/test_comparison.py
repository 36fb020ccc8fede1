"""What a comparison says in words, and which of its columns people get."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from apframe.show.comparison import compact_comparison, comparison_sentences, difference_sentence, ranks_table

NO_INTERVAL = dict.fromkeys(["low", "high", "p", "q"])
NUMBERS = ["estimate_a", "estimate_b", "difference", "low", "high", "p", "p_holm", "q", "detectable"]


def row(**columns: Any) -> dict[str, Any]:
    return {
        "metric": "AP", "run_a": "old", "run_b": "new", "estimate_a": 0.25, "estimate_b": 0.5, "difference": 0.25,
        "low": 0.125, "high": 0.375, "p": 0.002, "p_holm": 0.004, "q": 0.03, "detectable": 0.2,
    } | columns  # fmt: skip


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(NUMBERS, pl.Float64))


@pytest.mark.parametrize(("columns", "sentence"), [
    ({}, "new is better than old by 0.250 AP: the 95 % interval 0.125 to 0.375 excludes 0 (p = 0.002)."),
    ({"difference": -0.02, "low": -0.04, "high": -0.01},
     "new is worse than old by 0.020 AP: the 95 % interval -0.040 to -0.010 excludes 0 (p = 0.002)."),
    ({"difference": -0.02, "low": -0.04, "high": 0.01},
     "new is worse than old by 0.020 AP, but the 95 % interval -0.040 to 0.010 includes 0.|"
     "This set can detect a difference of 0.200."),
    ({"difference": 0.0, "low": 0.0, "high": 0.0}, "new and old have the same AP in every resample."),
    ({"difference": 0.0, "low": -0.01, "high": 0.01},
     "new and old have the same AP; the 95 % interval of the difference is -0.010 to 0.010.|"
     "This set can detect a difference of 0.200."),
    ({"low": -0.01, "high": -0.01, "p": 1.0, "detectable": None},  # one resample
     "new is better than old by 0.250 AP: the 95 % interval -0.010 to -0.010 excludes 0 (p = 1)."),
    ({"low": -0.01, "high": 0.5, "detectable": None},
     "new is better than old by 0.250 AP, but the 95 % interval -0.010 to 0.500 includes 0."),
    ({"low": None, "high": None, "p": None, "detectable": None},
     "new is better than old by 0.250 AP; too few images have a value for an interval."),
    ({"difference": -0.0004, "low": -0.04, "high": 0.01},
     "new is worse than old by less than 0.001 AP, but the 95 % interval -0.040 to 0.010 includes 0.|"
     "This set can detect a difference of 0.200."),
    ({"difference": None, "low": None, "high": None}, "AP of old and new cannot be compared: it has no value."),
])  # fmt: skip
def test_sentences_of_a_pair(columns: dict[str, Any], sentence: str) -> None:
    assert comparison_sentences(table(row(**columns), row(metric="AP50"))) == sentence.split("|")


def test_the_sentence_may_be_about_another_metric() -> None:
    (sentence,) = comparison_sentences(table(row(), row(metric="NDS", difference=-0.25, low=-0.5, high=-0.1)), metric="NDS")
    assert sentence.startswith("new is worse than old by 0.250 NDS")


def test_sentences_of_several_models() -> None:
    rows = table(row(), row(run_b="third", difference=-0.1, low=-0.2, high=-0.05))
    assert comparison_sentences(rows) == [
        "new is better than old by 0.250 AP: the 95 % interval 0.125 to 0.375 excludes 0 "
        "(p = 0.004, corrected for 2 comparisons).",
        "third is worse than old by 0.100 AP: the 95 % interval -0.200 to -0.050 excludes 0 "
        "(p = 0.004, corrected for 2 comparisons).",
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
     "1 category has too few images for an interval."),
    ([{}, {}, {"low": -0.1, "q": 0.4}],
     "AP: 2 of 3 categories (c0, c1) differ by the 95 % interval; after correcting for 3 comparisons, 2 do (q < 0.05)."),
    ([{"low": -0.1, "q": 0.4}], "AP: the 95 % interval of the category includes 0."),
    ([{"low": -0.1, "q": 0.4}] * 2, "AP: the 95 % interval includes 0 in all 2 categories."),
    ([{}], "AP: 1 of 1 category differs by the 95 % interval; after correcting for 1 comparison, 1 does (q < 0.05)."),
    ([NO_INTERVAL] * 2, "AP: 2 categories have too few images for an interval."),
    ([NO_INTERVAL, NO_INTERVAL | {"difference": None}, NO_INTERVAL | {"difference": None}],
     "AP: 1 category has too few images for an interval. 2 categories have no AP."),
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


PAIR = {
    "metric": "AP", "run_a": "old", "run_b": "new", "difference": 0.021, "low": 0.008, "high": 0.034, "p": 0.002,
    "p_holm": 0.006, "detectable": 0.019, "n_units": 1300,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "n_pairs", "sentence"),
    [
        ({}, 1, "new is better by 0.021 AP (95 % CI 0.008 to 0.034)."),
        ({}, 3, "new is better than old by 0.021 AP (95 % CI 0.008 to 0.034; p = 0.006, corrected for 3 comparisons)."),
        ({"metric": "LAMR"}, 1, "new is worse by 0.021 LAMR (95 % CI 0.008 to 0.034)."),
        (
            {"difference": -0.0002, "low": -0.0003, "high": -0.0001}, 1,
            "new is worse by less than 0.001 AP (95 % CI 0.000 to 0.000).",
        ),
        (
            {"p_holm": 0.06}, 30,
            "No significant difference in AP: +0.021 for new against old (95 % CI +0.008 to +0.034; p = 0.06, corrected for 30 "
            "comparisons). With 1,300 queries, differences below about 0.019 cannot be told from chance.",
        ),
        ({"low": None, "high": None}, 1, "AP differs by +0.021 for new; there are too few queries for an interval."),
        ({"low": None}, 2, "AP differs by +0.021 for new against old; there are too few queries for an interval."),
        ({"difference": 0.0, "low": 0.0, "high": 0.0}, 1, "new and old have the same AP, on all queries."),
        ({"difference": None}, 1, "AP of old and new cannot be compared: it has no value."),
    ],
)  # fmt: skip
def test_sentences_of_differences(changed: dict[str, Any], n_pairs: int, sentence: str) -> None:
    assert difference_sentence(PAIR | changed, n_pairs, "queries") == sentence

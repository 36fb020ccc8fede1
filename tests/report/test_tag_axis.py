"""The values of a tag in their order."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

from apframe.exceptions import ParameterError
from apframe.report.tag_axis import TagAxis, tag_axis

NAMES = ["a", "b", "c"]


def axis_of(*values: Any) -> tuple[TagAxis, list[int]]:
    return tag_axis("tag", [{"tag": value, "other": 1} for value in values], NAMES[: len(values)])


@pytest.mark.parametrize(
    ("values", "labels", "order"),
    [
        ([10, 9, 1.5], ["1.5", "9", "10"], [2, 1, 0]),
        (["10", "9"], ["9", "10"], [1, 0]),
        ([1e-05, 3_000_000], ["1e-05", "3000000"], [0, 1]),
        (["2026-11-02", "2026-10-31"], ["2026-10-31", "2026-11-02"], [1, 0]),
        (["2026-11-02T10:00+02:00", "2026-11-02 07:30"], ["2026-11-02 07:30", "2026-11-02T10:00+02:00"], [1, 0]),
        (["v10", "v9", "v11"], ["v10", "v9", "v11"], [0, 1, 2]),
        ([True, False], ["True", "False"], [0, 1]),
    ],
)
def test_numbers_and_dates_are_sorted_texts_are_not(values: list[Any], labels: list[str], order: list[int]) -> None:
    axis, found = axis_of(*values)
    assert (axis.labels, found) == (labels, order) and list(axis.places) == sorted(axis.places)


def test_dates_are_as_far_apart_as_their_days() -> None:
    axis, _ = axis_of("2026-11-01", "2026-11-02", "2026-11-05")
    first, second, third = axis.places
    assert third - second == 3 * (second - first) and axis.names == axis.labels
    dates, _ = tag_axis({"tag": [date(2026, 11, 1), datetime(2026, 11, 2, 12)]}, [{}, {}], NAMES[:2])
    assert dates.labels == ["2026-11-01", "2026-11-02 12:00:00"]


def test_values_may_be_given_in_place_of_tags() -> None:
    axis, order = tag_axis({"epoch": pl.Series([3, 1])}, [{}, {}], NAMES[:2])
    assert axis.names == ["epoch 1", "epoch 3"] and order == [1, 0]


@pytest.mark.parametrize(
    ("over", "tags", "message"),
    [
        ("epochs", [{"epoch": 1}, {"epoch": 2}], "over: no run has the tag 'epochs'; did you mean epoch?"),
        ("day", [{"epoch": 1, "lr": 2}, {}], "over: no run has the tag 'day'; there are epoch, lr"),
        ("day", [{}, {}], "over: no run has the tag 'day'; store each with the tag, as in --out DIR --tag epoch=3"),
        ("epoch", [{"epoch": 1}, {"lr": 2}, {}], "over: 'b', 'c' have no tag 'epoch'; store each with the tag"),
        ("epoch", [{"epoch": 1}, {"epoch": 1.0}], "over: epoch is 1 in both a and b; leave one of them out"),
        ("v", [{"v": "x"}, {"v": "y"}, {"v": "x"}], "over: v is x in both a and c; leave one of them out"),
        ("v", [{"v": "x"}, {"v": 7}], r"over: v is a number in b \(7\), but not in a \(x\); make all of them numbers"),
        ("v", [{"v": 7}, {"v": "2026-11-02"}], r"over: v is a number in a \(7\), but not in b \(2026-11-02\)"),
        ("v", [{"v": "2026-11-02"}, {"v": "new"}], r"over: v is a date in a \(2026-11-02\), but not in b \(new\)"),
        ("v", [{"v": 7}], "over needs at least two evaluations; name the other ones too"),
        ({"v": [1]}, [{}, {}], "over needs a list with a value of v for each of 2 evaluations"),
        ({"v": "ab"}, [{}, {}], "over needs a list with a value of v for each of 2 evaluations"),
        ({"v": [1, 2], "w": [1, 2]}, [{}, {}], 'over is the name of a tag, or values such as {"epoch": .*}, not'),
        (7, [{}, {}], "over is the name of a tag"),
    ],
)
def test_errors_name_the_tag_and_the_runs(over: Any, tags: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("?", r"\?").replace("{", r"\{").replace(".*}", r".*\}")):
        tag_axis(over, tags, NAMES[: len(tags)])

"""Functions of users: what they see, what they may give, and what is refused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.similarity import user
from apframe.similarity.box_iou import BoxIoU, box_iou
from apframe.similarity.user import UserSimilarity

DETECTIONS = pl.DataFrame(
    {"detection_id": [1, 2, 3], "cell": [0, 1, 1], "score": [0.9, 0.8, 0.7],
     "x": [0.0, 0.0, 1.0], "y": [0.0, 0.0, 0.0], "width": [4.0, 4.0, 4.0], "height": [4.0, 4.0, 4.0]}
)  # fmt: skip
ANNOTATIONS = pl.DataFrame(
    {"annotation_id": [7, 8], "cell": [1, 1], "is_crowd": [False, True], "occlusion": [0.1, 0.2],
     "x": [0.0, 2.0], "y": [0.0, 0.0], "width": [4.0, 4.0], "height": [4.0, 4.0]}
)  # fmt: skip


def pairs(function: Any, least: float = 0.0, **options: Any) -> list[tuple[int, int, float]]:
    table = UserSimilarity(function, **options).pair(DETECTIONS, ANNOTATIONS, least)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    return table.sort("detection", "annotation").rows()


def by_ids(frame: pl.DataFrame) -> list[float]:
    """0.17 for detection 1 and annotation 7, and so on."""
    return ((frame["detection_id"] * 10 + frame["annotation_id"]) / 100).to_list()


EXPECTED = [(1, 0, 0.27), (1, 1, 0.28), (2, 0, 0.37), (2, 1, 0.38)]


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda values: pl.Series("mine", values), pd.Series, pa.array,
     lambda values: np.array(values, dtype=object).astype(float)],
)  # fmt: skip
def test_one_value_per_row_in_any_container(container: Any) -> None:
    assert pairs(lambda frame: container(by_ids(frame))) == EXPECTED


def test_an_expression() -> None:
    same = UserSimilarity(lambda _: box_iou()).pair(DETECTIONS, ANNOTATIONS, 0.5)
    assert sorted(same.rows()) == sorted(BoxIoU().pair(DETECTIONS, ANNOTATIONS, 0.5).rows())
    assert same.height == 4


def test_what_the_function_sees() -> None:
    seen = []
    pairs(lambda frame: seen.append(frame) or np.zeros(frame.height))
    assert set(seen[0].columns) == {
        "detection_id", "score", "x", "y", "width", "height",
        "annotation_id", "is_crowd", "occlusion_right", "x_right", "y_right", "width_right", "height_right",
    }  # fmt: skip
    row = seen[0].row(by_predicate=(pl.col("detection_id") == 3) & (pl.col("annotation_id") == 8), named=True)
    assert (row["x"], row["x_right"], row["is_crowd"], row["occlusion_right"]) == (1.0, 2.0, True, 0.2)


def test_null_is_no_pair_and_least_is_inclusive() -> None:
    assert pairs(lambda frame: [None if value < 0.3 else value for value in by_ids(frame)]) == EXPECTED[2:]
    assert pairs(by_ids, least=0.37) == EXPECTED[2:]
    assert pairs(lambda frame: pl.Series([None] * frame.height)) == []


def test_booleans_and_whole_numbers_are_numbers() -> None:
    assert pairs(lambda _: ~pl.col("is_crowd"), least=0.5) == [(1, 0, 1.0), (2, 0, 1.0)]
    assert pairs(lambda frame: np.ones(frame.height, dtype=np.int8)) == [(d, a, 1.0) for d, a, _ in EXPECTED]


def test_lists_may_begin_with_whole_numbers() -> None:
    assert [value for *_, value in pairs(lambda _: [0, 0.5, None, True])] == [0.0, 0.5, 1.0]


def test_many_pairs_come_in_several_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user, "_BLOCK", 3)
    heights = []
    assert pairs(lambda frame: heights.append(frame.height) or by_ids(frame)) == EXPECTED
    assert heights == [3, 1]


def test_without_pairs_the_function_is_not_asked() -> None:
    table = UserSimilarity(lambda _: 1 / 0).pair(DETECTIONS.clear(), ANNOTATIONS, 0.5)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    assert table.is_empty()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _: 0.5, r"^mine must return one value per row, not the number 0.5; return a column, such as pl.repeat\("),
        (lambda _: np.float32(0.5), r"^mine must return one value per row, not the number 0.5; return a column, such as "),
        (lambda _: pl.lit(1.0), r"^mine must return one value per row: 4, not 1; return a column, such as "),
        (lambda _: None, r"^mine must return one number per row, not None; is a `return` missing\?$"),
        (lambda _: "x", r"^mine must return one number per row, not a str of shape \(\)"),
        (lambda frame: frame, r"^mine must return one number per row, not a DataFrame of shape \(4, 13\)"),
        (lambda _: np.zeros((4, 1)), r"^mine must return one number per row, not a ndarray of shape \(4, 1\)"),
        (lambda _: np.zeros(3), r"^mine must return one value per row: 4, not 3$"),
        (lambda _: [0.5] * 5, r"^mine must return one value per row: 4, not 5"),
        (lambda _: pl.col("x").mean(), r"^mine must return one value per row: 4, not 1"),
        (lambda _: pl.lit("x").repeat_by(1).first(), r"^mine must return one value per row"),
        (lambda frame: ["a"] * frame.height, r"^mine must return numbers in \[0, 1\], not String"),
        (lambda frame: [[0.5]] * frame.height, r"^mine must return numbers in \[0, 1\], not List\(Float64\)"),
        (lambda frame: [0.5, "a"] * (frame.height // 2), r"^mine: a list is not a column of numbers: "),
        (lambda _: pl.col("z"), r'^mine: the expression failed: unable to find column "z"; the columns are detection_id, scor'),
    ],
)  # fmt: skip
def test_what_is_no_column_of_numbers(function: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        pairs(function, label="mine")


def test_one_value_everywhere_as_the_message_says() -> None:
    assert {similarity for *_, similarity in pairs(lambda _: pl.repeat(1.0, pl.len()), label="mine")} == {1.0}


@pytest.mark.parametrize("value", [float("nan"), -0.1, 1.0000001, float("inf")])
def test_values_outside_are_named_by_their_ids(value: float) -> None:
    message = r"^pairs: mine is not in \[0, 1\] for \(detection_id, annotation_id\) \(3, 7\); return null where the two cannot"
    message += " be a pair, not NaN$" if value != value else " be a pair$"
    with pytest.raises(RowError, match=message) as error:
        pairs(lambda frame: [value if number == 0.37 else 0.5 for number in by_ids(frame)], label="mine")
    assert error.value.rows == [(3, 7)]


def test_errors_of_the_function_are_its_own() -> None:
    with pytest.raises(ZeroDivisionError):
        pairs(lambda _: 1 / 0)


def test_a_column_that_stands_in_the_way() -> None:
    with pytest.raises(ColumnError, match=r"^detections: the name x_right is reserved for the annotation's column; rename it"):
        UserSimilarity(by_ids).pair(DETECTIONS.with_columns(x_right=0.0), ANNOTATIONS, 0.5)


def test_a_function_that_was_not_stored() -> None:
    with pytest.raises(
        ParameterError, match=r"^nearness: the function of this similarity was not stored with the evaluation; "
    ):
        UserSimilarity(label="nearness").pair(DETECTIONS, ANNOTATIONS, 0.5)


def test_values() -> None:
    other = lambda frame: by_ids(frame)  # noqa: E731
    assert UserSimilarity(by_ids) == UserSimilarity(by_ids) != UserSimilarity(other)
    assert UserSimilarity(by_ids) != UserSimilarity(by_ids, "mine")
    assert UserSimilarity(by_ids) != by_ids
    assert len({UserSimilarity(by_ids), UserSimilarity(by_ids), UserSimilarity(other)}) == 2
    assert UserSimilarity(by_ids).words == "by_ids"
    assert UserSimilarity(lambda frame: frame["x"]).words == UserSimilarity().words == "a function of your own"
    assert UserSimilarity(by_ids, "mine").words == "mine"
    with pytest.raises(FrozenInstanceError):
        UserSimilarity(by_ids).label = "mine"  # type: ignore[misc]


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, frame: pl.DataFrame) -> list[float]:
        return by_ids(frame)


def test_any_callable_can_be_held() -> None:
    function = Unhashable()
    assert {UserSimilarity(function)} == {UserSimilarity(function)}
    assert pairs(function) == EXPECTED


@pytest.mark.parametrize(
    ("options", "message"),
    [({"function": 3}, "^function: 3 is not callable; "), ({"function": by_ids, "label": 3}, "^label must be text, not 3")],
)
def test_parameters_that_cannot_be_taken(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        UserSimilarity(**options)

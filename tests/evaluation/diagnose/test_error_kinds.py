"""The kinds of errors as a table and as values."""

from __future__ import annotations

import pytest

import apframe as apf
from apframe.evaluation.diagnose.error_kinds import ERROR_KINDS, KINDS, OF_DETECTIONS
from apframe.exceptions import ParameterError
from apframe.tables.result_tables import ERRORS


def test_the_table_lists_all_kinds_in_the_order_of_the_column() -> None:
    assert apf.error_kinds()["name"].to_list() == ERRORS.categories.to_list() == list(ERROR_KINDS)
    assert [*OF_DETECTIONS, "miss"] == list(KINDS)
    assert apf.error_kinds()["is_special"].to_list() == [kind not in KINDS for kind in ERROR_KINDS]


def test_the_table_fits_a_terminal() -> None:
    assert max(map(len, str(apf.error_kinds()).splitlines())) <= 80


def test_one_kind_by_its_name_in_any_case() -> None:
    assert apf.error_kinds("MISS")["fix"].to_list() == ["the annotation is removed"]


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ParameterError, match="no error type 'dup'; did you mean dupe"):
        apf.error_kinds("dup")


def test_kinds_are_values() -> None:
    assert hash(ERROR_KINDS["loc"]) != hash(ERROR_KINDS["cls"])
    with pytest.raises(AttributeError):
        ERROR_KINDS["loc"].name = "cls"  # type: ignore[misc]

"""The places of the values of a tag."""

from __future__ import annotations

from typing import Any

import pytest

from apframe.exceptions import ParameterError
from apframe.show.tag_values import tag_values


@pytest.mark.parametrize(
    ("values", "kind", "places"),
    [
        (["10", 9, "2", 9], "number", [10, 9, 2, 9]),
        (["1970-01-02", "1970-01-01T01:00+01:00", "1970-01-01 00:00:10"], "date", [86_400, 0, 10]),
        (["large", "small", "large"], "text", [0, 1, 0]),
        ([True, False, True], "text", [0, 1, 0]),
        ([], "number", []),
    ],
)
def test_equal_values_share_a_place(values: list[Any], kind: str, places: list[float]) -> None:
    tag = tag_values("tag", values, ["a", "b", "c", "d"], "tag")
    assert (tag.kind, tag.places) == (kind, places) and tag.labels == [str(value) for value in values]


@pytest.mark.parametrize("other", ["last", "2026-11-02", "inf", None, True])
def test_numbers_stand_beside_nothing_else(other: Any) -> None:
    with pytest.raises(ParameterError, match=rf"^tag: epoch is a number in a \(7\), but not in b \({other}\); make all"):
        tag_values("epoch", ["7", other], ["a", "b"], "tag")

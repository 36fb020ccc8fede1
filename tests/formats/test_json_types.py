"""Values of other types are seen in JSON text as they are in what it holds."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apframe.formats.coco import json_types
from apframe.formats.coco.json_types import has_other_types

NAMES = ["id", "x", "numbers", "name", "note", "so"]
words = st.sampled_from(["", "7", "a", '"', "\\", '\\"', '": t', ":", ", ", "é", "true", '"id": "7"', "id", "]"])
values = st.one_of(st.none(), st.integers(-9, 9), st.floats(allow_nan=False, width=16), words, st.booleans())
rows = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.one_of(values, st.lists(values, max_size=3), st.just({"y": 1})), max_size=5),
    max_size=4,
)


def expected(data: list[dict[str, Any]], numbers: set[str], ids: set[str], texts: set[str]) -> bool:
    def is_wrong(name: str, value: Any) -> bool:
        parts = value if isinstance(value, list) else [value]
        if name in numbers and any(isinstance(part, str) for part in parts):
            return True
        return (name in ids and isinstance(value, bool)) or (name in texts and not isinstance(value, (str, type(None))))

    return any(is_wrong(*field) for row in data for field in row.items())


@pytest.mark.parametrize("block", [1, 7, 1 << 17])
@given(data=rows, spaces=st.sampled_from(["", " ", "\n  ", "\t\t"]), escaped=st.booleans(), with_texts=st.booleans())
def test_the_types_are_those_of_the_values(
    block: int, data: list[dict[str, Any]], spaces: str, escaped: bool, with_texts: bool
) -> None:
    numbers, ids, texts = {"id", "x", "numbers"}, {"id"}, {"name"} if with_texts else set()
    text = json.dumps(data, ensure_ascii=escaped, separators=("," + spaces, spaces + ":" + spaces)).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_types, "_BLOCK", block)
        assert has_other_types(BytesIO(text), numbers=numbers, ids=ids, texts=texts) == expected(data, numbers, ids, texts)


@pytest.mark.parametrize("value", [":", '":":', "a:", '\\":', "b", '":a":'])
def test_a_text_with_quotes_and_colons_is_no_key(value: str) -> None:
    text = json.dumps([{"id": value}], separators=(",", ":")).encode()
    assert has_other_types(BytesIO(text), numbers={"id"}, ids=(), texts=())


@pytest.mark.parametrize("text", [b"[]", b"[1]", b'["a]', b'[{"a]', b'["]', b'[{"x":]', b'[{"x":  \n]  '])
def test_nothing_is_said_of_what_has_no_fields(text: bytes) -> None:
    assert not has_other_types(BytesIO(text), numbers={"y"}, ids={"y"}, texts={"y"})


def test_bytes_cut_anywhere_raise_nothing() -> None:
    text = b'[{"id": 7, "name": "a\\\\", "x": [1, "2"]}, {"id": true, "name": null}]'
    for end in range(len(text)):
        has_other_types(BytesIO(text[:end] + b"]"), numbers={"id", "x"}, ids={"id"}, texts={"name"})

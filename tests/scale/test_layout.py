"""`shards.json`: read, and refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apframe.exceptions import FormatError
from apframe.scale.layout import parse_layout, shard_name, write_layout

COUNTS = {"n_images": {"00001": 1, "00000": 2}, "n_annotations": {"00000": 5, "00001": 0}}
SAID: dict[str, Any] = {"format": "apframe shards", "format_version": 1, **COUNTS, "n_detections": {"00000": 7, "00001": 3}}


def test_round_trip(tmp_path: Path) -> None:
    layout = parse_layout(json.dumps(SAID).encode(), "shards.json")
    assert layout.rows() == [("00000", 2, 5, 7), ("00001", 1, 0, 3)]
    write_layout(layout, tmp_path)
    assert json.loads((tmp_path / "shards.json").read_text()) == SAID


def test_names_sort_as_their_numbers() -> None:
    names = [shard_name(number) for number in (0, 9, 10, 99_999)]
    assert names == sorted(names) == ["00000", "00009", "00010", "99999"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("{", "shards.json: not JSON, or cut off"),
        ("", "shards.json: the file is empty"),
        ([], "does not say that its format is 'apframe shards'"),
        ({"format": "coco"}, "does not say that its format is 'apframe shards'"),
        (SAID | {"format_version": 2}, "has format version 2; this apframe reads version 1; update apframe"),
        (SAID | {"format_version": None}, "has format version None; this apframe reads version 1; write the shards again"),
        (SAID | {"n_images": [2, 1]}, "is damaged: n_images must be an object with a number for each shard"),
        (SAID | {"n_images": {"00000": -1}}, "n_images must be a whole number of at least 0, and is not for 1 shard"),
        (SAID | {"n_images": {"00000": 1 << 63}}, "n_images must be a whole number of at least 0, and is not for 1 shard"),
        (SAID | {"n_images": {"00000": 1}}, "n_images and n_annotations do not list the same shards"),
        (SAID | {"n_images": {"../a": 1}}, "no shard can be called '../a'"),
    ],
)
def test_damage_is_named(said: Any, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_layout((said if isinstance(said, str) else json.dumps(said)).encode(), "shards.json")
    assert message in str(caught.value)

"""What is pinned is as it was written down; see `stored`."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.pins.numbers import SCHEMA, differences
from tests.pins.stored import FILES, HERE, compare, rewrite

QUICK = {f"protocols/{name}.parquet" for name in ("VOC2007", "COCO_PANOPTIC", "VISUAL_GENOME")}
CASES = [pytest.param(name, marks=() if "/" not in name or name in QUICK else pytest.mark.slow) for name in FILES]


@pytest.mark.parametrize("name", CASES)
def test_as_written_down(name: str) -> None:
    _, different = compare(name)
    shown = "\n".join(different[:20]) + f"\nand {len(different) - 20} more" * (len(different) > 20)
    assert not different, f"{name}:\n{shown}\nif this is meant, run `python -m tests.pins` and say why in the CHANGELOG"


def test_every_variant_has_an_interval() -> None:
    """A set needs a few images with positives; of fewer, `low` is null in all rows."""
    files = sorted((HERE / "protocols").glob("*.parquet"))
    pins = pl.concat([pl.read_parquet(path).with_columns(protocol=pl.lit(path.stem)) for path in files])
    lows = (
        pins.filter(table="intervals", column="low").explode("values").group_by("protocol", "variant").agg(pl.count("values"))
    )
    assert lows.height > 60 and lows.filter(values=0).rows() == []


def test_there_are_no_other_files() -> None:
    assert {path.relative_to(HERE).as_posix() for path in HERE.rglob("*") if path.suffix in (".txt", ".parquet")} == {*FILES}


VALUES = ("bbox", "data", "summary", "value", "Float64", None, [0.5, None, nan, -1.0])
IDS = ("bbox", "data", "matches", "image_id", "Int64", "2 rows, 0a", None)
ERROR = ("segm", "data", "curves", "", "error", "ParameterError: no", None)
# the rows that are computed instead of VALUES, IDS, ERROR -> what differs
COMPARED: dict[str, tuple[list[Any], list[str]]] = {
    "nothing": ([VALUES, IDS, ERROR], []),
    "the last bits": ([(*VALUES[:6], [0.5 + 9e-13, None, nan, -1.0]), IDS, ERROR], []),
    "a number": (
        [(*VALUES[:6], [0.5 + 2e-12, None, nan, -1.0]), IDS, ERROR],
        ["bbox / data / summary / value: 0.500000000002 (was 0.5) in row 0"],
    ),
    "all numbers": (
        [(*VALUES[:6], [None, 0.0, 1.0, nan]), IDS, ERROR],
        ["bbox / data / summary / value: None (was 0.5) in row 0, 0.0 (was None) in row 1, 1.0 (was nan) in row 2 and 1 more"],
    ),
    "the number of rows": ([(*VALUES[:6], []), IDS, ERROR], ["bbox / data / summary / value: 0 rows, was 4"]),
    "ids": (
        [VALUES, (*IDS[:5], "2 rows, 0b", None), ERROR],
        ["bbox / data / matches / image_id: Int64 2 rows, 0b, was Int64 2 rows, 0a"],
    ),
    "a type": (
        [(*VALUES[:4], "Float32", *VALUES[5:]), IDS, ERROR], ["bbox / data / summary / value: Float32, was Float64"],
    ),
    "an answer where there was none": (
        [VALUES, IDS, (*ERROR[:4], "Float64", None, [1.0])],
        ["segm / data / curves / : Float64, was error ParameterError: no"],
    ),
    "a column more": (
        [VALUES, VALUES, IDS, ERROR],
        ["bbox / data / summary / value: was bbox / data / matches / image_id; what follows is not compared"],
    ),
    "a table less": ([VALUES, IDS], ["nothing: was segm / data / curves / ; what follows is not compared"]),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "different"), COMPARED.values(), ids=COMPARED)
def test_what_differs_is_named(rows: list[Any], different: list[str]) -> None:
    stored = pl.DataFrame([VALUES, IDS, ERROR], SCHEMA, orient="row")
    assert [*differences(pl.DataFrame(rows, SCHEMA, orient="row"), stored)] == different


@pytest.mark.parametrize("name", ["lines.txt", "numbers.parquet"])
def test_only_what_differs_is_rewritten(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame([VALUES, IDS, ERROR], SCHEMA, orient="row")
    monkeypatch.setitem(FILES, name, lambda: table if name.endswith("parquet") else ["a line", "another"])
    assert rewrite(name, tmp_path)
    before = (tmp_path / name).stat().st_mtime_ns
    assert not rewrite(name, tmp_path)
    assert (tmp_path / name).stat().st_mtime_ns == before

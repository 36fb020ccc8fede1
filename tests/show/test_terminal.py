"""Tables for people are never wider than the terminal."""

from __future__ import annotations

import io

import polars as pl
import pytest

from apframe.show.terminal import Terminal
from apframe.show.text_tables import table_lines

WIDE = pl.DataFrame({"name": ["a", "b" * 70], "AP": [0.25, 0.5], **{f"column_{n}": [n, n] for n in range(9)}})


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("width", [300, 120, 80, 40, 20, 5])
def test_no_line_is_wider_than_the_terminal(width: int, plain: bool) -> None:
    lines = table_lines(WIDE, 3, plain=plain, width=width).splitlines()
    drawn, notes = lines[: 3 + WIDE.height + 1], lines[3 + WIDE.height + 1 :]
    assert len({len(line) for line in drawn}) == 1
    assert max(map(len, lines)) <= width
    assert bool(notes) == (width < 200)


def test_a_table_that_fits_is_whole() -> None:
    assert table_lines(WIDE, 3, width=300) == table_lines(WIDE, 3)


def test_texts_are_shortened_before_columns_are_left_out() -> None:
    whole, shorter, fewer = (table_lines(WIDE, 3, width=width) for width in (300, 140, 70))
    assert "b" * 60 in whole
    assert "b" * 40 not in shorter and "b" * 15 in shorter and "column_8" in shorter
    assert "column_1" in fewer and "column_8" not in fewer.splitlines()[1]
    assert "0.250" in fewer
    assert " ".join(fewer.split("not shown: ")[1].split()).endswith("column_7, column_8")


def test_the_least_columns_are_left_out_first() -> None:
    drawn = table_lines(WIDE, 3, width=70, expendable=["absent", "AP", "column_2"])
    head = drawn.splitlines()[1]
    assert "AP" not in head and "column_2" not in head and "column_1" in head and "column_3" in head


@pytest.mark.slow
def test_columns_of_a_group_are_left_out_together() -> None:
    for width in range(20, 90):
        head = table_lines(WIDE, 3, width=width, expendable=["AP", ("column_2", "column_7")]).splitlines()[1]
        assert ("column_2" in head) == ("column_7" in head)


def test_our_own_marks_are_written_in_ascii() -> None:
    buffer = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print("CI −0.015 to +0.032, p ≤ 0.002 –", file=Terminal(buffer, "stdout"), flush=True)
    assert buffer.buffer.getvalue() == b"CI -0.015 to +0.032, p <= 0.002 -\n"  # type: ignore[attr-defined]

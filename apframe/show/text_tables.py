"""Tables for people, drawn with lines between their columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from apframe.show.terminal import CONTROLS, one_line

Expendable = Sequence[str | tuple[str, ...]]
"""The least informative columns of a table, in the order in which they are left out; those of a group go together."""


def table_lines(
    table: pl.DataFrame,
    digits: int | None = None,
    *,
    plain: bool = False,
    width: int | None = None,
    expendable: Expendable = (),
) -> str:
    r"""Draw a table for people, one line per row, with the control characters in names and texts escaped.

    `digits` is the number of decimals; `plain` draws in ASCII. If the table is wider than `width`, texts are shortened first.
    Then columns are left out, first those of `expendable`, groups as a whole, then the last ones; they are named below the
    table. None draws the whole table.

    >>> print(table_lines(pl.DataFrame({"name": ["a\nb"], "ap": [0.25]}), 3, plain=True))
    +------+-------+
    | name | ap    |
    +==============+
    | a\nb | 0.250 |
    +------+-------+
    """
    drawn, left_out = fit(written_out(table), width, expendable, lambda part, length: _draw(part, digits, plain, length))
    return drawn + not_shown(left_out, width)


def fit(
    table: pl.DataFrame, width: int | None, expendable: Expendable, draw: Callable[[pl.DataFrame, int], str]
) -> tuple[str, list[str]]:
    """Fit a table into a width as `table_lines` does, and name the columns that are left out.

    `draw` draws some of the columns, with texts of at most a length.
    """
    order = [(each,) if isinstance(each, str) else each for each in expendable]
    named = {name for group in order for name in group}
    order += [(name,) for name in reversed(table.columns) if name not in named]
    order = [group for group in order if {*group} & {*table.columns}]
    shorter = [(0, length) for length in (60, 40, 25, 15)]
    fewer = [(n, 15) for n in range(1, max(len(order), 1))]
    for n, length in shorter + fewer:
        fewest = {name for group in order[:n] for name in group}
        left_out = [name for name in table.columns if name in fewest]
        drawn = draw(table[[name for name in table.columns if name not in left_out]] if n else table, length)
        if width is None or max(map(len, drawn.split("\n", 2)[:2])) <= width:  # its border, which may follow a title
            break
    return "\n".join(line[:width] for line in drawn.splitlines()), left_out  # one column alone may be too wide


def not_shown(columns: Sequence[str], width: int | None) -> str:
    """Return the line below a table that names the columns left out of it, if there are any."""
    lines = textwrap.wrap(f"not shown: {', '.join(columns)}", max(width or 80, 2)) if columns else []
    return "".join(f"\n{line}" for line in lines)


def _draw(table: pl.DataFrame, digits: int | None, plain: bool, length: int) -> str:
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, fmt_str_lengths=length,
        tbl_width_chars=-1, float_precision=digits, tbl_formatting="ASCII_FULL_CONDENSED" if plain else "UTF8_FULL_CONDENSED",
    ):  # fmt: skip
        return str(table)


def written_out(table: pl.DataFrame) -> pl.DataFrame:
    """Escape the control characters in the names and texts of a table."""
    columns: dict[str, pl.Series] = {}
    for column in table:
        name = one_line(column.name)
        while name in columns:  # "a" and a line end may stand beside a\n
            name += " "
        columns[name] = column.to_frame().select(_text_written_out(pl.first(), column.dtype)).to_series()
    return pl.DataFrame(columns)


def _text_written_out(values: pl.Expr, dtype: Any) -> pl.Expr:
    """Escape control characters in values, also inside lists and structs, whose field names Polars does not show."""
    if isinstance(dtype, (pl.String, pl.Enum, pl.Categorical)):
        return values.cast(pl.String).str.replace_many(CONTROLS)
    if isinstance(dtype, pl.Array):
        return _text_written_out(values.arr.to_list(), pl.List(dtype.inner))
    if isinstance(dtype, pl.List):
        return values.list.eval(_text_written_out(pl.element(), dtype.inner))
    if isinstance(dtype, pl.Struct):
        numbers = [str(number) for number in range(len(dtype.fields))]  # a name might be a pattern
        numbered = values.struct.rename_fields(numbers)
        fields = zip(numbers, dtype.fields, strict=True)
        parts = [_text_written_out(numbered.struct.field(number), field.dtype).alias(number) for number, field in fields]
        return pl.when(values.is_not_null()).then(pl.struct(parts)) if parts else values
    return values

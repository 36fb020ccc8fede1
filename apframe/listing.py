"""Reference tables that print within 80 columns, and HTML tables for notebooks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Self

import polars as pl

from apframe.option_values import by_name

_WIDTH = 80
_NARROWEST = 24  # the smallest width in which a column of texts is wrapped


class Listing(pl.DataFrame):
    """A frame whose texts are printed in full: the first columns within 80 characters, or a single row as lines.

    >>> Listing({"name": ["a", "b"], "meaning": ["first", "second"]})
    name  meaning
    a     first
    b     second
    >>> Listing({"name": ["a"], "meaning": ["first"]})
    name     a
    meaning  first
    """

    def __str__(self) -> str:
        return self.lines(_WIDTH)

    def lines(self, width: int) -> str:
        """Return the table as text of a width: the columns that fit, the last of them wrapped, then the names of the others."""
        if self.height == 1:
            pairs = [(name, _text(value)) for name, value in self.row(0, named=True).items()]
            return "\n".join(_row(pairs, [max(map(len, self.columns))], width))
        table = [tuple(self.columns), *(tuple(map(_text, row)) for row in self.iter_rows())]
        widths: list[int] = []
        for column in range(self.width):
            widest = max(len(row[column]) for row in table)
            remaining = width - sum(widths) - 2 * len(widths)
            if widest > remaining:
                widths += [remaining] if remaining >= _NARROWEST else []
                break
            widths.append(widest)
        n_shown = max(1, len(widths))
        lines = _row([row[:n_shown] for row in table], widths[: n_shown - 1], width)
        if n_shown < self.width:
            lines += [
                "",
                *textwrap.wrap(f"More columns: {', '.join(self.columns[n_shown:])}. Name a row to see all of it.", width),
            ]
        return "\n".join(lines)

    def named(self, kind: str, name: str | None) -> Self:
        """Return the row of a name, ignoring case, or the whole table without a name.

        Raises
        ------
        ParameterError
            no row has this name; similar names are suggested
        """
        if name is None:
            return self
        rows: Mapping[str, int] = {each: number for number, each in enumerate(self.to_series(0))}
        number = by_name(kind, name, rows)
        return type(self)(self[number : number + 1])


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _row(rows: Any, widths: list[int], width: int) -> list[str]:
    """Return rows of texts as lines: padded to these widths, with the last text wrapped to the remaining width."""
    indent = sum(widths) + 2 * len(widths)
    lines = []
    for row in rows:
        head = "".join(f"{text:<{n}}  " for text, n in zip(row, widths, strict=False))
        wrapped = textwrap.wrap(row[-1], max(10, width - indent), break_on_hyphens=False) or [""]
        lines += [(head + wrapped[0]).rstrip(), *(" " * indent + line for line in wrapped[1:])]
    return lines


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "") -> str:
    """Return an HTML table of texts, which are escaped. `align` is "left" if the texts are sentences.

    >>> html_table(["name"], [["a<b"]])
    '<table><thead><tr><th>name</th></tr></thead><tbody><tr><td>a&lt;b</td></tr></tbody></table>'
    """
    style = f' style="text-align: {align}"' if align else ""

    def line(kind: str, cells: Sequence[str]) -> str:
        return f"<tr>{''.join(f'<{kind}{style}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"

    body = "".join(line("td", cells) for cells in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"

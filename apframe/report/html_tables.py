"""Tables of the report as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from apframe.report.marks import Mark, link
from apframe.report.section import Table
from apframe.show.elements import Markup, element, joined, scrolling
from apframe.wording import counted, cut

NOTHING = "–"
MOST_UNSCROLLED = 30  # maximum number of rows of a table without scrolling
_DIGITS = 3  # decimals of numbers that are not integers
_SMALLEST = 0.001  # the smallest number that these digits show
_LONG = 60  # characters from which texts are wrapped
_MOST_LETTERS = 100  # maximum length of texts; longer ones are cut
_BEFORE_NUMBER = re.compile(r"(?<![\w.])-(?=\d)")


def table_markup(table: Table) -> Markup:
    """Return a table in HTML, with a button in each head that sorts it, and a line about the rows that were cut.

    >>> import polars as pl
    >>> print(table_markup(Table(pl.DataFrame({"name": ["a<b"], "AP": [0.25]}), "AP by category")))
    <div class="table" tabindex="0" role="region" aria-label="AP by category"><table><caption>AP by category</caption>\
<thead><tr><th scope="col">name</th><th scope="col" class="n">AP</th></tr></thead>\
<tbody><tr><th scope="row">a&lt;b</th><td class="n">0.250</td></tr></tbody></table></div>
    """
    frame, texts = table.frame.head(table.most), cell_texts(table)
    numbers = {name for name in texts if frame.schema[name].is_numeric()}
    long = {name for name in texts if max(map(len, texts[name]), default=0) > _LONG}
    columns = list(dict.fromkeys([*frame.columns, *table.drawn]))
    cells, kinds = [], []
    for name in columns:
        kind = "n" if name in numbers else "drawn" if name in table.drawn else "long" if name in long else None
        kinds.append(" ".join(filter(None, [kind, "folded" * (name in table.folded)])) or None)
        cells.append(_column(table, name, texts, frame.height, is_number=name in numbers))
    heads = [
        element("th", table.heads.get(name, name), scope="col", class_=kind) for name, kind in zip(columns, kinds, strict=True)
    ]
    rows = [
        element("tr", _cells(row, kinds), class_="mean" if place < table.n_means else None, data_has=has)
        for place, (row, has) in enumerate(zip(zip(*cells, strict=True), table.row_data or repeat(None), strict=False))
    ]
    markup = element(
        "table",
        element("caption", table.caption),
        element("thead", element("tr", heads)),
        element("tbody", rows),
        class_="sortable" if frame.height > 1 + table.n_means else None,
    )
    is_long = " long" * (frame.height > MOST_UNSCROLLED)
    box = scrolling(markup, f"table{is_long}", table.caption)
    n_left = table.frame.height - frame.height
    line = f"The first {frame.height:,} of {counted(table.frame.height, 'row')} are shown."
    return joined(_folding(table, box), element("p", line, class_="note") if n_left else None)


def _column(table: Table, name: str, texts: Mapping[str, Sequence[str]], n: int, *, is_number: bool) -> Sequence[Markup | str]:
    """Return the cells of a column: texts, or links around them, or numbers that follow the slider."""
    if name in table.drawn:
        return [*table.drawn[name]][:n]
    visible = [minus(text) if is_number else shortened(text) for text in texts[name]]
    if name not in table.links and name not in table.series:
        return visible
    marks, series = table.links.get(name, [None] * n), table.series.get(name, [None] * n)
    return [_cell(text, mark, at) for text, mark, at in zip(visible, marks, series, strict=False)]


def _cell(text: Markup | str, mark: Mark | None, at: str | None) -> Markup | str:
    """Return a text, as a link if it has rows, and with its texts at all positions of the slider if it follows that."""
    if mark and text != NOTHING:
        return link(mark, text or NOTHING, data_at=at)
    return element("span", text, data_at=at) if at else text


def _folding(table: Table, box: Markup) -> Markup:
    """Add a switch that shows the folded columns of a table, if it has any."""
    if not table.folded:
        return box
    words = ", ".join(table.heads.get(name, name) for name in table.folded)
    switch = element("label", element("input", type="checkbox", class_="unfold"), f" {words}")
    return element("div", box, switch, class_="foldable")


def _cells(cells: Iterable[str], kinds: Iterable[str | None]) -> list[Markup]:
    """Return the cells of a row; the first one is its heading."""
    first, *others = zip(cells, kinds, strict=True)
    return [element("th", first[0], scope="row"), *(element("td", cell, class_=kind) for cell, kind in others)]


def cell_texts(table: Table) -> dict[str, list[str]]:
    """Return the texts of the visible rows by column, with ASCII minus signs and without drawn columns.

    >>> import polars as pl
    >>> cell_texts(Table(pl.DataFrame({"name": ["cat"], "gain": [0.25], "p": [None]}), "", signed=["gain"]))
    {'name': ['cat'], 'gain': ['+0.250'], 'p': ['–']}
    """
    frame = table.frame.head(table.most)
    return {
        column.name: [
            _text(value, signed=column.name in table.signed)
            for value in ([*table.texts[column.name]][: frame.height] if column.name in table.texts else column)
        ]
        for column in frame
        if column.name not in table.drawn
    }


def _text(value: Any, *, signed: bool) -> str:
    """Return a value as readable text."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    sign = "+" if signed else ""
    if isinstance(value, float):
        return format(value, f"{sign},.{_DIGITS}f")
    return format(value, f"{sign},") if isinstance(value, int) else str(value)


def score_text(score: float) -> str:
    """Return a score with three decimals, or as many as it needs.

    >>> score_text(0.25), score_text(-0.00012)
    ('0.250', '−0.00012')
    """
    return minus(f"{score:.3f}" if abs(score) >= _SMALLEST else f"{score:.3g}")


def shortened(text: str) -> Markup | str:
    """Return a text of at most 100 characters, or its beginning with the full text as its title.

    >>> shortened("fish stock"), shortened("fish " * 30)[:30], len(shortened("fish " * 30).partition(">")[2])
    ('fish stock', '<span title="fish fish fish fi', 107)
    """
    short = cut(text, _MOST_LETTERS)
    return text if short == text else element("span", short, title=text)


def minus(text: str) -> str:
    """Replace hyphens before numbers by typographic minus signs; other hyphens stay.

    >>> minus("from -0.5 to 0.2, non-crowd, 2026-11")
    'from −0.5 to 0.2, non-crowd, 2026-11'
    """
    return _BEFORE_NUMBER.sub("−", text)

"""Marks: links that readers can click to see the pictures behind a number, each with a selection of the gallery's rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from apframe.show.elements import Child, Markup, element, joined
from apframe.wording import counted

GALLERY, LABELS = "gallery", "labels"


@dataclass(frozen=True)
class Mark:
    """The rows behind a number, a bar or a point.

    Attributes
    ----------
    selection
        the values of the gallery's filters by name that all rows share; empty for all errors
    n
        the number of rows; None for a number that follows the slider and shows it itself
    section
        the section whose cards show them
    """

    selection: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    section: str = GALLERY

    @property
    def address(self) -> str:
        """The selection as a part of an address: `category=worker&error=miss`."""
        return urlencode(self.selection, quote_via=quote)


def link(mark: Mark | None, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return children as a link to the cards behind them, or as a plain group of SVG or HTML without a mark.

    The link leads to the gallery, where the script of the page applies the selection in `data-select`.

    >>> print(link(Mark({"category": "cat", "error": "miss"}, 14), "14"))
    <a href="#gallery" data-select="category=cat&amp;error=miss" data-rows="14" title="14 rows">14</a>
    >>> link(None, "14")
    '14'
    """
    if mark is None:
        return element("g", *children, **attributes) if attributes else joined(*children)
    title = None if mark.n is None else counted(mark.n, "row")
    return element(
        "a", *children, href=f"#{mark.section}", data_select=mark.address, data_rows=mark.n, title=title, **attributes
    )


def link_to(mark: Mark | str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """Return children as a link to cards, or to a section by its key.

    >>> print(link_to("labels", "Show them"))
    <a href="#labels">Show them</a>
    """
    if isinstance(mark, Mark):
        return link(mark, *children, **attributes)
    return element("a", *children, href=f"#{mark}", **attributes)


def listed(values: Sequence[Any]) -> str:
    """Return the several values of a card, as the page's script reads them.

    >>> listed(["a", "b"])
    '["a", "b"]'
    """
    return json.dumps([*values], ensure_ascii=False)


def number_text(value: Any) -> str:
    """Return a text, or a number as scripts read it.

    >>> number_text(0.25), number_text(math.inf)
    ('0.25', 'Infinity')
    """
    return "Infinity" if value == math.inf else str(value)

"""Tables of a page as lists of texts, read with the standard library's parser."""

from __future__ import annotations

from html.parser import HTMLParser


class Tables(HTMLParser):
    """All tables of a page: by caption, the rows of their cells' texts, the head first."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._caption, self._text = "", ""

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("th", "td", "caption"):
            self._text = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "caption":
            self._caption = self._text
        elif tag in ("th", "td"):
            self._rows[-1].append(self._text)
        elif tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data: str) -> None:
        self._text += data


def read_tables(text: str) -> dict[str, list[list[str]]]:
    """The tables of a page, by caption."""
    reader = Tables()
    reader.feed(text)
    return reader.tables


def number(text: str) -> float | None:
    """A number as the page shows it; None for an en dash."""
    return None if text == "–" else float(text.replace("−", "-").replace(",", ""))

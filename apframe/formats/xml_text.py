"""Values as text of XML: escaping, and errors for characters that XML cannot hold."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import FormatError

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_ILLEGAL = r"[^\t\n\r\x{20}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]"


def escaped(value: pl.Expr) -> pl.Expr:
    """Escape values as text for elements and for attributes in double quotes; they survive a round trip.

    >>> pl.select(escaped(pl.lit('a "b" & c'))).item()
    'a &quot;b&quot; &amp; c'
    """
    return value.cast(pl.String).str.replace_many(list(_ESCAPES), list(_ESCAPES.values()))


def refuse_illegal(texts: pl.Series) -> None:
    """Raise an error that shows the first character that XML cannot hold, with the text before it.

    Raises
    ------
    FormatError
        a text has such a character

    >>> refuse_illegal(pl.Series(["<name>cat</name>", "<name>dog\\x07</name>"]))
    Traceback (most recent call last):
    apframe.exceptions.FormatError: XML cannot hold the character '\\x07', which ends '<name>dog\\x07'; remove it
    """
    matches = texts.str.extract(f"([^\n\t]{{0,40}}{_ILLEGAL})").drop_nulls()
    if len(matches):
        near = matches[0]
        raise FormatError(f"XML cannot hold the character {near[-1]!r}, which ends {near!r}", "remove it")

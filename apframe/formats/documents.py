"""Parsing of whole JSON, XML and CSV documents; errors say what is wrong with the file."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.files import decoded, read_unpacked
from apframe.wording import first_line

_DOCTYPE = "<!DOCTYPE"
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
# any escape: both halves of a character, a half alone, or another escape
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


def read_json(path: Path, **hooks: Any) -> Any:
    """Read a JSON file, plain or gzip; see `parse_json`."""
    return parse_json(path, read_unpacked(path), **hooks)


def parse_json(path: Path, content: bytes, **hooks: Any) -> Any:
    """Parse JSON bytes that were read from the path; `hooks` are those of `json.loads`.

    Raises
    ------
    FormatError
        the file is missing, empty, not text, not JSON, cut off, nested deeper than about 900 levels, or has half a character

    >>> parse_json(Path("a.json"), b'{"images": [1, 2')
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.json: not JSON, or cut off (Expecting ',' delimiter: line 1 column 17 (char 16))
    """
    _refuse_empty(path, content)
    try:
        text = content.decode(json.detect_encoding(content))
        refuse_halves(path, text)
        with uncollected():
            return json.loads(text, **hooks)
    except FormatError:
        raise  # from a hook, or for half of a character
    except RecursionError:
        raise FormatError("cannot be read as JSON: it is nested too deeply", path=path) from None
    except ValueError as error:
        decoded(path, content)  # raises an error with the line that is not text
        raise FormatError(f"not JSON, or cut off ({error})", path=path) from None


def read_xml(path: Path) -> ElementTree.Element:
    """Return the root of an XML file, plain or gzip, in the encoding that it names.

    Raises
    ------
    FormatError
        the file is missing, empty, not XML, or cut off, or declares a document type, whose entities may expand without limit
    """
    content = read_unpacked(path)
    _refuse_empty(path, content)
    if any(_DOCTYPE.encode(encoding) in content for encoding in ("ascii", "utf-16-le", "utf-16-be")):
        raise FormatError(f"declares a document type ({_DOCTYPE} ...), which is not allowed", "remove it", path=path)
    try:
        with uncollected():
            return ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the last two are of encodings
        raise FormatError(f"not XML, cut off, or in another encoding than it says ({error})", path=path) from None


def read_csv(
    path: Path,
    *,
    has_header: bool = True,
    separator: str = ",",
    quote: str | None = '"',
    texts: Collection[str] | None = None,
) -> pl.DataFrame:
    """Read a CSV file, plain or gzip; empty fields are null, `""` is not.

    All columns are text; if `texts` names some, the types of the others are inferred.

    Raises
    ------
    FormatError
        the file is missing, empty, not UTF-8 text, or not CSV
    """
    content = read_unpacked(path)
    try:
        as_text = dict.fromkeys(texts or (), pl.String)
        frame = pl.read_csv(
            content,
            has_header=has_header,
            separator=separator,
            quote_char=quote,
            infer_schema=texts is not None,
            schema_overrides=as_text,
        )
        return frame.rename(lambda name: name.replace('""', '"'))  # Polars leaves these doubled in column names
    except pl.exceptions.NoDataError:
        raise FormatError("the file is empty", path=path) from None
    except pl.exceptions.PolarsError as error:
        decoded(path, content)
        raise FormatError(f"cannot be read as CSV ({first_line(error)})", path=path) from error


def _refuse_empty(path: Path, content: bytes) -> None:
    if not content or content.isspace():
        raise FormatError("the file is empty", path=path)


def refuse_halves(path: Path, text: str) -> None:
    """Raise an error for half of a character beyond `\\uffff`, which JSON writes as a pair: tables cannot hold a half."""
    if not _HALF.search(text):
        return  # nearly all files
    for escape in _ESCAPE.finditer(text):
        if escape["half"]:
            line = text.count("\n", 0, escape.start()) + 1
            raise FormatError(
                f"\\{escape['half']} in line {line} is half of a character (a lone surrogate)", "correct it", path=path
            )


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch garbage collection off in this context: with many new objects it takes three times as long as parsing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

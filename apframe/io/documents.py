"""Whole documents, JSON and XML, parsed; errors say what is wrong with the file."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from apframe.exceptions import FormatError
from apframe.io.files import decoded, read_unpacked


def read_json(path: Path) -> Any:
    """What a JSON file holds, plain or gzip.

    Raises
    ------
    FormatError
        a file that is missing, empty, no UTF-8 text, no JSON, or cut off
    """
    text = decoded(path, _content(path))
    try:
        with _uncollected():
            return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{path}: not JSON, or cut off ({error})") from None


def read_xml(path: Path) -> ElementTree.Element:
    """The root of an XML file, plain or gzip, in the encoding that it names.

    Raises
    ------
    FormatError
        a file that is missing, empty, no XML, or cut off
    """
    content = _content(path)
    try:
        with _uncollected():
            return ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # the last two are of encodings
        raise FormatError(f"{path}: not XML, cut off, or in another encoding than it says ({error})") from None


def _content(path: Path) -> bytes:
    content = read_unpacked(path)
    if not content or content.isspace():
        raise FormatError(f"{path}: the file is empty")
    return content


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for garbage: of many new objects, none of which is garbage, that takes three times as long as parsing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

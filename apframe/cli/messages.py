"""Messages of the library as one line each on stderr, and how the command spells the options in them."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from typing import Any

from apframe.exceptions import OutputError
from apframe.show.terminal import ReaderGoneError, one_line

_LONGEST = 10_000  # characters of a message that are printed


def say(what: str, message: str) -> None:
    """Print an error or a warning as one line on stderr."""
    if len(message) > _LONGEST:  # it lists the names of the data, which may be anything
        message = f"{message[:_LONGEST]} ... ({len(message):,} characters)"
    with suppress(OutputError, ReaderGoneError):  # then there is nowhere to say so
        print(f"{what}: {one_line(message)}", file=sys.stderr, flush=True)


_FLAGS = {"format": "--gt-format", "results_format": "--dt-format"}  # others are called as the option is


def as_flag(option: str, value: Any = None) -> str:
    """An option of the library as one of the command, for messages; see `apframe.exceptions.spelling`.

    >>> as_flag("iou_type"), as_flag("join_by_name", "images"), as_flag("format", "")
    ('--iou-type', '--join-by-name images', '--gt-format')
    """
    if option == "unknown_images":
        return f"--{value}-unknown-images"
    flag = _FLAGS.get(option, f"--{option.replace('_', '-')}")
    return f"{flag} {shlex.quote(value)}" if value else flag

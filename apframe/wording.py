"""Numbers, lists, options, near names and reasons as messages say them."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

Made = TypeVar("Made")
_LIKELY = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)  # what writing runs into


def listed(values: list[Any], most: int = 5) -> str:
    """The first few values and how many there are: `3, 8, 9, 12, 15 and 7 more`.

    >>> listed([1, 2, 3])
    '1, 2, 3'
    >>> listed(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    first = ", ".join(shown(value) for value in values[:most])
    return first if len(values) <= most else f"{first} and {len(values) - most} more"


def shown(value: Any, most: int = 200) -> str:
    """A value as a message shows it, not all of it where that is long.

    >>> shown("cat"), shown("x" * 1_000_000, 10)
    ("'cat'", "'xxxxxxxxx ... (1,000,000 characters)")
    """
    text = repr(value[: most + 1] if isinstance(value, str) else value)
    length = len(value if isinstance(value, str) else text)
    return text if length <= most else f"{text[:most]} ... ({length:,} characters)"


def counted(number: int, noun: str) -> str:
    """How many there are of something, in English.

    >>> counted(1, "image"), counted(2000, "image")
    ('1 image', '2,000 images')
    >>> counted(0, "category"), counted(2, "box"), counted(3, "key")
    ('0 categories', '2 boxes', '3 keys')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """The plural of a regular English noun.

    >>> plural("image"), plural("query"), plural("class")
    ('images', 'queries', 'classes')
    """
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search("(s|x|ch|sh)$", noun) else f"{noun}s"


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return a remedy for an unknown word: near words, or words that start with it, or all words.

    >>> did_you_mean("stepp", ["step", "trapezoid"]), did_you_mean("voc", ["coco", "voc2007"])
    ('did you mean step?', 'did you mean voc2007?')
    >>> did_you_mean("scene", ["score", "weather"])
    'there are score, weather'
    """
    return nearest(word, known) or f"there are {', '.join(known)}"


def nearest(word: str, known: Sequence[str]) -> str:
    """Ask whether a near word, or one that starts with this one, was meant; empty if there is none."""
    in_case = {name.lower(): name for name in known}
    begun = [name for name in in_case if name.startswith(word.lower())][:3] if len(word) > 1 else []
    near = difflib.get_close_matches(word.lower(), in_case, 3, cutoff=0.65) or begun
    return f"did you mean {', '.join(in_case[name] for name in near)}?" if near else ""


def first_line(error: BaseException) -> str:
    """Return the first line of the message of a foreign error.

    >>> first_line(ValueError("no\\nbecause"))
    'no'
    """
    return str(error).strip().split("\n")[0]


def reason(error: BaseException) -> str:
    """Return the reason that the operating system gives for an error, or else the first line of its message.

    Polars, DuckDB and Arrow wrap errors of the operating system in their own, which may name a damaged file where only the
    disk is full. The number of the error, or its words, are in their text.

    >>> reason(OSError(28, None))
    'no space left on device'
    >>> reason(ValueError("parquet: File out of specification: No space left on device (os error 28)"))
    'no space left on device'
    >>> reason(ValueError("no such thing\\nat all"))
    'no such thing'
    """
    if isinstance(error, OSError) and error.errno:
        return _in_words(error.errno)
    text = str(error)
    number = re.search(r"\(os error (\d+)\)", text) if os.name == "posix" else None
    if number is not None:
        return _in_words(int(number[1]))
    told = (_in_words(each) for each in _LIKELY if os.strerror(each).lower() in text.lower())
    return next(told, first_line(error))


def _in_words(number: int) -> str:
    words = os.strerror(number)
    return words[:1].lower() + words[1:]


def spelled(option: str, value: str | None = None) -> str:
    """An option as the reader of a message writes it, with a value if there is one: a keyword, or a flag in the command.

    >>> spelled("iou_type"), spelled("split", "val"), spelled("split", "")
    ('iou_type', 'split="val"', 'split=')
    """
    return _spell.get()(option, value)


def as_keyword(option: str, value: str | None) -> str:
    """An option as Python has it: its name, `name=`, `name="value"`, or `name=True`."""
    if value is None:
        return option
    if value == "True":
        return f"{option}={value}"
    return f'{option}="{value}"' if value else f"{option}="


_spell: ContextVar[Callable[[str, str | None], str]] = ContextVar("_spell", default=as_keyword)


@contextmanager
def spelling(spell: Callable[[str, str | None], str]) -> Iterator[None]:
    """Messages from inside name options in other words, those of the command; of threads too that apframe starts there.

    >>> with spelling(lambda option, value: f"--{option} {value}"):
    ...     spelled("split", "val")
    '--split val'
    """
    before = _spell.set(spell)
    try:
        yield
    finally:
        _spell.reset(before)


def spelling_as_here(function: Callable[[], Made]) -> Callable[[], Made]:
    """A function whose messages name options as here, in whatever thread and however late it runs.

    >>> with spelling(lambda option, value: f"--{option}"):
    ...     later = spelling_as_here(lambda: spelled("split"))
    >>> later()
    '--split'
    """
    spell = _spell.get()

    def made() -> Made:
        with spelling(spell):
            return function()

    return made

"""Numbers, lists, options, near names and reasons as messages say them."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

Made = TypeVar("Made")
_FIRST = 5  # values that a message shows
_LIKELY = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)  # what writing runs into


def listed(values: list[Any], max_shown: int = _FIRST) -> str:
    """Return the first few values and the number of others: `3, 8, 9, 12, 15 and 7 more`.

    >>> listed([1, 2, 3])
    '1, 2, 3'
    >>> listed(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    first = ", ".join(shown(value) for value in values[:max_shown])
    return first if len(values) <= max_shown else f"{first} and {len(values) - max_shown} more"


def short(values: Sequence[float]) -> str:
    """Return a few numbers as text, or the first and the last of many.

    >>> short([0.5, 0.75]), short(range(9))
    ('(0.5, 0.75)', '0 to 8 in 9 steps')
    """
    return str(tuple(values)) if len(values) <= 4 else f"{values[0]:g} to {values[-1]:g} in {len(values)} steps"


def shown(value: Any, max_length: int = 200) -> str:
    """Return a value as a message shows it, cut off if it is long.

    >>> shown("cat"), shown("x" * 1_000_000, 10)
    ("'cat'", "'xxxxxxxxx ... (1,000,000 characters)")
    """
    text = repr(value[: max_length + 1] if isinstance(value, str) else value)
    length = len(value if isinstance(value, str) else text)
    return text if length <= max_length else f"{text[:max_length]} ... ({length:,} characters)"


def cut(text: str, max_length: int) -> str:
    """Return a text of at most `max_length` letters; a longer one is cut off and ends in an ellipsis.

    >>> cut("fish", 4), cut("fish stock", 6)
    ('fish', 'fish …')
    """
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun in English, in the singular or the plural.

    >>> counted(1, "image"), counted(2000, "image")
    ('1 image', '2,000 images')
    >>> counted(0, "category"), counted(2, "box"), counted(3, "key")
    ('0 categories', '2 boxes', '3 keys')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


class Count(NamedTuple):
    """A number of things, with an optional total (`of`), a detail about them, and the ids of the first ones.

    >>> print(Count("box", 2, of=9), Count("image", 7, detail=" of unknown size", ids=(3, 4, 8, 9, 11)), sep="; ")
    2 of 9 boxes; 7 images of unknown size (3, 4, 8, 9, 11 and 2 more)
    """

    noun: str
    n: int
    of: int = 0
    detail: str = ""
    ids: Sequence[Any] = ()

    def __str__(self) -> str:
        """Return the count as notes show it."""
        more = f" and {self.n - len(self.ids):,} more" if self.n > len(self.ids) else ""
        ids = f" ({listed([*self.ids])}{more})" if self.ids else ""
        return f"{f'{self.n:,} of ' if self.of else ''}{counted(self.of or self.n, self.noun)}{self.detail}{ids}"


class Note(NamedTuple):
    """A sentence about what was done to the data; `{}` stands for its counts. A note whose counts are all 0 is left out."""

    words: str
    counts: Sequence[Count] = ()
    between: str = " and "


def merged(notes: Iterable[Note], add: Callable[[Iterable[int]], int] = sum) -> list[Note]:
    """Return each note once; `add` combines the counts of equal notes, by default as their sum."""
    same: dict[tuple[str, str], dict[tuple[str, str], list[Count]]] = {}
    for words, counts, between in notes:
        groups = same.setdefault((words, between), {})
        for count in counts:
            groups.setdefault((count.noun, count.detail), []).append(count)
    return [
        Note(words, [_merged(counts, add) for counts in groups.values()], between) for (words, between), groups in same.items()
    ]


def _merged(counts: Sequence[Count], add: Callable[[Iterable[int]], int]) -> Count:
    n, of = (add([getattr(count, name) for count in counts]) for name in ("n", "of"))
    ids = dict.fromkeys(each for count in counts for each in count.ids)
    return Count(counts[0].noun, n, of, counts[0].detail, [*ids][:_FIRST])


def in_words(notes: Iterable[Note]) -> list[str]:
    """Return the texts of notes; the counts of equal notes are added up.

    >>> in_words([Note("turned: {}", [Count("box", 0, of=3)]), Note("no AP")])
    ['no AP']
    >>> in_words([Note("turned: {}", [Count("box", 1, of=3)]), Note("turned: {}", [Count("box", 2, of=4), Count("cuboid", 1)])])
    ['turned: 3 of 7 boxes and 1 cuboid']
    """
    return [
        words.replace("{}", between.join(str(count) for count in counts if count.n)) if counts else words
        for words, counts, between in merged(notes)
        if not counts or any(count.n for count in counts)
    ]


def plural(noun: str) -> str:
    """Return the plural of a regular English noun.

    >>> plural("image"), plural("query"), plural("class")
    ('images', 'queries', 'classes')
    """
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search("(s|x|ch|sh)$", noun) else f"{noun}s"


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return a remedy for an unknown word: similar words, words that start with it, or else all words.

    >>> did_you_mean("stepp", ["step", "trapezoid"]), did_you_mean("voc", ["coco", "voc2007"])
    ('did you mean step?', 'did you mean voc2007?')
    >>> did_you_mean("scene", ["score", "weather"])
    'there are score, weather'
    """
    return nearest(word, known) or f"there are {', '.join(known)}"


def nearest(word: str, known: Sequence[str], max_words: int = 3) -> str:
    """Ask if a similar word, or one that starts with this one, was meant; empty if there is none."""
    in_case = {name.lower(): name for name in known}
    begun = [name for name in in_case if name.startswith(word.lower())][:max_words] if len(word) > 1 else []
    near = difflib.get_close_matches(word.lower(), in_case, max_words, cutoff=0.65) or begun
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
    matches = (_in_words(each) for each in _LIKELY if os.strerror(each).lower() in text.lower())
    return next(matches, first_line(error))


def _in_words(number: int) -> str:
    words = os.strerror(number)
    return words[:1].lower() + words[1:]


def option_name(option: str, value: str | None = None) -> str:
    """Return an option as the reader of a message writes it, a keyword or a flag of the command, with its value if it has one.

    >>> option_name("iou_type"), option_name("split", "val"), option_name("split", "")
    ('iou_type', 'split="val"', 'split=')
    """
    return _style.get()(option, value)


def as_keyword(option: str, value: str | None) -> str:
    """Return an option as Python code: its name, `name=`, `name="value"`, or `name=True`."""
    if value is None:
        return option
    if value == "True":
        return f"{option}={value}"
    return f'{option}="{value}"' if value else f"{option}="


_style: ContextVar[Callable[[str, str | None], str]] = ContextVar("_style", default=as_keyword)


@contextmanager
def option_style(style: Callable[[str, str | None], str]) -> Iterator[None]:
    """Have messages from inside the block, and from threads that apframe starts there, write options as `style` does.

    >>> with option_style(lambda option, value: f"--{option} {value}"):
    ...     option_name("split", "val")
    '--split val'
    """
    before = _style.set(style)
    try:
        yield
    finally:
        _style.reset(before)


def with_option_style(function: Callable[[], Made]) -> Callable[[], Made]:
    """Wrap a function so that its messages write options as they are written here, in any thread and however late it runs.

    >>> with option_style(lambda option, value: f"--{option}"):
    ...     later = with_option_style(lambda: option_name("split"))
    >>> later()
    '--split'
    """
    style = _style.get()

    def run() -> Made:
        with option_style(style):
            return function()

    return run


def same_name(name: Any, known: Iterable[str]) -> str | None:
    """Return the known name that equals this one, ignoring case, blanks, "-" and "_"; None if there is none.

    >>> same_name("Open-Images", ["coco", "open_images"]), same_name("lvis", ["coco"])
    ('open_images', None)
    """
    return {_letters(each): each for each in known}.get(_letters(str(name)))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def frozen(value: Any) -> Any:
    """Return the value with tuples in place of lists, also within mappings.

    >>> frozen({"a": [1, [2]]})
    {'a': (1, (2,))}
    """
    if isinstance(value, Mapping):
        return {name: frozen(item) for name, item in value.items()}
    return tuple(frozen(item) for item in value) if isinstance(value, (list, tuple)) else value

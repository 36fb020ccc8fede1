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


def listed(values: list[Any], most: int = _FIRST) -> str:
    """The first few values and how many there are: `3, 8, 9, 12, 15 and 7 more`.

    >>> listed([1, 2, 3])
    '1, 2, 3'
    >>> listed(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    first = ", ".join(shown(value) for value in values[:most])
    return first if len(values) <= most else f"{first} and {len(values) - most} more"


def short(values: Sequence[float]) -> str:
    """A few numbers, or the first and last of many.

    >>> short([0.5, 0.75]), short(range(9))
    ('(0.5, 0.75)', '0 to 8 in 9 steps')
    """
    return str(tuple(values)) if len(values) <= 4 else f"{values[0]:g} to {values[-1]:g} in {len(values)} steps"


def shown(value: Any, most: int = 200) -> str:
    """A value as a message shows it, not all of it where that is long.

    >>> shown("cat"), shown("x" * 1_000_000, 10)
    ("'cat'", "'xxxxxxxxx ... (1,000,000 characters)")
    """
    text = repr(value[: most + 1] if isinstance(value, str) else value)
    length = len(value if isinstance(value, str) else text)
    return text if length <= most else f"{text[:most]} ... ({length:,} characters)"


def cut(text: str, most: int) -> str:
    """The text, or its beginning with a sign that it goes on: at most so many letters.

    >>> cut("fish", 4), cut("fish stock", 6)
    ('fish', 'fish …')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(number: int, noun: str) -> str:
    """How many there are of something, in English.

    >>> counted(1, "image"), counted(2000, "image")
    ('1 image', '2,000 images')
    >>> counted(0, "category"), counted(2, "box"), counted(3, "key")
    ('0 categories', '2 boxes', '3 keys')
    """
    return f"{number:,} {noun if number == 1 else plural(noun)}"


class Count(NamedTuple):
    """How many of something, `of` how many if that is said too, what is special about them, and the ids of the first.

    >>> print(Count("box", 2, of=9), Count("image", 7, detail=" of unknown size", ids=(3, 4, 8, 9, 11)), sep="; ")
    2 of 9 boxes; 7 images of unknown size (3, 4, 8, 9, 11 and 2 more)
    """

    noun: str
    n: int
    of: int = 0
    detail: str = ""
    ids: Sequence[Any] = ()

    def __str__(self) -> str:
        """As a note says it."""
        more = f" and {self.n - len(self.ids):,} more" if self.n > len(self.ids) else ""
        ids = f" ({listed([*self.ids])}{more})" if self.ids else ""
        return f"{f'{self.n:,} of ' if self.of else ''}{counted(self.of or self.n, self.noun)}{self.detail}{ids}"


class Note(NamedTuple):
    """What was done to the data, in words; `{}` stands for counts. A note that only counts nothing is not said."""

    words: str
    counts: Sequence[Count] = ()
    between: str = " and "


def merged(notes: Iterable[Note], add: Callable[[Iterable[int]], int] = sum) -> list[Note]:
    """Each note once; counts of the same are added up, or whatever else `add` makes of them."""
    same: dict[tuple[str, str], dict[tuple[str, str], list[Count]]] = {}
    for words, counts, between in notes:
        known = same.setdefault((words, between), {})
        for count in counts:
            known.setdefault((count.noun, count.detail), []).append(count)
    return [
        Note(words, [_merged(counts, add) for counts in known.values()], between) for (words, between), known in same.items()
    ]


def _merged(counts: Sequence[Count], add: Callable[[Iterable[int]], int]) -> Count:
    n, of = (add([getattr(count, name) for count in counts]) for name in ("n", "of"))
    ids = dict.fromkeys(each for count in counts for each in count.ids)
    return Count(counts[0].noun, n, of, counts[0].detail, [*ids][:_FIRST])


def in_words(notes: Iterable[Note]) -> list[str]:
    """The texts of notes; counts of the same are added up.

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


def nearest(word: str, known: Sequence[str], most: int = 3) -> str:
    """Ask whether a near word, or one that starts with this one, was meant; empty if there is none."""
    in_case = {name.lower(): name for name in known}
    begun = [name for name in in_case if name.startswith(word.lower())][:most] if len(word) > 1 else []
    near = difflib.get_close_matches(word.lower(), in_case, most, cutoff=0.65) or begun
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


def same_name(name: Any, known: Iterable[str]) -> str | None:
    """The known name that is this one but for case, blanks, "-" and "_"; None if there is none.

    >>> same_name("Open-Images", ["coco", "open_images"]), same_name("lvis", ["coco"])
    ('open_images', None)
    """
    return {_letters(each): each for each in known}.get(_letters(str(name)))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def frozen(value: Any) -> Any:
    """The value with tuples in place of lists, also within mappings.

    >>> frozen({"a": [1, [2]]})
    {'a': (1, (2,))}
    """
    if isinstance(value, Mapping):
        return {name: frozen(item) for name, item in value.items()}
    return tuple(frozen(item) for item in value) if isinstance(value, (list, tuple)) else value

"""Everything apframe raises or warns of; each message says what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

_LIKELY = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO)  # what writing runs into


class ApframeError(Exception):
    """The base of all errors of apframe. Its message is one readable line."""


class InputError(ApframeError, ValueError):
    """The data that was given cannot be evaluated."""


class FormatError(InputError):
    """A file is missing, unreadable, cut off, or not in the format it was given as."""


class ColumnError(InputError):
    """A column is missing, or holds another type than the table needs."""


class RowError(InputError):
    """Some rows of a table hold values that cannot be right.

    `table` is the table's name, `key` its id column (or "row", counted from 1), `rows` the ids of all such rows; `problem` and
    `remedy` are the words of the message.
    """

    def __init__(self, table: str, problem: str, key: str, rows: Iterable[Any], remedy: str) -> None:
        self.table, self.problem, self.key, self.rows, self.remedy = table, problem, key, list(rows), remedy
        super().__init__(f"{table}: {problem} where {key} is {listed(self.rows)}; {remedy}")

    def __reduce__(self) -> Any:  # BaseException would call __init__ with the message alone
        return type(self), (self.table, self.problem, self.key, self.rows, self.remedy)


class DuplicateIdError(RowError):
    """An id that must be unique stands in several rows."""


class UnknownIdError(RowError):
    """Rows refer to an image or a category that is not in its table; `of_all_rows`: each row does."""

    of_all_rows = False


class ScoreError(InputError):
    """A score or a relevance is NaN, so that nothing can be ranked by it; the message names the rows."""


class IdTypeError(InputError):
    """Ids are integers on one side and strings on the other."""


class ParameterError(ApframeError, ValueError):
    """An option has a value that it cannot take."""


class OutputError(ApframeError, OSError):
    """Results cannot be written to the place that was named."""


class QueryError(ApframeError, ValueError):
    """An SQL query failed; the message carries what DuckDB said and the tables there are."""


class ApframeWarning(UserWarning):
    """The base of all warnings of apframe."""


class UnknownCategoryWarning(ApframeWarning):
    """Detections of categories that the ground truth does not have were dropped."""


class UnknownImageWarning(ApframeWarning):
    """All detections were dropped, for the ground truth has none of their images."""


class NoAnnotationsWarning(ApframeWarning):
    """There is nothing to find, so no metric is defined."""


class MissingColumnWarning(ApframeWarning):
    """The data has no column that some of a protocol's numbers are about, which are null."""


class UnknownValueWarning(ApframeWarning):
    """A column has values that a protocol does not know, and none of some that it has numbers of, which are null."""


class UnitWarning(ApframeWarning):
    """Numbers look as if they were of another unit than the one they are taken in."""


class CountWarning(ApframeWarning):
    """A number of positives or negatives is not what it seems: smaller than that of those present, or no label is negative."""


class RepeatedImageWarning(ApframeWarning):
    """Several results of an image came, which differ; one of them was kept."""


class ShapesLeftOutWarning(ApframeWarning):
    """A file has shapes that are no boxes, polygons or masks of objects; these were left out."""


class RunsDifferWarning(ApframeWarning):
    """Runs that stand side by side were measured on different data or by different rules."""


class RunsLeftOutWarning(ApframeWarning):
    """Folders that a pattern matches hold evaluations of another kind, and were left out."""


def listed(values: list[Any], most: int = 5) -> str:
    """The first few values and how many there are: `3, 8, 9, 12, 15 and 7 more`.

    >>> listed([1, 2, 3])
    '1, 2, 3'
    >>> listed(list("abcdefg"))
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def counted(number: int, noun: str) -> str:
    """How many there are of something whose plural ends in s.

    >>> counted(1, "image"), counted(2000, "image")
    ('1 image', '2,000 images')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def first_line(error: BaseException) -> str:
    """What a foreign error says, without what it adds on further lines.

    >>> first_line(ValueError("no\\nbecause"))
    'no'
    """
    return str(error).strip().split("\n")[0]


def reason(error: BaseException) -> str:
    """What the operating system says is wrong, in words, or else the first line of an error.

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


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the near ones, or all of them.

    >>> did_you_mean("stepp", ["step", "trapezoid"])
    '; did you mean step?'
    """
    in_case = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), in_case, 3)
    return f"; did you mean {', '.join(in_case[name] for name in near)}?" if near else f"; there are {', '.join(known)}"

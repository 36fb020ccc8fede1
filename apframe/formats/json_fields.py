"""Fields of JSON objects as typed columns; errors name the objects and their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.rows import first_few, row_numbers
from apframe.validation import Sieve
from apframe.wording import listed, plural

_LARGEST = 2**63
OF_SAMPLES = ("sample_token", "detection_name", "use_lidar")
"""Keys of results of samples, or of the sensors that were used, as in kits for driving."""


class Fields(Sieve):
    """The objects of a JSON file, such as detections, and the place of each, such as its frame.

    Invalid objects are rejected, and null in the columns; if `table` is empty, an error is raised immediately.

    Attributes
    ----------
    table, path
        the table that the objects belong to, and the file
    noun, unit
        the words for an object and its place, such as "detection" and "frame"; without a unit, objects have no places
    rows, places
        the objects, and the place of each

    >>> rows = [{"score": 0.5}, {"score": "high"}]
    >>> fields = Fields("detections", Path("a.json"), "detection", "frame", rows, ["f1", "f2"])
    >>> fields.number("score")
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.json: score is missing or not a number in detection 2 (frame 'f2'); correct the file
    """

    def __init__(self, table: str, path: Path, noun: str, unit: str, rows: Sequence[Any], places: Sequence[str] = ()) -> None:
        super().__init__(table, pl.DataFrame())
        self.path, self.noun, self.unit, self.places = path, noun, unit, places
        self._read(rows)

    def _read(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        if not set(map(type, rows)) <= {dict}:
            self.refuse_each([not isinstance(row, dict) for row in rows], "there is no JSON object")
            self.rows = [row if isinstance(row, dict) else {} for row in rows]

    def refuse_each(self, wrong: Sequence[bool], problem: str) -> None:
        """Reject the flagged objects: the error has their numbers, from 1, and the place of the first."""
        if any(wrong) and (broken := self.new(pl.Series(wrong))).any():
            numbers = row_numbers(broken)
            noun = self.noun if len(numbers) == 1 else plural(self.noun)
            place = f" ({self.unit} {self.places[numbers[0] - 1]!r})" if self.unit else ""
            where = f"{problem} in {noun} {listed(numbers)}{place}"
            error = FormatError(where, "correct the file", path=self.path, rows=numbers)
            if not self.table:
                raise error
            self.refuse_as(broken, error, problem)

    def names_of(self, broken: pl.Series) -> tuple[str, ...]:
        """Return the numbers of the first few flagged objects."""
        return tuple(f"{self.noun} {number}" for number in first_few(row_numbers(broken)))

    def number(self, name: str, *, optional: bool = False) -> pl.Series:
        """Return a column of numbers; null for missing ones, if `optional`."""
        return pl.Series(name, self._sound(name, float, _is_number, "a number", optional=optional), dtype=pl.Float64)

    def whole(self, name: str) -> pl.Series:
        """Return a column of whole numbers from 0."""
        return pl.Series(name, self._sound(name, None, _is_whole, "a whole number"), dtype=pl.Int64)

    def numbers(self, name: str, n: int, *, optional: bool = False) -> list[pl.Series]:
        """Return n columns from lists of n numbers; null for missing lists, if `optional`."""
        values = [row.get(name) for row in self.rows]
        present = [value for value in values if value is not None] if optional else values
        are_lists = set(map(type, present)) <= {list} and set(map(len, present)) <= {n}
        if not (are_lists and set(map(type, chain.from_iterable(present))) <= {float}):  # a fast check for the usual case
            values = self._sound(name, None, lambda value: _are_numbers(value, n), f"{n} numbers", optional=optional)
        filled = [[None] * n if value is None else value for value in values]
        return [pl.Series(name, [value[place] for value in filled], dtype=pl.Float64) for place in range(n)]

    def text(self, name: str, *, optional: bool = False) -> pl.Series:
        """Return a column of texts; null for missing ones, if `optional`."""
        values = self._sound(name, str, lambda value: isinstance(value, str), "text", optional=optional)
        return pl.Series(name, values, dtype=pl.String)

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Return a list of objects; missing ones are empty."""
        values = [row.get(name) or {} for row in self.rows]
        self.refuse_each([not isinstance(value, dict) for value in values], f"{name} is not an object")
        return [value if isinstance(value, dict) else {} for value in values]

    def enter(self, name: str) -> None:
        """Continue with the nested objects under a name."""
        self._read([row.get(name) for row in self.rows])

    def refuse_repeated(self, names: pl.Series, problem: str) -> None:
        """Raise an error immediately if several objects have the same name."""
        if (is_double := names.is_duplicated()).any():
            which = listed(names.filter(is_double).unique(maintain_order=True).to_list())
            raise FormatError(f"{problem} {which}", "merge them into one", path=self.path)

    def _sound(
        self, name: str, usual: type | None, is_right: Callable[[Any], bool], what: str, *, optional: bool = False
    ) -> list[Any]:
        """Return the values; invalid ones are rejected and None. Values that are all of the `usual` type need no checks."""
        values = [row.get(name) for row in self.rows]
        if usual is not None and set(map(type, values)) <= {usual, *([type(None)] if optional else [])}:
            return values
        wrong = [not (is_right(value) or (optional and value is None)) for value in values]
        self.refuse_each(wrong, f"{name} is {'' if optional else 'missing or '}not {what}")
        return [None if is_wrong else value for value, is_wrong in zip(values, wrong, strict=True)]


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < _LARGEST)


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _are_numbers(value: Any, n: int) -> bool:
    return isinstance(value, list) and len(value) == n and all(map(_is_number, value))

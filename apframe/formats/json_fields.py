"""Fields of JSON objects as typed columns; errors say which objects are wrong, and where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.wording import listed, plural

_LARGEST = 2**63
OF_SAMPLES = ("sample_token", "detection_name", "use_lidar")
"""Keys of results that are of samples, or say which sensors were used: as kits for driving write them."""


@dataclass(frozen=True)
class Fields:
    """Objects of a JSON file, such as its detections, and the place of each, such as its frame.

    Attributes
    ----------
    path
        the file
    noun, unit
        what an object is called, and what its place is: "detection" and "frame"; without a unit, objects have no places
    rows, places
        the objects, and the place of each

    >>> found = Fields(Path("a.json"), "detection", "frame", [{"score": 0.5}, {"score": "high"}], ["f1", "f2"])
    >>> found.number("score")
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.json: score is missing or not a number in detection 2 (frame 'f2'); correct the file
    """

    path: Path
    noun: str
    unit: str
    rows: Sequence[Any]
    places: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.refuse([not isinstance(row, dict) for row in self.rows], "there is no JSON object")

    def refuse(self, wrong: Iterable[bool], problem: str) -> None:
        """An error that names the objects that are flagged: their numbers, from 1, and the place of the first."""
        numbers = list(compress(range(1, len(self.rows) + 1), wrong))
        if numbers:
            noun = self.noun if len(numbers) == 1 else plural(self.noun)
            place = f" ({self.unit} {self.places[numbers[0] - 1]!r})" if self.unit else ""
            raise FormatError(f"{problem} in {noun} {listed(numbers)}{place}", "correct the file", path=self.path, rows=numbers)

    def number(self, name: str, *, optional: bool = False) -> pl.Series:
        """A column of numbers; null where they are missing, if that is allowed."""
        values = self._values(name)
        if not set(map(type, values)) <= {float, *([type(None)] if optional else [])}:
            self._refuse_others(name, values, _is_number, "a number", optional=optional)
        return pl.Series(name, values, dtype=pl.Float64)

    def whole(self, name: str) -> pl.Series:
        """A column of whole numbers of at least 0."""
        values = self._values(name)
        self._refuse_others(name, values, _is_whole, "a whole number", optional=False)
        return pl.Series(name, values, dtype=pl.Int64)

    def numbers(self, name: str, n: int, *, optional: bool = False) -> list[pl.Series]:
        """The n columns of lists of n numbers; null where the list is missing, if that is allowed."""
        values = self._values(name)
        given = [value for value in values if value is not None] if optional else values
        are_lists = set(map(type, given)) <= {list} and set(map(len, given)) <= {n}
        if not (are_lists and set(map(type, chain.from_iterable(given))) <= {float}):  # the usual case is seen at once
            self._refuse_others(name, values, lambda value: _are_numbers(value, n), f"{n} numbers", optional=optional)
        filled = [[None] * n if value is None else value for value in values]
        return [pl.Series(name, [value[place] for value in filled], dtype=pl.Float64) for place in range(n)]

    def text(self, name: str, *, optional: bool = False) -> pl.Series:
        """A column of texts; null where they are missing, if that is allowed."""
        values = self._values(name)
        self._refuse_others(name, values, lambda value: isinstance(value, str), "text", optional=optional)
        return pl.Series(name, values, dtype=pl.String)

    def _values(self, name: str) -> list[Any]:
        return [row.get(name) for row in self.rows]

    def _refuse_others(
        self, name: str, values: list[Any], is_right: Callable[[Any], bool], what: str, *, optional: bool
    ) -> None:
        wrong = [not (is_right(value) or (optional and value is None)) for value in values]
        self.refuse(wrong, f"{name} is {'' if optional else 'missing or '}not {what}")


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < _LARGEST)


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < _LARGEST


def _are_numbers(value: Any, n: int) -> bool:
    return isinstance(value, list) and len(value) == n and all(map(_is_number, value))

"""The values of a tag in order: numbers and dates, also in texts, by size, and other texts as given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from apframe.exceptions import ParameterError


class TagValues(NamedTuple):
    """The values of a tag, in the order of the runs.

    Attributes
    ----------
    kind
        "number", "date" or "text"
    labels
        the values as texts
    places
        their positions: numbers themselves, seconds for dates, and 0, 1, 2 ... for other texts, the same for equal ones
    """

    kind: str
    labels: list[str]
    places: list[float]


def tag_values(tag: str, values: Sequence[Any], runs: Sequence[str], option: str) -> TagValues:
    """Return the values of a tag as texts, and their places on an axis.

    Parameters
    ----------
    tag, values, runs
        the name of the tag, its values, and the names of their runs
    option
        the option that named the tag, for the error

    Raises
    ------
    ParameterError
        some values are numbers or dates, and others are not

    >>> tag_values("epoch", ["10", 9], ["new", "old"], "tag")
    TagValues(kind='number', labels=['10', '9'], places=[10.0, 9.0])
    >>> tag_values("size", ["small", "large", "small"], ["a", "b", "c"], "tag").places
    [0.0, 1.0, 0.0]
    """
    labels = [_label(value) for value in values]
    kinds = {"number": [_number(value) for value in values], "date": [_seconds(value) for value in values]}
    for kind, places_of_kind in kinds.items():
        if None not in places_of_kind:
            return TagValues(kind, labels, [float(place) for place in places_of_kind if place is not None])
        if (some := next((k for k, place in enumerate(places_of_kind) if place is not None), None)) is not None:
            other = places_of_kind.index(None)
            problem = f"{tag} is a {kind} in {runs[some]} ({labels[some]}), but not in {runs[other]} ({labels[other]})"
            raise ParameterError(problem, "make all of them numbers, or dates such as 2026-11-02", option=option)
    places = {label: float(place) for place, label in enumerate(dict.fromkeys(labels))}
    return TagValues("text", labels, [places[label] for label in labels])


def _label(value: Any) -> str:
    """Return a value as text."""
    if isinstance(value, date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, str):
        return value
    number = _number(value)
    return str(value) if number is None else f"{number:.12g}" if number % 1 or abs(number) >= 1e15 else f"{number:.0f}"


def _number(value: Any) -> float | None:
    """Return a finite number, also one in a text; None for anything else."""
    if isinstance(value, (bool, date)):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _seconds(value: Any) -> float | None:
    """Return the seconds of a date, or of a text in ISO 8601; dates without a time zone are in UTC."""
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except (ValueError, AttributeError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()

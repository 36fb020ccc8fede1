"""Arguments of users for the choices of a protocol, and their conversion to the values that it stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from operator import index
from typing import Any

from apframe.metrics.definitions import as_metrics
from apframe.protocols.headlines import Part
from apframe.protocols.ranges import ALL, AreaRange, Range
from apframe.similarity.named import as_iou_type, as_similarity

OPTIONS = {"matcher": "matching", "ranges": "area_ranges"}  # by field: options with other names in `evaluate`
UNLIMITED = 2**31 - 1  # instead of None, which means all detections


def linspace(start: float, stop: float, n: int) -> tuple[float, ...]:
    """Return the doubles of `numpy.linspace`, which equal the reference's thresholds and levels to the last bit.

    >>> linspace(0.5, 0.95, 10)[8]
    0.8999999999999999
    """
    step = (stop - start) / (n - 1)
    return (*(k * step + start for k in range(n - 1)), stop)


def _several(values: Any) -> Any:
    return [values] if values is None or isinstance(values, (Real, str, Part)) else values


def numbers(values: Any) -> tuple[float, ...]:
    """Return one number or several as a tuple; for a mapping from names, its values.

    >>> numbers(1), numbers({"Car": 0.7})
    ((1.0,), (0.7,))
    """
    if isinstance(values, Mapping):
        return tuple(value for _, value in _by_name(values.items()))
    return tuple(float(value) for value in _several(values))


def _by_name(values: Any) -> tuple[tuple[str, float], ...]:
    return tuple((_text(name), float(value)) for name, value in values)


def _limits(values: Any) -> tuple[int | None, ...]:
    values = [*_several(values)]
    if any(isinstance(limit, bool) for limit in values):
        raise TypeError("a number of detections cannot be True or False")
    limits = [None if limit is None else index(limit) for limit in values]
    return tuple(sorted(limits, key=lambda limit: UNLIMITED if limit is None else limit))


def area_ranges(values: Any) -> tuple[Range, ...]:
    """Return ranges unchanged, or area ranges from names and bounds; a mapping without "all" gets it as its first range.

    >>> [each.name for each in area_ranges({"tiny": (0, 9)})]
    ['all', 'tiny']
    """
    if isinstance(values, Mapping):
        every = [] if ALL.name in values else [ALL]
        values = [*every, *((name, low, high) for name, (low, high) in values.items())]
    return tuple(each if isinstance(each, Range) else _area_range(each) for each in values)


def _area_range(value: Any) -> AreaRange:
    name, low, high = value
    return AreaRange(str(name), float(low), float(high))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text is needed")
    return value


def _headlines(values: Any) -> tuple[str | Part, ...]:
    return tuple(value if isinstance(value, Part) else _text(value) for value in _several(values))


# conversions of arguments to a protocol's values, by field
TAKES: dict[str, Callable[[Any], Any]] = {
    "name": _text, "citation": _text, "iou_type": as_iou_type, "similarity": as_similarity,
    "iou_thresholds": numbers, "category_thresholds": _by_name, "ranges": area_ranges, "max_detections": _limits,
    "headlines": _headlines, "metrics": as_metrics, "rules": tuple,
}  # fmt: skip

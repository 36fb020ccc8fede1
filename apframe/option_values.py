"""Values of options that are checked: one of a few words, a share, a whole number, a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

from apframe.exceptions import ParameterError
from apframe.wording import did_you_mean, nearest, same_name, shown

Value = TypeVar("Value")


def one_of(option: str, value: Value, allowed: Sequence[Any]) -> Value:
    """Return the value of an option if it is one of the allowed values.

    Raises
    ------
    ParameterError
        the value is not allowed; a similar one is suggested

    >>> one_of("level", "category", ["summary", "category"])
    'category'
    >>> one_of("level", "categories", ["summary", "category"])
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: level is "summary" or "category", not 'categories'; did you mean category?
    """
    if value in allowed:
        return value
    *others, last = (f'"{each}"' if isinstance(each, str) else repr(each) for each in allowed)
    words = " or ".join(filter(None, [", ".join(others), last]))
    near = [each for each in allowed if isinstance(each, str) and isinstance(value, str)]
    raise ParameterError(f"is {words}, not {shown(value)}", nearest(str(value), near), option=option)


def proper_share(option: str, value: Any, such_as: float = 0.95) -> float:
    """Return the value of an option if it is a number between 0 and 1, both excluded.

    Raises
    ------
    ParameterError
        the value is not such a number

    >>> proper_share("confidence", 0.9)
    0.9
    >>> proper_share("confidence", 95)
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: confidence is between 0 and 1, such as 0.95, not 95
    """
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ParameterError(f"is between 0 and 1, such as {such_as}, not {value!r}", option=option)
    return float(value)


def whole_number(option: str, value: Any, min_value: int = 1, max_value: float = inf) -> int:
    """Return the value of an option if it is a whole number in a range. NumPy integers are accepted, True and False are not.

    >>> whole_number("bins", 2000, max_value=1000)
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: bins is a whole number from 1 to 1000, not 2000
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or not min_value <= int(value) <= max_value:
        bounds = f"of at least {min_value}" if max_value == inf else f"from {min_value} to {max_value}"
        raise ParameterError(f"is a whole number {bounds}, not {shown(value)}", option=option)
    return int(value)


def by_name(kind: str, name: str, values: Mapping[str, Value]) -> Value:
    """Return the value of a name, ignoring case, blanks, "-" and "_".

    Raises
    ------
    ParameterError
        no value has this name; similar names are suggested

    >>> by_name("protocol", "open images", {"open_images": 7})
    7
    >>> by_name("protocol", "voc2008", {"voc2007": 1, "voc2012": 2})
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no protocol 'voc2008'; did you mean voc2007, voc2012?
    """
    match = same_name(name, values)
    if match is None:
        raise ParameterError(f"no {kind} {shown(name)}", did_you_mean(str(name), list(values)))
    return values[match]

"""Values that an object computes when they are first asked for, and keeps."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801 - the name that everybody knows
    """`functools.cached_property` as it is from Python 3.12 on: without a lock.

    On Python 3.11 the property of one object waits while another thread computes that of another object. Without the lock, two
    threads that ask one object at the same time may both compute the value, which is the same.

    >>> class Circle:
    ...     @cached_property
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return 3.0
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.0, 3.0)
    """

    if not TYPE_CHECKING:  # type checkers read that of functools, which knows the type of the value

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            """Return the value, computed the first time."""
            if instance is None:
                return self
            values = vars(instance)
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]

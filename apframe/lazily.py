"""Values that are computed, and methods that are imported, at their first use, and then kept."""

from __future__ import annotations

import functools
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from apframe import static_table

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801 - the name that everybody knows
    """`functools.cached_property` of Python 3.12 and later, which has no lock.

    On Python 3.11 the property of one object waits while another thread computes that of another object. Without the lock, two
    threads that read one object at the same time may both compute the value, with the same result.

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
            """Return the value, which is computed at the first call."""
            if instance is None:
                return self
            values = vars(instance)
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]


def homes_of(package: str) -> dict[str, str]:
    """Return the module of each public name of a package, from `apframe.static_table`.

    >>> homes_of("apframe.similarity")["BoxIoU"]
    'apframe.similarity.box_iou'
    """
    return {name: module for module, names in static_table.NAMES[package].items() for name in names.split()}


def public_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose public names are imported when they are first used.

    >>> get, names, _ = public_names("apframe.similarity")
    >>> "BoxIoU" in names(), get("BoxIoU")
    (True, <class 'apframe.similarity.box_iou.BoxIoU'>)
    """
    homes = homes_of(package)

    def get(name: str) -> Any:
        module = sys.modules[package]
        if name not in homes:
            # with both, Python asks "Did you mean"
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    return get, lambda: sorted(homes), sorted(homes)


class Loaded(ABC):
    """A stand-in for a value in an `apframe.registry.Registry`, until the value is needed."""

    @abstractmethod
    def load(self) -> Any:
        """Return the value."""


def methods_of(package: str, modules: str) -> Iterator[Any]:
    """Yield stand-ins for modules whose functions are methods of a class; the first use of a method imports its module.

    >>> class Text(str):
    ...     (of_texts,) = methods_of("xml.sax", "saxutils")
    ...     escaped = of_texts.escape
    >>> Text("<").escaped()
    '&lt;'
    """
    return (_Methods(f"{package}.{module}") for module in modules.split())


class _Methods:
    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> _Method:
        return _Method(self._module, name)


class _Method:
    """A method of a class that is replaced by its function at the first use."""

    def __init__(self, module: str, function: str) -> None:
        self._home = module, function

    def __set_name__(self, owner: type, name: str) -> None:
        self._place = owner, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        method, (place, name) = self._method(), self._place
        if vars(place)[name] is self:  # another thread, or a test, may have replaced it
            setattr(place, name, method)
        return method.__get__(instance, owner)

    def __call__(self, *args: Any, **options: Any) -> Any:  # so that the method is callable on the class too
        return self._method()(*args, **options)

    def _method(self) -> Any:
        module, function = self._home
        return getattr(import_module(module), function)

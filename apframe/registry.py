"""Values by name, each imported when it is first used, so that unused values cost nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from apframe import static_table
from apframe.lazily import Loaded
from apframe.wording import same_name

Value = TypeVar("Value")


def published_for(*iou_types: str) -> list[str]:
    """Return the names of the benchmark protocols with one of these iou_types, as `protocol=` accepts them.

    >>> published_for("boundary", "no such thing")
    []
    """
    return [name.lower() for name, (_, own) in static_table.PROTOCOLS.items() if not {*iou_types}.isdisjoint(own)]


def imported(home: str) -> Any:
    """Import the value of "module:name"; "module:Class()" is a new value of the class.

    >>> imported("math:pi") > 3
    True
    """
    module, _, attribute = home.partition(":")
    value = getattr(import_module(module), attribute.removesuffix("()"))
    return value() if attribute.endswith("()") else value


class Registry(MutableMapping[str, Value], Generic[Value]):
    """A dict in which a text such as "module:name" stands for a value that is imported when it is first used.

    Parameters
    ----------
    homes
        values by name, or their locations

    >>> numbers = Registry({"pi": "math:pi", "two": 2})
    >>> numbers["two"], round(numbers["pi"], 2), list(numbers), "tau" in numbers
    (2, 3.14, ['pi', 'two'], False)
    """

    def __init__(self, homes: Mapping[str, Value | str]) -> None:
        self._homes: dict[str, Value | str | Loaded] = dict(homes)
        self._imported: dict[str, Value] = {}

    def home(self, name: str) -> Value | str | Loaded:
        """Return the location of a value, or the value itself if it was added as such."""
        return self._homes[name]

    def resolve(self, name: Any) -> str | None:
        """Return the registered name that matches a name in any spelling; None if there is none.

        For an unknown name, the protocols of other packages are imported first, as these may register it.

        >>> Registry({"best_overlap": 1}).resolve("Best-Overlap")
        'best_overlap'
        """
        match = same_name(name, self)
        if match is not None:
            return match
        from apframe.plugins import load_plugins  # only for unknown names

        return same_name(name, self) if load_plugins("protocol") else None

    def knows(self, name: Any) -> bool:
        """Return True if exactly this name is registered; this may import the protocols of other packages.

        >>> Registry({"best_overlap": 1}).knows("Best-Overlap"), Registry({}).knows(None)
        (False, False)
        """
        return isinstance(name, str) and (name in self or self.resolve(name) == name)

    def name_of(self, value: Any) -> str | None:
        """Return the registered name of a class, or of another value with a module and a name; None if it is not registered.

        >>> Registry({"path": "pathlib:Path"}).name_of(__import__("pathlib").Path)
        'path'
        """
        ways = (value, f"{value.__module__}:{value.__qualname__}")
        return next((name for name, home in self._homes.items() if home in ways), None)

    def __getitem__(self, name: str) -> Value:
        home = self._homes[name]
        if not isinstance(home, (str, Loaded)):
            return home
        if name not in self._imported:
            self._imported[name] = imported(home) if isinstance(home, str) else home.load()
        return self._imported[name]

    def __setitem__(self, name: str, value: Value | str | Loaded) -> None:
        self._homes[name] = value
        self._imported.pop(name, None)

    def __delitem__(self, name: str) -> None:
        del self._homes[name]
        self._imported.pop(name, None)

    def __repr__(self) -> str:
        return f"Registry({', '.join(self._homes)})"

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

"""Values by name, each imported when it is first asked for, so that nobody pays for what is not named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from apframe import static_table
from apframe.lazily import Loaded
from apframe.wording import same_name

Value = TypeVar("Value")


def published_for(*iou_types: str) -> list[str]:
    """The protocols of benchmarks that compare one of these, by the names that `protocol=` takes.

    >>> published_for("boundary", "no such thing")
    []
    """
    return [name.lower() for name, (_, own) in static_table.PROTOCOLS.items() if not {*iou_types}.isdisjoint(own)]


def imported(home: str) -> Any:
    """What "module:name" stands for; "module:Class()" is a new value of the class.

    >>> imported("math:pi") > 3
    True
    """
    module, _, attribute = home.partition(":")
    found = getattr(import_module(module), attribute.removesuffix("()"))
    return found() if attribute.endswith("()") else found


class Registry(MutableMapping[str, Value], Generic[Value]):
    """A dict in which a text such as "module:name" stands for a value that is imported when it is asked for.

    Parameters
    ----------
    homes
        values by name, or where each is

    >>> known = Registry({"pi": "math:pi", "two": 2})
    >>> known["two"], round(known["pi"], 2), list(known), "tau" in known
    (2, 3.14, ['pi', 'two'], False)
    """

    def __init__(self, homes: Mapping[str, Value | str]) -> None:
        self._homes: dict[str, Value | str | Loaded] = dict(homes)
        self._imported: dict[str, Value] = {}

    def home(self, name: str) -> Value | str | Loaded:
        """Where a value is, or the value itself if it was given."""
        return self._homes[name]

    def known(self, name: Any) -> str | None:
        """The name here that is this one in any spelling; None if there is none.

        Before that, the protocols of other packages are imported, as these may add what they are made of.

        >>> Registry({"best_overlap": 1}).known("Best-Overlap")
        'best_overlap'
        """
        found = same_name(name, self)
        if found is not None:
            return found
        from apframe.plugins import load_plugins  # for unknown names alone

        return same_name(name, self) if load_plugins("protocol") else None

    def knows(self, name: Any) -> bool:
        """Whether this name is here; the protocols of other packages may have to be imported for it.

        >>> Registry({"best_overlap": 1}).knows("Best-Overlap"), Registry({}).knows(None)
        (False, False)
        """
        return isinstance(name, str) and (name in self or self.known(name) == name)

    def name_of(self, value: Any) -> str | None:
        """The name of a class or of any other value that has a module and a name; None if it has none here.

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

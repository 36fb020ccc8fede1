"""Protocols and formats of other packages, which their entry points `apframe.protocols` and `apframe.formats` name."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from apframe.exceptions import PluginError, PluginWarning, warn
from apframe.lazily import Loaded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

CONTRACT = 1
"""The version of the contract between apframe and other packages. A package may name the one that it was written for."""
_NAMED = "APFRAME_CONTRACT"  # the constant of a module in which it does
_KINDS = {"protocol": "apframe.protocols.protocol:Protocol", "format": "apframe.formats.format:Format"}
LOCK = RLock()
"""Held while plugins are entered, as several threads may find the same unknown name."""


@dataclass(frozen=True)
class Plugin(Loaded):
    """A protocol or a format of another package.

    Attributes
    ----------
    kind
        "protocol" or "format"
    name
        that of the entry point
    package
        name and version of the installed package
    """

    kind: Literal["protocol", "format"]
    name: str
    package: str
    entry: EntryPoint = field(compare=False, repr=False)

    @property
    def purpose(self) -> str:
        """What a protocol is for, as its module says it in PURPOSES once it is imported."""
        purposes = getattr(sys.modules.get(self.entry.module), "PURPOSES", None)
        return str(purposes.get(self.name, "")) if isinstance(purposes, dict) else ""

    def load(self) -> Any:
        """The protocol, or a value of the class of the format; imported once.

        Raises
        ------
        PluginError
            it cannot be imported, is of another kind, or was written for another version of the contract
        """
        found = _loaded(self)
        if isinstance(found, PluginError):
            raise found
        return found


@cache
def _loaded(plugin: Plugin) -> Any:
    """What `Plugin.load` returns or raises."""
    what = f"the {plugin.kind} {plugin.name} of the package {plugin.package}"
    try:
        found = plugin.entry.load()
        written_for = getattr(sys.modules[plugin.entry.module], _NAMED, CONTRACT)
        if written_for == CONTRACT:
            found = _checked(plugin, found)
    except (Exception, SystemExit) as error:  # whatever happens in the code of another package
        reason = f"{type(error).__name__}: {error}"
        return PluginError(f"{what} cannot be imported ({reason})", "update or remove that package")
    if written_for == CONTRACT:
        return found
    is_newer = isinstance(written_for, int) and written_for > CONTRACT
    problem = f"{what} was written for version {written_for} of the contract, and this apframe has version {CONTRACT}"
    return PluginError(problem, f"update {'apframe' if is_newer else 'that package'}")


def _checked(plugin: Plugin, found: Any) -> Any:
    """The value, if it is what its group of entry points has.

    Raises
    ------
    TypeError, ValueError, re.error
        it is something else; a format has another name, or looks that are none
    """
    module, _, name = _KINDS[plugin.kind].partition(":")
    value = found() if plugin.kind == "format" else found
    if not isinstance(value, getattr(sys.modules[module], name)):
        raise TypeError(f"{found!r} is no {name}")
    if plugin.kind == "format":
        if value.name != plugin.name:
            raise ValueError(f"its name is {value.name!r}")
        for look in (*value.dataset_looks, *value.results_looks):
            re.compile(look.line)
    return value


@cache
def find_plugins(kind: Literal["protocol", "format"]) -> tuple[Plugin, ...]:
    """The protocols or the formats of other packages, by name and package; nothing is imported."""
    from importlib.metadata import entry_points

    found = [
        Plugin(kind, each.name, f"{each.dist.name} {each.dist.version}" if each.dist else "", each)
        for each in entry_points(group=f"apframe.{kind}s")
    ]
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.package)))


@cache
def load_plugins(kind: Literal["protocol", "format"]) -> tuple[tuple[Plugin, Any], ...]:
    """The plugins that can be imported, each with its value; a warning names the others, once.

    Importing the module of a protocol enters its rules, matchers, metrics, definitions and similarities.
    """
    loaded = []
    for plugin in find_plugins(kind):
        try:
            loaded.append((plugin, plugin.load()))
        except PluginError as error:
            warn(str(error), PluginWarning)
    return tuple(loaded)

"""Protocols and formats of other packages, from the entry points `apframe.protocols` and `apframe.formats`."""

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
"""The version of the contract between apframe and plugin packages. A package may state the version it was written for."""
_NAMED = "APFRAME_CONTRACT"  # the constant in which a module states it
_KINDS = {"protocol": "apframe.protocols.protocol:Protocol", "format": "apframe.formats.format:Format"}
LOCK = RLock()
"""The lock for registering plugins, as several threads may look up the same unknown name."""


@dataclass(frozen=True)
class Plugin(Loaded):
    """A protocol or a format of another package.

    Attributes
    ----------
    kind
        "protocol" or "format"
    name
        the name of the entry point
    package
        name and version of the installed package
    """

    kind: Literal["protocol", "format"]
    name: str
    package: str
    entry: EntryPoint = field(compare=False, repr=False)

    @property
    def purpose(self) -> str:
        """The purpose of a protocol, from PURPOSES of its module once it is imported; otherwise empty."""
        purposes = getattr(sys.modules.get(self.entry.module), "PURPOSES", None)
        return str(purposes.get(self.name, "")) if isinstance(purposes, dict) else ""

    def load(self) -> Any:
        """Return the protocol, or a value of the class of the format; it is imported once.

        Raises
        ------
        PluginError
            it cannot be imported, is of another kind, or was written for another version of the contract
        """
        value = _loaded(self)
        if isinstance(value, PluginError):
            raise value
        return value


@cache
def _loaded(plugin: Plugin) -> Any:
    """Return the value or the error of `Plugin.load`."""
    subject = f"the {plugin.kind} {plugin.name} of the package {plugin.package}"
    try:
        value = plugin.entry.load()
        written_for = getattr(sys.modules[plugin.entry.module], _NAMED, CONTRACT)
        if written_for == CONTRACT:
            value = _checked(plugin, value)
    except (Exception, SystemExit) as error:  # whatever happens in the code of another package
        reason = f"{type(error).__name__}: {error}"
        return PluginError(f"{subject} cannot be imported ({reason})", "update or remove that package")
    if written_for == CONTRACT:
        return value
    is_newer = isinstance(written_for, int) and written_for > CONTRACT
    problem = f"{subject} was written for version {written_for} of the contract, and this apframe has version {CONTRACT}"
    return PluginError(problem, f"update {'apframe' if is_newer else 'that package'}")


def _checked(plugin: Plugin, loaded: Any) -> Any:
    """Return the value of an entry point, if it is of the right kind.

    Raises
    ------
    TypeError, ValueError, re.error
        it is of another kind; a format has another name, or an invalid look
    """
    module, _, name = _KINDS[plugin.kind].partition(":")
    value = loaded() if plugin.kind == "format" else loaded
    if not isinstance(value, getattr(sys.modules[module], name)):
        raise TypeError(f"{loaded!r} is no {name}")
    if plugin.kind == "format":
        if value.name != plugin.name:
            raise ValueError(f"its name is {value.name!r}")
        for look in (*value.dataset_looks, *value.results_looks):
            re.compile(look.line)
    return value


@cache
def find_plugins(kind: Literal["protocol", "format"]) -> tuple[Plugin, ...]:
    """Return the protocols or the formats of other packages, by name and package, without importing them."""
    from importlib.metadata import entry_points

    plugins = [
        Plugin(kind, each.name, f"{each.dist.name} {each.dist.version}" if each.dist else "", each)
        for each in entry_points(group=f"apframe.{kind}s")
    ]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.package)))


@cache
def load_plugins(kind: Literal["protocol", "format"]) -> tuple[tuple[Plugin, Any], ...]:
    """Return the plugins that can be imported, each with its value; warn of the others once.

    Importing the module of a protocol registers its rules, matchers, metrics, definitions and similarities.
    """
    loaded = []
    for plugin in find_plugins(kind):
        try:
            loaded.append((plugin, plugin.load()))
        except PluginError as error:
            warn(str(error), PluginWarning)
    return tuple(loaded)

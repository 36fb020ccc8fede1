"""Protocols and formats of other packages, which their entry points `apframe.protocols` and `apframe.formats` name."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from apframe.exceptions import PluginError, PluginWarning, warn

CONTRACT = 1
"""The version of the contract between apframe and other packages. A package may name the one that it was written for."""
_NAMED = "APFRAME_CONTRACT"  # the constant of a module in which it does


@dataclass(frozen=True)
class Plugin:
    """A protocol or a format of another package.

    Attributes
    ----------
    kind
        "protocol" or "format"
    name
        that of the entry point
    home
        "module:name" of the protocol, or of the class of the format
    package
        name and version of the installed package
    """

    kind: str
    name: str
    home: str
    package: str

    @property
    def purpose(self) -> str:
        """What a protocol is for, as its module says it in PURPOSES once it is imported."""
        purposes = getattr(sys.modules.get(self.home.partition(":")[0]), "PURPOSES", {})
        return str(purposes.get(self.name, purposes.get(self.name.upper(), "")))

    def load(self) -> Any:
        """The protocol, or a value of the class of the format.

        Raises
        ------
        PluginError
            it cannot be imported, or was written for another version of the contract
        """
        from importlib import import_module

        module, _, attribute = self.home.partition(":")
        try:
            found = getattr(import_module(module), attribute)
            found = found() if self.kind == "format" else found
            written_for = getattr(sys.modules[module], _NAMED, CONTRACT)
        except Exception as error:  # whatever happens in the code of another package
            problem = f"the {self.kind} {self.name} of the package {self.package} cannot be imported"
            reason = f"{type(error).__name__}: {error}"
            raise PluginError(f"{problem} ({reason})", "update or remove that package") from error
        if written_for != CONTRACT:
            problem = f"the {self.kind} {self.name} of the package {self.package} was written for version {written_for}"
            remedy = f"update {'apframe' if written_for > CONTRACT else 'that package'}"
            raise PluginError(f"{problem} of the contract, and this apframe has version {CONTRACT}", remedy)
        return found


@cache
def find_plugins(kind: Literal["protocol", "format"]) -> tuple[Plugin, ...]:
    """The protocols or the formats of other packages, by name; nothing is imported."""
    from importlib.metadata import entry_points

    found = entry_points(group=f"apframe.{kind}s")
    plugins = {
        each.name: Plugin(kind, each.name, each.value, f"{each.dist.name} {each.dist.version}" if each.dist else "")
        for each in found
    }
    return tuple(plugins[name] for name in sorted(plugins))


def load_plugins(kind: Literal["protocol", "format"]) -> list[Any]:
    """The protocols or the formats of other packages; a warning names those that cannot be imported.

    Importing the module of a protocol registers its rules, matchers, metrics, definitions and similarities.
    """
    loaded = []
    for plugin in find_plugins(kind):
        try:
            loaded.append(plugin.load())
        except PluginError as error:
            warn(str(error), PluginWarning)
    return loaded

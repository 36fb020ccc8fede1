"""The check that packages with protocols and formats can be imported."""

from __future__ import annotations

from collections.abc import Iterable

from apframe.checks.findings import Finding, as_sentence, of_table
from apframe.exceptions import PluginError
from apframe.plugins import find_plugins


def check_plugins() -> Iterable[Finding]:
    """Find `broken_plugin`: a protocol or a format of another package that cannot be imported.

    >>> list(check_plugins())
    []
    """
    for plugin in (*find_plugins("protocol"), *find_plugins("format")):
        try:
            plugin.load()
        except PluginError as error:
            yield of_table("warning", "broken_plugin", f"{plugin.kind}s", 0, error.problem, as_sentence(error.remedy))

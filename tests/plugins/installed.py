"""Packages with entry points that are there while a test runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from apframe import plugins
from apframe.formats.catalogue import FORMATS, ROWS
from apframe.matching.matchers import MATCHERS
from apframe.metrics.definitions import DEFINITIONS
from apframe.metrics.metric import KINDS
from apframe.protocols.protocol_json import RULES
from apframe.protocols.published import PUBLISHED
from apframe.similarity.named import SIMILARITIES

TOY = Path(__file__).parent  # where toy_benchmark is installed


def _forget() -> None:
    for known in (plugins.find_plugins, plugins.load_plugins, plugins._loaded):
        known.cache_clear()


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The packages in a folder are found, and gone when the block ends, with all that they added."""
    registries = (PUBLISHED, FORMATS, ROWS, RULES, MATCHERS, KINDS, DEFINITIONS, SIMILARITIES)
    names, modules = [set(each) for each in registries], set(sys.modules)
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        _forget()
        for registry, before in zip(registries, names, strict=True):
            for name in set(registry) - before:
                del registry[name]
        for name in set(sys.modules) - modules:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]

"""Write `apframe/static_table.py`, which says by name where everything is that is imported only when it is asked for."""

from __future__ import annotations

import inspect
import pprint
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

import apframe.formats
from apframe.formats.format import Format

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "apframe" / "static_table.py"
_LABELLING = "apframe.formats.labelling."
_HEAD = '''"""Where all is that is imported only when it is named; `python -m tests.static_table` writes this file.

FORMATS has the home of each format, whether it is written, and what its data sets and results look like.
"""

from __future__ import annotations
'''


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """All modules of a package, imported, in the order of their names."""
    for each in walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(each.name)


def own(package: ModuleType, kind: type) -> Iterator[tuple[str, Any]]:
    """The home and the class of each value of a kind that is defined in a package and has a name."""
    for module in modules(package):
        for name, value in vars(module).items():
            is_own = inspect.isclass(value) and issubclass(value, kind) and value.__module__ == module.__name__
            if is_own and isinstance(getattr(value, "name", None), str):
                yield f"{module.__name__}:{name}", value


def formats() -> dict[str, tuple[str, bool, Any, Any]]:
    """The rows of all formats: those of the core by name, then those of labelling tools, then those of benchmarks."""
    found = sorted(own(apframe.formats, Format), key=lambda pair: (pair[0].startswith(_LABELLING), pair[1].name))
    return {each.name: (f"{home}()", each.writable, dict(each.dataset_looks), dict(each.results_looks)) for home, each in found}


TYPES = {"FORMATS": "dict[str, tuple[str, bool, dict[str, str], dict[str, str]]]"}


@cache
def tables() -> dict[str, Any]:
    """What the file defines, by name."""
    return {"FORMATS": formats()}


def text() -> str:
    """The whole file."""
    made = (f"{name}: {TYPES[name]} = {pprint.pformat(table, sort_dicts=False)}\n" for name, table in tables().items())
    return "\n".join([_HEAD, *made])


if __name__ == "__main__":
    TABLE.write_text(text())
    subprocess.run(["ruff", "format", "--quiet", TABLE], check=True)

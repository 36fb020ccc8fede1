"""Write `apframe/static_table.py`, the homes of everything that is imported only when its name is used.

Type checkers read `apframe/static_names.py`, which nothing imports while apframe runs.
"""

from __future__ import annotations

import ast
import inspect
import pprint
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from textwrap import indent
from types import ModuleType
from typing import Any

import apframe.benchmarks
import apframe.formats
from apframe.formats.format import Format
from apframe.formats.looks import Look
from apframe.matching.matchers import Matcher
from apframe.metrics.metric import Metric
from apframe.metrics.points import Definition
from apframe.protocols.rules.rule import Rule
from apframe.similarity.pairs import Similarity

ROOT = Path(__file__).parents[1]
TABLE, NAMES = (ROOT / "apframe" / f"static_{name}.py" for name in ("table", "names"))
PUBLIC = ROOT / "apframe" / "public_names.py"
_WIDTH = 128
_HOMES = "dict[str, str]"
TYPES = {
    "NAMES": "dict[str, dict[str, str]]",
    "PROTOCOLS": "dict[str, tuple[str, tuple[str, ...]]]",
    "TWINS": "dict[str, dict[str, dict[str, str]]]",
    "FILES": _HOMES,
    "FORMATS": "dict[str, tuple[str, bool, list[dict[str, Any]], list[dict[str, Any]]]]",
    "RULES": _HOMES,
    "MATCHERS": _HOMES,
    "METRICS": _HOMES,
    "DEFINITIONS": _HOMES,
    "SIMILARITIES": "dict[str, tuple[str, str | None]]",
}
_HEAD = '''"""Homes of everything that is imported only when its name is used; `python -m tests.static_table` writes this file.

- NAMES: the public names of each package by their modules, see `apframe/public_names.py` and the stubs `*.pyi`
- PROTOCOLS: the home of each protocol of a benchmark, and its iou_types
- TWINS: the protocols that are selected by options of another protocol
- FILES: the file format of a protocol, if it has another name than the protocol
- FORMATS: the home of each format, True if it can be written, and the looks of its data sets and results
- RULES, MATCHERS, METRICS, DEFINITIONS, SIMILARITIES: the homes of what benchmarks add, by their names in stored evaluations;
  similarities with their iou_type
"""

from __future__ import annotations

from typing import Any
'''
_OF_NAMES = '"""Protocols as names of `apframe`, for type checkers; `python -m tests.static_table`."""'


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """Import all modules of a package, in the order of their names."""
    for each in walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(each.name)


def own(package: ModuleType, kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the home and the class of each public subclass of a kind that a package defines."""
    for module in modules(package):
        for name, value in vars(module).items():
            is_own = inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
            if is_own and kind in value.__mro__ and not inspect.isabstract(value):
                yield f"{module.__name__}:{name}", value


def public_names() -> dict[str, dict[str, str]]:
    """The public names of each package by their modules, apart from packages."""
    stubs = sorted((ROOT / "apframe").rglob("*.pyi"))
    homes = {f"apframe.{stub.parent.name if stub.stem == '__init__' else stub.stem}": names_in(stub) for stub in stubs}
    for name, (home, _) in protocols().items():
        module = home.partition(":")[0]
        homes["apframe.protocols"][module] = f"{homes['apframe.protocols'].get(module, '')} {name}".strip()
    return {"apframe": names_in(PUBLIC)} | homes


def names_in(path: Path) -> dict[str, str]:
    """The names that a file imports for type checkers, by their modules."""
    homes: dict[str, list[str]] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module not in ("apframe", "apframe.static_names"):
            homes.setdefault(str(node.module), []).extend(alias.name for alias in node.names)
    return {module: " ".join(names) for module, names in homes.items()}


def formats() -> dict[str, tuple[str, bool, Any, Any]]:
    """Return the rows of all formats by name: first the core's, then those of labelling tools, then those of benchmarks."""
    classes = [*own(apframe.formats, Format), *own(apframe.benchmarks, Format)]
    named = [(home, each) for home, each in classes if hasattr(each, "name")]
    places = ("apframe.formats.", "apframe.formats.labelling.", "apframe.benchmarks.")
    named.sort(key=lambda pair: (max(place for place, start in enumerate(places) if pair[0].startswith(start)), pair[1].name))
    return {
        each.name: (f"{home}()", each.writable, [*map(declared, each.dataset_looks)], [*map(declared, each.results_looks)])
        for home, each in named
    }


def declared(look: Look) -> dict[str, Any]:
    """Return the declarations of a look that differ from their defaults."""
    defaults = Look._field_defaults
    return {name: value for name, value in look._asdict().items() if value != defaults.get(name)}


def protocols() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the home of each protocol of a benchmark, and its iou_types."""
    return {
        name: (f"{module.__name__}:{name}", getattr(module, name).iou_types)
        for module in modules(apframe.benchmarks)
        for name in getattr(module, "PURPOSES", {})
    }


def twins() -> dict[str, dict[str, dict[str, str]]]:
    """Return the protocols that are selected by options of another protocol, by that protocol, the option and its value."""
    twins_of_modules = [getattr(module, "TWINS", {}) for module in modules(apframe.benchmarks)]
    return {name: options for own in twins_of_modules for name, options in own.items()}


def files() -> dict[str, str]:
    """Return the file formats of protocols whose format has another name than the protocol."""
    files_of_modules = [getattr(module, "FILES", {}) for module in modules(apframe.benchmarks)]
    return {name: format_ for own in files_of_modules for name, format_ in own.items()}


def name_of(kind: Any) -> str:
    """Return the name of a matcher, a metric or a definition, or else of its class in snake case: box_errors of BoxErrors."""
    return getattr(kind, "name", None) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


@cache
def tables() -> dict[str, Any]:
    """Return the tables of the file by name."""
    package = apframe.benchmarks
    metrics = {name_of(each): home for home, each in own(package, Metric) if each.read is not Metric.read}
    definitions = {each.name: home for home, each in own(package, Definition) if hasattr(each, "name")}
    return {
        "NAMES": public_names(),
        "PROTOCOLS": protocols(),
        "TWINS": twins(),
        "FILES": files(),
        "FORMATS": formats(),
        "RULES": {each.__name__: home for home, each in own(package, Rule)},
        "MATCHERS": {each.name: home for home, each in own(package, Matcher)},
        "METRICS": metrics,
        "DEFINITIONS": {name: home for name, home in definitions.items() if name not in metrics},
        "SIMILARITIES": {each.name: (home, each.iou_type) for home, each in own(package, Similarity)},
    }


def shown(name: str, table: dict[str, Any]) -> str:
    """Return a table as code, each row in as few lines as it needs."""
    if name == "FORMATS":
        rows = [f"    {key!r}: ({row[0]!r}, {row[1]},{_looks(row[2])},{_looks(row[3])})," for key, row in table.items()]
    else:
        rows = [_wrapped(f"    {key!r}: ", value) + "," for key, value in table.items()]
    return "\n".join([f"{name}: {TYPES[name]} = {{", *rows, "}  # fmt: skip\n"])


def _wrapped(key: str, value: Any) -> str:
    """Return a row as code; a value that does not fit behind its key gets lines of its own."""
    row = f"{key}{value!r}"
    if len(row) < _WIDTH:
        return row
    shown = pprint.pformat(value, sort_dicts=False, width=_WIDTH - 8, compact=True)
    return f"{key}\n{indent(shown, ' ' * 6)}"


def _looks(looks: list[dict[str, Any]]) -> str:
    each = (pprint.pformat(look, sort_dicts=False, width=116, compact=True).replace("\n", "\n      ") for look in looks)
    return "\n     [" + ",\n      ".join(each) + "]"


def text() -> str:
    """Return the text of the file of tables."""
    return "\n".join([_HEAD, *(shown(name, table) for name, table in tables().items())])


def names() -> str:
    """The whole file of names."""
    homes = [(name, module) for module, names in public_names()["apframe.protocols"].items() for name in names.split()]
    homes = sorted((each for each in homes if each[0].isupper()), key=lambda each: (each[1], each[0]))
    return "\n".join([_OF_NAMES, "", *(f"from {module} import {name} as {name}" for name, module in homes), ""])


if __name__ == "__main__":
    TABLE.write_text(text())
    NAMES.write_text(names())
    for step in ("format", "check --fix"):
        subprocess.run([sys.executable, "-m", "ruff", *step.split(), "--quiet", TABLE, NAMES], check=True)

"""The rows of all protocols: the module `row` in the folder of the tests of each benchmark, and that of the core."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.protocols import row as core

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def _rows() -> list[ModuleType]:
    names = sorted(f"{path.parent.parent.name}.{path.parent.name}" for path in BENCHMARKS.glob("*/*/row.py"))
    return [core, *(import_module(f"tests.benchmarks.{name}.row") for name in names)]


ROWS = _rows()


def _of_all(table: str) -> dict[str, Any]:
    return {key: entry for row in ROWS for key, entry in getattr(row, table, {}).items()}


HAND = _of_all("HAND")
LOOPS = _of_all("LOOPS")
SETS = _of_all("SETS")

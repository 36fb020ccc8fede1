"""The rooms import one way: a room knows those before it, never those after it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import apframe as apf

PACKAGE = Path(__file__).parents[1] / "apframe"
# every room with those that it may import
LAYERS = ["exceptions", "interruption", "paths", "columns", "schema", "io", "similarity", "matching", "ranking", "protocols",
          "analysis", "report", "sql", "counting", "inputs", "pipeline", "evaluation", "checks", "evaluator", "adapters",
          "pycocotools", "retrieval", "reidentification", "run_sets", "prompt", "cli",
          "__main__"]  # fmt: skip
SIDE_BY_SIDE = [{"io", "similarity"}, {"analysis", "report", "sql"}]


def rooms_imported(path: Path) -> set[str]:
    """The rooms of apframe that a file imports, at its top or inside functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        names |= {module.split(".")[1] for module in modules if module.startswith("apframe.")}
    return names


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        return
    for other in rooms_imported(path) - {room}:
        assert LAYERS.index(other) < LAYERS.index(room), f"{room} must not import {other}"
        assert not any({room, other} <= group for group in SIDE_BY_SIDE), f"{room} and {other} stand side by side"


def test_import_brings_in_polars_alone() -> None:
    heavy = ["typer", "rich", "numpy", "duckdb", "pandas", "pyarrow", "altair", "pycocotools"]
    script = f"import sys, apframe; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_see_the_public_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    imports = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]
    seen = {alias.name: node.module for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == apf._HOME_OF


def test_every_public_name_is_there() -> None:
    assert [name for name in apf.__all__ if not hasattr(apf, name)] == []
    assert dir(apf) == sorted(apf.__all__)
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = apf.evalute

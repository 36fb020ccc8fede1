"""Imports point one way: a package knows those before it, never those after it. The groups are those of DESIGN.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import apframe as apf

PACKAGE = Path(__file__).parents[1] / "apframe"
GROUPS = {
    "what everything uses": ["exceptions", "interruption", "paths", "columns", "rows", "threads"],
    "foundation": ["shapes", "schema", "file_formats"],
    "the three axes, and a choice on each": ["similarity", "matching", "ranking", "protocols"],
    "what any result can do": ["lists", "compare", "store", "show"],
    "the fronts": ["detection", "retrieval", "training", "runs"],
    "entry points": ["checks", "adapters", "pycocotools", "cli", "__main__"],
}
ORDER = [package for packages in GROUPS.values() for package in packages]


def packages_imported(path: Path) -> set[str]:
    """The packages of apframe that a file imports, at its top or inside functions."""
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
    package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if package in ("__init__", "moved"):  # which import by name, when something is asked for
        return
    above = {other for other in packages_imported(path) - {package} if ORDER.index(other) > ORDER.index(package)}
    assert not above, f"{package} must not import {above}"


def test_every_package_has_its_place() -> None:
    found = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert sorted(found - {"__pycache__", "__init__", "moved"}) == sorted(ORDER)


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

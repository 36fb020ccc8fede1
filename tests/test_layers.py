"""Imports point one way: a package knows those before it, never those after it. The groups are those of DESIGN.md."""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
import tomllib
from functools import cache
from operator import attrgetter
from pathlib import Path

import pytest
import yaml

import apframe as apf
from apframe.lazily import homes_of
from tests.names import HOMES

PACKAGE = Path(__file__).parents[1] / "apframe"
GROUPS = {
    "what everything uses": [
        "ctrl_c",
        "allocators",
        "collecting",
        "wording",
        "exceptions",
        "interruption",
        "paths",
        "folders",
        "columns",
        "option_values",
        "keywords",
        "static_table",
        "lazily",
        "former_names",
        "listing",
        "progress",
        "plugins",
        "registry",
        "rows",
        "threads",
        "validation",
    ],
    "foundation": ["tables", "adapters", "formats"],
    "the three axes, and a choice on each": ["similarity", "matching", "metrics", "protocols"],
    "what any result can do": ["lists", "compare", "store", "show", "plot"],
    "the fronts": ["retrieval", "evaluation", "runs", "training"],
    "entry points": ["checks", "report", "pycocotools", "scale", "cli", "__main__"],
    "imported by name alone": ["benchmarks", "public_names", "static_names"],
}
_PARSES = r"json\.loads?|.*\.raw_decode"
PACKAGES = [package for packages in GROUPS.values() for package in packages]
ORDER = [*PACKAGES[: PACKAGES.index("tables")], "tables.shapes", *PACKAGES[PACKAGES.index("tables") :]]


@cache
def all_nodes() -> dict[str, list[ast.AST]]:
    """All nodes of the syntax tree of each file, by its path: half a million, which no collection needs to look through."""
    gc.disable()
    nodes = {str(path.relative_to(PACKAGE)): list(ast.walk(ast.parse(path.read_text()))) for path in PACKAGE.rglob("*.py")}
    gc.enable()
    gc.freeze()
    return nodes


def packages_imported(path: Path) -> set[str]:
    """The packages of apframe that a file imports, at its top or inside functions."""
    names = set()
    for node in all_nodes()[str(path.relative_to(PACKAGE))]:
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        names |= {package_of(tuple(module.split(".")[1:])) for module in modules if module.startswith("apframe.")}
    return names


def package_of(names: tuple[str, ...]) -> str:
    """The package of a module. Shapes, which know nothing of the tables that have them, count as one of their own."""
    return "tables.shapes" if names[:2] == ("tables", "shapes") else names[0]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    package = package_of(path.relative_to(PACKAGE).with_suffix("").parts)
    if package == "__init__":  # which says where things are, for type checkers too
        return
    above = {other for other in packages_imported(path) - {package} if ORDER.index(other) > ORDER.index(package)}
    assert not above, f"{package} must not import {above}"


def modules_imported(name: str, modules: dict[str, str]) -> set[str]:
    """The modules that one imports, at its top or inside functions, or for types from another package.

    `modules` has the path of each by its name. Modules beside the packages are one package here.
    """
    nodes = all_nodes()[modules[name]]
    blocks = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    for_types = {id(inner) for block in blocks for inner in ast.walk(block)}
    imports = set()
    for node in nodes:
        imported = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            each_one = [(str(node.module), f"{node.module}.{each.name}") for each in node.names]
            imported = [inner if inner in modules else outer for outer, inner in each_one]
        targets = {each for each in imported if each in modules}
        if id(node) in for_types:
            own = Path(modules[name]).parts[:-1][:1]
            targets = {each for each in targets if Path(modules[each]).parts[:-1][:1] != own}
        imports |= targets
    return imports - {name}


def in_cycles(imports: dict[str, set[str]]) -> set[str]:
    """The modules that are left when those that import none of the others, or that none imports, are taken away."""
    left = set(imports)
    while True:
        used = {each for name in left for each in imports[name] & left}
        kept = {name for name in left & used if imports[name] & left}
        if kept == left:
            return left
        left = kept


def test_cycles_are_found() -> None:
    assert in_cycles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"b", "c"}
    assert in_cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()


def test_no_module_imports_itself_in_a_circle() -> None:
    """Imports inside functions count, and those for types between packages. `__init__` alone names all that is public."""
    paths = {path for path in all_nodes() if path != "__init__.py"}
    modules = {".".join(("apframe", *Path(path).with_suffix("").parts)).removesuffix(".__init__"): path for path in paths}
    imports = {name: modules_imported(name, modules) for name in modules}
    assert sum(map(len, imports.values())) > len(modules)
    assert sorted(in_cycles(imports)) == []


def test_every_package_has_its_place() -> None:
    names = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert sorted(names - {"__pycache__", "__init__"}) == sorted(PACKAGES)


@pytest.mark.slow
def test_import_brings_in_polars_alone() -> None:
    heavy = ["click", "rich", "numpy", "duckdb", "msgspec", "pandas", "pyarrow", "altair", "pycocotools"]
    for use in ("", "apframe.Evaluation; apframe.evaluate;"):  # whose files are read while NumPy is imported
        script = f"import sys, apframe; {use} print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_headline_numbers_import_no_other_steps() -> None:
    steps = ("evaluation.slices.slices", "evaluation.thresholds.sweep", "evaluation.curves", "metrics.coco_arrays")
    others = {f"apframe.{step}" for step in steps}
    assert all((PACKAGE.parent / f"{name.replace('.', '/')}.py").exists() for name in others)
    empty = {"images": [], "categories": [], "annotations": []}
    script = f"import sys, apframe; apframe.evaluate({empty}, []).summary; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "apframe.metrics.plain_sums" in loaded and not loaded & others


def test_type_checkers_see_the_public_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    blocks = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]
    lists = {str(node.module) for node in blocks if isinstance(node, ast.ImportFrom)}
    assert lists == {"apframe.public_names", "apframe.static_names"}
    imports = [node for name in lists for node in ast.parse((PACKAGE.parent / f"{name.replace('.', '/')}.py").read_text()).body]
    seen = {alias.name: node.module for node in imports if isinstance(node, ast.ImportFrom) for alias in node.names}
    packages = dict.fromkeys((*apf._SPACES, "formats"), "apframe")
    protocols = {name: home for name, home in homes_of("apframe.protocols").items() if name.isupper()}
    assert seen == homes_of("apframe") | packages | protocols
    assert [getattr(apf, name).__name__ for name in packages] == [f"apframe.{name}" for name in packages]


def test_every_public_name_is_there() -> None:
    assert [name for name in HOMES if attrgetter(name)(apf) is None] == []
    assert {*dir(apf)} == {name.split(".")[0] for name in HOMES} | {"exceptions"}
    with pytest.raises(AttributeError, match="no attribute 'evalute'; did you mean evaluate, "):
        _ = apf.evalute


def test_the_package_knows_its_version() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((PACKAGE.parent / "CITATION.cff").read_text())
    assert apf.__version__ == project["version"] == citation["version"]


def test_json_that_is_nested_too_deep_is_an_error_of_its_reader() -> None:
    """`json` has RecursionError for it, which is no ValueError; texts that apframe itself has just written are none."""
    own = {"benchmarks/video/activitynet/format.py", "scale/verdict_files.py"}
    for name, nodes in all_nodes().items():
        calls = {id(node) for node in nodes if isinstance(node, ast.Call) and re.fullmatch(_PARSES, ast.unparse(node.func))}
        for node in nodes:
            if isinstance(node, ast.Try) and "RecursionError" in "".join(
                ast.unparse(each.type or node) for each in node.handlers
            ):
                calls -= {id(inner) for each in node.body for inner in ast.walk(each)}
        assert name in own or not calls, name


def test_files_are_short_enough_to_read() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {str(path): n for path, n in lengths.items() if n > 450} == {}


def test_functions_take_few_parameters() -> None:
    """Except those that users call, and the commands, which have a parameter for each option."""
    many = set()
    for name, nodes in all_nodes().items():
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                parameters = node.args
                named = [
                    each.arg
                    for each in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)
                    if each.arg not in ("self", "cls")
                ]
                if len(named) + (parameters.vararg is not None) + (parameters.kwarg is not None) > 8:
                    many.add((name, node.name))
    interface = {*(name.split(".")[-1] for name in HOMES), *vars(apf.Evaluation), *vars(apf.RunEvaluation), *vars(apf.Protocol)}
    assert {name for path, name in many if not path.startswith("cli/")} <= interface


def test_private_names_stay_in_their_module() -> None:
    """A method that is bound into a class of another module has a parameter `self` and belongs to the class."""
    used = set()
    for name, nodes in all_nodes().items():
        own = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
        own |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("apframe"):
                used |= {(name, each.name) for each in node.names if each.name.startswith("_")}
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                of = node.value.id if isinstance(node.value, ast.Name) else ""
                if node.attr not in own and of not in ("self", "cls", "sys", "os"):
                    used.add((name, node.attr))
    assert used == set()


def test_threads_come_from_one_place() -> None:
    named = {path for path, nodes in all_nodes().items() for node in nodes if getattr(node, "id", "") == "ThreadPoolExecutor"}
    others = {"scale/running.py", "scale/ray_executor.py"}  # executors that users give, and what waits for Ray
    assert named - others == {"threads.py"}

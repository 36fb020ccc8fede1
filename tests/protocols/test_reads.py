"""Code that is no part of a protocol asks the verdicts, and hardly ever the protocol, how something was evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from apframe.protocols.protocol import Protocol

PACKAGE = Path(__file__).parents[2] / "apframe"
MOST = 43
APART = [
    "protocols", "benchmarks",
    # make a protocol of options
    "evaluation/evaluate.py", "evaluation/options.py", "pycocotools/params.py", "cli/file_options.py",
    # print one, or numbers under it
    "cli", "show", "report/sections/how_computed.py", "report/sections/provenance.py",
    # store one
    "store", "evaluation/stored.py", "evaluation/restored.py",
]  # fmt: skip
NAMES = {each.name for each in fields(Protocol)} | {name for name in dir(Protocol) if not name.startswith("_")}


def is_apart(module: str) -> bool:
    return any(module == each or module.startswith(f"{each}/") for each in APART)


def annotated(tree: ast.AST) -> set[str]:
    """The parameters and variables of a module that are said to be a protocol."""
    names = {"protocol"}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            if "Protocol" in ast.unparse(node.annotation):
                names.add(node.arg if isinstance(node, ast.arg) else ast.unparse(node.target))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("apframe.protocols."):
            names |= {each.asname or each.name for each in node.names if each.name.isupper()}
    return names


def reads(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a module that read an attribute of a protocol, and what they read."""
    tree = ast.parse(source)
    protocol_names = annotated(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NAMES and isinstance(node.ctx, ast.Load):
            of = node.value
            if (isinstance(of, ast.Name) and of.id in protocol_names) or (
                isinstance(of, ast.Attribute) and of.attr == "protocol"
            ):
                yield node.lineno, ast.unparse(node)


def test_reads_are_found() -> None:
    source = "def f(self, rules: Protocol):\n    return rules.matcher.ties, self.protocol.ranges, self.protocol, self.matcher\n"
    assert sorted(what for _, what in reads(source)) == ["rules.matcher", "self.protocol.ranges"]


@pytest.mark.slow
def test_few_places_read_a_protocol() -> None:
    """Where there are more, the verdicts lack something: thresholds, area ranges, limits and lists are theirs."""
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if not is_apart(path.relative_to(PACKAGE).as_posix())]
    places = [f"{path.relative_to(PACKAGE)}:{line}: {what}" for path in modules for line, what in reads(path.read_text())]
    assert len(places) <= MOST, "\n".join(["", *places])

"""Lines of code: `python -m tests.docs.map` writes the table in CONTRIBUTING.md; with a folder, it prints that of another."""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- sizes -->", "<!-- end of sizes -->"
_EMPTY = {getattr(tokenize, name) for name in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER")}


def count_lines(path: Path) -> int:
    """Lines of a module without blank ones, comments and docstrings."""
    with path.open("rb") as file:
        lines = {
            line
            for token in tokenize.tokenize(file.readline)
            if token.type not in _EMPTY
            for line in range(token.start[0], token.end[0] + 1)
        }
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def sizes(package: Path) -> list[str]:
    """The table: a row for each package, and one for all."""
    counts = {path.relative_to(package): count_lines(path) for path in sorted(package.rglob("*.py"))}
    names = sorted({path.parts[0] for path in counts if len(path.parts) > 1})
    rows = ["| package | modules | lines | longest module |", "|---|--:|--:|---|"]
    for name in [*names, ""]:
        own = {path: n for path, n in counts.items() if (path.parts[0] if len(path.parts) > 1 else "") == name}
        longest = max(own, key=lambda path: own[path])
        rows.append(f"| {name or 'modules of their own'} | {len(own)} | {sum(own.values()):,} | {longest} ({own[longest]}) |")
    return [*rows, f"| all | {len(counts)} | {sum(counts.values()):,} | |"]


def main() -> None:
    if len(sys.argv) > 1:
        print("\n".join(sizes(Path(sys.argv[1]))))
        return
    path = ROOT / "CONTRIBUTING.md"
    table = "\n".join([BEGIN, *sizes(ROOT / "apframe"), END])
    path.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: table, path.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()

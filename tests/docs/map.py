"""Lines of code: `python -m tests.docs.map` writes the table in CONTRIBUTING.md; with a folder, it prints that of another.

It also prints names that stand twice: of files, and of classes.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).parents[2]
APART = ("conformance", "docs", "fuzz", "parity", "pins", "plugins", "properties", "speed")  # tests of many modules
BEGIN, END = "<!-- sizes -->", "<!-- end of sizes -->"
_EMPTY = {getattr(tokenize, name) for name in ("COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENCODING", "ENDMARKER")}

# the names of files that packages have in common on purpose
PARALLEL: dict[str, str] = {
    **dict.fromkeys(("protocol", "format", "definition", "metric", "matcher"), "benchmarks formats metrics protocols"),
    **dict.fromkeys(("row", "reference", "test_protocol", "test_format"), "benchmarks protocols"),
    **dict.fromkeys(("boxes", "cuboids", "label_maps", "masks"), "checks tables"),
    **dict.fromkeys(("check", "confusion", "errors", "evaluate"), "checks cli evaluation"),
    **dict.fromkeys(("comparing", "evaluation", "label_errors", "numbers"), "evaluation retrieval runs"),
    **dict.fromkeys(("coco", "lvis", "open_images", "voc"), "formats protocols pycocotools"),
    "ultralytics": "adapters training",
}
PARALLEL_CLASSES = {"AveragePrecisionCallback"}  # of Lightning and of Ultralytics


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


def repeated(root: Path, apart: Collection[str] = ()) -> list[str]:
    """The names that two files or two classes have, and where; not those of PARALLEL, and not in packages that stand apart."""
    files: dict[str, list[Path]] = defaultdict(list)
    classes: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root)
        if place.parts[0] not in apart and path.stem not in ("__init__", "__main__", "conftest"):
            files[path.stem].append(place)
            for name in set(re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE)) - PARALLEL_CLASSES:
                classes[name].append(place)
    for name in list(files):
        folders = (PARALLEL.get(name) or PARALLEL.get(name.removeprefix("test_"), "")).split()
        if {place.parts[0] for place in files[name]} <= {*folders}:
            del files[name]
    named = [(f"{name}.py", places) for name, places in files.items()] + [(f"class {name}", classes[name]) for name in classes]
    return [f"{name}: {', '.join(place.as_posix() for place in places)}" for name, places in named if len(places) > 1]


def main() -> None:
    if len(sys.argv) > 1:
        print("\n".join(sizes(Path(sys.argv[1]))))
        return
    path = ROOT / "CONTRIBUTING.md"
    table = "\n".join([BEGIN, *sizes(ROOT / "apframe"), END])
    path.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: table, path.read_text(), flags=re.DOTALL))
    print("\n".join(repeated(ROOT / "apframe") + repeated(ROOT / "tests", APART)))


if __name__ == "__main__":
    main()

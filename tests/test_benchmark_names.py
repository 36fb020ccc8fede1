"""The core knows no benchmark by name: only the static table and public names do, and texts that say where a rule is from."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from apframe import static_table

PACKAGE = Path(__file__).parents[1] / "apframe"
NAMES = {path.parent.name for path in PACKAGE.glob("benchmarks/*/*/__init__.py")} | {*map(str.lower, static_table.PROTOCOLS)}
# words of the core: what is measured, after which two folders are called; and a library whose results apframe reads
WORDS = {"panoptic", "semantic", "ultralytics"}


def name_pattern(name: str) -> str:
    """A pattern for a name with blanks, dashes or nothing between its words and before its number."""
    return re.sub(r"_|(?<=[a-z])(?=[0-9])", "[-_ ]?", name)


NAME = re.compile(rf"(?<![a-z0-9])({'|'.join(map(name_pattern, sorted(NAMES - WORDS)))})(?![a-z0-9])", re.IGNORECASE)
_SOURCE = re.compile(r"Source:.*?(?=\n\s*\n|\"\"\"|\Z)", re.DOTALL)  # up to the end of its paragraph


# public names and their stubs, and a definition for any ranked list
_EXCUSED = {"__init__.py": ".*", "public_names.py": ".*", "similarity/__init__.pyi": ".*", "metrics/": "waymo"}


def texts() -> Iterator[tuple[str, str]]:
    """The files outside `benchmarks` by name, without the sources of rules and what is excused."""
    for path in sorted(PACKAGE.rglob("*")):
        name = path.relative_to(PACKAGE).as_posix()
        if not path.is_file() or path.suffix == ".pyc" or name.startswith(("static_", "benchmarks/")):
            continue
        text = _SOURCE.sub("", path.read_text())
        if path.suffix == ".csv":
            rows = csv.DictReader(text.splitlines())
            text = "\n".join(value for row in rows for key, value in row.items() if key not in ("used_by", "source"))
        for place, words in _EXCUSED.items():
            text = re.sub(words, "", text, flags=re.IGNORECASE) if name.startswith(place) else text
        yield name, text


def test_names_are_found() -> None:
    assert [name for name in ("KITTI's", "of_nuscenes", "Visual Genome", "available", "Argoverse 2") if NAME.search(name)] == [
        "KITTI's", "of_nuscenes", "Visual Genome", "Argoverse 2"
    ]  # fmt: skip
    assert _SOURCE.sub("", "a\n\nSource: KITTI\nof old\n\nb") == "a\n\n\n\nb"


@pytest.mark.slow
def test_the_core_names_no_benchmark() -> None:
    lines = [f"{name}: {line.strip()}" for name, text in texts() for line in text.splitlines() if NAME.search(line)]
    assert lines == []

"""CONTRIBUTING.md draws the package as it is: its folders, and the calls from `evaluate` to the numbers in their order."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.map import ROOT, count_lines, sizes
from tests.test_layers import GROUPS

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
WATCH = """
import sys, threading
import apframe as apf
seen = []
def watch(frame, event, argument):
    if event == "call" and frame.f_globals.get("__name__", "").startswith("apframe."):
        seen.append(frame.f_globals["__name__"].rpartition(".")[2] + "." + frame.f_code.co_name)
threading.setprofile(watch)
sys.setprofile(watch)
apf.set_threads(1)  # else the two files are read side by side, in any order
apf.evaluate("data/street/instances.json", "data/street/model_a.json").summary
sys.setprofile(None)
print(*dict.fromkeys(seen), sep="\\n")
"""


def test_the_drawing_has_every_package_in_its_order() -> None:
    drawing = TEXT.split("```")[1]
    drawn = re.findall(r"^  ([a-z_]+)(?:/|\.py) ", drawing, re.MULTILINE)
    assert drawn == [name for packages in GROUPS.values() for name in packages if name != "__main__"]


@pytest.mark.slow
def test_the_path_is_the_one_that_is_taken() -> None:
    done = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True, cwd=ROOT)
    taken = done.stdout.split()
    path = re.findall(r"`([a-z_]+\.[a-z_]+)`", TEXT.split("<!-- path -->")[1].split("<!-- end of path -->")[0])
    path = [call for call in path if call not in ("rules.RULES",)]
    assert [call for call in path if call not in taken] == []
    order = [taken.index(call) for call in path]
    assert order == sorted(order)


def test_lines_are_counted_without_what_is_no_code(tmp_path: Path) -> None:
    module = tmp_path / "a.py"
    says, text = '    """Say it."""\n', '    return """two\nlines"""\n'
    module.write_text(f'"""What it is."""\n\n# why\nx = [\n    1,\n]\n\n\ndef f() -> str:\n{says}{text}')
    assert count_lines(module) == 6
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.py").write_text("y = 2\n")
    assert sizes(tmp_path)[2:] == [
        "| b | 1 | 1 | b/c.py (1) |", "| modules of their own | 1 | 6 | a.py (6) |", "| all | 2 | 7 | |"
    ]  # fmt: skip

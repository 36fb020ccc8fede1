"""CONTRIBUTING.md draws the package as it is: its folders, and the calls from `evaluate` to the numbers in their order."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.map import ROOT, count_lines, sizes
from tests.test_layers import GROUPS

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PAGE = (ROOT / "docs" / "concepts" / "how_a_number_is_computed.md").read_text()
WATCH = """
import sys, threading
import apframe as apf
def watch(frame, event, argument):  # prints the public functions and methods that another module calls
    module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
    caller = frame.f_back.f_globals.get("__name__", "") if frame.f_back else ""
    if event == "call" and module.startswith("apframe.") and caller != module and name[0] not in "<_":
        print(module.removeprefix("apframe."), name)
threading.setprofile(watch)
sys.setprofile(watch)
apf.set_threads(1)  # else the two files are read side by side, in any order
apf.evaluate("data/street/instances.json", "data/street/model_a.json").summary
sys.setprofile(None)
"""


def test_the_drawing_has_every_package_in_its_order() -> None:
    drawing = TEXT.split("```")[1]
    drawn = re.findall(r"^  ([a-z_]+)(?:/|\.py) ", drawing, re.MULTILINE)
    assert drawn == [name for packages in GROUPS.values() for name in packages if name != "__main__"]


def steps_of(table: str) -> dict[tuple[str, str], int]:
    """The step of each call of the page, which are modules and names."""
    steps: dict[tuple[str, str], int] = {}
    for number, module, name in re.findall(r"^\| (\d*) ?\| `([\w.]+)` \| `([\w.]+)` \|", table, re.MULTILINE):
        steps[module, name] = int(number) if number else max(steps.values())
    return steps


@pytest.mark.slow
def test_no_step_of_a_number_returns_to_an_earlier_module() -> None:
    steps = steps_of(PAGE.split("<!-- path -->")[1].split("<!-- end of path -->")[0])
    step_of = {module: number for (module, _), number in steps.items()}
    assert len(step_of) == len({(module, number) for (module, _), number in steps.items()}), "a module is in one step"
    done = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True, cwd=ROOT)
    calls = [(module, name) for module, name in map(str.split, done.stdout.splitlines()) if module in step_of]
    assert [call for call in steps if call not in calls] == []
    entered = [(step_of[module], module, name) for module, name in calls if "." not in name or (module, name) in steps]
    assert [(before, after) for before, after in pairwise(entered) if before[0] > after[0]] == []


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

"""The notebooks say what is so: executed anew they give the text that is stored, and their words have the numbers of it."""

from __future__ import annotations

import base64
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EMPTY = "%reset -f\nfrom polars import Config\nConfig.restore_defaults()\n%reset -f"
NUMBER = re.compile(r"\d+(?:\.\d+)?")
# a path from the root, a Windows drive, an address in memory
OF_A_MACHINE = re.compile(r"(?<![\w.<])/(?:home|root|Users|tmp|work|usr|opt|var|mnt|private)\b|\b[A-Z]:\\|\b0x[0-9a-f]{6,}")
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("execute_notebooks", ROOT / "notebooks" / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(path: Path) -> Any:
    return nbformat.read(path, as_version=4).cells


def code_cells(path: Path) -> Iterator[Any]:
    return (cell for cell in cells(path) if cell.cell_type == "code")


def texts(cell: Any) -> list[str]:
    """What can be read below a cell: streams and plain text, not pictures."""
    outputs = cell.get("outputs", [])
    return [output.text if output.output_type == "stream" else output.data["text/plain"] for output in outputs]


def test_these_are_there() -> None:
    names = [
        "01_first_evaluation",
        "02_slices",
        "03_sql",
        "04_runs",
        "05_retrieval",
        "06_compare",
        "07_diagnose",
        "08_report",
        "09_driving",
    ]
    assert [path.stem for path in NOTEBOOKS] == names


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the kernel is reached by sockets that are files")
@pytest.mark.parametrize(("folder", "start"), [(".", 0), ("notebooks", 1)], ids=["root", "notebooks"])
def test_executed_anew_the_text_is_the_same(
    folder: str, start: int, script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People start Jupyter in either folder, so every second notebook is run in each; one kernel, emptied between, runs all."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "jupyter"))  # nothing of the user's, and nothing shared
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "notebooks").mkdir()
    stored = [cell for path in NOTEBOOKS[start::2] for cell in [nbformat.v4.new_code_cell(EMPTY), *code_cells(path)]]
    alone = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell.source) for cell in stored])
    anew = script.executed(alone, tmp_path / folder)
    assert [texts(cell) for cell in anew.cells] == [texts(cell) for cell in stored]


@pytest.mark.slow
@each_notebook
def test_stored_as_make_notebooks_stores_it(path: Path, script: ModuleType) -> None:
    stored = path.read_text(encoding="utf-8")
    notebook = script.normalised(nbformat.reads(stored, as_version=4))
    assert nbformat.writes(notebook) + "\n" == stored
    assert [cell.execution_count for cell in code_cells(path)] == [*range(1, len(list(code_cells(path))) + 1)]


@each_notebook
def test_outputs_are_there_and_charts_are_pictures(path: Path) -> None:
    assert sum(bool(cell.outputs) for cell in code_cells(path)) >= 6
    for cell in code_cells(path):
        assert not [output for output in cell.outputs if output.output_type == "error" or output.get("name") == "stderr"]
        drawn = "apf.plot." in cell.source or "alt.Chart(" in cell.source
        pictures = [output.data["image/png"] for output in cell.outputs if "image/png" in output.get("data", {})]
        assert len(pictures) == drawn, cell.source
        assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert path.stat().st_size < 600_000


@each_notebook
def test_nothing_of_a_machine(path: Path) -> None:
    for cell in cells(path):
        shown = [
            text for output in cell.get("outputs", []) for kind, text in output.get("data", {}).items() if kind != "image/png"
        ]
        for text in [cell.source, *texts(cell), *shown]:
            assert not OF_A_MACHINE.findall(text), text


@each_notebook
def test_numbers_in_words_stand_in_an_output_above(path: Path) -> None:
    """Or in the code, as thresholds do."""
    above: set[str] = set()
    in_code = {number for cell in code_cells(path) for number in NUMBER.findall(cell.source)}
    checked = 0
    for cell in cells(path):
        if cell.cell_type == "code":
            above.update(number for text in texts(cell) for number in NUMBER.findall(text))
        elif above:
            words = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", cell.source)  # neither code nor links
            numbers = [number for number in NUMBER.findall(words) if len(number) > 1]
            assert not set(numbers) - above - in_code, cell.source
            checked += len(numbers)
    assert checked >= 10

"""The README says what is so: its tour runs, and it names every command and option there is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from typer.main import get_command

import apframe as apf
from apframe.cli.command import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_tour_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"<!-- run by tests/docs/test_readme.py -->\n```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == README.count("```python") - README.count(
        "<!-- run by tests/docs/test_training_code.py -->\n```python"
    )
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(block, namespace)
    printed = capsys.readouterr().out
    assert printed.count("@[ IoU=") == 42  # of all images, of a subset, by other protocols
    assert "hybrid: 60 of 60 judged queries evaluated" in printed
    assert (tmp_path / "runs" / "model_a" / "metrics.parquet").is_file()
    assert (tmp_path / "runs" / "search" / "per_query.parquet").is_file()


def test_every_definition_and_measure_is_named() -> None:
    for name in apf.definitions()["name"]:
        assert f"| `{name}" in README
    for name in apf.measures()["name"]:
        assert re.search(rf"\b{name}\b", README), name


def test_every_format_has_a_row_with_its_test() -> None:
    rows = re.findall(r"^\| `(\w+)` (.+?) \| .* \| \[\w+\]\((tests/file_formats/test_\w+\.py)\) \|$", README, re.MULTILINE)
    assert [(name, title) for name, title, _ in rows] == apf.formats().select("format", "title").rows()
    assert all((ROOT / test).is_file() for *_, test in rows)


def test_tour_is_ten_lines() -> None:
    tour = README.split("```python\n")[1].split("```")[0]
    statements = [line for line in tour.splitlines() if line.strip() and not line.startswith((" ", "import"))]
    assert len(statements) <= 10


def test_every_command_and_option_is_named() -> None:
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        assert f"apframe {name} " in README
        for parameter in command.params:
            for option in getattr(parameter, "opts", []):
                if option.startswith("--") and option != "--help":
                    assert option in README, f"apframe {name} {option}"


def test_first_commands_are_make_demo_and_make_test() -> None:
    first_block = README.split("```")[1]
    assert [line.split("#")[0].strip() for line in first_block.strip().splitlines()] == ["make demo", "make test"]

"""What the shell completes: it asks by environment variables, as the scripts do that click prints for bash, zsh and fish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_command import RESULTS, TRUTH, command, process

PAGE = Path(__file__).parents[2] / "docs" / "get_started" / "coco_files.md"
Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


def completed(capsys: Capture, monkeypatch: Patch, *words: str, shell: str = "bash") -> tuple[list[str], str]:
    """What `apframe` answers when the last word is completed, and what it prints on stderr."""
    monkeypatch.setenv("_APFRAME_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join(["apframe", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)) if shell != "fish" else words[-1])
    _, out, err = command(capsys, monkeypatch)
    return [line for line in out.splitlines() if line], err


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("ev", ["plain,eval"]),
        ("--ver", ["plain,--version"]),
        ("eval --inter", ["plain,--intervals"]),
        ("eval --engi", ["plain,--engine"]),
        ("eval dat", ["file,dat"]),
        ("eval a.json dat", ["file,dat"]),
        ("eval --image-attributes dat", ["file,dat"]),
        ("compare a b c", ["file,c"]),
        ("sql run", ["file,run"]),
        ("eval --protocol ki", ["plain,kitti"]),
        ("eval --gt-format yolo_l", ["plain,yolo_labels"]),
        ("eval --dt-format luna", ["plain,luna16"]),
        ("convert a b --to yol", ["plain,yolo"]),
        ("compare --level c", ["plain,category"]),
        ("convert a b --split tr", []),
        ("eval --by nam", ["plain,name"]),
        (f"eval {TRUTH} {RESULTS} --by wea", ["plain,weather"]),
        (f"eval {TRUTH} {RESULTS} --by=weather,ti", ["plain,weather,time_of_day"]),
        (f"errors {TRUTH} {RESULTS} --by weather,nam", ["plain,weather,name"]),
        (f"stats {TRUTH} --by occ", ["plain,occlusion"]),
        (f"eval {Path(__file__).name} --by nam", ["plain,name"]),
        (f"eval {__file__} --by nam", []),
        ("what ", []),
        ("eval --what ", ["file,"]),
    ],
)
def test_completion(line: str, answer: list[str], capsys: Capture, monkeypatch: Patch) -> None:
    assert completed(capsys, monkeypatch, *line.split(" ")) == (answer, "")


def test_shells_get_descriptions(capsys: Capture, monkeypatch: Patch) -> None:
    says = "Evaluate detections against ground truth."
    assert completed(capsys, monkeypatch, "ev", shell="zsh")[0] == ["plain", "eval", says]
    assert completed(capsys, monkeypatch, "ev", shell="fish")[0] == [f"plain,eval\t{says}"]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_real_shells(shell: str) -> None:
    """The lines of the docs, and then what each shell makes of the answer."""
    scripts = Path(sys.executable).parent
    if shutil.which(shell) is None or not (scripts / "apframe").exists():
        pytest.skip(f"{shell} or the script apframe is not installed")
    words = f"apframe eval {TRUTH} {RESULTS} --by weather,ti"
    ask = {
        "bash": f"COMP_WORDS=({words}); COMP_CWORD=5; _apframe_completion apframe; echo $COMPREPLY",
        "zsh": f"words=({words}); CURRENT=6; compadd() {{ echo $completions }}; _apframe_completion",
        "fish": f"complete -C '{words}'",
    }
    line = next(line for line in PAGE.read_text().splitlines() if f"={shell}_source" in line)
    script = line if shell == "fish" else f"compdef() {{ true; }}\n{line}"
    done = subprocess.run(
        [shell, "-c", f"{script}\n{ask[shell]}"], capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("weather,time_of_day\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setenv("_APFRAME_COMPLETE", f"{shell}_source")
    code, out, err = command(capsys, monkeypatch)
    assert (code, err) == (0, "") and f"_APFRAME_COMPLETE={shell}_complete" in out


def test_nothing_is_said_of_what_fails(capsys: Capture, monkeypatch: Patch) -> None:
    for instruction in ("bash_complete", "what", "csh_source"):  # without the words of a line, or of no shell
        monkeypatch.setenv("_APFRAME_COMPLETE", instruction)
        assert command(capsys, monkeypatch) == (1, "", "")


@pytest.mark.slow
def test_completion_imports_little(monkeypatch: Patch) -> None:
    script = """
import sys
from apframe.cli import main
try:
    main()
except SystemExit:
    print(*sorted(sys.modules))
"""
    environment = {"_APFRAME_COMPLETE": "bash_complete", "COMP_WORDS": "apframe eval --protocol ki", "COMP_CWORD": "3"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    answer, modules = done.stdout.splitlines()
    assert answer == "plain,kitti"
    assert not {"duckdb", "numpy", "pyarrow", "rich", "apframe.evaluation.evaluate"} & set(modules.split())


@pytest.mark.slow
def test_a_process_completes(monkeypatch: Patch) -> None:
    monkeypatch.setenv("_APFRAME_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "apframe ev")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = process()
    assert (done.returncode, done.stdout, done.stderr) == (0, "plain,eval\n", "")

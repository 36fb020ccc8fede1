"""What the shell completes: it asks by environment variables, as the scripts do that click prints for bash, zsh and fish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import apframe as apf
from tests.cli.test_command import RESULTS, TRUTH, command, process

QUERIES = Path(__file__).parents[2] / "data" / "search" / "queries.csv"
PAGE = Path(__file__).parents[2] / "docs" / "get_started" / "coco_files.md"
Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("runs") / "model_a"
    apf.evaluate(TRUTH, RESULTS).write_parquet(folder)
    return str(folder)


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
        (f"eval {__file__} --by nam", ["plain,name"]),
        (f"eval --image-attributes {__file__} {TRUTH} --by wea", ["plain,weather"]),
        (f"eval {TRUTH} {RESULTS} --by weather,wea", []),
        (f"eval {TRUTH} {RESULTS} --by = wea", ["plain,weather"]),
        (f"compare {TRUTH} {RESULTS} --unit wea", ["plain,weather"]),
        (f"compare {TRUTH} {RESULTS} --unit occ", []),
        (f"convert {TRUTH} b --split a=.5,b=.5 --by wea", ["plain,weather"]),
        ("errors {run} --by wea", ["plain,weather"]),
        ("compare {run} {run} --by occ", ["plain,occlusion"]),
        ("report {run} --by weather,tim", ["plain,weather,time_of_day"]),
        ("rank qrels.txt run.txt --by na", []),
        (f"rank qrels.txt run.txt --queries {QUERIES} --by ", ["plain,topic", "plain,n_words", "plain,text"]),
        ("protocols voc20", ["plain,voc2007", "plain,voc2012"]),
        ("formats labelm", ["plain,labelme"]),
        ("eval --protocol VOC20", ["plain,voc2007", "plain,voc2012"]),
        ("eval --protocol = LVI", ["plain,lvis"]),
        ("eval --matching opt", ["plain,optimal"]),
        ("eval --iou-type seg", ["plain,segm"]),
        ("confusion --min-score ", ["plain,best_f1"]),
        ("rank --trec-eval ", ["plain,9", "plain,10"]),
        ("what ", []),
        ("eval --what ", ["file,"]),
    ],
)
def test_completion(line: str, answer: list[str], run: str, capsys: Capture, monkeypatch: Patch) -> None:
    assert completed(capsys, monkeypatch, *line.replace("{run}", run).split(" ")) == (answer, "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_what_stands_before_a_value_stays(shell: str, capsys: Capture, monkeypatch: Patch) -> None:
    answers, _ = completed(capsys, monkeypatch, "eval", TRUTH, "--by=weather,ti", shell=shell)
    assert ",".join(answers).removesuffix(",_") == "plain,--by=weather,time_of_day"


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
    line = next(line for line in PAGE.read_text().splitlines() if f"={shell}_source" in line)
    script = line if shell == "fish" else f"compdef() {{ true; }}\n{line}"
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    for words, answer in (("--by weather,ti", "weather,time_of_day"), ("--by=weather,ti", "--by=weather,time_of_day")):
        line = f"apframe eval {TRUTH} {RESULTS} {words}"
        n = len(line.split())
        split = line.replace("=", " = ")
        ask = {
            "bash": f"COMP_WORDS=({split}); COMP_CWORD={len(split.split()) - 1}; _apframe_completion apframe; echo $COMPREPLY",
            "zsh": f"words=({line}); CURRENT={n}; compadd() {{ echo $completions }}; _apframe_completion",
            "fish": f"complete -C '{line}'",
        }
        done = subprocess.run(
            [shell, "-c", f"{script}\n{ask[shell]}"], capture_output=True, text=True, check=False, env=environment
        )
        replaced = answer.partition("=")[2] if shell == "bash" and "=" in answer else answer  # of the words, the last one
        assert (done.stdout, done.stderr) == (f"{replaced}\n", "")
    bare = {name: value for name, value in environment.items() if name != "PATH"} | {"PATH": "/usr/bin:/bin"}
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=False, env=bare)
    assert shutil.which("apframe", path=bare["PATH"]) or (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, capsys: Capture, monkeypatch: Patch) -> None:
    monkeypatch.setenv("_APFRAME_COMPLETE", f"{shell}_source")
    code, out, err = command(capsys, monkeypatch)
    assert (code, err) == (0, "") and f"_APFRAME_COMPLETE={shell}_complete" in out


def test_nothing_is_said_of_what_fails(capsys: Capture, monkeypatch: Patch) -> None:
    for instruction in ("bash_complete", "csh_complete"):  # without the words of a line, or of no shell
        monkeypatch.setenv("_APFRAME_COMPLETE", instruction)
        assert command(capsys, monkeypatch) == (1, "", "")
    for instruction in ("what", "csh_source"):
        monkeypatch.setenv("_APFRAME_COMPLETE", instruction)
        says = "error: _APFRAME_COMPLETE is bash_source, zsh_source or fish_source\n"
        assert command(capsys, monkeypatch) == (1, "", says)


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

"""Ctrl-C at any moment of the `apframe` command: the process ends with 130 and no traceback.

A hook for Python's audit events sends the signal: there is one for each import and each file that is opened, and many others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.machinery import BuiltinImporter
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from apframe import ctrl_c
from tests.stopping import ROOT, SECONDS, interrupted_in

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are a matter of Unix")
BOX = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
HOOK = """
import _signal, importlib, os

moment, n_events = os.environ["MOMENT"], 0

def hear(event, arguments):
    global n_events
    if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        n_events += 1
        if moment in (str(n_events), arguments[0] if event == "import" else ""):
            os.kill(os.getpid(), _signal.SIGINT)

def import_module(name, *package):  # of which there is no event
    hear("import", [name])
    return imported(name, *package)

import sys; sys.addaudithook(hear)
imported, importlib.import_module = importlib.import_module, import_module
"""
SCRIPT = "import sys\nfrom apframe.__main__ import run\nif __name__ == '__main__':\n    sys.exit(run())\n"  # as pip writes it
FINALIZERS = """
import os, signal, time
import apframe

class Pressing:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

class Failing:
    def __del__(self):
        raise ValueError("mine")

def main():
    Failing()
    Pressing()
    time.sleep(60)

__name__ = "apframe.cli.command"  # inside whose main Ctrl-C is an exception
try:
    main()
except KeyboardInterrupt:
    print("interrupted")
"""


def interrupted(moment: object, start: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """`apframe eval`, with Ctrl-C when it imports the module of this name, or at the event of this number."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [BOX | {"id": 1}]}
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "found.json").write_text(json.dumps([BOX | {"score": 0.5}]))
    paths = os.pathsep.join([str(folder / "hook"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    files = [str(folder / "truth.json"), str(folder / "found.json")]
    return subprocess.run(
        [sys.executable, *start, "eval", *files, "--out", str(folder / "run")],
        capture_output=True, text=True, check=False, env=os.environ | {"MOMENT": str(moment), "PYTHONPATH": paths},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    [
        1, "typing", "polars", "apframe.static_table", "apframe.cli.command", "click", "apframe.cli.evaluate",
        "apframe.cli.file_options", "numpy",
        "apframe.formats.catalogue", "apframe.evaluation.evaluate", "apframe.metrics.plain_sums", "apframe.store.parquet",
    ],
)  # fmt: skip
def test_ctrl_c_at_an_import(moment: object, tmp_path: Path) -> None:
    done = interrupted(moment, ["-m", "apframe"], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("start", [["-um", "apframe"], ["-Bmapframe"], ["-X", "utf8", "-W", "error", "-m", "apframe"]])
def test_ctrl_c_with_other_options_of_python(start: list[str], tmp_path: Path) -> None:
    done = interrupted("polars", start, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_arguments_of_other_programs_are_not_the_command() -> None:
    for arguments in (["-m", "apframe"], ["-um", "apframe"], ["-mapframe"]):
        for module in (["-m", "timeit"], ["-mtimeit"], ["-Wm", "-m", "timeit"]):
            assert not ctrl_c.is_command(["-m", *arguments], ["python", *module, *arguments])
        assert not ctrl_c.is_command(["a.py", *arguments], ["python", "a.py", *arguments])


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["polars", "apframe.evaluation.evaluate"])
def test_ctrl_c_in_the_installed_script(moment: str, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "apframe").write_text(SCRIPT)
    done = interrupted(moment, [str(tmp_path / "bin" / "apframe")], tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("moment", sorted(Random(0).sample(range(1, 9000), 40)))
def test_ctrl_c_at_any_event(moment: int, tmp_path: Path) -> None:
    done = interrupted(moment, ["-m", "apframe"], tmp_path)
    assert (done.returncode, done.stderr) == (130, "")


def test_ctrl_c_in_a_finalizer(tmp_path: Path) -> None:
    """Python cannot pass on what is raised there, so Ctrl-C comes again. Other errors there are reported as ever."""
    (tmp_path / "apframe").write_text(FINALIZERS)
    command = [sys.executable, str(tmp_path / "apframe")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.stdout == "interrupted\n"
    assert done.stderr.count("Exception ignored") == 1 and done.stderr.endswith("ValueError: mine\n")


def test_ctrl_c_in_a_finalizer_of_the_tests() -> None:
    def end_slowly() -> None:
        time.sleep(SECONDS)

    class Ending:
        def __del__(self) -> None:
            end_slowly()

    with interrupted_in("end_slowly"), pytest.raises(KeyboardInterrupt):
        Ending()
        time.sleep(SECONDS)


@pytest.mark.slow
def test_programs_that_only_import_it_keep_their_ctrl_c() -> None:
    script = (
        "import signal, sys, apframe\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "assert sys.unraisablehook is sys.__unraisablehook__"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def frames(*names: tuple[str, str, str]) -> Any:
    """A stack of functions, the innermost one first: their names, modules and files."""
    frame = None
    for name, module, file in reversed(names):
        code = SimpleNamespace(co_name=name, co_filename=file)
        frame = SimpleNamespace(f_code=code, f_globals={"__name__": module}, f_back=frame)
    return frame


MAIN, RUN = ("main", "apframe.cli.command", "command.py"), ("run", "apframe.__main__", "__main__.py")
IMPORT = ("find_spec", "importlib._bootstrap", BuiltinImporter.find_spec.__code__.co_filename)


def test_only_inside_main_it_is_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", sys.exit)
    monkeypatch.setattr(ctrl_c, "is_pressed", False)
    for stack in (frames(RUN), frames(IMPORT, RUN), frames(("main", "other", "a.py"), RUN)):
        with pytest.raises(SystemExit, match="130"):
            ctrl_c.interrupt(signal.SIGINT, stack)
    with pytest.raises(KeyboardInterrupt):
        ctrl_c.interrupt(signal.SIGINT, frames(("evaluate", "apframe", "a.py"), MAIN, IMPORT, RUN))
    assert ctrl_c.is_pressed


def test_inside_main_an_import_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(ctrl_c, "is_pressed", False)
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            ctrl_c.interrupt(signal.SIGINT, frames(IMPORT, MAIN, RUN))  # which raises nothing, but sends it again
            signal.pause()
        finally:
            signal.signal(signal.SIGINT, earlier)

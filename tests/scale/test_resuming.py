"""Runs that are killed, interrupted or out of space: what they leave, and that the next one ends with the same numbers."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import OutputError, SecondPassWarning
from apframe.scale.verdict_files import head_of, read_verdicts
from tests.disks import fill
from tests.scale.cutting_anyhow import Cut
from tests.stopping import ROOT, SECONDS, hidden, process, wait_until_stopped

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")]

STREET = ROOT / "data" / "street"
N_SHARDS, N_KILLS = 90, 6

RUN = """
import itertools, signal, sys, tempfile, threading
import apframe
from apframe import ctrl_c
from apframe.scale import job, shard_source  # after which all is imported
sys.unraisablehook = ctrl_c.report_lost  # Ctrl-C that Python cannot pass on is sent again
shards, work, memory, tempfile.tempdir, stop_before = sys.argv[1:]
numbers, stops = itertools.count(1), {int(stop_before), int(stop_before) + 5} - {0, 5}  # again, so that it does not end

def stop(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith(".arrow") and next(numbers) in stops:
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)  # this thread goes no further

sys.addaudithook(stop)
print("ready", flush=True)
"""
ONCE = RUN + "print(apframe.evaluate_shards(shards, work=work, memory=int(memory)).metrics.write_json(), flush=True)"
AGAIN_AND_AGAIN = RUN + "while True: apframe.evaluate_shards(shards, memory=int(memory)).metrics"


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("street") / "shards"
    Cut(N_SHARDS, listed=True).write(STREET / "instances.json", STREET / "model_a.json", folder)
    return folder


@cache
def expected() -> str:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json").metrics.write_json()


def whole(folder: Path) -> set[str]:
    """The names of the files of verdicts, each of which can be read to its end."""
    paths = sorted(folder.glob("*.arrow"))
    for path in paths:
        table = read_verdicts(path)
        table.validate(full=True)
        assert head_of(table).facts["heights"]["detections"] == head_of(table).counts.sum()
    return {path.name for path in paths}


def test_a_run_that_is_often_killed_has_the_same_numbers(shards: Path, tmp_path: Path) -> None:
    moments, work = random.Random(22), tmp_path / "work"
    work.mkdir()
    done = [set[str]()]
    for kill in range(1, N_KILLS + 1):
        until = round(moments.uniform(kill - 1, kill) / (N_KILLS + 2) * N_SHARDS)
        with process(ONCE, shards, work, 10**9, tmp_path, max(1, until - len(done[-1]))) as run:
            wait_until_stopped(run)
            if kill % 2:  # killed between writing a file and giving it its name
                assert hidden(work)
            else:  # killed anywhere
                run.send_signal(signal.SIGCONT)
                time.sleep(moments.uniform(0, 0.01))
        done.append(whole(work))
        assert done[-2] <= done[-1]
    assert len(done[1]) < len(done[-1])
    metrics = apf.evaluate_shards(shards, work=work).metrics
    assert metrics.write_json() == expected()
    assert len(whole(work)) == N_SHARDS == len(list(work.iterdir()))
    assert done[-1] <= whole(work)


def test_two_runs_at_once_in_one_folder(shards: Path, tmp_path: Path) -> None:
    arguments = shards, tmp_path / "work", 10**9, tmp_path, 0
    with process(ONCE, *arguments) as one, process(ONCE, *arguments) as other:
        for each in (one, other):
            stdout, stderr = each.communicate()
            assert (each.returncode, stdout, stderr) == (0, expected() + "\n", "")
    assert len(whole(tmp_path / "work")) == N_SHARDS == len(list((tmp_path / "work").iterdir()))


def test_spilled_verdicts_of_a_killed_run_are_removed(shards: Path, tmp_path: Path) -> None:
    for number in range(1, N_KILLS // 2):
        before = hidden(tmp_path)
        with process(AGAIN_AND_AGAIN, shards, "", 1, tmp_path, number * number) as run:
            wait_until_stopped(run)
        assert len(hidden(tmp_path)) == 1 and hidden(tmp_path) != before


def test_ctrl_c_ends_a_run_and_leaves_nothing(shards: Path, tmp_path: Path) -> None:
    moments = random.Random(7)
    for _ in range(N_KILLS // 2):
        with process(AGAIN_AND_AGAIN, shards, "", 1, tmp_path, 0) as run:  # which never ends by itself
            time.sleep(moments.uniform(0, 1))
            run.send_signal(signal.SIGINT)
            _, stderr = run.communicate(timeout=SECONDS)
        assert stderr.splitlines()[-1] == "KeyboardInterrupt" and run.returncode in (-signal.SIGINT, 130)
        assert list(tmp_path.iterdir()) == []


def test_no_space_for_spilled_verdicts(shards: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    for leave in (0, 8192, 100_000):
        (small_disk / "fill").unlink(missing_ok=True)
        fill(small_disk, leave=leave)
        with pytest.raises(OutputError) as caught:
            apf.evaluate_shards(shards, memory=1)
        problem = "verdicts cannot be written (no space left on device)"
        assert str(caught.value) == f"{small_disk}: {problem}; name a folder with more space with work=, or set TMPDIR to one"
        assert [path.name for path in small_disk.iterdir()] == ["fill"]


def test_no_space_for_tables_of_objects(shards: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = apf.evaluate_shards(shards)
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    fill(small_disk, leave=50_000)
    with pytest.warns(SecondPassWarning), pytest.raises(OutputError) as caught:
        evaluation.sql("SELECT count(*) FROM detections")
    problem = "tables of objects cannot be written (no space left on device)"
    assert str(caught.value) == f"{small_disk}: {problem}; set TMPDIR to a folder with more space"
    assert [path.name for path in small_disk.iterdir()] == ["fill"]


def test_no_space_in_the_folder_of_work(shards: Path, small_disk: Path) -> None:
    for leave in (0, 100_000):
        (small_disk / "fill").unlink(missing_ok=True)
        fill(small_disk, leave=leave)
        with pytest.raises(OutputError) as caught:
            apf.evaluate_shards(shards, work=small_disk / "work" if leave else small_disk)
        assert "cannot be written (no space left on device); name another folder with work=" in str(caught.value)
        assert str(caught.value).startswith(f"{small_disk}{'/work' if leave else ''}: ")
        assert all(each.suffix != ".part" for each in small_disk.rglob("*"))
    n_done = len(whole(small_disk / "work"))
    assert 0 < n_done < N_SHARDS  # which the next run takes up
    (small_disk / "fill").unlink()


AS_NOBODY = """
import os, sys
import apframe
from apframe.exceptions import OutputError
from apframe.scale import job, shard_source
apframe.evaluate_shards(sys.argv[1])  # which imports what it needs
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    apframe.evaluate_shards(sys.argv[1], work=sys.argv[2])
except OutputError as error:
    print(error)
"""


@pytest.fixture
def places(shards: Path) -> Iterator[Path]:
    """A folder with shards that every user may enter; each pytest that starts closes pytest's folders to other users."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(shards, folder / "shards")
        folder.chmod(0o755)
        (folder / "closed").mkdir(mode=0o555)
        yield folder


@pytest.mark.parametrize("name", ["", "/work"])
def test_a_folder_that_may_not_be_written_to(name: str, places: Path) -> None:
    closed = f"{places}/closed{name}"
    command = [sys.executable, "-c", AS_NOBODY, f"{places}/shards", closed]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    message = f"{closed}: cannot be written (permission denied); name another folder with work=\n"
    assert (done.stdout, done.stderr) == (message, "")

"""Runs that are killed, interrupted or out of space: what they leave, and that the next one ends with the same numbers."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import OutputError, SecondPassWarning
from apframe.scale.store import head, read_table
from tests.disks import fill
from tests.scale.cutting_anyhow import Cut

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")]

ROOT = Path(__file__).parents[2]
STREET = ROOT / "data" / "street"
N_SHARDS, N_KILLS = 150, 10

RUN = """
import sys, tempfile
import apframe
from apframe.scale import evaluation, local, one_shard  # after which all is imported
shards, work, memory, tempfile.tempdir = sys.argv[1:]
print("ready", flush=True)
while True:
    result = apframe.evaluate_shards(shards, work=work or None, memory=int(memory)).metrics
    print(result.write_json(), flush=True)
    if AT_MOST_ONCE:
        break
"""
ONCE, AGAIN_AND_AGAIN = RUN.replace("AT_MOST_ONCE", "True"), RUN.replace("AT_MOST_ONCE", "False")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("street") / "shards"
    Cut(N_SHARDS, listed=True).write(STREET / "instances.json", STREET / "model_a.json", folder)
    return folder


@cache
def expected() -> str:
    return apf.evaluate(STREET / "instances.json", STREET / "model_a.json").metrics.write_json()


@contextmanager
def process(script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that runs the script, from the moment at which it has printed "ready"; killed at the end."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True) as started:
        assert started.stdout is not None and started.stderr is not None
        assert started.stdout.readline() == "ready\n", started.stderr.read()
        try:
            yield started
        finally:
            started.kill()


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def whole(folder: Path) -> set[str]:
    """The names of the files of verdicts, each of which can be read to its end."""
    found = sorted(folder.glob("*.arrow"))
    for path in found:
        table = read_table(path)
        table.validate(full=True)
        assert head(table).said["heights"]["detections"] == head(table).counts.sum()
    return {path.name for path in found}


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_numbers(shards: Path, tmp_path: Path) -> None:
    moments, work = random.Random(22), tmp_path / "work"
    work.mkdir()
    done, ended = [set[str]()], list[int]()
    for kill in range(1, N_KILLS + 1):
        with process(ONCE, shards, work, 10**9, tmp_path) as run:
            until = moments.uniform(kill - 1, kill) / (N_KILLS + 2) * N_SHARDS
            while len(list(work.glob("*.arrow"))) < until and run.poll() is None:
                pass
            time.sleep(moments.uniform(0, 0.01))
            stop = time.monotonic() + 0.1
            while kill % 2 and not hidden(work) and time.monotonic() < stop:
                pass  # half of them are killed while they write, as a rule
            run.send_signal(signal.SIGKILL)
            ended.append(run.wait())
        done.append(whole(work))
        assert done[-2] <= done[-1]
    assert ended.count(-signal.SIGKILL) > N_KILLS // 2  # the others had ended before
    assert len(done[1]) < len(done[-1])
    metrics = apf.evaluate_shards(shards, work=work).metrics
    assert metrics.write_json() == expected()
    assert len(whole(work)) == N_SHARDS == len(list(work.iterdir()))
    assert done[-1] <= whole(work)


def test_two_runs_at_once_in_one_folder(shards: Path, tmp_path: Path) -> None:
    arguments = shards, tmp_path / "work", 10**9, tmp_path
    with process(ONCE, *arguments) as one, process(ONCE, *arguments) as other:
        for each in (one, other):
            stdout, stderr = each.communicate()
            assert (each.returncode, stdout, stderr) == (0, expected() + "\n", "")
    assert len(whole(tmp_path / "work")) == N_SHARDS == len(list((tmp_path / "work").iterdir()))


def test_spilled_verdicts_of_a_killed_run_are_removed_by_the_next_one(shards: Path, tmp_path: Path) -> None:
    n_left = []
    for number in range(N_KILLS // 2):
        with process(AGAIN_AND_AGAIN, shards, "", 1, tmp_path):
            until = time.monotonic() + 1
            while not list(tmp_path.glob(".apframe-scale.*/*.arrow")) and time.monotonic() < until:
                pass
            time.sleep(number / 100)
        n_left.append(len(hidden(tmp_path)))
    assert set(n_left) <= {0, 1, 2} and sum(n_left) > 0  # 2: of one evaluation, while the next one has begun


def test_ctrl_c_ends_a_run_and_leaves_nothing(shards: Path, tmp_path: Path) -> None:
    moments = random.Random(7)
    for _ in range(N_KILLS // 2):
        with process(AGAIN_AND_AGAIN, shards, "", 1, tmp_path) as run:
            time.sleep(moments.uniform(0, 1))
            began = time.monotonic()
            run.send_signal(signal.SIGINT)
            _, stderr = run.communicate(timeout=20)
            assert time.monotonic() - began < 5
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
from apframe.scale import evaluation, local, one_shard
apframe.evaluate_shards(sys.argv[1])  # which imports what it needs
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    apframe.evaluate_shards(sys.argv[1], work=sys.argv[2])
except OutputError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["", "/work"])
def test_a_folder_that_may_not_be_written_to(name: str, shards: Path) -> None:
    for folder in (shards, *shards.parents[:4]):
        folder.chmod(0o755)
    closed = shards.parent / "closed"
    closed.mkdir(mode=0o555, exist_ok=True)
    command = [sys.executable, "-c", AS_NOBODY, str(shards), f"{closed}{name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    message = f"{closed}{name}: cannot be written (permission denied); name another folder with work=\n"
    assert (done.stdout, done.stderr) == (message, "")

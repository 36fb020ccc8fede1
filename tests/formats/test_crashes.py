"""Writers that are killed, at any moment and between any two of their steps; two writers and a reader at once."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, OutputError
from apframe.formats.stored_sets import read_table
from apframe.store.parquet import read_manifest, write_tables
from tests.formats.writes import NEVER_REPLACED, READS, SIZES, WRITES, size_of_run
from tests.stopping import SECONDS, hidden, process, stop_when, wait_until_stopped

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")]

N_KILLS = 4

AGAIN_AND_AGAIN = """
import sys, itertools
from pathlib import Path
from tests.formats.writes import WRITES
kind, target, replaces = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "True"
WRITES[kind](300, target.with_name("first"))  # after which all is imported
print("ready", flush=True)
for number in itertools.count():
    WRITES[kind]((300, 500)[number % 2], target if replaces else target.with_name(f"{kind}.{number}"))
"""


@pytest.mark.parametrize("kind", READS)
def test_a_killed_writer_leaves_the_old_or_the_new(kind: str, tmp_path: Path) -> None:
    moments, replaces, n_left = random.Random(kind), kind not in NEVER_REPLACED, 0
    for number in range(N_KILLS):
        folder = tmp_path / str(number)
        if replaces:
            folder.mkdir()
            WRITES[kind](300, folder / kind)
        with process(AGAIN_AND_AGAIN, kind, folder / kind, replaces) as writer:
            time.sleep(moments.uniform(0, 0.15))
            if number % 2:  # half of the writers are killed in the middle, the others anywhere
                stop_when(writer, lambda folder=folder: hidden(folder))  # type: ignore[misc]
            writer.send_signal(signal.SIGTERM if number % 5 == 0 else signal.SIGKILL)
            writer.send_signal(signal.SIGCONT)
            writer.wait()
        left = hidden(folder)  # before a reader looks
        for path in [folder / kind] if replaces else sorted(folder.glob(f"{kind}.[0-9]*")):
            assert READS[kind](path) in SIZES
        for name in left:
            target = folder / name[1:].rsplit(".", 2)[0]
            if replaces or not target.exists():
                WRITES[kind](500, target)
                assert READS[kind](target) == 500
            else:  # a file or folder, killed when all but its hidden folder was done
                with pytest.raises(OutputError, match=r"choose another name|give a new folder"):
                    WRITES[kind](500, target)
        n_left += len(left)
        assert hidden(folder) == []
    assert n_left >= N_KILLS // 2


SWAP = """
import signal, sys, threading
import polars as pl
from apframe.store.parquet import write_tables

folder, last, number = sys.argv[1], int(sys.argv[2]), 0

def stop_before(event, arguments):
    global number
    if event == "fcntl.flock" or (event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.scandir")
                                  and str(arguments[0]).startswith(folder)):
        number += 1
        if STOP:
            signal.pthread_kill(threading.get_ident(), signal.SIGNAL)  # this thread goes no further

print("ready", flush=True)
sys.addaudithook(stop_before)
write_tables(folder + "/run", {"a": pl.DataFrame({"x": [2, 2]}), "b": pl.DataFrame({"x": [2]})}, {"kind": "detection"})
"""


def write_small(folder: Path, value: int) -> None:
    write_tables(folder, {"a": pl.DataFrame({"x": [value] * 2}), "b": pl.DataFrame({"x": [value]})}, {"kind": "detection"})


def values(folder: Path) -> set[int]:
    manifest = read_manifest(folder)
    return {value for name in manifest["tables"] for value in read_table(folder, name, manifest["set_id"])["x"]}


@pytest.mark.parametrize("next_one", ["a reader", "a writer"])
def test_a_kill_between_any_two_steps_of_a_swap(next_one: str, tmp_path: Path) -> None:
    killed = SWAP.replace("STOP", "number == last").replace("SIGNAL", "SIGKILL")
    seen = []
    for last in range(1, 1000):
        folder = tmp_path / str(last)
        write_small(folder / "run", 1)
        with process(killed, folder, last) as writer:
            was_killed = writer.wait() == -signal.SIGKILL
        if next_one == "a reader":
            seen.append(values(folder / "run"))
        write_small(folder / "run", 3)
        assert values(folder / "run") == {3}
        assert [path.name for path in folder.iterdir()] == ["run"]
        if not was_killed:
            break
    assert last > 20
    if next_one == "a reader":  # the old set up to some step, the new one from there on
        n_old = seen.count({1})
        assert 0 < n_old < last
        assert seen == [{1}] * n_old + [{2}] * (last - n_old)


def test_a_reader_takes_the_second_step_of_a_held_up_writer(tmp_path: Path) -> None:
    second_step = 'event == "os.rename" and "/new/" in str(arguments[0])'
    write_small(tmp_path / "run", 1)
    with process(SWAP.replace("STOP", second_step).replace("SIGNAL", "SIGSTOP"), tmp_path, 0) as writer:
        wait_until_stopped(writer)
        assert not (tmp_path / "run").exists()
        assert values(tmp_path / "run") == {2}
        writer.send_signal(signal.SIGCONT)
        assert writer.wait() == 0
    assert values(tmp_path / "run") == {2}
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_two_writers_and_a_reader(tmp_path: Path) -> None:
    n_read = 0
    WRITES["run"](300, tmp_path / "run")
    arguments = ("run", tmp_path / "run", True)
    with process(AGAIN_AND_AGAIN, *arguments) as one, process(AGAIN_AND_AGAIN, *arguments) as other:
        began = time.monotonic()
        while time.monotonic() < began + 3 or (n_read == 0 and time.monotonic() < began + SECONDS):
            try:
                assert size_of_run(tmp_path / "run") in SIZES
                n_read += 1
            except FormatError as error:
                assert "another evaluation was written to this folder while it was being read; read it again" in str(error)
        for writer in (one, other):
            assert writer.poll() is None, writer.stderr and writer.stderr.read()
    assert n_read > 0
    WRITES["run"](300, tmp_path / "run")
    assert size_of_run(tmp_path / "run") == 300
    assert hidden(tmp_path) == []


READER = """
import sys, tempfile
import apframe
tempfile.tempdir = sys.argv[2]
print("ready", flush=True)
while True:
    apframe.read_coco_results(sys.argv[1])
"""


def test_temporary_copies_are_removed_by_the_next_reader(tmp_path: Path) -> None:
    results = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 1 / (n + 2)} for n in range(50_000)]
    apf.write_coco_results(apf.read_coco_results(results), tmp_path / "results.json")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for _ in range(N_KILLS):
        before = hidden(temporary)
        with process(READER, tmp_path / "results.json", temporary) as reader:
            stop_when(reader, lambda before=before: set(hidden(temporary)) - set(before))  # type: ignore[misc]
        assert len(hidden(temporary)) == 1  # its own; it has removed that of the one before

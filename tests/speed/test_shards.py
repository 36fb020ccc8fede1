"""The measurements of shards: its data, what processes hold, and what its page shows; nothing here is timed."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf

from . import __main__ as driver
from . import generate_shards, sharding_worker, shards_worker, worker
from .processes import Peaks, held_by, tree
from .report import Bar, Run, all_equal, judge, page, summarize
from .topics import SHARDS, TOPICS

pytestmark = pytest.mark.slow


def write(into: Path, n: int = 3) -> Path:
    generate_shards.write_shards(into, (61, 400, 1000), 7, n, seed=5)
    return into


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("shards"))


def table(folder: Path, name: str) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(file) for file in sorted(folder.glob(f"*/{name}.parquet"))])


def test_shards_come_out_the_same(shards: Path, tmp_path: Path) -> None:
    again = write(tmp_path)
    files = sorted(str(file.relative_to(shards)) for file in shards.rglob("*") if file.is_file())
    assert len(files) == 2 + 3 * 3
    assert [(shards / file).read_bytes() for file in files] == [(again / file).read_bytes() for file in files]


def test_shards_have_the_numbers_that_they_say(shards: Path) -> None:
    manifest = json.loads((shards / "shards.json").read_bytes())
    assert (manifest["format"], manifest["format_version"]) == ("apframe shards", 1)
    assert manifest["n_images"] == {"00000": 20, "00001": 20, "00002": 21}
    for name, total in (("images", 61), ("annotations", 400), ("detections", 1000)):
        counts = {folder.name: pl.read_parquet(folder / f"{name}.parquet").height for folder in sorted(shards.glob("0*"))}
        assert manifest[f"n_{name}"] == counts
        assert sum(counts.values()) == total


def test_rows_are_numbered_through_and_images_are_in_one_shard(shards: Path) -> None:
    for name in ("annotation", "detection"):
        rows = table(shards, f"{name}s")
        assert rows["input_row"].to_list() == list(range(rows.height))
        assert rows[f"{name}_id"].to_list() == list(range(1, rows.height + 1))
        assert rows["image_id"].is_sorted()
    images = table(shards, "images")
    assert images["image_id"].is_unique().all()
    assert images["image_id"].is_sorted()
    for folder in shards.glob("0*"):
        own = pl.read_parquet(folder / "images.parquet")["image_id"].to_list()
        for name in ("annotations", "detections"):
            assert set(pl.read_parquet(folder / f"{name}.parquet")["image_id"]) <= set(own)


def test_shards_can_be_evaluated_and_scores_have_ties(shards: Path) -> None:
    detections = table(shards, "detections")
    truth = apf.Dataset(table(shards, "images"), pl.read_parquet(shards / "categories.parquet"), table(shards, "annotations"))
    summary = dict(apf.evaluate(truth, detections).summary.iter_rows())
    assert 0.1 < summary["AP50"] < 0.9
    assert detections["score"].n_unique() < detections.height


def test_the_command_writes_the_same(shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "images": 61,
        "categories": 7,
        "annotations": 400,
        "detections": 1000,
        "n": 3,
        "seed": 5,
        "into": tmp_path / "made",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    monkeypatch.setattr(sys, "argv", ["generate_shards.py", *words])
    generate_shards.main()
    assert table(tmp_path / "made", "detections").equals(table(shards, "detections"))


def test_what_a_process_and_its_children_hold() -> None:
    """A process with a child: each holds 50 MB of its own."""
    hold = "held = bytes(range(256)) * 200_000; print(len(held), flush=True); input()"
    code = f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {hold!r}], stdin=0); {hold}"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"51200000\n"] * 2
        alone, peaks = held_by([process.pid]), Peaks()
        peaks.look(process.pid)
        processes = tree(process.pid)
        process.communicate(b"\n\n")
    assert processes[0] == process.pid
    assert len(processes) == peaks.processes == 2
    assert 51 < alone.anonymous < alone.resident < 95
    assert 102 < peaks.anonymous < peaks.resident < 190
    assert peaks.cpu > 0
    ended = held_by([process.pid])
    assert (ended.resident, ended.anonymous, ended.cpu) == (0, 0, {})
    assert os.getpid() in tree(os.getppid())


@pytest.fixture
def as_script(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A script finds the modules of its folder, and its process ends before another number of threads is needed."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    yield
    apf.set_threads(None)


def answer(capsys: pytest.CaptureFixture[str]) -> list[float]:
    printed: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed["wall"] > 0
    assert printed["cpu"] >= 0
    stats: list[float] = printed["stats"]
    return stats


@pytest.mark.usefixtures("as_script")
def test_all_jobs_have_the_same_numbers(
    shards: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shards)
    stats = {}
    for job in shards_worker.JOBS:
        if not job.startswith("ray"):
            shards_worker.main("apframe", job, "shards.json")
            stats[job] = answer(capsys)
    assert len(stats) == 5
    assert len(stats["shards"]) == SHARDS.numbers
    assert 0.1 < stats["shards"][1] < 0.9
    for numbers in stats.values():
        assert numbers == pytest.approx(stats["in memory"], abs=SHARDS.tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("job", ["ray", "ray start"])
def test_ray_has_the_numbers_of_this_process(job: str, shards: Path) -> None:
    pytest.importorskip("ray")
    printed = {}
    for each in (job, "shards"):
        words = [sys.executable, shards_worker.__file__, "apframe", each, "shards.json"]
        done = subprocess.run(words, cwd=shards, stdout=subprocess.PIPE, check=True, timeout=300)
        printed[each] = json.loads(done.stdout.splitlines()[-1])
    assert printed[job]["stats"] == pytest.approx(printed["shards"]["stats"], abs=SHARDS.tolerance)
    assert printed[job]["wall"] > 0


@pytest.mark.usefixtures("as_script")
def test_without_ray_its_jobs_are_skipped(
    shards: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shards_worker, "find_spec", lambda _: None)
    shards_worker.main("apframe", "ray", str(shards / "shards.json"))
    assert json.loads(capsys.readouterr().out) == {"skipped": "Ray is not installed"}


@pytest.mark.usefixtures("as_script")
def test_what_is_read_is_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # where shards are written
    numbers = []
    for job in sharding_worker.JOBS:
        sharding_worker.main("apframe", job, *worker.sample_beside("", "bbox"))
        numbers.append(answer(capsys))
    truth = json.loads((Path(worker.STREET) / "instances.json").read_bytes())
    detections = json.loads((Path(worker.STREET) / "model_a.json").read_bytes())
    assert numbers == [[len(truth["images"]), len(truth["annotations"]), len(detections)]] * 3
    assert not list(tmp_path.iterdir())


def run(set_: str, job: str, wall: float, peak: float = 100.0) -> Run:
    numbers = {"wall": wall, "cpu": wall, "peak": peak, "anonymous": peak / 2, "stats": [0.5] * 12}
    return {"set": set_, "job": job, "tool": "apframe", **numbers}  # type: ignore[typeddict-item]


ABOUT = {"versions": "apframe 0.5.0", "date": "2026-11-23", "machine": "2 cores, a CPU"}


def test_the_page_compares_times_of_a_million_rows() -> None:
    runs = [run("5m", "in memory", 2.0), run("50m", "shards", 24.0, 3000.0)]
    runs.append({"set": "5m", "job": "ray", "tool": "apframe", "error": "skipped: Ray is not installed"})
    lines = page(SHARDS, ABOUT, runs, "make bench").splitlines()
    assert lines[0] == "| data | job | apframe | s per million | relative to 5m, in memory | anonymous MB |"
    assert lines[1] == "|---|---|--:|--:|--:|--:|"
    assert lines[2].endswith("| 2.000 / 2.000 (100) | 0.400 | 1.00 | 50 |")
    assert lines[3].endswith("| 24.000 / 24.000 (3,000) | 0.480 | 1.20 | 1,500 |")
    assert lines[4].endswith("| skipped: Ray is not installed |  |  |  |")
    assert page(SHARDS, ABOUT, runs[1:2], "make bench").splitlines()[2].endswith("| 0.480 |  | 1,500 |")


@pytest.mark.parametrize(
    ("bar", "expected"),
    [
        (SHARDS.bars[0], "met** shards, 50m: time ≤ 13.0 × that of in memory, 5m; reached 12"),
        (SHARDS.bars[1], "met** shards, 50m: ≤ 4000 MB; reached 3e+03 MB"),
        (Bar("shards", "50m", 2999, quantity="MB"), "MISSED** shards, 50m: ≤ 2999 MB; reached 3e+03 MB"),
        (SHARDS.bars[3], "not measured** ray, 5m: time ≤ 1.25 × that of threads=2"),
    ],
)
def test_bars_of_shards(bar: Bar, expected: str) -> None:
    runs = [run("5m", "in memory", 2.0), run("50m", "shards", 24.0, 3000.0)]
    assert judge(bar, summarize(runs)) == f"- **{expected}"


def test_what_is_not_installed_is_skipped_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import sys\nprint('{\"skipped\": \"Ray is not installed\"}' if sys.argv[2] == 'ray' else 1 / 0)\n")
    (tmp_path / "shards.json").touch()
    topic = replace(SHARDS, worker=str(worker))
    skipped, failed = (driver.measure(topic, "tiny", job, "apframe", (tmp_path / "shards.json",)) for job in ("ray", "shards"))
    assert skipped["error"] == "skipped: Ray is not installed"
    assert failed["error"] == "failed: ZeroDivisionError: division by zero"

    monkeypatch.setattr(driver, "OUT", tmp_path)
    options: Any = {
        "sets": ["tiny"],
        "jobs": ["ray"],
        "tools": None,
        "quick": True,
        "runs": 1,
        "write": False,
        "data": tmp_path,
    }
    monkeypatch.setattr(driver, "input_files", lambda *_: (tmp_path / "shards.json",))
    assert driver.run_topic(topic, argparse.Namespace(**options)) == ""
    options["jobs"] = ["ray", "shards"]
    assert driver.run_topic(topic, argparse.Namespace(**options)) == "apframe has not run everywhere"
    assert "skipped: Ray is not installed" in capsys.readouterr().out


def test_a_set_may_have_some_of_the_jobs_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    measured = []

    def measure(_: Any, set_: str, job: str, *__: Any) -> Run:
        measured.append((set_, job))
        return run(set_, job, 1.0)

    monkeypatch.setattr(driver, "measure", measure)
    monkeypatch.setattr(driver, "OUT", tmp_path)
    (tmp_path / "shards.json").touch()
    monkeypatch.setattr(driver, "input_files", lambda *_: (tmp_path / "shards.json",))
    options: Any = {"sets": ["500k", "50m"], "jobs": ["in memory", "shards"], "tools": None, "quick": True, "write": False}
    driver.run_topic(SHARDS, argparse.Namespace(**options, data=tmp_path))
    assert measured == [("500k", "in memory"), ("500k", "shards"), ("50m", "shards")]


def test_jobs_of_sets_are_jobs_of_their_topic() -> None:
    for topic in TOPICS.values():
        for set_ in topic.sets.values():
            assert set(set_.jobs) <= set(topic.jobs)
    assert all_equal(SHARDS, [run("5m", "shards", 1.0), run("5m", "ray", 1.0)])

"""What the page of growth computes from what was measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf

from . import generate_shards, growth, growth_worker
from .growth import BILLION, Grown, in_bytes, in_detections, in_time
from .growth_worker import REST, Watch, n_bytes

SECONDS = dict.fromkeys(growth.STAGES, 0.0) | {"read": 1.0, "match": 2.0, "number": 0.5, "merge": 1.0, "rank": 3.0}
MEASURED: dict[str, Any] = {
    "n_images": 100_000, "n_annotations": 1, "n_detections": 10_000_000, "n_shards": 10,
    "largest": 1_000_000,
    "files": 300_000_000, "written": 200_000_000,
    "matching": {"resident": 500.0, "anonymous": 300.0, "before": 200.0},
    "ranking": {"resident": 900.0, "anonymous": 450.0, "before": 250.0},
    "stages": {
        name: {"wall": took, "cpu": took, "calls": 1, "bytes": 320_000_000 if name == "merge" else 0, "most": 64_000_000}
        for name, took in SECONDS.items()
    },
}  # fmt: skip
WHOLE = {
    "n_images": 10_000_000, "n_shards": 1000, "numbering": 4.0, "megabytes": 1000.0, "drawing": 2.0,
    "bytes of a resample": 80_000_000,
}  # fmt: skip
BASE = Grown.of(MEASURED)


def test_figures_are_for_each_detection() -> None:
    assert BASE.cpu["match"] == pytest.approx(0.2)
    assert BASE.core("each shard") == pytest.approx(0.3)
    assert BASE.core("each block of categories") == pytest.approx(0.4)
    assert BASE.total == pytest.approx(0.75)
    assert (BASE.made["merge"], BASE.files, BASE.written) == (32, 30, 20)
    assert BASE.block == 2_000_000
    assert BASE.in_a_block == 100


def cells(lines: list[str]) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return {first: rest for first, *rest in rows}


def test_the_table_of_growth_has_a_column_for_each_set() -> None:
    rows = cells(growth.growth_table({"5m": BASE, "50m": BASE}))
    assert rows["match"] == ["each shard", "0.200", "0.200", "", ""]
    assert rows["put verdicts of all shards together"] == ["each block of categories", "0.100", "0.100", "32.0", "32.0"]
    assert rows["all stages"] == ["", "0.750", "0.750", "", ""]
    assert rows["verdicts on disk"] == ["", "", "", "20.0", "20.0"]
    assert cells(growth.peaks_table({"50m": BASE}))["while shards are matched"] == ["500"]
    assert cells(growth.peaks_table({"50m": BASE}))["of it not of files"] == ["450"]  # the last one, of ranking
    assert {line.count("|") for line in growth.growth_table({"5m": BASE, "50m": BASE})} == {7}


def test_the_plan_is_a_hundred_times_the_largest_set() -> None:
    rows = {name: value for name, (_, value) in cells(growth.plan_table(BASE, WHOLE)).items()}
    assert rows["images"] == "10,000,000"
    assert rows["shards, as large as those measured"] == "1,000"
    assert rows["shards on disk"] == rows["over the network: shards"] == "30.0 GB"
    assert rows["core time of matching"] == "5.0 minutes"  # 300 s
    assert rows["matching on 32 workers"] == "9 seconds"
    assert rows["core time of ranking"] == "6.7 minutes"  # 400 s, a tenth of them for the largest category
    assert rows["detections of the largest category"] == "100,000,000"
    assert rows["ranking on 32 cores, this category on one of them"] == "40 seconds"
    assert rows["memory for this category"] == "10.0 GB"  # 100 million of 100 bytes
    assert rows["numbering of the images"] == "4 seconds"
    assert rows["memory of a worker that matches"] == "300 MB"
    assert rows["over the network: verdicts"] == "20.0 GB"
    assert rows["all of that at 125 MB per second for each machine"] == "2.8 minutes"  # 30 GB to 32, and 20 GB to one
    assert rows["all together, one after the other"] == "3.7 minutes"


def test_what_breaks_is_in_the_order_in_which_it_breaks() -> None:
    limits = growth.limits(BASE, WHOLE)
    assert [at for at, *_ in limits] == sorted(at for at, *_ in limits)
    assert limits[0][0] == pytest.approx(16e9 / 50)  # half of the detections, of 100 bytes each
    assert limits[0][1].endswith("it takes 50.0 GB at a billion")
    assert "(10.0% of all detections)" in limits[1][1]
    assert limits[1][0] == pytest.approx(1.6 * BILLION)
    rows = growth.limits_table(BASE, WHOLE)
    assert rows[2].startswith("| 0.3 billion | ")
    assert rows[4].startswith("| 4.3 billion | numbers of rows")
    assert rows[5].startswith("| 16.0 billion | the driver")


def test_sentences_have_their_numbers() -> None:
    assert "2 seconds to draw and 80 MB to hold. 1,000 of them take 33.3 minutes" in growth.resampling(BASE, WHOLE)
    assert growth.resampling(BASE, WHOLE).endswith("they take 83.3 hours of one core to rank.")


def test_units() -> None:
    assert [in_bytes(n) for n in (9.99e8, 1e9)] == ["999 MB", "1.0 GB"]
    assert [in_time(n) for n in (89, 90, 5399, 5400)] == ["89 seconds", "1.5 minutes", "90.0 minutes", "1.5 hours"]
    assert [in_detections(n) for n in (1.25e9, 2.6e11)] == ["1.2 billion", "260 billion"]


def test_texts_are_written_between_their_marks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- plan -->\nold\n<!-- end of plan -->\nb\n")
    monkeypatch.setattr(growth, "PAGE", page)
    growth.write_page(growth.report({"50m": BASE}, WHOLE, "measured"))
    text = page.read_text()
    assert text.startswith("a\n<!-- plan -->\n\n| what | where | a billion detections |\n")
    assert text.endswith("|\n\n<!-- end of plan -->\nb\n")
    assert "old" not in text


def test_the_page_has_marks() -> None:
    text = growth.PAGE.read_text()
    for name in growth.report({"50m": BASE}, WHOLE, ""):
        assert re.findall(rf"<!-- (?:end of )?{name} -->", text) == [f"<!-- {name} -->", f"<!-- end of {name} -->"]


def test_time_belongs_to_the_innermost_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]  # a clock that only work moves
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    watch = Watch()

    def work(seconds: int) -> np.ndarray:
        now[0] += seconds
        return np.zeros(3)

    inner = watch.watched(work, "inner", lambda made: made)
    with watch.stage(REST):
        watch.watched(lambda: (work(1), inner(20), inner(20)), "outer", lambda made: made[1:])()
    assert watch.calls == {"inner": 2, "outer": 1}
    assert (watch.bytes, watch.most) == ({"inner": 48, "outer": 48}, {"inner": 24, "outer": 48})
    assert [watch.spent[name][0] for name in ("inner", "outer", REST)] == [40, 1, 0]


def test_bytes_of_tables_and_arrays() -> None:
    table = pl.DataFrame({"a": [1, 2]})
    assert n_bytes([table, (np.zeros(3), table.to_arrow())]) == 16 + 24 + 16
    assert n_bytes(()) == 0


@pytest.fixture
def default_threads() -> Iterator[None]:
    yield
    apf.set_threads(None)


@pytest.mark.slow
@pytest.mark.usefixtures("default_threads")
def test_every_stage_takes_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generate_shards.write_shards(tmp_path, (40, 200, 600), 3, 4, seed=5)
    monkeypatch.syspath_prepend(Path(__file__).parent)  # as for a script
    for name, (places, _) in growth_worker.STAGES.items():  # which are replaced: put back after the test
        for module, attribute in places:
            monkeypatch.setattr(*_owner(module, attribute), raising=True)
        assert name in growth.STAGES
    growth_worker.main("stages", str(tmp_path))
    measured = json.loads(capsys.readouterr().out)
    assert measured["stages"].keys() == growth.STAGES.keys()
    assert all(stage["wall"] > 0 for stage in measured["stages"].values())
    calls = {name: stage["calls"] for name, stage in measured["stages"].items()}
    assert calls["pair"] == calls["match"] == calls["table"] == calls["write"] == 4
    assert calls["merge"] == 1
    assert (measured["n_detections"], measured["n_shards"]) == (600, 4)
    detections = pl.read_parquet(tmp_path / "*" / "detections.parquet")
    assert measured["largest"] == detections["category_id"].value_counts()["count"].max()
    assert 0.1 < measured["stats"][1] < 0.9
    for phase in ("matching", "ranking"):
        assert 20 < measured[phase]["before"] <= measured[phase]["anonymous"] < measured[phase]["resident"]


def _owner(module: str, attribute: str) -> tuple[Any, str, Any]:
    owner = import_module(f"apframe.{module}")
    *inside, name = attribute.split(".")
    for each in inside:
        owner = getattr(owner, each)
    return owner, name, getattr(owner, name)


def test_the_whole_is_numbered(capsys: pytest.CaptureFixture[str]) -> None:
    growth_worker.main("whole", "1000", "10")
    measured = json.loads(capsys.readouterr().out)
    assert measured["bytes of a resample"] == 8000
    assert measured["numbering"] > 0
    assert measured["drawing"] > 0

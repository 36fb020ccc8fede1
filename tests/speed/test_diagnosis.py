"""The workers of comparisons and diagnoses give numbers that other methods give too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf

from . import __main__ as driver
from . import compare_worker, errors_worker
from .report import OURS
from .slices_worker import numbers
from .topics import COMPARE, ERRORS
from .worker import STREET

SAMPLE = [str(Path(STREET) / f"{name}.json") for name in ("instances", "model_a", "model_b")]
# of three hundred images in a hundred slices
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::apframe.exceptions.FewResamplesWarning")]


@pytest.fixture(scope="module")
def models() -> list[apf.Evaluation]:
    return [apf.evaluate(SAMPLE[0], found) for found in SAMPLE[1:]]


@pytest.fixture
def stats_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """What a worker prints, with few resamples."""
    monkeypatch.syspath_prepend(Path(__file__).parent)  # as for a script
    monkeypatch.setattr(compare_worker, "N_RESAMPLES", 5)

    def run(main: Callable[..., None], job: str, *files: str) -> list[float]:
        main(OURS, job, *files)
        stats: list[float] = json.loads(capsys.readouterr().out.splitlines()[-1])["stats"]
        return stats

    return run


def _of_all_and_each_category(model: apf.Evaluation) -> dict[tuple[str, ...], Any]:
    values = {(metric,): value for metric, value in model.summary.iter_rows()}
    metrics = model.summary["metric"].to_list()
    of_each = model.by("category_id").unpivot(index="category_id", on=metrics)
    return values | {(str(category), metric): value for category, metric, value in of_each.iter_rows()}


def test_comparisons(stats_of: Callable[..., list[float]], models: list[apf.Evaluation]) -> None:
    a, b = (_of_all_and_each_category(model) for model in models)
    expected: dict[str, Iterable[tuple[Any, float | None]]] = {
        "twelve": [(key, None if a[key] is None or b[key] is None else b[key] - a[key]) for key in a],
        "resampled": [(key, b[key] - a[key]) for key in a if len(key) == 1],
        "three": [(key, value) for key, value in a.items() if key[-1] in compare_worker.THREE],
        "interval": [(key, value) for key, value in a.items() if len(key) == 1],
    }
    for job, rows in expected.items():
        stats = stats_of(compare_worker.main, job, *SAMPLE)
        assert len(stats) == COMPARE.numbers
        assert stats == pytest.approx(numbers(rows), abs=COMPARE.tolerance)
    evaluation, interval = (stats_of(compare_worker.main, job, *SAMPLE) for job in ("evaluation", "interval"))
    assert evaluation == pytest.approx(interval, abs=COMPARE.tolerance)


def test_slices_of_comparisons(stats_of: Callable[..., list[float]]) -> None:
    truth = apf.read_coco(SAMPLE[0])
    images = truth.images.sort("image_id").with_columns(slice=pl.int_range(pl.len()) % compare_worker.N_SLICES)
    evaluation = apf.evaluate(apf.Dataset(images, truth.categories, truth.annotations), SAMPLE[1])
    rows = evaluation.by("slice").unpivot(index="slice", on=evaluation.summary["metric"].to_list()).iter_rows()
    expected = numbers(((str(key), metric), value) for key, metric, value in rows)
    assert stats_of(compare_worker.main, "100 slices", *SAMPLE) == pytest.approx(expected, abs=COMPARE.tolerance)


def test_diagnoses(stats_of: Callable[..., list[float]], models: list[apf.Evaluation]) -> None:
    summary, thresholds = models[0].summary, models[0].thresholds(0.5)
    counts = models[0].per_image(0.5).select(pl.col("tp", "fp", "fn").sum()).row(0, named=True)
    answers = {job: stats_of(errors_worker.main, job, *SAMPLE[:2]) for job in ERRORS.jobs}
    assert all(len(stats) == ERRORS.numbers for stats in answers.values())
    assert answers["evaluation"][0] == pytest.approx(np.mean(summary["value"].to_numpy()))
    assert answers["thresholds"][0] == pytest.approx(thresholds["f1"].mean())
    cells = models[0].confusion(0.5)
    mistaken = cells.filter(pl.col("true_category_id") != pl.col("found_category_id"))["n"].sum()  # a false positive and a miss
    assert answers["confusion"][0] * cells.height == pytest.approx(sum(counts.values()) - mistaken)


def test_numbers_of_errors_are_those_of_hotcoco() -> None:
    """Its reference values on the sample set, from DIAGNOSIS.md 1.6."""
    expected = {"ap": 0.457740667169, "dupe": 0.002697433657, "fp": 0.043084415339, "fn": 0.442760924889}
    expected |= {"duplicates": 70, "false positives": 19 + 33 + 21 + 70 + 665}
    _, compute, rows = errors_worker.apframe_steps("errors")
    figures = dict(rows(compute(apf.evaluate(*SAMPLE[:2]))))
    assert figures == pytest.approx(expected, abs=1e-11)


def test_a_set_is_made_by_all_of_its_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripts: list[str] = []

    def run(command: list[str | Path], *, check: bool) -> None:
        assert check
        scripts.append(Path(command[1]).name)
        assert command[2:4] == ["--out", tmp_path / "5k"]

    monkeypatch.setattr(subprocess, "run", run)
    files = driver.input_files(COMPARE, "450k", "twelve", tmp_path)
    assert scripts == ["generate.py", "generate_second.py"]
    assert files == tuple(tmp_path / "5k" / f"{name}.json" for name in ("instances", "detections_450000", "second_450000"))


def test_the_second_model_comes_out_the_same(tmp_path: Path) -> None:
    def make(script: str, arguments: str) -> None:
        subprocess.run([sys.executable, driver.ROOT / script, "--out", tmp_path, *arguments.split()], check=True)

    make("data/generate.py", "--images 12 --categories 7 --annotations 90 --detections 400")
    contents = []
    for _ in range(2):
        make("tests/speed/generate_second.py", "--detections 400 --detections 50")
        contents.append([(tmp_path / f"second_{n}.json").read_bytes() for n in (400, 50)])
    assert contents[0] == contents[1]
    first, second, few = (
        apf.read_coco_results(tmp_path / f"{name}.json") for name in ("detections_400", "second_400", "second_50")
    )
    assert (first.height, second.height, few.height) == (400, 400, 50)
    assert not first.equals(second)

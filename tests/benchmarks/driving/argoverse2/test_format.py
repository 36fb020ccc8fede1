"""Argoverse 2: annotations of logs, detections of sweeps, and files that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.driving.argoverse2.format import EVALUATED, Argoverse2Format
from apframe.exceptions import FormatError, InvalidRowsWarning, RowError
from apframe.formats.arrow_files import Arrow
from apframe.formats.path_contents import see
from apframe.tables.shapes.declarations import CUBOID
from tests.benchmarks.driving.argoverse2.sweeps import sweep, write_feather, write_log
from tests.formats.folders import written
from tests.kits import run_kit

BUS = sweep(20, "BUS", (3.0, 4.0, 12.0), (10.0, 2.5, 3.0), yaw=0.5, num_interior_pts=7, track_uuid="u1")
DOG = sweep(10, "DOG", (1.0, 0.0, 0.0), num_interior_pts=0, track_uuid="u2")
HORSE = sweep(20, "HORSE", (1.0, 0.0, 0.0), num_interior_pts=1, track_uuid="u3")
FOUND = [sweep(10, "DOG", (0.0, 2.0, 0.0), log_id="b", score=0.5), sweep(20, "BUS", (3.0, 4.0, 0.0), log_id="a", score=0.25)]


def test_logs_are_one_data_set(tmp_path: Path) -> None:
    write_log(tmp_path / "val", "b", [BUS, DOG])
    write_log(tmp_path / "val", "a", [HORSE])
    written(
        tmp_path / "val",
        {"b/sensors/lidar/30.feather": "", "b/sensors/lidar/10.feather": "", "b/sensors/lidar/odd.feather": ""},
    )
    truth = apf.read_dataset(tmp_path / "val")
    assert truth.images.select("image_id", "log_id", "timestamp_ns").rows() == [
        ("a/20", "a", 20), ("b/10", "b", 10), ("b/20", "b", 20), ("b/30", "b", 30),
    ]  # fmt: skip
    assert truth.categories["name"].to_list() == [*EVALUATED, "HORSE"]
    assert len(EVALUATED) == 26
    rows = truth.annotations.select("image_id", "category_id", "n_points", "ego_distance", "track_uuid").rows()
    assert rows == [("a/20", "HORSE", 1, 1, "u3"), ("b/20", "BUS", 7, 13, "u1"), ("b/10", "DOG", 0, 1, "u2")]
    assert truth.annotations.select(CUBOID).row(1) == (3, 4, 12, 10, 2.5, 3, pytest.approx(0.5))
    alone = apf.read_dataset(tmp_path / "val" / "a")
    assert alone.images["image_id"].to_list() == ["a/20"]


def test_detections_are_of_sweeps(tmp_path: Path) -> None:
    detections = apf.read_results(write_feather(tmp_path / "found.feather", FOUND))
    assert detections.select("image_id", "category_id", "score", "ego_distance").rows() == [
        ("b/10", "DOG", 0.5, 2),
        ("a/20", "BUS", 0.25, 5),
    ]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no score": ({"score": [None, None]}, "the column score holds Null, not numbers; correct the file"),
    "a missing score": ({"score": [0.5, None]}, "score is missing or out of range in row 2; correct the file"),
    "text": ({"tx_m": ["1", "2"]}, "the column tx_m holds String, not numbers; correct the file"),
    "a number as a log": ({"log_id": [1, 2]}, "the column log_id holds Int64, not text; correct the file"),
    "fractions of nanoseconds": (
        {"timestamp_ns": [1e30, 1.0]},
        "timestamp_ns is missing or out of range in row 1; correct the file",
    ),
}


@pytest.mark.parametrize(("columns", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_named(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "found.feather"
    pl.DataFrame(FOUND).with_columns(**{name: pl.Series(values) for name, values in columns.items()}).write_ipc(path)
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qw", "qx", "qy", "qz", "tx_m"])
def test_numbers_that_are_not_finite_are_named_or_left_out(name: str, tmp_path: Path) -> None:
    """The direction of an infinite quaternion was a number all the same."""
    log = write_log(tmp_path / "val", "a", [BUS])
    path = write_feather(tmp_path / "found.feather", [FOUND[1], FOUND[1] | {name: float("inf")}])
    with pytest.raises(RowError, match=r"cuboid_(yaw|x) is .* for detection_id 2"):
        apf.evaluate(log, path, "argoverse2")
    with pytest.warns(InvalidRowsWarning, match="left out: 1 detection"):
        evaluation = apf.evaluate(log, path, "argoverse2", invalid="drop")
    assert evaluation.detections.height == 1


def test_missing_columns_and_folders_are_named(tmp_path: Path) -> None:
    path = write_feather(tmp_path / "found.feather", [{name: value for name, value in FOUND[0].items() if name != "score"}])
    with pytest.raises(FormatError, match=r"found\.feather: no column score; there are 'timestamp_ns', 'category',"):
        apf.read_results(path)
    with pytest.raises(FormatError, match=r"there is no annotations\.feather, and no folder with one$"):
        apf.read_dataset(tmp_path, "argoverse2")


def test_recognized_by_the_columns(tmp_path: Path) -> None:
    log, found = write_log(tmp_path / "val", "a", [BUS]), write_feather(tmp_path / "found.feather", FOUND)
    ours = {"image_id": ["a"], "category_id": ["BUS"], "score": [0.5]} | {name: [1.0] for name in CUBOID}
    plain = write_feather(tmp_path / "plain.feather", pl.DataFrame(ours).to_dicts())
    assert Argoverse2Format().fits(see(log), "dataset")
    assert Argoverse2Format().fits(see(tmp_path / "val"), "dataset")
    assert not Arrow().fits(see(log), "dataset")
    assert [Argoverse2Format().fits(see(path), "results") for path in (found, plain)] == [True, False]
    assert [Arrow().fits(see(path), "results") for path in (found, plain)] == [False, True]


SCRIPT = """
import pandas as pd
from av2.evaluation.detection import eval as detection
from av2.evaluation.detection.utils import DetectionCfg
detection.NUM_DECIMALS = 15
gts = pd.concat([pd.read_feather(path).assign(log_id=log) for log, path in given["logs"].items()], ignore_index=True)
config = DetectionCfg(eval_only_roi_instances=False)
_, _, metrics = detection.evaluate(pd.read_feather(given["found"]), gts, config, n_jobs=1)
print(metrics.to_json(orient="index", double_precision=15))
"""


def generated(random: np.random.Generator, log: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Annotations and detections of a log: found near by, far off, twice, or not at all; some beyond the range."""
    truth, detections = [], []
    for timestamp in range(1, 6):
        for _ in range(random.integers(4, 12)):
            category = str(random.choice(EVALUATED[:4]))
            centre = random.normal(0, (60, 60, 1))
            size = random.uniform(0.5, 6, 3)
            yaw = float(random.uniform(-3, 3))
            points = int(random.integers(0, 4))
            truth.append(sweep(timestamp, category, tuple(centre), tuple(size), yaw, num_interior_pts=points, track_uuid="u"))
            for _ in range(random.integers(0, 3)):
                off = centre + random.normal(0, (0.8, 0.8, 0.3))
                near = sweep(
                    timestamp, category, tuple(off), tuple(size * random.uniform(0.8, 1.2, 3)), yaw + random.normal(0, 0.5)
                )
                detections.append(near | {"score": float(random.random()), "log_id": log})
        for _ in range(3):
            centre = random.normal(0, (60, 60, 1))
            detections.append(sweep(timestamp, EVALUATED[0], tuple(centre), score=float(random.random()), log_id=log))
    return truth, detections


@pytest.mark.slow
def test_files_give_the_numbers_of_the_kit(tmp_path: Path) -> None:
    random, found = np.random.default_rng(3), []
    logs = {}
    for log in ("a", "b", "c"):
        truth, own = generated(random, log)
        found += own
        logs[log] = str(write_log(tmp_path / "val", log, truth) / "annotations.feather")
    path = write_feather(tmp_path / "found.feather", found)
    expected = run_kit("av2", SCRIPT, {"logs": logs, "found": str(path)})
    evaluation = apf.evaluate(tmp_path / "val", path, apf.ARGOVERSE2)
    names = ["AP", "ATE", "ASE", "AOE", "CDS"]
    mean = dict(evaluation.summary.rows())
    assert [mean[name] for name in names] == pytest.approx([expected["AVERAGE_METRICS"][name] for name in names], abs=1e-9)
    by_class = {row["name"]: row for row in evaluation.by("name").to_dicts()}
    for category in EVALUATED:
        theirs = [expected[category][name] for name in names]
        assert [by_class[category][name] for name in names] == pytest.approx(theirs, abs=1e-9), category
    assert expected[EVALUATED[0]]["AP"] > 0.03


@pytest.mark.slow
def test_all_logs_may_be_in_one_file(tmp_path: Path) -> None:
    """As `av2 evaluate` reads its ground truth: the same as the folders, without sweeps that only have points."""
    write_log(tmp_path / "val", "b", [BUS, DOG])
    write_log(tmp_path / "val", "a", [HORSE])
    rows = [row | {"log_id": log} for log, row in (("b", BUS), ("b", DOG), ("a", HORSE))]
    labels, found = write_feather(tmp_path / "labels.feather", rows), write_feather(tmp_path / "found.feather", FOUND)
    whole, one = apf.read_dataset(tmp_path / "val"), apf.read_dataset(labels)
    assert one.images.equals(whole.images)
    same = ["image_id", "category_id", "cuboid_x", "n_points"]
    assert one.annotations.select(same).sort(same).equals(whole.annotations.select(same).sort(same))
    assert apf.evaluate(labels, found, "argoverse2").detections.height == 2

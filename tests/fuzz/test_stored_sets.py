"""The same of stored evaluations, their tables, footers and manifests: see `test_formats`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import apframe as apf
from tests.fuzz.commands import CASES, report, run_cases
from tests.fuzz.test_runs import write_search
from tests.fuzz.valid_sets import write_valid

pytestmark = pytest.mark.slow

_OF_DETECTION = (
    "SELECT * FROM summary", "SELECT * FROM matches", "SELECT * FROM images JOIN annotations USING (image_id)", "FROM curves",
    "SELECT name, avg(ap) FROM metrics JOIN categories USING (category_id) GROUP BY name",
    "FROM pairs JOIN detections USING (detection_id)", "FROM assignments", "FROM thresholds", "FROM per_image",
)  # fmt: skip
_OF_RETRIEVAL = (
    "FROM summary",
    "FROM per_query JOIN queries USING (query_id)",
    "FROM matches",
    "FROM coverage",
    "FROM judgements",
    "FROM runs",
)


def write_detection(folder: Path) -> Path:
    truth, detections = write_valid("coco", "mask", folder)
    apf.evaluate(truth, detections, iou_type="segm").write_parquet(folder / "run")
    apf.evaluate(truth, detections).write_parquet(folder / "runs" / "a b")
    return folder


def write_retrieval(folder: Path) -> Path:
    write_search(folder)
    text = folder / "text"
    apf.evaluate_run(text / "qrels.txt", [text / "a.txt", text / "b.txt"], queries=text / "queries.csv").write_parquet(
        folder / "run"
    )
    return folder


@pytest.mark.parametrize("name", ["detection", "retrieval"])
def test_mutated_sets(name: str, tmp_path: Path) -> None:
    problems = run(name, CASES, tmp_path)
    assert not problems, report(problems)


def run(name: str, numbers: Sequence[int], folder: Path) -> list[str]:
    """The problems of these cases, in a new folder."""
    commands = [["sql", "{}/run", query] for query in (_OF_DETECTION if name == "detection" else _OF_RETRIEVAL)]
    if name == "detection":
        commands += [["sql", "{}/run*/**", query, "--json"] for query in ("FROM runs", *_OF_DETECTION)]
        commands += [
            ["eval", "{}/run", "{}/run"],
            ["check", "{}/run", "{}/found.json"],
            ["eval", "{}/truth.json", "{}/found.json", "--out", "{}/run"],
        ]
    (folder / name).mkdir()
    valid = (write_detection if name == "detection" else write_retrieval)(folder / name)
    return run_cases(name, numbers, [(valid, commands)], folder)

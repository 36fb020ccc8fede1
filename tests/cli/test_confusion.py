"""`apframe confusion`: the totals and the largest mistakes, all cells for programs, and errors in one line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from tests.cli.test_command import command, files

BOX, AWAY = [0, 0, 10, 10], [50, 50, 10, 10]
TRUTH = {
    "images": [{"id": 1}],
    "categories": [{"id": number, "name": f"thing {number}"} for number in range(1, 31)],
    "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": BOX}, {"id": 2, "image_id": 1, "category_id": 2, "bbox": AWAY},
    ],
}  # fmt: skip
FOUND = [
    {"image_id": 1, "category_id": 1, "bbox": BOX, "score": 0.9}, {"image_id": 1, "category_id": 1, "bbox": AWAY, "score": 0.4},
    {"image_id": 1, "category_id": 3, "bbox": AWAY, "score": 0.2},
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def confusion(*arguments: str, truth: Any = TRUTH, found: Any = FOUND) -> tuple[int, str, str]:
        return command(capsys, monkeypatch, "confusion", *files(tmp_path, truth, found), *arguments)

    return confusion


def test_the_totals_and_the_largest_mistakes(run: Any) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    first, *table = out.splitlines()
    assert first == (
        "At IoU 0.5, all scores: 1 detection right, 1 predicted as another category, 1 on background; 0 annotations missed."
    )
    assert [[cell.strip("│ ") for cell in line.split("┆")] for line in table if "thing" in line] == [
        ["thing 2", "thing 1", "1", "1.000", "0.500"]
    ]


def test_without_mistakes_there_is_no_table(run: Any) -> None:
    for score, said in (("0.5", "scores from 0.5"), ("best_f1", "scores from the best F1 of each category")):
        code, out, _ = run("--min-score", score)
        assert code == 0 and out == (
            f"At IoU 0.5, {said}: 1 detection right, 0 predicted as another category, 0 on background; 1 annotation missed.\n"
        )


@pytest.mark.slow
def test_all_cells_for_programs(run: Any) -> None:
    table = apf.evaluate(TRUTH, FOUND).confusion()
    code, out, _ = run("--json")
    assert code == 0 and json.loads(out) == json.loads(table.write_json())
    code, out, _ = run("--csv", "--iou-threshold", "0.9")
    assert code == 0 and pl.read_csv(StringIO(out))["n"].sum() == table["n"].sum()
    code, out, _ = run("--markdown")
    assert code == 0 and "| thing 2 | thing 1 |" in out and "0.500" in out


def test_the_rows_behind_the_cells(run: Any) -> None:
    code, out, _ = run("--pairs", "--json")
    assert code == 0 and [row["detection_id"] for row in json.loads(out)] == [1, 2, 3]


def test_more_cells_than_are_shown(run: Any) -> None:
    boxes = [[k * 20, 0, 10, 10] for k in range(25)]
    detections = [{"image_id": 1, "category_id": 2 + k, "bbox": box, "score": 0.5} for k, box in enumerate(boxes)]
    truth = TRUTH | {"annotations": [{"id": k, "image_id": 1, "category_id": 1, "bbox": box} for k, box in enumerate(boxes)]}
    code, out, _ = run(truth=truth, found=detections)
    assert code == 0 and out.count("thing 1 ") == 20
    assert out.splitlines()[-1] == "The other 5 cells are not larger; --csv prints all."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--min-score", "high"], "error: --min-score takes a number or best_f1, not 'high'"),
        (["--iou-threshold", "2"], r"error: --iou-thresholds must lie in (0, 1] and increase, got 2.0"),
        (["--protocol", "proposals"], "error: the categories are pooled, so none can be mistaken for another; "),
        (["--json", "--csv"], "error: --json and --csv cannot be combined"),
    ],
)
def test_bad_usage(arguments: list[str], message: str, run: Any) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1

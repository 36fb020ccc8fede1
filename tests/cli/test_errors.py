"""`apframe errors`: the table of impact, slices, rows for programs, and errors in one line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from tests.cli.test_command import command, files
from tests.evaluation.diagnose.test_errors import A, B, found, truth

TRUTH, FOUND = truth((1, A), (2, B)), found((1, [4, 0, 10, 10], 0.9), (2, A, 0.8), (2, B, 0.7))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    def errors(*arguments: str, truth: Any = TRUTH, found: Any = FOUND) -> tuple[int, str, str]:
        return command(capsys, monkeypatch, "errors", *files(tmp_path, truth, found), *arguments)

    return errors


def cells(out: str) -> list[list[str]]:
    return [[cell.strip("│ ") for cell in line.split("┆")] for line in out.splitlines() if "┆" in line]


def test_the_impact_of_each_kind(run: Any) -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "AP at IoU 0.5: 0.250"
    head, *rows = cells(out)
    assert head == ["error", "n", "delta_ap", "description"]
    assert [row[:3] for row in rows] == [
        ["cls", "1", "0.250"], ["loc", "1", "0.500"], ["both", "0", "0.000"], ["dupe", "0", "0.000"], ["bkg", "0", "0.000"],
        ["miss", "0", "0.000"], ["fp", "2", "0.250"], ["fn", "1", "0.000"],
    ]  # fmt: skip
    assert rows[0][3] == "The detection fits an annotation of another category."


def test_slices_are_rows(run: Any) -> None:
    _, out, _ = run("--by", "name")
    assert out.splitlines()[0] == "AP at IoU 0.5, and by how much it rises if all errors of a type are fixed:"
    assert cells(out)[:3] == [
        ["name", "ap", "cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn"],
        ["c1", "0.000", "0.000", "1.000", "0.000", "0.000", "0.000", "0.000", "0.000", "0.000"],
        ["c2", "0.500", "0.500", "0.000", "0.000", "0.000", "0.000", "0.000", "0.500", "0.000"],
    ]


@pytest.mark.slow
def test_tables_for_programs(run: Any) -> None:
    evaluation = apf.evaluate(TRUTH, FOUND, iou_thresholds=[0.6])
    _, out, _ = run("--json", "--iou-threshold", "0.6")
    assert pl.DataFrame(json.loads(out))["delta_ap"].to_list() == evaluation.error_impact(0.6)["delta_ap"].to_list()
    _, out, _ = run("--csv", "--rows", "--iou-threshold", "0.6", "--background", "0.2")
    assert pl.read_csv(StringIO(out))["error"].to_list() == evaluation.errors(0.6, background=0.2)["error"].to_list()
    _, out, _ = run("--rows")
    assert "is_fixable" in out
    _, out, _ = run("--markdown")
    assert out.splitlines()[0].startswith("| error")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--background", "0.5"], "--background must be at least 0 and below the IoU threshold 0.5, not 0.5"),
        (["--rows", "--by", "name"], "--rows and --by cannot be combined"),
        (["--iou-threshold", "2"], "must lie in (0, 1]"),
        (["--by", "wether"], "no column 'wether'"),
        (["--json", "--csv"], "--json"),
    ],
)
def test_bad_options(arguments: list[str], message: str, run: Any) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err and len(err.splitlines()) == 1

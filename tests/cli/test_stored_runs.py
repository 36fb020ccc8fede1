"""Stored evaluations in place of ground truth and results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from tests.cli.test_command import command, files
from tests.evaluation.diagnose.test_errors import A, B, found, truth

TRUTH, FOUND = truth((1, A), (2, B)), found((1, [4, 0, 10, 10], 0.9), (2, A, 0.8), (2, B, 0.7))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda *arguments: command(capsys, monkeypatch, *arguments)


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("name", ["errors", "confusion"])
def test_a_stored_evaluation_gives_what_its_files_give(name: str, run: Any, tmp_path: Path) -> None:
    apf.evaluate(TRUTH, FOUND).write_parquet(tmp_path / "run")
    of_files = run(name, *files(tmp_path, TRUTH, FOUND), "--csv")
    assert of_files[0] == 0
    assert run(name, str(tmp_path / "run"), "--csv") == of_files


@pytest.mark.slow
def test_what_is_refused(run: Any, tmp_path: Path) -> None:
    apf.evaluate(TRUTH, FOUND).write_parquet(tmp_path / "run")
    stored, (gt, dt) = str(tmp_path / "run"), files(tmp_path, TRUTH, FOUND)
    for name in ("errors", "confusion"):
        for arguments, status, message in (
            ((gt,), 2, f"the detections (DT) are missing: apframe {name} GT DT"),
            ((stored, dt), 2, f"{stored} is a stored evaluation, which has its results already; leave out {dt}"),
            ((stored, "--protocol", "voc2012"), 2, "--protocol applies to files of ground truth and results"),
            ((stored, "--iou-threshold", "0.42"), 2, "0.42 was not evaluated"),
        ):
            code, out, err = run(name, *arguments)
            assert (code, out) == (status, "")
            assert message in err

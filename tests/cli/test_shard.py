"""`apframe shard`, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_command import RESULTS, TRUTH, command

Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


def test_shards_are_written(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    into = tmp_path / "shards"
    code, out, err = command(capsys, monkeypatch, "shard", TRUTH, RESULTS, "--into", str(into), "--n", "3")
    assert (code, err) == (0, "")
    assert out.startswith(f"{into}: 3 shards with 300 images, ") and out.count("\n") == 1
    assert sorted(path.name for path in into.iterdir()) == ["00000", "00001", "00002", "categories.parquet", "shards.json"]


@pytest.mark.slow
def test_fewer_images_than_shards(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    into = str(tmp_path / "shards")
    code, out, _ = command(capsys, monkeypatch, "shard", TRUTH, RESULTS, "--into", into, "--n", "400")
    assert code == 0
    assert out.endswith("\n400 shards were requested, but there are only 300 images\n")


def test_numbers_for_programs(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    into = str(tmp_path / "shards")
    _, out, _ = command(capsys, monkeypatch, "shard", TRUTH, RESULTS, "--into", into, "--n", "2", "--json")
    assert [(row["shard"], row["n_images"]) for row in json.loads(out)] == [("00000", 150), ("00001", 150)]


@pytest.mark.slow
def test_bad_usage_and_bad_data(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    into, empty = str(tmp_path / "shards"), tmp_path / "empty.json"
    empty.write_text("")
    cases = [
        ((TRUTH, RESULTS), 2, "error: Missing option '--into'"),
        ((TRUTH, "--into", into), 2, "error: Missing argument 'DT'"),
        ((TRUTH, RESULTS, "--into", into, "--parts", "3"), 2, "error: No such option: --parts"),
        ((TRUTH, RESULTS, "--into", into, "--n", "0"), 2, "error: --n is a whole number of at least 1, not 0\n"),
        ((TRUTH, RESULTS, "--into", into, "--n", "many"), 2, "error: Invalid value for '--n'"),
        ((TRUTH, "nowhere.json", "--into", into), 1, "error: nowhere.json: there is no such file or folder"),
        ((TRUTH, str(empty), "--into", into), 1, f"error: {empty}: the file is empty"),
        ((TRUTH, TRUTH, "--into", into), 1, f"error: {TRUTH}: holds an object, not a list of results; is it ground truth?\n"),
        ((TRUTH, RESULTS, "--into", str(tmp_path)), 1, f"error: {tmp_path}: is not empty; give a new folder\n"),
        ((TRUTH, str(tmp_path / "*.csv"), "--into", into), 1, f"error: {tmp_path}/*.csv: no file or folder matches"),
    ]
    for arguments, code, message in cases:
        found, out, err = command(capsys, monkeypatch, "shard", *arguments)
        assert (found, out) == (code, "") and err.startswith(message), err
        assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["empty.json"]

"""A bar where a person looks at stderr, nothing elsewhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import apframe as apf

STREET = Path(__file__).parents[1] / "data" / "street"


class Screen(io.StringIO):
    """A stderr that a person looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Screen, io.StringIO], ids=["terminal", "pipe"])
def test_a_database_shows_what_is_being_written(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = stream()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    apf.evaluate(STREET / "instances.json", STREET / "model_b.json", iou_thresholds=[0.5]).write_duckdb(tmp_path / "a.duckdb")
    if stream is Screen:
        assert all(f"writing {table}" in shown.getvalue() for table in ("matches", "curves", "per_image", "thresholds"))
    else:
        assert shown.getvalue() == ""

"""A bar where a person waits for more than two seconds, nothing elsewhere."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import apframe as apf
from apframe.progress import stopped_below_bars, with_bar

STREET = Path(__file__).parents[1] / "data" / "street"


class Screen(io.StringIO):
    """A stderr that a person looks at."""

    def isatty(self) -> bool:
        return True


class ZMQInteractiveShell:
    """Of a notebook, by its name."""


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def seconds(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    """A clock that goes on by a step whenever it is looked at."""
    ticks = count()
    monkeypatch.setattr("apframe.progress.monotonic", lambda: next(ticks) * step)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that stand below a cell, one after the other."""
    texts: list[str] = []

    def update(data: dict[str, str], *, raw: bool) -> None:
        assert raw
        texts.append(data["text/plain"])

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw and display_id
        texts.append(data["text/plain"])
        return SimpleNamespace(update=update)

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython, module.display = ZMQInteractiveShell, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return texts


@pytest.mark.parametrize(("stream", "step", "shown"), [
    (Screen, 0.9, ["resampling", "3/5", "5/5"]), (Screen, 0.4, []), (io.StringIO, 0.9, []),
], ids=["terminal", "less than two seconds", "pipe"])  # fmt: skip
def test_a_bar_after_two_seconds(
    stream: type[io.StringIO], step: float, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds(monkeypatch, step)
    monkeypatch.setattr("sys.stderr", stderr := stream())
    seen = [(part, stderr.getvalue() == "") for part in with_bar(range(5), "resampling")]
    assert [part for part, _ in seen] == [0, 1, 2, 3, 4]
    assert [part for part, is_empty in seen if is_empty] == ([0, 1, 2] if shown else [0, 1, 2, 3, 4])
    assert all(text in stderr.getvalue() for text in shown)
    assert bool(stderr.getvalue()) == bool(shown)


def test_no_bar_when_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds(monkeypatch, 9)
    monkeypatch.setattr("sys.stderr", stderr := Screen())
    assert list(with_bar(["whole"], "writing")) == ["whole"]
    assert stderr.getvalue() == ""


def test_parts_without_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds(monkeypatch, 9)
    monkeypatch.setattr("sys.stderr", stderr := Screen())
    assert list(with_bar(iter("ab"), "writing")) == ["a", "b"]
    assert stderr.getvalue() == ""
    assert list(with_bar(iter("ab"), "writing", 2)) == ["a", "b"]
    assert "writing" in stderr.getvalue()


def test_a_bar_that_is_left_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Iterator[int]:
        yield from range(3)
        raise KeyboardInterrupt

    seconds(monkeypatch, 9)
    monkeypatch.setattr("sys.stderr", stderr := Screen())
    with pytest.raises(KeyboardInterrupt):
        list(with_bar(failing(), "writing", 5))
    assert stderr.getvalue().rfind("\x1b[?25h") > stderr.getvalue().rfind("\x1b[?25l")  # the cursor is there again


def test_a_notebook_shows_a_bar_and_clears_it(notebook: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seconds(monkeypatch, 0.9)
    assert list(with_bar(range(5), "resampling")) == [0, 1, 2, 3, 4]
    *pictures, last = notebook
    assert [text.split("/")[0][-1] for text in pictures] == ["3", "4", "5"]
    assert all(text.startswith("resampling ━") and "\n" not in text and "\x1b" not in text for text in pictures)
    assert last == ""


def test_a_notebook_shows_nothing_before_two_seconds(notebook: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seconds(monkeypatch, 0.4)
    assert list(with_bar(range(5), "resampling")) == [0, 1, 2, 3, 4]
    assert notebook == []


@pytest.mark.slow
@pytest.mark.parametrize("stream", [Screen, io.StringIO], ids=["terminal", "pipe"])
def test_a_database_shows_what_is_being_written(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seconds(monkeypatch, 9)
    monkeypatch.setattr("sys.stderr", shown := stream())
    apf.evaluate(STREET / "instances.json", STREET / "model_b.json", iou_thresholds=[0.5]).write_duckdb(tmp_path / "a.duckdb")
    if stream is Screen:
        assert all(f"writing {table}" in shown.getvalue() for table in ("matches", "curves", "per_image", "thresholds"))
    else:
        assert shown.getvalue() == ""


def test_a_spinner_stops_while_there_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds(monkeypatch, 0.9)
    screen, done = Screen(), list[str]()
    monkeypatch.setattr(sys, "stderr", screen)
    spinner = SimpleNamespace(stop=lambda: done.append("stop"), start=lambda: done.append("start"))
    with stopped_below_bars(spinner):
        for part in with_bar(range(5), "matching"):
            done.append(str(part))
    assert done == ["0", "1", "2", "stop", "3", "4", "start"]

"""Help: every verb has a task, a sentence and an example, within 80 columns."""

from __future__ import annotations

import pytest

from apframe.cli.command import app
from apframe.cli.help_pages import TASKS
from tests.cli.test_command import command

VERBS = list(app.verbs)


def test_every_verb_has_a_task_and_an_example() -> None:
    listed = {verb: example for verbs in TASKS.values() for verb, (_, example) in verbs.items()}
    assert sorted(listed) == sorted(VERBS)
    assert all(example.startswith(f"apframe {verb}") for verb, example in listed.items())


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_fits_80_columns(verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = command(capsys, monkeypatch, *verb.split(), "--help")
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    for each in VERBS if not verb else [verb]:
        assert f" apframe {each} " in out or f" apframe {each}\n" in out

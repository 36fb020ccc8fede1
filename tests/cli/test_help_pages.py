"""Help: every verb has a task, a sentence and an example, within 80 columns."""

from __future__ import annotations

import re

import click
import pytest

from apframe.cli.command import app
from apframe.cli.help_pages import TASKS
from apframe.scale.evaluate_shards import ENGINES
from apframe.tables.category_map import UNMAPPED
from tests.cli.test_command import command

Capture = pytest.CaptureFixture[str]
VERBS = list(app.verbs)


def test_every_verb_has_a_task_and_an_example() -> None:
    listed = {verb: example for verbs in TASKS.values() for verb, (_, example) in verbs.items()}
    assert sorted(listed) == sorted(VERBS)
    assert all(example.startswith(f"apframe {verb}") for verb, example in listed.items())


@pytest.mark.parametrize("arguments", ["--help", *(f"{verb} --help{more}" for verb in VERBS for more in ("", "-all"))])
def test_help_fits_80_columns(arguments: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    verb = arguments.rpartition(" ")[0]
    code, out, _ = command(capsys, monkeypatch, *arguments.split())
    assert code == 0 and max(map(len, out.splitlines())) <= 80
    for each in VERBS if not verb else [verb]:
        assert f" apframe {each} " in out or f" apframe {each}\n" in out


@pytest.mark.parametrize("verb", VERBS)
def test_all_options_are_in_the_full_help(verb: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The short one says how to see it, where it leaves out something."""
    monkeypatch.setenv("COLUMNS", "80")
    short, full = (command(capsys, monkeypatch, verb, option)[1] for option in ("--help", "--help-all"))
    subcommand = app.get_command(None, verb)
    assert subcommand is not None
    names = {name for param in subcommand.params if isinstance(param, click.Option) for name in param.opts}
    assert names <= set(re.findall(r"(?<![\w-])--?[\w-]+", full))
    lines = [line for line in full.splitlines() if re.match(" +-", line)]
    left_out = [line for line in lines if line.split()[0] not in short and "--help-all" not in line]
    assert short.endswith(f"\nMore options: apframe {verb} --help-all\n") == bool(left_out)
    assert "More options" not in full


def test_the_help_of_eval_fits_on_a_screen(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short = command(capsys, monkeypatch, "eval", "--help")[1]
    assert short.count("\n") <= 60
    assert "`apframe protocols`" in short and "voc2012" not in short


def test_where_little_is_advanced_the_help_shows_it(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for verb in ("sql", "upgrade", "formats", "protocols"):
        short = command(capsys, monkeypatch, verb, "--help")[1]
        assert "More options" not in short and "--help-all" not in short
    assert "--latex" in command(capsys, monkeypatch, "sql", "--help")[1]


def test_the_help_of_rank_begins_with_its_own_options(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    options = command(capsys, monkeypatch, "rank", "--help")[1].partition("\nOptions:\n")[2]
    names = re.findall("^  (?:-., )?(--[a-z]+)", options, re.MULTILINE)
    assert names[:4] == ["--compare", "--by", "--measures", "--queries"]


def test_choices_in_the_help_are_those_of_the_library() -> None:
    """They are written out there, as the help imports none of these modules."""
    shown = {option.opts[0]: option.metavar for option in app.get_command(None, "eval").params}  # type: ignore[union-attr]
    assert shown["--engine"] == "|".join(ENGINES)
    assert shown["--unmapped"] == "|".join(UNMAPPED)


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_called_a_file_is_a_path(verb: str) -> None:
    subcommand = app.get_command(None, verb)
    assert subcommand is not None
    options = [each for each in subcommand.params if isinstance(each, click.Option)]
    not_a_file = {each.opts[0] for each in options if isinstance(each.type, click.Path) and each.metavar not in ("FILE", "DIR")}
    assert not_a_file <= {"--results-of"}
    assert all(isinstance(each.type, click.Path) for each in options if each.metavar in ("FILE", "DIR"))

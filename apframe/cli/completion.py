"""Shell completion of verbs and of values that are names: protocols, formats, columns. The shell itself completes files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path

import click
from click.shell_completion import CompletionItem, FishComplete, add_completion_class, shell_complete

import apframe as apf
from apframe.cli.help_pages import TASKS
from apframe.formats.catalogue import ROWS
from apframe.protocols.published import PUBLISHED
from apframe.tables.tables import GROUND_TRUTH, TABLES

_LARGEST = 50_000_000  # bytes of a file that is read for its columns


class _Fish(FishComplete):
    """Click's script for fish cuts values off at a comma."""

    source_template = FishComplete.source_template.replace("string split ", "string split --max 1 ")


add_completion_class(_Fish)


def answer(app: click.Command, instruction: str) -> int:
    """Print what the shell asks for in environment variables, and return the exit status. Failures print nothing.

    `instruction` is bash_source, which asks for the script that the shell runs, bash_complete, or the same of another shell.
    """
    with redirect_stderr(StringIO()), suppress(Exception):
        return shell_complete(app, {}, "apframe", "_APFRAME_COMPLETE", instruction)
    return 1


def verbs_like(incomplete: str) -> list[CompletionItem]:
    """Complete the name of a verb."""
    described = {verb: does for verbs in TASKS.values() for verb, (does, _) in verbs.items()}
    return [CompletionItem(verb, help=does) for verb, does in described.items() if verb.startswith(incomplete)]


def values_like(option: click.Option, words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Complete the value of an option, or the last one of several with commas between them.

    `words` are the words of the line after the verb.
    """
    metavar = str(option.metavar)
    if str(option.name) in _NAMES:
        known: Iterable[str] = _NAMES[str(option.name)](words)
    else:
        known = metavar.split("|") if "|" in metavar and "=" not in metavar else ()
    before, comma, last = incomplete.rpartition(",") if option.multiple else ("", "", incomplete)
    return [CompletionItem(f"{before}{comma}{each}") for each in known if each.startswith(last)]


def columns(words: Iterable[str]) -> list[str]:
    """The columns for --by: those that all data have, after the attributes of the ground truth if it is among the words.

    >>> columns([])[:4]
    ['image_id', 'image_width', 'image_height', 'file_name']
    """
    usual = {column.name: column for table in (*GROUND_TRUTH, "detections") for column in TABLES[table]}
    attributes: list[str] = []
    path = next(filter(Path.is_file, (Path(each).expanduser() for each in words)), None)
    if path is not None and path.stat().st_size <= _LARGEST:
        dataset = apf.read_dataset(path)
        tables = (dataset.images, dataset.categories, dataset.annotations)
        attributes = [name for table in tables for name in table.columns if name not in usual]
    return [*dict.fromkeys(attributes), *(name for name, column in usual.items() if column.standard)]


def _formats(role: str) -> Callable[[Iterable[str]], Iterable[str]]:
    return lambda _: [name for name, row in ROWS.items() if row.looks(role)]


# the values of options by their parameter
_NAMES: dict[str, Callable[[Iterable[str]], Iterable[str]]] = {
    "protocol": lambda _: [name.lower() for name in PUBLISHED],
    "gt_format": _formats("dataset"),
    "dt_format": _formats("results"),
    "source_format": lambda _: ROWS,
    "to": lambda _: [name for name, row in ROWS.items() if row.is_written],
    "by": columns,
}

"""Shell completion of verbs, protocols, formats and columns. The shell itself completes files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import polars as pl
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

import apframe as apf
from apframe import static_table
from apframe.cli.help_pages import TASKS
from apframe.cli.messages import say
from apframe.evaluation.thresholds.min_scores import BEST_F1
from apframe.formats.catalogue import ROWS
from apframe.formats.format import FormatRow
from apframe.formats.stored_sets import find_manifest
from apframe.matching.matchers import MATCHERS
from apframe.paths import kind_at
from apframe.plugins import find_plugins
from apframe.protocols.published import PUBLISHED, add_plugins
from apframe.tables.schemas import GROUND_TRUTH, TABLES
from apframe.tables.table_files import read_table

_Names = Callable[[click.Context, Sequence[str]], Iterable[str]]  # of a command, and the words of the line after the verb
_LARGEST = 50_000_000  # bytes of the largest file that is read for its columns


class _Bash(BashComplete):
    """Completion in bash, which splits `--by=weather` into three words and replaces the last one."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        return [word for before, word in pairwise(["", *args]) if word != "=" or before[:2] != "--"], incomplete


class _WholeWord(ShellComplete):
    """Completion in the other shells, which keep `--by=weather` as one word and replace all of it."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--"):
            for item in items:
                item.value = f"{option}={item.value}"
        return items


class _Zsh(_WholeWord, ZshComplete):
    """Completion in zsh, with click's own script."""


class _Fish(_WholeWord, FishComplete):
    """Completion in fish, with click's script changed so that it does not cut values off at a comma."""

    source_template = FishComplete.source_template.replace("string split ", "string split --max 1 ")


for _shell in (_Bash, _Zsh, _Fish):
    add_completion_class(_shell)


def answer(app: click.Command, instruction: str) -> int:
    """Print the answer to the request in the shell's environment variables, and return the exit status. Errors print nothing.

    `instruction` is bash_source, which requests the script for the shell, or bash_complete, or the same for another shell.
    """
    status = 1
    with redirect_stderr(StringIO()), suppress(Exception):
        status = shell_complete(app, {}, "apframe", "_APFRAME_COMPLETE", instruction)
    if status and not instruction.endswith("_complete"):
        say("error", "_APFRAME_COMPLETE is bash_source, zsh_source or fish_source")
    return status


def verbs_like(incomplete: str) -> list[CompletionItem]:
    """Complete the name of a verb."""
    described = {verb: does for verbs in TASKS.values() for verb, (does, _) in verbs.items()}
    return [CompletionItem(verb, help=does) for verb, does in described.items() if verb.startswith(incomplete)]


def values_like(ctx: click.Context, param: click.Parameter, words: Sequence[str], incomplete: str) -> list[CompletionItem]:
    """Complete the value of an option or an argument, or the last of several values separated by commas.

    `words` are the words of the line after the verb.
    """
    metavar, kind = str(param.metavar), str(param.name)
    if kind == "name" and isinstance(param, click.Argument):
        kind = str(ctx.command.name)
    if kind in _NAMES:
        candidates: Iterable[str] = _NAMES[kind](ctx, words)
    else:
        candidates = metavar.split("|") if "|" in metavar and "=" not in metavar else ()
    before, comma, last = incomplete.rpartition(",") if getattr(param, "multiple", False) else ("", "", incomplete)
    candidates = [each for each in candidates if each not in before.split(",") and each.lower().startswith(last.lower())]
    return [CompletionItem(f"{before}{comma}{each}") for each in candidates]


def columns(arguments: Mapping[str, Any], tables: Collection[str] = (*GROUND_TRUTH, "detections")) -> list[str]:
    """Return the columns of these tables: the attributes of the ground truth or run on the line, then the columns of all data.

    `arguments` has the words of the line by parameter.

    >>> columns({}, ["images"])
    ['image_id', 'image_width', 'image_height', 'file_name']
    """
    usual = {column.name: column for table in tables for column in TABLES[table]}
    attributes: list[str] = []
    with suppress(Exception):  # an unreadable file has no attributes
        attributes = [name for table_columns in _read_columns(arguments, tables) for name in table_columns if name not in usual]
    return [*dict.fromkeys(attributes), *(name for name, column in usual.items() if column.standard)]


def _read_columns(arguments: Mapping[str, Any], tables: Collection[str]) -> list[Iterable[str]]:
    """Return the columns of the tables at the first path of the line: a stored run, or a small file of ground truth."""
    words = [arguments.get(name) for name in ("truth", "paths", "sources")]
    first = next(word[0] if isinstance(word, tuple) else word for word in words if word and isinstance(word, (str, tuple)))
    path = Path(first).expanduser()
    if find_manifest(path) is not None:
        return [pl.read_parquet_schema(path / f"{table}.parquet") for table in tables]
    if not _is_small(path):
        return []
    split = arguments.get("split")
    named = None if split and "=" in split else split  # `convert` accepts shares too
    dataset = apf.read_dataset(path, arguments.get("gt_format") or arguments.get("source_format"), split=named)
    return [getattr(dataset, table).columns for table in tables if table in GROUND_TRUTH]


def _columns(*tables: str) -> _Names:
    """Return a function that lists the columns for an option: of the file of --queries if given, or else of these tables."""

    def names(ctx: click.Context, words: Sequence[str]) -> list[str]:
        # click stops if the option at the cursor lacks its value
        arguments = ctx.command.make_parser(ctx).parse_args(args=[*words, ""])[0]
        if arguments.get("queries"):
            path = Path(arguments["queries"]).expanduser()
            return [name for name in read_table(path, "queries").columns if name != "query_id"] if _is_small(path) else []
        return [] if ctx.command.name == "rank" else columns(arguments, tables)

    return names


def _is_small(path: Path) -> bool:
    return kind_at(path) == "file" and path.stat().st_size <= _LARGEST


def _protocols(*_: Any) -> list[str]:
    add_plugins()
    return [name.lower() for name in PUBLISHED]


def _formats(fits: Callable[[FormatRow], Any]) -> _Names:
    """Return the names of the formats that fit, and of all formats of other packages, of which only the names are known."""
    return lambda *_: [
        *(name for name, row in ROWS.items() if fits(row)),
        *(plugin.name for plugin in find_plugins("format") if plugin.name not in ROWS),
    ]


def _iou_types(*_: Any) -> list[str]:
    benchmarks = (iou_type for _, own in static_table.PROTOCOLS.values() for iou_type in own)
    return list(dict.fromkeys([*apf.COCO.iou_types, *benchmarks]))


_OF_IMAGES = _columns("images")
_OF_ALL = _columns(*GROUND_TRUTH, "detections")
# the values of options by parameter, and names to look up by verb
_NAMES: dict[str, _Names] = {
    "protocol": _protocols,
    "protocols": _protocols,
    "formats": _formats(lambda _: True),
    "gt_format": _formats(lambda row: row.looks("dataset")),
    "dt_format": _formats(lambda row: row.looks("results")),
    "source_format": _formats(lambda _: True),
    "to": _formats(lambda row: row.is_written),
    "iou_type": _iou_types,
    "matching": lambda *_: MATCHERS,
    "min_score": lambda *_: [BEST_F1],
    "by": lambda ctx, words: (_OF_IMAGES if ctx.command.name == "convert" else _OF_ALL)(ctx, words),
    "unit": _OF_IMAGES,
    "within": _OF_IMAGES,
}

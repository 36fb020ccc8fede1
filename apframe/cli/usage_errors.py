"""Messages about wrong command lines: unknown options, surplus arguments, apframe's names for options of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from shlex import quote
from typing import NoReturn

import click

from apframe.cli.command_options import GIVEN
from apframe.paths import is_folder, is_pattern, kind_at
from apframe.retrieval.run_inputs import is_for_search
from apframe.wording import nearest

OF_TREC_EVAL: Mapping[str, str] = {"-c": "--missing zero", "-J": "--unjudged remove", "-n": "--per-query"}
"""The options of trec_eval that have other names here; `-l`, `-m`, `-M` and `-q` are the same."""
_OF_OTHERS = {"--classes": "--categories", "--filter": "--where", "--format": "--gt-format"}


def usage_message(error: click.UsageError) -> str:
    """Say what is wrong with a command line and how to get help, in the same words for all versions of click."""
    if error.ctx is None:
        return f"{_in_one_line(error)} (see `apframe --help`)"
    unknown = error.option_name if isinstance(error, click.NoSuchOption) else ""
    problem = no_such_option(unknown, error.ctx) if unknown else _in_one_line(error)
    if problem.startswith("Got unexpected extra argument"):
        problem += _with_commas(error.ctx)
    return f"{problem} (see `{error.ctx.command_path} --help`)"


def no_such_option(name: str, context: click.Context) -> str:
    """Return the message about an option that the command of a context does not have."""
    names = [each for param in context.command.get_params(context) for each in param.opts]
    instead = OF_TREC_EVAL.get(name, "")
    if instead.partition(" ")[0] in names and _is_about_search(context):
        return f"No such option: {name}; trec_eval's {name} is {instead} here"
    near = f"did you mean {_OF_OTHERS[name]}?" if _OF_OTHERS.get(name) in names else ""
    if not near:
        near = nearest(name.lstrip("-"), [each[2:] for each in names if each.startswith("--")], 1).replace("mean ", "mean --")
    return f"No such option: {name}{near and f'; {near}'}"


def refuse_more(context: click.Context, paths: Sequence[Path]) -> NoReturn:
    """Raise the error that `eval` got more paths than ground truth and detections, and no shards."""
    if not all(kind_at(path) or is_pattern(path) for path in paths):
        extra = [str(path) for path in paths[2:]]
        context.fail(f"Got unexpected extra argument{'s' * (len(extra) > 1)} ({' '.join(extra)})")
    arguments = " ".join(quote(str(path)) for path in paths) if len(paths) < 7 else "GT A [B...]"
    hint = "; shards need --shards" if any(is_folder(path) or is_pattern(path) for path in paths) else ""
    context.fail(f"eval takes one model, not {len(paths) - 1}: use apframe compare {arguments}{hint}")


def _in_one_line(error: click.UsageError) -> str:
    return " ".join(error.format_message().split()).rstrip(".")


def _with_commas(context: click.Context) -> str:
    """Suggest commas between the values of an option if blanks separate them on the command line; otherwise empty."""
    several = {name for each in context.command.params if getattr(each, "multiple", False) for name in each.opts}
    words: list[str] = context.meta.get(GIVEN, [])
    for place, option in enumerate(words):
        values = [*takewhile(lambda each: not (each.startswith("-") or kind_at(each)), words[place + 1 :])]
        if option in several and len(values) > 1:
            return f"; separate several names by commas: {option} {quote(','.join(values))}"
    return ""


def _is_about_search(context: click.Context) -> bool:
    """Return True if the command line is about search: its first file looks like judgements, or it names no file."""
    paths = [Path(each) for each in context.meta.get(GIVEN, []) if kind_at(each) == "file"]
    return not paths or is_for_search(paths[0])

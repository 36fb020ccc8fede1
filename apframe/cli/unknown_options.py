"""Messages about unknown options: near names, and apframe's name for an option of another tool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from apframe.cli.options import GIVEN
from apframe.paths import kind_at
from apframe.retrieval.sources import is_for_search
from apframe.wording import nearest

OF_TREC_EVAL: Mapping[str, str] = {"-c": "--missing zero", "-J": "--unjudged remove", "-n": "--per-query"}
"""The options of trec_eval that have other names here: `-l`, `-m`, `-M` and `-q` have the same."""


def no_such_option(name: str, context: click.Context) -> str:
    """Return the message about an option that the command of a context does not have."""
    names = [each for param in context.command.get_params(context) for each in param.opts]
    instead = OF_TREC_EVAL.get(name, "")
    if instead.partition(" ")[0] in names and _is_about_search(context):
        return f"No such option: {name}; trec_eval's {name} is {instead} here"
    near = nearest(name, names)
    return f"No such option: {name}{near and f'; {near}'}"


def _is_about_search(context: click.Context) -> bool:
    """Tell whether the command line is about search: its first file looks like judgements, or it names no file."""
    paths = [Path(each) for each in context.meta.get(GIVEN, []) if kind_at(each) == "file"]
    return not paths or is_for_search(paths[0])

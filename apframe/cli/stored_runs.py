"""Stored evaluations in place of ground truth and results, for commands that take either."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click

import apframe as apf
from apframe.cli.files import Files
from apframe.exceptions import ParameterError
from apframe.formats.stored_sets import find_manifest
from apframe.paths import is_folder


def is_stored_run(path: Path) -> bool:
    """Whether a path is a folder that `apframe eval --out` wrote."""
    return is_folder(path) and find_manifest(path) is not None


def refuse_options_of_files(context: click.Context) -> None:
    """An error if an option was given that is about reading and evaluating files."""
    given = [
        each.name for each in fields(Files) if getattr(context.get_parameter_source(each.name), "name", "") == "COMMANDLINE"
    ]
    if given:
        raise ParameterError(
            f"--{given[0].replace('_', '-')} is about files of ground truth and results, not about stored evaluations",
            "give it to `apframe eval --out`",
        )


def stored_run(context: click.Context, path: Path, results: Path | None) -> apf.Evaluation | None:
    """The stored evaluation that a command is given in place of ground truth; None if it is given both files.

    Raises
    ------
    ParameterError
        results or an option about files beside a stored evaluation; data in shards
    UsageError
        ground truth without results
    """
    if not is_stored_run(path):
        if results is None:
            from apframe.cli.sharded import hint_at_out  # for this alone

            hint_at_out(path, str(context.info_name))
            context.fail("Missing argument 'DT'.")
        return None
    if results is not None:
        raise ParameterError(f"{path} is a stored evaluation, which has its results already", f"leave out {results}")
    refuse_options_of_files(context)
    return apf.read_evaluation(path)

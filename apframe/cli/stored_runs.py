"""Stored evaluations in place of ground truth and results, for commands that take either."""

from __future__ import annotations

from pathlib import Path

import click

import apframe as apf
from apframe.exceptions import ParameterError
from apframe.file_formats.stored_sets import find_manifest
from apframe.paths import is_folder

# options that a stored evaluation has made its choice of
_OF_FILES = (
    "gt_format", "dt_format", "split", "image_sizes", "box_format", "relative", "join_by_name", "names", "image_attributes",
    "category_map", "unmapped", "protocol", "iou_type", "categories", "drop_unknown_images", "invalid",
)  # fmt: skip


def is_stored_run(path: Path) -> bool:
    """Whether a path is a folder that `apframe eval --out` wrote."""
    return is_folder(path) and find_manifest(path) is not None


def refuse_options_of_files(context: click.Context) -> None:
    """An error if an option was given that is about reading and evaluating files."""
    given = [name for name in _OF_FILES if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"]
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

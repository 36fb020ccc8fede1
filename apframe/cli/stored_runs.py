"""Stored evaluations in place of ground truth and results, for commands that accept either."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click

import apframe as apf
from apframe.cli.command_options import argument, given_options
from apframe.cli.file_options import Files
from apframe.exceptions import ParameterError
from apframe.formats.stored_sets import find_manifest
from apframe.paths import is_folder

truth_or_run = argument(
    "truth", "GT", help="ground truth, in any format; or, without DT, a folder written by `apframe eval --out`"
)


def is_stored_run(path: Path) -> bool:
    """Return True if a path is a folder written by `apframe eval --out`."""
    return is_folder(path) and find_manifest(path) is not None


def refuse_options_of_files(context: click.Context) -> None:
    """Raise an error for an option that applies to reading and evaluating files."""
    if flags := given_options(context, (each.name for each in fields(Files))):
        raise ParameterError(
            f"{flags[0]} applies to files of ground truth and results, not to stored evaluations",
            "pass it to `apframe eval --out`",
        )


def read_run(
    context: click.Context, truth: Path, results: Path | None, files: Files, iou_threshold: float | None, where: str | None
) -> tuple[apf.Evaluation, float]:
    """Evaluate two files, or read the stored evaluation in their place; also return the threshold, by default the usual one.

    Raises
    ------
    ParameterError
        results or an option for files together with a stored evaluation; data in shards
    UsageError
        ground truth without results
    """
    rules = files.rules_at(iou_threshold)
    if is_stored_run(truth):
        if results is not None:
            raise ParameterError(f"{truth} is a stored evaluation, which has its results already", f"leave out {results}")
        refuse_options_of_files(context)
        evaluation = apf.read_evaluation(truth)
    elif results is None:
        from apframe.cli.sharded import hint_at_out  # for this alone

        hint_at_out(truth, str(context.info_name))
        context.fail(f"the detections (DT) are missing: {context.command_path} GT DT")
    else:
        evaluation = files.evaluate(truth, results, rules)
    if where is not None:
        evaluation = evaluation.where(where)
    return evaluation, evaluation.protocol.usual_threshold if iou_threshold is None else iou_threshold

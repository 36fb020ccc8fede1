"""Stored evaluations in place of ground truth and results, for commands that take either."""

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
    "truth", "GT", help="ground truth, in any format; or, without DT, a folder that `apframe eval --out` wrote"
)


def is_stored_run(path: Path) -> bool:
    """Whether a path is a folder that `apframe eval --out` wrote."""
    return is_folder(path) and find_manifest(path) is not None


def refuse_options_of_files(context: click.Context) -> None:
    """An error if an option was given that is about reading and evaluating files."""
    if given := given_options(context, (each.name for each in fields(Files))):
        raise ParameterError(
            f"{given[0]} is about files of ground truth and results, not about stored evaluations",
            "give it to `apframe eval --out`",
        )


def read_run(
    context: click.Context, truth: Path, results: Path | None, files: Files, iou_threshold: float | None, where: str | None
) -> tuple[apf.Evaluation, float]:
    """The evaluation of two files, or the stored one in their place; and the threshold, the usual one if none is given.

    Raises
    ------
    ParameterError
        results or an option about files beside a stored evaluation; data in shards
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

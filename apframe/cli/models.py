"""Several models on the command line: ground truth and results, or stored evaluations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

import apframe as apf
from apframe.cli.file_options import Files
from apframe.cli.stored_runs import is_stored_run, refuse_options_of_files
from apframe.exceptions import ParameterError
from apframe.paths import is_folder, is_pattern
from apframe.protocols.protocol import Protocol

_IN_WORDS = {1: "a model", 2: "two models or more"}


def are_stored(paths: Sequence[Path], context: click.Context, min_models: int) -> bool:
    """Return True if the paths are stored evaluations (A B ...) rather than ground truth and results (GT A B ...).

    `min_models` is the number of models that the command needs.

    Raises
    ------
    ParameterError
        stored evaluations mixed with files, or with an option for files; data in shards
    UsageError
        too few paths
    """
    stored = [is_stored_run(path) for path in paths]
    if any(is_folder(path) or is_pattern(path) for path, is_stored in zip(paths, stored, strict=True) if not is_stored):
        from apframe.cli.sharded import hint_at_out  # for this alone

        for path in paths:
            hint_at_out(path, str(context.info_name))
    if len(paths) < min_models + (not stored[0]):
        needed = "a second stored evaluation" if stored[0] else f"the ground truth and results of {_IN_WORDS[min_models]}"
        context.fail(f"Missing argument: {needed}.")
    if any(stored) and not all(stored):
        one, other = (str(paths[stored.index(kind)]) for kind in (True, False))
        raise ParameterError(
            f"{one} is a stored evaluation, and {other} is not",
            f"{context.info_name} stored evaluations with each other, or name ground truth and results",
        )
    if stored[0]:
        refuse_options_of_files(context)
    return stored[0]


def read_models(
    paths: Sequence[Path], files: Files, rules: Protocol | None, where: str | None, say: Callable[[str], None]
) -> list[apf.Evaluation]:
    """Read the evaluation of each model, and rank it; without rules, the paths are stored evaluations."""
    evaluations, parts = [], []
    for path in paths if rules is None else paths[1:]:
        say(f"reading {path.name}")
        read = apf.read_evaluation(path) if rules is None else files.evaluate(paths[0], path, rules)
        evaluations.append(read)
        parts.append(read if where is None else read.where(where))
    say("matching and ranking")
    for each in evaluations:  # before parts are selected, which do not warn
        _ = each.summary
        if rules is None:  # warnings at the time of storing may not have been seen
            each.warn_if_doubtful()
    return parts

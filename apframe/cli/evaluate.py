"""`apframe eval`: evaluate detections against ground truth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

import apframe as apf
from apframe.cli.command_options import (
    Command,
    Storing,
    argument,
    given_options,
    grouped,
    numbers,
    option,
    output,
    storing_options,
    strict_option,
    style_options,
    thresholds,
    where_option,
    words,
)
from apframe.cli.file_options import Files, evaluation_options
from apframe.cli.output import JSON_VERSION, print_lines, progress, terminal_width
from apframe.exceptions import ParameterError
from apframe.matching.matchers import MATCHERS
from apframe.paths import is_folder, is_pattern
from apframe.protocols.headlines import main_headline
from apframe.show.console import lines_within, summary_lines


@dataclass(frozen=True)
class Sharding:
    """The options for evaluating data in shards."""

    memory: str | None
    work: Path | None
    skip_bad_shards: bool
    engine: str


_of_shards = partial(option, heading="Shards", advanced=True)
sharding_options = grouped(
    "sharding", Sharding,
    _of_shards("--memory", metavar="4GB", help="memory that the evaluation may use (default: half of the machine's)"),
    _of_shards(
        "--work", metavar="DIR",
        help="keep the verdicts of each shard in this folder, so that an interrupted run resumes where it stopped",
    ),
    _of_shards("--skip-bad-shards", help="skip damaged shards, with a warning"),
    _of_shards(
        "--engine", metavar="local|ray", default="local",
        help="match shards in this process, or on a Ray cluster",
    ),
)  # fmt: skip


@click.command("eval", cls=Command)
@argument("truth", "GT", required=False, help="ground truth: COCO JSON, or a file or folder of another format")
@argument("results", "DT", required=False, help="detections, in any format; - is stdin")
@argument("more", "[FOLDER]...", nargs=-1, advanced=True, help="with --shards: further shards, as the shell expands shards/*")
@evaluation_options
@option(
    "--iou-thresholds", multiple=True, metavar="0.5,0.75",
    help="IoU thresholds in (0, 1], or one for each category: Car=0.7,Cyclist=0.5",
)  # fmt: skip
@option(
    "--matching", metavar="NAME", advanced=True,
    help=f"how to match detections: {', '.join(MATCHERS)} (default: set by the protocol)",
)  # fmt: skip
@option(
    "--by", multiple=True, metavar="weather,supercategory",
    help="print a row for each slice by these columns; --by name gives AP by category",
)  # fmt: skip
@where_option
@option("--intervals", help="also print a 95 % interval for each number")
@_of_shards(
    "--shards",
    help="GT is a folder of shards or a pattern such as 'shards/*'; with DT, both are patterns of files that pair by name",
)  # fmt: skip
@sharding_options
@strict_option
@output("--rules", help="also print the rules of the protocol; without GT and DT, print only the rules")
@storing_options
@output(
    "--matches", multiple=True, metavar="0.5", advanced=True,
    help="with --out: also store the table of matches at these IoU thresholds",
)  # fmt: skip
@style_options(
    json="print one JSON object instead of lines", csv="print slices, or numbers with --intervals, as comma-separated values"
)
@click.pass_context
def evaluate_files(
    context: click.Context, truth: Path | None, results: Path | None, more: Sequence[Path], *, files: Files,
    iou_thresholds: Sequence[str], matching: str | None, by: Sequence[str], where: str | None, intervals: bool, shards: bool,
    sharding: Sharding, rules: bool, storing: Storing, matches: Sequence[str], style: str | None,
) -> None:  # fmt: skip
    """Evaluate detections against ground truth.

    The numbers follow COCO or another protocol. --out stores the tables behind them, which `apframe sql` queries.
    """
    if style == "csv" and not (by or intervals):
        raise ParameterError("--csv needs slices or intervals", "name columns with --by, or add --intervals")
    protocol = files.rules(matching=matching, iou_thresholds=thresholds(iou_thresholds))  # errors come before the work
    if not shards and (flags := given_options(context, vars(sharding))):
        raise ParameterError(f"{flags[0]} needs --shards", "it applies to data in shards")
    if not shards and more:
        from apframe.cli.usage_errors import refuse_more  # for this alone

        refuse_more(context, [each for each in (truth, results, *more) if each])
    if truth is None and rules:
        print(protocol)
        return
    if truth is not None and not shards and any(is_folder(each) or is_pattern(each) for each in (truth, results or truth)):
        from apframe.cli.sharded import hint_at_shards  # not for files

        hint_at_shards(truth, results)
    if truth is None or (results is None and not shards):
        missing = "ground truth (GT) is" if truth is None else "detections (DT) are"
        context.fail(f"the {missing} missing: apframe eval GT DT")
    labelled = storing.labels("detection")
    if matches and storing.out is None:
        raise ParameterError("--matches needs --out, the folder to store the evaluation in")
    stored_thresholds = numbers("--matches", matches, float, "numbers") or []
    if unknown := [each for each in stored_thresholds if protocol.threshold_number(each) is None]:
        choices = ", ".join(f"{each:.10g}" for each in protocol.iou_thresholds)
        problem = f"--matches: {unknown[0]} is not evaluated"
        raise ParameterError(problem, f"choose from {choices}, or add it with --iou-thresholds")
    with progress() as say:
        say("matching shards" if shards else "reading")
        if shards or results is None:
            from apframe.cli.sharded import as_shards  # for this alone

            own: dict[str, Any] = vars(sharding)
            first, second = as_shards(truth, results, more)
            evaluation: apf.Evaluation = apf.evaluate_shards(first, second, protocol=protocol, **files.reading(), **own)
        else:
            evaluation = files.evaluate(truth, results, protocol)
        full = evaluation
        if where is not None:
            evaluation = full.where(where)
        say("matching and ranking")
        _ = full.summary  # which warns about doubtful numbers; a part does not
        slices = evaluation.by(*words(by)) if by and not intervals else None
        ranges = None
        if intervals:
            every = style in ("json", "csv") or not by  # for slices, people and papers see only the main metric
            ranges = evaluation.intervals(by=words(by), metrics=None if every else [main_headline(protocol).metric])
        summary = evaluation.summary
        if storing.out is not None:
            say(f"writing {storing.out}")
            evaluation.write_parquet(storing.out, **labelled, matches=stored_thresholds)
    if rules and style is None:
        print(evaluation.protocol, end="\n\n")
    if by or (ranges is not None and style is not None):
        from apframe.cli.sliced import show_sliced  # not for summaries alone

        show_sliced(slices, ranges, evaluation.protocol, style)
    elif style == "json":
        print(json.dumps(dict(summary.rows()) | {"json_version": JSON_VERSION}))
    elif style is not None:
        from apframe.cli.sliced import show_markup  # not for summaries alone

        show_markup(evaluation, style)
    elif ranges is None and evaluation.protocol.tables:
        from apframe.evaluation.pivot import kit_lines  # for benchmarks that have tables

        print_lines(kit_lines(evaluation, terminal_width()))
    else:
        print_lines(lines_within(terminal_width(), summary_lines(summary, evaluation.protocol, evaluation.notes, ranges)))

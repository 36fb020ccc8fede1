"""`apframe eval`: evaluate detections against ground truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import click

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.files import Files
from apframe.cli.messages import be_strict
from apframe.cli.options import (
    Latex,
    Markdown,
    Results,
    RunName,
    Strict,
    Tags,
    Where,
    given_labels,
    numbers,
    one_style,
    thresholds,
    words,
)
from apframe.cli.output import JSON_VERSION, print_lines, progress, terminal_width
from apframe.cli.sharded import (
    Engine,
    Memory,
    More,
    Shards,
    SkipBadShards,
    Work,
    as_shards,
    hint_at_shards,
    refuse_options_of_shards,
)
from apframe.exceptions import ParameterError
from apframe.matching.matchers import MATCHERS
from apframe.protocols.headlines import main_headline
from apframe.show.console import lines_within, summary_lines


def evaluate_files(
    context: click.Context,
    truth: Annotated[
        Path | None,
        Argument(metavar="[GT]", help="ground truth: COCO JSON, or a file or folder of another format"),
    ] = None,
    results: Results = None,
    more: More = None,
    *,
    files: Files,
    rules: Annotated[
        bool, Option("--rules", help="also print the rules of the protocol; without GT and DT, only the rules")
    ] = False,
    out: Annotated[Path | None, Option(metavar="DIR", help="also write all tables to this folder, as Parquet")] = None,
    name: RunName = None,
    tag: Tags = None,
    matches: Annotated[
        list[str] | None, Option(metavar="0.5", help="with --out: also store the table matches, at these IoU thresholds")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="print one JSON object instead of lines")] = False,
    iou_thresholds: Annotated[
        list[str] | None, Option(metavar="0.5,0.75", help="IoU thresholds, in (0, 1]; or Car=0.7,Cyclist=0.5 of each category")
    ] = None,
    matching: Annotated[
        str | None,
        Option(metavar="NAME", help=f"how detections are matched: {', '.join(MATCHERS)} (default: as the protocol says)"),
    ] = None,
    by: Annotated[
        list[str] | None,
        Option(
            metavar="weather,supercategory", help="print a row for each slice by these columns; --by name gives AP by category"
        ),
    ] = None,
    where: Where = None,
    intervals: Annotated[bool, Option("--intervals", help="also print the 95 % interval of each number")] = False,
    as_csv: Annotated[
        bool, Option("--csv", help="print slices, or numbers with --intervals, as comma-separated values")
    ] = False,
    as_markdown: Markdown = False,
    as_latex: Latex = False,
    shards: Shards = False,
    memory: Memory = None,
    work: Work = None,
    skip_bad_shards: SkipBadShards = False,
    engine: Engine = "local",
    strict: Strict = False,
) -> None:
    """Evaluate detections against ground truth.

    The numbers are those of COCO or of another protocol. --out stores the tables behind them, and `apframe sql` queries these.
    """
    be_strict(strict)
    style = one_style(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    if style == "csv" and not (by or intervals):
        raise ParameterError("--csv needs slices: name columns with --by, or give --intervals")
    chosen = files.rules(matching=matching, iou_thresholds=thresholds(iou_thresholds))  # errors come before the work
    if not shards:
        refuse_options_of_shards(context)
    if truth is None and rules:
        print(chosen)
        return
    if truth is not None and not shards:
        hint_at_shards(truth, results)
    if truth is None or (results is None and not shards):
        context.fail(f"Missing argument '{'GT' if truth is None else 'DT'}'.")
    labelled = given_labels(out, "detection", name, tag)
    if matches and out is None:
        raise ParameterError("--matches needs --out, the folder to store the evaluation in")
    kept = numbers("--matches", matches, float, "numbers") or []
    if unknown := [each for each in kept if chosen.threshold_number(each) is None]:
        there = ", ".join(f"{each:.10g}" for each in chosen.iou_thresholds)
        raise ParameterError(f"--matches: {unknown[0]} is not evaluated", f"there are {there}; see --iou-thresholds")
    with progress() as say:
        say("matching shards" if shards else "reading")
        if shards or results is None:
            own: dict[str, Any] = {"engine": engine, "memory": memory, "work": work, "skip_bad_shards": skip_bad_shards}
            first, second = as_shards(truth, results, more)
            evaluation: apf.Evaluation = apf.evaluate_shards(first, second, protocol=chosen, **files.reading(), **own)
        else:
            evaluation = files.evaluate(truth, results, chosen)
        whole = evaluation
        if where is not None:
            evaluation = whole.where(where)
        say("matching and ranking")
        _ = whole.summary  # which warns if it is doubtful; a part does not
        slices = evaluation.by(*words(by)) if by and not intervals else None
        sure = None
        if intervals:
            every = style in ("json", "csv") or not by  # of slices, people and papers see the number that stands for all
            sure = evaluation.intervals(by=words(by), metrics=None if every else [main_headline(chosen).metric])
        summary = evaluation.summary
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled, matches=kept)
    if rules and style is None:
        print(evaluation.protocol, end="\n\n")
    if by or (sure is not None and style is not None):
        from apframe.cli.sliced import show_sliced  # not for summaries alone

        show_sliced(slices, sure, evaluation.protocol, style)
    elif style == "json":
        print(json.dumps(dict(summary.rows()) | {"json_version": JSON_VERSION}))
    elif style is not None:
        from apframe.cli.sliced import show_markup  # not for summaries alone

        show_markup(evaluation, style)
    elif sure is None and evaluation.protocol.tables:
        from apframe.evaluation.pivot import kit_lines  # for benchmarks that have tables

        print_lines(kit_lines(evaluation, terminal_width()))
    else:
        print_lines(lines_within(terminal_width(), summary_lines(summary, evaluation.protocol, evaluation.notes, sure)))

"""`apframe eval`: evaluate detections against ground truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import click
import polars as pl

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.options import (
    BoxFormat,
    Categories,
    CategoryMap,
    DropUnknownImages,
    DtFormat,
    GtFormat,
    ImageAttributes,
    ImageSizes,
    IouType,
    JoinByName,
    Latex,
    Markdown,
    Names,
    ProtocolName,
    Relative,
    RunName,
    Split,
    Tags,
    Unmapped,
    Where,
    given_labels,
    numbers,
    one_style,
    words,
)
from apframe.cli.output import JSON_VERSION, print_lines, progress, show_table, terminal_width
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
from apframe.matching.policies import POLICIES
from apframe.rule_sets.published import as_protocol
from apframe.show.console import shorter_lines, summary_lines
from apframe.store.parquet import DETECTION


def evaluate_files(
    context: click.Context,
    truth: Annotated[
        Path | None,
        Argument(metavar="[GT]", help="ground truth: COCO JSON, or a file or folder of another format"),
    ] = None,
    results: Annotated[Path | None, Argument(metavar="[DT]", help="detections, in any format; - is stdin")] = None,
    more: More = None,
    gt_format: GtFormat = None,
    dt_format: DtFormat = None,
    split: Split = None,
    image_sizes: ImageSizes = None,
    box_format: BoxFormat = None,
    relative: Relative = False,
    join_by_name: JoinByName = None,
    names: Names = None,
    image_attributes: ImageAttributes = None,
    category_map: CategoryMap = None,
    unmapped: Unmapped = "keep",
    protocol: ProtocolName = "coco",
    iou_type: IouType = None,
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
    max_detections: Annotated[
        list[str] | None,
        Option(metavar="1,10,100", help="detections to keep per image and category, or all; AP uses the largest"),
    ] = None,
    iou_thresholds: Annotated[list[str] | None, Option(metavar="0.5,0.75", help="IoU thresholds, in (0, 1]")] = None,
    matching: Annotated[
        str | None, Option(metavar="|".join(POLICIES), help="how detections are matched (default: as the protocol says)")
    ] = None,
    categories: Categories = None,
    agnostic: Annotated[bool, Option("--agnostic", help="treat all categories as one")] = False,
    by: Annotated[
        list[str] | None,
        Option(
            metavar="weather,supercategory", help="print a row for each slice by these columns; --by name gives AP by category"
        ),
    ] = None,
    where: Where = None,
    as_csv: Annotated[bool, Option("--csv", help="print slices as comma-separated values")] = False,
    as_markdown: Markdown = False,
    as_latex: Latex = False,
    drop_unknown_images: DropUnknownImages = False,
    shards: Shards = False,
    memory: Memory = None,
    work: Work = None,
    skip_bad_shards: SkipBadShards = False,
    engine: Engine = "local",
    invalid: Annotated[
        str,
        Option(
            metavar="error|drop|keep",
            help="rows that cannot be evaluated: stop, leave them out, or keep them where VOC's development kit does",
        ),
    ] = "error",
) -> None:
    """Evaluate detections against ground truth.

    The numbers are those of COCO or of another protocol. --out stores the tables behind them, and `apframe sql` queries these.
    """
    style = one_style(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    if style == "csv" and not by:
        raise ParameterError("--csv needs slices: name columns with --by")
    published = as_protocol(protocol).variant(iou_type)  # errors come before the work, not after it
    chosen = published.with_options(
        matching=matching,
        iou_thresholds=numbers("--iou-thresholds", iou_thresholds, float, "numbers"),
        max_detections=numbers("--max-detections", max_detections, _limit, "whole numbers, or all,"),
        agnostic=agnostic or None,
    )
    if not shards:
        refuse_options_of_shards(context)
    if truth is None and rules:
        print(chosen)
        return
    if truth is not None and not shards:
        hint_at_shards(truth, results)
    if truth is None or (results is None and not shards):
        context.fail(f"Missing argument '{'GT' if truth is None else 'DT'}'.")
    labelled = given_labels(out, DETECTION, name, tag)
    if matches and out is None:
        raise ParameterError("--matches needs --out, the folder to store the evaluation in")
    kept = numbers("--matches", matches, float, "numbers") or []
    if unknown := [each for each in kept if chosen.threshold_number(each) is None]:
        there = ", ".join(f"{each:.10g}" for each in chosen.iou_thresholds)
        raise ParameterError(f"--matches: {unknown[0]} is not evaluated", f"there are {there}; see --iou-thresholds")
    options: dict[str, Any] = {
        "protocol": chosen, "categories": words(categories) or None,
        "unknown_images": "drop" if drop_unknown_images else "error", "invalid": invalid, "format": gt_format,
        "results_format": dt_format, "split": split, "image_sizes": image_sizes, "box_format": box_format,
        "relative": relative, "join_by_name": words(join_by_name), "names": names, "image_attributes": image_attributes,
        "category_map": category_map, "unmapped": unmapped,
    }  # fmt: skip
    with progress() as say:
        say("matching shards" if shards else "reading")
        if shards:
            own: dict[str, Any] = {"engine": engine, "memory": memory, "work": work, "skip_bad_shards": skip_bad_shards}
            first, second = as_shards(truth, results, more)
            evaluation: apf.Evaluation = apf.evaluate_shards(first, second, **options, **own)
        else:
            evaluation = apf.evaluate(truth, results, **options)
        if where is not None:
            evaluation = evaluation.where(where)
        say("matching and ranking")
        slices = evaluation.by(*words(by)) if by else None
        summary = evaluation.summary
        if out is not None:
            say(f"writing {out}")
            evaluation.write_parquet(out, **labelled, matches=kept)
    if rules and style is None:
        print(evaluation.protocol, end="\n\n")
    if slices is None:
        if style == "json":
            print(json.dumps(dict(summary.rows()) | {"json_version": JSON_VERSION}))
        elif style is not None:
            show_table(summary, style, digits=3)
        else:
            lines = summary_lines(summary, evaluation.protocol, evaluation.notes)
            print_lines(lines if max(map(len, lines)) <= (terminal_width() or 1000) else shorter_lines(lines))
        return
    if style not in ("json", "csv"):  # the most telling columns, in the width of a terminal
        recalls = [name for name in evaluation.summary["metric"] if name.startswith("AR")]
        limits = evaluation.protocol.max_detections
        kept = recalls[:1] if len(limits) == 1 else [f"AR{'' if limits[-1] is None else limits[-1]}"]
        slices = slices.select(pl.exclude(*(name for name in recalls if name not in kept), "AP75", "n_detections"))
    show_table(slices, style, digits=3)


def _limit(item: str) -> int | None:
    return None if item.strip() == "all" else int(item)

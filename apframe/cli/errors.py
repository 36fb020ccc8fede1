"""`apframe errors`: how much AP each error type costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import polars as pl

import apframe as apf
from apframe.cli.command_options import Command, option, results_argument, style_options, where_option, words
from apframe.cli.file_options import Files, evaluation_options
from apframe.cli.output import print_lines, progress, show_table
from apframe.cli.stored_runs import read_run, truth_or_run
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import threshold_words


@click.command("errors", cls=Command)
@truth_or_run
@results_argument
@evaluation_options
@option("--iou-threshold", type=float, metavar="0.5", help="IoU that a match must reach, in (0, 1]")
@option("--background", type=float, metavar="0.1", help="IoU up to which a detection is on background; below --iou-threshold")
@option("--by", multiple=True, metavar="weather,name", help="print a row for each slice by these columns; name is by category")
@option("--rows", help="print the errors themselves: a row for each false positive and missed annotation")
@where_option
@style_options()
@click.pass_context
def show_errors(
    context: click.Context, truth: Path, results: Path | None, *, files: Files, iou_threshold: float | None,
    background: float | None, by: Sequence[str], rows: bool, where: str | None, style: str | None,
) -> None:  # fmt: skip
    """Show how much AP each error type costs (TIDE).

    Each row is an error type: the number of errors, and by how much AP at --iou-threshold rises if only they are fixed. The
    types: cls (classification), loc (localization), both, dupe (duplicate), bkg (background), miss (missed annotation). fp and
    fn are all false positives and all missed annotations. With pooled categories, there is no cls and no both.
    """
    if rows and by:
        raise ParameterError("--rows and --by cannot be combined", "leave one out")
    with progress() as say:
        say("reading")
        evaluation, at = read_run(context, truth, results, files, iou_threshold, where)
        say("finding errors")
        if rows:
            table = evaluation.errors(at, background=background)
        else:
            table = evaluation.error_impact(at, by=words(by), background=background)
    if rows:
        show_table(
            table,
            style,
            digits=3,
            expendable=["iou_threshold", "category_id", "target_category_id", "same", "other", "file_name"],
        )
    elif style in ("json", "csv"):
        show_table(table, style)
    else:
        _print_impact(table, style, threshold_words(evaluation.protocol, at), words(by))


def _print_impact(table: pl.DataFrame, style: str | None, threshold: str, keys: list[str]) -> None:
    """Print a row for each error type, or with keys a row for each slice and a column for each type."""
    if not keys:
        mean = table.filter(pl.col("category_id").is_null())
        ap = mean["ap"][0]
        if style is None:
            print_lines([f"AP at {threshold}: {'–' if ap is None else f'{ap:.3f}'}"])
        meanings = apf.error_kinds().select(pl.col("name").alias("error"), "description")
        mean = mean.with_columns(pl.col("error").cast(pl.String)).join(meanings, on="error", maintain_order="left")
        show_table(mean.select("error", "n", "delta_ap", "description"), style, digits=3, expendable=["description"])
        return
    front = [name for name in table.columns if name not in ("iou_threshold", "error", "n", "ap", "delta_ap")]
    kinds = table["error"].unique(maintain_order=True).cast(pl.String).to_list()
    if style is None:
        print_lines([f"AP at {threshold}, and by how much it rises if all errors of a type are fixed:"])
    wide = table.with_columns(pl.col("error").cast(pl.String)).pivot(
        "error", index=[*front, "ap"], values="delta_ap", maintain_order=True
    )
    show_table(wide.select(*front, "ap", *kinds), style, digits=3)

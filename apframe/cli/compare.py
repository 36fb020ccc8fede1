"""`apframe compare`: differences between models, with intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl

import apframe as apf
from apframe.cli.command_options import (
    Command,
    argument,
    gate,
    given_options,
    option,
    strict_option,
    style_options,
    where_option,
    words,
)
from apframe.cli.file_options import Files, evaluation_options
from apframe.cli.gate import FAILED, known_metric, read_gate
from apframe.cli.messages import say
from apframe.cli.models import are_stored, read_models
from apframe.cli.output import print_lines, progress, show_table
from apframe.compare.evaluation_names import names_beside
from apframe.evaluation.comparison.comparable import agree
from apframe.exceptions import ParameterError
from apframe.option_values import one_of
from apframe.protocols.headlines import headlines, main_headline
from apframe.protocols.protocol import Protocol
from apframe.show.comparison_text import (
    compact_comparison,
    compact_images,
    comparison_sentences,
    how_tested,
    ranks_table,
    without_intervals,
)
from apframe.show.markup import markdown_text, to_markdown


@click.command("compare", cls=Command)
@argument(
    "paths", "GT A B...", nargs=-1, required=True,
    help="ground truth and results, or folders that `apframe eval --out` wrote: A B...",
)  # fmt: skip
@evaluation_options
@where_option
@option(
    "--metrics", multiple=True, metavar="AP,AP50",
    help="only these metrics (default: all, or only the first if slices, categories or several models are printed)",
)  # fmt: skip
@option("--by", multiple=True, metavar="weather,camera", help="compare within each slice by these columns")
@option(
    "--level", metavar="summary|category|image", default="summary",
    help="compare means over categories, or each category, or list the images with the largest differences",
)  # fmt: skip
@option("--unit", metavar="video", help="a column of the images: resample all images with the same value together")
@option("--within", metavar="city", advanced=True, help="a column of the images: resample within each of its values")
@option(
    "--method", metavar="influence|bootstrap", default="influence", advanced=True,
    help="compute intervals from the contribution of each image, or from resamples of the images",
)  # fmt: skip
@option(
    "--n-resamples", metavar="1000", default=1_000, advanced=True,
    help="number of resamples for --method bootstrap and for metrics without a derivative",
)  # fmt: skip
@option("--seed", metavar="0", default=0, advanced=True, help="random seed: the same seed gives the same table")
@option(
    "--on-images", metavar="same|common", default="same", advanced=True,
    help="if stored evaluations have different images: stop, or use their common images",
)  # fmt: skip
@gate("--fail-if-worse", multiple=True, metavar="AP,AP75", help="exit with 4 if a metric is worse and its interval excludes 0")
@gate("--max-drop", multiple=True, metavar="AP=0.005", help="exit with 4 if a metric drops by more, whatever its interval")
@gate("--sure", help="with --max-drop: also exit with 4 unless the interval excludes a larger drop")
@strict_option
@style_options()
@click.pass_context
def compare_models(
    context: click.Context, paths: Sequence[Path], *, files: Files, where: str | None, metrics: Sequence[str],
    by: Sequence[str], level: str, unit: str | None, within: str | None, method: str, n_resamples: int, seed: int,
    on_images: str, fail_if_worse: Sequence[str], max_drop: Sequence[str], sure: bool, style: str | None,
) -> None:  # fmt: skip
    """Compare models on the same ground truth: differences with 95 % intervals and p values.

    The first model is compared with each other one. An interval says how far the difference would move with other images of
    the same kind, and is computed from the contribution of each image to the difference. --json and --csv print all columns.

    Exit status: 4 if --fail-if-worse or --max-drop finds a model worse than the first one, or cannot test it; otherwise 3 with
    --strict if a warning says that a number is probably wrong.
    """
    one_of("level", level, ("summary", "category", "image"))
    one_of("method", method, ("influence", "bootstrap"))
    one_of("on_images", on_images, ("same", "common"))
    keys, rows_of = words(by), [*words(by), *(["name"] if level == "category" else [])]
    is_stored = are_stored(paths, context, min_models=2)
    n_models = len(paths) - (not is_stored)
    if level == "image":
        _refuse_for_images(context, n_models)
    rules = apf.read_evaluation(paths[0]).protocol if is_stored else files.rules()
    gate = read_gate(fail_if_worse, max_drop, rules, sure=sure)
    if gate.metrics and (rows_of or level == "image"):
        raise ParameterError(
            "--fail-if-worse and --max-drop test the whole set, without --by and --level", "test a part with --where"
        )
    # wrong names are errors before any work is done
    is_long = level == "image" or (style not in ("json", "csv") and (bool(rows_of) or n_models > 2))
    own_metrics = [known_metric(name, rules) for name in words(metrics)] or _usual_metrics(rules, is_long=is_long)
    with progress() as tell:
        evaluations = read_models(paths, files, None if is_stored else rules, where, tell)
    names = names_beside(evaluations)
    first, *others = evaluations = agree(evaluations, names, on_images)
    sampling: dict[str, Any] = {
        "unit": unit, "within": within, "n_resamples": n_resamples, "seed": seed, "method": method
    }  # fmt: skip
    all_metrics = list(dict.fromkeys([*own_metrics, *gate.metrics]))
    table = first.compare(others, names=names, by=tuple(keys), level=level, metrics=all_metrics, **sampling)
    if level == "image":
        _show_images(table, style)
        return
    failures = gate.failures(table, unit or "image")
    if style in ("json", "csv"):
        show_table(table, style)
    else:
        board = None
        if len(others) > 1 and not rows_of and style != "latex":
            from apframe.evaluation.comparison.ranks import ranks
            from apframe.evaluation.comparison.sampling import Sampling  # bring in NumPy

            board = ranks_table(ranks(evaluations, names, Sampling(metrics=own_metrics[:1], **sampling)), own_metrics[0])
        main = main_headline(rules).metric
        lines = _lines(table, rows_of, main if main in own_metrics and not metrics else own_metrics[0], unit or "image")
        _show(table, rows_of, style, board, lines, gate.in_markdown(failures))
    for failure in failures:
        say("gate", failure)
    raise click.exceptions.Exit(FAILED if failures else 0)


def _usual_metrics(rules: Protocol, *, is_long: bool) -> list[str]:
    """Return all metrics, or only the main one if people read a row for each slice, category or model, or images are listed."""
    if is_long:
        return [main_headline(rules).metric]
    return [line.metric for line in headlines(rules, with_parts=True) if not line.kind.table]


def _refuse_for_images(context: click.Context, n_models: int) -> None:
    """Raise an error if images are listed and an option or a third model does not apply to that."""
    if flags := given_options(context, ("by", "unit", "within", "method", "n_resamples", "seed")):
        raise ParameterError(f"{flags[0]} does not apply to --level image", "leave it out, or choose a part with --where")
    if n_models > 2:
        raise ParameterError(f"--level image compares two models, not {n_models}", "name two")


def _show_images(table: pl.DataFrame, style: str | None) -> None:
    """Print the images with the largest differences: all of them for programs, the first ones for people and papers."""
    if style in ("json", "csv"):
        show_table(table, style)
        return
    compact, lines = compact_images(table)
    show_table(compact, style, digits=4, expendable=["file_name", "share"])
    print_lines(lines if style is None else [])


def _lines(table: pl.DataFrame, rows_of: Sequence[str], metric: str, unit: str) -> list[str]:
    """Return sentences about a metric, the numbers without an interval, and the test."""
    lacking = [] if rows_of else without_intervals(table.filter(pl.col("metric") != metric), unit)
    return [*comparison_sentences(table, rows_of, metric, unit), *lacking, *how_tested(table, unit)]


def _show(
    table: pl.DataFrame, rows_of: Sequence[str], style: str | None, board: pl.DataFrame | None, lines: Sequence[str], gate: str
) -> None:
    """Print a comparison, for people and papers only its main columns; in Markdown the answer comes first, the gate last."""
    if rows_of[-1:] == ["name"] and "category_id" in table.columns and table["name"].null_count() > 0:
        rows_of = [*rows_of[:-1], "category_id"]
    compact = compact_comparison(table, rows_of)
    tables = [compact] if board is None else [board, compact]
    if style == "markdown":
        answer, others = [f"**{markdown_text(each)}**" for each in lines[:1]], [markdown_text(each) for each in lines[1:]]
        print("\n\n".join(filter(None, [*answer, *map(to_markdown, tables), *others, gate])))
        return
    is_named = bool(rows_of) and table["metric"].n_unique() == 1  # by the sentences below
    for each in tables:
        show_table(each, style, digits=3, expendable=["q", *["metric"] * is_named] if each is compact else ())
    print_lines(lines if style is None else [])

"""`apframe compare`: differences between models, and whether they are real."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import click
import polars as pl

import apframe as apf
from apframe.cli.declared import Argument, Option
from apframe.cli.files import Files
from apframe.cli.gate import FAILED, known_metric, read_gate
from apframe.cli.messages import be_strict, say
from apframe.cli.models import are_stored, read_models
from apframe.cli.options import Latex, Markdown, Strict, Where, one_style, words
from apframe.cli.output import print_lines, progress, show_table
from apframe.evaluation.comparison.comparable import agree
from apframe.evaluation.comparison.names import names_beside
from apframe.exceptions import ParameterError, one_of
from apframe.protocols.headlines import headlines, main_headline
from apframe.protocols.protocol import Protocol
from apframe.show.comparison import compact_comparison, comparison_sentences, ranks_table


def compare_models(
    context: click.Context,
    paths: Annotated[
        list[Path],
        Argument(metavar="GT A B...", help="ground truth and results, or folders that `apframe eval --out` wrote: A B..."),
    ],
    *,
    files: Files,
    where: Where = None,
    metrics: Annotated[
        list[str] | None,
        Option(
            metavar="AP,AP50",
            help="only these metrics (default: all; the first alone if slices, categories or several models are printed)",
        ),
    ] = None,
    by: Annotated[list[str] | None, Option(metavar="weather,camera", help="compare within each slice by these columns")] = None,
    level: Annotated[
        str, Option(metavar="summary|category", help="compare means over categories, or each category")
    ] = "summary",
    unit: Annotated[
        str | None, Option(metavar="video", help="a column of the images: draw all images of a value together")
    ] = None,
    within: Annotated[str | None, Option(metavar="city", help="a column of the images: draw within each of its values")] = None,
    n_resamples: Annotated[int, Option(metavar="1000", help="how many times images are drawn")] = 1_000,
    seed: Annotated[int, Option(metavar="0", help="start of the random draws: the same seed gives the same table")] = 0,
    on_images: Annotated[
        str,
        Option(metavar="same|common", help="stored evaluations of different images: stop, or use those that all have"),
    ] = "same",
    fail_if_worse: Annotated[
        list[str] | None,
        Option(metavar="AP,APs", help="exit with 4 if one of these is worse and its interval excludes 0"),
    ] = None,
    max_drop: Annotated[
        list[str] | None, Option(metavar="AP=0.005", help="exit with 4 if a metric drops by more, whatever the interval")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="print a list of JSON objects")] = False,
    as_csv: Annotated[bool, Option("--csv", help="print comma-separated values")] = False,
    as_markdown: Markdown = False,
    as_latex: Latex = False,
    strict: Strict = False,
) -> None:
    """Compare models on the same ground truth: differences with 95 % intervals and p values.

    The first model is compared with each other one. Images are drawn with replacement, the same ones for all models, to see how
    far the difference would move with other images of the same kind. --json and --csv have all columns.

    Exit status: 4 if --fail-if-worse or --max-drop finds a model that is worse than the first one; otherwise 3 if --strict is
    given and a warning says that a number is probably wrong.
    """
    be_strict(strict)
    style = one_style(json=as_json, csv=as_csv, markdown=as_markdown, latex=as_latex)
    one_of("level", level, ("summary", "category"))
    one_of("on_images", on_images, ("same", "common"))
    keys, rows_of = words(by), [*words(by), *(["name"] if level == "category" else [])]
    is_stored = are_stored(paths, context, least=2)
    rules = apf.read_evaluation(paths[0]).protocol if is_stored else files.rules()
    gate = read_gate(fail_if_worse, max_drop, rules)
    if gate.metrics and rows_of:
        raise ParameterError(
            "--fail-if-worse and --max-drop test the whole set, without --by and --level category", "test a part with --where"
        )
    # wrong names are errors before the work, not after it
    is_long = bool(rows_of) or len(paths) - (not is_stored) > 2
    chosen = [known_metric(name, rules) for name in words(metrics)] or _usual_metrics(rules, style, is_long=is_long)
    with progress() as tell:
        evaluations = read_models(paths, files, None if is_stored else rules, where, tell)
    called = names_beside(evaluations)
    first, *others = evaluations = agree(evaluations, called, on_images)
    draws: dict[str, Any] = {"unit": unit, "within": within, "n_resamples": n_resamples, "seed": seed}
    wanted = list(dict.fromkeys([*chosen, *gate.metrics]))
    table = first.compare(others, names=called, by=keys, level=level, metrics=wanted, **draws)
    failures = gate.failures(table)
    if len(others) > 1 and not rows_of and style is None:
        from apframe.evaluation.comparison.ranks import ranks
        from apframe.evaluation.comparison.sampling import Sampling  # bring in NumPy

        board = ranks(evaluations, called, Sampling(metrics=chosen[:1], **draws))
        show_table(ranks_table(board, chosen[0]), style, digits=3)
    main = main_headline(rules).metric
    _show(table, rows_of, style, main if main in chosen and not metrics else chosen[0])
    for failure in failures:
        say("gate", failure)
    raise click.exceptions.Exit(FAILED if failures else 0)


def _usual_metrics(rules: Protocol, style: str | None, *, is_long: bool) -> list[str]:
    """All metrics; the one that stands for all where people read a row for each slice, category or model."""
    if is_long and style not in ("json", "csv"):
        return [main_headline(rules).metric]
    return [line.metric for line in headlines(rules, with_parts=True) if not line.kind.table]


def _show(table: pl.DataFrame, rows_of: Sequence[str], style: str | None, metric: str) -> None:
    """Print a comparison: all of it for programs, what tells most for people and papers; the sentence is about one metric."""
    if style in ("json", "csv"):
        show_table(table, style)
        return
    if rows_of[-1:] == ["name"] and "category_id" in table.columns and table["name"].null_count() > 0:
        rows_of = [*rows_of[:-1], "category_id"]
    compact = compact_comparison(table, rows_of)
    if style is not None:
        show_table(compact, style, digits=3)
        return
    show_table(compact, style, digits=3, least=["q"])
    print_lines(comparison_sentences(table, rows_of, metric=metric))

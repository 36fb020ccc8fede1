"""`apframe confusion`: which categories are predicted as which others."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

from apframe.cli.command_options import Command, option, output, results_argument, style_options, where_option
from apframe.cli.file_options import Files, evaluation_options
from apframe.cli.output import print_lines, progress, show_table
from apframe.cli.stored_runs import read_run, truth_or_run
from apframe.evaluation.thresholds.min_scores import BEST_F1
from apframe.exceptions import ParameterError
from apframe.protocols.lookups import threshold_words
from apframe.show.mistakes import confusion_totals, mistakes

_SHOWN = 20


@click.command("confusion", cls=Command)
@truth_or_run
@results_argument
@evaluation_options
@option("--iou-threshold", type=float, metavar="0.5", help="IoU that a pair must reach, in (0, 1]")
@option("--min-score", metavar="0.3|best_f1", help="ignore detections below this score, or below each category's best F1")
@where_option
@output("--pairs", help="print the detections and annotations behind the cells instead")
@style_options(json="print all cells, as a list of JSON objects", csv="print all cells, as comma-separated values")
@click.pass_context
def show_confusion(
    context: click.Context, truth: Path, results: Path | None, *, files: Files, iou_threshold: float | None,
    min_score: str | None, where: str | None, pairs: bool, style: str | None,
) -> None:  # fmt: skip
    """Show the confusion matrix: which categories are predicted as which others.

    True positives are the same as in `apframe eval`. Each other detection is matched to the most similar annotation of another
    category. The largest mistakes are printed; --json and --csv print all cells, including the diagonal, background (true is
    empty) and missed annotations (found is empty).
    """
    cut = _score(min_score)
    with progress() as say:
        say("reading")
        evaluation, at = read_run(context, truth, results, files, iou_threshold, where)
        say("matching")
        table = evaluation.confusion(at, min_score=cut)
        rows = evaluation.confusion_pairs(at, min_score=cut) if pairs else None
    if rows is not None:
        show_table(rows, style, digits=3, expendable=["true_category_id", "found_category_id", "file_name"])
    elif style in ("json", "csv"):
        show_table(table, style)
    else:
        _print_mistakes(table, style, threshold_words(evaluation.protocol, at), min_score)


def _score(text: str | None) -> float | str | None:
    if text is None or text == BEST_F1:
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--min-score takes a number or {BEST_F1}, not {text!r}") from None


def _print_mistakes(table: pl.DataFrame, style: str | None, threshold: str, min_score: str | None) -> None:
    """Print the totals in a line, then the largest cells of one category predicted as another."""
    mistaken = mistakes(table)
    if style is None:
        at = "all scores" if min_score is None else f"scores from {min_score}"
        at = "scores from the best F1 of each category" if min_score == BEST_F1 else at
        print_lines([f"At {threshold}, {at}: {confusion_totals(table)}."])
        if mistaken.is_empty():
            return
    rows = mistaken.select("true", "found", "n", "share_of_true", "share_of_found")
    show_table(rows if style else rows.head(_SHOWN), style, digits=3)
    if style is None and rows.height > _SHOWN:
        print_lines([f"The other {rows.height - _SHOWN:,} cells are not larger; --csv prints all."])

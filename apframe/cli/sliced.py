"""Slices, intervals and tables for papers as `apframe eval` prints them."""

from __future__ import annotations

import polars as pl

from apframe.cli.messages import say
from apframe.cli.output import print_lines, show_table, terminal_width
from apframe.evaluation.evaluation import Evaluation
from apframe.evaluation.pivot import kit_markup
from apframe.protocols.headlines import headlines
from apframe.protocols.protocol import Protocol
from apframe.show.comparison_text import reason_of
from apframe.show.fitted import SliceTable
from apframe.show.markup import to_latex, to_markdown
from apframe.wording import counted


def show_sliced(slices: pl.DataFrame | None, sure: pl.DataFrame | None, protocol: Protocol, style: str | None) -> None:
    """Print slices, or numbers with their intervals: all columns for programs, the main ones for people and papers."""
    for_people = style not in ("json", "csv")
    if slices is not None and for_people and (style is not None or terminal_width() is None):
        recalls = [line for line in headlines(protocol) if line.kind.one_is_enough]
        largest = (protocol.headline_range, protocol.max_detections[-1])
        enough = next((line for line in recalls if (line.area_range, line.max_detections) == largest), None)
        slices = slices.select(pl.exclude(*(line.metric for line in recalls if line != enough), "AP75", "n_detections"))
    if slices is not None:
        show_table(slices, style, digits=3, expendable=SliceTable(slices).expendable)  # a terminal shows the columns that fit
    if sure is not None:
        show_table(sure.drop("bias", "n_resamples", "method", "reason") if for_people else sure, style, digits=3)
        lacking = sure["reason"].drop_nulls().value_counts(sort=True).rows() if style is None else []
        print_lines([f"{counted(n, 'row')} without an interval: {reason_of({'reason': why})}." for why, n in lacking])


def show_markup(evaluation: Evaluation, style: str) -> None:
    """Print the numbers in Markdown or LaTeX, and the notes about them on stderr."""
    text, below = kit_markup(evaluation, to_markdown if style == "markdown" else to_latex, None)
    print(text)
    for line in below:
        say("note", line.strip())

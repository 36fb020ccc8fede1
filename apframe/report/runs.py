"""The means of runs as lines and as an HTML table: a row for each measure, a column for each run."""

from __future__ import annotations

from html import escape
from typing import Any

import polars as pl


def run_lines(summary: pl.DataFrame, coverage: pl.DataFrame) -> list[str]:
    """The table with aligned columns, and over how many queries the means are.

    >>> summary = pl.DataFrame({"measure": ["AP"], "value": [0.25], "n_queries": [3]})
    >>> counts = {"n_judged": 4, "n_evaluated": 3, "n_missing": 1, "n_without_relevant": 0, "n_not_judged": 0}
    >>> print(*run_lines(summary, pl.DataFrame(counts)), sep="\\n")
    measure    value
    AP        0.2500
    3 of 4 judged queries evaluated: 1 missing from the run
    """
    table = _cells(summary)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    rows = [
        [row[0].ljust(widths[0]), *(cell.rjust(max(7, n)) for cell, n in zip(row[1:], widths[1:], strict=True))]
        for row in table
    ]
    return ["  ".join(row) for row in rows] + _notes(coverage)


def run_html(summary: pl.DataFrame, coverage: pl.DataFrame) -> str:
    """The same as HTML."""
    head, *rows = _cells(summary)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<p>{escape(note)}</p>" for note in _notes(coverage))
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{notes}"


def _cells(summary: pl.DataFrame) -> list[list[str]]:
    """A row of names, then one for each measure."""
    table = summary if "run" in summary.columns else summary.with_columns(run=pl.lit("value"))
    runs, measures = (table[name].unique(maintain_order=True).to_list() for name in ("run", "measure"))
    values = {(run, measure): value for run, measure, value in table.select("run", "measure", "value").iter_rows()}

    def shown(run: str, measure: str) -> str:
        value = values[run, measure]
        return "–" if value is None else f"{value:.4f}"

    return [["measure", *runs], *([measure, *(shown(run, measure) for run in runs)] for measure in measures)]


def _notes(coverage: pl.DataFrame) -> list[str]:
    return [_note(row) for row in coverage.iter_rows(named=True)]


def _note(row: dict[str, Any]) -> str:
    texts = {
        "n_missing": "missing from the run",
        "n_without_relevant": "without relevant documents",
        "n_not_judged": "of the run without judgements",
    }
    of = f"{row['run']}: " if "run" in row else ""
    line = f"{of}{row['n_evaluated']:,} of {row['n_judged']:,} judged queries evaluated"
    notes = [f"{row[name]:,} {text}" for name, text in texts.items() if row[name]]
    return f"{line}: {', '.join(notes)}" if notes else line

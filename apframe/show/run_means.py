"""The means of runs as lines and as an HTML table: a row for each measure, a column for each run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Any

import polars as pl

from apframe.listing import html_table
from apframe.lists.kinds import KINDS
from apframe.show.aligned import aligned
from apframe.wording import counted


def run_lines(summary: pl.DataFrame, coverage: pl.DataFrame, options: Mapping[str, Any], width: int | None = None) -> list[str]:
    """Return the means of runs as aligned lines, then the number of queries behind them.

    `options` are the policies. If the runs need more than `width` columns, blocks of runs follow each other.

    >>> summary = pl.DataFrame({"measure": ["AP"], "value": [0.25], "n_queries": [3]})
    >>> counts = {"n_judged": 4, "n_evaluated": 3, "n_missing": 1, "n_without_relevant": 0, "n_not_judged": 0}
    >>> print(*run_lines(summary, pl.DataFrame(counts), {"missing": "skip", "no_relevant": "zero"}), sep="\\n")
    measure    value
    AP        0.2500
    3 of 4 judged queries evaluated: 1 missing from the run (left out)
    """
    return aligned(run_cells(summary, coverage), width) + coverage_lines(coverage, options)


def run_html(summary: pl.DataFrame, coverage: pl.DataFrame, options: Mapping[str, Any]) -> str:
    """Return the lines of `run_lines` as HTML."""
    head, *rows = run_cells(summary, coverage)
    notes = "".join(f"<p>{escape(note)}</p>" for note in coverage_lines(coverage, options))
    return html_table(head, rows) + notes


def run_cells(summary: pl.DataFrame, coverage: pl.DataFrame) -> list[list[str]]:
    """Return a row of names, then one per measure; means over a different number of queries have that number in brackets."""
    table, counts = (one if "run" in one.columns else one.with_columns(run=pl.lit("value")) for one in (summary, coverage))
    evaluated = dict(counts.select("run", "n_evaluated").iter_rows())
    runs, measures = (table[name].unique(maintain_order=True).to_list() for name in ("run", "measure"))
    columns = table.select("run", "measure", "value", "n_queries")
    values = {(run, measure): (value, n) for run, measure, value, n in columns.iter_rows()}

    def shown(run: str, measure: str) -> str:
        value, n = values[run, measure]
        over = "" if n == evaluated[run] else f" ({n:,})"
        digits = 0 if _is_count(measure) else 4
        return "–" if value is None else f"{value:.{digits}f}{over}"

    return [["measure", *runs], *([measure, *(shown(run, measure) for run in runs)] for measure in measures)]


def _is_count(measure: str) -> bool:
    """Return True if the summary of a measure is a sum of counts."""
    kind = KINDS.get(re.split(r"[(@]", measure)[0])
    return kind is not None and kind.average == "sum"


def coverage_lines(coverage: pl.DataFrame, options: Mapping[str, Any]) -> list[str]:
    """Return the number of queries behind the means, a line for each run, and the treatment of the others.

    >>> counts = {"n_judged": 4, "n_evaluated": 4, "n_missing": 1, "n_without_relevant": 0, "n_not_judged": 2}
    >>> print(*coverage_lines(pl.DataFrame(counts), {"missing": "zero", "no_relevant": "zero"}))
    4 of 4 judged queries evaluated: 1 missing from the run (counted as 0), 2 of the run without judgements (left out)
    """
    texts = {
        "n_missing": f"missing from the run ({_treated(options['missing'])})",
        "n_without_relevant": f"without relevant documents ({_treated(options['no_relevant'])})",
        "n_not_judged": "of the run without judgements (left out)",
    }
    limit = options.get("max_documents")
    notes = [] if limit is None else [f"the first {counted(limit, 'document')} of each query"]
    if options.get("own_document") == "remove":
        notes.append("documents with the same id as their query were removed")
    return [_note(row, texts) for row in coverage.iter_rows(named=True)] + notes


def _treated(policy: str) -> str:
    return "counted as 0" if policy == "zero" else "left out"


def _note(row: dict[str, Any], texts: Mapping[str, str]) -> str:
    of = f"{row['run']}: " if "run" in row else ""
    line = f"{of}{row['n_evaluated']:,} of {row['n_judged']:,} judged queries evaluated"
    notes = [f"{row[name]:,} {text}" for name, text in texts.items() if row[name]]
    return f"{line}: {', '.join(notes)}" if notes else line

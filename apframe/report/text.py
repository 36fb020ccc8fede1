"""Sections as text for a terminal: sentences, tables and notes. Charts and what a click opens are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.report.section import Section, Table
from apframe.report.tables import cell_texts
from apframe.report.write import IN_TEXT, about, first_screen, sections_of
from apframe.show.tables import table_lines
from apframe.wording import counted

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.retrieval.evaluation import RunEvaluation

MOST_LINES = 20


def text_of(sections: Sequence[Section], *, width: int | None = None, plain: bool = False) -> list[str]:
    """Return sections as lines. A table has at most 20 rows; what was cut is said below it.

    Parameters
    ----------
    sections
        as the page has them
    width
        of the terminal: wider tables lose their last columns, and a line names these. None for all columns
    plain
        draw tables in ASCII

    >>> table = Table(pl.DataFrame({"name": ["cat"], "gain": [-0.25]}), "AP by category", signed=["gain"])
    >>> print(*text_of([Section("where", "Where?", ["Nowhere."], [table])], plain=True), sep="\\n")
    Where?
    Nowhere.
    <BLANKLINE>
    AP by category
    +------+--------+
    | name | gain   |
    +===============+
    | cat  | -0.250 |
    +------+--------+
    """
    lines = list[str]()
    for section in sections:
        lines += ["", section.heading, *section.sentences] if lines else [section.heading, *section.sentences]
        for block in section.blocks:
            if isinstance(block, Table):
                lines += ["", block.caption, *_table_lines(block, width, plain)]
        lines += ["", *section.notes] if section.notes else []
    return lines


def _table_lines(table: Table, width: int | None, plain: bool) -> list[str]:
    columns: dict[str, list[str]] = {}
    for name, texts in cell_texts(replace(table, most=min(table.most, MOST_LINES))).items():
        head = table.heads.get(name, name)
        while head in columns:  # a model may be called what another column is
            head += " "
        columns[head] = texts
    shown = pl.DataFrame(columns)
    lines = table_lines(shown, plain=plain, width=width).splitlines()
    cut = table.frame.height > shown.height
    return [*lines, f"The first {shown.height} of {counted(table.frame.height, 'row')} are shown."] if cut else lines


def report_lines(
    evaluations: Sequence[Evaluation | RunEvaluation],
    *,
    names: Sequence[str] | None = None,
    by: Sequence[Any] = (),
    over: Any = None,
    n_resamples: int = 1_000,
    seed: int = 0,
    width: int | None = None,
    plain: bool = False,
) -> list[str]:
    """Return what `write_report` says first, as lines: which model is better, where, and which types of errors they make.

    Options and errors are those of `write_report` and `text_of`.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> report_lines([ev])[1]
    'Error types that cost most AP at IoU 0.5: ▼ missed −0.248'
    """
    subject = about(evaluations, names, by, over, {"n_resamples": n_resamples, "max_images": 0}, seed=seed)
    lines = text_of(sections_of(subject, IN_TEXT), width=width, plain=plain)  # first, as they collect the warnings
    return [*first_screen(subject).lines, "", *lines]

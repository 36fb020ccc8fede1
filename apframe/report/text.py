"""Pages as text: the first sections for a terminal, the first screen in Markdown. Charts and links are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from apframe.report.compared import Compared
from apframe.report.html_tables import NOTHING, cell_texts, minus
from apframe.report.searched import Searched
from apframe.report.section import NEXT, Section, Steps, Table
from apframe.report.sections.models_compared import KEY as COMPARISON
from apframe.report.write import IN_TEXT, first_screen, sections_of, title_of
from apframe.show.markup import markdown, markdown_text
from apframe.show.text_tables import table_lines
from apframe.wording import counted

MOST_LINES = 20


def text_of(sections: Sequence[Section], *, width: int | None = None, plain: bool = False) -> list[str]:
    """Return sections as lines. A table has at most 20 rows; a line below it reports cut rows.

    Parameters
    ----------
    sections
        sections of a page
    width
        the width of the terminal: wider tables lose their last columns, and a line names these. None for all columns
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
            elif isinstance(block, Steps):
                lines += ["", f"{NEXT}:", *(f"- {minus(step.words)}" for step in block.steps)]
        lines += ["", *section.notes] if section.notes else []
    return lines


def _table_lines(table: Table, width: int | None, plain: bool) -> list[str]:
    columns: dict[str, list[str]] = {}
    for name, texts in cell_texts(replace(table, most=min(table.most, MOST_LINES))).items():
        head = table.heads.get(name, name)
        while head in columns:  # a model may have the name of another column
            head += " "
        columns[head] = texts
    visible = pl.DataFrame(columns)
    lines = table_lines(visible, plain=plain, width=width).splitlines()
    cut = table.frame.height > visible.height
    return [*lines, f"The first {visible.height} of {counted(table.frame.height, 'row')} are shown."] if cut else lines


def lines_about(subject: Compared | Searched, *, width: int | None = None, plain: bool = False) -> list[str]:
    """Return the first sections of a page as lines: the better model, its slices, and the error types.

    See `text_of` for the options.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.report.write import about
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> lines_about(about([ev]))[1]
    'Error types that cost most AP at IoU 0.5: ▼ missed −0.248'
    """
    lines = text_of(sections_of(subject, IN_TEXT), width=width, plain=plain)  # first, as they collect the warnings
    return [*first_screen(subject).lines, "", *lines]


def markdown_about(subject: Compared | Searched, title: str | None = None) -> str:
    """Return the first screen of a page and the next steps in Markdown, for pull requests and summaries of jobs.

    `title` is the heading, by default the names.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.report.write import about
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> ev = evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(30)])
    >>> print(markdown_about(about([ev]), "Cats")[:77])
    ## Cats
    <BLANKLINE>
    **AP is 0.752; with other images of the same kind, 0.612 to 0.893.**
    """
    (section,) = sections_of(subject, [COMPARISON])
    first = first_screen(subject)
    parts = [f"## {markdown_text(title or title_of(subject))}", f"**{markdown_text(first.lines[0])}**"]
    if first.figures:
        head = ["run" if isinstance(subject, Searched) else "model", first.figures[0].metric, "95 % interval"]
        named = [(markdown_text(each.name).replace("\\|", "|"), each) for each in first.figures]  # tables write it so anyway
        parts.append(markdown(head, [[name, each.value, each.interval or NOTHING] for name, each in named]))
    parts += [markdown_text(line) for line in (*first.lines[1:], *first.doubts)]
    for block in section.blocks:
        if isinstance(block, Steps):
            steps = [f"{number}. {markdown_text(minus(step.words))}" for number, step in enumerate(block.steps, 1)]
            parts.append("\n".join([f"**{NEXT}**", "", *steps]))
    return "\n\n".join(parts)

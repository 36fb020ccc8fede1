"""Any table as Markdown or LaTeX, for papers, issues and notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from apframe.show.terminal import one_line
from apframe.tables.column_sources import to_polars

_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "<": r"\textless{}",
    ">": r"\textgreater{}", "≤": r"$\leq$", "|": r"\textbar{}", **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def to_markdown(table: Any, digits: int = 3) -> str:
    """Return a table as Markdown; columns of numbers are aligned to the right, null is a dash.

    `table` is a frame, or anything else that holds columns, such as the results of `ev.by(...)` and `ev.compare()`; `digits` is
    the number of decimals. Results have a method of this name for their headline numbers.

    >>> print(to_markdown({"name": ["a|b", None], "AP": [0.25, None]}))
    | name |    AP |
    |:-----|------:|
    | a\\|b | 0.250 |
    | –    |     – |
    """
    return markdown(*cells(table, digits))


def to_latex(table: Any, digits: int = 3) -> str:
    r"""Return a table as LaTeX, which requires the package booktabs; arguments as in `to_markdown`.

    >>> print(to_latex({"name": ["a_b"], "AP": [0.25]}))
    \begin{tabular}{lr}
    \toprule
    name & AP \\
    \midrule
    a\_b & 0.250 \\
    \bottomrule
    \end{tabular}
    """
    return latex(*cells(table, digits))


def cells(table: Any, digits: int) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the texts of each row."""
    frame = to_polars(table, "table")
    return [one_line(name) for name in frame.columns], [[_shown(value, digits) for value in row] for row in frame.iter_rows()]


def markdown_text(text: str) -> str:
    """Return a text for a line of Markdown, with a backslash before each special character.

    >>> print(markdown_text("model_b is <b>not</b> better [*], p < 0.05"))
    model_b is \\<b>not\\</b> better \\[\\*\\], p < 0.05
    """
    return re.sub(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])", r"\\\g<0>", one_line(text))


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts in Markdown; columns of numbers are aligned to the right."""
    table = [[text.replace("|", "\\|") for text in row] for row in (head, *rows)]
    right = _are_numbers(head, rows)
    widths = [max(3, *(len(row[column]) for row in table)) for column in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = [text.rjust(n) if is_right else text.ljust(n) for text, n, is_right in zip(row, widths, right, strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (n + 1) + ":" if is_right else ":" + "-" * (n + 1) for n, is_right in zip(widths, right, strict=True))
    return "\n".join([line(table[0]), f"|{rule}|", *map(line, table[1:])])


def latex(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts in LaTeX."""
    escaped = [[re.sub(r"[\\~^–<>≤|&%$#_{}]", lambda found: _LATEX[found[0]], text) for text in row] for row in (head, *rows)]
    first, *others = [f"{' & '.join(row)} \\\\" for row in escaped]
    columns = "".join("r" if is_right else "l" for is_right in _are_numbers(head, rows))
    lines = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", first, "\\midrule", *others, "\\bottomrule", "\\end{tabular}"]
    return "\n".join(lines)


def _are_numbers(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return True for each column with rows whose texts are all numbers or dashes."""
    number = re.compile(r"–|(?:[<≤] )?[-+]?[\d,]*\.?\d+(e[-+]?\d+)?( \([\d,]+\))?", re.IGNORECASE)
    return [bool(rows) and all(number.fullmatch(row[column]) for row in rows) for column in range(len(head))]


def _shown(value: Any, digits: int) -> str:
    if value is None:
        return "–"
    return f"{value:.{digits}f}" if isinstance(value, float) else one_line(str(value))

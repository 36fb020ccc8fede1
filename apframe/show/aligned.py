"""Tables of texts as aligned lines, without borders."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(table: Sequence[Sequence[str]], width: int | None = None, *, n_labels: int = 1) -> list[str]:
    """Return a table as lines, with the first `n_labels` columns aligned to the left and the others, of numbers, to the right.

    If the table needs more than `width` columns of a terminal, it is broken into blocks, each with some of the numbers.

    >>> print(*aligned([["name", "AP"], ["cat", "0.25"]]), sep="\\n")
    name       AP
    cat      0.25
    """
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    labels, numbers = range(n_labels), range(n_labels, len(widths))
    rows = [
        [cell.rjust(max(7, n)) if k in numbers else cell.ljust(n) for k, (cell, n) in enumerate(zip(row, widths, strict=True))]
        for row in table
    ]
    blocks: list[list[int]] = [[]]
    for column in numbers:
        needed = len("  ".join(rows[0][each] for each in (*labels, *blocks[-1], column)))
        if width is not None and needed > width and blocks[-1]:
            blocks.append([])
        blocks[-1].append(column)
    lines = []
    for number, block in enumerate(blocks):
        lines += ([""] if number else []) + ["  ".join(row[column] for column in (*labels, *block)) for row in rows]
    return lines

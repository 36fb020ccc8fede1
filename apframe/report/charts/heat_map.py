"""A confusion matrix as a heat map: a cell for each category and what it is found as, with its share of the row."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.show.elements import Markup, element, svg

MISSED, NOTHING = "missed", "nothing there"
_WIDTH, _HEIGHT, _GAP = 30, 24, 6
_LETTER, _SLANTED, _LONGEST = 7, 5, 20  # how wide a letter is, and on the slant; the letters of a label
_STEPS = (0.05, 0.2, 0.4, 0.6, 0.8)  # shares from which on a cell is darker


def heat_map(cells: pl.DataFrame, labels: Sequence[str], name: str) -> Markup:
    """Draw a confusion matrix. The number in a cell is its share of the row in percent, as its shade is.

    Parameters
    ----------
    cells
        true and found (positions in `labels`; null: nothing there, missed) and n. Those that are 0 need not be there
    labels
        the names of the categories, in the order of rows and columns
    name
        what it is, for those who cannot see it

    >>> drawn = heat_map(pl.DataFrame({"true": [0, 0], "found": [0, None], "n": [3, 1]}), ["cat"], "model_a")
    >>> '<title>cat found as cat: 3, 75 % of the row</title>' in drawn, '<title>cat missed: 1, 25 % of the row</title>' in drawn
    (True, True)
    """
    n = len(labels)
    shown = [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…" for label in labels]
    left = _LETTER * max(len(label) for label in [*shown, NOTHING]) + 10
    top = _SLANTED * max(len(label) for label in [*shown, MISSED]) + 20

    def across(column: int) -> int:
        return left + column * _WIDTH + _GAP * (column == n)

    def down(row: int) -> int:
        return top + row * _HEIGHT + _GAP * (row == n)

    width = max(across(column) + _WIDTH + _SLANTED * len(label) for column, label in enumerate([*shown, MISSED]))
    height = down(n) + _HEIGHT + 2
    rows = [
        element("text", label, x=left - 6, y=down(row) + 16, text_anchor="end") for row, label in enumerate([*shown, NOTHING])
    ]
    columns = [
        element("text", label, transform=f"translate({across(column) + _WIDTH // 2} {top - 6}) rotate(-45)")
        for column, label in enumerate([*shown, MISSED])
    ]
    grid = [
        element("rect", class_="grid", x=across(column), y=down(row), width=span * _WIDTH, height=lines * _HEIGHT)
        for column, row, span, lines in ((0, 0, n, n), (n, 0, 1, n), (0, n, n, 1))
    ]
    shares = cells.with_columns(pl.col("true", "found").fill_null(n), share=pl.col("n") / pl.col("n").sum().over("true"))
    drawn = []
    for true, found, count, share in shares.select("true", "found", "n", "share").iter_rows():
        what = f"{NOTHING}, found as {labels[found]}" if true == n else f"{labels[true]} {MISSED}"
        what = f"{labels[true]} found as {labels[found]}" if n not in (true, found) else what
        x, y, number = across(found), down(true), percent(share)
        right = " right" if true == found else ""
        drawn.append(
            element(
                "g",
                element("title", f"{what}: {count:,}, {number} % of the row"),
                element("rect", x=x + 1, y=y + 1, width=_WIDTH - 2, height=_HEIGHT - 2),
                element("text", number, x=x + _WIDTH // 2, y=y + 16, text_anchor="middle"),
                class_=f"s{1 + sum(share > step for step in _STEPS)}{right}",
            )
        )
    return svg([grid, rows, columns, drawn], "heat", width, height, name)


def percent(share: float) -> str:
    """A share in percent without decimals, so that only what is nothing is 0 and only what is all is 100.

    >>> [percent(share) for share in (0.001, 0.5, 0.999, 1.0)]
    ['<1', '50', '>99', '100']
    """
    rounded = round(100 * share)
    return "<1" if rounded == 0 < share else ">99" if rounded == 100 and share < 1 else str(rounded)

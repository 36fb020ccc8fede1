"""Boxes by their edges: files that say where a box ends, in the place of how wide it is."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

BOX = ("x", "y", "width", "height")


def to_edges(names: Sequence[str]) -> dict[str, pl.Expr]:
    """The left, top, right and bottom edge of canonical boxes, as columns of these names.

    >>> box = pl.DataFrame({"x": [1], "y": [2], "width": [3], "height": [4]})
    >>> box.select(**to_edges(["xmin", "ymin", "xmax", "ymax"])).row(0)
    (1, 2, 4, 6)
    """
    far = [pl.col("x") + pl.col("width"), pl.col("y") + pl.col("height")]
    return dict(zip(names, [pl.col("x"), pl.col("y"), *far], strict=True))


def from_edges(names: Sequence[str]) -> dict[str, pl.Expr]:
    """The columns of canonical boxes, of those that `to_edges` makes.

    >>> edges = pl.DataFrame({"xmin": [1], "ymin": [2], "xmax": [4], "ymax": [6]})
    >>> edges.select(**from_edges(["xmin", "ymin", "xmax", "ymax"])).row(0)
    (1, 2, 3, 4)
    """
    left, top, right, bottom = (pl.col(name) for name in names)
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def rounded_sizes(frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
    """What `Format.further_losses` says of boxes that become edges: widths and heights of which the last digit changes."""
    found = []
    for size, edge in (("width", frame["x"]), ("height", frame["y"])):
        changed = ((edge + frame[size]) - edge != frame[size]).fill_null(False)
        found.append((size, changed, "rounded: the files say where the box ends"))
    return found

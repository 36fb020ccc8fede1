"""Boxes by their edges: for files with the end of a box instead of its size."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.formats.text_lines import Lines
from apframe.tables.shapes.corners import around_corners


def to_edges(names: Sequence[str]) -> dict[str, pl.Expr]:
    """Return the left, top, right and bottom edge of canonical boxes, as columns with these names.

    >>> box = pl.DataFrame({"x": [1], "y": [2], "width": [3], "height": [4]})
    >>> box.select(**to_edges(["xmin", "ymin", "xmax", "ymax"])).row(0)
    (1, 2, 4, 6)
    """
    far = [pl.col("x") + pl.col("width"), pl.col("y") + pl.col("height")]
    return dict(zip(names, [pl.col("x"), pl.col("y"), *far], strict=True))


def from_edges(names: Sequence[str]) -> dict[str, pl.Expr]:
    """Return the columns of canonical boxes from edges; reverses `to_edges`.

    >>> edges = pl.DataFrame({"xmin": [1], "ymin": [2], "xmax": [4], "ymax": [6]})
    >>> edges.select(**from_edges(["xmin", "ymin", "xmax", "ymax"])).row(0)
    (1, 2, 3, 4)
    """
    left, top, right, bottom = (pl.col(name) for name in names)
    return {"x": left, "y": top, "width": right - left, "height": bottom - top}


def with_boxes_around_corners(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the upright box around `corners` to rows without a box.

    >>> rotated = {"corners": [[1.0, 0.0, 2.0, 1.0, 1.0, 3.0, 0.0, 1.0]], "x": None, "y": None, "width": None, "height": None}
    >>> with_boxes_around_corners(pl.DataFrame(rotated)).select("x", "y", "width", "height").row(0)
    (0.0, 0.0, 2.0, 3.0)
    """
    if "corners" not in frame.columns:
        return frame
    return frame.with_columns(pl.coalesce(name, value).alias(name) for name, value in around_corners().items())


def refuse_reversed(lines: Lines, edges: pl.DataFrame, names: Sequence[str], remedy: str = "") -> None:
    """Report lines whose boxes, with edges of these names, end before they begin.

    >>> edges = pl.DataFrame({"file": [0], "line": [7], "xmin": [4], "ymin": [2], "xmax": [1], "ymax": [6]})
    >>> from pathlib import Path
    >>> refuse_reversed(Lines("annotations", [Path("a.txt")], edges), edges, ["xmin", "ymin", "xmax", "ymax"])
    Traceback (most recent call last):
    apframe.exceptions.FormatError: a.txt: xmax is less than xmin in line 7; correct these lines, or evaluate with ...
    """
    for near, far in zip(names[:2], names[2:], strict=True):
        lines.refuse_malformed(edges[far] < edges[near], f"{far} is less than {near}", remedy)


def rounded_sizes(frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
    """List widths and heights whose last digit changes when boxes become edges, for `Format.further_losses`."""
    losses = []
    for size, edge in (("width", frame["x"]), ("height", frame["y"])):
        changed = ((edge + frame[size]) - edge != frame[size]).fill_null(False)
        losses.append((size, changed, "rounded: the files store where the box ends"))
    return losses

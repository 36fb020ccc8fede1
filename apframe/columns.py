"""Declarations of table columns, and columns by their exact name.

Polars reads "*" and "^...$" as patterns of names; data has columns called so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
import polars.selectors as cs


@dataclass(frozen=True)
class Column:
    """One column of a canonical table.

    `required` columns must be given, those of a box only where no other shape is (`unless`); `standard` ones are added when
    missing. A `dtype` of None leaves the column as it came. `aliases` are what it may be called where it is not there.
    """

    name: str
    dtype: Any
    meaning: str
    required: bool = False
    standard: bool = True
    is_id: bool = False
    unless: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def exact(name: str) -> pl.Expr:
    """The column of this name, for a name that is not ours: `pl.col("*")` is all columns, `pl.col("^x.*$")` those that match.

    Methods that take names (`select`, `sort`, `group_by`, `over`, `struct`, ...) read patterns too, so they take `exact(name)`,
    or `frame[names]` is used. `frame[name]` is exact, but a method of that series is not: most of them look the series up by
    its name, so it gets one of ours first, `frame[name].alias("value")`.

    >>> frame = pl.DataFrame({"*": [1], "^x.*$": [2], "x1": [3]})
    >>> frame.select(pl.col("^x.*$")).row(0), frame.select(exact("^x.*$") + exact("*")).row(0)
    ((3,), (3,))
    """
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return cs.by_name(name).as_expr() if is_pattern else pl.col(name)

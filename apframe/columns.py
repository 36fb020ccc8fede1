"""Declarations of table columns, and columns by exact name.

Polars reads "*" and "^...$" as patterns of names, but data may have columns with such names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
import polars.selectors as cs


@dataclass(frozen=True)
class Column:
    """One column of a canonical table.

    Sources must have `required` columns; a box is only required without another shape (`unless`). `standard` columns are added
    if missing. A `dtype` of None leaves the type unchanged. `aliases` are names that are accepted if the column is missing.
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
    """Return the column of exactly this name, for names in data: `pl.col("*")` is all columns, `pl.col("^x.*$")` several.

    Methods that accept names (`select`, `sort`, `group_by`, `over`, `struct`, ...) read patterns too, so pass `exact(name)`, or
    use `frame[names]`. `frame[name]` is exact, but methods of this series are not: most of them look it up by its name, so
    rename it first: `frame[name].alias("value")`.

    >>> frame = pl.DataFrame({"*": [1], "^x.*$": [2], "x1": [3]})
    >>> frame.select(pl.col("^x.*$")).row(0), frame.select(exact("^x.*$") + exact("*")).row(0)
    ((3,), (3,))
    """
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return cs.by_name(name).as_expr() if is_pattern else pl.col(name)

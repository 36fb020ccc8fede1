"""Columns by exactly the name that data has. Polars reads "*" and "^...$" as patterns of names, data has columns called so."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs


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

"""Consistency of the columns of tables that are read part by part, so that the types are those of the whole table."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl


class Columns:
    """The kinds of columns in the parts seen so far.

    >>> columns = Columns()
    >>> [columns.agree(pl.DataFrame({"a": values})) for values in ([1], [0.5], [None], ["x"])]
    [True, True, True, False]
    """

    def __init__(self) -> None:
        self._kinds: dict[str, Any] = {}

    def agree(self, part: pl.DataFrame, as_json: Collection[str] = ()) -> bool:
        """Return True if the columns of a part have the same kinds as in earlier parts: numbers, JSON, or one type.

        Null is always allowed. `as_json` are the columns of text that is JSON.
        """
        for name, dtype in part.schema.items():
            kind: Any = "JSON" if name in as_json else "number" if dtype.is_numeric() else dtype
            if dtype != pl.Null and self._kinds.setdefault(name, kind) != kind:
                return False
        return True

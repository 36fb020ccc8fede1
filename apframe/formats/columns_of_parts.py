"""Columns of tables that are read part by part: whether the parts together are of the types that the whole would have."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl


class Columns:
    """What the columns of parts hold, as far as parts have been seen.

    >>> columns = Columns()
    >>> [columns.agree(pl.DataFrame({"a": values})) for values in ([1], [0.5], [None], ["x"])]
    [True, True, True, False]
    """

    def __init__(self) -> None:
        self._kinds: dict[str, Any] = {}

    def agree(self, part: pl.DataFrame, as_json: Collection[str] = ()) -> bool:
        """Whether the columns of a part are of the same kinds as those before it: all numbers, all JSON, or all of one type.

        Null may stand anywhere. `as_json` are the columns of text that is JSON.
        """
        for name, dtype in part.schema.items():
            kind: Any = "JSON" if name in as_json else "number" if dtype.is_numeric() else dtype
            if dtype != pl.Null and self._kinds.setdefault(name, kind) != kind:
                return False
        return True

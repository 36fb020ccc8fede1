"""Tables that are planned, or read column by column, when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class LazyTable:
    """One table of a result, planned when it is needed.

    Attributes
    ----------
    plan
        returns the plan of the whole table, without computing anything (`apframe.store.sql.deferred` helps)
    unnamed
        returns a stand-in for the table in queries that do not name it, for tables that take long to plan; otherwise `plan`
    select
        reads some columns, given as for `pl.DataFrame.select`, part by part, if that takes less memory than `plan`
    parts
        returns plans of one schema, each for some of the rows, for tables that may not fit in memory; otherwise `plan` is used
    """

    plan: Callable[[], pl.LazyFrame]
    unnamed: Callable[[], pl.LazyFrame] | None = None
    select: Callable[..., pl.DataFrame] | None = None
    parts: Callable[[], Iterable[pl.LazyFrame]] | None = None

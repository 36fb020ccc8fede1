"""A table that is planned, or read column by column, when it is needed."""

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
        makes the plan of the whole table, which computes nothing yet (`apframe.store.sql.deferred` helps)
    unnamed
        makes what stands for the table in queries that do not name it, for tables that take long to plan; otherwise `plan`
    select
        reads some columns, as `pl.DataFrame.select` takes them, part by part, where that takes less than `plan`
    parts
        makes plans of one schema, each of some of the rows, for tables that may not fit in memory; otherwise `plan` is all
    """

    plan: Callable[[], pl.LazyFrame]
    unnamed: Callable[[], pl.LazyFrame] | None = None
    select: Callable[..., pl.DataFrame] | None = None
    parts: Callable[[], Iterable[pl.LazyFrame]] | None = None

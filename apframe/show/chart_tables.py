"""The table of a chart: as given, or computed by a method of one evaluation or of several, one below the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from typing import Any

import polars as pl

from apframe.compare.evaluation_names import names_beside
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.tables.column_sources import kind_of, to_polars
from apframe.wording import did_you_mean, nearest

RUN = "run"


def table_of(
    given: Any,
    table: str,
    method: str,
    needs: Iterable[str],
    options: Mapping[str, Any],
    keys: Iterable[Any] = (),
    wishes: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Return the table that a chart draws.

    Parameters
    ----------
    given
        the table, in any form that holds columns; an evaluation; or a dict from names to either. Several tables are stacked,
        with their name in front, in the column `run`. Evaluations in a list are named by `names_beside`
    table
        the name of the table in messages
    method
        the method of an evaluation that computes the table
    needs
        the columns that the chart requires
    options, keys
        keyword arguments of the method, and the positional ones before them
    wishes
        options that are passed only to methods that accept them

    Raises
    ------
    ParameterError
        an option that the method does not have, or any option with a table
    InputError, ColumnError
        there are no tables; the value is not a table or an evaluation; columns are missing

    >>> table_of({"old": {"AP": [0.25]}, "new": {"AP": [0.5]}}, "slices", "by", ["AP"], {}).rows()
    [('old', 0.25), ('new', 0.5)]
    """
    several = _several(given, method)
    frames = [
        (name, _made(each, table, method, options, keys, wishes or {}))
        for name, each in ({"": given} if several is None else several).items()
    ]
    if not frames:
        raise InputError("there is nothing to draw", "the dict is empty", table=table)
    for _, frame in frames:
        if missing := [name for name in dict.fromkeys(needs) if name not in frame.columns]:
            remedy = nearest(missing[0], frame.columns) or _remedy(method)
            raise ColumnError(f"no column {', '.join(missing)}", remedy, table=table)
    return frames[0][1] if several is None else pl.concat([_named(*each) for each in frames], how="diagonal_relaxed")


def is_made(given: Any, method: str) -> bool:
    """Return True for an evaluation that has the method, or several of them.

    >>> is_made({"AP": [0.5]}, "by"), is_made("slices.parquet", "by")
    (False, False)
    """
    several = _several(given, method)
    return any(_maker(each, method) for each in ([given] if several is None else several.values()))


def _several(value: Any, method: str) -> Mapping[str, Any] | None:
    """Return the tables and evaluations that are drawn together, by name; None if only one is given."""
    if isinstance(value, Mapping):
        alone = (isinstance(each, (Mapping, pl.LazyFrame)) or hasattr(each, "columns") for each in value.values())
        return value if all(a or _maker(b, method) for a, b in zip(alone, value.values(), strict=True)) else None
    if isinstance(value, (list, tuple)) and value and all(_maker(each, method) for each in value):
        return dict(zip(names_beside(value), value, strict=True))
    return None


def _maker(value: Any, method: str) -> Callable[..., pl.DataFrame] | None:
    """Return the method, unless this is a table: a pandas frame may have a method or a column of that name."""
    method_of_value = None if _is_table(value) else getattr(value, method, None)
    return method_of_value if callable(method_of_value) else None


def _is_table(value: Any) -> bool:
    return isinstance(value, (Mapping, pl.LazyFrame)) or hasattr(value, "__arrow_c_stream__")


def _made(
    given: Any,
    table: str,
    method: str,
    options: Mapping[str, Any],
    keys: Iterable[Any],
    wishes: Mapping[str, Any],
) -> pl.DataFrame:
    make = _maker(given, method)
    if make is not None:
        parameters = [name for name, each in signature(make).parameters.items() if each.kind is not each.VAR_POSITIONAL]
        if unknown := [name for name in options if name not in parameters]:
            raise ParameterError(f"is not an option of {method}", did_you_mean(unknown[0], parameters), option=unknown[0])
        return make(*keys, **{**{name: value for name, value in wishes.items() if name in parameters}, **options})
    if not (_is_table(given) or isinstance(given, (str, list)) or hasattr(given, "__fspath__")):
        problem = f"has no {method}" if hasattr(given, "summary") else "is not an evaluation"
        raise InputError(f"{kind_of(given)} {problem}", _remedy(method), table=table)
    if options:
        problem = "is not an option of this chart"
        raise ParameterError(problem, f"with an evaluation, options of {method} can be given", option=next(iter(options)))
    return to_polars(given, table)


def _remedy(method: str) -> str:
    if method == "leaderboard":
        return "pass the result of scan_runs, or an evaluation of search runs"
    return f"pass an evaluation that has the method {method}, or the table that it returns"


def _named(name: str, table: pl.DataFrame) -> pl.DataFrame:
    run = pl.concat_str(pl.lit(name), RUN, separator=" · ") if RUN in table.columns else pl.lit(name)
    return table.select(run.alias(RUN), pl.exclude(RUN))

"""Validated values of runs, query by query: as matrices of queries and runs, with influence and draws of the queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from apframe.compare.resampling import Draws, check_counts, make_units
from apframe.compare.standard_errors import standard_errors
from apframe.exceptions import ColumnError, DuplicateIdError, ParameterError, RowError
from apframe.option_values import proper_share, whole_number
from apframe.rows import row_numbers
from apframe.wording import did_you_mean, listed


@dataclass(frozen=True)
class Resampling:
    """Options of resampling: number of draws (if any), confidence of intervals, and seed; invalid options raise errors."""

    n_resamples: int
    confidence: float
    seed: int
    is_drawn: bool = True

    def __post_init__(self) -> None:
        if self.is_drawn:
            check_counts(self.n_resamples, self.seed)
        whole_number("n_resamples", self.n_resamples)
        whole_number("seed", self.seed, 0)
        proper_share("confidence", self.confidence)


@dataclass(frozen=True)
class Values:
    """Validated values: the table (run, query_id, measure, value), and the draws of all queries if units or strata are named.

    `query_ids` are sorted; they are the rows that `draws` draws.
    """

    table: pl.DataFrame
    query_ids: pl.Series
    draws: Draws | None

    def draws_of(self, queries: pl.Series, options: Resampling) -> Draws:
        """Return the draws of some of the queries, sorted by id."""
        rows = self.query_ids.search_sorted(queries).to_numpy()
        unit, stratum = np.arange(len(rows)), None
        if self.draws is not None:
            units, unit = np.unique(self.draws.unit[rows], return_inverse=True)
            stratum = None if self.draws.stratum is None else self.draws.stratum[units]
        return Draws(unit.reshape(-1), stratum, options.n_resamples, options.seed)


def checked(per_query: pl.DataFrame, unit: str | None, within: str | None, has_runs: bool = True) -> Values:
    """Return the columns run (null without runs), query_id, measure, value, or raise an error about invalid ones."""
    columns = [*(["run"] if has_runs else []), "query_id", "measure", "value"]
    missing = [name for name in columns if name not in per_query.columns]
    if missing:
        raise ColumnError(
            f"no column {', '.join(missing)}", f"there are {', '.join(per_query.columns) or 'none'}", table="per_query"
        )
    keys = columns[:-1]
    for name in columns:
        dtype = per_query[name].dtype
        text = dtype in (pl.String, pl.Categorical, pl.Enum) and name != "value"
        number = dtype.is_integer() if name == "query_id" else name == "value" and dtype.is_numeric()
        if not (text or number or dtype == pl.Null):
            kind = {"query_id": "strings or integers", "value": "numbers"}.get(name, "strings")
            raise ColumnError(f"{kind} expected, got {dtype}", table="per_query", column=name)
    names = [name for name in keys if not per_query[name].dtype.is_integer()]
    table = per_query.select(columns).with_columns(pl.col(names).cast(pl.String), pl.col("value").cast(pl.Float64))
    nameless = table.select(pl.any_horizontal(pl.col(keys).is_null())).to_series()
    endless = ~table["value"].is_finite().fill_null(True)
    doubled = table.select(keys).is_duplicated()
    listing = ", ".join(keys)
    for error, broken, problem, remedy in (
        (RowError, nameless, f"{listing} are not all given", "give them, or remove the rows"),
        (RowError, endless, "value is not a finite number", "write null where it is undefined"),
        (DuplicateIdError, doubled, f"{listing} are not unique", "keep one value of each"),
    ):
        if broken.any():
            raise error("per_query", problem, "row", row_numbers(broken), remedy)
    table = table if has_runs else table.with_columns(run=pl.lit(None, dtype=pl.String))
    return Values(table, table["query_id"].unique().sort(), _draws(per_query, table["query_id"], unit, within))


def _draws(per_query: pl.DataFrame, query_id: pl.Series, unit: str | None, within: str | None) -> Draws | None:
    """Return the units and strata of all queries by id, from columns with one value for each query."""
    named = [name for name in (unit, within) if name is not None]
    if not named:
        return None
    for option, name in (("unit", unit), ("within", within)):
        if name is not None and name not in per_query.columns:
            raise ParameterError(f"per_query has no column {name!r}", did_you_mean(name, per_query.columns), option=option)
    queries = pl.DataFrame([query_id, *(per_query[name] for name in dict.fromkeys(named) if name != "query_id")]).unique()
    several = queries.filter(queries["query_id"].is_duplicated())["query_id"].unique().sort()
    if len(several):
        ids = listed(several.to_list(), 3)
        raise ParameterError(
            f"{listed([*dict.fromkeys(named)])} must have one value for each query; query {ids} has several",
            option="unit" if unit is not None else "within",
        )
    return Draws(*make_units(queries.sort("query_id"), unit, within, "queries"), n_resamples=1, seed=0)


def matrices(table: pl.DataFrame, runs: list[str | None]) -> Iterator[tuple[str, pl.Series, np.ndarray]]:
    """Yield each measure with its queries by id, and its values, queries × runs (as listed), NaN if undefined."""
    column = pl.DataFrame({"run": pl.Series(runs, dtype=pl.String), "column": np.arange(len(runs))})
    placed = table.join(column, on="run", maintain_order="left", nulls_equal=True)
    for (measure,), rows in placed.group_by("measure", maintain_order=True):
        query = rows["query_id"].rank("dense").to_numpy().astype(np.int64) - 1
        values = np.full((query.max() + 1, len(runs)), np.nan)
        values[query, rows["column"].to_numpy()] = rows["value"].to_numpy()
        yield str(measure), rows["query_id"].unique().sort(), values


def complete(values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield groups of columns that have values in the same rows, with these rows; columns without values are in no group."""
    patterns, group = np.unique(np.isfinite(values), axis=1, return_inverse=True)
    return ((np.flatnonzero(group == k), np.flatnonzero(rows)) for k, rows in enumerate(patterns.T) if rows.any())


@dataclass(frozen=True)
class UnitInfluence:
    """Contributions of each unit to some numbers, and their standard errors.

    Attributes
    ----------
    of_units
        of shape (numbers, units); 0 for units without a value
    n_units
        the number of units of each number
    se
        the standard error of each number, NaN with fewer than two units
    """

    of_units: np.ndarray
    n_units: np.ndarray
    se: np.ndarray


def influence_on_means(values: np.ndarray, draws: Draws) -> UnitInfluence:
    """Return the influence of each unit on the mean of each column: for a row with a value, `(value - mean) / n`.

    >>> influence = influence_on_means(np.array([[0.0, 0.5], [1.0, np.nan]]), Draws(np.arange(2), None, n_resamples=1, seed=0))
    >>> influence.of_units.tolist(), influence.n_units.tolist(), influence.se.tolist()
    ([[-0.25, 0.25], [0.0, 0.0]], [2, 1], [0.5, nan])
    """
    has_value = np.isfinite(values)
    n = np.maximum(has_value.sum(axis=0), 1)
    mean = np.where(has_value, values, 0).sum(axis=0) / n
    of_units, n_units = draws.sums((np.where(has_value, values - mean, 0) / n).T), draws.counts(has_value.T)
    return UnitInfluence(of_units, n_units.sum(axis=1), standard_errors(of_units, n_units, draws.stratum))


def resampled_means(values: np.ndarray, draws: Draws) -> np.ndarray:
    """Return the mean of each column in each draw of the rows, of shape (columns, resamples), over the rows with a value.

    NaN is a missing value, and the mean of a draw without values. All means are NaN if there are fewer than two units.

    >>> draws = Draws(np.arange(2), None, n_resamples=4, seed=0)
    >>> resampled_means(np.array([[0.0, 0.5], [1.0, np.nan]]), draws).tolist()
    [[0.5, 0.5, 1.0, 1.0], [0.5, 0.5, nan, nan]]
    """
    n_rows, n_columns = values.shape
    if draws.n_units < 2 or not n_rows:
        return np.full((n_columns, draws.n_resamples), np.nan)
    has_value = np.isfinite(values)
    means = []
    for counts in draws.blocks(draws.n_resamples):
        weights = counts.sum(axis=0) if has_value.all() else has_value.astype(np.float64).T @ counts
        with np.errstate(invalid="ignore"):
            means.append(np.where(has_value, values, 0).T @ counts / weights)
    return np.concatenate(means, axis=1)

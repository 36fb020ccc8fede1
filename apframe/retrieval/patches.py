"""Local patch descriptors: verification, matching and retrieval, as HPatches evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError, ParameterError, ScoreError
from apframe.lists.expressions import average_precision
from apframe.lists.list_curves import key_names
from apframe.metrics.points import Definition
from apframe.option_values import one_of
from apframe.rows import row_numbers
from apframe.tables.column_sources import to_polars
from apframe.wording import listed

_TASKS = ("verification", "matching", "retrieval")


def evaluate_patches(
    distances: Any, task: str, *, by: str | Sequence[str] = (), definition: str | Definition = "trapezoid"
) -> pl.DataFrame:
    """Compute the average precision of distances between patches, for each list that a task ranks.

    - "verification": rows are pairs of patches. All pairs of a group are one list; R is the number of relevant pairs.
    - "matching": rows are a patch of one image and a candidate of the other. Each query patch is matched with its nearest
      candidate, and these matches are one list for each group. R is the number of query patches: one whose nearest candidate
      is wrong counts against recall.
    - "retrieval": rows are a query patch and a patch of its pool. Each query patch has a list of its own.

    Source: Balntas et al. 2017 (HPatches) and the benchmark's code. Its Python code uses trapezoids from recall 0 and
    precision 1, the default here; the paper's formula is "step".

    Parameters
    ----------
    distances
        distance (null means not retrieved), relevant (a flag, or a number above 0), the columns of `by`, and query_id for
        matching and retrieval. Other columns are not used; leave out pairs to be ignored.
    task
        "verification", "matching" or "retrieval"
    by
        columns that separate lists, such as the image pair, the noise level, the kind of negatives
    definition
        see `apframe.list_definitions()`

    Returns
    -------
    One row per list, in order of first occurrence: the columns of `by`, for retrieval query_id, ap (null if R is 0),
    n_positives (R) and n_items (the length of the list). Equal distances stay in the order of the rows, for matching in that of
    the query patches; of equally near candidates the first one counts. The benchmark's numbers are means over lists.

    Raises
    ------
    ColumnError
        a column is missing, or distances are not numbers
    ScoreError
        a distance or relevance is NaN; the message has the rows
    ParameterError
        an unknown task or definition; similar names are suggested

    >>> pairs = {
    ...     "query_id": [1, 1, 2, 2], "candidate": [1, 2, 1, 2],
    ...     "relevant": [1, 0, 0, 1], "distance": [0.3, 0.5, 0.1, 0.2],
    ... }
    >>> evaluate_patches(pairs, "matching").rows()  # the match of patch 2 is wrong, and the nearest
    [(0.125, 2, 2)]
    >>> evaluate_patches(pairs, "retrieval")["ap"].to_list()
    [1.0, 0.25]
    """
    one_of("task", task, _TASKS)
    keys = key_names(by)
    queries = list(dict.fromkeys([*keys, "query_id"]))
    lists = queries if task == "retrieval" else keys
    reserved_names = sorted({"ap", "n_positives", "n_items"} & set(lists))
    if reserved_names:
        raise ParameterError(f"{', '.join(reserved_names)} is already a column of the result", "rename the key", option="by")
    frame = _checked(to_polars(distances, "distances"), keys if task == "verification" else queries)
    if task == "matching":
        nearest = pl.col("relevant", "distance").sort_by("distance", nulls_last=True, maintain_order=True).first()
        frame = frame.group_by(map(exact, queries), maintain_order=True).agg(nearest)
    relevant = pl.col("relevant")
    n_positives = pl.len() if task == "matching" else (relevant > 0).sum()
    values = {
        "ap": average_precision(relevant, -pl.col("distance"), n_positives=n_positives, definition=definition),
        "n_positives": n_positives.cast(pl.Int64),
        "n_items": pl.col("distance").count().cast(pl.Int64),
    }
    return frame.group_by(map(exact, lists), maintain_order=True).agg(**values) if lists else frame.select(**values)


def _checked(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Return the table with distances and relevance as numbers, and reject NaN."""
    missing = [name for name in [*keys, "distance", "relevant"] if name not in frame.columns]
    if missing:
        raise ColumnError(
            f"no column {', '.join(missing)}", f"there are {', '.join(frame.columns) or 'none'}", table="distances"
        )
    for name, kinds in (("distance", "numbers"), ("relevant", "flags or numbers")):
        dtype = frame[name].dtype
        if not (dtype.is_numeric() or dtype == pl.Null or (dtype == pl.Boolean and name == "relevant")):
            raise ColumnError(f"{kinds} are needed, not {dtype}", table="distances", column=name)
        frame = frame.with_columns(pl.col(name).cast(pl.Float64))
        if frame[name].is_nan().any():
            rows = listed(row_numbers(frame[name].is_nan()))
            raise ScoreError(f"{name} is NaN in row {rows}, counted from 1", "correct or remove them", table="distances")
    return frame

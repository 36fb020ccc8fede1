"""Average precision in SQL, with the numbers of the Polars expression of that name (`apframe.lists.average_precision`).

`average_precision(relevant, score, n_positives)` is an aggregate for GROUP BY, with the arguments of the expression:

- `relevant` is a flag or a grade, which is positive if above 0; null is not relevant.
- `score` is any sortable value, highest first: a number, `-rank`, `row(score, document_id)`. Null means not retrieved.
- `n_positives` is the number of all positives, the same in all rows of a group. Null or 0 gives null.
- `definition := 'coco101'` names one of `SQL_DEFINITIONS`; 'step' is the default.
- `then_by := detection_id` orders equal scores, ascending. A group in SQL has no order of its own, so without it, or if it
  is equal too, positives come last: ties="worst" of the expression.
- NaN, fewer n_positives than positives, and different n_positives in a group are errors.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from apframe.metrics.definitions import IN_SQL

SQL_DEFINITIONS = [definition.name for definition in IN_SQL]


@cache
def average_precision_macro() -> str:
    """Return the statement that creates the aggregate: `average_precision.sql` with `apframe.metrics.definitions`.

    >>> import duckdb
    >>> with duckdb.connect() as connection:
    ...     _ = connection.execute(average_precision_macro())
    ...     items = "(VALUES (1, 0.9), (0, 0.8), (1, 0.7)) AS items(is_hit, score)"
    ...     connection.sql(f"SELECT average_precision(is_hit, score, 2) FROM {items}").fetchall()
    [(0.8333333333333333,)]
    """
    names = ", ".join(f"'{name}'" for name in SQL_DEFINITIONS)
    cases = "\n".join(f"WHEN '{definition.name}' THEN {definition.reached_in_sql()}" for definition in IN_SQL)
    statement = resources.files("apframe.store").joinpath("average_precision.sql").read_text(encoding="utf-8")
    return statement.replace("/* NAMES */", names).replace("/* CASES */", cases)

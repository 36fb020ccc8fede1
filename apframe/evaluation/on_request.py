"""Tables of an evaluation that are computed only when SQL or a caller names them, each at the lowest threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from apframe.evaluation.comparison.headline_intervals import influence_table, intervals_table
from apframe.evaluation.diagnose.calibration import calibration_table, reliability_table
from apframe.evaluation.diagnose.confusion import confusion_table
from apframe.evaluation.diagnose.error_rates import froc, lrp, miss_rates
from apframe.evaluation.diagnose.errors import stored_or_computed
from apframe.evaluation.diagnose.label_errors import label_errors_table
from apframe.exceptions import ParameterError
from apframe.wording import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from apframe.evaluation.evaluation import Evaluation

ON_REQUEST: dict[str, Callable[[Evaluation], pl.DataFrame]] = {
    "confusion": confusion_table,
    "lrp": lambda self: lrp(self).drop("name"),
    "miss_rates": lambda self: miss_rates(self).drop("name"),
    "froc": lambda self: froc(self).drop("name"),
    "calibration": calibration_table,
    "reliability": reliability_table,
    "errors": partial(stored_or_computed, name="errors"),
    "error_impact": partial(stored_or_computed, name="error_impact"),
    "label_errors": label_errors_table,
    "intervals": intervals_table,
    "influence": influence_table,
}
"""The function that computes each table. `apframe.tables.result_tables.RESULTS` lists its columns.

To add a table, add a line here and one to `RESULTS`. If a table has no rows for an evaluation, as with pooled categories, it
must be empty instead of failing.
"""
OF_SCORES = (
    "curves", "thresholds", "lrp", "miss_rates", "froc", "calibration", "reliability", "errors", "error_impact", "label_errors",
)  # fmt: skip
"""The tables that are empty if a protocol does not rank detections by score, including those of every threshold."""


def chosen_tables(tables: Any) -> list[str]:
    """Return the names from the argument `tables`, each once, in the order of `ON_REQUEST`.

    Raises
    ------
    ParameterError
        a name is not a table that is computed on request

    >>> chosen_tables([])
    []
    """
    names = [tables] if isinstance(tables, str) else list(tables) if isinstance(tables, Iterable) else [tables]
    for name in names:
        if name not in list(ON_REQUEST):
            raise ParameterError(f"no table {name!r} to add", did_you_mean(str(name), list(ON_REQUEST)), option="tables")
    return [name for name in ON_REQUEST if name in names]

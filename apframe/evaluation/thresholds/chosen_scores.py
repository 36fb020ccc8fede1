"""Tables of score thresholds, one per category, that were chosen on other data: validation against an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.thresholds.min_scores import cut_scores
from apframe.evaluation.thresholds.operating_points import Criterion
from apframe.exceptions import ColumnError, InputError, MissingThresholdWarning, ParameterError, warn
from apframe.lists.list_curves import refuse_missing
from apframe.tables.column_sources import to_polars
from apframe.tables.ids import different_id_types
from apframe.wording import counted, listed

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

_TABLE = "thresholds"


def read_thresholds(self: Evaluation, thresholds: Any) -> pl.DataFrame:
    """Return the score threshold of every evaluated category.

    Parameters
    ----------
    thresholds
        a table from `operating_points`, or any frame or file with category_id and score_threshold, in which one row without a
        category_id applies to all; or a number, or a dict with a number for each category by name or id

    Returns
    -------
    category_id, name and score_threshold, in the order of the ids; one row without an id if the categories are pooled. Null
    means that no detection counts, with a warning. Further columns of the table are dropped.

    Raises
    ------
    ParameterError, ColumnError, InputError
        a criterion instead of thresholds, columns that are missing or not numbers, other categories than the evaluated ones
    """
    names = self.dataset.core("categories").select("category_id", "name")
    categories = self._pipeline.outline.lists.select("category_id").join(
        names, on="category_id", how="left", maintain_order="left"
    )
    if isinstance(thresholds, str) and _is_criterion(thresholds):
        raise ParameterError(
            f"{thresholds!r} is a criterion, not a table of thresholds",
            f"choose them on other data: other.operating_points({thresholds!r})",
            option=_TABLE,
        )
    if isinstance(thresholds, (bool, int, float)):
        scores = cut_scores(self, thresholds, 0, 0, _TABLE)["min_score"].head(1)
        return categories.with_columns(score_threshold=pl.lit(scores.item() if len(scores) else None, pl.Float64))
    if isinstance(thresholds, Mapping) and not {"category_id", "score_threshold"} & set(thresholds):
        _refuse_pooled(self, "a number for each category")
        return categories.join(
            cut_scores(self, thresholds, 0, 0, _TABLE).rename({"min_score": "score_threshold"}), on="category_id"
        )
    table = _checked(to_polars(thresholds, _TABLE), may_be_empty=categories.is_empty())
    if table.height == 1 and table["category_id"].null_count():
        chosen = categories.with_columns(score_threshold=pl.lit(table["score_threshold"].item(), pl.Float64))
    else:
        _refuse_pooled(self, "a row for each category")
        chosen = _joined(categories, table)
    _warn_of_missing(chosen)
    return chosen


def place_of(thresholds: Any, column: str) -> Any:
    """Return the IoU threshold or area range at which a table of thresholds was chosen; None if it has no such column."""
    if isinstance(thresholds, (bool, int, float)) or (isinstance(thresholds, Mapping) and column not in thresholds):
        return None
    table = to_polars(thresholds, _TABLE)
    if column not in table.columns or table.is_empty():
        return None
    values = table[column].unique()
    if len(values) > 1:
        raise InputError(f"has {len(values)} values of {column}", "filter them to one", table=_TABLE)
    return values.item()


def _is_criterion(text: str) -> bool:
    try:
        Criterion.of(text)
    except ParameterError:
        return text == "best_f1"
    return True


def _refuse_pooled(self: Evaluation, what: str) -> None:
    if self._pipeline.outline.is_pooled:
        raise ParameterError(
            f"{what} is given, but the categories are pooled",
            "give one number, or choose with operating_points(..., per_category=False)",
            option=_TABLE,
        )


def _checked(table: pl.DataFrame, *, may_be_empty: bool) -> pl.DataFrame:
    """Validate the table, and return it with thresholds as numbers; one row per category."""
    refuse_missing(_TABLE, table, ["category_id", "score_threshold"])
    score = table["score_threshold"]
    if not (score.dtype.is_numeric() or score.dtype == pl.Null):
        raise ColumnError(f"numbers are needed, not {score.dtype}", table=_TABLE, column="score_threshold")
    table = table.with_columns(score.cast(pl.Float64))
    if table["score_threshold"].is_nan().any():
        raise InputError("NaN is no score", "use null if no detection counts", table=_TABLE, column="score_threshold")
    if table.is_empty() and not may_be_empty:
        raise InputError("has no rows", "give one for each category", table=_TABLE)
    ids = table["category_id"]
    if ids.null_count() and table.height > 1:
        raise InputError("a row without a category_id applies to all categories", "give only this row", table=_TABLE)
    if ids.is_duplicated().any():
        twice = ids.filter(ids.is_duplicated()).unique().sort().to_list()
        raise InputError(f"several thresholds for category {listed(twice)}", "give one for each", table=_TABLE)
    return table


def _joined(categories: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Return the thresholds in the order of the categories, which must be the same ones, with the same names."""
    theirs, mine = table["category_id"].dtype, categories["category_id"].dtype
    if theirs.is_integer() and mine.is_integer():
        table = table.with_columns(pl.col("category_id").cast(mine))
    elif theirs != mine:
        types: dict[bool, Any] = {True: pl.Int64(), False: pl.String()}
        raise different_id_types(_TABLE, "category_id", types[theirs.is_integer()], "those evaluated", types[mine.is_integer()])
    unknown = table.join(categories, on="category_id", how="anti", maintain_order="left")
    missing = categories.join(table, on="category_id", how="anti", maintain_order="left")
    if unknown.height or missing.height:
        parts = [f"no row for category {listed(_called(missing))}"] if missing.height else []
        parts += [f"category {listed(_called(unknown))} is not evaluated"] if unknown.height else []
        raise InputError(
            "; ".join(parts), "choose the thresholds with the same categories, such as categories=[...]", table=_TABLE
        )
    if "name" in table.columns:
        both = categories.join(table.select("category_id", theirs=pl.col("name").cast(pl.String)), on="category_id")
        other = both.filter(pl.col("name") != pl.col("theirs"))
        if other.height:
            row = other.row(0, named=True)
            raise InputError(
                f"category {row['category_id']!r} is {row['theirs']!r} there, and {row['name']!r} in the evaluation",
                "use the ids of one data set for both",
                table=_TABLE,
            )
    return categories.join(table.select("category_id", "score_threshold"), on="category_id", how="left", maintain_order="left")


def _called(rows: pl.DataFrame) -> list[Any]:
    """Return the categories' names, or otherwise their ids."""
    names = rows["name"].to_list() if "name" in rows.columns else [None] * rows.height
    return [key if name is None else name for key, name in zip(rows["category_id"].to_list(), names, strict=True)]


def _warn_of_missing(chosen: pl.DataFrame) -> None:
    without = chosen.filter(pl.col("score_threshold").is_null())
    if without.height:
        which = "any category" if chosen["category_id"].null_count() else listed(_called(without))
        verb = "is" if without.height == 1 else "are"
        warn(
            f"{without.height:,} of {counted(chosen.height, 'score threshold')} {verb} null: no detection of {which} counts; "
            "give a number, such as 0, to keep them",
            MissingThresholdWarning,
        )

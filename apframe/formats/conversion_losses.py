"""Losses when a data set or results are written in a format that cannot hold all of their data."""

from __future__ import annotations

import polars as pl

from apframe.formats.format import Format
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import GROUND_TRUTH, ID, KEYS, TABLES
from apframe.tables.shapes.corners import is_turned

_IDS = ("annotation_id", "detection_id")
_FATES = {
    "area": "replaced by that of the box",
    "is_crowd": "left out: crowds become ordinary objects",
    "ignore": "left out: these objects count then",
    **dict.fromkeys(_IDS, "numbered anew, from 1"),
}  # what happens to columns that a format does not hold; others are left out


def losses(format_: Format, before: dict[str, pl.DataFrame], after: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """List everything that is lost in writing: `table`, `column` (null: the whole row), `n_rows` and `what` happens to it.

    Parameters
    ----------
    before, after
        canonical tables: the original ones, and those with boxes and ids as in the format
    """
    rows: list[tuple[str, str | None, int, str]] = []
    for table, frame in after.items():
        holds = format_.holds.get(table, ())
        canonical_names = {column.name for column in TABLES[table]}
        for name in frame.columns:
            if name in KEYS.values():
                if table == "annotations":  # changes with the two tables that it refers to
                    continue
                old, new = before[table][name], frame[name]
                what = "becomes a name" if new.dtype == pl.String else "becomes a number"
                n_changed = int((old.cast(pl.String) != new.cast(pl.String)).sum())
                rows.append((table, name, n_changed, "numbered anew" if old.dtype == new.dtype == ID else what))
            elif name == "angle" and "x" in holds and name not in holds:
                fate = "becomes corners" if "corners" in holds else "left out"
                n_turned = int(is_turned(before[table]).sum())
                rows.append((table, name, n_turned, f"{fate}; the box is the upright one around the shape"))
            elif name not in holds and ("*" not in holds or name in canonical_names):
                rows.append((table, name, int(_has_information(table, frame, name).sum()), _FATES.get(name, "left out")))
        rows += [(table, name, int(flags.sum()), what) for name, flags, what in format_.further_losses(table, frame)]
    if "annotations" in after:
        for table, is_held in (("images", format_.empty_images), ("categories", format_.unused_categories)):
            used = after["annotations"][KEYS[table]]
            if not is_held:
                n_unused = int((~is_known(after[table][KEYS[table]], used.unique())).sum())
                rows.append((table, None, n_unused, "without annotations: left out"))
    schema = {"table": pl.String, "column": pl.String, "n_rows": pl.Int64, "what": pl.String}
    return pl.DataFrame([row for row in rows if row[2]], schema=schema, orient="row")


def tables_of(dataset: Dataset) -> dict[str, pl.DataFrame]:
    """Return the tables of a data set, by name."""
    return {name: getattr(dataset, name) for name in GROUND_TRUTH}


def _has_information(table: str, frame: pl.DataFrame, name: str) -> pl.Series:
    """Flag the rows with a value that differs from the default."""
    values = frame[name].alias("value")
    if name in _IDS:
        return values.cast(pl.String) != pl.int_range(1, frame.height + 1, eager=True).cast(pl.String)
    if name == "area" and "width" in frame.columns:
        return (values != frame["width"] * frame["height"]).fill_null(True) & values.is_not_null()
    if name == "name" and table == "categories":
        return (values != frame["category_id"].cast(pl.String)).fill_null(False)
    if values.dtype == pl.Boolean and name in ("is_crowd", "ignore"):
        return values.fill_null(False)
    if isinstance(values.dtype, pl.List):
        return values.list.len().fill_null(0) > 0
    return values.is_not_null()

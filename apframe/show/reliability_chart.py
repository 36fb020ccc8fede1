"""The chart of reliability: whether detections of a score are right as often as it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError
from apframe.lists.list_curves import Keys, key_names, refuse_missing
from apframe.show.charts import (
    DARK_GREY,
    MOST_ROWS,
    PALETTE,
    add_names,
    head_chart,
    load_altair,
    refuse_alike,
    shared_conditions,
    telling_columns,
)
from apframe.tables.sources import to_polars

if TYPE_CHECKING:
    import altair as alt

_COLUMNS = ["bin", "score_from", "score_to", "n", "mean_score", "mean_target", "gap", "low", "high"]
_MOST, _A_ROW = 12, 3  # panels in one chart, and beside each other


def plot_reliability(reliability: Any, by: Keys | None = None, *, width: int = 260, height: int = 220) -> alt.ConcatChart:
    """Draw how often detections of each score are right, with the counts below: a panel for each model, side by side.

    Bars are the share of detections that are right (or their mean similarity), from zero; points are at the mean score of the
    bin, with Wilson's 95 % interval. Honest scores lie on the dashed diagonal; bars below it are scores that are too high. The
    title of a panel has its expected calibration error (ece) and how many detections count.

    Parameters
    ----------
    reliability
        from `Evaluation.reliability`; or several such tables, as a dict from names to tables
    by
        the columns that distinguish the panels; when left out, those before `bin` that have more than one value (`name` stands
        for `category_id` too)
    width, height
        of each panel in pixels; the strip of counts adds a quarter of the height

    Raises
    ------
    ParameterError
        Altair is not installed; `by` does not distinguish the panels
    InputError, ColumnError
        there is nothing to draw, or more than 12 panels; columns are missing

    >>> table = {"bin": [1, 2], "score_from": [0.0, 0.5], "score_to": [0.5, 1.0], "n": [9, 4], "mean_score": [0.2, 0.8],
    ...          "mean_target": [0.3, 0.9], "gap": [0.1, 0.1], "low": [0.1, 0.5], "high": [0.6, 1.0]}
    >>> chart = plot_reliability(pl.DataFrame(table))  # doctest: +SKIP
    """
    alt, table = load_altair(), _stacked(reliability)
    refuse_missing("reliability", table, [*_COLUMNS, *key_names(by or [])])
    keys = key_names(by) if by is not None else telling_columns(table, table.columns[: table.columns.index("bin")])
    rows = table.select(add_names(table, keys).alias("panel"), *_COLUMNS)
    if not rows["n"].sum():
        raise InputError("there is nothing to draw", "no detection counts", table="reliability")
    refuse_alike(rows.select("panel", "bin"), keys, "the panels: the same bin appears more than once")
    names = rows["panel"].unique(maintain_order=True).to_list()
    if len(names) > _MOST or rows.height > MOST_ROWS:
        too_many = f"{len(names):,} panels are" if len(names) > _MOST else f"{rows.height:,} bins are"
        raise InputError(f"{too_many} too many for one chart", "filter them", table="reliability")
    what = "Mean similarity" if "target" in table.columns and set(table["target"]) == {"similarity"} else "Share that is right"
    panels = [_panel(alt, name, rows.filter(pl.col("panel") == name), what, width, height) for name in names]
    heading = head_chart(alt, "Calibration", _conditions(table))
    return alt.concat(*panels, columns=_A_ROW, spacing=28).properties(title=heading)


def _stacked(reliability: Any) -> pl.DataFrame:
    """One table; those of a dict one below the other, with their names as the column `model` in front."""
    if not isinstance(reliability, Mapping) or "bin" in reliability:
        return to_polars(reliability, "reliability")
    tables = {str(name): to_polars(table, "reliability") for name, table in reliability.items()}
    if not tables:
        raise InputError("there is nothing to draw", "the dict has no tables", table="reliability")
    named = [table.select(pl.lit(name).alias("model"), pl.all()) for name, table in tables.items()]
    return pl.concat(named, how="diagonal_relaxed")


def _panel(alt: Any, name: str, rows: pl.DataFrame, what: str, width: int, height: int) -> Any:
    n = pl.col("n").sum()
    count, error = rows.select(n, ece=(pl.col("n") * pl.col("gap").abs()).sum() / n).row(0)
    said = f"ece {error:.3f}, n {count:,}" if count else "no detections"
    scale, ticks = alt.Scale(domain=[0, 1], nice=False), [tick / 5 for tick in range(6)]
    axis = alt.Axis(values=ticks, format=".1f", gridColor="#eeeeee")
    found = rows.filter(pl.col("n") > 0)
    tooltip = [
        alt.Tooltip("score_from:Q", title="score from", format=".4g"), alt.Tooltip("score_to:Q", title="to", format=".4g"),
        alt.Tooltip("n:Q", title="detections", format=","), alt.Tooltip("mean_score:Q", title="mean score", format=".4f"),
        alt.Tooltip("mean_target:Q", title=what.lower(), format=".4f"), alt.Tooltip("gap:Q", format="+.4f"),
        alt.Tooltip("low:Q", format=".4f"), alt.Tooltip("high:Q", format=".4f"),
    ]  # fmt: skip
    y = alt.Y("mean_target:Q", title=what, scale=scale, axis=axis)
    x = alt.X("score_from:Q", title=None, scale=scale, axis=alt.Axis(values=ticks, labels=False, gridColor="#eeeeee"))
    bars = alt.Chart(found).mark_rect(color=PALETTE[0], fillOpacity=0.3, stroke=PALETTE[0], strokeWidth=0.5).encode(
        x, y, x2="score_to:Q", y2=alt.datum(0), tooltip=tooltip
    )  # fmt: skip
    ends = pl.DataFrame({"mean_score": [0.0, 1.0], "mean_target": [0.0, 1.0]})
    at_mean = alt.X("mean_score:Q", title=None, scale=scale, axis=None)
    diagonal = alt.Chart(ends).mark_line(color=DARK_GREY, strokeDash=[6, 4], strokeWidth=1).encode(at_mean, y)
    rules = alt.Chart(found.filter(pl.col("low").is_not_null())).mark_rule(color=PALETTE[0], strokeWidth=1.5).encode(
        at_mean, alt.Y("low:Q", title=what, scale=scale, axis=axis), y2="high:Q"
    )  # fmt: skip
    points = alt.Chart(found).mark_point(color=PALETTE[0], filled=True, size=36, opacity=1).encode(at_mean, y, tooltip=tooltip)
    upper = alt.layer(bars, diagonal, rules, points).properties(width=width, height=height)
    counts = alt.Chart(found).mark_rect(color=DARK_GREY, fillOpacity=0.5).encode(
        alt.X("score_from:Q", title="Score", scale=scale, axis=axis), x2="score_to:Q",
        y=alt.Y("n:Q", title="Detections", axis=alt.Axis(tickCount=2, gridColor="#eeeeee", format="~s")), y2=alt.datum(0),
        tooltip=tooltip,
    )  # fmt: skip
    lower = counts.properties(width=width, height=round(height / 4))
    title = alt.Title(name or said, subtitle=[said] if name else [], anchor="start")
    return alt.vconcat(upper, lower, spacing=6).properties(title=title)


def _conditions(table: pl.DataFrame) -> list[str]:
    """The IoU threshold, the area range and the lowest score, where all rows have the same."""
    said = shared_conditions(table)
    if "min_score" in table.columns and table["min_score"].n_unique() == 1 and table["min_score"][0] > 0:
        said = [", ".join([*said, f"scores from {table['min_score'][0]:g}"])]
    return said

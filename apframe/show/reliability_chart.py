"""The reliability diagram: how often detections are right, by their score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError
from apframe.lists.list_curves import Keys
from apframe.show.chart_tables import table_of
from apframe.show.charts import (
    MOST_ROWS,
    TITLES,
    add_names,
    chosen_keys,
    head_chart,
    keys_before,
    load_altair,
    rate_channel,
    refuse_alike,
    shared_conditions,
)
from apframe.show.colours import GRID, INK, PALETTE, SOFT

if TYPE_CHECKING:
    import altair as alt

_COLUMNS = ["bin", "score_from", "score_to", "n", "mean_score", "mean_target", "gap", "low", "high"]
_MOST, _A_ROW = 12, 3  # panels in one chart, and beside each other


def reliability(
    reliability: Any, by: Keys | None = None, *, width: int = 260, height: int = 220, **options: Any
) -> alt.ConcatChart:
    """Draw how often detections of each score are right, with the counts below: a panel for each model, side by side.

    Bars are the share of detections that are right (or their mean similarity), from zero; Wilson's 95 % interval is at the mean
    score of the bin. Bars of calibrated scores reach the dashed diagonal; lower ones are scores that are too high. The title of
    a panel has its expected calibration error (ece) and the number of detections that count.

    Parameters
    ----------
    reliability
        an evaluation, or a list or a dict of several; or a table from `Evaluation.reliability`, or a dict from names to tables
    by
        the columns that distinguish the panels; when left out, those before `bin` that have more than one value, or else `name`
    width, height
        the size of each panel in pixels; the strip of counts adds a quarter of the height
    options
        options of `Evaluation.reliability`, such as `n_bins` or `level="category"`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; `by` does not distinguish the panels; an unknown option
    InputError, ColumnError
        there is nothing to draw, or more than 12 panels; columns are missing

    >>> import apframe as apf
    >>> table = {"bin": [1, 2], "score_from": [0.0, 0.5], "score_to": [0.5, 1.0], "n": [9, 4], "mean_score": [0.2, 0.8],
    ...          "mean_target": [0.3, 0.9], "gap": [0.1, 0.1], "low": [0.1, 0.5], "high": [0.6, 1.0]}
    >>> chart = apf.plot.reliability(pl.DataFrame(table))
    """
    alt, table = load_altair(), table_of(reliability, "reliability", "reliability", _COLUMNS, options)
    keys = keys_before(table, "bin") if by is None else chosen_keys(reliability, "reliability", table, by)
    rows = table.select(add_names(table, keys).alias("panel"), *_COLUMNS)
    if not rows["n"].sum():
        raise InputError("there is nothing to draw", "no detection counts", table="reliability")
    refuse_alike(rows.select("panel", "bin"), keys, "the panels: the same bin appears more than once")
    names = rows["panel"].unique(maintain_order=True).to_list()
    if len(names) > _MOST or rows.height > MOST_ROWS:
        too_many = f"{len(names):,} panels are" if len(names) > _MOST else f"{rows.height:,} bins are"
        raise InputError(f"{too_many} too many for one chart", "filter them", table="reliability")
    of_similarity = "target" in table.columns and set(table["target"]) == {"similarity"}
    what = "mean similarity" if of_similarity else TITLES["mean_target"]
    panels = [
        _panel(alt, (name, PALETTE[k % len(PALETTE)]), rows.filter(pl.col("panel") == name), what, width, height)
        for k, name in enumerate(names)
    ]
    heading = head_chart(alt, "Calibration", _conditions(table))
    return alt.concat(*panels, columns=_A_ROW, spacing=28).properties(title=heading)


def reliability_marks(bins: pl.DataFrame) -> pl.DataFrame:
    """Return the bars of one model: its bins with detections.

    Columns: score_from and score_to (the sides of a bar), mean_target (its height), mean_score (where its interval is), low and
    high (null without an interval), n, gap.

    >>> bins = {"score_from": [0.0, 0.5], "score_to": [0.5, 1.0], "n": [0, 4], "mean_score": [None, 0.75],
    ...         "mean_target": [None, 0.5], "gap": [None, -0.25], "low": [None, 0.2], "high": [None, 0.8]}
    >>> reliability_marks(pl.DataFrame(bins)).row(0)
    (0.5, 1.0, 0.5, 0.75, 0.2, 0.8, 4, -0.25)
    """
    columns = ["score_from", "score_to", "mean_target", "mean_score", "low", "high"]
    return bins.filter(pl.col("n") > 0).select(pl.col(columns).cast(pl.Float64), "n", "gap")


def _panel(alt: Any, named: tuple[str, str], rows: pl.DataFrame, what: str, width: int, height: int) -> Any:
    name, colour = named
    n = pl.col("n").sum()
    count, error = rows.select(n, ece=(pl.col("n") * pl.col("gap").abs()).sum() / n).row(0)
    summary = f"ece {error:.3f}, n {count:,}" if count else "no detections"
    marks = reliability_marks(rows)
    shown = {
        "score_from": ("score from", ".4g"), "score_to": ("to", ".4g"), "n": ("detections", ","),
        "mean_score": ("mean score", ".4f"), "mean_target": (what, ".4f"), "gap": ("gap", "+.4f"), "low": ("low", ".4f"),
        "high": ("high", ".4f"),
    }  # fmt: skip
    tooltip = [alt.Tooltip(f"{column}:Q", title=title, format=digits) for column, (title, digits) in shown.items()]
    y, at_mean = rate_channel(alt, alt.Y, "mean_target", what), rate_channel(alt, alt.X, "mean_score", None)
    bars = alt.Chart(marks).mark_rect(color=colour, fillOpacity=0.75, stroke="white").encode(
        rate_channel(alt, alt.X, "score_from", None, labels=False), y, x2="score_to:Q", y2=alt.datum(0), tooltip=tooltip
    )  # fmt: skip
    ends = pl.DataFrame({"mean_score": [0.0, 1.0], "mean_target": [0.0, 1.0]})
    diagonal = alt.Chart(ends).mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1).encode(at_mean, y)
    rules = alt.Chart(marks.drop_nulls("low")).mark_rule(color=INK, strokeWidth=1.5).encode(
        at_mean, rate_channel(alt, alt.Y, "low", what), y2="high:Q"
    )  # fmt: skip
    upper = alt.layer(bars, rules, diagonal).properties(width=width, height=height)
    counts = alt.Chart(marks).mark_rect(color=SOFT, fillOpacity=0.4, stroke="white").encode(
        rate_channel(alt, alt.X, "score_from", "score"), x2="score_to:Q",
        y=alt.Y("n:Q", title="detections", axis=alt.Axis(tickCount=2, gridColor=GRID, format="~s")), y2=alt.datum(0),
        tooltip=tooltip,
    )  # fmt: skip
    lower = counts.properties(width=width, height=round(height / 4))
    title = alt.Title(name or summary, subtitle=[summary] if name else [], anchor="start")
    return alt.vconcat(upper, lower, spacing=6).properties(title=title)


def _conditions(table: pl.DataFrame) -> list[str]:
    """Return a line with the IoU threshold, the area range and the lowest score, if all rows have the same."""
    lines = shared_conditions(table)
    if "min_score" in table.columns and table["min_score"].n_unique() == 1 and table["min_score"][0] > 0:
        lines = [", ".join([*lines, f"scores from {table['min_score'][0]:g}"])]
    return lines

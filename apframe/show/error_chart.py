"""A chart of what error types cost: bars of the AP that each loses, for models and slices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError, ParameterError
from apframe.option_values import by_name
from apframe.show.chart_tables import table_of
from apframe.show.charts import add_names, head_chart, load_altair
from apframe.show.colours import GRID, INK, PALETTE, SOFT
from apframe.show.interval_charts import draw_intervals
from apframe.tables.result_tables import ERRORS

if TYPE_CHECKING:
    import altair as alt

_OWN = ["category_id", "name", "iou_threshold", "error", "n", "ap", "delta_ap", "low", "high", "se"]
KIND_WORDS = {
    "cls": "classification", "loc": "localization", "both": "classification and localization", "dupe": "duplicate",
    "bkg": "background", "miss": "missed", "fp": "all false positives", "fn": "all missed",
}  # fmt: skip
_PAIR = 2


def error_impact(
    impact: Any,
    *,
    kinds: str | Sequence[str] = ("cls", "loc", "both", "dupe", "bkg", "miss"),
    width: int = 320,
    **options: Any,
) -> alt.LayerChart:
    """Draw a bar for each error type, as long as the AP that fixing this type alone would gain.

    Bars of several models or slices stand one below the other; with two, those of the second are hollow. Fixing several types
    at once does not gain the sum of their bars. Bars below 0 extend to the left of 0. The legend has the AP before any fix.

    Parameters
    ----------
    impact
        an evaluation, or a list or a dict of several, whose bars have intervals; or a table from `Evaluation.error_impact`, or
        a dict from names to tables: error, n, ap, delta_ap, and with intervals low and high. Rows of single categories are left
        out; columns in front, such as keys of `by` or `run`, name the models or slices
    kinds
        the error types to draw, in this order: names of `apf.error_kinds()`
    width
        the width of the bars alone, in pixels
    options
        options of `Evaluation.error_impact`, such as `by` or `iou_threshold`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; an unknown error type; two rows of one type and model; an unknown option
    InputError, ColumnError
        there is nothing to draw, or more than seven models and slices; columns are missing

    >>> import apframe as apf
    >>> impact = pl.DataFrame({"error": ["cls", "bkg"], "n": [3, 40], "ap": [0.4, 0.4], "delta_ap": [0.01, 0.05]})
    >>> chart = apf.plot.error_impact({"model_a": impact})
    """
    alt = load_altair()
    requested = [kinds] if isinstance(kinds, str) else list(kinds)
    chosen = [by_name("error type", kind, {name: name for name in ERRORS.categories}) for kind in requested]
    table = table_of(impact, "impact", "error_impact", ["error", "n", "ap", "delta_ap"], options, wishes={"intervals": True})
    marks = error_marks(table, chosen)
    if not marks["delta_ap"].count():
        why = "no row has these error types" if marks.is_empty() else "delta_ap is null throughout: annotations are missing"
        raise InputError("there is nothing to draw", why, table="impact")
    aps = marks.unique("bar", keep="first", maintain_order=True).select("bar", "ap")
    names = {bar: " · ".join(filter(None, [bar, f"AP {ap:.3f}" if ap is not None else ""])) for bar, ap in aps.iter_rows()}
    if len(names) > len(PALETTE):
        raise InputError(f"{len(names):,} models or slices are too many for one chart", "filter them", table="impact")
    marks = marks.with_columns(bar=pl.col("bar").replace_strict(names))
    colours = alt.Scale(domain=[*names.values()], range=PALETTE[: len(names)])
    y = alt.Y("kind:N", title=None, scale=alt.Scale(domain=[KIND_WORDS[kind] for kind in chosen], paddingInner=0.25),
              axis=alt.Axis(labelLimit=220, ticks=False, domain=False))  # fmt: skip
    tooltip = [
        alt.Tooltip("bar:N", title=" "), alt.Tooltip("kind:N", title="error type"),
        alt.Tooltip("n:Q", title="errors", format=",.0f"), alt.Tooltip("delta_ap:Q", title="AP lost", format=".4f"),
    ]  # fmt: skip
    second = alt.when(alt.datum.bar == [*names.values()][1]) if len(names) == _PAIR else None
    along = {"title": "AP lost", "axis": alt.Axis(gridColor=GRID, tickCount=6)}
    offset = alt.YOffset("bar:N", scale=alt.Scale(domain=[*names.values()], paddingInner=0.1))
    chart = alt.Chart(marks).encode(y=y, yOffset=offset)
    bars = chart.mark_bar(strokeWidth=1).encode(
        x=alt.X("delta_ap:Q", **along),
        color=alt.Color("bar:N", title=None, scale=colours, legend=alt.Legend(orient="top", columns=1, labelLimit=400)),
        stroke=alt.Stroke("bar:N", scale=colours, legend=None),
        fillOpacity=second.then(alt.value(0)).otherwise(alt.value(1)) if second else alt.value(1),
        tooltip=tooltip,
    )  # fmt: skip
    layers = draw_intervals(alt, chart.encode(color=alt.value(INK)), "x", **along) if marks["low"].count() else []
    zero = alt.Chart(pl.DataFrame({"delta_ap": [0.0]})).mark_rule(color=SOFT).encode(x="delta_ap:Q")
    heading = head_chart(alt, "AP that each error type costs", ["each type is fixed alone, so the bars do not add up"])
    height = len(chosen) * (8 + 14 * len(names))
    return alt.layer(bars, *layers, zero).properties(width=width, height=height, title=heading)


def error_marks(impact: pl.DataFrame, kinds: Sequence[str] = tuple(KIND_WORDS)) -> pl.DataFrame:
    """Return the bars of a table from `Evaluation.error_impact`, by model or slice and in the order of the error types.

    Columns: bar (the name of the model or slice), error, kind (in words), n, ap, delta_ap (the length of the bar), low and high
    (of its interval, null without one).

    Raises
    ------
    ParameterError
        two rows of one error type and bar

    >>> impact = pl.DataFrame({"model": ["a"] * 2, "error": ["bkg", "cls"], "n": [40, 3], "ap": 0.4, "delta_ap": [0.05, 0.01]})
    >>> error_marks(impact).select("bar", "kind", "delta_ap").rows()
    [('a', 'classification', 0.01), ('a', 'background', 0.05)]
    """
    if "category_id" in impact.columns:
        impact = impact.filter(pl.col("category_id").is_null())
    keys = [column for column in impact.columns if column not in _OWN]
    names = add_names(impact, keys).alias("bar")
    ends = [name if name in impact.columns else pl.lit(None, pl.Float64).alias(name) for name in ("low", "high")]
    rows = impact.select(names, pl.col("error").cast(pl.String), "n", "ap", "delta_ap", *ends).with_row_index("at")
    if rows.select("bar", "error").is_duplicated().any():
        raise ParameterError("impact has a bar with two rows of one kind", "filter them, or add a column that names the bars")
    place = pl.DataFrame({"error": list(kinds), "kind": [KIND_WORDS[kind] for kind in kinds]}).with_row_index("place")
    first = pl.col("at").min().over("bar")
    return rows.join(place, on="error").sort(first, "place").drop("at", "place")

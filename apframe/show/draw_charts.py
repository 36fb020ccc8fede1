"""A histogram of the values that a number takes in resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError
from apframe.option_values import proper_share, whole_number
from apframe.show.chart_tables import RUN, table_of
from apframe.show.charts import head_chart, load_altair
from apframe.show.colours import GRID, PALETTE, SOFT
from apframe.show.interval_charts import pair_of
from apframe.show.interval_marks import shown

if TYPE_CHECKING:
    import altair as alt


def draws(
    draws: Any, *, confidence: float = 0.95, bins: int = 40, width: int = 440, height: int = 220, **options: Any
) -> alt.LayerChart:
    """Draw the values of one number in resamples as a histogram, and mark the number itself and its interval.

    For a difference, draws above and below 0 have different colours, and 0 is the edge of a bar. Draws without a value are left
    out.

    Parameters
    ----------
    draws
        an evaluation; or a table from `Evaluation.draws`: metric, run_a and run_b (of a difference), estimate, value
    confidence
        the share of the draws within the interval
    bins
        the approximate number of bars
    options
        options of `Evaluation.draws`, such as `other` and `metric`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; the confidence or the number of bars is out of range; an unknown option
    InputError, ColumnError
        no draw has a value, or the draws are of several numbers; columns are missing

    >>> import apframe as apf
    >>> table = pl.DataFrame({"metric": ["AP"] * 4, "estimate": [0.3] * 4, "value": [0.2, 0.3, 0.3, 0.4]})
    >>> chart = apf.plot.draws(table)
    """
    alt, table = load_altair(), table_of(draws, "draws", "draws", ["metric", "estimate", "value"], options)
    bins = whole_number("bins", bins, max_value=1000)
    proper_share("confidence", confidence)
    labels = [name for name in (RUN, "metric", "run_a", "run_b", "estimate") if name in table.columns]
    if table.select(labels).n_unique() > 1:
        raise InputError("the draws are of several numbers", "filter to one", table="draws")
    values = table["value"].cast(pl.Float64).drop_nulls()
    if values.is_empty():
        raise InputError("there is nothing to draw", "no draw has a value", table="draws")
    metric, pair = table["metric"][0], pair_of(table)
    bars, paint = _bars(values, bins), alt.value(PALETTE[0])
    if pair:
        above = (int((values > 0).sum()) + int((values == 0).sum()) / 2) / len(values)
        sides = [f"{table['run_b'][0]} is better ({above:.1%})", f"{table['run_a'][0]} is better ({1 - above:.1%})"]
        bars = bars.with_columns(side=pl.when(pl.col("from") >= 0).then(pl.lit(sides[0])).otherwise(pl.lit(sides[1])))
        legend = alt.Legend(orient="top", title=None, labelLimit=260, symbolType="square")
        paint = alt.Color("side:N", scale=alt.Scale(domain=sides, range=PALETTE[1::-1]), legend=legend)
    axis = alt.Axis(grid=False, tickCount=8)
    x = alt.X("from:Q", title=f"difference in {metric}" if pair else metric, scale=alt.Scale(zero=False, nice=False), axis=axis)
    y = alt.Y("draws:Q", title="draws", axis=alt.Axis(gridColor=GRID, tickMinStep=1))
    tooltip = [alt.Tooltip("from:Q", format=".4f"), alt.Tooltip("to:Q", format=".4f"), alt.Tooltip("draws:Q", format=",")]
    columns = alt.Chart(bars).mark_bar(opacity=0.75, binSpacing=0)
    layers = [columns.encode(x=x, x2="to:Q", y=y, y2=alt.datum(0), color=paint, tooltip=tooltip)]
    if pair:
        layers.append(alt.Chart(pl.DataFrame({"from": [0.0]})).mark_rule(color=SOFT).encode(x="from:Q"))
    ends = [values.quantile(share, "linear") for share in ((1 - confidence) / 2, (1 + confidence) / 2)]
    notes = [f"{len(values):,} draws", f"dashed: the {100 * confidence:.4g} % interval"]
    marks = [(end, [5, 4]) for end in ends]
    if table["estimate"][0] is not None:
        marks.append((table["estimate"][0], [1, 0]))
        notes.append(f"solid: the {'difference' if pair else 'number'} itself")
    for at, dash in marks:
        row = pl.DataFrame({"from": [at], "text": [shown(at, "+.3f" if pair else ".3f")]})
        mark = alt.Chart(row).encode(x="from:Q")
        layers.append(mark.mark_rule(strokeDash=dash, strokeWidth=2, color="black"))
        layers.append(mark.mark_text(dy=-8, fontSize=11).encode(y=alt.value(0), text="text:N"))
    heading = head_chart(alt, " of ".join(part for part in (metric, pair) if part), [", ".join(notes)])
    return alt.layer(*layers).properties(width=width, height=height, title=heading)


def _bars(values: pl.Series, bins: int) -> pl.DataFrame:
    """Return from, to and draws of each bar: all have one width, 0 is an edge, and the last bar is closed.

    >>> _bars(pl.Series([-0.25, 0.25, 0.5]), 3).rows()
    [(-0.25, 0.0, 1), (0.0, 0.25, 0), (0.25, 0.5, 2)]
    """
    low, high = float(values.min() or 0), float(values.max() or 0)  # type: ignore[arg-type]
    step = (high - low) / bins or 1.0
    first, last = (int(end // step) for end in (low, high))
    last = max(last - (last * step == high), first)
    number = (values / step).floor().cast(pl.Int64).clip(first, last)
    counts = number.alias("bar").to_frame().group_by("bar").agg(draws=pl.len().cast(pl.Int64))
    every = pl.DataFrame({"bar": range(first, last + 1)}).join(counts, on="bar", how="left", maintain_order="left")
    bar = pl.col("bar")
    return every.select((bar * step).alias("from"), ((bar + 1) * step).alias("to"), pl.col("draws").fill_null(0))

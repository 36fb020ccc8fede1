"""Charts for choosing a score threshold: precision, recall and F1 by score; miss rate by false positives per image."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError
from apframe.lists.list_curves import Keys, thin_curve
from apframe.metrics.miss_rates import log_average_miss_rate
from apframe.option_values import whole_number
from apframe.show.chart_tables import table_of
from apframe.show.charts import (
    MOST_POINTS,
    TITLES,
    add_colours,
    add_names,
    chosen_keys,
    colour_channel,
    curve_marks,
    draw_lines,
    head_chart,
    keys_before,
    load_altair,
    most_points,
    rate_channel,
    refuse_alike,
    score_channel,
    score_ends,
    shared_conditions,
    telling_columns,
)
from apframe.show.colours import GRID, PALETTE, SOFT

if TYPE_CHECKING:
    import altair as alt

_MEASURES = {"precision": PALETTE[0], "recall": PALETTE[2], "f1": PALETTE[1]}
_SCORE = "score_threshold"


def operating_points(
    thresholds: Any,
    by: Keys | None = None,
    *,
    columns: int = 3,
    max_charts: int = 12,
    width: int = 240,
    height: int = 180,
    max_points: int = MOST_POINTS,
    **options: Any,
) -> alt.ConcatChart:
    """Draw precision, recall and F1 against the score threshold, in a chart for each category, with the best F1 marked.

    A detection counts if its score reaches the threshold, so the lines are steps; long ones are drawn with fewer points that
    look the same. The dashed line is at the threshold of the best F1, which the heading of each chart gives. Categories without
    annotations are left out. Of many, those with most annotations are drawn, in the order of the table, and the title gives the
    number of all.

    Parameters
    ----------
    thresholds
        an evaluation, or a list or a dict of several; or a table from `Evaluation.thresholds`, at one IoU threshold and area
        range: the columns of `by`, score_threshold, tp, fp, fn, precision, recall, f1, is_best
    by
        the columns that distinguish the charts; when left out, those before score_threshold that have more than one value, or
        else `name`
    columns, max_charts
        the number of charts side by side, and the most charts in all
    width, height
        the size of each chart, in pixels
    max_points
        the most points of each line, see `thin_curve`
    options
        options of `Evaluation.thresholds`, such as `category` or `per_category=False`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; `by` does not distinguish the charts; an unknown option
    InputError, ColumnError
        there is nothing to draw; columns are missing

    >>> import apframe as apf
    >>> table = {"name": ["car", "car"], "score_threshold": [0.9, 0.4], "tp": [1, 2], "fp": [0, 1], "fn": [1, 0],
    ...          "precision": [1.0, 2 / 3], "recall": [0.5, 1.0], "f1": [2 / 3, 0.8], "is_best": [False, True]}
    >>> chart = apf.plot.operating_points(table)
    """
    alt = load_altair()
    table = table_of(thresholds, "thresholds", "thresholds", [_SCORE, "tp", "fp", "fn", *_MEASURES, "is_best"], options)
    keys = keys_before(table, _SCORE) if by is None else chosen_keys(thresholds, "thresholds", table, by)
    columns, max_charts = whole_number("columns", columns), whole_number("max_charts", max_charts)
    points = table.filter(pl.col("f1").is_not_null(), pl.col(_SCORE).is_finite()).with_columns(
        curve=add_names(table.clear(), keys)
    )
    if points.is_empty():
        why = "it has no rows" if table.is_empty() else "F1 is null throughout: annotations are missing"
        raise InputError(f"there is nothing to draw; {why}", table="thresholds")
    refuse_alike(points.select("curve", _SCORE), keys, "the charts: the same threshold appears more than once")
    sizes = points.group_by("curve", maintain_order=True).agg(size=(pl.col("tp") + pl.col("fn")).first())
    largest = sizes.with_row_index("at").sort("size", "at", descending=[True, False]).head(max_charts)
    shown = largest.sort("at")["curve"].to_list()
    ends = score_ends(points[_SCORE].cast(pl.Float64))
    drawn = points.filter(pl.col("curve").is_in(shown)).partition_by("curve", maintain_order=True)
    charts = [_draw_rates(alt, part, ends, max_points).properties(width=width, height=height) for part in drawn]
    notes = shared_conditions(table)
    if len(shown) < sizes.height:
        notes.append(f"the {len(shown)} with most annotations of {sizes.height}")
    heading = head_chart(alt, "Precision, recall and F1 by score threshold", notes)
    return alt.concat(*charts, columns=columns).properties(title=heading)


def miss_rates(
    thresholds: Any,
    by: Keys | None = None,
    *,
    width: int = 420,
    height: int = 320,
    max_points: int = MOST_POINTS,
    **options: Any,
) -> alt.LayerChart:
    """Draw the miss rate against false positives per image, both logarithmic, with a line for each model or category.

    The legend has the log-average miss rate, and begins with the lowest. The lines are steps: the miss rate holds up to the
    next number of false positives. The miss rate without any false positive is drawn from the left edge. A miss rate of 0 is
    not drawn. More than seven lines share one grey, except for the three of lowest and the three of highest log-average miss
    rate. Lines without annotations are left out.

    Parameters
    ----------
    thresholds
        an evaluation, or a list or a dict of several; or a table from `Evaluation.thresholds`, at one IoU threshold and area
        range: the columns of `by`, score_threshold, fppi and miss_rate
    by
        the columns that distinguish the lines; when left out, those before score_threshold that have more than one value
    max_points
        the most points of each line, see `thin_curve`
    options
        options of `Evaluation.thresholds`, such as `category`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; `by` does not distinguish the lines; an unknown option
    InputError, ColumnError
        there is nothing to draw; columns are missing

    >>> import apframe as apf
    >>> table = {"run": ["a", "a"], "score_threshold": [0.9, 0.4], "fppi": [0.0, 0.5], "miss_rate": [0.5, 0.25]}
    >>> chart = apf.plot.miss_rates(table)
    """
    alt, x, y = load_altair(), "fppi", "miss_rate"
    table = table_of(thresholds, "thresholds", "thresholds", [_SCORE, x, y], options)
    before = table.columns[: table.columns.index(_SCORE)]
    keys = telling_columns(table, before) if by is None else chosen_keys(thresholds, "thresholds", table, by)
    points = table.filter(pl.col(y).is_not_null()).with_columns(curve=add_names(table.clear(), keys))
    if points.is_empty() or not points[x].max():
        why = "it has no rows" if table.is_empty() else "no line has annotations and false positives"
        raise InputError(f"there is nothing to draw; {why}", table="thresholds")
    refuse_alike(points.select("curve", _SCORE), keys, "the lines: the same threshold appears more than once")
    table_order = points["curve"].unique(maintain_order=True)
    points = points.sort(_SCORE, descending=True)
    averages = points.group_by("curve", maintain_order=True).agg(lamr=log_average_miss_rate()).sort("lamr", "curve")
    names = {curve: " · ".join(filter(None, [curve, f"{lamr:.3f}"])) for curve, lamr in averages.iter_rows()}
    false_positives, rates = (points[name].cast(pl.Float64).filter(points[name] > 0).to_list() for name in (x, y))
    lowest = _decade(min((rate for rate in rates if rate < 1), default=0.1))
    left, right = _decade(min(false_positives)), max(10 * _decade(max(false_positives)), 1.0)
    ordered = averages.join(points, on="curve", maintain_order="left_right").with_columns(pl.col("curve").replace(names))
    inside = (pl.col(x) > 0) | (pl.col(x).shift(-1).over("curve") > 0).fill_null(True)  # the last one without false positives
    kept = ordered.filter(inside, pl.col(y) > 0).with_columns(pl.col(x).clip(lower_bound=left))
    kept = kept.with_columns(rank=pl.int_range(1, pl.len() + 1).over("curve"), lamr=-pl.col("lamr"))
    _, colours, kept = add_colours("", kept, pl.col("lamr").first(), "log-average miss rate")
    if len(names) <= len(PALETTE):  # a model has its colour, however low its miss rate is
        by_curve = dict(zip(table_order, PALETTE, strict=False))
        colours = {name: by_curve[curve] for curve, name in names.items()}
    thin = thin_curve(kept, most_points(kept, max_points), by="curve", along=pl.col(x).log(), across=y)
    axes = [
        alt.X(f"{x}:Q", title=TITLES[x], scale=alt.Scale(type="log", domain=[left, right], nice=False),
              axis=alt.Axis(gridColor=GRID, format="~g", tickCount=6)),
        alt.Y(f"{y}:Q", title="miss rate", scale=alt.Scale(type="log", domain=[lowest, 1], nice=False),
              axis=alt.Axis(gridColor=GRID, format="~g", tickCount=6)),
    ]  # fmt: skip
    shown = {_SCORE: (TITLES[_SCORE], ".4g"), x: (TITLES[x], ".4g"), y: ("miss rate", ".4f")}
    tooltip = [alt.Tooltip("curve:N", title=" · ".join([*keys, "log-average miss rate"]))]
    tooltip += [alt.Tooltip(f"{name}:Q", title=title, format=digits) for name, (title, digits) in shown.items()]
    colour = colour_channel(alt, " · ".join([*keys, "log-average miss rate"]), colours, offset=18)
    lines = draw_lines(alt, thin, axes, tooltip, colour, "step-after")
    text = "Miss rate by false positives per image"
    if len(colours) == 1:  # there is no legend to say it
        text = f"Log-average miss rate: {next(iter(colours))}"
    return alt.layer(*lines).properties(width=width, height=height, title=head_chart(alt, text, shared_conditions(table)))


def _decade(value: float) -> float:
    """Return the power of ten at or below a number."""
    return float(10.0 ** floor(log10(value)))


def _draw_rates(alt: Any, points: pl.DataFrame, ends: tuple[float, float], max_points: int) -> Any:
    """Draw the three lines of one category, and a dot at the best F1."""
    counts = ["tp", "fp", "fn"]
    index = [_SCORE, "is_best", *counts]
    long = points.sort(_SCORE).drop("curve").unpivot(on=list(_MEASURES), index=index, variable_name="curve", value_name="value")
    long = long.drop_nulls("value").with_columns(rank=pl.int_range(1, pl.len() + 1).over("curve"))
    marks = curve_marks(long, _SCORE, "value", max_points).with_columns(colour=pl.col("curve").replace(TITLES))
    axes = [score_channel(alt, _SCORE, ends), rate_channel(alt, alt.Y, "value", None)]
    names = [TITLES.get(measure, measure) for measure in _MEASURES]
    scale = alt.Scale(domain=names, range=list(_MEASURES.values()))
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=3)
    colour = alt.Color("colour:N", scale=scale, legend=legend)
    tooltip = [alt.Tooltip(f"{_SCORE}:Q", title=TITLES[_SCORE], format=".4g"), alt.Tooltip("colour:N", title="line")]
    tooltip += [alt.Tooltip("value:Q", format=".4f"), *(alt.Tooltip(f"{name}:Q", format=",") for name in counts)]
    lines = draw_lines(alt, marks, axes, tooltip, colour, "step-before")
    best = points.filter("is_best").head(1)
    rule = alt.Chart(best).mark_rule(color=SOFT, strokeDash=[4, 3]).encode(x=axes[0])
    dot = alt.Chart(best).mark_point(filled=True, size=60, opacity=1, color=PALETTE[1], stroke="white", strokeWidth=1)
    dots = dot.encode(axes[0], rate_channel(alt, alt.Y, "f1", None))
    name = points["curve"][0]
    summary = f"best F1 {best['f1'].item():.3f} at {best[_SCORE].item():.4g}" if best.height else "no best F1"
    heading = alt.Title(name or summary, anchor="start", fontSize=12, **({"subtitle": [summary]} if name else {}))
    return alt.layer(rule, *lines, dots).properties(title=heading)

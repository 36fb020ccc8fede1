"""Charts over the score: the number of detections by outcome, and F1 against the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError
from apframe.lists.list_curves import Keys, refuse_missing
from apframe.option_values import whole_number
from apframe.show.chart_tables import RUN, table_of
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
)
from apframe.show.colours import GRID, PALETTE, SOFT
from apframe.wording import did_you_mean, listed

if TYPE_CHECKING:
    import altair as alt

_OUTCOMES = {"tp": ("true positives", PALETTE[0]), "fp": ("false positives", PALETTE[1]), "ignored": ("ignored", SOFT)}
_SHOWN = ["tp", "fp", "fn", "precision", "recall"]


def scores(matches: Any, bins: int = 20, *, width: int = 480, height: int = 260, **options: Any) -> alt.LayerChart:
    """Draw true positives, false positives and ignored detections by score, with a step line for each, from zero.

    Bins are [a, b), the last one closed. They divide the range from 0 to 1 evenly, or that of the scores if some are outside;
    infinite scores count in the outer bins. Missed annotations have no score; the title counts them. The rows of the chart are
    the bins, so any number of detections can be drawn.

    Parameters
    ----------
    matches
        an evaluation; or a table from `Evaluation.matches`, at one IoU threshold and area range: score, outcome
    bins
        the number of bins
    options
        options of `Evaluation.matches`, such as `iou_threshold`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; bins is not a number from 1 to 1000
    InputError, ColumnError
        there is nothing to draw; a detection appears at several thresholds or area ranges; columns are missing

    >>> import apframe as apf
    >>> matches = pl.DataFrame({"score": [0.9, 0.4, None], "outcome": ["tp", "fp", "fn"]})
    >>> chart = apf.plot.scores(matches)
    """
    alt, table = load_altair(), table_of(matches, "matches", "matches", ["score", "outcome"], options)
    bins = whole_number("bins", bins, max_value=1000)
    detections, n_missed = _found(table)
    counts = _count_scores(detections, bins)
    present = [name for name in _OUTCOMES if counts[name].sum()]
    names = {name: f"{_OUTCOMES[name][0]} ({counts[name].sum():,})" for name in present}
    corners = _corners(counts, names)
    scale = alt.Scale(domain=list(names.values()), range=[_OUTCOMES[name][1] for name in present])
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=3, labelLimit=240)
    colour = alt.Color("outcome:N", scale=scale, legend=legend)
    low, high = counts["from"].min(), counts["to"].max()
    axis = alt.Axis(grid=False, tickCount=10)
    x = alt.X("score:Q", title="score", scale=alt.Scale(domain=[low, high], nice=False), axis=axis)
    y = alt.Y("detections:Q", title=TITLES["n"], stack=None, axis=alt.Axis(gridColor=GRID, tickMinStep=1))
    steps = alt.Chart(corners).encode(x, y, colour)
    areas = steps.encode(y2=alt.datum(0)).mark_area(interpolate="step-after", fillOpacity=0.2)
    lines = steps.mark_line(interpolate="step-after", strokeWidth=2)
    edges = [alt.Tooltip("from:Q", title="score from", format=".4g"), alt.Tooltip("to:Q", title="to", format=".4g")]
    amounts = [alt.Tooltip(f"{name}:Q", title=_OUTCOMES[name][0], format=",") for name in present]
    share = alt.Tooltip("precision:Q", title="precision in the bin", format=".3f")
    whole_bin = alt.Chart(counts).encode(x="from:Q", x2="to:Q", y=alt.value(0), y2=alt.value(height))
    hover = whole_bin.mark_rect(opacity=0).encode(tooltip=[*edges, *amounts, share])
    notes = shared_conditions(table)
    if n_missed:
        missed = "1 missed annotation, which has" if n_missed == 1 else f"{n_missed:,} missed annotations, which have"
        notes.append(f"without the {missed} no score")
    heading = head_chart(alt, "Detections by score", notes)
    return alt.layer(areas, lines, hover).properties(width=width, height=height, title=heading)


def thresholds(
    thresholds: Any,
    by: Keys | None = None,
    *,
    width: int = 420,
    height: int = 300,
    max_points: int = MOST_POINTS,
    **options: Any,
) -> alt.LayerChart:
    """Draw F1 against the score threshold, with a line for each category or model and a dot at the best F1.

    A detection counts if its score reaches the threshold, so between two scores F1 is that of the upper one: the lines are
    steps. The legend has the best F1 and its threshold. Long lines are drawn with fewer points that look the same, and the best
    one. More than seven lines share one grey, except for the three of largest and the three of smallest best F1. Categories
    without annotations (F1 is null) are left out. The title gives the IoU threshold and the area range if all lines have the
    same.

    Parameters
    ----------
    thresholds
        an evaluation, or a list or a dict of several; or a table from `Evaluation.thresholds`, at one IoU threshold and area
        range: the columns of `by`, score_threshold, tp, fp, fn, precision, recall, f1, is_best
    by
        the columns that distinguish the lines; when left out, those before score_threshold that have more than one value, or
        else `name`
    max_points
        the most points of each line, see `thin_curve`; fewer if all lines together exceed the 5,000 rows that Altair accepts
    options
        options of `Evaluation.thresholds`, such as `category` or `per_category=False`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; `by` does not distinguish the lines; an unknown option
    InputError, ColumnError
        there is nothing to draw; columns are missing

    >>> import apframe as apf
    >>> table = {"name": ["car", "car"], "score_threshold": [0.9, 0.4], "tp": [1, 2], "fp": [0, 1], "fn": [1, 0],
    ...          "precision": [1.0, 2 / 3], "recall": [0.5, 1.0], "f1": [2 / 3, 0.8], "is_best": [False, True]}
    >>> chart = apf.plot.thresholds(pl.DataFrame(table))
    """
    alt, x, y = load_altair(), "score_threshold", "f1"
    table = table_of(thresholds, "thresholds", "thresholds", [x, *_SHOWN, y, "is_best"], options)
    keys = keys_before(table, x) if by is None else chosen_keys(thresholds, "thresholds", table, by)
    title, colours, points = _named_thresholds(table, keys, x, y)
    marks = curve_marks(points, x, y, most_points(points, max_points))
    axes = [score_channel(alt, x, score_ends(points[x])), rate_channel(alt, alt.Y, y)]
    tooltip = [alt.Tooltip("curve:N", title=" · ".join(keys))] if keys else []
    tooltip += [alt.Tooltip(f"{x}:Q", title=TITLES[x], format=".4g"), alt.Tooltip(f"{y}:Q", title=TITLES[y], format=".4f")]
    tooltip += [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("precision", "recall")]
    tooltip += [alt.Tooltip(f"{name}:Q", format=",") for name in ("tp", "fp", "fn")]
    colour = colour_channel(alt, title, colours, offset=18)
    lines = draw_lines(alt, marks, axes, tooltip, colour, "step-before")
    best = alt.Chart(marks.filter("is_best")).encode(*axes, color=colour, tooltip=tooltip)
    dots = best.mark_point(filled=True, size=60, opacity=1, stroke="white", strokeWidth=1)
    chart = alt.layer(lines[0], dots, lines[1]).properties(width=width, height=height)
    conditions = shared_conditions(table)
    if len(colours) > 1:
        return chart.properties(title=head_chart(alt, "F1 by score threshold", conditions)) if conditions else chart
    (name,) = colours  # there is no legend to say it
    return chart.properties(title=head_chart(alt, f"best F1 at threshold: {name}", conditions))


def _found(table: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return score and outcome of the detections, and the number of missed annotations."""
    for name in ("iou_threshold", "area_range", RUN):
        if name in table.columns and table[name].n_unique() > 1:
            several = f"{table[name].n_unique()} values of {name}"
            raise InputError(f"with {several} each detection would count once for each", "filter them to one", table="matches")
    rows = table.select(pl.col("score").cast(pl.Float64), pl.col("outcome").cast(pl.String))
    outcomes = [*_OUTCOMES, "fn"]
    unknown = [name for name in rows["outcome"].unique(maintain_order=True) if name not in outcomes]
    if unknown:
        raise InputError(f"no outcome {listed(unknown)}", did_you_mean(str(unknown[0]), outcomes), table="matches")
    missed = pl.col("outcome") == "fn"
    detections = rows.filter(~missed & pl.col("score").is_not_nan())
    if detections.is_empty():
        why = "it has no rows" if table.is_empty() else "nothing was detected: no row has a score"
        raise InputError("there is nothing to draw", f"{why}", table="matches")
    return detections, rows.filter(missed).height


def _count_scores(detections: pl.DataFrame, bins: int) -> pl.DataFrame:
    """Return a row for each bin: from, to, tp, fp, ignored, and precision (null without true or false positives)."""
    finite = detections["score"].filter(detections["score"].is_finite()).to_list()
    low, high = (0.0, 1.0) if all(0 <= score <= 1 for score in finite) else (min(finite), max(finite))
    high = high if high > low else low + 1
    # found among the edges rather than computed, as 0.29 · 100 is less than 29
    edges = [low + (high - low) * step / bins for step in range(bins)]
    at = pl.Series(edges).search_sorted(detections["score"], side="right").cast(pl.Int64) - 1
    counted = detections.with_columns(bin=at.clip(0, bins - 1)).group_by("bin").agg(
        **{name: (pl.col("outcome") == name).sum().cast(pl.Int64) for name in _OUTCOMES}
    )  # fmt: skip
    every = pl.DataFrame({"bin": pl.int_range(bins, eager=True), "from": edges, "to": [*edges[1:], high]})
    counts = every.join(counted, on="bin", how="left", maintain_order="left").with_columns(pl.col(*_OUTCOMES).fill_null(0))
    decided = pl.col("tp") + pl.col("fp")
    return counts.with_columns(precision=pl.when(decided > 0).then(pl.col("tp") / decided))


def _corners(counts: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """Return the corners of the steps: outcome, score and detections where each step begins and the last one ends."""
    last = counts.tail(1).with_columns(pl.col("to").alias("from"))
    steps = pl.concat([counts, last]).rename({"from": "score"})
    long = steps.unpivot(on=list(names), index="score", variable_name="outcome", value_name="detections")
    return long.with_columns(pl.col("outcome").replace_strict(names, return_dtype=pl.String))


def _named_thresholds(table: pl.DataFrame, keys: list[str], x: str, y: str) -> tuple[str, dict[str, str], pl.DataFrame]:
    """Return the title of the legend, its names with their colours, and the points by rising threshold."""
    refuse_missing("thresholds", table, keys)
    finite = pl.col(x).cast(pl.Float64).is_finite() & pl.col(y).is_not_null() & pl.col(y).is_not_nan()
    points = table.filter(finite)
    if points.is_empty():
        why = "it has no rows" if table.is_empty() else f"{x} or {y} is null throughout: annotations or detections are missing"
        raise InputError(f"there is nothing to draw; {why}", table="thresholds")
    is_best = pl.col("is_best").fill_null(False)
    points = points.select(pl.col(x).cast(pl.Float64), *_SHOWN, y, is_best, curve=add_names(points, keys))
    refuse_alike(points.select("curve", x), keys, "the lines: the same threshold appears more than once")
    points = points.sort(x).with_columns(rank=pl.int_range(1, pl.len() + 1).over("curve"))
    order = table.filter(finite).select(curve=add_names(table, keys)).unique(maintain_order=True)
    points = order.join(points, on="curve", maintain_order="left_right")
    _, colours, points = add_colours("", points, pl.col(y).max(), "best F1")
    best = points.filter("is_best").unique("curve", keep="first", maintain_order=True)
    texts = {name: f"{f1:.2f} at {at:.2g}" for name, f1, at in best.select("curve", y, x).iter_rows()}
    names = {name: " · ".join(filter(None, [name, texts.get(name)])) for name in colours}
    points = points.with_columns(pl.col("colour").replace(names))
    return " · ".join([*keys, "best F1 at threshold"]), {names[name]: colour for name, colour in colours.items()}, points

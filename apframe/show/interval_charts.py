"""Charts of numbers with their intervals: levels, differences, leaderboards, a metric over a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from apframe.columns import exact
from apframe.exceptions import InputError, ParameterError
from apframe.lists.list_curves import Keys, key_names, refuse_missing
from apframe.show.chart_tables import is_made, table_of
from apframe.show.charts import MOST_ROWS, add_names, head_chart, load_altair, refuse_alike, telling_columns
from apframe.show.colours import GRID, PALETTE, PAPER, SOFT, VERDICTS
from apframe.show.interval_marks import best_first, interval_marks, interval_order, shown
from apframe.show.tag_values import tag_values

if TYPE_CHECKING:
    import altair as alt

_PAIR = "run_b − run_a"
_METRIC = ("metric", "measure")
_FEW = 10  # numbers of a tag that are all named on the axis


def intervals(
    intervals: Any,
    by: Keys | None = None,
    *,
    colour: str | None = None,
    width: int = 320,
    **options: Any,
) -> alt.LayerChart:
    """Draw numbers or differences as dots, each on the line of its interval.

    Differences have a line at 0. A dot is filled if its interval excludes 0, in green where the second model is better and in
    red where it is worse, and hollow otherwise. Among many intervals, some exclude 0 by chance: the false discovery rate `q`
    stands beside the number. The largest differences come first, or the lowest numbers. Rows without an interval come last,
    with only a dot; rows without a number have no mark. If only the metric differs, rows keep the order of the frame.

    Parameters
    ----------
    intervals
        an evaluation, or a list or a dict of several; or a table from `Evaluation.intervals` or `Evaluation.compare`, or those
        of runs: keys, low, high, and difference or estimate
    by
        the columns that distinguish the rows; when left out, those before the numbers that have more than one value (`name`
        stands for `category_id` too). An evaluation is sliced by these columns
    colour
        the column whose values stand side by side, up to seven of them; the models, if there are several and rows differ in
        something else too
    width
        the width of the dots and lines alone, in pixels
    options
        options of `Evaluation.intervals`, such as `metrics` and `level`, with an evaluation; with `other`, those of
        `Evaluation.compare`

    Raises
    ------
    ParameterError
        Altair is not installed; `by` and `colour` do not distinguish the rows; an unknown option
    InputError, ColumnError
        there is nothing to draw; columns are missing

    >>> import apframe as apf
    >>> classes = pl.DataFrame({"name": ["cat", "dog"], "metric": ["AP"] * 2, "estimate": [0.2, 0.4], "low": [0.1, 0.3],
    ...                         "high": [0.3, 0.5]})
    >>> chart = apf.plot.intervals(classes)
    """
    alt, method = load_altair(), "compare" if "other" in options else "intervals"
    if by is not None and is_made(intervals, method):
        options, by = {**options, "by": by}, None
    table = table_of(intervals, "intervals", method, ["low", "high"], options)
    value = "difference" if "difference" in table.columns else "estimate"
    refuse_missing("intervals", table, [value])
    table = _with_pairs(table)
    keys, colour = _keys(table, by, colour)
    rows = _rows(table, value, keys, colour)
    labels = rows["label"]
    if keys not in ([name] for name in _METRIC):
        in_order = table.with_row_index("at").sort(*interval_order(value), nulls_last=True, maintain_order=True)
        labels = labels.gather(in_order["at"])
    labels = labels.unique(maintain_order=True)
    sign = "+" if value == "difference" else ""
    rates = table["q"].to_list() if sign and "q" in table.columns else [None] * table.height
    texts = [
        shown(one, f"{sign}.3f") + ("" if q is None else f" · q {q:.3f}") for one, q in zip(rows["value"], rates, strict=True)
    ]
    rows = rows.with_columns(text=pl.Series(texts, dtype=pl.String))
    metric, pair, title = _metric(table), pair_of(table) if sign else "", " · ".join(keys)
    notes = [f"dot: {'difference' if sign else 'number'}, line: its interval"]
    if (rows["verdict"] == "unclear").any():
        notes.append("hollow: the interval includes 0, or there is none, so the difference may be chance")
    heading = " ".join([metric or "Metrics", *([f"of {pair}"] if pair else []), *([f"by {title}"] if metric and title else [])])
    axis = " in ".join(part for part in ("difference" if sign else "", metric) if part)
    layers = _dots(alt, rows, labels.to_list(), (title, colour, axis or "value"), width)
    if sign:
        layers.insert(0, alt.Chart(pl.DataFrame({"low": [0.0]})).mark_rule(color=SOFT).encode(x="low:Q"))
    n_colours = rows["colour"].n_unique()
    height = len(labels) * (22 if n_colours == 1 else 8 + 18 * n_colours)
    return alt.layer(*layers).properties(width=width, height=height, title=head_chart(alt, heading, notes))


def leaderboard(board: Any, *, width: int = 320, **options: Any) -> alt.LayerChart:
    """Draw a leaderboard as dots with intervals, the best run first, and how often each run leads beside them.

    Intervals of two runs can overlap although one is significantly better, as both saw the same images. Read the shares and
    ranks, or compare the two.

    Parameters
    ----------
    board
        stored runs, or an evaluation of search runs by one measure; or a table from `RunSets.leaderboard(metric,
        intervals=True)` or `RunEvaluation.leaderboard`: run, the metric, low, high, and share_best, rank_low and rank_high if
        they should be shown
    width
        the width of the dots and lines alone, in pixels
    options
        options of the method `leaderboard`, such as `sort_by` for the metric, with runs

    Raises
    ------
    ParameterError
        Altair is not installed; an unknown option
    InputError, ColumnError
        there are no intervals, no rows, or several measures; columns are missing

    >>> import apframe as apf
    >>> board = pl.DataFrame({"run": ["b", "a"], "AP": [0.4, 0.3], "low": [0.35, 0.2], "high": [0.5, 0.45]})
    >>> chart = apf.plot.leaderboard(board)
    """
    alt, table = load_altair(), _board(board, ["run"], options)
    metric, label = _ranked(table)
    table = best_first(table, metric, label)
    rows = _rows(table, metric, ["run"], None)
    order = rows["label"].to_list()
    sure = ["share_best", "rank_low", "rank_high"]
    texts = [shown(one) for one in rows["value"]]
    if set(sure) <= set(table.columns):
        texts = [
            text if share is None else f"{text} · leads in {share:.0%} · rank {low}{'' if low == high else f' to {high}'}"
            for text, (share, low, high) in zip(texts, table.select(sure).iter_rows(), strict=True)
        ]
    rows = rows.with_columns(text=pl.Series(texts, dtype=pl.String))
    layers = _dots(alt, rows, order, ("", None, label), width)
    heading = head_chart(alt, f"{label} by run", ["dot: number, line: its interval"])
    return alt.layer(*layers).properties(width=width, height=24 * len(order), title=heading)


def over_tag(
    board: Any,
    tag: str,
    *,
    colour: str | None = None,
    log: bool = False,
    width: int = 420,
    height: int = 260,
    **options: Any,
) -> alt.LayerChart:
    """Draw a metric of stored runs over one of their tags, such as the epoch or the learning rate, with its intervals.

    Numbers and dates, also those in texts, are drawn to scale; other texts are drawn evenly spaced, in the order of the board.
    A line joins the runs if each has a different value. Runs without the tag or the metric (null or NaN) are left out.

    Parameters
    ----------
    board
        stored runs; or a table from `RunSets.leaderboard(metric, intervals=True)`: run, tags, the metric, low, high
    tag
        the column for the horizontal axis: numbers, dates such as 2026-11-02 (in UTC without a time zone), texts or flags
    colour
        another tag; each of its values has a line
    log
        True for a logarithmic axis, for numbers above 0 such as learning rates
    options
        options of `RunSets.leaderboard`, such as `sort_by` for the metric, with runs

    Raises
    ------
    ParameterError
        Altair is not installed; an unknown option; a logarithmic axis for values that are not above 0; some values of the tag
        are numbers or dates and others are not
    InputError, ColumnError
        there are no intervals, or nothing to draw; columns are missing

    >>> import apframe as apf
    >>> board = pl.DataFrame({"run": ["a", "b"], "epoch": [1, 2], "AP": [0.3, 0.4], "low": [0.2, 0.35], "high": [0.45, 0.5]})
    >>> chart = apf.plot.over_tag(board, "epoch")
    """
    alt, table = load_altair(), _board(board, ["run", tag] if colour is None else ["run", tag, colour], options)
    metric, label = _ranked(table)
    table = table.with_columns(cs.float().fill_nan(None)).filter(exact(tag).is_not_null() & exact(metric).is_not_null())
    kind, labels, places = tag_values(tag, table[tag].to_list(), table["run"].to_list(), "tag")
    if log and not (kind == "number" and all(place > 0 for place in places)):
        raise ParameterError(f"{tag} is not a number above 0 in every run", "leave it out", option="log")
    drawn: dict[str, list[Any]] = {"number": places, "date": [1_000 * place for place in places], "text": labels}
    columns = {"tag": drawn[kind], "place": places, "text": labels}  # moments are in milliseconds
    rows = _rows(table, metric, ["run"], colour).with_columns(pl.Series(name, each) for name, each in columns.items())
    rows = rows.sort("colour", "place", maintain_order=True)
    stops = rows.sort("place", maintain_order=True)["tag"].unique(maintain_order=True).to_list()
    channels: dict[str, tuple[str, dict[str, Any]]] = {
        "number": ("Q", {"type": "log" if log else "linear", "zero": False, "nice": False, "padding": 20}),
        "date": ("T", {"type": "utc", "nice": False, "padding": 20}),
        "text": ("N", {"domain": stops}),
    }
    letter, scale = channels[kind]
    few = {"values": stops, "format": ".6~g"} if kind == "number" and len(stops) <= _FEW else {}
    axis = alt.Axis(grid=False, labelAngle=0, labelOverlap=True, **few)
    x = alt.X(f"tag:{letter}", title=tag, scale=alt.Scale(**scale), axis=axis)
    along = {"title": label, "scale": alt.Scale(zero=False), "axis": alt.Axis(gridColor=GRID)}
    y = alt.Y("value:Q", **along)
    chart = alt.Chart(rows).encode(x=x, color=_paint(alt, rows, colour))
    whiskers = draw_intervals(alt, chart, "y", **along)
    tooltip = [alt.Tooltip("label:N", title="run"), alt.Tooltip("text:N", title=tag), *_numbers(alt, label)]
    tooltip += [alt.Tooltip("colour:N", title=colour)] if colour is not None else []
    dots = chart.mark_circle(size=60, opacity=1).encode(y=y, tooltip=tooltip)
    once = not rows.select("colour", "place").is_duplicated().any()
    lines = [chart.mark_line(strokeWidth=1.5).encode(y=y, detail="colour:N", order="place:Q")] if once else []
    heading = head_chart(alt, f"{label} by {tag}", ["dot: number, line up and down: its interval"])
    return alt.layer(*lines, *whiskers, dots).properties(width=width, height=height, title=heading)


def _with_pairs(table: pl.DataFrame) -> pl.DataFrame:
    """Merge the two runs of each row into one column, if both differ from row to row."""
    if not {"run_a", "run_b"} <= set(table.columns) or table["run_a"].n_unique() < 2:
        return table
    pair = pl.concat_str("run_b", pl.lit(" − "), "run_a").alias(_PAIR)
    return table.with_columns(run_a=pair).rename({"run_a": _PAIR}).drop("run_b")


def _keys(table: pl.DataFrame, by: Keys | None, colour: str | None) -> tuple[list[str], str | None]:
    """Return the columns that distinguish the rows, and the one whose values stand side by side."""
    numbers = ("estimate", "estimate_a", "difference", "low")
    first = min(table.columns.index(name) for name in numbers if name in table.columns)
    telling = telling_columns(table, table.columns[:first])
    models = [name for name in ("run", "run_b", _PAIR) if name in telling]
    if by is not None:
        telling = key_names(by)
        models = [name for name in models if name not in telling]
    if colour is None and len(models) == 1 and telling != models:
        colour = models[0]
    return [name for name in telling if name != colour], colour


def _rows(table: pl.DataFrame, value: str, keys: list[str], colour: str | None) -> pl.DataFrame:
    """Return label, colour, and the columns of `interval_marks`, for each row."""
    refuse_missing("intervals", table, [*keys, value, "low", "high", *([] if colour is None else [colour])])
    if table.is_empty():
        raise InputError("there is nothing to draw", "it has no rows", table="intervals")
    measured = next((table[name] for name in _METRIC if name in table.columns), ())
    marks = interval_marks(table[value], table["low"], table["high"], measured if value == "difference" else None)
    labels = table.select(label=add_names(table, keys), colour=add_names(table, [] if colour is None else [colour]))
    rows = pl.concat([labels, marks], how="horizontal")
    if rows["value"].null_count() == rows.height:
        raise InputError(f"there is nothing to draw; {value} is null throughout", table="intervals")
    refuse_alike(rows.select("label", "colour"), keys, "the rows")
    if rows.height > MOST_ROWS:
        raise InputError(f"{rows.height:,} are too many for one chart", "filter them", table="intervals")
    if rows["colour"].n_unique() > len(PALETTE):
        what = f"{rows['colour'].n_unique():,} values of {colour} are too many to stand side by side"
        raise InputError(what, "filter them", table="intervals")
    return rows


def _dots(alt: Any, rows: pl.DataFrame, labels: list[str], titles: tuple[str, str | None, str], width: int) -> list[Any]:
    """Draw the intervals, the dots on them and the numbers beside them.

    `rows` have label, colour, the columns of `interval_marks`, and text; `titles` name the labels, the colours and the numbers.
    """
    of_labels, of_colours, of_numbers = titles
    several = rows["colour"].n_unique() > 1
    axis = alt.Axis(titleAngle=0, titleAlign="right", titleX=-8, titleY=-10, labelLimit=190, ticks=False, domain=False)
    y = alt.Y("label:N", title=of_labels or None, axis=axis, scale=alt.Scale(domain=labels, padding=0.2))
    offset = {"yOffset": alt.YOffset("colour:N", scale=alt.Scale(domain=_names(rows), padding=0.2))} if several else {}
    chart = alt.Chart(rows).encode(y=y, **offset)
    scale = alt.Scale(zero=False, nice=False, padding=8)
    are_judged = rows["verdict"].null_count() < rows.height
    by_verdict = alt.Scale(domain=[*VERDICTS], range=[*VERDICTS.values()])

    def paint(channel: Any) -> Any:
        if are_judged and not several:
            return channel("verdict:N", scale=by_verdict, legend=None)
        return _paint(alt, rows, of_colours, None if channel is alt.Color else channel)

    along = {"title": of_numbers, "scale": scale, "axis": alt.Axis(gridColor=GRID, tickCount=6)}
    of = [(of_labels, "label"), (of_colours, "colour")]
    tooltip = [alt.Tooltip(f"{name}:N", title=title) for title, name in of if title] + _numbers(alt, of_numbers)
    inside = paint(alt.Fill)
    dots = chart.mark_point(size=60, opacity=1, strokeWidth=2).encode(
        x=alt.X("value:Q", **along),
        fill=alt.when("datum.verdict === 'unclear'").then(alt.value(PAPER)).otherwise(inside) if are_judged else inside,
        stroke=paint(alt.Stroke),
        tooltip=tooltip,
    )
    texts = chart.mark_text(align="left", fontSize=11).encode(x=alt.value(width + 10), text="text:N")
    return [*draw_intervals(alt, chart.encode(color=paint(alt.Color)), "x", **along), dots, texts]


def draw_intervals(alt: Any, chart: Any, along: str, **shown: Any) -> list[Any]:
    """Draw the known intervals as lines from low to high along an axis, with caps at their ends.

    `shown` are the title, the scale and the axis of the channel, "x" or "y".
    """
    with_interval = chart.transform_filter("isValid(datum.low)")
    channel, orient = {"x": (alt.X, "vertical"), "y": (alt.Y, "horizontal")}[along]
    low, high = (channel(f"{name}:Q", **shown) for name in ("low", "high"))
    caps = with_interval.mark_tick(size=8, thickness=2, orient=orient)
    lines = with_interval.mark_rule(strokeWidth=2).encode(**{along: low, f"{along}2": "high:Q"})
    return [lines, *(caps.encode(**{along: end}) for end in (low, high))]


def _names(rows: pl.DataFrame) -> list[str]:
    names: list[str] = rows["colour"].unique(maintain_order=True).to_list()
    return names


def _paint(alt: Any, rows: pl.DataFrame, title: str | None, channel: Any = None) -> Any:
    """Return a channel with the colours of the rows; only the colour channel itself has a legend."""
    names = _names(rows)
    if len(names) == 1:
        return alt.value(PALETTE[0])
    legend = alt.Legend(orient="top", labelLimit=200, titleLimit=200, symbolType="stroke", symbolStrokeWidth=3)
    scale = alt.Scale(domain=names, range=PALETTE[: len(names)])
    shown = {"title": title, "legend": legend} if channel is None else {"legend": None}
    return (channel or alt.Color)("colour:N", scale=scale, **shown)


def _numbers(alt: Any, title: str) -> list[Any]:
    """Return the tooltips of a number and the ends of its interval."""
    named = {"value": title, "low": "low", "high": "high"}
    return [alt.Tooltip(f"{name}:Q", title=heading, format=".4f") for name, heading in named.items()]


def pair_of(table: pl.DataFrame) -> str:
    """Return the two runs of a difference if they are the same in every row, otherwise an empty text.

    >>> pair_of(pl.DataFrame({"run_a": ["old"] * 2, "run_b": ["new"] * 2}))
    'new − old'
    """
    runs = [table[name].unique() if name in table.columns else pl.Series() for name in ("run_b", "run_a")]
    return " − ".join(each[0] for each in runs) if all(len(each) == 1 for each in runs) else ""


def _metric(table: pl.DataFrame) -> str:
    """Return the name of the metric if all rows have the same, otherwise an empty text."""
    named = [table[name].unique() for name in _METRIC if name in table.columns]
    return str(named[0][0]) if named and len(named[0]) == 1 else ""


def _board(board: Any, needs: list[str], options: dict[str, Any]) -> pl.DataFrame:
    return table_of(board, "board", "leaderboard", needs, options, wishes={"intervals": True})


def _ranked(board: pl.DataFrame) -> tuple[str, str]:
    """Return the column of a leaderboard's numbers, and the name of the metric."""
    if "low" not in board.columns:
        raise InputError("the leaderboard has no intervals", "pass intervals=True", table="board")
    if "estimate" in board.columns:
        if board.is_empty() or (measure := _metric(board)):
            return "estimate", "" if board.is_empty() else measure
        raise InputError("there are several measures", "filter to one", table="board")
    before = board.columns.index("low") - 1
    return board.columns[before], board.columns[before]

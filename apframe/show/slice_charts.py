"""Charts of metrics by slice: bars and a heat map. Slices with little support are pale, as their numbers are noisy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import ColumnError, InputError, ParameterError
from apframe.lists.list_curves import Keys, key_names, refuse_missing
from apframe.show.chart_tables import RUN, is_made, table_of
from apframe.show.charts import MOST_ROWS, add_names, head_chart, load_altair, telling_columns
from apframe.show.colours import GRID, INK, PALETTE, SOFT
from apframe.show.interval_charts import draw_intervals
from apframe.show.interval_marks import interval_marks, shown
from apframe.tables.result_tables import SUPPORT
from apframe.wording import did_you_mean

if TYPE_CHECKING:
    import altair as alt

_ALL = "all"  # in place of a key, in a row over all its values
_ENDS = ("_se", "_low", "_high")  # of the columns of an interval, after the metric
_PALE, _NO_VALUE = 0.25, "#dddddd"
_DASHED, _SOLID = [3, 2], [1, 0]
# the parts of the schemes that are light enough for black figures in any cell (a contrast of 4.5 and more)
_RISING, _DIVERGING = ("viridis", [0.45, 1]), ("blueorange", [0.12, 0.88])


def slices(
    slices: Any,
    metric: str = "AP",
    by: Keys | None = None,
    *,
    colour: str | None = None,
    overall: float | Mapping[str, float] | None = None,
    support: str = "n_annotations",
    least: int = 30,
    width: int = 300,
    **options: Any,
) -> alt.LayerChart:
    """Draw a bar for each slice, with its interval, its number and its support.

    Slices stand in the order of the frame, null under the name null, and in the rows of margins "all" stands for the keys in
    `rolled_up`. A slice without a value has no bar, and "–" for its number. If slices differ in `n_categories`, it stands
    beside the support: a mean over other categories, or over many with few annotations each, is hard to compare.

    Parameters
    ----------
    slices
        an evaluation, or a list or a dict of several; or a table from `Evaluation.by`: keys, metrics, with `intervals=True`
        also their ends, and support. Tables of several runs stand one below the other, with a column `run`.
    metric
        the column to draw.
    by
        the columns that distinguish the slices; when left out, those before the first metric that have more than one value
        (`name` stands for `category_id` too). An evaluation is sliced by these columns.
    colour
        the column whose values stand side by side in each slice, up to seven of them; `run` if there is one.
    overall
        a value at which a dashed line is drawn, or one for each value of `colour`.
    support
        the column with the support of a slice.
    least
        slices with less support are pale with a dashed edge; slices of unknown support too.
    width
        the width of the bars alone, in pixels.
    options
        options of `Evaluation.by`, such as `level="category"` or `intervals=False`, with an evaluation.

    Raises
    ------
    ParameterError
        Altair is not installed; the metric is unknown; `by` and `colour` do not distinguish the rows; an unknown option.
    InputError, ColumnError
        there is nothing to draw; columns are missing.

    >>> import apframe as apf
    >>> table = pl.DataFrame({"weather": ["fog", "clear"], "AP": [0.2, 0.4], "n_annotations": [12, 340]})
    >>> chart = apf.plot.slices(table, overall=0.35)
    """
    alt = load_altair()
    sliced: list[Any] = []
    if is_made(slices, "by"):
        if by is None:
            raise ParameterError("an evaluation is sliced by a column", 'name it: by="weather"', option="by")
        sliced, by = [*by] if isinstance(by, (list, tuple)) else [by], None
    table = _frame(slices, sliced, options)
    if colour is None and RUN in table.columns:
        colour = RUN
    keys = _keys(table, colour) if by is None else key_names(by)
    rows = _rows(table, metric, support, least, slice=keys, colour=[] if colour is None else [colour])
    colours = _colours(rows, colour)
    lines = _overall(overall, colours)
    number = _number_format(table, metric)
    unit = support.removeprefix("n_").replace("_", " ")
    rows = rows.with_columns(text=pl.Series(_texts(rows, number, unit), dtype=pl.String))
    labels = rows["slice"].unique(maintain_order=True).to_list()
    title = " · ".join(keys)

    paint: Any = alt.value(PALETTE[0])
    extra: dict[str, Any] = {}
    if len(colours) > 1:
        scale = alt.Scale(domain=list(colours), range=list(colours.values()))
        legend = alt.Legend(orient="top", labelLimit=200, titleLimit=200, symbolType="square")
        paint = alt.Color("colour:N", title=colour, scale=scale, legend=legend)
        extra["yOffset"] = alt.YOffset("colour:N", scale=alt.Scale(domain=list(colours), paddingInner=0.1))
    few = alt.when("datum.few")
    axis = alt.Axis(titleAngle=0, titleAlign="right", titleX=-8, titleY=-10, labelLimit=190, ticks=False, domain=False)
    y = alt.Y("slice:N", title=title or None, axis=axis, scale=alt.Scale(domain=labels, paddingInner=0.25, paddingOuter=0.15))
    ends = pl.concat([rows["value"], rows["low"], rows["high"], lines["value"]]).drop_nulls()
    along = {"title": _meaning(metric), "scale": _from_zero(alt, [*ends]), "axis": alt.Axis(gridColor=GRID, tickCount=6)}
    tooltip = [alt.Tooltip("slice:N", title=title)] if title else []
    tooltip += [alt.Tooltip("colour:N", title=colour)] if colour is not None else []
    tooltip += _tooltip(alt, rows, metric, number)
    chart = alt.Chart(rows).encode(y=y, **extra)
    bars = chart.mark_bar(strokeWidth=1).encode(
        x=alt.X("value:Q", **along),
        color=paint,
        stroke=paint if len(colours) == 1 else alt.Stroke("colour:N", scale=scale, legend=None),
        fillOpacity=few.then(alt.value(_PALE)).otherwise(alt.value(1)),
        strokeDash=few.then(alt.value(_DASHED)).otherwise(alt.value(_SOLID)),
        tooltip=tooltip,
    )
    texts = chart.mark_text(align="left", fontSize=11).encode(
        x=alt.value(width + 8), text="text:N", color=few.then(alt.value(SOFT)).otherwise(alt.value("black"))
    )
    layers, notes = [bars, texts], list[str]()
    if rows["low"].count():
        layers[1:1] = draw_intervals(alt, chart.encode(color=alt.value(INK)), "x", **along)
        notes.append("error bars: intervals")
    if not lines.is_empty():
        each = alt.Color("colour:N", scale=scale) if lines["colour"].null_count() == 0 else alt.value("black")
        layers.append(alt.Chart(lines).mark_rule(strokeDash=[6, 4], strokeWidth=1.5).encode(x="value:Q", color=each))
        named = [f"{name or ''} {value:{number}}".strip() for name, value in lines.iter_rows()]
        notes.append(f"dashed line: overall {', '.join(named)}")
    if rows["few"].any():
        notes.append(f"pale: fewer than {least:,} {unit}")
    heading = head_chart(alt, f"{metric} by {title}" if title else metric, notes)
    height = len(labels) * (22 if len(colours) == 1 else 8 + 15 * len(colours))
    return alt.layer(*layers).properties(width=width, height=height, title=heading)


def slice_heatmap(
    slices: Any,
    x: str,
    y: str,
    metric: str = "AP",
    *,
    domain: tuple[float, float] | None = None,
    support: str = "n_annotations",
    least: int = 30,
    width: int = 460,
    **options: Any,
) -> alt.LayerChart:
    """Draw a metric for each pair of values of two keys, as a colour and in figures, with the support below it.

    Intervals, if the table has them, are in the tooltips.

    Bins and numbers stand in their own order, other values in that of the frame, null and "all" (in the rows of margins) last.
    A slice without a value is grey, with "–" for its number; a pair that the frame does not have is left blank.

    Parameters
    ----------
    slices
        an evaluation, or a table from `Evaluation.by`.
    x, y
        the keys: columns, and rows.
    metric
        the column to draw.
    domain
        the values at the ends of the colours, to compare charts; when left out, the lowest and the highest value of the slices
        with enough support, so that a slice of three objects does not stretch the colours. With 0 in its middle, as for gains,
        blue is below 0 and orange above.
    support, least
        see `slices`.
    width
        the width of the cells together, in pixels; more if the numbers would not fit.
    options
        options of `Evaluation.by`, such as `marginals=True`, with an evaluation.

    Raises
    ------
    ParameterError
        Altair is not installed; the metric is unknown; x and y do not distinguish the rows; the domain is empty; an unknown
        option.
    InputError, ColumnError
        there is nothing to draw; columns are missing.

    >>> import apframe as apf
    >>> slices = pl.DataFrame({"weather": ["fog", "fog"], "time": ["day", "night"], "AP": [0.4, 0.2], "n_annotations": [90, 8]})
    >>> chart = apf.plot.slice_heatmap(slices, "time", "weather")
    """
    alt, table = load_altair(), _frame(slices, [x, y] if is_made(slices, "by") else [], options)
    rows = _rows(table, metric, support, least, x=[x], y=[y])
    number = _number_format(table, metric)
    low, high = domain or _domain(rows)
    if not low < high:
        raise ParameterError(f"is two values, the lower one first, not {domain!r}", option="domain")
    unit = support.removeprefix("n_").replace("_", " ")
    rows = rows.with_columns(
        number=pl.Series([shown(one, number) for one in rows["value"]], dtype=pl.String),
        support=pl.Series([shown(n, ",.0f", "?") for n in rows["support"]], dtype=pl.String),
    )
    columns, lines = (_in_order(table, key, rows[axis]) for key, axis in ((x, "x"), (y, "y")))
    step = min(max(width / len(columns), 42), 100)
    upright = max(map(len, columns)) * 6 <= step
    axis_x = alt.Axis(labelAngle=0 if upright else -40, labelLimit=200, ticks=False, domain=False)
    axis_y = alt.Axis(titleAngle=0, titleAlign="right", titleX=-8, titleY=-10, labelLimit=200, ticks=False, domain=False)
    chart = alt.Chart(rows).encode(
        alt.X("x:N", title=x, axis=axis_x, scale=alt.Scale(domain=columns, padding=0.02)),
        alt.Y("y:N", title=y, axis=axis_y, scale=alt.Scale(domain=lines, padding=0.03)),
    )
    few = alt.when("datum.few")
    opacity = few.then(alt.value(_PALE)).otherwise(alt.value(1))
    height = 40 * len(lines)
    legend = alt.Legend(gradientLength=max(min(height, 200), 60), format=number, tickCount=4)
    name, extent = _DIVERGING if low == -high else _RISING
    scheme = alt.SchemeParams(name=name, extent=extent)
    scale = alt.Scale(scheme=scheme, domain=[low, high], clamp=True, nice=False)
    colour = alt.Color("value:Q", title=metric, legend=legend, scale=scale)
    tooltip = [alt.Tooltip("x:N", title=x), alt.Tooltip("y:N", title=y), *_tooltip(alt, rows, metric, number)]
    cells = chart.mark_rect().encode(
        color=colour, fillOpacity=opacity, tooltip=tooltip,
        stroke=few.then(alt.value(SOFT)).otherwise(alt.value("white")),
    )  # fmt: skip
    blanks = chart.mark_rect(color=_NO_VALUE).encode(tooltip=tooltip)
    numbers = chart.mark_text(dy=-6, fontSize=12, fontWeight="bold", color="black").encode(text="number:N")
    below = chart.mark_text(dy=9, fontSize=10, color="black").encode(text="support:N")
    notes = [f"below each number: {unit}"]
    if rows.select((pl.col("few") & pl.col("value").is_not_null()).any()).item():
        notes.append(f"pale: fewer than {least:,} {unit}")
    heading = head_chart(alt, f"{metric} by {x} and {y}", notes)
    layers = [cells.transform_filter("isValid(datum.value)"), blanks.transform_filter("!isValid(datum.value)"), numbers, below]
    return alt.layer(*layers).properties(width=round(step * len(columns)), height=height, title=heading)


def _frame(slices: Any, keys: Iterable[Any], options: Mapping[str, Any]) -> pl.DataFrame:
    table = table_of(slices, "slices", "by", [], options, keys, {"intervals": True})
    return table.pivot("measure", values="value", maintain_order=True) if {"measure", "value"} <= {*table.columns} else table


def _keys(table: pl.DataFrame, colour: str | None) -> list[str]:
    """Return the keys that distinguish the slices: columns before the first metric with more than one value."""
    keys = [name for name in _before_metrics(table) if name != colour]
    return telling_columns(table, keys) or keys


def _before_metrics(table: pl.DataFrame) -> list[str]:
    metrics = _metrics(table)
    before = table.columns[: table.columns.index(metrics[0])] if metrics else table.columns
    return [name for name in before if name not in ("rolled_up", *SUPPORT)]


def _other_key(table: pl.DataFrame, keys: list[str]) -> str:
    """Return the end of a message about slices with equal labels: another key that distinguishes them."""
    others = [name for name in telling_columns(table, _before_metrics(table)) if name not in keys]
    if not others:
        return "; name all keys, or filter"
    name, value = others[0], table[others[0]].drop_nulls().first()
    return f", as there are {table[name].n_unique()} values of {name}; filter to one ({name} = {value!r}), or make {name} a key"


def _metrics(table: pl.DataFrame) -> list[str]:
    """Return the columns of metrics: all numbers from the first named AP or AR, or else from the first float column."""
    ends = {f"{name}{end}" for name in table.columns for end in _ENDS}
    numeric = [name for name, dtype in table.schema.items() if _is_numeric(dtype) and name not in {*SUPPORT, *ends}]
    averages = [name for name in numeric if name.startswith(("AP", "AR"))]
    fractions = [name for name in numeric if table.schema[name].is_float()]
    first = (averages or fractions)[:1]
    return numeric[numeric.index(first[0]) :] if first else []


def _is_numeric(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Null


def _rows(table: pl.DataFrame, metric: str, support: str, least: int, **labels: list[str]) -> pl.DataFrame:
    """Return labels, value, low and high (null if not finite), support, few (less than the least) and all support columns."""
    if metric not in table.columns:
        near = did_you_mean(str(metric), _metrics(table) or table.columns)
        raise ParameterError(f"the slices have no {metric!r}", near, option="metric")
    keys = [key for named in labels.values() for key in named]
    refuse_missing("slices", table, [*keys, support])
    for name in (metric, support):
        if not _is_numeric(table.schema[name]):
            raise ColumnError(f"{name} holds {table.schema[name]}, not numbers", table="slices")
    if not least >= 0:
        raise ParameterError(f"is a number of {support}, not {least!r}", option="least")
    if table.is_empty():
        raise InputError("there is nothing to draw", "it has no rows", table="slices")
    ends = [table[name] if (name := f"{metric}{end}") in table.columns else _no_numbers(table) for end in _ENDS[1:]]
    marks = interval_marks(table[metric], *ends)
    counts = {name: pl.col(name).cast(pl.Float64) for name in SUPPORT if name in table.columns}
    rows = table.select(
        **{label: _slice_names(table, named) for label, named in labels.items()},
        **{name: marks[name] for name in ("value", "low", "high")},
        support=exact(support).cast(pl.Float64),
        few=(exact(support) < least).fill_null(True),
        **counts,
    )
    if rows["value"].null_count() == rows.height:
        raise InputError(f"there is nothing to draw; {metric} is null throughout: nothing could be evaluated", table="slices")
    if rows.select(*labels).is_duplicated().any():
        raise ParameterError(f"{', '.join(keys) or 'nothing'} does not distinguish the slices{_other_key(table, keys)}")
    if rows.height > MOST_ROWS:
        raise InputError(f"{rows.height:,} are too many for one chart", "filter them", table="slices")
    return rows


def _no_numbers(table: pl.DataFrame) -> pl.Series:
    return pl.repeat(None, table.height, dtype=pl.Float64, eager=True)


def _slice_names(table: pl.DataFrame, keys: list[str]) -> pl.Expr:
    """Return the values of the keys in one text, with "all" in rows over all values of a key."""
    if "rolled_up" not in table.columns:
        return add_names(table, keys)
    rolled_up = ", " + pl.col("rolled_up").cast(pl.String).fill_null("") + ", "
    is_all = [rolled_up.str.contains(f", {key}, ", literal=True) for key in keys]  # a key may have a comma in its name
    names = [
        pl.when(rolled).then(pl.lit(_ALL)).otherwise(add_names(table, [key])) for key, rolled in zip(keys, is_all, strict=True)
    ]
    is_total = pl.all_horizontal(is_all) if keys else pl.lit(False)
    text = pl.concat_str(names, separator=" · ") if names else pl.lit("")
    return pl.when(is_total).then(pl.lit(_ALL)).otherwise(text)


def _in_order(table: pl.DataFrame, key: str, labels: pl.Series) -> list[str]:
    """Return the labels in the order of an axis: that of the values if they are ordered, otherwise that of the frame."""
    dtype = table.schema[key]
    has_order = dtype == pl.Enum or dtype.is_numeric() or dtype.is_temporal() or dtype == pl.Boolean
    axis = pl.DataFrame({"label": labels, "key": table[key]}).with_row_index("row").unique("label", maintain_order=True)
    margin_last = [pl.col("label") == _ALL] if "rolled_up" in table.columns else []
    null_last = pl.col("key").is_null()
    return axis.sort(*margin_last, null_last, *(["key"] if has_order else []), "row")["label"].to_list()


def _colours(rows: pl.DataFrame, colour: str | None) -> dict[str, str]:
    names = rows["colour"].unique(maintain_order=True).to_list()
    if len(names) > len(PALETTE):
        raise InputError(f"{len(names):,} values of {colour} are too many to stand side by side", "filter them", table="slices")
    return dict(zip(names, PALETTE, strict=False))


def _overall(overall: float | Mapping[str, float] | None, colours: dict[str, str]) -> pl.DataFrame:
    """Return the colour (null for one line over all) and the value of each dashed line."""
    if not isinstance(overall, Mapping):
        values: dict[str | None, float | None] = {} if overall is None else {None: overall}
    else:
        unknown = [name for name in overall if name not in colours]
        if unknown:
            raise ParameterError(
                f"there are no slices of {unknown[0]!r}", did_you_mean(str(unknown[0]), [*colours]), option="overall"
            )
        values = {name if len(colours) > 1 else None: value for name, value in overall.items()}
    lines = pl.DataFrame({"colour": [*values], "value": [*values.values()]}, {"colour": pl.String, "value": pl.Float64})
    return lines.filter(pl.col("value").is_finite())


def _domain(rows: pl.DataFrame) -> tuple[float, float]:
    valued = rows.drop_nulls("value")
    enough = valued.filter(~pl.col("few"))
    value = (valued if enough.is_empty() else enough)["value"]
    low, high = value.min(), value.max()
    return (low, high) if low < high else (low - 0.5, high + 0.5)  # type: ignore[operator,return-value]


def _texts(rows: pl.DataFrame, number: str, unit: str) -> list[str]:
    one = f"{unit[:-3]}y" if unit.endswith("ies") else unit.removesuffix("s")
    texts = [
        f"{shown(value, number)} · {shown(n, ',.0f', '?')} {one if n == 1 else unit}"
        for value, n in rows.select("value", "support").iter_rows()
    ]
    if unit == "categories" or "n_categories" not in rows.columns or rows["n_categories"].n_unique() == 1:
        return texts
    counts = [f"{shown(n, ',.0f', '?')} {'category' if n == 1 else 'categories'}" for n in rows["n_categories"]]
    return [f"{text}, {count}" for text, count in zip(texts, counts, strict=True)]


def _number_format(table: pl.DataFrame, metric: str) -> str:
    return ",.0f" if table.schema[metric].is_integer() else ".3f"  # the same for Python and for D3


def _meaning(metric: str) -> str:
    meanings = {"AP": " (average precision)", "AR": " (average recall)"}
    return metric + meanings.get(metric[:2], "")


def _from_zero(alt: Any, values: list[float]) -> Any:
    low, high = min(0.0, *values), max(0.0, *values)
    return alt.Scale(domain=[low, high if high > low else 1.0], nice=True)


def _tooltip(alt: Any, rows: pl.DataFrame, metric: str, number: str) -> list[Any]:
    counts = [alt.Tooltip(f"{name}:Q", format=",.0f") for name in SUPPORT if name in rows.columns]
    digits = ".4f" if number == ".3f" else number
    interval = [alt.Tooltip(f"{end}:Q", title=f"{metric} {end}", format=digits) for end in ("low", "high") if rows[end].count()]
    return [alt.Tooltip("value:Q", title=metric, format=digits), *interval, *counts]

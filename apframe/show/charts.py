"""Charts of curves, drawn with Altair, which comes with the extra `charts` and is imported when a chart is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import InputError, ParameterError, import_optional
from apframe.lists.list_curves import Keys, key_names, refuse_missing, thin_curve, thin_roc
from apframe.lists.vlfeat_pr import PrecisionRecall
from apframe.show.chart_tables import is_made, table_of
from apframe.show.colours import GRID, PALETTE, SOFT
from apframe.tables.column_sources import kind_of, to_polars

if TYPE_CHECKING:
    import altair as alt

_GREY = "#c8c8c8"
MOST_ROWS = 5_000  # Altair rejects more in one table
MOST_POINTS = 101  # of one curve
_TINY = 0.1  # if no score is higher, most of an axis from 0 to 1 would be empty
TICKS, TICK_FORMAT = (0, 0.25, 0.5, 0.75, 1), ".3~g"  # of axes from 0 to 1
TITLES = {
    "score_threshold": "score",
    "f1": "F1",
    "tp": "true positives",
    "fp": "false positives",
    "fn": "missed",
    "fppi": "false positives per image",
    "mean_target": "share that is right",
    "n": "number of detections",
}
_ENDS = 3  # with more curves than colours, this many of the largest and of the smallest area are coloured

_NUMBERS = count(1)


def precision_recall(
    curve: Any,
    by: Keys | None = None,
    *,
    iso_f: Sequence[float] = (0.2, 0.4, 0.6, 0.8),
    random_baseline: float | bool | None = None,
    interpolated: bool = False,
    width: int = 480,
    height: int = 320,
    max_points: int = MOST_POINTS,
    **options: Any,
) -> alt.LayerChart:
    """Draw precision over recall, with a line for each curve.

    The lines are steps back to the previous recall, so the area below them is the average precision "step", or, with
    `interpolated`, "interpolated". Long curves are drawn with fewer points that look the same. More than seven curves share one
    grey, except for the three of largest and the three of smallest area; tooltips name all. Curves without positives (recall is
    null) are left out. The title gives the IoU threshold and the area range if all curves have the same.

    Parameters
    ----------
    curve
        an evaluation, or a list or a dict of several; or a table from `precision_recall_curve` or `Evaluation.curves`: the
        keys, rank, score, precision, recall, and interpolated_precision or envelope.
    by
        the columns that distinguish the curves; when left out, those before `rank` that have more than one value
        (`name` stands for `category_id` too). An evaluation is sliced by these columns.
    iso_f
        the values of F1 at which a line is drawn, `precision = F recall / (2 recall - F)`.
    random_baseline
        the precision of a random order, which is the share of positives, as a dashed line; True uses the last precision of each
        curve, which is that share if everything was retrieved.
    interpolated
        draw the best precision at each recall or beyond.
    max_points
        the most points of each curve, see `thin_curve`; fewer if all curves together exceed the 5,000 rows that Altair accepts.
    options
        options of `Evaluation.curves`, such as `iou_threshold` and `category`, with an evaluation.

    Raises
    ------
    ParameterError
        Altair is not installed; `by` does not distinguish the curves; a share that is not in (0, 1]; an unknown option.
    InputError, ColumnError
        there is nothing to draw; columns are missing.

    >>> import apframe as apf
    >>> items = pl.DataFrame({"relevant": [1, 0, 1], "score": [0.9, 0.5, 0.1]})
    >>> chart = apf.plot.precision_recall(apf.lists.precision_recall_curve(items, n_positives=2), random_baseline=2 / 3)
    """
    alt = load_altair()
    baseline = [] if random_baseline is None or isinstance(random_baseline, bool) else [random_baseline]
    if not all(0 < share <= 1 for share in (*iso_f, *baseline)):
        raise ParameterError(f"values of F and the random baseline lie in (0, 1], got {[*iso_f, *baseline]}")
    x, y = "recall", "precision"
    if is_made(curve, "curves"):
        options, by = {**options, "by": by or ()}, None
    table = table_of(curve, "curve", "curves", ["rank", "score", x], options)
    if interpolated:
        y = "interpolated_precision"
        table = table.rename({"envelope": y}, strict=False)  # its name among the curves of an evaluation
    title, colours, points = _named_curves(table, by, x, y, area=pl.col(y) * (pl.col(x) - pl.col(x).shift(1, fill_value=0.0)))
    colour = colour_channel(alt, title, colours, offset=56 if iso_f else 18)
    behind = _iso_f(alt, x, y, iso_f) if iso_f else []
    if baseline:
        behind += _random_order(alt, {x: [0.0, 1.0], y: baseline * 2}, label_at=(0.0, 5, -6))
    elif random_baseline:
        shares = points.group_by("curve", maintain_order=True).last().select(y, "colour")
        behind.append(alt.Chart(shares).mark_rule(strokeDash=[6, 4], strokeWidth=1).encode(_axes(alt, x, y)[1], color=colour))
    marks = curve_marks(points, x, y, most_points(points, max_points), start=0.0)
    lines = draw_lines(alt, marks, _axes(alt, x, y), _tooltip(alt, title, x, y), colour, "step-before")
    chart = alt.layer(*behind, *lines).properties(width=width, height=height)
    conditions = shared_conditions(table)
    return chart.properties(title=head_chart(alt, "Precision over recall", conditions)) if conditions else chart


def roc(
    curve: Any, by: Keys | None = None, *, width: int = 360, height: int = 360, max_points: int = MOST_POINTS
) -> alt.LayerChart:
    """Draw the true positive rate over the false positive rate, with a line for each curve and the diagonal of a random order.

    `curve` is a table from `roc_curve`; the other parameters and the errors are as in `precision_recall`. Points are joined by
    straight lines. Curves without positives or without negatives are left out.

    >>> import apframe as apf
    >>> items = pl.DataFrame({"relevant": [1, 0, 1], "score": [0.9, 0.5, 0.1]})
    >>> chart = apf.plot.roc(apf.lists.roc_curve(items, n_positives=2, n_negatives=1))
    """
    alt, x, y = load_altair(), "false_positive_rate", "true_positive_rate"
    step, height_twice = pl.col(x) - pl.col(x).shift(1, fill_value=0.0), pl.col(y) + pl.col(y).shift(1, fill_value=0.0)
    title, colours, points = _named_curves(to_polars(curve, "curve"), by, x, y, area=step * height_twice / 2)
    colour = colour_channel(alt, title, colours, offset=18)
    behind = _random_order(alt, {x: [0.0, 0.5, 1.0], y: [0.0, 0.5, 1.0]}, label_at=(0.5, 8, 10))
    points = thin_roc(points, most_points(points, max_points), by="curve")
    lines = draw_lines(alt, points, _axes(alt, x, y), _tooltip(alt, title, x, y), colour, "linear")
    return alt.layer(*behind, *lines).properties(width=width, height=height)


def vl_pr(result: PrecisionRecall) -> alt.LayerChart:
    """Draw the curve of `apf.lists.vl_pr` and a random order, with AUC, AP and AP11 in the title, as VLFeat does.

    >>> import apframe as apf
    >>> chart = apf.plot.vl_pr(apf.lists.vl_pr([1, -1, 1], [0.9, 0.5, 0.1]))
    """
    if not isinstance(result, PrecisionRecall):
        raise InputError(f"{kind_of(result)} is not a result of vl_pr", "pass the result of apf.lists.vl_pr", table="curve")
    retrieved = result.curve.drop_nulls(["recall", "score"]).sort("score", descending=True, maintain_order=True)
    chart = precision_recall(retrieved.with_row_index("rank", 1), [], iso_f=(), random_baseline=result.random_baseline)
    values = {"AUC": result.auc, "AP": result.ap, "AP11": result.ap_interp_11}
    return chart.properties(title=", ".join(f"{name} {value:.2%}" for name, value in values.items() if value is not None))


def load_altair() -> Any:
    """Return the module, or raise an error that names the extra to install."""
    return import_optional("altair", "charts need Altair", "altair", "charts")


def _named_curves(
    table: pl.DataFrame, by: Keys | None, x: str, y: str, *, area: pl.Expr
) -> tuple[str, dict[str, str], pl.DataFrame]:
    """Return the title of the legend, its names with their colours, and the points.

    The points have rank, score, x, y, curve (its name) and colour (the name in the legend). `area` is how much each point adds
    to the area below its curve.
    """
    refuse_missing("curve", table, ["rank", "score", x, y, *key_names(by or [])])
    if by is None:
        before = table.columns[: table.columns.index("rank")]
        by = telling_columns(table, before)
    keys = key_names(by)
    points = table.drop_nulls([x, y])
    if points.is_empty():
        why = "it has no rows" if table.is_empty() else f"{x} or {y} is null throughout: positives or negatives are missing"
        raise InputError("there is nothing to draw", f"{why}", table="curve")
    refuse_alike(points[[*keys, "rank"]], keys, "the curves: the same rank appears more than once")
    score = pl.col("score").cast(pl.Float64)
    finite = pl.when(score.is_finite()).then(score)  # JSON has no infinity
    points = points.select("rank", finite, x, y, curve=add_names(points, keys))
    return add_colours(" · ".join(keys), points, area.sum(), "area under the curve")


def refuse_alike(rows: pl.DataFrame, keys: Sequence[str], what: str) -> None:
    """Raise an error if rows are repeated, so that the keys do not distinguish the drawn rows."""
    if rows.is_duplicated().any():
        problem = f"{', '.join(keys) or 'nothing'} does not distinguish {what}"
        raise ParameterError(problem, "name all keys, or filter", option="by")


def telling_columns(table: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the keys with more than one value; `name` without `category_id` if each category has its own name."""
    several = [key for key in keys if table[key].n_unique() > 1]
    if {"category_id", "name"} <= set(several):
        categories = table.select("category_id", "name").unique()
        if not categories["name"].is_duplicated().any():
            several.remove("category_id")
    return several


def keys_before(table: pl.DataFrame, column: str) -> list[str]:
    """Return the keys before a column that distinguish the curves of a table, or the name alone if none does.

    >>> keys_before(pl.DataFrame({"run": ["a", "b"], "name": ["cat"] * 2, "score": [0.5] * 2}), "score")
    ['run']
    """
    telling = telling_columns(table, table.columns[: table.columns.index(column)])
    return telling or (["name"] if "name" in table.columns and table["name"].count() else [])


def chosen_keys(given: Any, method: str, table: pl.DataFrame, by: Keys) -> list[str]:
    """Return the columns that `by` names; a table has all of them, but this method of an evaluation has no slices.

    >>> chosen_keys({"bin": [1]}, "reliability", pl.DataFrame({"bin": [1]}), "bin")
    ['bin']
    """
    keys = [by] if isinstance(by, str) or not isinstance(by, Iterable) else [*by]
    if is_made(given, method) and not all(key in table.columns for key in keys):
        raise ParameterError(f"{method} has no slices", "draw ev.where(...) of each in a dict", option="by")
    refuse_missing(method, table, keys)
    return keys


def add_names(table: pl.DataFrame, keys: Sequence[str]) -> pl.Expr:
    """Return the values of the keys in one text, with "null" for null."""
    rounded = [exact(key).round_sig_figs(6) if table.schema[key].is_float() else exact(key) for key in keys]
    names = [key.cast(pl.String).fill_null("null") for key in rounded]
    return pl.concat_str(names, separator=" · ") if names else pl.lit("")


def add_colours(title: str, points: pl.DataFrame, size: pl.Expr, by: str) -> tuple[str, dict[str, str], pl.DataFrame]:
    """Return the title of the legend, its names with their colours, and the points with `colour`, their legend name.

    If there are more curves than colours, they share one grey, except for those of largest and smallest `size`, an aggregate.
    """
    curves = points["curve"].unique(maintain_order=True).to_list()
    if len(curves) <= len(PALETTE):
        return title, dict(zip(curves, PALETTE, strict=False)), points.with_columns(colour="curve")
    in_size = points.group_by("curve", maintain_order=True).agg(size=size).sort("size", descending=True, maintain_order=True)
    by_size = in_size["curve"].to_list()
    others = f"the other {len(curves) - 2 * _ENDS}"
    is_other = pl.col("curve").is_in(by_size[_ENDS:-_ENDS])
    coloured = points.with_columns(colour=pl.when(is_other).then(pl.lit(others)).otherwise("curve"))
    colours = dict(zip([*by_size[:_ENDS], *by_size[-_ENDS:]], PALETTE, strict=False))
    in_order = {name: colours.get(name, _GREY) for name in [*by_size[:_ENDS], others, *by_size[-_ENDS:]]}
    # grey first, as later curves are drawn over it
    return f"{title}, by {by}", in_order, coloured.sort(~is_other, maintain_order=True)


def shared_conditions(table: pl.DataFrame) -> list[str]:
    """Return a line below the title with the IoU threshold and the area range, if all rows have the same.

    >>> shared_conditions(pl.DataFrame({"iou_threshold": [0.5, 0.5], "area_range": ["all", "all"]}))
    ['IoU threshold 0.5, area range all']
    >>> shared_conditions(pl.DataFrame({"iou_threshold": [0.5, 0.75]}))
    []
    """
    names = {"iou_threshold": "IoU threshold", "area_range": "area range"}
    shared_keys = [key for key in names if key in table.columns and table[key].n_unique() == 1]
    conditions = [f"{names[key]} {table.select(add_names(table, [key])).item(0, 0)}" for key in shared_keys]
    return [", ".join(conditions)] if conditions else []


def head_chart(alt: Any, text: str, notes: list[str]) -> Any:
    """Return a title over the whole chart with notes below it; an empty list of notes would leave a gap."""
    below = {"subtitle": notes} if notes else {}
    return alt.Title(text, anchor="start", frame="group", offset=10, **below)


def curve_marks(
    points: pl.DataFrame, x: str, y: str, max_points: int = MOST_POINTS, *, start: float | None = None
) -> pl.DataFrame:
    """Thin curves to points that look the same, in their order, and keep the points that are best.

    Parameters
    ----------
    points
        curve (its name), x and y, in rising or falling order of x; is_best if some points must be kept
    max_points
        the most points of each curve, see `thin_curve`
    start
        the x at which curves begin, with the y of their first point: 0 for precision over recall

    >>> points = pl.DataFrame({"curve": ["new"] * 2, "recall": [0.5, 1.0], "precision": [1.0, 0.5], "is_best": [False, True]})
    >>> curve_marks(points, "recall", "precision", start=0.0).drop("curve").rows()
    [(0.0, 1.0, False), (0.5, 1.0, False), (1.0, 0.5, True)]
    """
    is_best = pl.col("is_best") if "is_best" in points.columns else pl.lit(value=False)
    numbered = points.with_row_index("at")
    thin = thin_curve(numbered, max(max_points - 2, min(max_points, 2)), by="curve", along=x, across=y)
    marks = numbered.filter(pl.col("at").is_in(thin["at"].implode()) | is_best)
    if start is not None:
        first = {x: start, "rank": 0, "score": None, "is_best": False}
        starts = marks.unique("curve", keep="first", maintain_order=True).with_columns(
            pl.lit(value, marks.schema[name]).alias(name) for name, value in first.items() if name in marks.columns
        )
        marks = pl.concat([starts, marks]).sort("at", maintain_order=True)
    return marks.drop("at")


def most_points(points: pl.DataFrame, max_points: int) -> int:
    """Return the most points per curve with which all fit, with one more for each; short curves leave room for long ones.

    >>> most_points(pl.DataFrame({"curve": ["a", "a", "b"]}), 101)
    101
    """
    lengths = points.group_by("curve").len()["len"].sort().to_list()
    left = MOST_ROWS - len(lengths)
    if left < 2 * len(lengths) and max_points >= 2:
        raise InputError(f"{len(lengths):,} curves are too many for one chart", "filter them", table="curve")
    for n_left, length in zip(range(len(lengths), 0, -1), lengths, strict=True):
        if length * n_left > left:
            return min(max_points, left // n_left)
        left -= length
    return max_points


def _axes(alt: Any, x: str, y: str) -> list[Any]:
    return [rate_channel(alt, channel, name) for channel, name in ((alt.X, x), (alt.Y, y))]


def rate_channel(alt: Any, channel: Any, name: str, title: str | None = "", **axis: Any) -> Any:
    """Return a channel from 0 to 1, with the ticks and the title of the report."""
    scale = alt.Scale(domain=[0, 1], nice=False)
    shown = alt.Axis(**{"values": TICKS, "format": TICK_FORMAT, "gridColor": GRID} | axis)
    heading = TITLES.get(name, name.replace("_", " ")) if title == "" else title
    return channel(f"{name}:Q", title=heading, scale=scale, axis=shown)


def score_ends(scores: pl.Series) -> tuple[float, float]:
    """Return the two ends of an axis of scores: 0 and 1, unless scores are outside this range or all tiny.

    >>> score_ends(pl.Series([0.2, 0.7])), score_ends(pl.Series([-2.0, 0.05]))
    ((0.0, 1.0), (-2.0, 0.05))
    """
    low, high = (float(end) for end in (scores.min(), scores.max()))  # type: ignore[arg-type]
    return min(low, 0.0), high if high > 1 or high < _TINY else 1.0


def score_channel(alt: Any, name: str, ends: tuple[float, float]) -> Any:
    """Return the horizontal channel of scores, with the ticks of the report."""
    low, high = ends
    axis = alt.Axis(values=[low + tick * (high - low) for tick in TICKS], format=TICK_FORMAT, gridColor=GRID)
    return alt.X(f"{name}:Q", title=TITLES[name], scale=alt.Scale(domain=[low, high], nice=False), axis=axis)


def colour_channel(alt: Any, title: str | list[str], colours: dict[str, str], *, offset: int) -> Any:
    """Return the colour channel of named lines, with a legend if there are several."""
    if len(colours) == 1:
        return alt.value(PALETTE[0])
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, labelLimit=240, titleLimit=240, offset=offset)
    return alt.Color("colour:N", title=title, scale=scale, legend=legend)


def _tooltip(alt: Any, title: str, x: str, y: str) -> list[Any]:
    curve = [alt.Tooltip("curve:N", title=title)] if title else []
    rates = [alt.Tooltip(f"{name}:Q", title=name.replace("_", " "), format=".4f") for name in (x, y)]
    return [*curve, "rank:Q", alt.Tooltip("score:Q", format=".4g"), *rates]


def draw_lines(alt: Any, points: pl.DataFrame, axes: list[Any], tooltip: list[Any], colour: Any, interpolate: str) -> list[Any]:
    """Draw the lines, and points over them that appear with a tooltip when the mouse is near."""
    # unique names: charts side by side would share one selection, with a warning
    near = alt.selection_point(name=f"near_{next(_NUMBERS)}", on="pointerover", clear="pointerout", nearest=True, empty=False)
    chart = alt.Chart(points).encode(*axes, color=colour)
    width = 1.5 if points["curve"].n_unique() <= len(PALETTE) else 1
    lines = chart.mark_line(interpolate=interpolate, strokeWidth=width).encode(detail="curve:N", order="rank:Q")
    dots = chart.mark_circle(size=50).encode(tooltip=tooltip, opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0)))
    return [lines, dots.transform_filter("datum.rank > 0").add_params(near)]


def _iso_f(alt: Any, x: str, y: str, values: Sequence[float]) -> list[Any]:
    """Draw grey lines of equal F1, from precision 1 to recall 1, with the value to the right of each."""
    rows, n = [], 60
    for f in values:
        recalls = [(f / (2 - f)) ** (1 - step / n) for step in range(n + 1)]
        rows += [{"f": f, x: recall, y: f * recall / (2 * recall - f)} for recall in recalls]
    ends = pl.DataFrame({x: [1.0 for _ in values], y: [f / (2 - f) for f in values], "f": [f"F1 = {f:g}" for f in values]})
    axes = _axes(alt, x, y)
    lines = alt.Chart(pl.DataFrame(rows)).mark_line(color="#dddddd", strokeWidth=1).encode(*axes, detail="f:N")
    labels = alt.Chart(ends).mark_text(align="left", dx=4, color=SOFT, fontSize=10).encode(*axes, text="f:N")
    return [lines, labels]


def _random_order(alt: Any, line: dict[str, list[float]], *, label_at: tuple[float, int, int]) -> list[Any]:
    """Draw the dashed line of a random order, with a label at this x, moved by dx and dy."""
    (x, y), (at, dx, dy) = line, label_at
    chart = alt.Chart(pl.DataFrame(line)).encode(*_axes(alt, x, y))
    label = chart.mark_text(text="random order", align="left", dx=dx, dy=dy, color=SOFT)
    dashed = chart.mark_line(color=SOFT, strokeDash=[6, 4], strokeWidth=1)
    return [dashed, label.transform_filter(f"datum.{x} == {at}")]

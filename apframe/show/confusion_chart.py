"""The chart of a confusion matrix: a heat map, or bars for the largest mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError, one_of, whole_number
from apframe.lists.list_curves import refuse_missing
from apframe.show.charts import DARK_GREY, PALETTE, head_chart, load_altair, shared_conditions
from apframe.tables.sources import to_polars
from apframe.wording import counted

if TYPE_CHECKING:
    import altair as alt

_SIDES = ("true", "found")
_NOTHING = {"true": "(background)", "found": "(missed)"}
_KINDS = {"right": ("blues", 0.95), "mistaken": ("oranges", 0.95), "other": ("greys", 0.5)}  # schemes, and where they end
_DARK = 0.6  # share of the strongest colour from which numbers are white


def plot_confusion(confusion: Any, kind: str = "matrix", *, most: int = 30, width: int = 480) -> alt.LayerChart:
    """Draw a confusion matrix as a heat map of the counts, or bars for the largest mistakes.

    In the heat map, rows are true and columns found categories; the last row is background, the last column missed. Cells are
    blue where detections are right, orange where one category is found as another, and grey elsewhere; each darker with its
    share of the row (of the column for background). Beyond `most` categories, those with the most mistakes are shown, and the
    others together.

    Parameters
    ----------
    confusion
        from `Evaluation.confusion`: true_category_id, true_name, found_category_id, found_name, n
    kind
        "matrix", or "cells" for bars of the largest cells of one category found as another
    most
        at most this many categories, or cells, from 1 to 60
    width
        of the cells together in pixels, more where numbers would have no room; or of the bars

    Raises
    ------
    ParameterError
        Altair is not installed; another kind; `most` is not such a number
    InputError, ColumnError
        there is nothing to draw; the rows are of several thresholds; columns are missing

    >>> table = {"true_category_id": [1, 1], "true_name": ["cat", "cat"], "found_category_id": [1, 2],
    ...          "found_name": ["cat", "dog"], "n": [9, 1]}
    >>> chart = plot_confusion(pl.DataFrame(table))  # doctest: +SKIP
    """
    alt, table = load_altair(), to_polars(confusion, "confusion")
    one_of("kind", kind, ("matrix", "cells"))
    most = whole_number("most", most, most=60)
    cells = _labelled(table)
    return _draw_cells(alt, table, cells, most, width) if kind == "cells" else _draw_matrix(alt, table, cells, most, width)


def _labelled(table: pl.DataFrame) -> pl.DataFrame:
    """true, found (a number for each category, in the order of the ids; null for none), their labels, and n."""
    refuse_missing("confusion", table, [*(f"{side}_{name}" for side in _SIDES for name in ("category_id", "name")), "n"])
    if table.is_empty():
        raise InputError("there is nothing to draw", "it has no rows", table="confusion")
    if table.select("true_category_id", "found_category_id").is_duplicated().any():
        raise InputError("cells appear more than once", "filter to one evaluation and threshold", table="confusion")
    both = (table.select(id=f"{side}_category_id", name=f"{side}_name") for side in _SIDES)
    known = pl.concat(both, how="vertical_relaxed").filter(pl.col("id").is_not_null()).unique("id").sort("id")
    text = pl.col("id").cast(pl.String)
    name = pl.col("name").fill_null(text)
    label = pl.when(name.is_duplicated()).then(pl.concat_str(name, pl.lit(" "), text)).otherwise(name)
    known = known.select("id", label=label).with_row_index("number")
    for side in _SIDES:
        table = table.with_columns(pl.col(f"{side}_category_id").cast(known["id"].dtype))
        of_side = known.rename({"id": f"{side}_category_id", "number": side, "label": f"{side}_label"})
        table = table.join(of_side, on=f"{side}_category_id", how="left", maintain_order="left")
    return table.select(*_SIDES, *(pl.col(f"{side}_label") for side in _SIDES), pl.col("n").cast(pl.Int64))


def _draw_matrix(alt: Any, table: pl.DataFrame, cells: pl.DataFrame, most: int, width: int) -> Any:
    cells, labels, n_others = _fold(cells, most)
    axes = {side: [*labels, _NOTHING[side]] for side in _SIDES}
    grey = "missed, or nothing is there" + (", or among the others" if n_others else "")
    notes = [*_conditions(table), f"blue: right; orange: predicted as another category; grey: {grey}"]
    notes += [f"{most:,} of {most + n_others:,} categories: those with the most mistakes"] if n_others else []
    step = min(max(width / len(axes["found"]), 26), 60)
    axis_x = alt.Axis(labelAngle=-40, labelLimit=160, ticks=False, domain=False, orient="top")
    axis_y = alt.Axis(labelLimit=160, ticks=False, domain=False)
    chart = alt.Chart(cells).encode(
        alt.X("found:N", title="predicted as", axis=axis_x, scale=alt.Scale(domain=axes["found"], padding=0.03)),
        alt.Y("true:N", title="true category", axis=axis_y, scale=alt.Scale(domain=axes["true"], padding=0.03)),
    )
    tooltip = ["true:N", alt.Tooltip("found:N", title="predicted as"), alt.Tooltip("n:Q", format=",")]
    tooltip += [alt.Tooltip(f"of_{side}:Q", title=f"share of {side}", format=".1%") for side in _SIDES]
    layers = []
    for name, (scheme, end) in _KINDS.items():
        scale = alt.Scale(scheme=alt.SchemeParams(name=scheme, extent=[0.05, end]), domain=[0, 1])
        colour = alt.Color("depth:Q", scale=scale, legend=None)
        layers.append(chart.mark_rect().encode(color=colour, tooltip=tooltip).transform_filter(f"datum.kind == '{name}'"))
    white = alt.when(f"datum.kind != 'other' && datum.depth > {_DARK}").then(alt.value("white")).otherwise(alt.value("black"))
    numbers = chart.mark_text(fontSize=11 if step >= 34 else 9).encode(text=alt.Text("n:Q", format=","), color=white)
    heading = head_chart(alt, "Confusion matrix", notes)
    sides = {"width": round(step * len(axes["found"])), "height": round(min(step, 30) * len(axes["true"]))}
    return alt.layer(*layers, numbers).resolve_scale(color="independent").properties(**sides, title=heading)


def _fold(cells: pl.DataFrame, most: int) -> tuple[pl.DataFrame, list[str], int]:
    """The cells by label, with the categories of fewest mistakes as one; the labels in order; how many are that one.

    Columns: true, found, n, kind (right, mistaken or other), depth (of the colour), of_true, of_found (shares; null for none).
    """
    each = pl.concat(
        cells.select(number=side, label=f"{side}_label", n="n", other=other) for side, other in (_SIDES, _SIDES[::-1])
    )
    is_mistake = pl.col("number") != pl.col("other")
    categories = each.drop_nulls("number").group_by("number", "label").agg(pl.col("n").filter(is_mistake).sum())
    kept = categories.sort("n", "number", descending=[True, False]).head(most).sort("number")
    n_others = categories.height - kept.height
    others = f"({n_others:,} others)"
    labels = {
        side: pl.when(pl.col(side).is_null()).then(pl.lit(_NOTHING[side]))
        .when(pl.col(side).is_in(kept["number"].implode())).then(f"{side}_label").otherwise(pl.lit(others))
        for side in _SIDES
    }  # fmt: skip
    is_right = (pl.col("true") == pl.col("found")).fill_null(False)
    folded = cells.select("n", is_right=is_right, **labels).group_by(_SIDES).agg(pl.col("n").sum(), pl.col("is_right").all())
    is_nothing = [pl.col(side) == _NOTHING[side] for side in _SIDES]
    among_others = (pl.col("true") == others) & (pl.col("found") == others)
    of_true, of_found = (pl.col("n") / pl.col("n").sum().over(side) for side in _SIDES)
    kind = (
        pl.when(pl.any_horizontal(*is_nothing, among_others)).then(pl.lit("other"))
        .when("is_right").then(pl.lit("right")).otherwise(pl.lit("mistaken"))
    )  # fmt: skip
    share = pl.when(is_nothing[0]).then(of_found).otherwise(of_true)
    shown = {"of_true": pl.when(~is_nothing[0]).then(of_true), "of_found": pl.when(~is_nothing[1]).then(of_found)}
    folded = folded.sort(_SIDES).with_columns(kind=kind, depth=share, **shown)
    folded = folded.with_columns(depth=pl.col("depth") / pl.col("depth").max().over("kind")).drop("is_right")
    return folded, [*kept["label"], *([others] if n_others else [])], n_others


def _draw_cells(alt: Any, table: pl.DataFrame, cells: pl.DataFrame, most: int, width: int) -> Any:
    of_true = pl.col("n") / pl.col("n").sum().over("true")
    mistaken = cells.with_columns(share=of_true).filter(pl.col("true") != pl.col("found"))
    if mistaken.is_empty():
        raise InputError("there is nothing to draw", "no category is found as another", table="confusion")
    rows = mistaken.sort("n", *_SIDES, descending=[True, False, False]).head(most)
    rows = rows.select(pl.concat_str("true_label", pl.lit(" → "), "found_label").alias("cell"), "n", "share")
    rows = rows.with_columns(text=pl.Series([f"{n:,} · {share:.1%}" for n, share in rows.select("n", "share").iter_rows()]))
    chart = alt.Chart(rows).encode(
        alt.Y("cell:N", title="true → predicted as", sort=None, axis=alt.Axis(labelLimit=320, ticks=False)),
        alt.X("n:Q", title="Annotations", axis=alt.Axis(gridColor="#eeeeee", tickMinStep=1)),
    )
    bars = chart.mark_bar(color=PALETTE[1]).encode(tooltip=["cell:N", "n:Q", alt.Tooltip("share:Q", format=".1%")])
    texts = chart.mark_text(align="left", dx=4, color=DARK_GREY).encode(text="text:N")
    left_out = mistaken.height - rows.height
    notes = [*_conditions(table), "beside each bar: the share of the annotations of the true category"]
    notes += [f"the {rows.height:,} largest of {counted(mistaken.height, 'cell')}"] if left_out else []
    heading = head_chart(alt, "Confusion matrix", notes)
    return alt.layer(bars, texts).properties(width=width, height=alt.Step(20), title=heading)


def _conditions(table: pl.DataFrame) -> list[str]:
    """The IoU threshold, the area range and the lowest scores, where the table has them."""
    if "min_score" not in table.columns:
        return shared_conditions(table)
    scores: list[float | None] = table.filter(pl.col("found_category_id").is_not_null())["min_score"].unique().sort().to_list()
    known = [score for score in scores if score is not None]
    if len(scores) == 1:
        said = f"scores from {known[0]:g}" if known else "all scores"
    else:
        said = f"scores from {known[0]:g} to {known[-1]:g}, by category" if known else ""
    conditions = [*shared_conditions(table), *([said] if said else [])]
    return [", ".join(conditions)] if conditions else []

"""The chart of a confusion matrix: a heat map, or bars for the largest mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError
from apframe.option_values import one_of, whole_number
from apframe.show.chart_tables import RUN, table_of
from apframe.show.charts import head_chart, load_altair, shared_conditions
from apframe.show.colours import GRID, INK, PALETTE, PAPER, SHADES, SOFT, shade
from apframe.show.confusion_marks import DARK, MOST_CATEGORIES, SIDES, axes_of, chosen_categories, shade_steps
from apframe.tables.names import unique_names
from apframe.wording import counted

if TYPE_CHECKING:
    import altair as alt

_TITLES = {"true": "annotated as", "found": "predicted as"}


def confusion(
    confusion: Any, kind: str = "matrix", *, most: int = MOST_CATEGORIES, width: int = 480, **options: Any
) -> alt.LayerChart:
    """Draw a confusion matrix as a heat map of the counts, or bars for the largest mistakes.

    In the heat map, rows are annotated categories and columns predicted ones, those with most confusions first; the last row is
    background, the last column missed. Cells are darker the larger their share of the row; right detections have an outline.
    Categories beyond `most` share the last place.

    Parameters
    ----------
    confusion
        an evaluation; or a table from `Evaluation.confusion`: true_category_id, true_name, found_category_id, found_name, n
    kind
        "matrix", or "cells" for bars of the largest cells of one category predicted as another
    most
        at most this many categories, or cells, from 1 to 60
    width
        the width of the cells together in pixels, more if numbers would not fit; or the width of the bars
    options
        options of `Evaluation.confusion`, such as `iou_threshold` and `min_score`, with an evaluation

    Raises
    ------
    ParameterError
        Altair is not installed; another kind; `most` is not such a number; an unknown option
    InputError, ColumnError
        there is nothing to draw; the rows are of several thresholds; columns are missing

    >>> import apframe as apf
    >>> table = {"true_category_id": [1, 1], "true_name": ["cat", "cat"], "found_category_id": [1, 2],
    ...          "found_name": ["cat", "dog"], "n": [9, 1]}
    >>> chart = apf.plot.confusion(pl.DataFrame(table))
    """
    alt = load_altair()
    one_of("kind", kind, ("matrix", "cells"))
    most = whole_number("most", most, max_value=60)
    needs = [*(f"{side}_{name}" for side in SIDES for name in ("category_id", "name")), "n"]
    table = table_of(confusion, "confusion", "confusion", needs, options)
    if table.is_empty():
        raise InputError("there is nothing to draw", "it has no rows", table="confusion")
    of_several = RUN in table.columns and table[RUN].n_unique() > 1
    if of_several or table.select("true_category_id", "found_category_id").is_duplicated().any():
        raise InputError("cells appear more than once", "filter to one evaluation and threshold", table="confusion")
    draw = _draw_cells if kind == "cells" else _draw_matrix
    return draw(alt, table, most, width)


def _placed(table: pl.DataFrame, most: int) -> tuple[pl.DataFrame, list[str]]:
    """Return the cells with n, and for both sides the place (null for none) and the category's label; and the places' names."""
    both = (table.select(category_id=f"{side}_category_id", name=f"{side}_name") for side in SIDES)
    categories = pl.concat(both, how="vertical_relaxed").drop_nulls("category_id").unique("category_id").sort("category_id")
    categories = unique_names(categories)
    places, labels = chosen_categories(table, categories, most)
    for side in SIDES:
        of_side = places.select(pl.col("category_id").alias(f"{side}_category_id"), pl.col("place").alias(side),
                                pl.col("label").alias(f"{side}_label"))  # fmt: skip
        table = table.with_columns(pl.col(f"{side}_category_id").cast(categories.schema["category_id"]))
        table = table.join(of_side, on=f"{side}_category_id", how="left", maintain_order="left")
    return table.select(*SIDES, *(f"{side}_label" for side in SIDES), pl.col("n").cast(pl.Int64)), labels


def _folded(cells: pl.DataFrame, labels: list[str]) -> pl.DataFrame:
    """Sum the cells to one row and column for each place."""
    folded = cells.group_by(SIDES).agg(pl.col("n").sum()).sort(SIDES, nulls_last=True)
    names = [pl.Series([*names]).gather(folded[side].fill_null(len(labels))).alias(side)
             for side, names in axes_of(labels).items()]  # fmt: skip
    folded = folded.with_columns(*names).with_columns(share=pl.col("n") / pl.col("n").sum().over("true"))
    return folded.with_columns(step=shade_steps(folded["share"]))


def _draw_matrix(alt: Any, table: pl.DataFrame, most: int, width: int) -> Any:
    cells, labels = _placed(table, most)
    marks = _folded(cells, labels)
    axes = axes_of(labels)
    n = pl.concat([cells["true_label"], cells["found_label"]]).drop_nulls().n_unique()
    notes = [*_conditions(table), "the shade is the share of the row; right detections have an outline"]
    notes += [f"{most:,} of {n:,} categories: those with most confusions"] if n > most else []
    step = min(max(width / len(axes["found"]), 26), 60)
    axis_x = alt.Axis(labelAngle=-40, labelLimit=160, ticks=False, domain=False, orient="top")
    axis_y = alt.Axis(labelLimit=160, ticks=False, domain=False)
    chart = alt.Chart(marks).encode(
        alt.X("found:N", title=_TITLES["found"], axis=axis_x, scale=alt.Scale(domain=axes["found"], padding=0.03)),
        alt.Y("true:N", title=_TITLES["true"], axis=axis_y, scale=alt.Scale(domain=axes["true"], padding=0.03)),
    )
    tooltip = [*(alt.Tooltip(f"{side}:N", title=_TITLES[side]) for side in SIDES), alt.Tooltip("n:Q", format=","),
               alt.Tooltip("share:Q", title="share of the row", format=".1%")]  # fmt: skip
    steps = range(1, len(SHADES) + 1)
    scale = alt.Scale(domain=[*steps], range=[shade(k) for k in steps])
    outline = alt.when("datum.true === datum.found").then(alt.value(SOFT)).otherwise(alt.value(GRID))
    rects = chart.mark_rect(strokeWidth=1).encode(
        color=alt.Color("step:O", scale=scale, legend=None), stroke=outline, tooltip=tooltip
    )
    ink = alt.when(f"datum.step >= {DARK}").then(alt.value(PAPER)).otherwise(alt.value(INK))
    numbers = chart.mark_text(fontSize=11 if step >= 34 else 9).encode(text=alt.Text("n:Q", format=","), color=ink)
    sides = {"width": round(step * len(axes["found"])), "height": round(min(step, 30) * len(axes["true"]))}
    return alt.layer(rects, numbers).properties(**sides, title=head_chart(alt, "Confusion matrix", notes))


def _draw_cells(alt: Any, table: pl.DataFrame, most: int, width: int) -> Any:
    cells, _ = _placed(table, most)
    of_true = pl.col("n") / pl.col("n").sum().over("true_label")
    mistaken = cells.with_columns(share=of_true).filter(pl.col("true_label") != pl.col("found_label"))
    if mistaken.is_empty():
        raise InputError("there is nothing to draw", "no category is predicted as another", table="confusion")
    rows = mistaken.sort("n", *SIDES, descending=[True, False, False]).head(most)
    rows = rows.select(pl.concat_str("true_label", pl.lit(" → "), "found_label").alias("cell"), "n", "share")
    rows = rows.with_columns(text=pl.Series([f"{n:,} · {share:.1%}" for n, share in rows.select("n", "share").iter_rows()]))
    chart = alt.Chart(rows).encode(
        alt.Y("cell:N", title="annotated as → predicted as", sort=None, axis=alt.Axis(labelLimit=320, ticks=False)),
        alt.X("n:Q", title="annotations", axis=alt.Axis(gridColor=GRID, tickMinStep=1)),
    )
    bars = chart.mark_bar(color=PALETTE[0]).encode(tooltip=["cell:N", "n:Q", alt.Tooltip("share:Q", format=".1%")])
    texts = chart.mark_text(align="left", dx=4, color=SOFT).encode(text="text:N")
    left_out = mistaken.height - rows.height
    notes = [*_conditions(table), "beside each bar: the share of the annotations of the true category"]
    notes += [f"the {rows.height:,} largest of {counted(mistaken.height, 'cell')}"] if left_out else []
    heading = head_chart(alt, "Confusion matrix", notes)
    return alt.layer(bars, texts).properties(width=width, height=alt.Step(20), title=heading)


def _conditions(table: pl.DataFrame) -> list[str]:
    """Return a line with the IoU threshold, the area range and the lowest scores, if the table has them."""
    if "min_score" not in table.columns:
        return shared_conditions(table)
    scores: list[float | None] = table.filter(pl.col("found_category_id").is_not_null())["min_score"].unique().sort().to_list()
    thresholds = [score for score in scores if score is not None]
    if len(scores) == 1:
        scores_text = f"scores from {thresholds[0]:g}" if thresholds else "all scores"
    else:
        scores_text = f"scores from {thresholds[0]:g} to {thresholds[-1]:g}, by category" if thresholds else ""
    conditions = [*shared_conditions(table), *([scores_text] if scores_text else [])]
    return [", ".join(conditions)] if conditions else []

"""A chart of what the kinds of errors cost: bars of the rise in AP, one below the other for models and slices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import InputError, ParameterError, by_name
from apframe.lists.list_curves import refuse_missing
from apframe.show.charts import PALETTE, add_names, head_chart, load_altair
from apframe.tables.results import ERRORS
from apframe.tables.sources import to_polars

if TYPE_CHECKING:
    import altair as alt

_OWN = ["category_id", "name", "iou_threshold", "error", "n", "ap", "delta_ap"]
_COLOURS = dict(zip(ERRORS.categories, [*PALETTE, "#999999"], strict=False))
KIND_WORDS = {
    "cls": "classification", "loc": "localization", "both": "classification and localization", "dupe": "duplicate",
    "bkg": "background", "miss": "missed", "fp": "all false positives", "fn": "all missed",
}  # fmt: skip
_MOST_BARS = 60


def plot_error_impact(
    impact: Any, *, kinds: str | list[str] | tuple[str, ...] = ("cls", "loc", "both", "dupe", "bkg", "miss"), width: int = 420
) -> alt.LayerChart:
    """A stacked bar of the rise in AP by kind of error, for each model or slice.

    The pieces of a bar are what each fix gives alone, so its length is no AP that fixing everything would give; compare pieces,
    and bars with each other. Pieces below 0 stand to the left of 0. The number at the end is AP as it is.

    Parameters
    ----------
    impact
        from `Evaluation.error_impact`: error, n, ap and delta_ap. A dict from names to such tables draws several models. Rows
        of single categories are left out; columns in front, such as keys of `by` or `run`, name the bars
    kinds
        the kinds to draw, in this order: names of `apf.error_kinds()`
    width
        of the bars alone, in pixels

    Raises
    ------
    ParameterError
        Altair is not installed; an unknown kind; two rows of one kind and bar
    InputError, ColumnError
        there is nothing to draw, or more than 60 bars; columns are missing

    >>> impact = pl.DataFrame({"error": ["cls", "bkg"], "n": [3, 40], "ap": [0.4, 0.4], "delta_ap": [0.01, 0.05]})
    >>> chart = plot_error_impact({"model_a": impact})  # doctest: +SKIP
    >>> chart.save("errors.html")  # doctest: +SKIP
    """
    alt = load_altair()
    names = {name: KIND_WORDS[name] for name in ERRORS.categories}
    given = [kinds] if isinstance(kinds, str) else list(kinds)
    chosen = [by_name("error kind", kind, {name: name for name in names}) for kind in given]
    rows = _rows(impact, chosen)
    bars = rows["bar"].unique(maintain_order=True).to_list()
    scale = alt.Scale(domain=[names[kind] for kind in chosen], range=[_COLOURS[kind] for kind in chosen])
    y = alt.Y(
        "bar:N", title=None, scale=alt.Scale(domain=bars, paddingInner=0.25, paddingOuter=0.15),
        axis=alt.Axis(labelLimit=190, ticks=False, domain=False),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("bar:N", title=" "), alt.Tooltip("kind:N", title="error"), alt.Tooltip("n:Q", format=",.0f"),
        alt.Tooltip("delta_ap:Q", title="rise in AP", format=".4f"), alt.Tooltip("ap:Q", title="AP", format=".4f"),
    ]  # fmt: skip
    pieces = alt.Chart(rows).mark_bar(stroke="white", strokeWidth=0.5).encode(
        x=alt.X("delta_ap:Q", title="rise in AP if errors of this kind alone are fixed", axis=alt.Axis(gridColor="#eeeeee")),
        y=y,
        color=alt.Color("kind:N", title=None, scale=scale, legend=alt.Legend(orient="top", columns=3, symbolType="square")),
        order=alt.Order("order:Q"),
        tooltip=tooltip,
    )  # fmt: skip
    aps = rows.group_by("bar", maintain_order=True).agg(pl.col("ap").first())
    labels = aps.with_columns(text=pl.Series([None if ap is None else f"AP {ap:.3f}" for ap in aps["ap"]], dtype=pl.String))
    texts = alt.Chart(labels).mark_text(align="left", fontSize=11).encode(x=alt.value(width + 8), y=y, text="text:N")
    heading = head_chart(alt, "What errors cost", ["each piece: the rise in AP if that kind alone is fixed"])
    return alt.layer(pieces, texts).properties(width=width, height=26 * len(bars), title=heading)


def _rows(impact: Any, kinds: list[str]) -> pl.DataFrame:
    """bar (its name), kind (in words), order, n, ap and delta_ap of the pieces."""
    several = impact if isinstance(impact, Mapping) and all(isinstance(name, str) for name in impact) else None
    is_tables = several is not None and not {"error", "delta_ap"} <= set(several)
    tables = []
    for name, each in several.items() if is_tables and several is not None else [(None, impact)]:
        table = to_polars(each, "impact")
        refuse_missing("impact", table, ["error", "n", "ap", "delta_ap"])
        if "category_id" in table.columns:
            table = table.filter(pl.col("category_id").is_null())
        keys = [column for column in table.columns if column not in _OWN]
        label = add_names(table, keys) if keys else pl.lit("")
        front = [] if name is None else [pl.lit(name)]
        bar = pl.concat_str([*front, *([label] if keys or not front else [])], separator=" · ")
        table = table.select(bar.alias("bar"), pl.col("error").cast(pl.String), "n", "ap", "delta_ap")
        tables.append(table)
    rows = pl.concat(tables, how="vertical_relaxed") if tables else pl.DataFrame(schema={"bar": pl.String, "error": pl.String})
    if rows.select("bar", "error").is_duplicated().any():
        raise ParameterError("impact has a bar with two rows of one kind", "filter them, or add a column that names the bars")
    place = pl.DataFrame({"error": kinds, "order": range(len(kinds)), "kind": [KIND_WORDS[kind] for kind in kinds]})
    rows = rows.with_row_index("at").join(place, on="error").sort("at").drop("at", "error")
    if rows.is_empty():
        raise InputError("there is nothing to draw", "give the table of Evaluation.error_impact", table="impact")
    if not rows["delta_ap"].count():
        raise InputError("there is nothing to draw", "delta_ap is null throughout: annotations are missing", table="impact")
    if rows["bar"].n_unique() > _MOST_BARS:
        raise InputError(f"{rows['bar'].n_unique():,} bars are too many for one chart", "filter them", table="impact")
    return rows

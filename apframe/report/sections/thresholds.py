"""Which threshold? Precision, recall and F1 against the score, and the scores that are best."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.exceptions import ParameterError
from apframe.report.charts.lines import CLASSES, Line, legend, line_chart, not_drawn
from apframe.report.charts.small_curves import curve_cells
from apframe.report.compared import Compared
from apframe.report.section import MOST_ROWS, Block, Chart, Details, Fragment, Section, Table, without_numbers
from apframe.show.elements import Markup, joined
from apframe.tables.names import label_of

KEY, HEADING = "thresholds", "Which threshold?"
HEADS = {"tp": "true positives", "fp": "false positives", "fn": "missed", "f1": "F1", "score_threshold": "score"}
MOST_POINTS = 101
_CHOSEN = (0.1, 0.3, 0.5, 0.7, 0.9)
_RATES = ["precision", "recall", "f1"]
_COUNTS = ["tp", "fp", "fn", *_RATES]


def section(compared: Compared) -> Section:
    """Return the section, of any number of models."""
    try:
        pooled = [each.thresholds(compared.iou_threshold, per_category=False) for each in compared.evaluations]
    except ParameterError as error:
        return without_numbers(KEY, HEADING, error)
    if all(table.is_empty() for table in pooled):
        return Section(KEY, HEADING, ("There are no detections to choose from.",))
    if not any(table["is_best"].any() for table in pooled):
        return Section(KEY, HEADING, ("No annotation counts, so no score is best.",))
    ends = _ends(pooled)
    tables = [_at(table, name, ends) for name, table in zip(compared.names, pooled, strict=True) if not table.is_empty()]
    blocks: list[Block] = [
        Fragment(legend(compared.names)),
        Chart(
            _curves(pooled, compared.names, ends), "All categories together, from each score upwards. Marks: the largest F1."
        ),
        Table(pl.concat(tables), f"All categories together at some scores, {compared.threshold}", HEADS),
    ]
    if not compared.are_pooled:
        blocks.append(Details("By category", [_of_categories(compared, ends)]))
    notes = ["A threshold that was chosen on the data that it is judged by looks a little better than it is."]
    best = [_best(table, name) for name, table in zip(compared.names, pooled, strict=True)]
    return Section(KEY, HEADING, best, blocks, [*notes, *not_drawn(compared.names)])


def _best(table: pl.DataFrame, name: str) -> str:
    """The best score of all categories together in words."""
    best = table.filter("is_best")
    if table.is_empty():
        return f"{name} has no detections."
    row = best.row(0, named=True)
    return (
        f"{name}: F1 is largest, {row['f1']:.3f}, at a score of {row['score_threshold']:.3g}: "
        f"precision {row['precision']:.3f}, recall {row['recall']:.3f}."
    )


def _curves(pooled: Sequence[pl.DataFrame], names: Sequence[str], ends: tuple[float, float]) -> Markup:
    """Precision, recall and F1 against the score, and precision against recall."""

    def chart(x: str, y: str, x_title: str, x_ends: tuple[float, float] = (0.0, 1.0)) -> Markup:
        thin = [_thin(table, x, x_ends) for table in pooled]
        marked = [next(iter(table["is_best"].arg_true()), None) for table in thin]
        lines = [Line(name, each[x], each[y], at) for name, each, at in zip(names, thin, marked, strict=True)]
        return line_chart(lines, x_title, HEADS.get(y, y), x_ends)

    against_score = [chart("score_threshold", rate, "score", ends) for rate in _RATES]
    return joined(against_score, chart("recall", "precision", "recall"))


def _thin(table: pl.DataFrame, x: str, ends: tuple[float, float]) -> pl.DataFrame:
    """At most 101 rows: those on which x first comes next to another one of 99 places, the best one, and the last one."""
    low, high = ends
    place = ((pl.col(x) - low) / (high - low) * (MOST_POINTS - 3)).round()
    is_last = pl.int_range(pl.len()) == pl.len() - 1
    return table.filter(place.ne_missing(place.shift(1)) | pl.col("is_best") | is_last)


def _ends(tables: Sequence[pl.DataFrame]) -> tuple[float, float]:
    """The lowest and highest score; 0 and 1 if all are between them."""
    scores = pl.concat([table["score_threshold"] for table in tables])
    return min(0.0, scores.min()), max(1.0, scores.max())  # type: ignore[type-var, return-value]


def _at(table: pl.DataFrame, name: str, ends: tuple[float, float]) -> pl.DataFrame:
    """The counts of a model at some scores, and at the best one."""
    low, high = ends
    best = table.filter("is_best")["score_threshold"]
    chosen = pl.Series("score", [low + share * (high - low) for share in _CHOSEN])
    scores = pl.concat([chosen, best.alias("score")]).unique().sort().to_frame()
    rising = table.sort("score_threshold")
    rows = scores.join_asof(rising, left_on="score", right_on="score_threshold", strategy="forward")
    n = table["tp"][0] + table["fn"][0]
    above_all = {"tp": 0, "fp": 0, "fn": n} | ({"recall": 0.0, "f1": 0.0} if n else {})  # where no detection is left
    return rows.select(
        pl.lit(name).alias("model"),
        "score",
        best=pl.when(pl.col("score").is_in(best.implode())).then(pl.lit("largest F1")).otherwise(pl.lit("")),
        **{column: pl.col(column).fill_null(above_all[column]) if column in above_all else column for column in _COUNTS},
    )


def _of_categories(compared: Compared, ends: tuple[float, float]) -> Table:
    """The best score of each category and the numbers there, and its curves: those with the most objects first."""
    shown = ["score_threshold", *(_RATES if len(compared.names) == 1 else ["f1"])]
    table, heads = pl.DataFrame(), dict[str, str]()
    for number, (name, each) in enumerate(zip(compared.names, compared.evaluations, strict=True)):
        rows = each.operating_points("f1", compared.iou_threshold)
        if not number:
            table = rows.select("category_id", category=label_of("categories"), objects=pl.col("tp") + pl.col("fn"))
        named = {f"{column} {number}": column for column in shown}
        of = f"{name}: " if len(compared.names) > 1 else ""
        heads |= {new: f"{of}{HEADS.get(column, column)}" for new, column in named.items()}
        table = table.join(rows.select("category_id", **named), on="category_id", how="left", maintain_order="left")
    table = table.sort("objects", descending=True, maintain_order=True)
    drawn = _cells(compared, table["category_id"].head(MOST_ROWS), ends)
    heads |= {rate: f"{HEADS.get(rate, rate)} against score" for rate in _RATES}
    caption = f"The score with the largest F1 of each category, {compared.threshold}, most objects first"
    return Table(table.drop("category_id"), caption, heads, drawn=drawn)


def _cells(compared: Compared, category_ids: pl.Series, ends: tuple[float, float]) -> dict[str, list[Markup]]:
    """The curves of categories against the score, a column for each rate."""
    place = pl.DataFrame({"category_id": category_ids}).with_row_index("row")
    curves = [
        each.thresholds(compared.iou_threshold)
        .join(place, on="category_id", maintain_order="left")
        .select("row", pl.lit(class_).alias("class"), "is_best", *_RATES, x="score_threshold")
        for class_, each in zip(CLASSES, compared.evaluations, strict=False)
    ]
    points = pl.concat(curves).rename({"is_best": "is_marked"})
    return {rate: curve_cells(points.with_columns(y=rate), len(category_ids), ends) for rate in _RATES}

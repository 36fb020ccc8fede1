"""The score threshold: precision, recall and F1 against the score, and the best scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from apframe.evaluation.side_by_side import of_each
from apframe.exceptions import ParameterError
from apframe.report.charts.line_chart import CLASSES, Line, legend, line_chart, not_drawn
from apframe.report.charts.small_curves import curve_cells
from apframe.report.compared import Compared
from apframe.report.html_tables import cell_texts
from apframe.report.marks import Mark
from apframe.report.operating_point import OperatingPoint, at_scores, series
from apframe.report.section import MOST_ROWS, Block, Chart, Details, Fragment, Section, Table, without_numbers
from apframe.show.charts import TITLES, curve_marks
from apframe.show.elements import Markup, joined
from apframe.tables.names import label_of

KEY, HEADING = "threshold", "Score threshold"
_CHOSEN = (0.1, 0.3, 0.5, 0.7, 0.9)
_RATES = ["precision", "recall", "f1"]
_COUNTS = ["tp", "fp", "fn"]
_STEP = 5  # positions from one point of a curve to the next


def section(compared: Compared) -> Section:
    """Return the section, of any number of models."""
    try:
        pooled = compared.curves
    except ParameterError as error:
        return without_numbers(KEY, HEADING, error)
    if all(table.is_empty() for table in pooled):
        return Section(KEY, HEADING, ("There are no detections to choose from.",))
    point = compared.point
    if point is None:
        return Section(KEY, HEADING, ("No annotation counts, so no score is best.",))
    some = pl.concat(_at(table, compared.names[k], point, point.best[k]) for k, table in enumerate(pooled) if table.height)
    blocks: list[Block] = [
        _here(compared, point),
        Fragment(legend(compared.names)),
        Chart(_curves(pooled, compared, point), "All categories together, from each score upwards. Large marks: the best F1."),
        Details("At some scores", [_some(some, compared)]),
    ]
    if not compared.are_pooled:
        blocks.append(Details("By category", [_of_categories(compared, point.ends)]))
    notes = ["A threshold that was chosen on the data that it is judged by looks a little better than it is."]
    best = [_best(table, name) for name, table in zip(compared.names, pooled, strict=True)]
    return Section(KEY, HEADING, best, blocks, [*notes, *not_drawn(compared.names)])


def _best(table: pl.DataFrame, name: str) -> str:
    """Return the best score of all categories together in words."""
    best = table.filter("is_best")
    if table.is_empty():
        return f"{name} has no detections."
    row = best.row(0, named=True)
    return (
        f"{name}: the best F1, {row['f1']:.3f}, is at a score of {row['score_threshold']:.3f}: "
        f"precision {row['precision']:.3f}, recall {row['recall']:.3f}."
    )


def _here(compared: Compared, point: OperatingPoint) -> Table:
    """Return counts and rates at the operating point, which follow the slider."""
    columns = ["score", *_RATES, *_COUNTS]
    now = pl.concat(each.head(1) for each in point.counts)
    frame = now.select(pl.Series("model", compared.names), *columns)
    texts = [cell_texts(Table(each.select(columns), "")) for each in point.counts]
    following = {name: [series(each[name]) for each in texts] for name in columns}
    links = {count: [_mark(compared, name, count) for name in compared.names] for count in _COUNTS}
    heads = TITLES | {"score": "score from"}
    return Table(frame, f"At the operating point, {compared.threshold}", heads, links=links, series=following)


def _some(frame: pl.DataFrame, compared: Compared) -> Table:
    links = {
        count: [
            _mark(compared, model, count, score, n) for model, score, n in frame.select("model", "score", count).iter_rows()
        ]
        for count in _COUNTS
    }
    return Table(frame, f"At some scores, {compared.threshold}", TITLES, links=links)


def _mark(compared: Compared, model: str, count: str, score: float | None = None, n: int | None = None) -> Mark | None:
    """Return the detections or annotations counted from a score on, by default from the slider's score, with their number."""
    if model not in compared.linked or n == 0:
        return None
    return Mark({"model": model, "outcome": count} | ({} if score is None else {"at": str(score)}), n)


def _curves(pooled: Sequence[pl.DataFrame], compared: Compared, point: OperatingPoint) -> Markup:
    """Draw precision, recall and F1 against the score, and precision against recall."""
    names, ends = compared.names, point.ends
    spots = [_spots(k, compared, point) for k in range(len(names))]
    curves = [table.with_columns(curve=pl.lit(name)) for name, table in zip(names, pooled, strict=True)]

    def chart(x: str, y: str, x_title: str, x_ends: tuple[float, float] = (0.0, 1.0)) -> Markup:
        on, start = ("score", None) if x == "score_threshold" else (x, 0.0)
        marks = [curve_marks(points, x, y, start=start).sort(x, maintain_order=True) for points in curves]
        marked = [next(iter(each["is_best"].arg_true()), None) for each in marks]
        lines = [
            Line(name, each[x], each[y], at, [(row[on], row[y], mark) for row, mark in spot])
            for name, each, at, spot in zip(names, marks, marked, spots, strict=True)
        ]
        return line_chart(lines, x_title, TITLES.get(y, y), x_ends, follows=on == "score")

    against_score = [chart("score_threshold", rate, "score", ends) for rate in _RATES]
    return joined(against_score, chart("recall", "precision", "recall"))


def _spots(model: int, compared: Compared, point: OperatingPoint) -> list[tuple[dict[str, Any], Mark | None]]:
    """Return points of a model's curves at every fifth position, each with the detections up to the next point's score."""
    name = compared.names[model]
    if name not in compared.linked:
        return []
    rows = point.counts[model].to_dicts()
    steps = [*range(_STEP, len(rows), _STEP)]
    above = [*(rows[at] for at in steps[1:]), {"score": "Infinity", "tp": 0, "fp": 0}]
    spots = []
    for row, upper in zip([rows[at] for at in steps], above, strict=True):
        n = sum(row[count] - upper[count] for count in ("tp", "fp"))
        selection = {"model": name, "outcome": "all", "from": str(row["score"]), "to": str(upper["score"])}
        spots.append((row, Mark(selection, n) if n else None))
    return spots


def _at(table: pl.DataFrame, name: str, point: OperatingPoint, best: float) -> pl.DataFrame:
    """Return the counts of a model at some scores, and at the best one."""
    low, high = point.ends
    scores = sorted({*(low + share * (high - low) for share in _CHOSEN), best})
    is_best = pl.when(pl.col("score") == best).then(pl.lit("best F1")).otherwise(pl.lit(""))
    rows = at_scores(table, scores, table["tp"][0] + table["fn"][0])
    return rows.select(pl.lit(name).alias("model"), "score", is_best.alias("best"), *_COUNTS, *_RATES)


def _of_categories(compared: Compared, ends: tuple[float, float]) -> Table:
    """Return the best score of each category with its numbers and curves, categories with the most objects first."""
    columns = ["score_threshold", *(_RATES if len(compared.names) == 1 else ["f1"])]
    table, heads = pl.DataFrame(), dict[str, str]()
    best = of_each(lambda each: each.operating_points("f1", compared.iou_threshold), compared.evaluations)
    for number, (name, rows) in enumerate(zip(compared.names, best, strict=True)):
        if not number:
            table = rows.select("category_id", category=label_of("categories"), objects=pl.col("tp") + pl.col("fn"))
        named = {f"{column} {number}": column for column in columns}
        of = f"{name}: " if len(compared.names) > 1 else ""
        heads |= {new: f"{of}{TITLES.get(column, column)}" for new, column in named.items()}
        table = table.join(rows.select("category_id", **named), on="category_id", how="left", maintain_order="left")
    table = table.sort("objects", descending=True, maintain_order=True)
    drawn = _cells(compared, table["category_id"].head(MOST_ROWS), ends)
    heads |= {rate: f"{TITLES.get(rate, rate)} against score" for rate in _RATES}
    caption = f"The score with the best F1 of each category, {compared.threshold}, most objects first"
    return Table(table.drop("category_id"), caption, heads, drawn=drawn)


def _cells(compared: Compared, category_ids: pl.Series, ends: tuple[float, float]) -> dict[str, list[Markup]]:
    """Draw the curves of categories against the score, a column for each rate."""
    place = pl.DataFrame({"category_id": category_ids}).with_row_index("row")
    columns = ["category_id", "is_best", "score_threshold", *_RATES]
    curves = of_each(lambda each: each.thresholds(compared.iou_threshold).select(columns), compared.evaluations[: len(CLASSES)])
    rows = [
        each.join(place, on="category_id", maintain_order="left").select(
            "row", pl.lit(class_).alias("class"), "is_best", *_RATES, x="score_threshold"
        )
        for class_, each in zip(CLASSES, curves, strict=False)
    ]
    points = pl.concat(rows).rename({"is_best": "is_marked"})
    return {rate: curve_cells(points.with_columns(y=rate), len(category_ids), ends) for rate in _RATES}

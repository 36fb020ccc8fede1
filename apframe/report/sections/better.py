"""Is B better? The headline numbers with the intervals of their differences; of one model, with their own."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.intervals import interval_cells
from apframe.report.compared import Compared
from apframe.report.section import Section, Table
from apframe.show.comparison import comparison_sentences

_COLUMNS = ["low", "high", "share_better", "p", "detectable"]  # of one pair, p_holm is p
HEADS = {
    "low": "95 % from",
    "high": "to",
    "share_better": "resamples in which the model is better",
    "p_holm": "p (Holm)",
    "detectable": "detectable difference",
    "n_positives": "objects",
    "n_annotations": "objects",
    "n_images": "images",
    "interval": "interval",
}


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    rows = compared.overall
    if not compared.is_pair:
        cells = interval_cells(rows["estimate"], rows["low"], rows["high"])
        table = rows.select("metric", value="estimate", low="low", high="high")
        shown = Table(table, "Headline numbers with 95 % intervals", HEADS, drawn={"interval": cells})
        return Section("better", f"How good is {compared.names[0]}?", _of_one(compared), (shown,), notes(compared))
    said = comparison_sentences(rows.filter(pl.col("metric") == compared.metric))
    shown = difference_table(rows, ["metric"], compared, "Headline numbers and their differences", _COLUMNS)
    return Section("better", f"Is {compared.names[1]} better?", said, (shown,), notes(compared))


def difference_table(
    rows: pl.DataFrame, keys: list[str], compared: Compared, caption: str, columns: list[str], support: list[str] | None = None
) -> Table:
    """A table of differences: keys, support, both numbers, a drawing of each interval, and other columns of `compare`."""
    a, b = compared.names
    cells = interval_cells(rows["difference"], rows["low"], rows["high"], zero=True, metrics=rows["metric"])
    front = [*keys, *(support or []), "estimate_a", "estimate_b", "difference"]
    frame = rows.select(*front, pl.lit("").alias("interval"), *columns)
    heads = HEADS | {"estimate_a": a, "estimate_b": b, "share_better": f"resamples in which {b} is better"}
    return Table(frame, caption, heads, signed=("difference", "low", "high"), drawn={"interval": cells})


def _of_one(compared: Compared) -> list[str]:
    row = compared.overall.row(by_predicate=pl.col("metric") == compared.metric, named=True)
    if row["estimate"] is None:
        return [f"{row['metric']} has no value: no annotation counts."]
    if row["low"] is None:
        return [f"{row['metric']} is {row['estimate']:.3f}; there are too few images for an interval."]
    return [
        f"{row['metric']} is {row['estimate']:.3f}; with other images of the same kind, {row['low']:.3f} to {row['high']:.3f}."
    ]


def notes(compared: Compared) -> list[str]:
    """Return what the intervals are."""
    if not compared.has_intervals:
        return ["Intervals need two images or more."]
    same = ", the same draws for all models" if len(compared.names) > 1 else ""
    return [
        f"Intervals come from drawing the images with replacement{same}. "
        "They do not say what training with another seed would change."
    ]

"""Is B better? The headline numbers with the intervals of their differences; of one model, with their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from apframe.report.charts.intervals import interval_cells
from apframe.report.compared import Compared
from apframe.report.section import Section, Table
from apframe.show.comparison import comparison_sentences, how_tested, p_texts, reason_of, without_intervals
from apframe.wording import plural

P_VALUES = ("p", "p_holm", "q")
OF_PAIR = ("estimate_a", "estimate_b", "difference", "low", "high")
HEADS = {
    "low": "95 % from",
    "high": "to",
    "share_better": "how sure the model is better",
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
        shown = level_table(rows, ["metric"], "Headline numbers with 95 % intervals", HEADS)
        return Section("better", f"How good is {compared.names[0]}?", _of_one(compared), (shown,), notes(compared))
    said = comparison_sentences(rows.filter(pl.col("metric") == compared.metric))
    table = rows.select("metric", *OF_PAIR, "share_better", "p", "detectable")  # of one pair, p_holm is p
    heads = HEADS | pair_heads(*compared.names)
    shown = difference_table(table, "Headline numbers and their differences", heads, rows)
    return Section("better", f"Is {compared.names[1]} better?", said, (shown,), notes(compared))


def level_table(
    rows: pl.DataFrame, keys: Iterable[str], caption: str, heads: Mapping[str, str], last: Iterable[str] = ()
) -> Table:
    """A table of numbers: keys, each value with its interval and a drawing of that, and the last columns."""
    frame = rows.select(*keys, pl.col("estimate").alias("value"), "low", "high", *last)
    return Table(frame, caption, heads, drawn={"interval": interval_cells(rows["estimate"], rows["low"], rows["high"])})


def difference_table(frame: pl.DataFrame, caption: str, heads: Mapping[str, str], rows: pl.DataFrame | None = None) -> Table:
    """A table of differences, each with a drawing of its interval beside it; `rows` of `compare` are those of the frame."""
    metrics = () if rows is None else rows["metric"]
    texts = {name: p_texts(frame if rows is None else rows, name).to_list() for name in P_VALUES if name in frame.columns}
    cells = interval_cells(frame["difference"], frame["low"], frame["high"], zero=True, metrics=metrics)
    at = frame.columns.index("difference") + 1
    frame = frame.select(*frame.columns[:at], pl.lit("").alias("interval"), *frame.columns[at:])
    return Table(frame, caption, heads, signed=("difference", "low", "high"), drawn={"interval": cells}, texts=texts)


def pair_heads(a: str, b: str) -> dict[str, str]:
    """The heads of the columns that are about one of two models or runs."""
    return {"estimate_a": a, "estimate_b": b, "share_better": f"how sure {b} is better"}


def level_sentence(name: str, row: dict[str, Any], unit: str) -> str:
    """Say what a number is, and what it may be on other images or queries.

    >>> level_sentence("AP", {"estimate": 0.5, "low": 0.45, "high": 0.6}, "image")
    'AP is 0.500; with other images of the same kind, 0.450 to 0.600.'
    """
    if row["low"] is None:
        return f"{name} is {row['estimate']:.3f}, without an interval: {reason_of(row, unit)}."
    return (
        f"{name} is {row['estimate']:.3f}; with other {plural(unit)} of the same kind, {row['low']:.3f} to {row['high']:.3f}."
    )


def _of_one(compared: Compared) -> list[str]:
    row = compared.overall.row(by_predicate=pl.col("metric") == compared.metric, named=True)
    if row["estimate"] is None:
        return [f"{compared.metric} has no value: no annotation counts."]
    return [level_sentence(compared.metric, row, "image")]


def notes(compared: Compared) -> list[str]:
    """Return what the intervals say, which numbers have none, and how differences were tested."""
    said = (
        "Intervals say how far a number would move with other images of the same kind, "
        "not what training with another seed would change."
    )
    test = how_tested(compared.overall) if len(compared.names) > 1 else []
    return [said, *without_intervals(compared.overall), *test]

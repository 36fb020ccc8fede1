"""The headline numbers with the intervals of their differences, or for one model with their own intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from apframe.report.charts.interval_chart import interval_cells
from apframe.report.compared import Compared
from apframe.report.section import Section, Table
from apframe.show.comparison_text import comparison_sentences, how_tested, p_texts, reason_of, without_intervals
from apframe.wording import plural

KEY = "comparison"
P_VALUES = ("p", "p_holm", "q")
FOLDED = ("p", "share_better", "detectable")  # of one pair, p_holm is p
HEADS = {
    "low": "95 % from",
    "high": "to",
    "share_better": "how sure the model is better",
    "p_holm": "p (Holm)",
    "detectable": "detectable difference",
    "n_positives": "objects",
    "n_annotations": "objects",
    "n_images": "images",
}


def section(compared: Compared) -> Section:
    """Return the section, of one model or of a pair."""
    rows, marks = compared.overall, {"metric": compared.size_marks(compared.overall["metric"])}
    if not compared.is_pair:
        shown = level_table(rows, ["metric"], "Headline numbers with 95 % intervals", HEADS)
        heading = f"How good is {compared.names[0]}?"
        return Section(KEY, heading, (), (replace(shown, links=marks),), notes(compared), compared.all_scores)
    _, *more = comparison_sentences(rows.filter(pl.col("metric") == compared.metric))
    heads = HEADS | pair_heads(*compared.names)
    shown = difference_table(rows, ["metric"], "Headline numbers and their differences", heads, FOLDED)
    heading = f"Is {compared.names[1]} better?"
    return Section(KEY, heading, more, (replace(shown, links=marks),), notes(compared), compared.all_scores)


def answer(compared: Compared) -> str:
    """Return the sentence with the main metric of a model, or with the difference of two models."""
    if compared.is_pair:
        return comparison_sentences(compared.overall.filter(pl.col("metric") == compared.metric))[0]
    return _of_one(compared)


def level_table(
    rows: pl.DataFrame, keys: Iterable[str], caption: str, heads: Mapping[str, str], last: Iterable[str] = ()
) -> Table:
    """Return a table of numbers: keys, each value with a drawing of its interval and its ends, and the last columns."""
    frame = rows.select(*keys, pl.col("estimate").alias("value"), pl.lit("").alias("interval"), "low", "high", *last)
    axis, cells = interval_cells(rows["estimate"], rows["low"], rows["high"])
    return Table(frame, caption, {**heads, "interval": axis}, drawn={"interval": cells})


def difference_table(
    rows: pl.DataFrame,
    keys: Sequence[str],
    caption: str,
    heads: Mapping[str, str],
    folded: Sequence[str],
    support: Sequence[str] = (),
    values: Sequence[str] = ("estimate_a", "estimate_b"),
) -> Table:
    """Return a table of differences: keys, the values, the difference with a drawing of its interval and its ends, the support.

    Folded columns come last.
    """
    texts = {name: p_texts(rows, name).to_list() for name in P_VALUES if name in folded}
    metrics = rows["metric"] if "metric" in rows.columns else ()
    axis, cells = interval_cells(rows["difference"], rows["low"], rows["high"], zero=True, metrics=metrics)
    shown = [*keys, *values, "difference", pl.lit("").alias("interval"), "low", "high", *support, *folded]
    heads = {**heads, "interval": axis}
    drawn = {"interval": cells}
    return Table(rows.select(shown), caption, heads, ("difference", "low", "high"), drawn, texts, folded=folded)


def pair_heads(a: str, b: str) -> dict[str, str]:
    """Return the heads of the columns about one of two models or runs."""
    return {"estimate_a": a, "estimate_b": b, "share_better": f"how sure {b} is better"}


def level_sentence(name: str, row: dict[str, Any], unit: str) -> str:
    """Return a sentence with a number, and its interval on other images or queries.

    >>> level_sentence("AP", {"estimate": 0.5, "low": 0.45, "high": 0.6}, "image")
    'AP is 0.500; with other images of the same kind, 0.450 to 0.600.'
    """
    if row["low"] is None:
        return f"{name} is {row['estimate']:.3f}, without an interval: {reason_of(row, unit)}."
    return (
        f"{name} is {row['estimate']:.3f}; with other {plural(unit)} of the same kind, {row['low']:.3f} to {row['high']:.3f}."
    )


def _of_one(compared: Compared) -> str:
    row = compared.overall.row(by_predicate=pl.col("metric") == compared.metric, named=True)
    if row["estimate"] is None:
        return f"{compared.metric} has no value: no annotation counts."
    return level_sentence(compared.metric, row, "image")


def notes(compared: Compared) -> list[str]:
    """Return notes on the meaning of intervals, on numbers without one, and on the tests."""
    meaning = (
        "Intervals say how far a number would move with other images of the same kind, "
        "not what training with another seed would change."
    )
    test = how_tested(compared.overall) if len(compared.names) > 1 else []
    return [meaning, *without_intervals(compared.overall), *test]

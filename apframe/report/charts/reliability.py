"""Reliability bars: the share of right detections for each range of scores, compared with calibrated scores."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.report.charts.line_chart import HEIGHT, WIDTH, axes, scales
from apframe.report.marks import Mark, link
from apframe.show.charts import TITLES
from apframe.show.elements import Markup, element, joined, svg
from apframe.show.reliability_chart import reliability_marks

_COUNTS = 40  # pixels for the bars of the numbers of detections


def reliability_chart(bins: pl.DataFrame, name: str, class_: str = "a", marks: Sequence[Mark | None] = ()) -> Markup:
    """Draw a bar for each bin with its 95 % interval at the mean score, and a bar for its number of detections below.

    Bars of calibrated scores reach the dashed line.

    Parameters
    ----------
    bins
        the table of `Evaluation.reliability`
    name
        the name of the model
    marks
        the detections behind each bin

    >>> one = {"score_from": [0.5], "score_to": [1.0], "n": [4], "mean_score": [0.7], "mean_target": [0.5], "gap": [-0.2],
    ...        "low": [0.2], "high": [0.8]}
    >>> chart = reliability_chart(pl.DataFrame(one), "new")
    >>> chart.count("<rect"), "0.5 to 1: 50 % of 4 right" in chart
    (2, True)
    """
    across, down = scales((0.0, 1.0))
    bars = reliability_marks(bins)
    max_count = max(bars["n"].to_list(), default=0)
    title = f"{TITLES['n']}, up to {max_count:,}"
    below = element("text", title, class_="title", x=across(0), y=HEIGHT + 10)
    parts = [axes((0.0, 1.0), "score", TITLES["mean_target"]), below]
    links = [mark for mark, n in zip(marks, bins["n"], strict=False) if n] or [None] * bars.height
    for row, selected in zip(bars.iter_rows(named=True), links, strict=True):
        left, right, top = across(row["score_from"]), across(row["score_to"]), down(row["mean_target"])
        label = f"{row['score_from']:.2g} to {row['score_to']:.2g}: {100 * row['mean_target']:.0f} % of {row['n']:,} right"
        size = {"x": left + 1, "width": max(right - left - 2, 1)}
        bar = element("rect", element("title", label), class_=class_, y=top, height=down(0) - top, **size)
        height = max(round(row["n"] / max_count * (_COUNTS - 16)), 1)
        count = element("rect", class_="count", y=HEIGHT + _COUNTS - height, height=height, **size)
        parts.append(link(selected, bar, count, aria_label=label) if selected else joined(bar, count))
        if row["low"] is not None:
            d = f"M{across(row['mean_score'])} {down(row['low'])}V{down(row['high'])}"
            parts.append(element("path", class_="whisker", d=d))
    parts.append(element("path", class_="zero", d=f"M{across(0)} {down(0)}L{across(1)} {down(1)}"))
    label = f"Reliability of {name}: the share of right detections for each range of scores"
    return svg(parts, "lines", WIDTH, HEIGHT + _COUNTS, label, "group" if any(marks) else "img")

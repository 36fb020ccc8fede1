"""Reliability bars: for each range of scores the share of detections that are right, and what honest scores would give."""

from __future__ import annotations

import polars as pl

from apframe.report.charts.lines import HEIGHT, WIDTH, axes, scales
from apframe.show.elements import Markup, element


def reliability_chart(bins: pl.DataFrame, name: str, class_: str = "a") -> Markup:
    """Draw a bar for each bin with its 95 % interval. Bars of honest scores reach the diagonal.

    Parameters
    ----------
    bins
        as `Evaluation.reliability` has them: score_from, score_to, n, mean_target, low, high
    name
        of the model

    >>> one = {"score_from": [0.5], "score_to": [1.0], "n": [4], "mean_target": [0.5], "low": [0.2], "high": [0.8]}
    >>> chart = reliability_chart(pl.DataFrame(one), "new")
    >>> chart.count("<rect"), "0.5 to 1: 50 % of 4 right" in chart
    (1, True)
    """
    across, down = scales((0.0, 1.0))
    parts = [axes((0.0, 1.0), "score", "share that is right")]
    for row in bins.iter_rows(named=True):
        if not row["n"]:
            continue
        left, right, top = across(row["score_from"]), across(row["score_to"]), down(row["mean_target"])
        right_ones = f"{100 * row['mean_target']:.0f} % of {row['n']:,} right"
        title = element("title", f"{row['score_from']:.2g} to {row['score_to']:.2g}: {right_ones}")
        size = {"width": max(right - left - 2, 1), "height": down(0) - top}
        parts.append(element("rect", title, class_=class_, x=left + 1, y=top, **size))
        if row["low"] is not None:
            middle = (left + right) // 2
            parts.append(element("path", class_="whisker", d=f"M{middle} {down(row['low'])}V{down(row['high'])}"))
    parts.append(element("path", class_="zero", d=f"M{across(0)} {down(0)}L{across(1)} {down(1)}"))
    said = f"Reliability of {name}: the share of right detections for each range of scores"
    return element(
        "svg", parts, class_="lines", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img", aria_label=said
    )

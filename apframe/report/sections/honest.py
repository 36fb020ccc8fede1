"""Are the scores honest? How far they are from the share of detections that are right."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import InputError
from apframe.report.charts.lines import CLASSES
from apframe.report.charts.reliability import reliability_chart
from apframe.report.compared import Compared
from apframe.report.section import Block, Chart, Section, Table, without_numbers

HEADING = "Are the scores honest?"
_HONEST = 0.02  # so far the mean score may be off


def section(compared: Compared) -> Section:
    """Return the section, of any number of models."""
    threshold = compared.iou_threshold
    try:
        measured = [each.calibration(threshold).filter(average="detections") for each in compared.evaluations]
        bins = [each.reliability(threshold) for each in compared.evaluations]
    except InputError as error:  # scores that are no probabilities
        return without_numbers("honest", HEADING, error)
    named = list(zip(compared.names, measured, bins, CLASSES, strict=False))
    sentences = [_in_words(name, row.row(0, named=True)) for name, row, *_ in named]
    blocks: list[Block] = [
        Chart(reliability_chart(table, name, class_), f"{name}. Bars of honest scores reach the diagonal.")
        for name, _, table, class_ in named
        if table["n"].sum() > 0
    ]
    if blocks:
        columns = ["n", "ece", "mce", "brier", "mean_gap"]
        numbers = [row.select(pl.lit(name).alias("model"), *columns) for name, row, *_ in named]
        heads = {"ece": "ECE", "mce": "MCE", "brier": "Brier score", "mean_gap": "mean gap", "n": "detections"}
        blocks.append(Table(pl.concat(numbers), f"Calibration at IoU {threshold:g}", heads, signed=["mean_gap"]))
        counts = [
            table.select(pl.lit(name).alias("model"), "score_from", "score_to", "n", "mean_score", "mean_target", "gap")
            for name, _, table, _ in named
        ]
        heads = {"score_from": "score from", "score_to": "to", "n": "detections", "mean_score": "mean score"}
        heads |= {"mean_target": "share that is right"}
        blocks.append(Table(pl.concat(counts), "Ranges of scores", heads, signed=["gap"]))
    notes = ["All counted detections take part, and most have low scores: compare models only at the same limits."]
    return Section("honest", HEADING, sentences, blocks, notes)


def _in_words(name: str, row: dict[str, float]) -> str:
    if not row["n"]:
        return f"{name} has no detections that count."
    gap = row["mean_gap"]
    if abs(gap) < _HONEST:
        on_average = "scores fit the share of right detections on average"
    else:
        on_average = f"scores are too {'low' if gap > 0 else 'high'} by {abs(gap):.3f} on average"
    return f"{name}: {on_average}; in ranges of scores they are off by {row['ece']:.3f} (ECE)."

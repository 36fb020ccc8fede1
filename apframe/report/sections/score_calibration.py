"""Calibration: the distance between scores and the share of right detections."""

from __future__ import annotations

import polars as pl

from apframe.exceptions import InputError
from apframe.report.charts.line_chart import CLASSES, not_drawn
from apframe.report.charts.reliability import reliability_chart
from apframe.report.compared import ALL_SCORES, Compared
from apframe.report.marks import Mark
from apframe.report.section import Block, Chart, Details, Section, Table
from apframe.tables.names import label_of

KEY, HEADING = "calibration", "Calibration"
_RIGHT = ("wrong", "right")
_CLOSE = 0.02  # maximum gap of calibrated scores
_MEASURES = ["n", "ece", "mce", "brier", "mean_gap"]
_OF_RANGES = ["score_from", "score_to", "n", "mean_score", "mean_target", "gap"]
_HEADS = {
    "n": "detections",
    "ece": "ECE",
    "mce": "MCE",
    "brier": "Brier score",
    "mean_gap": "mean gap",
    "score_from": "score from",
    "score_to": "to",
    "mean_score": "mean score",
    "mean_target": "share that is right",
}
_NOTES = (
    "A gap is the share of detections that are right, less their mean score: below 0 where scores are too high. ECE is the "
    "mean of the gaps of all ranges without their signs, by the number of detections, and MCE the largest one.",
    "All detections that count take part, however low their score.",
)
_OF_SEVERAL = "Compare models only if all of them keep low scores, or none does."


def section(compared: Compared) -> Section:
    """Return the section, of any number of models."""
    threshold = compared.iou_threshold
    sentences, measured = list[str](), list[tuple[str, pl.DataFrame, pl.DataFrame]]()
    by_category = list[pl.DataFrame]()
    for name, each in zip(compared.names, compared.evaluations, strict=True):
        try:
            row, bins = each.calibration(threshold).filter(average="detections"), each.reliability(threshold)
        except InputError as error:  # scores that are not probabilities
            sentences.append(f"{name} cannot be measured: {error.sentence}.")
            continue
        sentences.append(_in_words(name, bins, row["ece"][0]))
        if row["n"][0]:
            measured.append((name, row, bins))
            by_category += [] if compared.are_pooled else [_of_categories(each.calibration(threshold, level="category"), name)]
    if not measured:
        return Section(KEY, HEADING, sentences, scope=ALL_SCORES)
    overall = [row.select(pl.lit(name).alias("model"), *_MEASURES) for name, row, _ in measured]
    ranges = [bins.select(pl.lit(name).alias("model"), *_OF_RANGES) for name, _, bins in measured]
    blocks: list[Block] = [
        Chart(
            reliability_chart(bins, name, class_, _marks(bins, name, compared)),
            f"{name}. Calibrated scores reach the dashed line.",
        )
        for (name, _, bins), class_ in zip(measured, CLASSES, strict=False)
    ]
    blocks.append(Table(pl.concat(overall), f"Calibration at {compared.threshold}", _HEADS, signed=["mean_gap"]))
    links = {"n": [mark for name, _, bins in measured for mark in _marks(bins, name, compared)]}
    table = Table(pl.concat(ranges), "Ranges of scores", _HEADS, signed=["gap"], links=links)
    blocks.append(Details("By range of scores", [table]))
    if by_category:
        rows = pl.concat(by_category).sort(pl.col("n").sum().over("category"), descending=True, maintain_order=True)
        table = Table(rows, "Calibration of each category, most detections first", _HEADS, signed=["mean_gap"])
        blocks.append(Details("By category", [table]))
    return Section(
        KEY,
        HEADING,
        sentences,
        blocks,
        [*_NOTES, *[_OF_SEVERAL] * (len(compared.names) > 1), *not_drawn([name for name, *_ in measured])],
        ALL_SCORES,
    )


def _marks(bins: pl.DataFrame, name: str, compared: Compared) -> list[Mark | None]:
    """Return the detections in each range of scores, which includes its lower end, and for the last one also its upper end."""
    if name not in compared.linked:
        return [None] * bins.height
    starts = bins["score_from"].to_list()
    ends = [*map(str, starts[1:]), "Infinity"]
    return [
        Mark({"model": name, "outcome": "all", "from": str(begin), "to": end}, n) if n else None
        for begin, end, n in zip(starts, ends, bins["n"], strict=True)
    ]


def _of_categories(measured: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the categories with a counted detection."""
    label = label_of("categories").alias("category")
    return measured.filter(pl.col("n") > 0).select(label, pl.lit(name).alias("model"), "n", "ece", "mean_gap")


def _in_words(name: str, bins: pl.DataFrame, ece: float | None) -> str:
    """Return a sentence that the scores of a model are calibrated, too high or too low, from the sums over its bins."""
    n_in_bins, weighted = pl.col("n").sum(), (pl.col("mean_score", "mean_target") * pl.col("n")).sum()
    n, score, right = bins.select(n_in_bins, weighted).row(0)
    if not n or ece is None:
        return f"{name} has no detections that count."
    score, right = score / n, right / n
    if abs(right - score) >= _CLOSE:
        verdict = f"scores are too {'low' if right > score else 'high'}"
    elif ece >= _CLOSE:
        verdict = "scores fit on average, but are too high in some ranges and too low in others"
    else:
        verdict = "scores are calibrated"
    shares = f"{100 * right:.0f} % of {n:,} detections are right" if n > 1 else f"the only detection is {_RIGHT[right > 0]}"
    return f"{name}: {verdict}. Their mean is {score:.3f}, and {shares} (ECE {ece:.3f})."

"""The score threshold of a page: the best one of each model, and the even ones that the slider selects."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import polars as pl

from apframe.show.charts import score_ends

N_POSITIONS = 50
_RATES = ("precision", "recall", "f1")
_COUNTS = ("tp", "fp", "fn")


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """The thresholds of the slider. A page starts at position 0, the best F1 of each model.

    Attributes
    ----------
    best
        the score with the best F1 of each model over all categories; infinite for a model without detections
    even
        the scores of positions 1 to 50, the same for all models, the lowest first
    ends
        the lowest and highest score; 0 and 1 if all are between them and some are not tiny
    counts
        for each model tp, fp, fn, precision, recall and f1 at each position
    """

    best: Sequence[float]
    even: Sequence[float]
    ends: tuple[float, float]
    counts: Sequence[pl.DataFrame]

    def scores(self, model: int) -> list[float]:
        """Return the threshold of a model at each position."""
        return [self.best[model], *self.even]

    def rising(self, model: int) -> list[tuple[float, int]]:
        """Return the thresholds of a model with their positions, the lowest first."""
        return sorted((score, position) for position, score in enumerate(self.scores(model)))


def operating_point(curves: Sequence[pl.DataFrame], n_positives: int) -> OperatingPoint | None:
    """Return the operating point of models, or None if no score is best: no annotation counts, or nothing was detected.

    Parameters
    ----------
    curves
        `Evaluation.thresholds` of each model over all categories
    n_positives
        the number of annotations that count

    >>> rows = {"score_threshold": [0.9, 0.4], "tp": [1, 2], "fp": [0, 0], "fn": [1, 0], "precision": [1.0, 1.0],
    ...         "recall": [0.5, 1.0], "f1": [2 / 3, 1.0], "is_best": [False, True]}
    >>> point = operating_point([pl.DataFrame(rows)], 2)
    >>> point.best, point.even[:2], point.counts[0]["tp"][25]
    ([0.4], [0.02, 0.04], 1)
    """
    best = [next(iter(each.filter("is_best")["score_threshold"]), math.inf) for each in curves]
    if all(math.isinf(score) for score in best):
        return None
    scores = pl.concat([each["score_threshold"] for each in curves])
    low, high = score_ends(scores)
    even = [low + step / N_POSITIONS * (high - low) for step in range(1, N_POSITIONS + 1)]
    counts = [at_scores(each, [first, *even], n_positives) for each, first in zip(curves, best, strict=True)]
    return OperatingPoint(best, even, (low, high), counts)


def at_scores(curve: pl.DataFrame, scores: Sequence[float], n_positives: int) -> pl.DataFrame:
    """Return score, tp, fp, fn, precision, recall and f1 at some scores, as `Evaluation.thresholds` does at its own.

    >>> rows = {"score_threshold": [0.9], "tp": [1], "fp": [0], "fn": [1], "precision": [1.0], "recall": [0.5], "f1": [2 / 3]}
    >>> at_scores(pl.DataFrame(rows), [0.5, 0.95], 2).select("tp", "fp", "fn", "precision", "recall").rows()
    [(1, 0, 1, 1.0, 0.5), (0, 0, 2, None, 0.0)]
    """
    requested = pl.DataFrame({"score": scores}, schema={"score": pl.Float64}).with_row_index("position").sort("score")
    rising = curve.select("score_threshold", *_COUNTS, *_RATES).sort("score_threshold")
    rows = requested.join_asof(rising, left_on="score", right_on="score_threshold", strategy="forward").sort("position")
    above_all = {"tp": 0, "fp": 0, "fn": n_positives} | ({"recall": 0.0, "f1": 0.0} if n_positives else {})
    is_above = pl.col("tp").is_null()  # no detection has such a score
    filled = [pl.when(is_above).then(pl.lit(value)).otherwise(name).alias(name) for name, value in above_all.items()]
    return rows.with_columns(filled).select("score", *_COUNTS, *_RATES)


def series(values: Iterable[str]) -> str:
    """Return the texts of a number at all positions as the page's script reads them: repeated ones once, with their number.

    >>> series(["3", "3", "3", "–"])
    '3*3 –'
    """
    runs = [(value, sum(1 for _ in each)) for value, each in groupby(values)]
    return " ".join(value if n == 1 else f"{value}*{n}" for value, n in runs)

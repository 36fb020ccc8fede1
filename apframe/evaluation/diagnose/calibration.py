"""Calibration: the difference between scores and the share of correct detections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.comparison.headline_intervals import draws_if_asked
from apframe.evaluation.slices.keys import check_level
from apframe.evaluation.tables_at_threshold import columns_at, with_names
from apframe.evaluation.thresholds.min_scores import as_score
from apframe.option_values import one_of, proper_share, whole_number
from apframe.protocols.lookups import area_at, place_at
from apframe.protocols.refused import refuse_distances, refuse_scores
from apframe.rows import refuse_rows

if TYPE_CHECKING:
    from apframe.compare.resampling import Draws
    from apframe.evaluation.diagnose.score_bins import Binned
    from apframe.evaluation.evaluation import Evaluation

BINS, TARGETS = ("uniform", "quantile"), ("outcome", "similarity")
_MOST_BINS = 1_000


def calibration(
    self: Evaluation,
    iou_threshold: float | None = 0.5,
    area_range: str | None = None,
    *,
    n_bins: int = 10,
    bins: str = "uniform",
    target: str = "outcome",
    min_score: float = 0,
    level: str = "summary",
    n_resamples: int = 0,
    unit: str | None = None,
    within: str | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure the difference between scores and the share of correct detections.

    Only detections that count are included: true and false positives, but not ignored ones or those beyond max_detections. The
    target is 1 for a true positive and 0 for a false one, or the similarity of the true positive. The error is smaller if
    detections of low scores are included, because most detections have low scores. So compare models only at the same min_score
    and max_detections. With few detections it is too high, even for calibrated scores: see n.

    Parameters
    ----------
    iou_threshold
        one of the protocol's thresholds, within 1e-9; None for the lowest
    area_range
        the name of one of the protocol's area ranges; "all" by default
    n_bins
        the number of bins, from 1 to 1000
    bins
        "uniform": edges k / n_bins. "quantile": edges at quantiles of the scores of all categories, with equal ones merged.
        Bins are [low, high), the last one closed; with target="similarity" they are (low, high], the first one closed, as for
        LaECE
    target
        "outcome" or "similarity", see above
    min_score
        exclude detections below this score
    level
        "summary": over all categories. "category": a row for each, with the same bins
    n_resamples
        the number of resamples of the images for intervals, such as 1,000; 0 for no intervals. Bins do not change
    unit, within, confidence, seed
        as in `intervals`

    Returns
    -------
    For level="summary", two rows, by `average`: "detections", all of them together, and "categories", the mean over the
    categories with a detection that counts (null if categories are pooled). For level="category", category_id and name. Then
    area_range, iou_threshold, target, bins, n_bins, min_score, n (detections), and, null if n is 0:

    - ece: the mean over the bins of |gap|, weighted by n, where gap is mean target - mean score;
    - mce: the largest |gap| of a bin;
    - brier: the mean of (score - target)²;
    - mean_gap: mean target - mean score, negative if scores are too high;
    - mae: the mean of |score - target|.

    With `n_resamples`, ece_low and ece_high follow ece, and so on: null if fewer than half of the resamples have a value, or
    fewer than five units have a detection that counts.

    The row "categories" with target="similarity" has the measures of Oksuz et al. (2023) and Kuzucu et al. (2024): with
    n_bins=25, ece is LaECE. At iou_threshold=1e-9, if that was evaluated, it is LaECE₀, and mae is LaACE₀.

    Raises
    ------
    RowError
        scores outside [0, 1], such as logits
    ParameterError
        a threshold or area range was not evaluated; another option has an invalid value; level="category" with pooled
        categories

    Warns
    -----
    FewUnitsWarning
        fewer than 20 units are resampled

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1, 2], "category_id": [7, 7], "x": [0, 0], "y": [0, 50], "width": [9, 9], "height": [9, 9]}
    >>> truth = Dataset({"image_id": [1, 2]}, {"category_id": [7]}, {name: values[:1] for name, values in box.items()})
    >>> evaluate(truth, box | {"score": [0.75, 0.5]}).calibration(0.5).select("average", "n", "ece", "mean_gap").rows()
    [('detections', 2, 0.375, -0.125), ('categories', 2, 0.375, -0.125)]
    """
    at = _choose(self, iou_threshold, area_range, n_bins, bins, target, min_score)
    check_level(self, level)
    proper_share("confidence", confidence)
    draws = draws_if_asked(self, n_resamples, unit, within, seed)
    table = _calibrate(self, at, level, draws, confidence)
    return with_names(self, table) if level == "category" else table


def reliability(
    self: Evaluation,
    iou_threshold: float | None = 0.5,
    area_range: str | None = None,
    *,
    n_bins: int = 10,
    bins: str = "uniform",
    target: str = "outcome",
    min_score: float = 0,
    level: str = "summary",
) -> pl.DataFrame:
    """Compare scores with the share of correct detections, bin by bin: the table behind a reliability chart.

    Parameters and errors are the same as in `calibration`, which summarises these bins.

    Returns
    -------
    For level="category", category_id and name; then area_range, iou_threshold, target, min_score, bin (from 1), score_from,
    score_to (its edges), n, mean_score, mean_target, gap (mean_target - mean_score; negative if scores are too high), low and
    high (Wilson's 95 % interval of mean_target; null with target="similarity"). Empty bins have rows, with n = 0 and null.

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1, 2], "category_id": [7, 7], "x": [0, 0], "y": [0, 50], "width": [9, 9], "height": [9, 9]}
    >>> truth = Dataset({"image_id": [1, 2]}, {"category_id": [7]}, {name: values[:1] for name, values in box.items()})
    >>> table = evaluate(truth, box | {"score": [0.75, 0.5]}).reliability(n_bins=2)
    >>> table.select("score_from", "n", "mean_score", "mean_target", "gap").rows()
    [(0.0, 0, None, None, None), (0.5, 2, 0.625, 0.5, -0.125)]
    """
    at = _choose(self, iou_threshold, area_range, n_bins, bins, target, min_score)
    check_level(self, level)
    table = _bin_rows(self, at, level)
    return with_names(self, table) if level == "category" else table


def calibration_table(self: Evaluation) -> pl.DataFrame:
    """Compute the table in SQL: `calibration` of every category at the lowest threshold, with default options and no names."""
    return _calibrate(self, _defaults(self), "category")


def reliability_table(self: Evaluation) -> pl.DataFrame:
    """Compute the table in SQL: `reliability` of every category at the lowest threshold, with default options and no names."""
    return _bin_rows(self, _defaults(self), "category")


@dataclass(frozen=True)
class _Options:
    """The validated options, with the numbers of threshold and area range."""

    threshold: int
    area: int
    n_bins: int
    bins: str
    target: str
    min_score: float


def _choose(
    self: Evaluation, iou_threshold: float | None, area_range: str | None, n_bins: Any, bins: str, target: str, min_score: Any
) -> _Options:
    """Validate the options, and raise an error that names an invalid one."""
    refuse_scores(self.protocol, "scores to calibrate")
    n_bins = whole_number("n_bins", n_bins, max_value=_MOST_BINS)
    one_of("bins", bins, BINS)
    one_of("target", target, TARGETS)
    if target == "similarity":
        refuse_distances(self.protocol, "needs", option="target")
    at = place_at(self.protocol, iou_threshold, area_range)
    return _Options(*at, n_bins, bins, target, as_score(min_score))


def _defaults(self: Evaluation) -> _Options:
    return _Options(0, area_at(self.protocol, None), 10, "uniform", "outcome", 0.0)


def _conditions(self: Evaluation, at: _Options) -> dict[str, pl.Expr]:
    """Return the options as columns."""
    return columns_at(self, at.threshold, at.area) | {
        "target": pl.lit(at.target),
        "bins": pl.lit(at.bins),
        "n_bins": pl.lit(at.n_bins, pl.Int64),
        "min_score": pl.lit(at.min_score, pl.Float64),
    }


def _binned(self: Evaluation, at: _Options) -> tuple[Binned, int]:
    """Return the detections that count in their bins, and the number of lists."""
    from apframe.evaluation.diagnose.outcomes import verdicts_at  # imports NumPy, as does the next one
    from apframe.evaluation.diagnose.score_bins import Binned, bin_edges, scored

    score = self.detections["score"]
    refuse_rows(
        "detections", self.detections, ~score.is_between(0, 1), "score is outside [0, 1]",
        "calibration compares scores with shares: turn them into probabilities before evaluating",
    )  # fmt: skip
    pipeline = self._pipeline
    verdicts = pipeline.verdicts if at.min_score <= 0 else pipeline.at_score(at.min_score)
    by_similarity = at.target == "similarity"
    rows = scored(verdicts_at(verdicts, at.threshold, at.area), by_similarity=by_similarity)
    edges = bin_edges(rows.score, at.n_bins, by_quantile=at.bins == "quantile")
    return Binned(rows, edges, "right" if by_similarity else "left"), verdicts.lists.height


def _calibrate(
    self: Evaluation, at: _Options, level: str, draws: Draws | None = None, confidence: float = 0.95
) -> pl.DataFrame:
    """Return the table of `calibration` without names."""
    from apframe.evaluation.diagnose.calibration_intervals import measure

    binned, n_lists = _binned(self, at)
    categories, of_all, mean = measure(binned, n_lists, draws, confidence, pooled=self._pipeline.outline.is_pooled)
    if level == "category":
        table = pl.DataFrame(categories).with_columns(self._pipeline.outline.lists["category_id"], **_conditions(self, at))
        first = "category_id"
    else:
        first = "average"
        rows = [pl.DataFrame(of_all), pl.DataFrame(mean)]
        table = pl.concat(rows).with_columns(pl.Series(first, ["detections", "categories"]), **_conditions(self, at))
    measures = [name for name in categories if name != "n"]
    return table.select(first, *_conditions(self, at), pl.col("n").cast(pl.Int64), pl.col(measures).fill_nan(None))


def _bin_rows(self: Evaluation, at: _Options, level: str) -> pl.DataFrame:
    import numpy as np

    from apframe.evaluation.diagnose.score_bins import sum_bins, wilson

    binned, n_lists = _binned(self, at)
    edges, sums = binned.edges, sum_bins(binned, binned.rows.number, n_lists)
    sums = sums if level == "category" else sums.total()
    n_groups, n_bins = sums.n.shape
    n = sums.n.ravel()
    with np.errstate(invalid="ignore"):
        mean_score, mean_target = sums.score.ravel() / n, sums.target.ravel() / n
        low, high = wilson(mean_target, n) if at.target == "outcome" else np.full((2, len(n)), np.nan)
    table = pl.DataFrame(
        {
            "bin": np.tile(np.arange(1, n_bins + 1), n_groups),
            "score_from": np.tile(edges[:-1], n_groups),
            "score_to": np.tile(edges[1:], n_groups),
            "n": n.astype(np.int64),
            "mean_score": mean_score,
            "mean_target": mean_target,
            "gap": mean_target - mean_score,
            "low": low,
            "high": high,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None), **_conditions(self, at))
    columns = ["area_range", "iou_threshold", "target", "min_score", *table.columns[:9]]
    if level != "category":
        return table.select(columns)
    ids = self._pipeline.outline.lists["category_id"]
    return table.with_columns(ids.gather(np.repeat(np.arange(n_groups), n_bins))).select("category_id", *columns)

"""Methods of `RunSets` that compare runs: differences with intervals, and intervals of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.evaluation.comparison.comparable import agree
from apframe.exceptions import ParameterError

if TYPE_CHECKING:
    from apframe.evaluation.slices.keys import SliceKey
    from apframe.runs.run_sets import RunSets


def compare(
    self: RunSets,
    baseline: str | None = None,
    *,
    by: SliceKey | Sequence[SliceKey] = (),
    level: str = "summary",
    metrics: Sequence[str] | str | None = None,
    on_images: str = "same",
    unit: str | None = None,
    within: str | None = None,
    weights: str | None = None,
    to_mix: Mapping[Any, Any] | None = None,
    n_resamples: int = 1_000,
    confidence: float = 0.95,
    seed: int = 0,
    method: str = "influence",
) -> pl.DataFrame:
    """Compare the runs in pairs, or each run with `baseline`: differences with intervals and p values.

    See `Evaluation.compare` for the other options and the columns. p_holm is corrected for the number of pairs. The original
    files of the runs are not needed.

    Raises
    ------
    ParameterError
        fewer than two runs, an unknown baseline, and the errors of `Evaluation.compare`
    NotComparableError
        runs on different data, or by different rules
    """
    from apframe.compare.comparison import pairs_of  # brings in NumPy
    from apframe.evaluation.comparison.sampling import Sampling, compare_all

    names = list(self.runs["run"])
    pairs = pairs_of(names, baseline)
    evaluations = agree([self.evaluation(name) for name in names], names, on_images)
    sampling = Sampling(by, level, metrics, unit, within, weights, to_mix, n_resamples, confidence, seed, method)
    return compare_all(evaluations, names, pairs, sampling)


def ranks(self: RunSets, names: Sequence[str], metric: str, **options: Any) -> pl.DataFrame:
    """Return intervals of the ranks of runs by a metric: run, low, high (of the metric), share_best, rank_low, rank_high.

    See `Sampling` for the options.
    """
    from apframe.evaluation.comparison.ranks import ranks as of_evaluations  # bring in NumPy
    from apframe.evaluation.comparison.sampling import Sampling

    evaluations = agree([self.evaluation(name) for name in names], names)
    table = of_evaluations(evaluations, names, Sampling(metrics=[metric], **options))
    if table.is_empty():
        raise ParameterError(f"{metric} has no value in these runs", "sort by another metric", option="sort_by")
    return table.drop("estimate")

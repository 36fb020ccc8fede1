"""Uncertainty of the order of several evaluations by a headline number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.comparison.sampling import Sampling, sample

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation


def ranks(evaluations: Sequence[Evaluation], names: Sequence[str], sampling: Sampling) -> pl.DataFrame:
    """Compute the first metric of the sampling for each evaluation, with interval, share of leads, and range of its rank.

    Parameters
    ----------
    evaluations, names
        comparable evaluations, and their names
    sampling
        the options without slices; see `Evaluation.intervals`

    Returns
    -------
    run, estimate, low and high (of the metric), share_best, rank_low and rank_high (see `rank_ranges`); a row for each
    evaluation in the given order. Empty if the metric is undefined for all of them.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> box = {"category_id": 1, "bbox": [0, 0, 9, 9]}
    >>> truth = {"images": [{"id": n} for n in range(40)], "categories": [{"id": 1, "name": "cat"}],
    ...          "annotations": [{"id": n, "image_id": n} | box for n in range(40)]}
    >>> models = [evaluate(truth, [{"image_id": n, "score": 0.5} | box for n in range(n)]) for n in (20, 36)]
    >>> ranks(models, ["a", "b"], Sampling(metrics="AP50")).select("run", "share_best", "rank_low", "rank_high").rows()
    [('a', 0.0, 2, 2), ('b', 1.0, 1, 1)]
    """
    sampled = sample(evaluations, sampling, with_bias=True)
    if not sampled:
        schema = {"run": pl.String, **dict.fromkeys(("estimate", "low", "high", "share_best"), pl.Float64)}
        return pl.DataFrame(schema=schema | dict.fromkeys(("rank_low", "rank_high"), pl.Int64))
    intervals = [sampled[0].describe(k, sampling.confidence) for k in range(len(names))]
    columns = {"estimate": sampled[0].estimates[:, 0]}
    columns |= {name: np.concatenate([of[name] for of in intervals]) for name in ("low", "high")}
    numbers = [pl.Series(name, values, nan_to_null=True) for name, values in columns.items()]
    table = sampled[0].rank(names, sampling.confidence, sampling.seed)
    return pl.concat([table.select("run"), pl.DataFrame(numbers), table.drop("run")], how="horizontal")

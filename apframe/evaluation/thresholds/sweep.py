"""Counts and rates of the detections with at least each score, from which thresholds are chosen."""

from __future__ import annotations

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.outcomes import outcomes, verdicts_at
from apframe.matching.verdicts import Verdicts, list_bounds
from apframe.metrics.count_changes import Changes

_EQUAL = 1e-12  # values of LRP that differ by less are equal: they are sums of rounded numbers


def changes_of_verdicts(verdicts: Verdicts, threshold: int, k: int, max_similarity: float = 1) -> Changes:
    """Return the changes by each detection that counts, if cutting by score is filtering; threshold and range are numbers.

    `max_similarity` is the largest possible similarity: 1, or 0 for distances.

    >>> from apframe.matching.verdicts import example
    >>> changes = changes_of_verdicts(example(), 0, 0)
    >>> changes.score.tolist(), changes.tp.tolist(), changes.fp.tolist(), changes.loss.tolist()
    ([0.9, 0.8], [1, 0], [0, 1], [0.25, 0.0])
    """
    at_one = verdicts_at(verdicts, threshold, k)
    became, hits = outcomes(at_one), at_one.hits
    is_true = hits["true"].to_numpy() > 0
    loss = np.zeros(at_one.detections.height)
    loss[hits["detection"].to_numpy()[is_true]] = max_similarity - hits["similarity"].to_numpy()[is_true]
    kept = np.flatnonzero(became.is_true | became.is_false)
    number, image, score = (at_one.detections[name].to_numpy()[kept] for name in ("list", "image", "score"))
    tp, fp = (each[kept].astype(np.int64) for each in (became.is_true, became.is_false))
    nothing = np.zeros(len(kept))
    return Changes(
        number.astype(np.int64), score, image.astype(np.int64), tp, fp, -tp, loss[kept], nothing, verdicts.positives[:, k]
    )


def sweep_thresholds(changes: Changes, reach: np.ndarray, n_images: int, beta: float = 1) -> pl.DataFrame:
    """Compute counts and rates at every score at which the counts change, for each list.

    Parameters
    ----------
    changes
        from `changes_of_verdicts` or `changes_of_hits`
    reach
        the largest possible similarity minus the similarity threshold, by list, for LRP, which is null if this is NaN
    n_images
        the number of evaluated images, for `fppi`
    beta
        the weight of recall in the F-measure; columns for it are added if it is not 1

    Returns
    -------
    list (its number), score_threshold, tp, fp, fn, precision `tp / (tp + fp)`, recall `tp / (tp + fn)`, f1 `2 tp / (2 tp + fp +
    fn)`, is_best (the largest f1, the highest threshold among equal ones), the columns of `_lrp`, fppi `fp / n_images` and
    miss_rate `1 - recall`. Without positives, all but the counts, precision and fppi are null. With another `beta`, such as 2,
    also f2 `(1 + beta²) tp / ((1 + beta²) tp + beta² fn + fp)` and is_best_f2. By list, highest threshold first.

    >>> changes = Changes(*map(np.array, (
    ...     [0] * 3, [0.9, 0.5, 0.5], [0] * 3, [1, 0, 1], [0, 1, 0], [-1, 0, -1], [0.1, 0.0, 0.3], [0.0] * 3, [3])))
    >>> sweep_thresholds(changes, np.array([0.5]), n_images=10).select("score_threshold", "tp", "fp", "fn", "f1").rows()
    [(0.9, 1, 0, 2, 0.5), (0.5, 2, 1, 1, 0.6666666666666666)]
    """
    n_rows = len(changes.score)
    ends = np.flatnonzero(np.append(_differs(changes.number) | _differs(changes.score), True)[:n_rows])
    starts = list_bounds(changes.number, len(changes.positives))
    tp, fp, fn = (_running(each, changes.number, starts)[ends] for each in (changes.tp, changes.fp, changes.fn))
    loss = _running_loss(changes)[ends]
    number, score = changes.number[ends], changes.score[ends]
    before = np.append(-1, ends[:-1])  # rows whose changes cancel out are dropped
    so_far = [np.append(0, np.cumsum(each)) for each in (changes.tp, changes.fp, changes.fn)]
    is_new = np.logical_or.reduce([each[ends + 1] != each[before + 1] for each in so_far])
    number, score, tp, fp, fn, loss = (each[is_new] for each in (number, score, tp, fp, fn, loss))

    fn = fn + changes.positives[number].astype(np.float64)
    positives = tp + fn
    if_positives = np.where(positives > 0, 1.0, np.nan)
    weight = 1 + beta**2
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = 2 * tp / (2 * tp + fp + fn) * if_positives
        f_beta = weight * tp / (weight * tp + beta**2 * fn + fp) * if_positives
        rates = {"precision": tp / (tp + fp), "recall": tp / positives, "f1": f1}
        lrp = {name: value * if_positives for name, value in _lrp(tp, fp, positives, loss, reach[number]).items()}
    n_lists = len(changes.positives)
    columns: dict[str, np.ndarray] = rates | {"is_best": _first_best(f1, number, n_lists)}
    if beta != 1:
        columns |= {f"f{beta:g}": f_beta, f"is_best_f{beta:g}": _first_best(f_beta, number, n_lists)}
    # a list without true positives has no best LRP
    has_true_positives = np.bincount(number, weights=tp > 0, minlength=n_lists)[number] > 0
    columns |= lrp | {"is_best_lrp": _first_best(np.where(has_true_positives, -lrp["lrp"], np.nan), number, n_lists, _EQUAL)}
    columns |= {"fppi": fp / np.full(len(fp), n_images), "miss_rate": 1 - rates["recall"]}
    counts = {name: pl.Series(each.astype(np.int64)) for name, each in (("tp", tp), ("fp", fp), ("fn", fn))}
    shown = {name: pl.Series(each, nan_to_null=True) for name, each in columns.items()}
    return pl.DataFrame({"list": number, "score_threshold": score, **counts, **shown})


def _lrp(tp: np.ndarray, fp: np.ndarray, positives: np.ndarray, loss: np.ndarray, reach: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the localization recall precision error and its parts; lower is better.

    lrp `(loss / (1 - threshold) + fp + fn) / (tp + fp + fn)`, lrp_loc `loss / tp`, lrp_fp `fp / (tp + fp)` and lrp_fn
    `fn / positives`. NaN if a divisor is 0; at a threshold of 1, where every match is perfect, lrp is undefined.
    """
    fn = positives - tp
    scaled = loss / np.where(reach > 0, reach, np.nan)
    return {
        "lrp": (scaled + fp + fn) / (tp + fp + fn),
        "lrp_loc": np.where(tp > 0, loss / tp, np.nan),
        "lrp_fp": fp / (tp + fp),
        "lrp_fn": fn / positives,
    }


def _differs(values: np.ndarray) -> np.ndarray:
    """True for values that differ from the next one; the last value has none."""
    return np.asarray(values[1:] != values[:-1])


def _running(values: np.ndarray, number: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Compute running sums of whole numbers, starting again in each list."""
    total = np.append(0, np.cumsum(values))
    return np.asarray(total[1:] - total[starts[number]])


def _running_loss(changes: Changes) -> np.ndarray:
    """Compute running sums of the loss, starting again in each list; rows of equal score are added in the order of the loss."""
    rows = np.flatnonzero(changes.loss)
    order = rows[np.lexsort((changes.loss[rows], -changes.score[rows], changes.number[rows]))]
    table = pl.DataFrame({"list": changes.number[order], "loss": changes.loss[order]})
    sums = np.append(0.0, table.select(pl.col("loss").cum_sum().over("list")).to_series().to_numpy())
    n_before = np.cumsum(changes.loss != 0)
    starts = np.append(0, n_before)[np.searchsorted(changes.number, changes.number)]
    return np.where(n_before > starts, np.maximum(sums[n_before], 0.0), 0.0)


def _first_best(values: np.ndarray, number: np.ndarray, n_lists: int, tolerance: float = 0.0) -> np.ndarray:
    """True for the first row of each list that has its largest value, within the tolerance; never True if all are NaN."""
    largest = np.full(n_lists, -np.inf)
    np.maximum.at(largest, number, np.nan_to_num(values, nan=-np.inf))
    best = np.flatnonzero(values >= largest[number] - tolerance)
    flags = np.zeros(len(values), dtype=bool)
    flags[best[np.unique(number[best], return_index=True)[1]]] = True
    return flags

"""The confusion matrix at many score cut-offs at once: each row has the range of cut-offs at which it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.collecting import collecting
from apframe.evaluation.diagnose.category_mistakes import choose, confuse, find_candidates
from apframe.evaluation.diagnose.confusion import require_categories
from apframe.evaluation.diagnose.outcomes import outcomes, verdicts_at
from apframe.evaluation.thresholds.min_scores import as_score
from apframe.exceptions import ParameterError, warn_again
from apframe.matching.by_score import connect
from apframe.protocols.lookups import place_at
from apframe.protocols.refused import refuse_scores

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.inputs import Inputs

MOST_SCORES = 100
_PAIR, _ENDS = ("detection", "annotation"), ("first", "last")


def confusion_ranges(self: Evaluation, iou_threshold: float | None, scores: pl.Series | Sequence[float]) -> pl.DataFrame:
    """Compute `confusion_pairs(iou_threshold, min_score=)` for many scores at once.

    A detection is counted in one cell at low scores and in another at high ones, where other detections are excluded and their
    matches are free. So each row has the range of scores at which it holds.

    1. If removing low scores does not change matches of higher ones, a detection is a true positive, a false one or ignored at
       all scores up to its own, and an annotation is missed at all scores above that of its true positive.
    2. So a detection may be mistaken for an annotation at a range of scores. Detections choose by score, so removed ones do
       not change the choices of others. Among connected candidates, choices change only at scores at which another
       annotation becomes free. They are matched once for each stretch between two such scores, all of them in parallel.
    3. The rest of the ranges is background or missed.

    If a matcher does not have the property of step 1, everything is matched again at each score.

    Parameters
    ----------
    iou_threshold
        as in `confusion`. The area range is the one of the headline numbers
    scores
        1 to 100 numbers in ascending order

    Returns
    -------
    image_id, detection_id (null for missed), annotation_id (null for background), true_category_id (null for background),
    found_category_id (null for missed), first, last: the row belongs to its cell at `scores[first]`, ..., `scores[last]`.
    Unordered.

    Raises
    ------
    ParameterError
        as in `confusion`; no scores, too many, not ascending or not numbers

    >>> from apframe import Dataset, evaluate
    >>> box = {"image_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]}
    >>> truth = Dataset({"image_id": [1]}, {"category_id": [1, 2]}, box | {"category_id": [1]})
    >>> detections = {name: [*value, *value] for name, value in box.items()} | {"category_id": [1, 2], "score": [0.4, 0.9]}
    >>> rows = confusion_ranges(evaluate(truth, detections), 0.5, [0.2, 0.5, 0.7, 1])
    >>> rows.select("true_category_id", "found_category_id", "first", "last").sort(pl.all()).rows()
    [(None, 2, 0, 0), (1, None, 3, 3), (1, 1, 0, 0), (1, 2, 1, 2)]
    """
    threshold, area = place_at(self.protocol, iou_threshold, None)
    require_categories(self)
    cuts = _read_scores(scores)
    refuse_scores(self.protocol, "score thresholds")
    if self.protocol.matcher.cutting_is_filtering:
        rows = _match_once(verdicts_at(self._pipeline.verdicts, threshold, area), self._inputs, cuts)
    else:
        rows = _match_at_each(self, threshold, area, cuts)
    return _with_ids(self, rows)


def _read_scores(scores: pl.Series | Sequence[float]) -> np.ndarray:
    cuts = np.array([as_score(score, "scores") for score in scores], dtype=np.float64)
    if not 0 < len(cuts) <= MOST_SCORES:
        raise ParameterError(f"are {len(cuts):,} numbers", f"give 1 to {MOST_SCORES}", option="scores")
    if (cuts[1:] < cuts[:-1]).any():
        raise ParameterError("are not in ascending order", "sort them", option="scores")
    return cuts


def _match_once(verdicts: Verdicts, inputs: Inputs, cuts: np.ndarray) -> pl.DataFrame:
    """Compute the rows of `_match_at_each`, if removing low scores does not change matches of higher ones."""
    became, n = outcomes(verdicts), len(cuts)
    until = np.searchsorted(cuts, verdicts.detections["score"].to_numpy(), side="right") - 1
    true = verdicts.hits.filter(pl.col("true") > 0)
    right, matched = (true[name].to_numpy() for name in _PAIR)
    since = np.where(became.counts, 0, n)
    hits = [verdicts.hits[name].to_numpy() for name in _PAIR]  # including ignored detections
    np.maximum.at(since, hits[1], until[hits[0]] + 1)
    wrong = np.where(became.is_false, until, -1)
    candidates = find_candidates(verdicts, inputs, wrong, since)
    mistaken = _match_stretches(verdicts, inputs, candidates, wrong, since)
    parts = [
        pl.DataFrame({"detection": right, "annotation": matched, "first": 0, "last": until[right]}),
        mistaken,
        _remainder(mistaken, "detection", np.zeros_like(wrong), wrong),
        _remainder(mistaken, "annotation", since, np.full_like(since, n - 1)),
    ]
    numbers = dict.fromkeys(_PAIR, pl.UInt32) | dict.fromkeys(_ENDS, pl.Int16)
    rows = pl.concat([part.cast({name: numbers[name] for name in part.columns}) for part in parts], how="diagonal")
    return _by_row(rows.filter(pl.col("first") <= pl.col("last")), verdicts)


def _match_stretches(
    verdicts: Verdicts, inputs: Inputs, candidates: pl.DataFrame, until: np.ndarray, since: np.ndarray
) -> pl.DataFrame:
    """Return detection, annotation (positions in the verdicts), first, last of the mistakes; see `find_candidates`.

    Detections that choose before another one are present wherever that one is. So its choice changes only where an annotation
    becomes free: there, the positions of its component are cut. Every component is matched once in each of its stretches.
    """
    detections, annotations = (candidates[name].to_numpy() for name in _PAIR)
    width = int(until.max(initial=-1)) + 2
    component = connect(detections, annotations) * width
    begin = component + since[annotations]
    cuts = np.unique(np.concatenate([begin, component + width - 1]))  # also after the last stretch of each component
    place = np.searchsorted(cuts, begin)
    n_stretches = np.searchsorted(cuts, component + until[detections], side="right") - place
    copy = np.repeat(np.arange(len(place)), n_stretches)
    stretch = np.arange(len(copy)) + np.repeat(place - np.cumsum(n_stretches) + n_stretches, n_stretches)
    chosen = choose(verdicts, inputs, candidates[copy], stretch)
    at = chosen["stretch"].to_numpy()
    last = np.minimum(cuts[at + 1] % width - 1, until[chosen["detection"].to_numpy()])
    ends = {"first": pl.Series(cuts[at] % width, dtype=pl.Int16), "last": pl.Series(last, dtype=pl.Int16)}
    return _join_adjacent(chosen.select(*_PAIR, **ends))


def _remainder(stays: pl.DataFrame, name: str, begin: np.ndarray, end: np.ndarray) -> pl.DataFrame:
    """Return column `name` (positions), first and last: the parts of each row's range `begin`, ..., `end` without a stay."""
    position = np.concatenate([stays[name].to_numpy(), np.arange(len(begin))])
    first, last = (np.concatenate([stays[of].to_numpy(), end + 1]) for of in _ENDS)  # with one more, after the last one
    order = np.lexsort((first, position))
    position, first, last = position[order], first[order], last[order]
    is_first = np.diff(position, prepend=-1) != 0
    since = np.where(is_first, begin[position], np.roll(last, 1) + 1)
    left = np.flatnonzero(since < first)
    return pl.DataFrame({name: position[left], "first": since[left], "last": first[left] - 1})


def _match_at_each(self: Evaluation, threshold: int, area: int, cuts: np.ndarray) -> pl.DataFrame:
    """Return detection, annotation (rows of the inputs' tables), true, found (the lists of both), first and last."""
    parts = []
    with collecting() as warnings:
        for position, cut in enumerate(cuts.tolist()):
            verdicts = verdicts_at(self._pipeline.at_score(cut), threshold, area)
            at = {end: pl.lit(position, pl.Int16) for end in _ENDS}
            parts.append(_by_row(confuse(verdicts, self._inputs).select(*_PAIR, **at), verdicts))
    warn_again(dict.fromkeys(warnings))
    return _join_adjacent(pl.concat(parts))


def _by_row(rows: pl.DataFrame, verdicts: Verdicts) -> pl.DataFrame:
    """Replace positions in the verdicts by rows of the inputs' tables, and add the lists of both."""
    columns: dict[str, pl.Series] = {}
    for name, side in zip(_PAIR, ("found", "true"), strict=True):
        table = getattr(verdicts, f"{name}s")
        columns |= {name: table["row"].gather(rows[name]), side: table["list"].gather(rows[name])}
    return rows.select(**columns, first="first", last="last")


def _join_adjacent(rows: pl.DataFrame) -> pl.DataFrame:
    """Join consecutive rows of one pair into one."""
    rows = rows.sort(*_PAIR, "first")
    follows = pl.all_horizontal(
        *(pl.col(name).eq_missing(pl.col(name).shift()) for name in _PAIR), pl.col("first") == pl.col("last").shift() + 1
    )
    begins = rows.select(~follows.fill_null(False)).to_series()  # the first row has no row before it
    ends = begins.shift(-1, fill_value=True)
    return rows.filter(begins).with_columns(rows.filter(ends)["last"])


def _with_ids(self: Evaluation, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the ids of images, objects and categories to the rows."""
    inputs, categories = self._inputs, self._source.category_ids
    of_found, of_true = (
        table["image_id"].gather(rows[name]) for table, name in zip((inputs.detections, inputs.annotations), _PAIR, strict=True)
    )
    return rows.select(
        of_found.zip_with(of_found.is_not_null(), of_true).alias("image_id"),
        detection_id=inputs.detections["detection_id"].gather(rows["detection"]),
        annotation_id=inputs.annotations["annotation_id"].gather(rows["annotation"]),
        true_category_id=categories.gather(rows["true"]),
        found_category_id=categories.gather(rows["found"]),
        first=pl.col("first").cast(pl.UInt8),
        last=pl.col("last").cast(pl.UInt8),
    )

"""The error of each false positive, and the missed annotations that errors have as targets (TIDE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.error_kinds import OF_DETECTIONS
from apframe.evaluation.diagnose.outcomes import Outcomes, outcomes, verdicts_at
from apframe.matching.by_best_overlap import find_best
from apframe.matching.verdicts import Verdicts
from apframe.protocols.across import pair_across, place_pairs
from apframe.protocols.list_thresholds import thresholds_of

if TYPE_CHECKING:
    from apframe.evaluation.pipeline import Pipeline

CLS, LOC, BOTH, DUPE, BKG = range(len(OF_DETECTIONS))
NONE = -1


@dataclass(frozen=True)
class Errors:
    """The errors of detections and annotations, by their positions in the verdicts.

    Attributes
    ----------
    kind
        the number of the error among `OF_DETECTIONS`; -1 for a detection without an error
    target, similarity
        the target annotation of the error, by position, or -1, and its similarity
    same, other
        the largest similarities to annotations of its own and of other categories; NaN below the background threshold
    is_fixable
        whether fixing the error makes the detection a true positive
    is_miss
        for annotations: whether it was missed, and is not the target of an error `loc` or `cls`
    """

    kind: np.ndarray
    target: np.ndarray
    similarity: np.ndarray
    same: np.ndarray
    other: np.ndarray
    is_fixable: np.ndarray
    is_miss: np.ndarray


def errors_of(pipeline: Pipeline, threshold: int, background: float) -> tuple[Verdicts, Outcomes, Errors]:
    """Return the verdicts of the headline's area range at a threshold (number), with their outcomes and errors.

    The latest result is kept.
    """
    return pipeline.last(_errors_of, threshold, background)


def pairs_of(pipeline: Pipeline, background: float) -> pl.DataFrame:
    """Return the pairs of each image across categories, see `pair_across`; the latest result is kept."""
    return pipeline.last(_pairs_of, background)


def _pairs_of(pipeline: Pipeline, background: float) -> pl.DataFrame:
    return pair_across(pipeline.inputs, background)


def _errors_of(pipeline: Pipeline, threshold: int, background: float) -> tuple[Verdicts, Outcomes, Errors]:
    verdicts_of_all, inputs = pipeline.verdicts, pipeline.inputs
    verdicts = verdicts_at(verdicts_of_all, threshold, verdicts_of_all.ranges.index(pipeline.protocol.headline_range))
    became = outcomes(verdicts)
    pairs = place_pairs(pairs_of(pipeline, background), verdicts, inputs)
    foreground = thresholds_of(inputs, inputs.protocol, verdicts_of_all.thresholds[threshold])
    return verdicts, became, find_errors(verdicts, became, pairs, foreground=foreground, background=background)


def find_errors(
    verdicts: Verdicts, became: Outcomes, pairs: pl.DataFrame, *, foreground: np.ndarray, background: float
) -> Errors:
    """Decide the error of each false positive, by the first rule that applies.

    `same` and `other` are the largest similarities of a detection to annotations of its own category and of others that count,
    matched or not. Among equal ones, the first annotation of the input wins.

    1. `loc`: background <= same <= foreground
    2. `cls`: other >= foreground
    3. `dupe`: an annotation of its category with similarity >= foreground is matched by another detection
    4. `bkg`: same <= background and other <= background
    5. `both`: any other

    A missed annotation that is the target of errors `loc` or `cls` is claimed by the one with the highest score, which is
    fixable; among equal scores, by the first detection of the input.

    Parameters
    ----------
    verdicts, became
        verdicts at one threshold and area range, and their outcomes
    pairs
        pairs of `pair_across`, by positions: detection, annotation, similarity and is_same, from the background threshold
        upwards
    foreground
        the threshold of each list: for a pair, that of the annotation
    background
        the background threshold, below all of them

    Source: Bolya et al., TIDE, ECCV 2020, in the order of `tidecv`.
    """
    n = verdicts.detections.height
    kept = became.is_false[pairs["detection"].to_numpy()] & became.counts[pairs["annotation"].to_numpy()]
    pairs = pairs.filter(pl.Series(kept))
    detection, annotation, similarity, is_same = (pairs[name].to_numpy() for name in pairs.columns)
    min_similarity = foreground[verdicts.annotations["list"].to_numpy()]
    first = verdicts.annotations["row"].to_numpy()[annotation]  # the input's order decides between equal ones

    def best(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the most similar annotation of each detection among some of the pairs, and its similarity."""
        row = find_best(np.flatnonzero(chosen), detection, first, similarity)
        which, value = np.full(n, NONE, dtype=np.int64), np.full(n, np.nan)
        which[detection[row]], value[detection[row]] = annotation[row], similarity[row]
        return which, value

    (same_at, same), (other_at, other) = best(is_same), best(~is_same)
    matched_at, matched = best(is_same & became.is_found[annotation] & (similarity >= min_similarity[annotation]))
    kind = np.full(n, NONE, dtype=np.int8)
    # the rules from the last to the first; comparisons with NaN are false
    false = became.is_false
    kind[false] = BOTH
    kind[false & ~(same > background) & ~(other > background)] = BKG
    kind[matched_at != NONE] = DUPE
    reached = [np.append(min_similarity, np.nan)[at] for at in (same_at, other_at)]  # NONE reads the last element
    kind[other >= reached[1]] = CLS
    kind[(background <= same) & (same <= reached[0])] = LOC
    targets = [(CLS, other_at, other), (LOC, same_at, same), (BOTH, other_at, other), (DUPE, matched_at, matched)]
    target, value = np.full(n, NONE, dtype=np.int64), np.full(n, np.nan)
    for number, at, of in targets:
        of_kind = kind == number
        target[of_kind], value[of_kind] = at[of_kind], of[of_kind]
    is_fixable = _claims(verdicts, became, kind, target)
    is_miss = became.is_missed
    is_miss[target[(kind == LOC) | (kind == CLS)]] = False
    return Errors(kind, target, value, same, other, is_fixable, is_miss)


def _claims(verdicts: Verdicts, became: Outcomes, kind: np.ndarray, target: np.ndarray) -> np.ndarray:
    """True for the best error of a missed annotation: the highest score, then the first detection of the input."""
    at = np.flatnonzero((kind == LOC) | (kind == CLS))
    at = at[became.is_missed[target[at]]]
    score, row = (verdicts.detections[name].to_numpy()[at] for name in ("score", "row"))
    at = at[np.lexsort((row, -score))]
    _, first = np.unique(target[at], return_index=True)
    claims = np.zeros(len(kind), dtype=bool)
    claims[at[first]] = True
    return claims

"""Annotations that are probably wrong, from confident detections and from annotations that no detection matches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.find_errors import LOC, Errors
from apframe.evaluation.diagnose.outcomes import Outcomes
from apframe.matching.by_best_overlap import find_best
from apframe.matching.verdicts import Verdicts
from apframe.protocols.across import place_pairs
from apframe.protocols.pairing import pair

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

_INSIDE = 0.5  # share of a detection inside a crowd or an ignored annotation that keeps it from being a missing object
_ALIKE = 0.8  # similarity of annotations of the same object
SCHEMA = {"kind": pl.String, "detection": pl.Int64, "annotation": pl.Int64, "same_as": pl.Int64, "similarity": pl.Float64}


@dataclass(frozen=True)
class Evidence:
    """The evidence of label errors: `errors_of`, the pairs across categories, and flags of confident detections.

    `confident` has a flag for each detection of the verdicts, and `pairs` come from `pair_across`.
    """

    verdicts: Verdicts
    outcomes: Outcomes
    errors: Errors
    pairs: pl.DataFrame
    confident: np.ndarray


def find_suspects(evidence: Evidence, inputs: Inputs, foreground: np.ndarray, background: float) -> pl.DataFrame:
    """Find the annotations that are probably wrong.

    `missing`: a confident false positive whose similarity to every annotation of the image is below `background`, and less than
    half inside every crowd and ignored annotation. `wrong_class`: one that is similar enough to a missed annotation of another
    category. `misplaced`: one that is an error `loc` and the best one for a missed annotation. `duplicate`: a missed annotation
    whose similarity with another one of the image is .8 or more. A detection is the first of wrong_class, misplaced and missing
    that applies.

    Parameters
    ----------
    evidence, inputs
        the evaluated data and their outcomes
    foreground, background
        the IoU threshold of each list, and the background threshold

    Returns
    -------
    kind, detection, annotation, same_as (row numbers of the inputs' tables, or null) and similarity (null for missing);
    unordered.
    """
    wrong = _wrong_class(evidence, inputs, foreground)
    errors, rows = evidence.errors, evidence.verdicts
    is_left = evidence.outcomes.is_false & evidence.confident
    is_left[wrong["detection"].to_numpy()] = False
    at = np.flatnonzero(is_left & (errors.kind == LOC) & errors.is_fixable)
    misplaced = pl.DataFrame({"detection": at, "annotation": errors.target[at], "similarity": errors.similarity[at]})
    is_left[at] = False
    candidates = rows.detections["row"].to_numpy()[is_left]
    missing = candidates[~_touches(candidates, inputs, evidence, background)]
    parts = {"wrong_class": wrong, "misplaced": misplaced}
    by_position = [table.with_columns(kind=pl.lit(kind)) for kind, table in parts.items()]
    placed = pl.concat(by_position).with_columns(
        detection=rows.detections["row"].gather(pl.concat(by_position)["detection"]).cast(pl.Int64),
        annotation=rows.annotations["row"].gather(pl.concat(by_position)["annotation"]).cast(pl.Int64),
    )
    of_missing = pl.DataFrame({"detection": missing.astype(np.int64)}).with_columns(kind=pl.lit("missing"))
    tables = [placed, of_missing, _duplicates(evidence, inputs).with_columns(kind=pl.lit("duplicate"))]
    empty = pl.DataFrame(schema=SCHEMA)
    return pl.concat([empty, *tables], how="diagonal_relaxed").select(*SCHEMA)


def _wrong_class(evidence: Evidence, inputs: Inputs, foreground: np.ndarray) -> pl.DataFrame:
    """Return detection, annotation (positions) and similarity of the most similar missed annotation of another category."""
    verdicts, became = evidence.verdicts, evidence.outcomes
    pairs = place_pairs(evidence.pairs, verdicts, inputs).filter(~pl.col("is_same"))
    detection, annotation, similarity = (pairs[name].to_numpy() for name in ("detection", "annotation", "similarity"))
    is_alike = similarity >= foreground[verdicts.annotations["list"].to_numpy()][annotation]
    kept = np.flatnonzero(is_alike & (became.is_false & evidence.confident)[detection] & became.is_missed[annotation])
    row = find_best(kept, detection, verdicts.annotations["row"].to_numpy()[annotation], similarity)
    return pl.DataFrame({"detection": detection[row], "annotation": annotation[row], "similarity": similarity[row]})


def _touches(rows: np.ndarray, inputs: Inputs, evidence: Evidence, background: float) -> np.ndarray:
    """True for detections (row numbers) that touch an annotation, or are inside one that does not count."""
    part = of_detections(inputs, rows)
    nowhere = pl.repeat(False, inputs.annotations.height, eager=True)
    near = pair(part, min_similarity=background, across_categories=True, is_crowd=nowhere)
    near = near.filter(pl.col("similarity") >= background)
    verdicts, became = evidence.verdicts, evidence.outcomes
    at = verdicts.annotations["row"].to_numpy()[~became.counts | _are_crowds(verdicts, inputs)]
    prepared = {name: each.take(at) if name == "annotation_shapes" else each for name, each in part.prepared.items()}
    ignored = replace(part, annotations=inputs.annotations[at], prepared=prepared)
    everywhere = pl.repeat(True, len(at), eager=True)
    inside = pair(ignored, min_similarity=_INSIDE, across_categories=True, is_crowd=everywhere)
    inside = inside.filter(pl.col("similarity") >= _INSIDE)
    touches = np.zeros(len(rows), dtype=bool)
    touches[near["detection"].to_numpy()] = True
    touches[inside["detection"].to_numpy()] = True
    return touches


def _duplicates(evidence: Evidence, inputs: Inputs) -> pl.DataFrame:
    """Return annotation, same_as (row numbers) and similarity: missed annotations, each with the most similar other one."""
    annotations = inputs.annotations
    is_own = ~inputs.crowds.to_numpy()
    if "expanded_from" in annotations.columns:  # copies are for other categories of the same object
        is_own &= annotations["expanded_from"].is_null().to_numpy()
    rows = evidence.verdicts.annotations["row"].to_numpy()[evidence.outcomes.is_missed]
    missed = np.sort(rows[is_own[rows]])
    empty = pl.DataFrame(schema={"annotation": pl.Int64, "same_as": pl.Int64, "similarity": pl.Float64})
    if inputs.protocol.similarity.shape is None:  # a function may read columns of detections
        return empty
    others = np.flatnonzero(is_own)
    as_found = annotations[missed].rename({"annotation_id": "detection_id"}).with_columns(score=pl.lit(1.0))
    pairs = pair(
        replace(inputs, detections=as_found, annotations=annotations[others], prepared={}),
        min_similarity=_ALIKE,
        across_categories=True,
        is_crowd=pl.repeat(False, len(others), eager=True),
    )
    pairs = pairs.filter(pl.col("similarity") >= _ALIKE)
    one, other, similarity = (pairs[name].to_numpy() for name in ("detection", "annotation", "similarity"))
    best = find_best(np.flatnonzero(missed[one] != others[other]), one, others[other], similarity)
    duplicates = {"annotation": missed[one[best]], "same_as": others[other[best]], "similarity": similarity[best]}
    return pl.concat([empty, pl.DataFrame(duplicates)], how="vertical_relaxed")


def _are_crowds(verdicts: Verdicts, inputs: Inputs) -> np.ndarray:
    """True for crowds among the annotations of the verdicts."""
    return inputs.crowds.gather(verdicts.annotations["row"]).to_numpy()


def of_detections(inputs: Inputs, rows: np.ndarray) -> Inputs:
    """Return the input with some of its detections (row numbers)."""
    prepared = {name: each.take(rows) if name == "detection_shapes" else each for name, each in inputs.prepared.items()}
    return replace(inputs, detections=inputs.detections[rows], prepared=prepared)

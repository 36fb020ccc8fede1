"""Outcomes of all detections and annotations if unmatched ones may be mistaken for another category."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.evaluation.diagnose.outcomes import outcomes
from apframe.matching.by_score import match_by_score
from apframe.matching.reached import NEARLY_ONE, reaches
from apframe.protocols.across import pair_across
from apframe.protocols.list_thresholds import thresholds_of

if TYPE_CHECKING:
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.inputs import Inputs


def confuse(verdicts: Verdicts, inputs: Inputs) -> pl.DataFrame:
    """Pair each detection that counts with its own annotation, with one that it is mistaken for, or none; and list misses.

    1. True positives stay matched. Ignored detections are left out.
    2. Each false positive, by score (ties: image, then row), is paired with the most similar missed annotation of another
       category that reaches the threshold; among equally similar ones, with the earliest.
    3. The others have no partner.

    `pair_across` defines annotations that are excluded in step 2: groups of objects, copies for categories above.

    Parameters
    ----------
    verdicts
        at one threshold and area range, from `verdicts_at`
    inputs
        the input of matching

    Returns
    -------
    detection, annotation (positions in the verdicts), true, found (the lists of the annotation and of the detection) and
    similarity; null without a partner. Detections in their order, followed by the missed annotations in theirs.
    """
    became = outcomes(verdicts)
    free, missed = became.is_false, became.is_missed
    candidates = find_candidates(verdicts, inputs, np.where(free, 0, -1), np.where(missed, 0, 1))
    mistaken = choose(verdicts, inputs, candidates).drop("stretch")
    matched = pl.concat([verdicts.hits.filter(pl.col("true") > 0).select(mistaken.columns).cast(mistaken.schema), mistaken])
    missed[mistaken["annotation"].to_numpy()] = False
    free[mistaken["detection"].to_numpy()] = False
    alone, lost = (pl.Series(np.flatnonzero(flags).astype(np.uint32)) for flags in (free, missed))
    rows = pl.concat([matched, pl.DataFrame({"detection": alone}), pl.DataFrame({"annotation": lost})], how="diagonal")
    rows = rows.sort("detection", "annotation", nulls_last=True)
    return rows.with_columns(
        verdicts.annotations["list"].gather(rows["annotation"]).alias("true"),
        verdicts.detections["list"].gather(rows["detection"]).alias("found"),
    )


def find_candidates(verdicts: Verdicts, inputs: Inputs, until: np.ndarray, since: np.ndarray) -> pl.DataFrame:
    """Find annotations that detections may be mistaken for, at some of the positions 0, 1, ... in a list of score cut-offs.

    Parameters
    ----------
    verdicts, inputs
        as in `confuse`
    until
        for each detection, the last position at which it may be mistaken for an annotation; -1 for never
    since
        for each annotation, the first position at which it is missed; greater than all of `until` for never

    Returns
    -------
    detection, annotation (positions in the verdicts) and similarity, which reaches the threshold. There is a position at which
    both are unmatched. Unordered.
    """
    image = [table["image"].to_numpy() for table in (verdicts.detections, verdicts.annotations)]
    candidates = np.flatnonzero(since <= until.max(initial=-1))
    earliest = np.full(verdicts.images.height, until.max(initial=-1) + 1)
    np.minimum.at(earliest, image[1][candidates], since[candidates])
    free = np.flatnonzero(until >= earliest[image[0]])
    rows = verdicts.detections["row"].to_numpy()[free], verdicts.annotations["row"].to_numpy()[candidates]
    prepared = {name: each.take(rows[0 if name == "detection_shapes" else 1]) for name, each in inputs.prepared.items()}
    part = replace(inputs, detections=inputs.detections[rows[0]], annotations=inputs.annotations[rows[1]], prepared=prepared)
    pairs = pair_across(part, min(verdicts.thresholds[0], NEARLY_ONE)).filter(~pl.col("is_same"))
    detection, annotation = free[pairs["detection"].to_numpy()], candidates[pairs["annotation"].to_numpy()]
    similarity = pairs["similarity"].to_numpy()
    min_similarity = thresholds_of(inputs, inputs.protocol, verdicts.thresholds[0])[
        verdicts.annotations["list"].to_numpy()[annotation]
    ]
    kept = reaches(similarity, min_similarity, strict=inputs.protocol.matcher.strict) & (since[annotation] <= until[detection])
    return pl.DataFrame({"detection": detection[kept], "annotation": annotation[kept], "similarity": similarity[kept]})


def choose(verdicts: Verdicts, inputs: Inputs, candidates: pl.DataFrame, stretch: np.ndarray | None = None) -> pl.DataFrame:
    """Choose the annotation that each detection is mistaken for: step 2 of `confuse`.

    Parameters
    ----------
    verdicts, inputs
        as in `confuse`
    candidates
        the result of `find_candidates`, whose rows may be repeated in different stretches
    stretch
        a number for each candidate. Each stretch is matched separately, as if there were no others

    Returns
    -------
    detection, annotation, similarity and stretch of the chosen pairs.
    """
    stretch = np.zeros(candidates.height, dtype=np.int64) if stretch is None else stretch
    detections, annotations = (candidates[name].to_numpy() for name in ("detection", "annotation"))
    # numbered in the order in which they choose: by score, equal ones in their order
    rivals, number = np.unique(detections, return_inverse=True)
    score, row = (verdicts.detections[name].gather(rivals).to_numpy() for name in ("score", "row"))
    rank = np.argsort(np.lexsort((row, -score)))[number]
    # the matcher prefers the later of equally similar annotations, but the earlier one is required: so their order is
    # reversed
    place = -verdicts.annotations["row"].gather(annotations).to_numpy().astype(np.int64)
    n = int(stretch.max(initial=0)) + 1
    _, chosen, number = np.unique(rank * n + stretch, return_index=True, return_inverse=True)
    _, chosen_targets, target = np.unique(place * n + stretch, return_index=True, return_inverse=True)
    pairs = pl.DataFrame(
        {
            "detection": number.astype(np.uint32),
            "annotation": target.astype(np.uint32),
            "similarity": candidates["similarity"],
        }
    )
    nothing = np.zeros(len(chosen_targets), dtype=bool)
    strict = inputs.protocol.matcher.strict
    assigned = match_by_score(pairs, nothing, nothing[None, :], np.array([-np.inf]), strict=strict)
    chosen, chosen_targets = chosen[assigned["detection"].to_numpy()], chosen_targets[assigned["annotation"].to_numpy()]
    return pl.DataFrame(
        {
            "detection": detections[chosen].astype(np.uint32),
            "annotation": annotations[chosen_targets].astype(np.uint32),
            "similarity": assigned["similarity"],
            "stretch": stretch[chosen],
        }
    )

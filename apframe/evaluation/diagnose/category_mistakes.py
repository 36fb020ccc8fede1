"""The fate of every detection and annotation when each that is left may be mistaken for one of another category."""

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
    """Every counted detection with the annotation that it is right about, mistaken for another, or nothing; and what is missed.

    1. True positives stay matched. Ignored detections are left out.
    2. Each false positive, by score (ties: image, then row), takes the missed annotation of another category that is most
       similar, of equal ones the earlier one, if it reaches the threshold.
    3. The others have no partner.

    `pair_across` says what is nobody's partner in step 2: groups of objects, copies for categories above.

    Parameters
    ----------
    verdicts
        at one threshold and area range, from `verdicts_at`
    inputs
        what was matched

    Returns
    -------
    detection, annotation (positions in the verdicts), true, found (the lists of the annotation and of the detection) and
    similarity; null where there is no partner. Detections in their order, then the missed annotations in theirs.
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
    """The annotations that detections may be mistaken for, at some of the positions 0, 1, ... in a list of score cut-offs.

    Parameters
    ----------
    verdicts, inputs
        as in `confuse`
    until
        of each detection, the last position at which it may be mistaken for an annotation; -1 if it is never
    since
        of each annotation, the first position at which it is missed; greater than all of `until` if it never is

    Returns
    -------
    detection, annotation (positions in the verdicts) and similarity, which reaches the threshold. There is a position at which
    both are left. In no order.
    """
    image = [table["image"].to_numpy() for table in (verdicts.detections, verdicts.annotations)]
    wanted = np.flatnonzero(since <= until.max(initial=-1))
    earliest = np.full(verdicts.images.height, until.max(initial=-1) + 1)
    np.minimum.at(earliest, image[1][wanted], since[wanted])
    free = np.flatnonzero(until >= earliest[image[0]])
    rows = verdicts.detections["row"].to_numpy()[free], verdicts.annotations["row"].to_numpy()[wanted]
    prepared = {name: each.take(rows[0 if name == "detection_shapes" else 1]) for name, each in inputs.prepared.items()}
    part = replace(inputs, detections=inputs.detections[rows[0]], annotations=inputs.annotations[rows[1]], prepared=prepared)
    pairs = pair_across(part, min(verdicts.thresholds[0], NEARLY_ONE)).filter(~pl.col("is_same"))
    detection, annotation = free[pairs["detection"].to_numpy()], wanted[pairs["annotation"].to_numpy()]
    similarity = pairs["similarity"].to_numpy()
    least = thresholds_of(inputs, inputs.protocol, verdicts.thresholds[0])[verdicts.annotations["list"].to_numpy()[annotation]]
    kept = reaches(similarity, least, strict=inputs.protocol.matcher.strict) & (since[annotation] <= until[detection])
    return pl.DataFrame({"detection": detection[kept], "annotation": annotation[kept], "similarity": similarity[kept]})


def choose(verdicts: Verdicts, inputs: Inputs, candidates: pl.DataFrame, stretch: np.ndarray | None = None) -> pl.DataFrame:
    """The detections with the annotation that they are mistaken for: step 2 of `confuse`.

    Parameters
    ----------
    verdicts, inputs
        as in `confuse`
    candidates
        the result of `find_candidates`, whose rows may be repeated in different stretches
    stretch
        a number of each candidate. Each stretch is matched on its own, as if there were no others

    Returns
    -------
    detection, annotation, similarity and stretch of the pairs that are chosen.
    """
    stretch = np.zeros(candidates.height, dtype=np.int64) if stretch is None else stretch
    found, expected = (candidates[name].to_numpy() for name in ("detection", "annotation"))
    # numbered in the order in which they choose: by score, equal ones as they came
    rivals, number = np.unique(found, return_inverse=True)
    score, row = (verdicts.detections[name].gather(rivals).to_numpy() for name in ("score", "row"))
    rank = np.argsort(np.lexsort((row, -score)))[number]
    # the matcher takes the later one of equally similar annotations, and the earlier one is asked for: they come backwards
    place = -verdicts.annotations["row"].gather(expected).to_numpy().astype(np.int64)
    n = int(stretch.max(initial=0)) + 1
    _, chosen, number = np.unique(rank * n + stretch, return_index=True, return_inverse=True)
    _, taken, target = np.unique(place * n + stretch, return_index=True, return_inverse=True)
    pairs = pl.DataFrame(
        {
            "detection": number.astype(np.uint32),
            "annotation": target.astype(np.uint32),
            "similarity": candidates["similarity"],
        }
    )
    nothing = np.zeros(len(taken), dtype=bool)
    strict = inputs.protocol.matcher.strict
    assigned = match_by_score(pairs, nothing, nothing[None, :], np.array([-np.inf]), strict=strict)
    chosen, taken = chosen[assigned["detection"].to_numpy()], taken[assigned["annotation"].to_numpy()]
    return pl.DataFrame(
        {
            "detection": found[chosen].astype(np.uint32),
            "annotation": expected[taken].astype(np.uint32),
            "similarity": assigned["similarity"],
            "stretch": stretch[chosen],
        }
    )

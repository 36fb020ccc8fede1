"""What became of every detection and annotation when each that is left may be mistaken for one of another category."""

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
    mistaken = _mistaken(verdicts, inputs, np.flatnonzero(free), np.flatnonzero(missed))
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


def _mistaken(verdicts: Verdicts, inputs: Inputs, free: np.ndarray, wanted: np.ndarray) -> pl.DataFrame:
    """detection, annotation (positions in the verdicts) and similarity of those that are mistaken for each other."""
    detections, annotations = verdicts.detections, verdicts.annotations
    at_annotated = np.zeros(verdicts.images.height, dtype=bool)
    at_annotated[annotations["image"].to_numpy()[wanted]] = True
    free = free[at_annotated[detections["image"].to_numpy()[free]]]
    # the matcher takes the later one of equally similar annotations, and the earlier one is asked for: they come backwards
    wanted = wanted[np.argsort(annotations["row"].to_numpy()[wanted])[::-1]]
    rows = detections["row"].to_numpy()[free], annotations["row"].to_numpy()[wanted]
    prepared = {name: each.take(rows[0 if name == "found" else 1]) for name, each in inputs.prepared.items()}
    part = replace(inputs, detections=inputs.detections[rows[0]], annotations=inputs.annotations[rows[1]], prepared=prepared)
    strict = inputs.protocol.matcher.strict
    least = thresholds_of(inputs, inputs.protocol, verdicts.thresholds[0])[annotations["list"].to_numpy()[wanted]]
    pairs = pair_across(part, min(verdicts.thresholds[0], NEARLY_ONE)).filter(~pl.col("is_same"))
    similarity, at = pairs["similarity"].to_numpy(), pairs["annotation"].to_numpy()
    pairs = pairs.filter(pl.Series(reaches(similarity, least[at], strict=strict)))
    # numbered in the order in which they choose: by score, equal ones as they came
    rivals, number = np.unique(free[pairs["detection"].to_numpy()], return_inverse=True)
    score, row = (detections[name].gather(rivals).to_numpy() for name in ("score", "row"))
    order = np.lexsort((row, -score))
    pairs = pairs.with_columns(pl.Series("detection", np.argsort(order)[number], dtype=pl.UInt32))
    nothing = np.zeros(len(wanted), dtype=bool)
    assigned = match_by_score(pairs, nothing, nothing[None, :], np.array([-np.inf]), strict=strict)
    return pl.DataFrame(
        {
            "detection": rivals[order][assigned["detection"].to_numpy()].astype(np.uint32),
            "annotation": wanted[assigned["annotation"].to_numpy()].astype(np.uint32),
            "similarity": assigned["similarity"],
        }
    )

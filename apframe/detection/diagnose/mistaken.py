"""What became of every detection and annotation when each that is left may be mistaken for one of another category."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.detection.pairing import pair
from apframe.detection.prepare.counting import crowds
from apframe.detection.prepare.hierarchy import find_ancestors
from apframe.matching.policies import POLICIES
from apframe.matching.reached import count_reached
from apframe.matching.verdicts import has_bit

if TYPE_CHECKING:
    from apframe.detection.prepare.inputs import Inputs
    from apframe.matching.verdicts import Verdicts
    from apframe.rule_sets.protocol import Protocol


def confuse(verdicts: Verdicts, inputs: Inputs, protocol: Protocol, threshold: int, k: int) -> pl.DataFrame:
    """Every counted detection with the annotation that it is right about, mistaken for another, or nothing; and what is missed.

    1. True positives stay matched. Detections that are ignored or beyond the limit are left out.
    2. Each other detection, by score (ties: image, then row), takes the free counted annotation of another category that is
       most similar, of equal ones the earlier one, if it reaches the threshold.
    3. What is left has no partner.

    Parameters
    ----------
    verdicts, inputs, protocol
        what matching decided, about what, by which rules
    threshold, k
        the IoU threshold and the area range, by number

    Returns
    -------
    detection, annotation (positions in the verdicts), true, found (the lists of the annotation and of the detection) and
    similarity; null where there is no partner. Detections in their order, then the missed annotations in theirs.

    A group of objects, and the copy of an annotation for a category above its own, are nobody's partner here; nor are two
    categories of which one is above the other (Open Images).
    """
    hits = verdicts.hits_at(-1)
    first, last = hits["first"].to_numpy(), hits["last"].to_numpy()
    hits = hits.filter(pl.Series((first <= threshold) & (threshold < last) & has_bit(hits["ranges"].to_numpy(), k)))
    matched, taken = hits["detection"].to_numpy(), hits["annotation"].to_numpy()
    detections, annotations = verdicts.detections, verdicts.annotations
    free = has_bit(detections["inside"].to_numpy(), k) & (detections["place"].to_numpy() <= verdicts.limits[-1])
    free[matched] = False
    wanted = has_bit(annotations["counts"].to_numpy(), k)
    wanted[taken] = False
    mistaken = _mistaken(verdicts, inputs, protocol, threshold, np.flatnonzero(free), np.flatnonzero(wanted))

    is_true = has_bit(hits["true"].to_numpy(), k)
    partner = np.full(len(free), -1, dtype=np.int64)
    similarity = np.zeros(len(free))
    partner[matched[is_true]], similarity[matched[is_true]] = taken[is_true], hits["similarity"].to_numpy()[is_true]
    of_others = mistaken["detection"].to_numpy()
    partner[of_others], similarity[of_others] = mistaken["annotation"].to_numpy(), mistaken["similarity"].to_numpy()
    wanted[mistaken["annotation"].to_numpy()] = False
    rows = np.flatnonzero(free | (partner >= 0))
    alone, missed = pl.Series(partner[rows] < 0), np.flatnonzero(wanted)
    found = pl.DataFrame(
        {
            "detection": rows.astype(np.uint32),
            "annotation": pl.Series(partner[rows].clip(0).astype(np.uint32)).set(alone, None),
            "similarity": pl.Series(similarity[rows]).set(alone, None),
        }
    )
    lost = pl.DataFrame({"annotation": missed.astype(np.uint32)})
    both = pl.concat([found, lost], how="diagonal")
    return both.with_columns(
        annotations["list"].gather(both["annotation"]).alias("true"),
        detections["list"].gather(both["detection"]).alias("found"),
    )


def _mistaken(
    verdicts: Verdicts, inputs: Inputs, protocol: Protocol, threshold: int, free: np.ndarray, wanted: np.ndarray
) -> pl.DataFrame:
    """detection, annotation (positions in the verdicts) and similarity of those that are mistaken for each other."""
    detections, annotations = verdicts.detections, verdicts.annotations
    wanted = wanted[~_never_others(inputs, protocol).to_numpy()[annotations["row"].to_numpy()[wanted]]]
    at_annotated = np.zeros(verdicts.images.height, dtype=bool)
    at_annotated[annotations["image"].to_numpy()[wanted]] = True
    free = free[at_annotated[detections["image"].to_numpy()[free]]]
    # the policy takes the later one of equally similar annotations, and the earlier one is asked for: they come backwards
    wanted = wanted[np.argsort(annotations["row"].to_numpy()[wanted])[::-1]]
    rows = detections["row"].to_numpy()[free], annotations["row"].to_numpy()[wanted]
    prepared = {name: each.take(rows[0 if name == "found" else 1]) for name, each in inputs.prepared.items()}
    part = replace(inputs, detections=inputs.detections[rows[0]], annotations=inputs.annotations[rows[1]], prepared=prepared)
    thresholds = np.array(protocol.iou_thresholds[threshold : threshold + 1])
    pairs = pair(part, protocol, least=float(thresholds[0]), across_categories=True)
    pairs = pairs.filter(pl.Series(count_reached(pairs["similarity"].to_numpy(), thresholds, strict=protocol.strict) > 0))
    ours, theirs = (
        table["list"].to_numpy()[place[pairs[name].to_numpy()]]
        for table, place, name in ((detections, free, "detection"), (annotations, wanted, "annotation"))
    )
    pairs = pairs.filter(pl.Series(~_related(verdicts, inputs, protocol, ours, theirs)))
    # numbered in the order in which they choose: by score, equal ones as they came
    rivals, number = np.unique(free[pairs["detection"].to_numpy()], return_inverse=True)
    score, row = (detections[name].gather(rivals).to_numpy() for name in ("score", "row"))
    order = np.lexsort((row, -score))
    pairs = pairs.with_columns(pl.Series("detection", np.argsort(order)[number], dtype=pl.UInt32))
    nothing = np.zeros(len(wanted), dtype=bool)
    assigned = POLICIES["score"].assign(pairs, nothing, nothing[None, :], thresholds, strict=protocol.strict)
    detection, annotation = rivals[order][assigned["detection"].to_numpy()], wanted[assigned["annotation"].to_numpy()]
    return pl.DataFrame({"detection": detection, "annotation": annotation, "similarity": assigned["similarity"]})


def _never_others(inputs: Inputs, protocol: Protocol) -> pl.Series:
    """Flags: annotations that no detection of another category is mistaken for: groups, and copies for categories above."""
    flags = crowds(inputs.annotations, protocol)
    if "expanded_from" in inputs.annotations.columns:
        flags = flags | inputs.annotations["expanded_from"].is_not_null()
    return flags


def _related(verdicts: Verdicts, inputs: Inputs, protocol: Protocol, ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Flags: pairs of lists that are the same category, or one above the other."""
    same: np.ndarray = ours == theirs
    categories = inputs.dataset.categories
    if not protocol.expands_hierarchy or "parent_ids" not in categories.columns:
        return same
    lists = verdicts.lists.with_row_index("list")
    above = find_ancestors(categories)
    for column in ("category_id", "ancestor_id"):
        above = above.join(lists.select(pl.col("category_id").alias(column), pl.col("list").alias(f"{column}_list")), on=column)
    low, high = (above[f"{column}_list"].to_numpy().astype(np.int64) for column in ("category_id", "ancestor_id"))
    n = lists.height
    related = np.concatenate([low * n + high, high * n + low])
    return same | np.isin(ours.astype(np.int64) * n + theirs, related)

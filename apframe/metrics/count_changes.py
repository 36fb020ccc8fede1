"""Changes of the counts as the score threshold falls, in one sparse table that gives the counts at any cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from apframe.matching.cutoff_hits import cut_down
from apframe.matching.verdicts import has_bit
from apframe.metrics.cells import Cells, Columns, held_at


@dataclass(frozen=True)
class Changes:
    """Changes of the counts when the threshold falls to a score, at one similarity threshold and in one area range.

    Attributes
    ----------
    number
        the number of the list, ascending
    score
        descending within a list; several rows may have the same score
    image
        the number of the image whose counts change
    tp, fp, fn
        the increase, or the decrease if negative
    loss
        the change in the sum of 1 - similarity over the true positives; for distances, in the sum of the distances
    weight
        the change in the sum of the true positives' weights, see `Verdicts.hits`; 0 without weights
    positives
        the number of annotations that count, for every list; all of them are missed at first
    """

    number: np.ndarray
    score: np.ndarray
    image: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray
    loss: np.ndarray
    weight: np.ndarray
    positives: np.ndarray

    def pooled(self) -> Changes:
        """Return the changes of all lists as one list, as if one threshold were chosen for all categories.

        >>> two = Changes(*map(np.array, (
        ...     [0, 1], [0.2, 0.9], [0, 0], [1, 0], [0, 1], [-1, 0], [0.1, 0.0], [0.0, 0.0], [3, 4])))
        >>> two.pooled().score.tolist(), two.pooled().positives.tolist()
        ([0.9, 0.2], [7])
        """
        order = np.argsort(-self.score, kind="stable")
        columns = {each.name: getattr(self, each.name)[order] for each in fields(self) if each.name != "positives"}
        columns["number"] = np.zeros(len(order), dtype=np.int64)
        return Changes(**columns, positives=self.positives.sum(keepdims=True))


def changes_of_hits(
    cells: Cells, hits: Columns, threshold: int, k: int, max_similarity: float = 1, cut_offs: Sequence[float] = ()
) -> Changes:
    """Return the changes at each score, where detections match anew at each score cut-off.

    Parameters
    ----------
    cells
        cells of all lists
    hits
        columns of the hits at cut-offs, or of `hits_by_score`, with the same numbers of detections and thresholds
    threshold, k
        the numbers of the threshold and of the area range
    max_similarity
        the largest possible similarity: 1, or 0 for distances
    cut_offs
        the only scores at which counts may change, if these are fixed
    """
    rows, held = cells.detections, held_at(hits, threshold, k)
    hits = {name: column[held] for name, column in hits.items()}
    inside = has_bit(rows["inside"], k).astype(np.int64)
    alone = np.flatnonzero(rows["place"] <= cells.limits[-1])
    detection, is_true = hits["detection"], has_bit(hits["true"], k).astype(np.int64)
    counts = has_bit(cells.annotations["counts"], k)[hits["annotation"]].astype(np.int64)
    begin, end = hits["up_to"], hits["above"]
    nothing = np.zeros(len(alone), dtype=np.int64)
    weight = hits["weight"] * is_true if "weight" in hits else np.zeros(len(detection))

    def both(begun: np.ndarray, unmatched: np.ndarray = nothing) -> np.ndarray:
        """Return a column: at `up_to`, a hit replaces an unmatched detection, and at `above` the reverse happens."""
        return np.concatenate([unmatched, begun, -begun])

    which = np.concatenate([alone, detection, detection])
    own = rows["score"][alone]
    score = np.concatenate([cut_down(own, cut_offs) if cut_offs else own, begin, end])
    columns = {
        "tp": both(is_true),
        "fp": both(-inside[detection], inside[alone]),
        "fn": both(-counts),
        "loss": both((max_similarity - hits["similarity"]) * is_true),
        "weight": both(weight),
    }
    number = rows["list"][which].astype(np.int64)
    order = np.lexsort((-score, number))
    changed = (columns["tp"][order] != 0) | (columns["fp"][order] != 0) | (columns["fn"][order] != 0)
    order = order[np.isfinite(score[order]) & changed]
    return Changes(
        number=number[order],
        score=score[order],
        image=rows["image"][which[order]].astype(np.int64),
        **{name: column[order] for name, column in columns.items()},
        positives=cells.positives[:, k],
    )

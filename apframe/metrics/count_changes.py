"""What changes in the counts when the score threshold falls: one sparse table, from which come the counts at any cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from apframe.matching.cutoff_hits import cut_down
from apframe.matching.verdicts import has_bit
from apframe.metrics.cells import Cells, Columns, held_at


@dataclass(frozen=True)
class Changes:
    """By how much the counts change when the threshold falls to a score, at one similarity threshold and area range.

    Attributes
    ----------
    number
        the list, ascending
    score
        within a list from the highest down; several rows may have one score
    image
        the number of the image that changes
    tp, fp, fn
        what comes in, or, if negative, goes out
    loss
        the change of the sum of 1 - similarity over the true positives; of distances, that of the distance
    weight
        the change of the sum of their weights, see `Verdicts.hits`; 0 where there are none
    positives
        how many annotations count, of every list; all are missed before anything changes
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
        """The changes of all lists as those of one, as if one threshold were chosen for all categories.

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
    cells: Cells, hits: Columns, threshold: int, k: int, most: float = 1, cut_offs: Sequence[float] = ()
) -> Changes:
    """What changes at each score, where it takes another match.

    Parameters
    ----------
    cells
        of all lists
    hits
        columns of those at cut-offs, or of `hits_by_score`, by the same numbers of detections and thresholds
    threshold, k
        the threshold and the area range, by number
    most
        the largest similarity there can be: 1, or 0 of distances
    cut_offs
        the only scores at which something changes, where these are fixed
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
        """Return a column: a hit makes something of an unmatched detection from `up_to` on, and takes it back at `above`."""
        return np.concatenate([unmatched, begun, -begun])

    which = np.concatenate([alone, detection, detection])
    own = rows["score"][alone]
    score = np.concatenate([cut_down(own, cut_offs) if cut_offs else own, begin, end])
    columns = {
        "tp": both(is_true),
        "fp": both(-inside[detection], inside[alone]),
        "fn": both(-counts),
        "loss": both((most - hits["similarity"]) * is_true),
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

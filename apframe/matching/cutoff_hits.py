"""Hits at every score cut-off, for matchers where leaving out low scores changes the matches of higher scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from apframe.matching.assignments import find_hits
from apframe.matching.by_score import connect
from apframe.matching.match_input import MatchInput
from apframe.matching.reached import compared_columns, count_reached

_NUMBER = (1 << 32) - 1  # the bits of a number that is packed with a cut-off
_MOST_PAIRS = 1 << 20  # pairs that are matched together, including copies for the operating points


def hits_at_score_cutoffs(rows: MatchInput, limit: int) -> pl.DataFrame:
    """Return the hits of a matcher that ranks by score cut-offs: of `hits_by_score`, and of its first pass, if it has one.

    Hits of the first pass, which is among all detections, only supply scores: `above` is NaN.
    """
    # ByAnnotation matches equal detections in file order
    rows = replace(rows, pairs=rows.pairs.with_columns(row=rows.detections["row"].gather(rows.pairs["detection"])))
    if rows.score_cutoffs:  # detections between the same cut-offs are matched together
        score = pl.Series("score", cut_down(rows.detections["score"].to_numpy(), rows.score_cutoffs))
        never = ~score.is_finite().gather(rows.pairs["detection"])
        rows = replace(rows, detections=rows.detections.with_columns(score), pairs=rows.pairs.filter(~never))
    hits = hits_by_score(rows, limit)
    if rows.matcher.first_pass is None:
        return hits
    pairs = rows.pairs.filter((rows.detections["place"] <= limit).gather(rows.pairs["detection"]))
    first = find_hits(replace(rows, matcher=rows.matcher.first_pass), pairs)
    score = rows.detections["score"].gather(first["detection"])
    first = first.with_columns(above=pl.lit(np.nan), up_to=score)
    return pl.concat([hits, first]).sort("detection", maintain_order=True)


def cut_down(score: np.ndarray, score_cutoffs: Sequence[float]) -> np.ndarray:
    """Return the largest of the ascending cut-offs that each score reaches in single precision; -inf if it reaches none.

    >>> cut_down(np.array([0.557, 0.55, -0.1]), (0.0, float(np.float32(0.55)))).round(3).tolist()
    [0.55, 0.55, -inf]
    """
    fixed = np.array(score_cutoffs)
    return np.append(-np.inf, fixed)[np.searchsorted(fixed, score.astype(np.float32).astype(np.float64), side="right")]


def hits_by_score(rows: MatchInput, limit: int) -> pl.DataFrame:
    """Return the hits at every operating point, where the detections of at least some score are matched on their own.

    Pairs that compete, directly or indirectly, form one component. A component changes only at the scores of its own
    detections, so it is matched again at each of these, and nowhere else. A component with one detection is matched once.

    Parameters
    ----------
    rows
        detections and annotations with their pairs
    limit
        largest number of detections of an image and list: pairs beyond it are left out

    Returns
    -------
    The columns of `Verdicts.hits`, and above and up_to: the hit holds at the cut-offs in (above, up_to]; above is -inf if it
    holds at all lower ones. By detection, highest cut-off first.

    >>> from apframe.matching.matchers import BySimilarity
    >>> few = {"list": [0, 0], "image": [0, 0], "row": [0, 1], "place": [1, 2], "score": [0.9, 0.2]}
    >>> one = {"counts": pl.Series([1], dtype=pl.UInt8), "is_crowd": [False]}
    >>> pairs = pl.DataFrame({"detection": [0, 1], "annotation": [0, 0], "similarity": [0.43, 1.0]})
    >>> lists = pl.DataFrame({"group": [0], "category": [0]})
    >>> rows = MatchInput(pl.DataFrame(few), pl.DataFrame(one), pairs, lists, np.array([0.4]), matcher=BySimilarity())
    >>> hits_by_score(rows, 100).select("detection", "above", "up_to").rows()
    [(0, 0.2, 0.9), (1, -inf, 0.2)]
    """
    pairs = rows.pairs.filter((rows.detections["place"] <= limit).gather(rows.pairs["detection"]))
    largest = pairs.select(pl.max_horizontal(compared_columns(pairs.columns))).to_series().to_numpy()
    reach = count_reached(largest, rows.cuts, strict=rows.matcher.strict)
    matters = pl.Series(reach > 0)
    if rows.matcher.wants == "crowds":  # however low the similarity
        matters |= rows.annotations["is_crowd"].gather(pairs["annotation"])
    pairs = pairs.filter(matters)
    score = rows.detections["score"].gather(pairs["detection"]).fill_null(-np.inf).to_numpy()
    part = connect(pairs["detection"].to_numpy(), _rivalled(rows, pairs))
    # by component, then score descending: `level` numbers the scores of a component from its highest
    order = np.lexsort((-score, part))
    part, score = part[order], score[order]
    begins = np.diff(part, prepend=-1) != 0
    new_level = begins | (np.diff(score, prepend=np.nan) != 0)
    level_at = np.flatnonzero(new_level)  # the first pair of each level
    level = np.cumsum(new_level) - 1
    last_level = level[np.append(np.flatnonzero(begins)[1:], len(part)) - 1][np.cumsum(begins) - 1] if len(part) else level
    up_to = score[level_at]
    is_last = np.append(begins[level_at][1:], True) if len(level_at) else begins[level_at]
    above = np.where(is_last, -np.inf, np.append(up_to[1:], -np.inf)) if len(up_to) else up_to
    parts = []
    for begin, end in _blocks(begins, last_level - level + 1):
        copies = (last_level - level)[begin:end] + 1
        row = np.repeat(np.arange(begin, end), copies)
        cut = level[row] + np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        copied_pairs = pairs[order[row]]
        # a copy of a detection or annotation is its number and the cut-off
        (detection_copies, detection_numbers), (annotation_copies, annotation_numbers) = (
            np.unique(cut << 32 | copied_pairs[name].to_numpy(), return_inverse=True) for name in ("detection", "annotation")
        )
        copied = copied_pairs.with_columns(
            detection=pl.Series(detection_numbers, dtype=pl.UInt32), annotation=pl.Series(annotation_numbers, dtype=pl.UInt32)
        )
        annotation = (annotation_copies & _NUMBER).astype(np.uint32)
        hits = find_hits(replace(rows, annotations=rows.annotations[annotation]), copied)
        copy = detection_copies[hits["detection"].to_numpy()]
        parts.append(
            hits.with_columns(
                detection=pl.Series((copy & _NUMBER).astype(np.uint32)),
                annotation=pl.Series(annotation).gather(hits["annotation"]),
                above=pl.Series(above[copy >> 32]),
                up_to=pl.Series(up_to[copy >> 32]),
            )
        )
    return pl.concat(parts).sort("detection", "up_to", descending=[False, True], maintain_order=True)


def _rivalled(rows: MatchInput, pairs: pl.DataFrame) -> np.ndarray:
    """Return the annotation of each pair; for a crowd, which detections do not compete for, a number of the detection's own."""
    annotation = pairs["annotation"].to_numpy().astype(np.int64)
    is_crowd = rows.annotations["is_crowd"].to_numpy()[annotation]
    return np.where(is_crowd, rows.annotations.height + pairs["detection"].to_numpy(), annotation)


def _blocks(begins: np.ndarray, copies: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield runs of whole components of about `_MOST_PAIRS` copies; one empty run if there are none."""
    starts = np.flatnonzero(begins)
    if not len(starts):
        yield 0, 0
        return
    before = np.cumsum(copies) - copies
    cuts = np.unique(np.searchsorted(before[starts], np.arange(0, before[-1] + copies[-1], _MOST_PAIRS)))
    yield from pairwise(np.append(starts[cuts[cuts < len(starts)]], len(begins)).tolist())

"""Matching: from pairs to verdicts, with the outcomes in rank order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from apframe.matching.assignments import find_hits
from apframe.matching.match_input import MatchInput
from apframe.matching.verdicts import Verdicts, list_bounds
from apframe.threads import map_parts, part_bounds


def match(rows: MatchInput, outline: Verdicts) -> Verdicts:
    """Match detections with annotations and return the verdicts; `outline` has everything but the rows.

    If leaving out low scores changes no match of higher scores, all limits share the hits; otherwise each has its own.
    """
    if rows.matcher.at_score_cutoffs:
        from apframe.matching.cutoff_hits import hits_at_score_cutoffs  # few protocols need it

        return _with_rows(outline, rows, hits_at_score_cutoffs(rows, outline.limits[-1]))
    place, limits = rows.detections["place"], outline.limits
    own = (rows.own_limits or not rows.matcher.cutting_is_filtering) and len(limits) > 1
    parts = []
    for number, limit in enumerate(limits if own else limits[-1:]):
        pairs = rows.pairs.filter((place <= limit)[rows.pairs["detection"]])
        hits = _find_in_parts(rows, pairs)
        parts.append(hits.with_columns(limit=pl.lit(number, pl.UInt8)) if own else hits)
    return _with_rows(outline, rows, pl.concat(parts))


def _with_rows(outline: Verdicts, rows: MatchInput, hits: pl.DataFrame) -> Verdicts:
    annotations = rows.annotations.drop("is_crowd")
    return replace(outline, detections=rows.detections, annotations=annotations, hits=hits)


def _find_in_parts(rows: MatchInput, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the hits among some pairs, which are matched in parts of whole lists."""
    number = rows.annotations["list"][pairs["annotation"]].to_numpy()
    n_pairs = np.bincount(number, minlength=rows.lists.height)
    parts = part_bounds(n_pairs)
    if len(parts) == 1:
        return find_hits(rows, pairs)
    bounds = [list_bounds(table["list"].to_numpy(), rows.lists.height) for table in (rows.detections, rows.annotations)]
    pairs = pairs[np.argsort(number, kind="stable")]
    ends = np.append(0, np.cumsum(n_pairs))

    def find(part: tuple[int, int]) -> pl.DataFrame:
        begin, end = part
        first = [int(of[begin]) for of in bounds]
        tables = [table[of[begin] : of[end]] for table, of in zip((rows.detections, rows.annotations), bounds, strict=True)]
        names = ("detection", "annotation")
        own = pairs[ends[begin] : ends[end]].with_columns(pl.col(name) - n for name, n in zip(names, first, strict=True))
        hits = find_hits(replace(rows, detections=tables[0], annotations=tables[1]), own)
        return hits.with_columns(pl.col(name) + n for name, n in zip(names, first, strict=True))

    return pl.concat(map_parts(find, parts))

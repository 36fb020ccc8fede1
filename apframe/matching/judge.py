"""From pairs to verdicts: a matcher matches, and the outcomes are put down in rank order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from apframe.matching.assignments import EVERY_SLICE
from apframe.matching.regroup import Rows
from apframe.matching.verdicts import Verdicts, has_bit, list_bounds
from apframe.threads import map_parts, part_bounds

_OF_RANGES = ("left_out", "ranges", "void")  # columns of pairs that are bits of area ranges


def judge(rows: Rows, outline: Verdicts) -> Verdicts:
    """The verdicts of detections and annotations with their pairs; `outline` has all but the rows.

    Where leaving out low scores changes no match of higher ones, all limits share the hits; otherwise each has its own.
    """
    if rows.matcher.at_cut_offs:
        from apframe.matching.operating_points import hits_at_cut_offs  # which finds its hits with this module

        return _with_rows(outline, rows, hits_at_cut_offs(rows, outline.limits[-1]))
    place, limits = rows.detections["place"], outline.limits
    own = (rows.own_limits or not rows.matcher.cutting_is_filtering) and len(limits) > 1
    parts = []
    for number, limit in enumerate(limits if own else limits[-1:]):
        pairs = rows.links.filter((place <= limit).gather(rows.links["detection"]))
        hits = _find_in_parts(rows, pairs)
        parts.append(hits.with_columns(limit=pl.lit(number, pl.UInt8)) if own else hits)
    return _with_rows(outline, rows, pl.concat(parts))


def _with_rows(outline: Verdicts, rows: Rows, hits: pl.DataFrame) -> Verdicts:
    annotations = rows.annotations.drop("is_crowd")
    return replace(outline, detections=rows.detections, annotations=annotations, hits=hits)


def _find_in_parts(rows: Rows, pairs: pl.DataFrame) -> pl.DataFrame:
    """The hits among some pairs, which are matched in parts of whole lists."""
    number = rows.annotations["list"].gather(pairs["annotation"]).to_numpy()
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
        links = pairs[ends[begin] : ends[end]].with_columns(pl.col(name) - n for name, n in zip(names, first, strict=True))
        hits = find_hits(replace(rows, detections=tables[0], annotations=tables[1]), links)
        return hits.with_columns(pl.col(name) + n for name, n in zip(names, first, strict=True))

    return pl.concat(map_parts(find, parts))


def find_hits(rows: Rows, pairs: pl.DataFrame) -> pl.DataFrame:
    """The hits among some pairs: see `Verdicts.hits`, without `limit`.

    Where pairs have a column `inside`, an annotation that is ignored in a range is a crowd there, and `inside` its similarity.
    `left_out` has bits of the ranges in which the pair does not exist.
    """
    if "inside" in pairs.columns or "left_out" in pairs.columns:
        return pl.concat([_find_in_range(rows, pairs, k) for k in range(rows.n_ranges)]).sort("detection")
    counts, n_ranges = rows.annotations["counts"].to_numpy(), rows.n_ranges
    is_crowd = rows.annotations["is_crowd"].to_numpy()
    if not rows.matcher.finds_groups:  # those that count are missed
        counts = np.where(is_crowd, counts.dtype.type(0), counts)
    ignored = ~np.array([has_bit(counts, k) for k in range(n_ranges)])
    assigned = rows.matcher.match(pairs, is_crowd, ignored, rows.cuts)
    number = assigned["slice"].to_numpy()
    everywhere = counts.dtype.type((1 << n_ranges) - 1)
    ranges = np.where(
        number == EVERY_SLICE, everywhere, np.left_shift(counts.dtype.type(1), number.clip(0).astype(counts.dtype))
    )
    counted = counts[assigned["annotation"].to_numpy()]
    if rows.matcher.counts_everywhere:
        counted = np.where(counted > 0, everywhere, counted)
    true = np.where(assigned["is_repeat"].to_numpy(), 0, ranges & counted)
    further = [name for name in pairs.columns if name == "weight" or name.endswith("_error")]
    if further:
        of_pairs = pairs.select(pl.col("detection", "annotation").cast(pl.UInt32), *further)
        assigned = assigned.cast({"detection": pl.UInt32, "annotation": pl.UInt32})
        assigned = assigned.join(of_pairs, on=["detection", "annotation"], how="left", maintain_order="left")
    return assigned.select(
        pl.col("detection").cast(pl.UInt32),
        pl.col("annotation").cast(pl.UInt32),
        "similarity",
        "first",
        "last",
        pl.Series("ranges", ranges),
        pl.Series("true", true),
        *further,
    )


def _find_in_range(rows: Rows, pairs: pl.DataFrame, k: int) -> pl.DataFrame:
    """The hits among some pairs in one area range: of detections that are there, and where `inside` holds for ignored ones."""
    counts = rows.annotations["counts"]
    flags = {name: pl.Series(has_bit(pairs[name].to_numpy(), k)) for name in _OF_RANGES if name in pairs.columns}
    pairs = pairs.with_columns(**flags)
    if "left_out" in flags:
        pairs = pairs.filter(~pl.col("left_out")).drop("left_out")
    ignored = pl.Series(~has_bit(counts.to_numpy(), k))
    of_range = rows.annotations.with_columns(counts=(~ignored).cast(counts.dtype))
    met = pairs
    if "inside" in pairs.columns:
        of_range = of_range.with_columns(is_crowd=rows.annotations["is_crowd"] | ignored)
        similarity = pl.when(ignored.gather(pairs["annotation"])).then("inside").otherwise("similarity").alias("similarity")
        met = pairs.with_columns(similarity).drop("inside").drop_nulls("similarity")
    hits = find_hits(replace(rows, annotations=of_range, n_ranges=1), met)
    return hits.with_columns((pl.col("ranges", "true").cast(pl.UInt64) * 2**k).cast(counts.dtype))

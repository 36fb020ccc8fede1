"""Verdicts: the outcome of every detection and annotation, in rank order; the input of everything after matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from apframe.exceptions import ParameterError

_MOST_BITS = 64  # of one integer


@dataclass(frozen=True)
class Verdicts:
    """The decisions of matching, as four tables of numbers that index each other; the only input of metrics.

    Matching never compares across images, so the verdicts of disjoint images can be combined (`concatenation.concat`) and
    split (`of_images`) without matching again. Ranking does not use boxes, so verdicts can be edited and ranked again.

    Sets of area ranges are bits of an unsigned integer: bit k is the k-th of `ranges`.

    Attributes
    ----------
    thresholds, ranges, limits
        similarity thresholds in ascending order, names of the area ranges, and the numbers of `max_detections`, ascending
    ties
        which of equally scored detections ranks first: "image", the one of the first image, "input", the one with the lowest
        `row`, or "later", the one with the highest
    lists
        category_id (null: all categories are pooled), and, if errors of boxes are averaged, undefined_errors (bits of the
        errors that have no value there); the row number is the number of the list. A list is the ranking behind one curve:
        a category
    members
        group and image, if lists are of groups of images: `images` of the lists is the group of each; None if lists are of
        all images
    keeps_empty
        whether a group of images has a list of each category, even without rows
    images
        image_id of every evaluated image, with or without rows; the row number is the number of the image
    detections
        list, image, row (number among the evaluated detections), place (from 1, among the detections of the list and image,
        which `limits` cut), score, inside (the ranges in which it counts if it is unmatched). By list, then rank
    annotations
        list, image, row (number among the evaluated annotations), counts (the ranges in which it is a positive). By list, then
        row. If pixels are counted, annotations and detections have `weight`, their number of pixels
    hits
        detection, annotation (row numbers of the two tables above), similarity, first, last (it holds at the thresholds number
        first .. last - 1), ranges (where it holds), true (the ranges of these in which it is a true positive; in the others the
        detection is ignored), and limit (the number of the limit at which it holds) if the matcher matches anew for each. By
        detection at each limit. If the matcher ranks by score cut-offs, also above, up_to (it holds at cut-offs in (above,
        up_to]; if above is NaN, it only supplies a score to choose cut-offs from), and weight, if the protocol has one (what a
        true positive adds to a further sum). If the protocol averages the errors of boxes, these are columns whose names end in
        _error
    """

    thresholds: tuple[float, ...]
    ranges: tuple[str, ...]
    limits: tuple[int, ...]
    ties: str
    lists: pl.DataFrame
    images: pl.DataFrame
    detections: pl.DataFrame
    annotations: pl.DataFrame
    hits: pl.DataFrame
    members: pl.DataFrame | None = None
    keeps_empty: bool = False

    @property
    def header(self) -> tuple[object, ...]:
        """The properties that must be equal in verdicts that are combined."""
        return self.thresholds, self.ranges, self.limits, self.ties, self.lists.schema, self.images.schema, self.hits.columns

    @property
    def is_pooled(self) -> bool:
        """True if one list has all categories."""
        return self.lists["category_id"].null_count() > 0

    @property
    def positives(self) -> np.ndarray:
        """Numbers of annotations that count, of shape (lists, ranges)."""
        number, counts = (self.annotations[name].to_numpy() for name in ("list", "counts"))
        bounds = list_bounds(number, self.lists.height)
        positives = np.empty((self.lists.height, len(self.ranges)), dtype=np.int64)
        for k in range(len(self.ranges)):
            positives[:, k] = np.diff(np.append(0, np.cumsum(has_bit(counts, k)))[bounds])
        return positives

    def hits_at(self, limit: int) -> pl.DataFrame:
        """Return the hits at a limit, by its number from 0 or, if negative, from the end; among all detections."""
        limit = range(len(self.limits))[limit]
        if "above" in self.hits.columns:
            return self.hits.filter(pl.col("above") == -np.inf).drop("above", "up_to")
        return self.hits.filter(pl.col("limit") == limit) if "limit" in self.hits.columns else self.hits

    @property
    def hits_at_score_cutoffs(self) -> pl.DataFrame:
        """The hits at all score cut-offs, if the matcher ranks by score cut-offs."""
        return self.hits.filter(pl.col("above").is_not_nan())

    @property
    def hits_to_choose_by(self) -> pl.DataFrame:
        """The hits whose scores the cut-offs are chosen from, if the matcher has a first pass."""
        return self.hits.filter(pl.col("above").is_nan())

    def of_images(self, flags: np.ndarray) -> Verdicts:
        """Return the verdicts of the flagged images. The other images are no longer units.

        >>> part = example().of_images(np.array([False, True]))
        >>> part.images["image_id"].to_list(), part.detections["score"].to_list(), part.hits.height
        (['b'], [0.8], 0)
        """
        code = np.cumsum(flags) - flags  # the codes of those left out remain unused
        return replace(self, images=self.images.filter(pl.Series(flags)))._of_codes("image", code, flags)

    def of_lists(self, flags: np.ndarray) -> Verdicts:
        """Return the verdicts of the flagged lists.

        >>> example().of_lists(np.array([False])).positives.shape
        (0, 1)
        """
        code = np.cumsum(flags) - flags  # the codes of those left out remain unused
        return replace(self, lists=self.lists.filter(pl.Series(flags)))._of_codes("list", code, flags)

    def without(self, detections: Sequence[int] | np.ndarray) -> Verdicts:
        """Return the verdicts without some detections, given by position; annotations matched by these are missed.

        No other detection takes their annotations or moves up to their place.

        >>> example().without([0]).hits.height
        0
        """
        return self._of_rows(np.delete(np.arange(self.detections.height), detections), np.arange(self.annotations.height))

    def without_annotations(self, annotations: Sequence[int] | np.ndarray) -> Verdicts:
        """Return the verdicts without some annotations, given by position; their detections are unmatched.

        >>> example().without_annotations([0]).positives.tolist()
        [[0]]
        """
        return self._of_rows(np.arange(self.detections.height), np.delete(np.arange(self.annotations.height), annotations))

    def with_hits(self, rows: pl.DataFrame, lists: Sequence[int] | np.ndarray | None = None) -> Verdicts:
        """Return the verdicts with other hits for some detections, in place of the hits that they have.

        Parameters
        ----------
        rows
            the new hits, with the columns of `hits`
        lists
            one number for each row: the list that its detection moves to, where it ranks by score

        >>> row = example().hits.with_columns(pl.Series("detection", [1], dtype=pl.UInt32))
        >>> example().with_hits(row).hits["detection"].to_list()
        [0, 1]
        """
        changed = rows["detection"].to_numpy()
        others = self.hits.filter(~self.hits["detection"].is_in(rows["detection"].implode()))
        hits = pl.concat([others, rows.select(others.columns).cast(others.schema)]).sort("detection", "first")
        if lists is None:
            return replace(self, hits=hits)
        number = self.detections["list"].to_numpy().copy()
        number[changed] = lists
        moved = self.detections.with_columns(pl.Series("list", number, dtype=pl.UInt32))
        order = _rank_order(moved, self.ties)
        return replace(self, detections=moved, hits=hits)._of_rows(order, np.arange(self.annotations.height))

    def _of_codes(self, column: str, code: np.ndarray, flags: np.ndarray) -> Verdicts:
        """Return the rows of some images or lists, with new numbers of these."""
        tables, rows = [], []
        for table in (self.detections, self.annotations):
            number = table[column].to_numpy()
            tables.append(table.with_columns(pl.Series(column, code[number], dtype=pl.UInt32)))
            rows.append(np.flatnonzero(flags[number]))
        return replace(self, detections=tables[0], annotations=tables[1])._of_rows(*rows)

    def _of_rows(self, detections: np.ndarray, annotations: np.ndarray) -> Verdicts:
        """Return detections and annotations by position, each at most once and in the order given, and the hits among them."""
        place = []
        for rows, n in ((detections, self.detections.height), (annotations, self.annotations.height)):
            new = np.full(n, -1, dtype=np.int64)
            new[rows] = np.arange(len(rows))
            place.append(new)
        detection, annotation = (
            new[self.hits[name].to_numpy()] for new, name in zip(place, ("detection", "annotation"), strict=True)
        )
        hits = self.hits.with_columns(detection=detection, annotation=annotation).filter(
            pl.Series((detection >= 0) & (annotation >= 0))
        )
        return replace(
            self,
            detections=self.detections[detections],
            annotations=self.annotations[annotations],
            hits=hits.cast(self.hits.schema).sort("detection", maintain_order=True),
        )


def list_bounds(number: np.ndarray, n_lists: int) -> np.ndarray:
    """Return the row at which each list begins, and the end of the last one; rows are by the number of their list.

    >>> list_bounds(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.searchsorted(number, np.arange(n_lists + 1, dtype=number.dtype))


def has_bit(sets: np.ndarray, k: int) -> np.ndarray:
    """Flag the sets that have member number k.

    >>> has_bit(np.array([1, 2, 3], dtype=np.uint8), 1).tolist()
    [False, True, True]
    """
    flags: np.ndarray = (sets & sets.dtype.type(1 << k)) != 0
    return flags


def as_bits(flags: Sequence[np.ndarray]) -> np.ndarray:
    """Pack flags of shape (members, rows) into one set for each row, in the smallest integers that hold it.

    Raises
    ------
    ParameterError
        more than 64 members

    >>> as_bits([np.array([True, False]), np.array([True, True])])
    array([3, 2], dtype=uint8)
    """
    if len(flags) > _MOST_BITS:
        raise ParameterError(f"at most {_MOST_BITS} slices of one kind, not {len(flags)}")
    dtype = np.min_scalar_type((1 << len(flags)) - 1)
    sets = np.zeros(len(flags[0]), dtype=dtype)
    for k, row in enumerate(flags):
        sets |= row.astype(dtype) << dtype.type(k)
    return sets


def example() -> Verdicts:
    """Verdicts of two images and one category: a true positive on the first image, a false positive on the second.

    >>> example().hits.select("detection", "annotation", "similarity").rows()
    [(0, 0, 0.75)]
    """
    small = {"list": pl.UInt32, "image": pl.UInt32, "row": pl.UInt32}
    return Verdicts(
        thresholds=(0.5,),
        ranges=("all",),
        limits=(100,),
        ties="image",
        lists=pl.DataFrame({"category_id": [1]}),
        images=pl.DataFrame({"image_id": ["a", "b"]}),
        detections=pl.DataFrame(
            {"list": [0, 0], "image": [0, 1], "row": [0, 1], "place": [1, 1], "score": [0.9, 0.8], "inside": [1, 1]},
            schema_overrides=small | {"place": pl.UInt32, "inside": pl.UInt8},
        ),
        annotations=pl.DataFrame(
            {"list": [0], "image": [0], "row": [0], "counts": [1]}, schema_overrides=small | {"counts": pl.UInt8}
        ),
        hits=pl.DataFrame(
            {"detection": [0], "annotation": [0], "similarity": [0.75], "first": [0], "last": [1], "ranges": [1], "true": [1]},
            schema_overrides={"detection": pl.UInt32, "annotation": pl.UInt32, "first": pl.UInt16, "last": pl.UInt16,
                              "ranges": pl.UInt8, "true": pl.UInt8},
        ),
    )  # fmt: skip


def _rank_order(detections: pl.DataFrame, ties: str) -> np.ndarray:
    by = ["list", "score", *(["image"] if ties == "image" else []), "row"]
    rows = detections.select("list", "score", "image", "row").with_row_index("at")
    descending = {"score", "row"} if ties == "later" else {"score"}
    return rows.sort(by, descending=[name in descending for name in by], maintain_order=True)["at"].to_numpy()


def threshold_names(thresholds: tuple[float, ...]) -> pl.Series:
    """Return thresholds as in tables: rounded to ten digits, so that a look-up of 0.9 finds 0.8999999999999999."""
    return pl.Series("iou_threshold", [round(threshold, 10) for threshold in thresholds], dtype=pl.Float64)


def range_names(ranges: tuple[str, ...]) -> pl.Series:
    """Return the area ranges as in tables."""
    return pl.Series("area_range", ranges, dtype=pl.Enum(ranges))

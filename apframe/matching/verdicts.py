"""Verdicts: the outcome of every detection and annotation, in rank order; everything computed after matching reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from apframe.exceptions import ParameterError

_MOST_BITS = 64  # of one integer


@dataclass(frozen=True)
class Verdicts:
    """The decisions of matching as four tables of numbers that index each other; the only input of metrics.

    Matching never looks across images, so the verdicts of disjoint images can be put together (`merging.concat`) and taken
    apart (`of_images`) without matching again. Ranking never looks at a box, so verdicts can be edited and ranked again.

    Sets of area ranges are bits of an unsigned integer: bit k is the k-th of `ranges`.

    Attributes
    ----------
    thresholds, ranges, limits
        similarity thresholds in ascending order, names of the area ranges, and the numbers of `max_detections`, ascending
    ties
        which of equally scored detections ranks first: "image", that of the first image, "input", that of the lowest `row`, or
        "later", that of the highest
    lists
        category_id (null: all categories are pooled), and, where errors of boxes are averaged, undefined_errors (bits of the
        kinds that have no value there); the row number is the number of the list. A list is what one curve is
        drawn from: a category
    members
        group and image, where lists are of groups of images: `images` of the lists is the group of each; None if they are of
        all images
    keeps_empty
        whether a group of images has a list of each category, also one without rows
    images
        image_id of every evaluated image, also those without rows; the row number is the number of the image
    detections
        list, image, row (number among the evaluated detections), place (from 1, the position that `limits` cut: among the
        detections of the list and image), score, inside (in which ranges it counts while it is not matched). By list, then rank
    annotations
        list, image, row (number among the evaluated annotations), counts (in which ranges it is a positive). By list, then row.
        Where pixels are counted, these and the detections have `weight`, how many they have
    hits
        detection, annotation (row numbers of the two tables above), similarity, first, last (it holds at the thresholds number
        first .. last - 1), ranges (where it holds), true (in which of these it is a true positive; in the others the detection
        is ignored), and limit (the number of the limit that it holds at) if the matcher matches anew for each. At each limit by
        detection. If the matcher ranks by score cut-offs, also above, up_to (it holds at cut-offs in (above, up_to], or, where
        above is NaN, is there for its score alone, of which cut-offs are chosen), and weight, where the protocol has one (what
        a true positive adds to a further sum). Where the protocol averages the errors of boxes, these are columns whose names
        end in _error
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
        """Return everything that must be equal in verdicts that are combined."""
        return self.thresholds, self.ranges, self.limits, self.ties, self.lists.schema, self.images.schema, self.hits.columns

    @property
    def is_pooled(self) -> bool:
        """Whether one list is of all categories."""
        return self.lists["category_id"].null_count() > 0

    @property
    def positives(self) -> np.ndarray:
        """How many annotations count, of shape (lists, ranges)."""
        number, counts = (self.annotations[name].to_numpy() for name in ("list", "counts"))
        bounds = list_bounds(number, self.lists.height)
        positives = np.empty((self.lists.height, len(self.ranges)), dtype=np.int64)
        for k in range(len(self.ranges)):
            positives[:, k] = np.diff(np.append(0, np.cumsum(has_bit(counts, k)))[bounds])
        return positives

    def hits_at(self, limit: int) -> pl.DataFrame:
        """The hits at the limit of that number, counted from 0 or, if negative, from the end; among all detections."""
        limit = range(len(self.limits))[limit]
        if "above" in self.hits.columns:
            return self.hits.filter(pl.col("above") == -np.inf).drop("above", "up_to")
        return self.hits.filter(pl.col("limit") == limit) if "limit" in self.hits.columns else self.hits

    @property
    def hits_at_cut_offs(self) -> pl.DataFrame:
        """The hits at all score cut-offs, where the matcher ranks by these."""
        return self.hits.filter(pl.col("above").is_not_nan())

    @property
    def hits_to_choose_by(self) -> pl.DataFrame:
        """The hits whose scores the cut-offs are chosen from, where the matcher has such."""
        return self.hits.filter(pl.col("above").is_nan())

    def of_images(self, kept: np.ndarray) -> Verdicts:
        """The part on some of the images, which are given as one flag each. The images left out are no longer units.

        >>> part = example().of_images(np.array([False, True]))
        >>> part.images["image_id"].to_list(), part.detections["score"].to_list(), part.hits.height
        (['b'], [0.8], 0)
        """
        code = np.cumsum(kept) - kept  # those left out have one too, which nothing has in the end
        return replace(self, images=self.images.filter(pl.Series(kept)))._of_codes("image", code, kept)

    def of_lists(self, kept: np.ndarray) -> Verdicts:
        """The part of some of the lists, which are given as one flag each.

        >>> example().of_lists(np.array([False])).positives.shape
        (0, 1)
        """
        code = np.cumsum(kept) - kept  # those left out have one too, which nothing has in the end
        return replace(self, lists=self.lists.filter(pl.Series(kept)))._of_codes("list", code, kept)

    def without(self, detections: Sequence[int] | np.ndarray) -> Verdicts:
        """The verdicts as they are without some detections, given by position: what these found is missed.

        No other detection takes their annotations or moves up to their place.

        >>> example().without([0]).hits.height
        0
        """
        return self._of_rows(np.delete(np.arange(self.detections.height), detections), np.arange(self.annotations.height))

    def without_annotations(self, annotations: Sequence[int] | np.ndarray) -> Verdicts:
        """The verdicts as they are without some annotations, given by position: their detections are unmatched.

        >>> example().without_annotations([0]).positives.tolist()
        [[0]]
        """
        return self._of_rows(np.arange(self.detections.height), np.delete(np.arange(self.annotations.height), annotations))

    def with_hits(self, rows: pl.DataFrame, lists: Sequence[int] | np.ndarray | None = None) -> Verdicts:
        """The verdicts with other hits for some detections, which lose those they have.

        Parameters
        ----------
        rows
            as in `hits`
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

    def _of_codes(self, column: str, code: np.ndarray, kept: np.ndarray) -> Verdicts:
        """The rows of some images or lists, under other numbers."""
        tables, rows = [], []
        for table in (self.detections, self.annotations):
            number = table[column].to_numpy()
            tables.append(table.with_columns(pl.Series(column, code[number], dtype=pl.UInt32)))
            rows.append(np.flatnonzero(kept[number]))
        return replace(self, detections=tables[0], annotations=tables[1])._of_rows(*rows)

    def _of_rows(self, detections: np.ndarray, annotations: np.ndarray) -> Verdicts:
        """Detections and annotations by position, each at most once and in the order given, and the hits among them."""
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
    """Where each list begins among rows that come by the number of their list, and where the last one ends.

    >>> list_bounds(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.searchsorted(number, np.arange(n_lists + 1, dtype=number.dtype))


def has_bit(sets: np.ndarray, k: int) -> np.ndarray:
    """Flags: which of the sets have member number k.

    >>> has_bit(np.array([1, 2, 3], dtype=np.uint8), 1).tolist()
    [False, True, True]
    """
    flags: np.ndarray = (sets & sets.dtype.type(1 << k)) != 0
    return flags


def as_bits(flags: Sequence[np.ndarray]) -> np.ndarray:
    """Flags of shape (members, rows) as one set for each row, in the smallest integers that hold them.

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
    """Two images and one category: a detection that is right on the first, and one that is wrong on the second.

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
    """Thresholds as tables show them: rounded to ten digits, so that a look-up of 0.9 finds 0.8999999999999999."""
    return pl.Series("iou_threshold", [round(threshold, 10) for threshold in thresholds], dtype=pl.Float64)


def range_names(ranges: tuple[str, ...]) -> pl.Series:
    """Area ranges as tables show them."""
    return pl.Series("area_range", ranges, dtype=pl.Enum(ranges))

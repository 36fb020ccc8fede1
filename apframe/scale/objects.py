"""The objects of the shards, which are read again, shard by shard, when something needs more than verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from apframe.columns import exact
from apframe.exceptions import ParameterError, SecondPassWarning, warn
from apframe.lazily import cached_property
from apframe.progress import with_bar
from apframe.protocols.inputs import Inputs
from apframe.rows import KEY_OF
from apframe.scale.budget import in_words
from apframe.scale.layout import INPUT_ROW
from apframe.scale.one_shard import Job
from apframe.scale.shards import Shard
from apframe.tables.conditions import Masks
from apframe.wording import counted

if TYPE_CHECKING:
    from apframe.scale.local import Matched
    from apframe.scale.ray_engine import OnRay

OBJECTS = ("annotations", "detections")
COPY_OF = "expanded_from"  # the column of annotations that names the one of which each is a copy
Heights = Sequence[Mapping[str, int]]


@dataclass(frozen=True)
class Objects:
    """The objects of all shards, or of a part of them.

    Attributes
    ----------
    shards, job
        where they are, and how they are read
    match
        matches shards once more
    codes
        for each shard, the numbers of its images among all
    count
        gives how many annotations, positives (those that count in some area range) and detections each shard has, of those
        that are evaluated, from `codes`
    truth_mark
        see `Inputs`
    bytes_per_row, memory
        about how much memory each annotation and detection takes, and how much may be taken
    """

    shards: Sequence[Shard]
    job: Job
    match: Callable[[Sequence[Shard]], tuple[Matched | OnRay, Any, Any]]
    codes: Sequence[np.ndarray]
    count: Callable[[Sequence[np.ndarray]], Heights]
    truth_mark: str | None
    bytes_per_row: float
    memory: int

    @cached_property
    def heights(self) -> Heights:
        """What `count` gives."""
        return self.count(self.codes)

    def total(self, table: str) -> int:
        """How many "annotations", "detections" or "positives" there are; of all shards also how many "hits".

        And how many shards were "given" detections, and how many of these were "left_out" where none is left.
        """
        return sum(each[table] for each in self.heights)

    @property
    def n_bytes(self) -> int:
        """About how much memory all of them take."""
        return round(self.bytes_per_row * sum(self.total(name) for name in OBJECTS))

    def each(self, why: str) -> Iterator[Inputs]:
        """What is evaluated of one shard after the other; a warning says that they are read again, and what for."""
        self.say(why)
        for shard in with_bar(self.shards, "reading again"):
            yield self.job.inputs(shard)

    def say(self, why: str) -> None:
        """Warn that the shards are read again, and what for."""
        warn(f"the objects of {counted(len(self.shards), 'shard')} are read again {why}", SecondPassWarning)

    def gather(self, table: str, take: Callable[[pl.DataFrame], pl.DataFrame], why: str) -> pl.DataFrame:
        """What is taken of a table of each shard, in the order in which `load` has the rows."""
        found = pl.concat([take(inputs.tables()[table]) for inputs in self.each(why)], how="vertical_relaxed")
        return found if self._order is None or table != "detections" else found[self._order]

    @cached_property
    def _order(self) -> np.ndarray | None:
        """The detections in the order of the input, by their numbers shard by shard; None if that is their order."""
        if not self.job.is_numbered(self.job.inputs(self.shards[0]).detections):
            return None
        numbers = pl.concat([self.job.inputs(shard).detections[INPUT_ROW] for shard in self.shards])
        return np.argsort(numbers.to_numpy(), kind="stable")

    def load(self, images: pl.DataFrame) -> Inputs:
        """All of them in memory, as one evaluation has them.

        Raises
        ------
        ParameterError
            they take more memory than they may
        """
        if self.n_bytes > self.memory:
            raise ParameterError(
                f"this needs all annotations and detections in memory, about {in_words(self.n_bytes)}; "
                f"{in_words(self.memory)} is allowed",
                "allow more, or take fewer images with `where`",
                option="memory",
            )
        parts = list(self.each(f"to have them all in memory, about {in_words(self.n_bytes)}"))
        known, annotations, detections = (
            pl.concat(frames, how="diagonal_relaxed")
            for frames in zip(
                *((each.tables()["annotations"], each.annotations, each.detections) for each in parts), strict=True
            )
        )
        known, annotations = (frame.with_columns(unique_ids(annotations, "annotations")) for frame in (known, annotations))
        detections = detections.with_columns(unique_ids(detections, "detections"))
        if self.job.is_numbered(detections):
            detections = detections.sort(INPUT_ROW)
        known, annotations, detections = (frame.drop(INPUT_ROW, strict=False) for frame in (known, annotations, detections))
        first = parts[0]
        dataset = first.dataset.part(images, known)
        image_ids, categories = images["image_id"], first.category_ids
        return Inputs(first.protocol, dataset, annotations, detections, image_ids, categories, malformed=first.malformed)

    def part(self, masks: Masks, count: Callable[[Sequence[np.ndarray]], Heights]) -> Objects:
        """A part of them, by masks of all rows; `count` is that of the part."""
        shards = [replace(shard, masks=(*shard.masks, own)) for shard, own in zip(self.shards, self._split(masks), strict=True)]
        codes = self.codes
        if "images" in masks:
            kept = masks["images"]["images"].to_numpy()
            code = (np.cumsum(kept) - 1).astype(np.uint32)
            codes = [code[own[kept[own]]] for own in self.codes]
        return replace(self, shards=shards, codes=codes, count=count)

    def _split(self, masks: Masks) -> list[dict[str, dict[str, pl.Series]]]:
        """The masks of each shard's rows."""
        ends: dict[str, np.ndarray] = {}
        owners = {owner for of in masks.values() for owner in of}
        if owners & {*OBJECTS}:
            ends = {name: np.cumsum([0, *(each[name] for each in self.heights)]) for name in OBJECTS}
        order = self._order if "detections" in owners else None

        def of_shard(owner: str, mask: pl.Series, k: int) -> pl.Series:
            if owner in OBJECTS:
                begin, end = ends[owner][k : k + 2].tolist()
                return mask[begin:end] if place is None or owner != "detections" else mask.gather(place[begin:end])
            return mask.gather(pl.Series(self.codes[k])) if owner == "images" else mask

        place = None if order is None else np.argsort(order)

        return [
            {table: {owner: of_shard(owner, mask, k) for owner, mask in of.items()} for table, of in masks.items()}
            for k in range(len(self.shards))
        ]


def unique_ids(objects: pl.DataFrame, table: str) -> pl.Series:
    """The ids of the objects of all shards, or numbers from 1 where they repeat: each file of results may count for itself.

    Copies of annotations, which each shard gives the next ids that are free in it, get those that are free in all.

    >>> unique_ids(pl.DataFrame({"detection_id": [1, 2, 1]}), "detections").to_list()
    [1, 2, 3]
    >>> unique_ids(pl.DataFrame({"annotation_id": [1, 3, 3, 4], "expanded_from": [None, 1, None, 3]}), "annotations").to_list()
    [1, 4, 3, 5]
    """
    key, ids = KEY_OF[table], objects[KEY_OF[table]]
    if COPY_OF in objects.columns and ids.dtype.is_integer():
        is_copy = pl.col(COPY_OF).is_not_null()
        free = pl.col(key).filter(~is_copy).max() + is_copy.cum_sum()
        ids = objects.select(pl.when(is_copy).then(free).otherwise(key).cast(pl.Int64)).to_series()
    return pl.int_range(1, len(ids) + 1, eager=True).alias(key) if ids.is_duplicated().any() else ids.alias(key)


class LateTable:
    """A table of objects that is read, shard by shard, when columns of it are looked at.

    It has what keys and conditions take of a frame: `columns`, `height`, one column by name, and `select`.
    """

    def __init__(self, objects: Objects, table: str, columns: Sequence[str]) -> None:
        self._objects, self._table, self.columns = objects, table, list(columns)

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self._objects.total(self._table)

    def __getitem__(self, column: str) -> pl.Series:
        chosen = exact(column)
        return self._objects.gather(self._table, lambda frame: frame.select(chosen), f"for {self._table}.{column}")[column]

    def select(self, *columns: Any) -> pl.DataFrame:
        """Some columns, as `pl.DataFrame.select` takes them."""
        return self._objects.gather(self._table, lambda frame: frame.select(*columns), f"for columns of {self._table}")

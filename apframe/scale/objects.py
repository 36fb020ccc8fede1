"""The objects of the shards, which are read again, shard by shard, when something needs more than verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from apframe.detection.prepare.inputs import Inputs
from apframe.exceptions import ParameterError, SecondPassWarning, counted, warn
from apframe.progress import with_bar
from apframe.scale.budget import in_words
from apframe.scale.layout import INPUT_ROW
from apframe.scale.one_shard import Job
from apframe.scale.shards import Shard
from apframe.schema.conditions import Masks

OBJECTS = ("annotations", "detections")


@dataclass(frozen=True)
class Objects:
    """The objects of all shards, or of a part of them.

    Attributes
    ----------
    job, shards
        how they are read, and where
    codes
        for each shard, the numbers of its images among all
    heights
        how many annotations and detections each shard has, those that are evaluated
    n_bytes
        about how much memory all of them take
    memory
        how many bytes may be taken
    masks
        for each shard, the parts that are taken of it one after the other
    """

    job: Job
    shards: Sequence[Shard]
    codes: Sequence[np.ndarray]
    heights: Sequence[Mapping[str, int]]
    n_bytes: int
    memory: int
    masks: Sequence[Sequence[Masks]]

    def total(self, table: str) -> int:
        """How many annotations or detections there are."""
        return sum(each[table] for each in self.heights)

    def first(self) -> Inputs:
        """What is evaluated of the first shard."""
        return self._inputs(0)

    def _inputs(self, number: int) -> Inputs:
        inputs = self.job.inputs(self.shards[number])
        for masks in self.masks[number]:
            inputs = inputs.subset(masks)
        return inputs

    def each(self, why: str) -> Iterator[Inputs]:
        """What is evaluated of one shard after the other; a warning says that they are read again, and why."""
        warn(f"{why}: the objects of {counted(len(self.shards), 'shard')} are read again", SecondPassWarning)
        for number in with_bar(range(len(self.shards)), "reading again"):
            yield self._inputs(number)

    def gather(self, table: str, take: Callable[[pl.DataFrame], pl.DataFrame], why: str) -> pl.DataFrame:
        """What is taken of a table of each shard, one below the other."""
        return pl.concat([take(inputs.tables()[table]) for inputs in self.each(why)], how="vertical_relaxed")

    def load(self, images: pl.DataFrame) -> Inputs:
        """All of them in memory, as one evaluation has them.

        Raises
        ------
        ParameterError
            they take more memory than they may
        """
        if self.n_bytes > self.memory:
            raise ParameterError(
                f"this needs the objects of all shards in memory, about {in_words(self.n_bytes)}; "
                f"{in_words(self.memory)} is allowed",
                "allow more, or take fewer images with `where`",
                option="memory",
            )
        parts = list(self.each(f"all objects at once, about {in_words(self.n_bytes)}"))
        annotations, detections, known = (
            pl.concat(frames, how="diagonal_relaxed")
            for frames in zip(
                *((each.annotations, each.detections, each.tables()["annotations"]) for each in parts), strict=True
            )
        )
        if self.job.is_numbered(detections):
            detections = detections.sort(INPUT_ROW)
        first = parts[0]
        dataset = first.dataset.part(images, known)
        return Inputs(dataset, annotations, detections, images["image_id"], first.category_ids, first.by_category)

    def part(self, masks: Masks, heights: Sequence[Mapping[str, int]]) -> Objects:
        """A part of them, by masks of all rows; `heights` are those of the part."""
        own = self.split(masks)
        return replace(self, heights=heights, masks=[[*before, each] for before, each in zip(self.masks, own, strict=True)])

    def split(self, masks: Masks) -> list[dict[str, dict[str, pl.Series]]]:
        """The masks of each shard's rows."""
        ends = {name: np.cumsum([0, *(each[name] for each in self.heights)]) for name in OBJECTS}

        def of_shard(owner: str, mask: pl.Series, k: int) -> pl.Series:
            if owner in OBJECTS:
                return mask[int(ends[owner][k]) : int(ends[owner][k + 1])]
            return mask.gather(self.codes[k]) if owner == "images" else mask

        return [
            {table: {owner: of_shard(owner, mask, k) for owner, mask in of.items()} for table, of in masks.items()}
            for k in range(len(self.shards))
        ]


class LateTable:
    """A table of objects that is read, shard by shard, when columns of it are looked at.

    It has what keys and conditions take of a frame: `columns`, `height`, one column by name, and `select`.
    """

    def __init__(self, objects: Objects, table: str, columns: Sequence[str]) -> None:
        self._objects, self._table = objects, table
        self.columns, self.height = list(columns), objects.total(table)

    def __getitem__(self, column: str) -> pl.Series:
        return self._objects.gather(self._table, lambda frame: frame.select(column), f"{self._table}.{column}")[column]

    def select(self, *columns: Any) -> pl.DataFrame:
        """Some columns, as `pl.DataFrame.select` takes them."""
        return self._objects.gather(self._table, lambda frame: frame.select(*columns), f"columns of the {self._table}")

"""The interface of sources: data in memory, updates, a stored set, or shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeVar

import polars as pl

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.diagnose.sanity import Evaluated
    from apframe.matching.match_input import MatchInput
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.inputs import Inputs
    from apframe.tables.conditions import Masks, Tables
    from apframe.tables.dataset import Dataset
    from apframe.tables.lazy_table import LazyTable

Made = TypeVar("Made")
Lists = tuple[int, int]  # the number of the first one, and of the first one after them


class Source(Protocol):
    """The source of an evaluation, from which `Evaluation` computes everything."""

    @property
    def stored(self) -> Mapping[str, pl.LazyFrame]:
        """Tables that were computed before, by name."""

    @property
    def reads_again(self) -> bool:
        """Whether the objects have to be read again for anything that needs more than verdicts."""

    @property
    def truth_mark(self) -> str | None:
        """What is equal where the annotations are the same; None where they are to be looked at."""

    @property
    def inputs(self) -> Inputs:
        """Everything in memory, as the tables of `table`."""

    @property
    def dataset(self) -> Dataset:
        """The ground truth."""

    @property
    def image_ids(self) -> pl.Series:
        """The ids of the images that are evaluated, sorted."""

    @property
    def category_ids(self) -> pl.Series:
        """The ids of the categories that are evaluated, sorted."""

    @property
    def n_detections(self) -> int:
        """How many detections are evaluated, without their copies for other classes."""

    @property
    def has_annotations(self) -> bool:
        """Whether there is an annotation that counts."""

    @property
    def heights(self) -> Mapping[str, int]:
        """How many rows each of the `tables` has."""

    @property
    def outline(self) -> Verdicts:
        """The thresholds, area ranges, limits, lists and images of the verdicts, without their rows; nothing is matched."""

    @property
    def rows(self) -> MatchInput:
        """What is matched, in memory."""

    @property
    def list_sizes(self) -> np.ndarray:
        """How many detections of each list are not in memory yet."""

    def verdicts(self, lists: Lists | None = None) -> Verdicts:
        """What matching decided, of some lists that follow each other, or of all.

        If it is of all, `row` of detections and annotations are places in those of `inputs`.
        """

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """What a function makes of the numbers of some lists and of their verdicts, for all lists, block by block."""

    def table(self, name: str) -> LazyTable:
        """One of images, categories, annotations, detections, pairs and assignments, as SQL and stored sets have it."""

    def tables(self) -> Tables:
        """The four tables with their attributes, which keys and conditions read; rows of images and categories by their ids."""

    def evaluated(self) -> Evaluated:
        """What has been evaluated, as far as warnings look at it."""

    def part(self, masks: Masks) -> Source:
        """The part inside masks of the rows of `tables`; see `Inputs.subset`."""

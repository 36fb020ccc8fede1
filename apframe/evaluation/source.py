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
Lists = tuple[int, int]  # the numbers of the first list and the last one (exclusive)


class Source(Protocol):
    """The source of an evaluation, from which `Evaluation` computes everything."""

    @property
    def stored(self) -> Mapping[str, pl.LazyFrame]:
        """Tables that were computed before, by name."""

    @property
    def reads_again(self) -> bool:
        """True if the objects have to be read again for anything that requires more than verdicts."""

    @property
    def truth_mark(self) -> str | None:
        """A mark that is equal for equal annotations; None if these have to be compared."""

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
        """The number of evaluated detections, without their copies for other classes."""

    @property
    def has_annotations(self) -> bool:
        """True if there is an annotation that counts."""

    @property
    def heights(self) -> Mapping[str, int]:
        """The number of rows of each of the `tables`."""

    @property
    def outline(self) -> Verdicts:
        """The thresholds, area ranges, limits, lists and images of the verdicts, without their rows; nothing is matched."""

    @property
    def rows(self) -> MatchInput:
        """The rows to match, in memory."""

    @property
    def list_sizes(self) -> np.ndarray:
        """The number of detections of each list that are not in memory yet."""

    def verdicts(self, lists: Lists | None = None) -> Verdicts:
        """Return the verdicts of matching, for some adjacent lists, or for all.

        If they are for all lists, `row` of detections and annotations is the position in the tables of `inputs`.
        """

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """Call a function with the numbers of some lists and their verdicts, for all lists, block by block."""

    def table(self, name: str) -> LazyTable:
        """Return images, categories, annotations, detections, pairs or assignments, as in SQL and stored sets."""

    def tables(self) -> Tables:
        """Return the four tables with their attributes for keys and conditions; images and categories are sorted by id."""

    def evaluated(self) -> Evaluated:
        """Return the facts about the evaluation that warnings need."""

    def part(self, masks: Masks) -> Source:
        """Return the part inside masks of the rows of `tables`; see `Inputs.subset`."""

"""Sources in memory: the data that `evaluate` reads, the updates of an `Evaluator`, and stored sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from apframe.lazily import cached_property
from apframe.tables.lazy_table import LazyTable
from apframe.tables.schemas import GROUND_TRUTH

if TYPE_CHECKING:
    import numpy as np

    from apframe.evaluation.diagnose.sanity import Evaluated
    from apframe.evaluation.source import Lists
    from apframe.matching.match_input import MatchInput
    from apframe.matching.verdicts import Verdicts
    from apframe.protocols.inputs import Inputs
    from apframe.tables.conditions import Masks, Tables
    from apframe.tables.dataset import Dataset

Made = TypeVar("Made")


class InMemory:
    """Data in memory; see `Source`.

    Parameters
    ----------
    read
        a function that returns the input, called once, when it is first needed
    judged
        a function that returns the verdicts, if they are a part of others; by default the input is paired and matched
    """

    stored: Mapping[str, pl.LazyFrame] = {}
    reads_again = False
    truth_mark = None

    def __init__(self, read: Callable[[], Inputs], judged: Callable[[], Verdicts] | None = None) -> None:
        self._read, self._judged = read, judged

    @classmethod
    def of(cls, inputs: Inputs) -> InMemory:
        """Return the source of an input that has been read."""
        return InMemory(lambda: inputs)

    def __reduce__(self) -> Any:
        """Return the state for pickle and copies: the data itself, but neither files nor matches."""
        return InMemory.of, (self.inputs,)

    @cached_property
    def inputs(self) -> Inputs:
        """See `Source`."""
        return self._read()

    @property
    def dataset(self) -> Dataset:
        """See `Source`."""
        return self.inputs.dataset

    @property
    def image_ids(self) -> pl.Series:
        """See `Source`."""
        return self.inputs.image_ids

    @property
    def category_ids(self) -> pl.Series:
        """See `Source`."""
        return self.inputs.category_ids

    @property
    def n_detections(self) -> int:
        """See `Source`."""
        return self.inputs.n_detections

    @property
    def has_annotations(self) -> bool:
        """See `Source`."""
        return not self.inputs.ignored.all()

    @property
    def heights(self) -> dict[str, int]:
        """See `Source`."""
        inputs = self.inputs
        ids = {"images": len(inputs.image_ids), "categories": len(inputs.category_ids)}
        return ids | {"annotations": inputs.annotations.height, "detections": inputs.detections.height}

    @cached_property
    def outline(self) -> Verdicts:
        """See `Source`."""
        from apframe.protocols.preparation import outline_of  # as below: imports NumPy, for which reading does not wait

        categories = self.dataset.core("categories")
        return outline_of(categories, self.category_ids, self.image_ids, self.inputs.protocol)

    @cached_property
    def rows(self) -> MatchInput:
        """See `Source`."""
        from apframe.protocols.preparation import prepare_matching

        return prepare_matching(self.inputs)

    @property
    def list_sizes(self) -> np.ndarray:
        """See `Source`."""
        import numpy as np

        return np.zeros(self.outline.lists.height, dtype=np.int64)

    @cached_property
    def _verdicts(self) -> Verdicts:
        from apframe.matching.match import match

        return match(self.rows, self.outline) if self._judged is None else self._judged()

    def verdicts(self, lists: Lists | None = None) -> Verdicts:
        """See `Source`."""
        import numpy as np

        n_lists = self.outline.lists.height
        if lists in (None, (0, n_lists)):
            return self._verdicts
        number = np.arange(n_lists)
        return self._verdicts.of_lists((lists[0] <= number) & (number < lists[1]))

    def map(self, function: Callable[[np.ndarray, Verdicts], Made]) -> list[Made]:
        """See `Source`; all lists are one block."""
        import numpy as np

        return [function(np.arange(self.outline.lists.height), self._verdicts)]

    def table(self, name: str) -> LazyTable:
        """See `Source`; queries that do not name the annotations do not read their remaining attributes."""
        from apframe.evaluation.links import LINKS

        if name in LINKS:
            return LazyTable(lambda: LINKS[name](self).lazy())
        if name == "annotations":
            return LazyTable(lambda: self.dataset.annotations.lazy(), lambda: self.dataset.core(name).lazy())
        of = self.dataset if name in GROUND_TRUTH else self.inputs
        return LazyTable(lambda: getattr(of, name).lazy())

    def tables(self) -> Tables:
        """See `Source`; attributes of the annotations are read when these columns are accessed."""
        later = LazyTable(cache(lambda: self.inputs.table("annotations").lazy()))
        return {name: later if name == "annotations" else self.inputs.table(name) for name in (*GROUND_TRUTH, "detections")}

    def evaluated(self) -> Evaluated:
        """See `Source`."""
        from apframe.evaluation.diagnose.filtered import detections_per_image
        from apframe.evaluation.diagnose.sanity import Evaluated

        inputs = self.inputs
        return Evaluated(
            n_annotations=inputs.annotations.height,
            n_detections=inputs.n_detections,
            none_given=inputs.none_given,
            n_left_out=inputs.n_left_out,
            nothing_matches=self.rows.pairs.is_empty(),
            is_pooled=self.outline.is_pooled,
            detected=lambda: inputs.detections["category_id"].unique(),
            scores=lambda: inputs.detections["score"],
            per_image=lambda: detections_per_image(inputs.detections, len(inputs.image_ids)),
            inputs=lambda: inputs,
        )

    def part(self, masks: Masks) -> InMemory:
        """See `Source`; whole images and categories do not require new matching."""
        inputs = self.inputs.subset(masks)
        whole_rows = not masks.get("annotations") and all(each.all() for each in masks.get("detections", {}).values())
        if not whole_rows or (self.outline.is_pooled and "categories" in masks):
            return InMemory.of(inputs)

        def judged() -> Verdicts:
            part = self._verdicts
            if "categories" in masks:
                part = part.of_lists(masks["categories"]["categories"].to_numpy())
            if "images" in masks:
                part = part.of_images(masks["images"]["images"].to_numpy())
            return with_places(part)

        return InMemory(lambda: inputs, judged)


class Stored(InMemory):
    """A stored set: its tables are read when they are needed, and matched again for tables that are not stored."""

    def __init__(self, read: Callable[[], Inputs], stored: Mapping[str, pl.LazyFrame]) -> None:
        super().__init__(read)
        self.stored = stored

    def table(self, name: str) -> LazyTable:
        """See `Source`."""
        return LazyTable(lambda: self.stored[name])


def with_places(verdicts: Verdicts) -> Verdicts:
    """Renumber the rows of a part of verdicts: `row` becomes the position among the remaining rows."""
    import numpy as np

    tables = {}
    for name in ("detections", "annotations"):
        table = getattr(verdicts, name)
        places = np.unique(table["row"].to_numpy(), return_inverse=True)[1]
        tables[name] = table.with_columns(pl.Series("row", places, pl.UInt32))
    return replace(verdicts, **tables)

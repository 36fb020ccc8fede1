"""The input of an evaluation: the four canonical tables, facts about them, and subsets of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.lazily import cached_property
from apframe.protocols.rules.rule import States
from apframe.rows import Malformed, malformed_rows
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import GROUND_TRUTH, OUTSIDE, TABLES
from apframe.wording import Note, in_words

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol
    from apframe.validation import Fault


@dataclass(frozen=True)
class Inputs:
    """The data that an evaluation compares by the rules of a protocol.

    Attributes
    ----------
    protocol
        the protocol whose rules apply
    dataset
        the ground truth, with the protocol's additions and removals
    annotations, detections
        the rows on evaluated images and of evaluated categories, in the order that resolves ties: as in the input, or by
        category. Attributes of the annotations may not have been read yet; `tables` reads them
    image_ids, category_ids
        sorted
    prepared
        results of `Similarity.prepare`, row by row: `detection_shapes`, `annotation_shapes`, or none
    unknown_images
        ids of images that the ground truth lacks, whose detections were dropped; None if there are none
    none_given
        whether the input had no detections, not even dropped ones
    n_left_out
        the number of detections of known images and categories, if all of them were left out; otherwise 0
    remarks
        notes on changes of the data and on the numbers, for example rules of the protocol that could not be applied
    malformed
        the treatment of malformed rows; by default the one in force when this object is made
    altered
        the reason why `table` has other annotations than the ground truth, in words; None if it has all of them, as read
    again
        a function that makes the input of the same data for a variant of the protocol, if its tables have numbers of variants
    """

    protocol: Protocol
    dataset: Dataset
    annotations: pl.DataFrame
    detections: pl.DataFrame
    image_ids: pl.Series
    category_ids: pl.Series
    prepared: Mapping[str, Any] = field(default_factory=dict)
    unknown_images: pl.Series | None = None
    none_given: bool = False
    n_left_out: int = 0
    remarks: tuple[Note, ...] = ()
    malformed: Malformed = field(default_factory=malformed_rows)
    altered: str | None = None
    again: Callable[[Protocol], Inputs] | None = None

    @cached_property
    def states(self) -> States:
        """Flags for annotations and detections from the rules, for all area ranges.

        Outside the subset of `Evaluation.where`, everything is ignored. An unmatched copy of a detection is ignored too: it
        only uses up the annotation that it matches.
        """
        outside = [frame[OUTSIDE] if OUTSIDE in frame.columns else None for frame in (self.annotations, self.detections)]
        copies = self.detections["expanded_from"].is_not_null() if "expanded_from" in self.detections.columns else None
        own = [States(ignored=outside[0], unmatched_ignored=outside[1]), States(unmatched_ignored=copies)]
        return States.combine([*own, *(rule.states(self) for rule in self.protocol.rules)])

    @property
    def crowds(self) -> pl.Series:
        """True for annotations of groups."""
        flags = self.states.crowds
        return pl.repeat(False, self.annotations.height, eager=True) if flags is None else flags

    @property
    def ignored(self) -> pl.Series:
        """True for annotations that do not count in any area range."""
        flags = self.states.ignored
        return pl.repeat(False, self.annotations.height, eager=True) if flags is None else flags

    @property
    def notes(self) -> list[str]:
        """The remarks in words."""
        return in_words(self.remarks)

    @property
    def n_detections(self) -> int:
        """The number of evaluated detections, without their copies for other classes."""
        copied = "expanded_from" in self.detections.columns
        return self.detections["expanded_from"].null_count() if copied else self.detections.height

    def table(self, name: str) -> pl.DataFrame:
        """Return one of the four tables with its attributes; rows of images and categories in the order of their ids."""
        rows: pl.DataFrame = self.detections if name == "detections" else getattr(self.dataset, name)
        if name in ("categories", "annotations"):
            rows = rows.filter(is_known(rows["category_id"], self.category_ids))
        key = {"images": "image_id", "categories": "category_id"}.get(name)
        return rows.sort(key) if key else self.in_order(rows) if name == "annotations" else rows

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the four tables, see `table`."""
        return {name: self.table(name) for name in (*GROUND_TRUTH, "detections")}

    def with_dataset(self, dataset: Dataset) -> Inputs:
        """Return the input with another ground truth."""
        return replace(self, dataset=dataset, annotations=dataset.core("annotations"))

    def with_annotations(self, annotations: pl.DataFrame) -> Inputs:
        """Return the input with other annotations, which have all their attributes; the standard columns come first."""
        standard = [column.name for column in TABLES["annotations"] if column.name in annotations.columns]
        annotations = annotations.select(*standard, pl.exclude(standard))
        return self.with_dataset(self.dataset.part(self.dataset.images, annotations))

    def keep_detections(self, kept: pl.Series) -> Inputs:
        """Return the input with only the flagged detections, and with their prepared values."""
        if kept.all():
            return self
        rows = kept.arg_true()
        prepared = {name: objects.take(rows.to_numpy()) for name, objects in self.prepared.items()}
        return replace(self, detections=self.detections[rows], prepared=prepared)

    def of_sound_rows(self, faults: Sequence[Fault]) -> Inputs:
        """Return the input; if rows of the ground truth were left out because of faults, it is `altered`."""
        is_whole = all(fault.table == "detections" for fault in faults)
        return self if is_whole else replace(self, altered="rows that cannot be evaluated were left out")

    def saying(self, *notes: Note) -> Inputs:
        """Return the input with further remarks."""
        return replace(self, remarks=(*self.remarks, *notes))

    def in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return objects in the order in which ties are resolved."""
        return frame.sort("category_id", maintain_order=True) if self.protocol.by_category else frame

    def subset(self, masks: Mapping[str, Mapping[str, pl.Series]]) -> Inputs:
        """Return the part inside the masks, see `apframe.evaluation.slices.keys.conjunction`, applied to `tables`.

        Images, categories, and detections outside a mask of their own are removed. Annotations outside stay, but are ignored.
        """
        tables = self.tables()
        for name, inside in masks.get("annotations", {}).items():
            frame = tables[name]
            left_out = ~inside | frame[OUTSIDE] if OUTSIDE in frame.columns else ~inside
            frame = frame.with_columns(left_out.alias(OUTSIDE))
            standard = [column.name for column in TABLES[name] if column.name in frame.columns]
            tables[name] = frame.select(*standard, pl.exclude(standard))
        for name in ("images", "categories", "detections"):
            if name in masks:
                tables[name] = tables[name].filter(masks[name][name])
        ids = [tables[name][f"{key}_id"] for name, key in (("images", "image"), ("categories", "category"))]
        for name in ("annotations", "detections"):
            for column in ids:
                tables[name] = tables[name].filter(is_known(tables[name][column.name], column))
        dataset = self.dataset.part(tables["images"], tables["annotations"])
        objects = tables["annotations"], tables["detections"]
        again = None if self.again is None or masks.keys() - {"images"} else partial(_part_again, self.again, masks)
        altered = "a subset has only some categories" if "categories" in masks else self.altered
        return Inputs(self.protocol, dataset, *objects, ids[0], ids[1], malformed=self.malformed, altered=altered, again=again)


def _part_again(
    again: Callable[[Protocol], Inputs], masks: Mapping[str, Mapping[str, pl.Series]], protocol: Protocol
) -> Inputs:
    """Return the same images for another variant of the protocol, which may have other objects."""
    return again(protocol).subset(masks)

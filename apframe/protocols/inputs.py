"""What an evaluation compares: the four canonical tables, what is known of them, and subsets of them."""

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
    """What an evaluation compares, by the rules of a protocol.

    Attributes
    ----------
    protocol
        whose rules apply
    dataset
        the ground truth, with what the protocol adds and leaves out
    annotations, detections
        those on the images and of the categories that take part, in the order in which ties are resolved: as they came, or by
        category. Attributes of the annotations may still be unread; `tables` has them
    image_ids, category_ids
        sorted
    prepared
        results of `Similarity.prepare`, row by row: `detection_shapes`, `annotation_shapes`, or none
    unknown_images
        ids of images that the ground truth does not have, whose detections were dropped; None if there are none
    none_given
        whether there were no detections at all, also none that were dropped
    n_left_out
        how many detections of known images and categories there were, if all of these were left out; otherwise 0
    said
        changes of the data and what else to know of the numbers, such as rules of the protocol that could not be applied
    malformed
        what becomes of rows whose shape cannot be right: by default as where this is made
    altered
        why `table` has other annotations than the ground truth, in words; None where it has all of them, as they were read
    again
        gives the input of the same data by a variant of the protocol, where its tables have numbers of variants
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
    said: tuple[Note, ...] = ()
    malformed: Malformed = field(default_factory=malformed_rows)
    altered: str | None = None
    again: Callable[[Protocol], Inputs] | None = None

    @cached_property
    def states(self) -> States:
        """What the rules say of annotations and detections, whatever the area range.

        Outside the subset that `Evaluation.where` took, everything is ignored, and so is the copy of a detection that matches
        nothing: it only uses up what it matches.
        """
        outside = [frame[OUTSIDE] if OUTSIDE in frame.columns else None for frame in (self.annotations, self.detections)]
        copies = self.detections["expanded_from"].is_not_null() if "expanded_from" in self.detections.columns else None
        own = [States(ignored=outside[0], unmatched_ignored=outside[1]), States(unmatched_ignored=copies)]
        return States.combine([*own, *(rule.states(self) for rule in self.protocol.rules)])

    @property
    def crowds(self) -> pl.Series:
        """Flags of the annotations of groups."""
        flags = self.states.crowds
        return pl.repeat(False, self.annotations.height, eager=True) if flags is None else flags

    @property
    def ignored(self) -> pl.Series:
        """Flags of the annotations that do not count in any area range."""
        flags = self.states.ignored
        return pl.repeat(False, self.annotations.height, eager=True) if flags is None else flags

    @property
    def notes(self) -> list[str]:
        """What is `said`, in words."""
        return in_words(self.said)

    @property
    def n_detections(self) -> int:
        """How many detections are evaluated, without their copies for other classes."""
        copied = "expanded_from" in self.detections.columns
        return self.detections["expanded_from"].null_count() if copied else self.detections.height

    def table(self, name: str) -> pl.DataFrame:
        """One of the four tables with its attributes; rows of images and categories in the order of their ids."""
        rows: pl.DataFrame = self.detections if name == "detections" else getattr(self.dataset, name)
        if name in ("categories", "annotations"):
            rows = rows.filter(is_known(rows["category_id"], self.category_ids))
        key = {"images": "image_id", "categories": "category_id"}.get(name)
        return rows.sort(key) if key else self.in_order(rows) if name == "annotations" else rows

    def tables(self) -> dict[str, pl.DataFrame]:
        """The four tables, as `table` has them."""
        return {name: self.table(name) for name in (*GROUND_TRUTH, "detections")}

    def with_dataset(self, dataset: Dataset) -> Inputs:
        """The input with another ground truth."""
        return replace(self, dataset=dataset, annotations=dataset.core("annotations"))

    def with_annotations(self, annotations: pl.DataFrame) -> Inputs:
        """The input with other annotations, which have all their attributes; the standard columns come first."""
        known = [column.name for column in TABLES["annotations"] if column.name in annotations.columns]
        annotations = annotations.select(*known, pl.exclude(known))
        return self.with_dataset(self.dataset.part(self.dataset.images, annotations))

    def keep_detections(self, kept: pl.Series) -> Inputs:
        """The input with the flagged detections alone, and what has been prepared of them."""
        if kept.all():
            return self
        rows = kept.arg_true()
        prepared = {name: objects.take(rows.to_numpy()) for name, objects in self.prepared.items()}
        return replace(self, detections=self.detections[rows], prepared=prepared)

    def of_sound_rows(self, faults: Sequence[Fault]) -> Inputs:
        """The input, which is `altered` if there are faults of the ground truth, whose rows were left out."""
        is_whole = all(fault.table == "detections" for fault in faults)
        return self if is_whole else replace(self, altered="rows that cannot be evaluated were left out")

    def saying(self, *notes: Note) -> Inputs:
        """The input with more that is `said`."""
        return replace(self, said=(*self.said, *notes))

    def in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Objects in the order in which ties are resolved."""
        return frame.sort("category_id", maintain_order=True) if self.protocol.by_category else frame

    def subset(self, masks: Mapping[str, Mapping[str, pl.Series]]) -> Inputs:
        """The part inside the masks, which are those of `apframe.evaluation.slices.keys.conjunction` on `tables`.

        Images, categories, and detections by a key of their own are left out. Objects outside stay, as ignored ones.
        """
        tables = self.tables()
        for name, inside in masks.get("annotations", {}).items():
            frame = tables[name]
            left_out = ~inside | frame[OUTSIDE] if OUTSIDE in frame.columns else ~inside
            frame = frame.with_columns(left_out.alias(OUTSIDE))
            known = [column.name for column in TABLES[name] if column.name in frame.columns]
            tables[name] = frame.select(*known, pl.exclude(known))
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
    """The same images by another variant of the protocol, which may have other objects."""
    return again(protocol).subset(masks)

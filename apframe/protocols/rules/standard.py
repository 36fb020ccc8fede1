"""The rules on rows that every protocol has: shapes, evaluated categories, and their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import (
    NoAnnotationsWarning,
    TurnedBoxesWarning,
    UnnamedCategoryWarning,
    warn,
)
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.known import warn_of_unknown
from apframe.protocols.rules.rule import Rule
from apframe.registry import published_for
from apframe.similarity.extents import lacks_boxes, prepare_shapes, with_boxes, with_upright_boxes
from apframe.tables.ids import is_known
from apframe.tables.schemas import noun
from apframe.tables.shapes.boxes import BOXES
from apframe.tables.shapes.declarations import CORNERS
from apframe.wording import Count, Note, in_words, option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs


@dataclass(frozen=True)
class CopyShared(Rule):
    """Copy each detection for every further annotation that it can match, if the matcher matches it with all of them.

    Copies have their own ids, and name their original in `expanded_from`; unmatched copies are ignored.
    """

    def rows(self, inputs: Inputs) -> Inputs:
        """Return detections, each followed by its copies."""
        detections, annotations = inputs.detections, inputs.annotations
        if inputs.protocol.matcher.wants != "copies" or detections.is_empty() or annotations.is_empty():
            return inputs
        import numpy as np

        from apframe.matching.reached import reaches

        at = ["image_id"] if inputs.protocol.agnostic else ["image_id", "category_id"]
        cells = pl.concat([detections.select(at), annotations.select(at)]).unique().with_row_index("cell")
        left, right = (frame.join(cells, on=at, how="left", maintain_order="left") for frame in (detections, annotations))
        least = inputs.protocol.iou_thresholds[0]
        pairs = inputs.protocol.similarity.pair(left, right.with_columns(is_crowd=False), least)
        near = pairs.filter(
            pl.Series(reaches(pairs["similarity"].to_numpy(), np.array(least), strict=inputs.protocol.matcher.strict))
        )
        several = near.group_by("detection").len("n").filter(pl.col("n") > 1)
        if several.is_empty():
            return inputs
        rows = detections.with_row_index("detection").join(several, on="detection", maintain_order="left")
        copies = rows.with_columns(copy=pl.int_ranges(1, "n")).explode("copy")
        ids = detections["detection_id"]
        if ids.dtype == pl.String:
            number = pl.concat_str("detection_id", pl.lit("/"), pl.col("copy").cast(pl.String))
        else:
            number = pl.int_range(pl.len(), dtype=pl.Int64) + (ids.max() or 0) + 1
        copies = copies.with_columns(expanded_from="detection_id").with_columns(number.cast(ids.dtype).alias("detection_id"))
        first = detections.with_row_index("detection").with_columns(expanded_from=pl.lit(None, ids.dtype))
        every = pl.concat([first, copies.select(first.columns)]).sort("detection", maintain_order=True)
        return replace(inputs, detections=every.drop("detection"))


@dataclass(frozen=True)
class TurnUpright(Rule):
    """Replace boxes that `angle` turns by their upright bounding boxes, unless corners or any shapes may be compared.

    If boxes are compared, there is a warning and a note. Areas remain those of the shapes.
    """

    def rows(self, inputs: Inputs) -> Inputs:
        """Return objects with upright boxes."""
        shape = inputs.protocol.similarity.shape
        if shape in (None, CORNERS):
            return inputs
        tables = {"annotations": inputs.annotations, "detections": inputs.detections}
        turned = {name: frame for name, frame in tables.items() if "angle" in frame.columns}
        if not turned:
            return inputs
        from apframe.tables.shapes.corners import is_turned, upright

        counts = [Count(noun(name), int(is_turned(frame).sum()), of=frame.height) for name, frame in turned.items()]
        boxed = replace(inputs.with_dataset(with_upright_boxes(inputs.dataset)), detections=upright(inputs.detections))
        if shape is not BOXES:
            return boxed
        note = Note(f"boxes turned by angle: {{}}; {inputs.protocol.name} uses the upright boxes around them", counts)
        for text in in_words([note]):
            warn(
                f"{text}; to compare rotated boxes, use {option_name('protocol', published_for('rotated')[0])}",
                TurnedBoxesWarning,
            )
        return boxed.saying(note)


@dataclass(frozen=True)
class CompleteSegments(Rule):
    """Add the columns of detections that are computed from the files of both sides, if segments are compared."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return detections with the columns that the similarity adds; void classes are not evaluated."""
        similarity = inputs.protocol.similarity
        completed = similarity.complete(inputs.detections, inputs.dataset.images, inputs.annotations)
        if similarity.void_categories and inputs.category_ids.dtype.is_integer():
            from apframe.similarity.unnamed_labels import describe_unnamed

            if (unnamed := describe_unnamed(inputs.dataset, similarity.void_categories)) is not None:
                warn("; ".join(unnamed), UnnamedCategoryWarning)
            classes = inputs.category_ids.filter(~inputs.category_ids.is_in(similarity.void_categories))
            inputs = replace(inputs, category_ids=classes)
        return inputs if completed is inputs.detections else replace(inputs, detections=completed)


@dataclass(frozen=True)
class ReadMasks(Rule):
    """Read the masks of the annotations, if masks are compared."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return annotations with masks."""
        return inputs.with_dataset(inputs.dataset.with_masks) if "mask" in inputs.protocol.similarity.needs else inputs


@dataclass(frozen=True)
class BoxAnnotations(Rule):
    """Add boxes and areas to annotations that have only another shape."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return annotations with boxes."""
        if not lacks_boxes(inputs.annotations):
            return inputs
        return inputs.with_annotations(with_boxes("annotations", inputs.dataset.annotations, inputs.dataset.images))


@dataclass(frozen=True)
class EvaluatedCategories(Rule):
    """Keep only objects of the evaluated categories, with a warning if detections have unknown ones."""

    applies_again: ClassVar[bool] = True

    def rows(self, inputs: Inputs) -> Inputs:
        """Return objects of these categories."""
        detections, annotations, chosen = inputs.detections, inputs.annotations, inputs.category_ids
        listed_ids = inputs.dataset.core("categories")["category_id"]
        unknown = ~is_known(detections["category_id"], listed_ids)
        if unknown.any():
            has_copies = "expanded_from" in detections.columns
            own = detections["expanded_from"].is_null() if has_copies else pl.repeat(True, detections.height, eager=True)
            warn_of_unknown("category_id", detections.filter(own), unknown.filter(own), listed_ids)
        if unknown.any() or len(chosen) < len(listed_ids):
            detections = detections.filter(is_known(detections["category_id"], chosen))
        annotations = annotations.filter(is_known(annotations["category_id"], chosen))
        if annotations.is_empty():
            become = "average precision is 0" if inputs.protocol.counts_absent else "all metrics are null"
            warn(f"there are no annotations to evaluate against, so {become}", NoAnnotationsWarning)
        return replace(inputs, annotations=annotations, detections=detections)


@dataclass(frozen=True)
class OrderByCategory(Rule):
    """Sort objects by category if categories are pooled and the image decides between equal scores."""

    applies_again: ClassVar[bool] = True

    def rows(self, inputs: Inputs) -> Inputs:
        """Return objects in the order in which ties are resolved."""
        return replace(inputs, annotations=inputs.in_order(inputs.annotations), detections=inputs.in_order(inputs.detections))


@dataclass(frozen=True)
class BoxDetections(Rule):
    """Add boxes and areas to detections that have only another shape."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return detections with boxes; values that the similarity has prepared for them are kept."""
        detections, images = inputs.detections, inputs.dataset.images
        if not lacks_boxes(detections):
            return inputs
        prepared = prepare_shapes("detections", detections, images, inputs.protocol.similarity)
        boxed = with_boxes("detections", detections, images, prepared)
        return replace(inputs, detections=boxed, prepared={} if prepared is None else {"detection_shapes": prepared})


STANDARD_SHAPES: tuple[Rule, ...] = (TurnUpright(), CompleteSegments(), ReadMasks(), BoxAnnotations())
"""The rules that make shapes comparable."""
STANDARD_LISTS: tuple[Rule, ...] = (EvaluatedCategories(), OrderByCategory(), BoxDetections(), CopyShared())
"""The rules that decide which lists are evaluated, and what they contain."""
STANDARD_ROWS = (*STANDARD_SHAPES, *STANDARD_LISTS)
"""The rules on rows that every protocol has."""
STANDARD_RULES = (*STANDARD_ROWS, CrowdsIgnored())
"""The rules of a protocol of your own, unless you name others."""

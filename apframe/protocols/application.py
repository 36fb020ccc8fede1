"""The input of an evaluation: the four canonical tables, checked against each other, and subsets of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from apframe.exceptions import (
    BoxFormatWarning,
    ColumnError,
    UnitWarning,
    warn,
)
from apframe.protocols.inputs import Inputs
from apframe.protocols.list_thresholds import thresholds_of
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.known import KnownImagesOnly, warn_of_unknown
from apframe.protocols.rules.rule import Rule
from apframe.registry import published_for
from apframe.rows import KEY_OF, MALFORMED_KEPT, treating_malformed
from apframe.similarity.extents import lacks_boxes, with_image_sizes
from apframe.similarity.pairs import Similarity, require
from apframe.tables.box_formats import are_fractions
from apframe.tables.column_sources import to_polars
from apframe.tables.dataset import Dataset, canonical_detections
from apframe.tables.ids import is_known, unknown_ids
from apframe.tables.shapes.boxes import BOX, BOXES
from apframe.tables.shapes.declarations import CUBOIDS, INTERVALS, KEYPOINTS, SEGMENTS, shape_of
from apframe.validation import Report, validating
from apframe.wording import Note, counted, option_name


def make_inputs(
    dataset: Dataset,
    detections: Any,
    category_ids: pl.Series | None,
    protocol: Protocol,
    *,
    drop_unknown_images: bool = False,
    are_checked: bool = False,
) -> Inputs:
    """Make the input of an evaluation: check the tables and apply the rules of a protocol.

    If `are_checked`, the detections are the result of `check_detections`.

    >>> from apframe.protocols.coco import COCO
    >>> dataset = Dataset({"image_id": [2, 1]}, {"category_id": [1]}, {
    ...     "image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> make_inputs(dataset, {}, None, COCO).image_ids.to_list()
    [1, 2]
    """
    checked = detections if are_checked else check_detections(detections, dataset, category_ids, protocol)
    _refuse_others("annotations", dataset.core("annotations"), protocol)
    tables = {"annotations": dataset.core("annotations"), "detections": checked}
    _warn_of_degrees(tables, protocol)
    _warn_of_fractions(tables, protocol)
    _warn_of_keypoints(checked, protocol)
    _warn_of_labels(tables, dataset.categories, protocol)
    none_given = checked.is_empty()
    checked, unknown = _of_known_images(checked, dataset, protocol, drop=drop_unknown_images)
    inputs = _by_rules(dataset, checked, category_ids, protocol, protocol.rules)
    n_left_out = 0
    if inputs.detections.is_empty():
        n_left_out = int(is_known(checked["category_id"], dataset.core("categories")["category_id"]).sum())
    altered = _why_altered(dataset, category_ids, inputs)
    inputs = replace(inputs, unknown_images=unknown, none_given=none_given, n_left_out=n_left_out, altered=altered)
    if protocol.category_thresholds:
        thresholds_of(inputs, inputs.protocol)  # raises an error if a category has none
    if any(table.iou_types for table in protocol.tables):
        again = partial(make_inputs, dataset, detections, category_ids)
        inputs = replace(inputs, again=partial(again, drop_unknown_images=drop_unknown_images, are_checked=are_checked))
    return inputs


def _why_altered(dataset: Dataset, category_ids: pl.Series | None, inputs: Inputs) -> str | None:
    """Explain why the annotations of the inputs differ from those of the data set as it was read; None if they do not."""
    if dataset.merged is not None:
        return "categories were mapped"
    if lacks_boxes(dataset.core("annotations")):
        return "they have no boxes"
    shown = ["annotation_id", "image_id", "category_id", *BOX, "is_crowd"]
    before, after = (frame[shown] for frame in (dataset.core("annotations"), inputs.annotations))
    if before.equals(after) or before.sort("annotation_id").equals(after.sort("annotation_id")):
        return None
    are_chosen = category_ids is not None and len(category_ids) < dataset.core("categories").height
    return "only some categories are evaluated" if are_chosen else f"{inputs.protocol.name} leaves out, changes or copies some"


def stored_inputs(
    dataset: Dataset, detections: pl.DataFrame, category_ids: pl.Series, protocol: Protocol, altered: str | None = None
) -> Inputs:
    """Make the input of a stored evaluation from its tables, to which the rules of the protocol were already applied.

    `altered` is copied from the inputs that were stored.

    >>> from apframe.protocols.coco import COCO
    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {
    ...     "image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> stored_inputs(dataset, canonical_detections({}, dataset), pl.Series([1]), COCO).annotations.height
    1
    """
    on_known, _ = _of_known_images(detections, dataset, protocol, drop=False)
    with treating_malformed(MALFORMED_KEPT):  # the stored evaluation has treated them
        inputs = _by_rules(dataset, on_known, category_ids, protocol, [rule for rule in protocol.rules if rule.applies_again])
    return replace(inputs, none_given=detections.is_empty(), altered=altered)


def _by_rules(
    dataset: Dataset, detections: pl.DataFrame, category_ids: pl.Series | None, protocol: Protocol, rules: Sequence[Rule]
) -> Inputs:
    image_ids = dataset.core("images")["image_id"].sort()
    category_ids = (dataset.core("categories")["category_id"] if category_ids is None else category_ids).sort()
    notes: tuple[Note, ...] = ()
    if dataset.merged is not None:
        from apframe.tables.category_map import describe_map

        mapped = describe_map(dataset.merged)
        notes = (Note(mapped),) if mapped else ()
    if dataset.left_out is not None:
        notes += (Note(f"{counted(dataset.left_out.height, 'image')} left out with their detections, as others were chosen"),)
    inputs = Inputs(protocol, dataset, dataset.core("annotations"), detections, image_ids, category_ids, remarks=notes)
    for rule in rules:
        inputs = rule.rows(inputs)
    return inputs


def check_detections(
    detections: Any,
    dataset: Dataset,
    category_ids: pl.Series | None,
    protocol: Protocol,
) -> pl.DataFrame:
    """Return detections as a canonical table, checked as far as possible without the annotations.

    If categories are pooled and equal scores keep the order of the input (proposals), detections need no category_id: a missing
    or unknown one is replaced by the first category.

    >>> from apframe.protocols.coco import COCO
    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    >>> rows = {"image_id": [1], "category_id": [1], "score": [0.5], "bbox": [[0, 0, 9, 9]]}
    >>> check_detections(rows, dataset, None, COCO)["area"].to_list()
    [81.0]
    """
    if protocol.agnostic and protocol.matcher.ties == "input":
        detections = _with_any_category(detections, dataset.core("categories")["category_id"], category_ids)
    checked = canonical_detections(detections, dataset)
    _refuse_others("detections", checked, protocol)
    return checked


def without_invalid_shapes(
    dataset: Dataset, detections: pl.DataFrame, protocol: Protocol, report: Report
) -> tuple[Dataset, pl.DataFrame]:
    """Remove and report annotations and detections with invalid shapes, if their shapes are compared."""
    similarity, images = protocol.similarity, dataset.images
    tables = {"annotations": dataset.core("annotations"), "detections": detections}
    own = Report()
    with suppress(ColumnError), validating(own):  # a missing column raises its own error elsewhere
        if similarity.shape is not None:
            _check_shapes({table: with_image_sizes(frame, images) for table, frame in tables.items()}, similarity)
    for fault in own.faults:
        frame = tables[fault.table]
        key = KEY_OF[fault.table]
        tables[fault.table] = frame.filter(~is_known(frame[key], pl.Series(fault.error.rows)))
    report.found += [replace(fault, check="invalid_shape") for fault in own.faults]
    if tables["annotations"].height < dataset.core("annotations").height:
        kept = is_known(dataset.annotations["annotation_id"], tables["annotations"]["annotation_id"])
        dataset = dataset.part(images, dataset.annotations.filter(kept))
    return dataset, tables["detections"]


def _check_shapes(tables: Mapping[str, pl.DataFrame], similarity: Similarity) -> None:
    """Report invalid shapes, both those from which boxes are made and those that are compared."""
    for table, frame in tables.items():
        shape = shape_of(frame)
        if shape is not None and shape is not similarity.shape and lacks_boxes(frame):
            shape.check(table, frame)
    filled = next((table for table, frame in tables.items() if frame.height), None)
    if filled is None:
        return
    # a table without rows may have no column of the shapes
    empty = {table: tables[filled].clear().with_columns(pl.col(KEY_OF[filled]).alias(KEY_OF[table])) for table in tables}
    compared = {table: frame if frame.height else empty[table] for table, frame in tables.items()}
    require(similarity, **compared)
    similarity.check(**compared)


def _with_any_category(detections: Any, category_ids: pl.Series, chosen: pl.Series | None) -> pl.DataFrame:
    """Return detections with a known category_id each: the first category replaces missing and unknown ones."""
    frame = to_polars(detections, "detections")
    if category_ids.is_empty() or not frame.columns:
        return frame
    values = frame["category_id"] if "category_id" in frame.columns else pl.Series([None]).new_from_index(0, frame.height)
    if values.dtype.is_nested():
        return frame  # an error that the check of ids reports
    ids = values.cast(category_ids.dtype, strict=False).alias("category_id")
    first = pl.lit((category_ids if chosen is None else chosen)[0], category_ids.dtype)
    return frame.with_columns(pl.when(is_known(ids, category_ids)).then(ids).otherwise(first).alias("category_id"))


def _refuse_others(table: str, frame: pl.DataFrame, protocol: Protocol) -> None:
    """Raise an error if intervals or segments would be compared as boxes."""
    shape = shape_of(frame)
    iou_types_for = {INTERVALS: ["interval"], SEGMENTS: ["panoptic", "semantic"]}
    if shape in iou_types_for and protocol.similarity.shape not in (None, shape) and frame["x"].null_count():
        columns = ", ".join(name for name in shape.needs if name in frame.columns)
        protocols = " or ".join(published_for(iou_type)[0] for iou_type in iou_types_for[shape])
        raise ColumnError("no boxes", f"there are {columns}: did you mean protocol {protocols}?", table=table)


def _warn_of_degrees(tables: Mapping[str, pl.DataFrame], protocol: Protocol) -> None:
    """Warn if an angle of a box exceeds a full turn, or most yaws do; single yaws may do so, as they may be added up."""
    for table, frame in tables.items():
        if protocol.similarity.shape is not None and "angle" in frame.columns:
            beyond = frame["angle"].filter(frame["angle"].abs() > 2 * math.pi)
            if len(beyond):
                warn(f"{table}: angle is in radians; {beyond[0]} looks like degrees", UnitWarning)
        if protocol.similarity.shape is not CUBOIDS:
            continue
        from apframe.tables.shapes.cuboids import like_degrees

        if (degrees := like_degrees(frame)) is not None:
            warn(f"{table}: cuboid_yaw is in radians; most of its values, such as {degrees}, look like degrees", UnitWarning)


def _warn_of_fractions(tables: Mapping[str, pl.DataFrame], protocol: Protocol) -> None:
    """Warn if boxes are fractions of the image and a pixel is added to their sides, which makes all of them overlap."""
    which = [table for table, frame in tables.items() if are_fractions([frame[name] for name in BOX])]
    if protocol.similarity.inclusive and which:
        warn(
            f"all boxes of the {' and '.join(which)} are in [0, 1.05], but {protocol.name} adds a pixel to their sides, so "
            f"that distant boxes overlap; supply pixels, or {option_name('relative', 'True')} and the sizes of the images",
            BoxFormatWarning,
        )


def _warn_of_keypoints(detections: pl.DataFrame, protocol: Protocol) -> None:
    """Warn if detections have keypoints and no boxes, and boxes are compared."""
    is_box_compared = protocol.similarity.shape is BOXES and "keypoints" in protocol.iou_types
    if (
        is_box_compared
        and shape_of(detections) is KEYPOINTS
        and detections.height
        and detections["x"].null_count() == detections.height
    ):
        warn(
            "the detections have keypoints and no boxes, so the boxes around their keypoints are compared; "
            f"to compare keypoints, use {option_name('iou_type', 'keypoints')}",
            BoxFormatWarning,
        )


def _warn_of_labels(tables: Mapping[str, pl.DataFrame], categories: pl.DataFrame, protocol: Protocol) -> None:
    """Warn if label maps of classes are compared as if they had segments."""
    are_segments = protocol.similarity.shape is SEGMENTS and protocol.iou_thresholds[0] > 0  # classes need only touch
    if not are_segments or "isthing" in categories.columns:
        return
    if all(frame.height and "segment_id" in frame.columns and _are_labels(frame) for frame in tables.values()):
        warn(
            f"segment_id is the category_id in all rows: {protocol.name} counts each class of an image as one segment, and "
            f"labels such as 255 as classes; did you mean protocol {published_for('semantic')[0]}?",
            UnitWarning,
        )


def _are_labels(frame: pl.DataFrame) -> bool:
    return frame["category_id"].dtype.is_integer() and bool((frame["segment_id"] == frame["category_id"]).all())


def _of_known_images(
    detections: pl.DataFrame, dataset: Dataset, protocol: Protocol, *, drop: bool
) -> tuple[pl.DataFrame, pl.Series | None]:
    """Return the detections on images of the data set, and the ids of the other images; see `warn_of_dropped`."""
    on_known = on_known_images(detections, dataset, drop=drop)
    warn_of_dropped(detections, on_known, dataset, protocol)
    if on_known.all():
        return detections, None
    return detections.filter(on_known), detections["image_id"].filter(~on_known).unique(maintain_order=True)


def warn_of_dropped(detections: pl.DataFrame, on_known: pl.Series, dataset: Dataset, protocol: Protocol) -> None:
    """Warn if detections are dropped because of the protocol, or if no detection is on a known image."""
    by_rule = protocol.rule(KnownImagesOnly) is not None
    if on_known.all() or not (by_rule or not on_known.any()):
        return
    kit = f"; the program of the benchmark {protocol.name} drops them too" if by_rule else ""
    warn_of_unknown("image_id", detections, ~on_known, dataset.core("images")["image_id"], kit)


def on_known_images(detections: pl.DataFrame, dataset: Dataset, *, drop: bool) -> pl.Series:
    """True for detections on images of the data set. Unless the others are to be dropped, they raise an error.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    >>> on_known_images(pl.DataFrame({"image_id": [1, 2]}), dataset, drop=True).to_list()
    [True, False]
    """
    flags = is_known(detections["image_id"], dataset.core("images")["image_id"])
    if not (drop or flags.all()):
        remedy = f"give the ground truth of these results, or drop them ({option_name('unknown_images', 'drop')})"
        raise unknown_ids("detections", detections, "image_id", "images", flags, remedy, dataset.core("images")["image_id"])
    return flags

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

    Detections that `are_checked` are those of `check_detections`.

    >>> from apframe.protocols.coco import COCO
    >>> dataset = Dataset({"image_id": [2, 1]}, {"category_id": [1]}, {
    ...     "image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> make_inputs(dataset, {}, None, COCO).image_ids.to_list()
    [1, 2]
    """
    found = detections if are_checked else check_detections(detections, dataset, category_ids, protocol)
    _refuse_others("annotations", dataset.core("annotations"), protocol)
    tables = {"annotations": dataset.core("annotations"), "detections": found}
    _warn_of_degrees(tables, protocol)
    _warn_of_fractions(tables, protocol)
    _warn_of_keypoints(found, protocol)
    _warn_of_labels(tables, dataset.categories, protocol)
    none_given = found.is_empty()
    found, unknown = _of_known_images(found, dataset, protocol, drop=drop_unknown_images)
    inputs = _by_rules(dataset, found, category_ids, protocol, protocol.rules)
    n_left_out = 0
    if inputs.detections.is_empty():
        n_left_out = int(is_known(found["category_id"], dataset.core("categories")["category_id"]).sum())
    altered = _why_altered(dataset, category_ids, inputs)
    inputs = replace(inputs, unknown_images=unknown, none_given=none_given, n_left_out=n_left_out, altered=altered)
    if protocol.category_thresholds:
        thresholds_of(inputs, inputs.protocol)  # an error where a category has none
    if any(table.iou_types for table in protocol.tables):
        given = partial(make_inputs, dataset, detections, category_ids)
        inputs = replace(inputs, again=partial(given, drop_unknown_images=drop_unknown_images, are_checked=are_checked))
    return inputs


def _why_altered(dataset: Dataset, category_ids: pl.Series | None, inputs: Inputs) -> str | None:
    """Why the annotations of the inputs are not those of the data set as it was read; None if they are."""
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

    `altered` is that of the inputs that were stored.

    >>> from apframe.protocols.coco import COCO
    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {
    ...     "image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9]})
    >>> stored_inputs(dataset, canonical_detections({}, dataset), pl.Series([1]), COCO).annotations.height
    1
    """
    found, _ = _of_known_images(detections, dataset, protocol, drop=False)
    with treating_malformed(MALFORMED_KEPT):  # by the evaluation that was stored
        inputs = _by_rules(dataset, found, category_ids, protocol, [rule for rule in protocol.rules if rule.applies_again])
    return replace(inputs, none_given=detections.is_empty(), altered=altered)


def _by_rules(
    dataset: Dataset, found: pl.DataFrame, category_ids: pl.Series | None, protocol: Protocol, rules: Sequence[Rule]
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
    inputs = Inputs(protocol, dataset, dataset.core("annotations"), found, image_ids, category_ids, said=notes)
    for rule in rules:
        inputs = rule.rows(inputs)
    return inputs


def check_detections(
    detections: Any,
    dataset: Dataset,
    category_ids: pl.Series | None,
    protocol: Protocol,
) -> pl.DataFrame:
    """Detections as a canonical table, as far as they can be checked without the annotations.

    Where categories are pooled and equal scores stay in the order of the input (proposals), detections need no category_id:
    one that is missing or unknown is taken for the first category's.

    >>> from apframe.protocols.coco import COCO
    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    >>> found = {"image_id": [1], "category_id": [1], "score": [0.5], "bbox": [[0, 0, 9, 9]]}
    >>> check_detections(found, dataset, None, COCO)["area"].to_list()
    [81.0]
    """
    if protocol.agnostic and protocol.matcher.ties == "input":
        detections = _with_any_category(detections, dataset.core("categories")["category_id"], category_ids)
    found = canonical_detections(detections, dataset)
    _refuse_others("detections", found, protocol)
    return found


def without_invalid_shapes(
    dataset: Dataset, found: pl.DataFrame, protocol: Protocol, report: Report
) -> tuple[Dataset, pl.DataFrame]:
    """Annotations and detections without those whose shapes are refused where they are compared, which are reported."""
    similarity, images = protocol.similarity, dataset.images
    tables = {"annotations": dataset.core("annotations"), "detections": found}
    own = Report()
    with suppress(ColumnError), validating(own):  # a column that is missing is an error of its own
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
    """Report shapes that boxes are made of, and those that are compared."""
    for table, frame in tables.items():
        shape = shape_of(frame)
        if shape is not None and shape is not similarity.shape and lacks_boxes(frame):
            shape.check(table, frame)
    there = {table: frame for table, frame in tables.items() if frame.height}
    empty = {table: next(iter(there.values())).clear() for table in tables.keys() - there.keys()} if there else {}
    if there:
        require(similarity, **(there | empty))
        similarity.check(**(there | empty))


def _with_any_category(detections: Any, known: pl.Series, chosen: pl.Series | None) -> pl.DataFrame:
    """Detections with a known category_id each: the first one where it is missing or unknown."""
    frame = to_polars(detections, "detections")
    if known.is_empty() or not frame.columns:
        return frame
    given = frame["category_id"] if "category_id" in frame.columns else pl.Series([None]).new_from_index(0, frame.height)
    if given.dtype.is_nested():
        return frame  # which is an error that others name
    ids = given.cast(known.dtype, strict=False).alias("category_id")
    first = pl.lit((known if chosen is None else chosen)[0], known.dtype)
    return frame.with_columns(pl.when(is_known(ids, known)).then(ids).otherwise(first).alias("category_id"))


def _refuse_others(table: str, frame: pl.DataFrame, protocol: Protocol) -> None:
    """An error where boxes would be made of intervals or segments, and compared as boxes."""
    shape = shape_of(frame)
    meant = {INTERVALS: ["interval"], SEGMENTS: ["panoptic", "semantic"]}
    if shape in meant and protocol.similarity.shape not in (None, shape) and frame["x"].null_count():
        there_are = ", ".join(name for name in shape.needs if name in frame.columns)
        protocols = " or ".join(published_for(iou_type)[0] for iou_type in meant[shape])
        raise ColumnError("no boxes", f"there are {there_are}: did you mean protocol {protocols}?", table=table)


def _warn_of_degrees(tables: Mapping[str, pl.DataFrame], protocol: Protocol) -> None:
    """A warning where angles that turn boxes are more than a full turn; of yaws, which may be added up, most of them."""
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
    """A warning where boxes are fractions of the image, and a pixel is added to their sides: all of them overlap then."""
    which = [table for table, frame in tables.items() if are_fractions([frame[name] for name in BOX])]
    if protocol.similarity.inclusive and which:
        warn(
            f"all boxes of the {' and '.join(which)} are in [0, 1.05], but {protocol.name} adds a pixel to their sides, so "
            f"that distant boxes overlap; supply pixels, or {option_name('relative', 'True')} and the sizes of the images",
            BoxFormatWarning,
        )


def _warn_of_keypoints(found: pl.DataFrame, protocol: Protocol) -> None:
    """A warning where detections have keypoints and no boxes, and boxes are compared."""
    is_box_compared = protocol.similarity.shape is BOXES and "keypoints" in protocol.iou_types
    if is_box_compared and shape_of(found) is KEYPOINTS and found.height and found["x"].null_count() == found.height:
        warn(
            "the detections have keypoints and no boxes, so the boxes around their keypoints are compared; "
            f"to compare keypoints, use {option_name('iou_type', 'keypoints')}",
            BoxFormatWarning,
        )


def _warn_of_labels(tables: Mapping[str, pl.DataFrame], categories: pl.DataFrame, protocol: Protocol) -> None:
    """A warning where label maps of classes are compared as if they had segments."""
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
    found: pl.DataFrame, dataset: Dataset, protocol: Protocol, *, drop: bool
) -> tuple[pl.DataFrame, pl.Series | None]:
    """The detections on images of the data set, and the ids of the other images; see `warn_of_dropped`."""
    on_known = on_known_images(found, dataset, drop=drop)
    warn_of_dropped(found, on_known, dataset, protocol)
    if on_known.all():
        return found, None
    return found.filter(on_known), found["image_id"].filter(~on_known).unique(maintain_order=True)


def warn_of_dropped(found: pl.DataFrame, on_known: pl.Series, dataset: Dataset, protocol: Protocol) -> None:
    """A warning where detections are dropped because the protocol says so, or where none is on a known image."""
    by_rule = protocol.rule(KnownImagesOnly) is not None
    if on_known.all() or not (by_rule or not on_known.any()):
        return
    kit = f"; the program of the benchmark {protocol.name} drops them too" if by_rule else ""
    warn_of_unknown("image_id", found, ~on_known, dataset.core("images")["image_id"], kit)


def on_known_images(found: pl.DataFrame, dataset: Dataset, *, drop: bool) -> pl.Series:
    """Flags: is each detection on an image of the data set? Unless the others are to be dropped, they are an error.

    >>> dataset = Dataset({"image_id": [1]}, {"category_id": [1]}, {})
    >>> on_known_images(pl.DataFrame({"image_id": [1, 2]}), dataset, drop=True).to_list()
    [True, False]
    """
    known = is_known(found["image_id"], dataset.core("images")["image_id"])
    if not (drop or known.all()):
        remedy = f"give the ground truth of these results, or drop them ({option_name('unknown_images', 'drop')})"
        raise unknown_ids("detections", found, "image_id", "images", known, remedy, dataset.core("images")["image_id"])
    return known

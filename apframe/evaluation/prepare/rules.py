"""The rules on what is evaluated, in the order in which they apply. A rule that a protocol does not have changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.prepare.classes import with_levels, with_own_classes
from apframe.evaluation.prepare.copied import copy_shared
from apframe.evaluation.prepare.excluded import leave_out_excluded, place_in_images
from apframe.evaluation.prepare.extents import (
    has_pixels,
    lacks_boxes,
    prepare_shapes,
    with_boxes,
    with_image_sizes,
    with_upright_boxes,
)
from apframe.evaluation.prepare.hierarchy import expand_annotations, expand_lists, find_ancestors
from apframe.evaluation.prepare.judged import flag_not_exhaustive, keep_above_limit, keep_judged, limit_per_image
from apframe.evaluation.prepare.kept import (
    clip_boxes,
    ignore_uncertain,
    keep_objects,
    leave_out_repeated,
    need_every_alpha,
    need_image_boxes,
    note_missing_errors,
    refuse_negative_scores,
    refuse_too_many,
    refuse_wrong_types,
    tell_visible_shares,
    warn_of_scores_beyond_cut_offs,
)
from apframe.evaluation.prepare.malformed import leave_out_narrow, treat_malformed
from apframe.evaluation.prepare.unnamed import describe_unnamed
from apframe.exceptions import (
    ColumnError,
    MostlyUnknownCategoriesWarning,
    NoAnnotationsWarning,
    ShapesLeftOutWarning,
    TurnedBoxesWarning,
    UnknownCategoryWarning,
    UnnamedCategoryWarning,
    warn,
)
from apframe.protocols.protocol import Protocol
from apframe.similarity.mask_iou import pair_masks
from apframe.similarity.pairs import lacking
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known, unknown_ids
from apframe.tables.shapes.boxes import BOXES
from apframe.tables.shapes.corners import CORNERS, is_turned, upright
from apframe.tables.tables import noun
from apframe.wording import Count, Note, counted, in_words, listed, nearest, spelled

if TYPE_CHECKING:
    from apframe.evaluation.prepare.inputs import Inputs

FIND_OUT = "run `apframe check` on both to find out why"


def turn_upright(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The upright box around each box that `angle` turns: all but DOTA, DOTA_V1, DOTA_V15, MMROTATE.

    Where boxes are compared, there is a warning and a note. Areas stay those of the shapes. A similarity that may compare
    anything gets the boxes and their angles.
    """
    if protocol.similarity.shape in (None, CORNERS):
        return inputs
    tables = {"annotations": inputs.annotations, "detections": inputs.detections}
    turned = {name: frame for name, frame in tables.items() if "angle" in frame.columns}
    counts = [Count(noun(name), int(is_turned(frame).sum()), of=frame.height) for name, frame in turned.items()]
    if not counts:
        return inputs
    boxed = replace(_of(inputs, with_upright_boxes(inputs.dataset)), detections=upright(inputs.detections))
    if protocol.similarity.shape is not BOXES:
        return boxed
    note = Note(f"boxes turned by angle: {{}}; {protocol.name} uses the upright boxes around them", counts)
    for text in in_words([note]):
        warn(f"{text}; to compare rotated boxes, use {spelled('protocol', 'dota')}", TurnedBoxesWarning)
    return replace(boxed, said=(*inputs.said, note))


def count_pixels(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The columns of detections that are made of the files of both sides: COCO_PANOPTIC, CITYSCAPES_PANOPTIC, SEMANTIC."""
    similarity = protocol.similarity
    completed = similarity.complete(inputs.detections, inputs.dataset.images, inputs.annotations)
    if similarity.void_categories and inputs.category_ids.dtype.is_integer():
        if (unnamed := describe_unnamed(inputs.dataset, similarity.void_categories)) is not None:
            warn("; ".join(unnamed), UnnamedCategoryWarning)
        classes = inputs.category_ids.filter(~inputs.category_ids.is_in(similarity.void_categories))
        inputs = replace(inputs, category_ids=classes)
    return inputs if completed is inputs.detections else replace(inputs, detections=completed)


def limit_detections(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Limit the detections of each image over all categories, before others are left out: LVIS, AVA, LUNA16, ULTRALYTICS."""
    if not protocol.per_image or protocol.max_detections[-1] is None:
        return inputs
    found = inputs.detections
    if "limits_known_categories" in protocol.further_rules:
        known = is_known(found["category_id"], inputs.dataset.core("categories")["category_id"])
        # those of other categories stay, for the warning of them
        limited = limit_per_image(found.filter(known), protocol.limits[-1])
        return replace(inputs, detections=pl.concat([limited, found.filter(~known)]))
    limit = keep_above_limit if "limit_without_ties" in protocol.further_rules else limit_per_image
    return replace(inputs, detections=limit(found, protocol.limits[-1]))


def read_masks(inputs: Inputs, protocol: Protocol) -> Inputs:
    """The masks of the annotations, where they are compared: `segm` and `boundary` of COCO and LVIS.

    Masks without pixels become null where annotations need no mask: `segm` of OPEN_IMAGES.
    """
    if "mask" not in protocol.similarity.needs:
        return inputs
    inputs = _of(inputs, inputs.dataset.with_masks)
    if "no_mask" not in protocol.ignores or "mask" not in inputs.annotations.columns:
        return inputs
    images, annotations = inputs.dataset.images, inputs.dataset.annotations
    kept = has_pixels(with_image_sizes(inputs.annotations, images))
    if kept.all():
        return inputs
    return _of(inputs, inputs.dataset.part(images, annotations.with_columns(pl.when(kept).then("mask").alias("mask"))))


def box_annotations(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Boxes and areas of annotations that have another shape alone: all protocols."""
    del protocol
    if not lacks_boxes(inputs.annotations):
        return inputs
    images = inputs.dataset.images
    return _of(inputs, inputs.dataset.part(images, with_boxes("annotations", inputs.dataset.annotations, images)))


def leave_out_annotations_without_area(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only annotations whose area is not 0: LVIS."""
    if not protocol.with_area_only or (inputs.annotations["area"] > 0).all():
        return inputs
    dataset = inputs.dataset
    return _of(inputs, dataset.part(dataset.images, dataset.annotations.filter(pl.col("area") > 0)))


def expand_hierarchy(inputs: Inputs, protocol: Protocol) -> Inputs:
    """A copy of each annotation for all categories above its own, unless there are such copies: OPEN_IMAGES, its challenge."""
    dataset = inputs.dataset
    parents = {"parent_id", "parent_ids"} & set(dataset.categories.columns)
    if not protocol.expands_hierarchy or not parents or "expanded_from" in inputs.annotations.columns:
        return inputs
    if parents == {"parent_id"}:
        raise ColumnError("no column parent_ids", "make it of parent_id: a list, [7] for 7 and [] for none", table="categories")
    ancestors = find_ancestors(dataset.categories)
    images, annotations = expand_lists(dataset.images, ancestors), expand_annotations(dataset.annotations, ancestors)
    return _of(inputs, dataset.part(images, annotations))


def tell_levels(inputs: Inputs, protocol: Protocol) -> Inputs:
    """A level of difficulty for each annotation: WAYMO."""
    return with_levels(inputs) if "levels_of_points" in protocol.further_rules else inputs


def keep_own_classes(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only the categories that the protocol evaluates, with what others are to them: KITTI, WAYMO, BDD100K, NUSCENES."""
    return with_own_classes(inputs, protocol) if protocol.classes.names else inputs


def keep_chosen_categories(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only objects of the categories that are evaluated, with a warning if detections have unknown ones: all protocols."""
    found, annotations, chosen = inputs.detections, inputs.annotations, inputs.category_ids
    listed_ids = inputs.dataset.core("categories")["category_id"]
    unknown = ~is_known(found["category_id"], listed_ids)
    if unknown.any() and "known_categories" in protocol.further_rules:
        remedy = f"give ids of the ground truth's categories, or {spelled('category_map')}"
        raise unknown_ids("detections", found, "category_id", "categories", ~unknown, remedy)
    if unknown.any():
        own = (
            found["expanded_from"].is_null() if "expanded_from" in found.columns else pl.repeat(True, found.height, eager=True)
        )
        dropped = describe_dropped("category_id", found.filter(own), unknown.filter(own), listed_ids)
        if are_most(unknown.filter(own)):
            warn(f"{dropped}; {FIND_OUT}", MostlyUnknownCategoriesWarning)
        else:
            warn(dropped, UnknownCategoryWarning)
    if unknown.any() or len(chosen) < len(listed_ids):
        found = found.filter(is_known(found["category_id"], chosen))
    annotations = annotations.filter(is_known(annotations["category_id"], chosen))
    if annotations.is_empty():
        become = "average precision is 0" if protocol.classes.counts_absent else "all metrics are null"
        warn(f"there are no annotations to evaluate against, so {become}", NoAnnotationsWarning)
    return replace(inputs, annotations=annotations, detections=found)


def order_by_category(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Objects by category where these are pooled, as their order decides between equal scores: COCO with `agnostic`."""
    del protocol
    return replace(inputs, annotations=inputs.in_order(inputs.annotations), detections=inputs.in_order(inputs.detections))


def keep_judged_detections(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only detections of categories that were looked for on their image: LVIS, OPEN_IMAGES_CHALLENGE."""
    if not protocol.judged_only:
        return inputs
    images = inputs.dataset.images
    found = keep_judged(inputs.detections, inputs.annotations, images)
    return replace(inputs, detections=flag_not_exhaustive(found, images))


def ignore_without_annotations(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Detections on images without annotations are ignored, with a note: WIDER_FACE."""
    if "annotated_images_only" not in protocol.further_rules:
        return inputs
    found = inputs.detections
    without = ~is_known(found["image_id"], inputs.annotations["image_id"].unique())
    found = found.with_columns(ignore=without | found["ignore"] if "ignore" in found.columns else without)
    images = found["image_id"].filter(without).unique(maintain_order=True).to_list()
    on = Count("image", len(images), detail=" without annotations", ids=images[:5])
    kit = f"the program of the benchmark {protocol.name} skips these images"
    note = Note(f"{{}}: ignored; {kit}", [Count("detection", int(without.sum())), on], " on ")
    return replace(inputs, detections=found, said=(*inputs.said, note))


def box_detections(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Boxes and areas of detections that have another shape alone: all protocols."""
    found, images = inputs.detections, inputs.dataset.images
    if not lacks_boxes(found):
        return inputs
    prepared = prepare_shapes("detections", found, images, protocol.similarity)
    boxed = with_boxes("detections", found, images, prepared)
    return replace(inputs, detections=boxed, prepared={} if prepared is None else {"found": prepared})


def leave_out_detections_without_area(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only detections whose area is not 0: LVIS, AVA, OPEN_IMAGES, its challenge."""
    if not (protocol.with_area_only or "detections_with_area" in protocol.further_rules):
        return inputs
    has_area = inputs.detections["area"] > 0
    if has_area.all():
        return inputs
    prepared = {name: objects.take(has_area.arg_true().to_numpy()) for name, objects in inputs.prepared.items()}
    return replace(inputs, detections=inputs.detections.filter(has_area), prepared=prepared)


def leave_out_overlapping(inputs: Inputs, protocol: Protocol) -> Inputs:
    """No detections on images where two predicted masks share a pixel, with a warning: BDD100K.

    Raises
    ------
    ColumnError
        the detections have no masks
    """
    applies = "disjoint_masks" in protocol.further_rules and "mask" in protocol.similarity.needs
    if not applies or inputs.detections.is_empty():
        return inputs
    found, images = inputs.detections, inputs.dataset.images
    if "mask" not in found.columns:
        raise lacking(protocol.similarity, "detections", "mask")
    masks = inputs.prepared.get("found") or prepare_shapes("detections", found, images, protocol.similarity)
    cells = found.select(cell=pl.col("image_id").rank("dense"), is_crowd=pl.lit(False))
    overlapping = pair_masks(masks, masks, cells, cells, 0).filter(pl.col("detection") != pl.col("annotation"))["detection"]
    if overlapping.is_empty():
        return replace(inputs, prepared={**inputs.prepared, "found": masks})
    lost = found["image_id"].gather(overlapping).unique().sort()
    kept = ~is_known(found["image_id"], lost)
    warn(
        f"predicted masks overlap on {counted(len(lost), 'image')} ({listed(lost.to_list())}), which lose all their "
        f"{counted(found.height - int(kept.sum()), 'detection')} by the rules of {protocol.name}",
        ShapesLeftOutWarning,
    )
    return replace(inputs, detections=found.filter(kept), prepared={"found": masks.take(kept.arg_true().to_numpy())})


def keep_detected_images(inputs: Inputs, protocol: Protocol) -> Inputs:
    """Only images with a detection: no published protocol; Detectron's recall is PROPOSALS with `detected_images_only`."""
    if not protocol.detected_images_only:
        return inputs
    return inputs.subset({"images": {"images": is_known(inputs.image_ids, inputs.detections["image_id"].unique())}})


Rule = Callable[["Inputs", Protocol], "Inputs"]
RULES: tuple[Rule, ...] = (
    turn_upright,
    refuse_wrong_types,
    need_image_boxes,
    count_pixels,
    refuse_too_many,
    limit_detections,
    treat_malformed,
    leave_out_narrow,
    read_masks,
    box_annotations,
    leave_out_repeated,
    leave_out_annotations_without_area,
    expand_hierarchy,
    clip_boxes,
    ignore_uncertain,
    tell_levels,
    tell_visible_shares,
    leave_out_excluded,
    place_in_images,
    need_every_alpha,
    keep_own_classes,
    keep_objects,
    keep_chosen_categories,
    refuse_negative_scores,
    warn_of_scores_beyond_cut_offs,
    note_missing_errors,
    order_by_category,
    keep_judged_detections,
    ignore_without_annotations,
    box_detections,
    leave_out_detections_without_area,
    leave_out_overlapping,
    keep_detected_images,
    copy_shared,
)
WHEN_READ: tuple[Rule, ...] = (keep_chosen_categories, order_by_category)
"""Those that apply again to a stored evaluation, whose tables are what the others gave."""


def are_most(unknown: pl.Series) -> bool:
    """Whether more than half of the detections are unknown, so that the numbers are in doubt.

    >>> are_most(pl.Series([True, False])), are_most(pl.Series([True, False, True]))
    (False, True)
    """
    return 2 * int(unknown.sum()) > len(unknown)


def describe_dropped(key: str, found: pl.DataFrame, unknown: pl.Series, known: pl.Series) -> str:
    """Describe dropped detections: their number, their ids, and the ids that exist; names that are nearly one are asked about.

    >>> found = pl.DataFrame({"image_id": [7, 8]})
    >>> describe_dropped("image_id", found, pl.Series([False, True]), pl.Series([7]))
    '1 of 2 detections has an unknown image_id and was dropped: 8; the ground truth has 7'
    """
    has, was = ("has", "was") if unknown.sum() == 1 else ("have", "were")
    given = found[key].filter(unknown).unique(maintain_order=True).to_list()
    question = nearest(given[0], known.to_list()) if known.dtype == pl.String else ""
    return (
        f"{unknown.sum():,} of {counted(found.height, 'detection')} {has} an unknown {key} and {was} dropped: {listed(given)}; "
        f"the ground truth has {listed(known.to_list()) or 'none'}{question and f'; {question}'}"
    )


def _of(inputs: Inputs, dataset: Dataset) -> Inputs:
    return replace(inputs, dataset=dataset, annotations=dataset.core("annotations"))

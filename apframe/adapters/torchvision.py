"""Outputs and training targets of torchvision's detectors: lists of dicts of tensors or arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from apframe.adapters.arrays import (
    Item,
    by_image,
    canonical_batch,
    check_ids,
    column_of_ids,
    refuse_items,
    tabulate,
    tabulate_detections,
)
from apframe.tables.dataset import Dataset

_SHAPES = ("boxes", "masks", "keypoints")


def from_torchvision(
    outputs: Sequence[Item] | Mapping[int | str, Item],
    image_ids: Sequence[int | str] | None = None,
    *,
    iou_type: str | None = None,
    box_format: str = "xyxy",
) -> pl.DataFrame:
    """Return detections from the outputs of a torchvision detector, or of any other that returns such dicts.

    Parameters
    ----------
    outputs
        a dict for each image: `labels` (n, the category ids), `scores` (n), and shapes, in pixels: `boxes` (n × 4), `masks`
        (n × 1 × height × width or without the 1; of probabilities, those above 0.5 are inside), `keypoints` (n × points × 3).
        Arrays, or tensors of any device. Or a mapping from image ids to such dicts; or a single dict
    image_ids
        the image ids of the outputs, in the same order; not with a mapping
    iou_type
        "bbox", "segm" or "keypoints" returns only the shape compared then, as in torchvision's own evaluation: areas are those
        of the masks, or of the rectangles around the keypoints. None returns all shapes, with the areas of the boxes
    box_format
        "xyxy", "xywh" (a corner) or "cxcywh" (the centre)

    Returns
    -------
    The canonical detections: image_id, category_id, score, x, y, width, height, area, and mask (run lengths) and keypoints
    if the outputs have them. Boxes are null if they are still to be computed from another shape. There is no detection_id, so
    that the frames of several batches can be joined, or passed to `apframe.Evaluator`: `evaluate` numbers them.

    Raises
    ------
    RowError
        missing or invalid data; `rows` are the positions in the list, from 0
    ParameterError
        image ids that are too few or not unique, an unknown box_format or iou_type

    >>> outputs = [{"boxes": [[10.0, 10.0, 30.0, 20.0]], "labels": [3], "scores": [0.75]}]
    >>> from_torchvision(outputs, image_ids=[42]).rows()
    [(42, 3, 0.75, 10.0, 10.0, 20.0, 10.0, 200.0)]
    """
    is_one = isinstance(outputs, Mapping) and "labels" in outputs
    items, image_ids = by_image("outputs", [outputs] if is_one else outputs, image_ids)
    ids = check_ids("outputs", len(items), image_ids)
    return canonical_batch(tabulate_detections("outputs", items, ids, iou_type, box_format))


def targets_from_torchvision(
    targets: Sequence[Item] | Mapping[int | str, Item],
    image_ids: Sequence[int | str] | None = None,
    *,
    categories: Mapping[int, str] | None = None,
    box_format: str = "xyxy",
) -> Dataset:
    """Return ground truth from the targets that torchvision's detectors are trained with.

    Parameters
    ----------
    targets
        a dict for each image: `labels` (n), one or more of `boxes`, `masks` and `keypoints` as in `from_torchvision`, and
        optionally `area` (n, by default that of the box, or of the other shape), `iscrowd` (n) and `image_id`. Or a mapping
        from image ids to such dicts
    image_ids
        the image ids of the targets; by default the `image_id` of each
    categories
        names of the category ids; by default the labels that occur, without names. Detections of other categories are left out
    box_format
        as in `from_torchvision`

    Returns
    -------
    A `Dataset`. Images have sizes if there are masks.

    Raises
    ------
    RowError, ParameterError
        as `from_torchvision`
    UnknownIdError
        labels that are not in `categories`

    >>> targets = [{"boxes": [[10.0, 10.0, 30.0, 20.0]], "labels": [3], "image_id": 42}]
    >>> truth = targets_from_torchvision(targets, categories={3: "cat"})
    >>> truth.annotations.select("image_id", "category_id", "x", "y", "width", "height").rows()
    [(42, 3, 10.0, 10.0, 20.0, 10.0)]
    """
    targets, image_ids = by_image("targets", targets, image_ids)
    if image_ids is None:
        without = [not isinstance(target, Mapping) or target.get("image_id") is None for target in targets]
        refuse_items("targets", without, "image_id is missing", "give image_ids, or an image_id in each dict")
        image_ids = [target["image_id"] for target in targets]
    ids = check_ids("targets", len(targets), image_ids)
    used = [name for name in _SHAPES if any(isinstance(target, Mapping) and name in target for target in targets)]
    first, *others = used or ["boxes"]
    optional = [*others, "area", "iscrowd"]
    frame = tabulate("targets", targets, ids, [first], optional=optional, box_format=box_format)
    return dataset_of(frame, ids, categories)


def dataset_of(annotations: pl.DataFrame, image_ids: Sequence[int | str], categories: Mapping[int, str] | None) -> Dataset:
    """Return a data set of annotations, with images that have none; without names, each label becomes a category.

    >>> dataset_of(pl.DataFrame({"image_id": [1], "category_id": [7], "mask": [[[0, 1]]]}), [1, 2], None)
    Dataset(2 images, 1 category, 1 annotation)
    """
    images = pl.DataFrame([column_of_ids(image_ids)])
    if "mask" in annotations.columns and isinstance(annotations["mask"].dtype, pl.Struct):
        size = pl.col("mask").struct.field("size").first().list
        sizes = annotations.group_by("image_id").agg(image_height=size.get(0), image_width=size.get(1))
        images = images.join(sizes, on="image_id", how="left", maintain_order="left")
    if categories is None:
        named = annotations.select(pl.col("category_id").unique().sort())
    else:
        named = pl.DataFrame(list(categories.items()), schema={"category_id": pl.Int64, "name": pl.String}, orient="row")
    return Dataset(images, named, annotations, box_format="xywh")

"""Detections from the `Detections` of the library supervision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from apframe.adapters.arrays import as_array, by_image, canonical_batch, check_ids, refuse_items, tabulate_detections

_NAMES = {"boxes": "xyxy", "scores": "confidence", "labels": "class_id", "masks": "mask"}
_CORNERS = "xyxyxyxy"  # corners of rotated boxes, in the data of each


def from_supervision(
    detections: Sequence[Any] | Mapping[int | str, Any],
    image_ids: Sequence[int | str] | None = None,
    *,
    iou_type: str | None = None,
) -> pl.DataFrame:
    """Return detections from supervision's `Detections`, one object for each image.

    Parameters
    ----------
    detections
        objects with `xyxy`, `confidence`, `class_id` (used as category ids), and optionally `mask`, `tracker_id`,
        `data["class_name"]` and `data["xyxyxyxy"]`, the corners of rotated boxes. Or a mapping from image ids to such objects
    image_ids
        the image id of each, in the same order; not with a mapping
    iou_type
        "bbox", "segm" or "rotated" returns boxes, masks or corners alone; see `from_torchvision`

    Returns
    -------
    The canonical detections as from `from_torchvision`, with the columns `name` and `tracker_id` if some objects have them
    (null for images that do not). If there are rotated boxes, detections have corners instead of a box.

    Raises
    ------
    RowError
        missing or invalid data; `rows` are the positions in the list, from 0
    ParameterError
        image ids that are too few or not unique, an unknown iou_type

    >>> from types import SimpleNamespace
    >>> one = SimpleNamespace(xyxy=[[10.0, 10, 30, 20]], confidence=[0.75], class_id=[3], data={"class_name": ["cat"]})
    >>> from_supervision([one], image_ids=[42]).rows()
    [(42, 3, 0.75, 10.0, 10.0, 20.0, 10.0, 200.0, 'cat')]
    """
    detections, image_ids = by_image("detections", [detections] if hasattr(detections, "xyxy") else detections, image_ids)
    foreign = [not hasattr(each, "xyxy") for each in detections]
    refuse_items("detections", foreign, "not a supervision.Detections", "give one for each image")
    ids = check_ids("detections", len(detections), image_ids)
    numbers = [len(each.xyxy) for each in detections]
    for name in ("confidence", "class_id"):  # which detections require; named as the fields of the library
        missing = [n > 0 and getattr(each, name, None) is None for n, each in zip(numbers, detections, strict=True)]
        refuse_items("detections", missing, f"{name} is missing", f"give {name} for each image")
    attributes = {
        name: [getattr(each, name, None) for each in detections] for name in ("confidence", "class_id", "mask", "tracker_id")
    } | {ours: [_data(each, theirs) for each in detections] for ours, theirs in (("name", "class_name"), ("corners", _CORNERS))}
    for name, columns in attributes.items():
        differs = [values is not None and len(values) != n for n, values in zip(numbers, columns, strict=True)]
        refuse_items("detections", differs, f"{name} and xyxy differ in length", "give one row per object")
    are_rotated = iou_type in (None, "rotated") and any(values is not None for values in attributes["corners"])
    frame = tabulate_detections("detections", [_arrays(each, are_rotated) for each in detections], ids, iou_type)
    for name in ("name", "tracker_id"):
        columns = attributes[name]
        parts = [
            [None] * n if values is None else as_array(values).tolist() for n, values in zip(numbers, columns, strict=True)
        ]
        if any(values is not None for values in columns):
            frame = frame.with_columns(pl.Series(name, [value for part in parts for value in part]))
    return canonical_batch(frame)


def _data(detections: Any, name: str) -> Any:
    return (getattr(detections, "data", None) or {}).get(name)


def _arrays(detections: Any, are_rotated: bool) -> dict[str, Any]:
    """Return the arrays under their common names; corners in place of boxes if some are rotated."""
    arrays = {name: getattr(detections, theirs, None) for name, theirs in _NAMES.items()}
    if arrays["labels"] is None and not len(detections.xyxy):
        arrays["labels"] = []  # no detections, from a detector that may have classes
    if are_rotated:
        arrays |= {"boxes": None, "corners": _data(detections, _CORNERS)}
    return {name: array for name, array in arrays.items() if array is not None}

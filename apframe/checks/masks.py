"""Checks of masks: they can be decoded, and areas are those of the masks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from apframe.checks.findings import Finding, of_fault, of_rows
from apframe.exceptions import ColumnError
from apframe.similarity.extents import with_image_sizes
from apframe.validation import Report, validating

# Areas that were computed from outlines differ from the number of pixels, most for shapes with long edges; the published
# areas of COCO's crowds differ by up to 13 %.
_SHARE, _PER_SIDE = 0.25, 0.5


def check_masks(table: str, frame: pl.DataFrame, images: pl.DataFrame) -> Iterable[Finding]:
    """Find `missing_mask`, `invalid_mask`, `mask_size`, and for annotations `area_of_mask`.

    An area is doubtful if it differs from the number of pixels by more than a quarter of that number plus half the sum of the
    mask's width and height.

    >>> images = pl.DataFrame({"image_id": [1], "image_width": [100], "image_height": [100]})
    >>> triangle = pl.DataFrame({
    ...     "annotation_id": [1], "image_id": [1], "area": [10000.0], "mask": ["[[0, 0, 100, 0, 0, 100]]"]})
    >>> [finding.problem for finding in check_masks("annotations", triangle, images)]
    ['area is not that of the mask (1 has the area of a box around the mask)']
    """
    if "mask" not in frame.columns:
        return
    from apframe.tables.shapes.mask_columns import mask_extents, of_other_size, sound_masks  # which bring in NumPy

    with_masks = frame.filter(has_mask(frame["mask"]))
    if with_masks.is_empty():
        return
    missing = ~has_mask(frame["mask"])
    problem, remedy = "have no mask, while others do", "Supply their masks if masks are compared. Boxes do not need them."
    yield from of_rows("note", "missing_mask", table, frame, missing, problem, remedy)
    report = Report()
    try:
        with validating(report):
            rows, masks = sound_masks(
                table, with_image_sizes(with_masks.drop("image_width", "image_height", strict=False), images)
            )
    except ColumnError as error:
        report.add_error(error)
    # boxes, if present, can still be evaluated
    severity = "warning" if "x" in with_masks.columns and not with_masks["x"].null_count() else "error"
    faults = [
        fault if isinstance(fault.error, ColumnError) else replace(fault, check="invalid_mask") for fault in report.faults
    ]
    yield from (of_fault(fault, severity) for fault in faults)
    if any(isinstance(fault.error, ColumnError) for fault in faults):
        return
    problem = "size of the run lengths is not that of the image"
    remedy = "Masks are compared as they are. Check that no image was resized."
    yield from of_rows("warning", "mask_size", table, rows, of_other_size(rows, masks), problem, remedy)
    if table != "annotations":
        return
    extents = mask_extents(masks)
    area, pixels = rows["area"], extents["area"]
    slack = _SHARE * pixels + _PER_SIDE * (extents["width"] + extents["height"])
    wrong = (area - pixels).abs() > slack
    around = extents["width"] * extents["height"]
    n_boxes = int((wrong & ((area - around).abs() <= _PER_SIDE * 2 * (extents["width"] + extents["height"]) + 1)).sum())
    problem = "area is not that of the mask"
    if n_boxes:
        problem += f" ({n_boxes:,} {'has' if n_boxes == 1 else 'have'} the area of a box around the mask)"
    remedy = "Use the number of pixels of the mask: area ranges are based on it."
    yield from of_rows("warning", "area_of_mask", table, rows, wrong, problem, remedy)


def has_mask(masks: pl.Series) -> pl.Series:
    """Return flags of masks that are neither null nor an empty list, which some tools write for objects with only a box.

    >>> has_mask(pl.Series(["[[0, 0, 9, 0, 9, 9]]", "[]", None])).to_list()
    [True, False, False]
    """
    if masks.dtype == pl.String:
        return ~masks.str.contains(r"^\s*\[\s*\]\s*$").fill_null(True)
    if isinstance(masks.dtype, pl.List):
        return masks.list.len().fill_null(0) > 0
    return masks.is_not_null()

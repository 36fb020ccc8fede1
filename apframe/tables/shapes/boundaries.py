"""The boundaries of masks and their intersections: a boundary is a mask without its inner part."""

from __future__ import annotations

import numpy as np

from apframe.tables.shapes.intersections import intersect
from apframe.tables.shapes.pixel_runs import Runs, erode


def boundary_iou(
    detection_masks: Runs,
    annotation_masks: Runs,
    detection: np.ndarray,
    annotation: np.ndarray,
    shared: np.ndarray,
    dilation: float,
) -> np.ndarray:
    """Return the IoU of the boundaries of pairs of masks, given their shared pixels; 0 if the boundaries share no pixel.

    The inner part I of a mask M lies within it, so that two boundaries share |M ∩ M'| - |M ∩ I'| - |I ∩ M'| + |I ∩ I'| pixels.

    >>> from apframe.tables.shapes.pixel_runs import pack
    >>> full = pack([3], [3], [3], np.arange(3), np.zeros(3), np.full(3, 3))
    >>> boundary_iou(full, full, np.array([0]), np.array([0]), np.array([9]), 0.02).tolist()
    [1.0]
    """
    left, left_inner, left_place, left_area = _with_inner(detection_masks, detection, dilation)
    right, right_inner, right_place, right_area = _with_inner(annotation_masks, annotation, dilation)
    both = left_place, right_place
    shared = shared - intersect(left_inner, right, *both)
    shared += intersect(left_inner, right_inner, *both) - intersect(left, right_inner, *both)
    return shared / np.maximum(left_area + right_area - shared, 1)


def _with_inner(masks: Runs, which: np.ndarray, dilation: float) -> tuple[Runs, Runs, np.ndarray, np.ndarray]:
    """Return the masks that are needed, their inner parts, and each pair's mask number and boundary size."""
    used, place = np.unique(which, return_inverse=True)
    whole = masks.take(used)
    inner = erode(whole, boundary_width(whole.height, whole.width, dilation))
    return whole, inner, place, (whole.area - inner.area)[place]


def boundary_width(height: np.ndarray, width: np.ndarray, dilation: float) -> np.ndarray:
    """Return the width of a boundary in pixels: a fraction of the image's diagonal, rounded (half to even), at least 1.

    >>> boundary_width(np.array([480, 4]), np.array([640, 3]), 0.02).tolist()
    [16, 1]
    """
    return np.maximum(np.rint(dilation * np.sqrt(height**2 + width**2)), 1).astype(np.int64)

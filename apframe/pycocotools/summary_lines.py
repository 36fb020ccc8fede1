"""The lines of `summarize`: their numbers and their words."""

from __future__ import annotations

from typing import Any

import numpy as np

from apframe.exceptions import ParameterError
from apframe.pycocotools.params import Params

Line = tuple[bool, float | None, str, int]  # True for AP (or AR), threshold (None: all), area range, maxDets


def headlines(p: Params) -> list[Line]:
    """Return the lines of the summary; the first line of boxes and masks is always at 100 detections."""
    if p.iouType == "keypoints":
        return [(ap, at, area, 20) for ap in (True, False) for at, area in
                ((None, "all"), (0.5, "all"), (0.75, "all"), (None, "medium"), (None, "large"))]  # fmt: skip
    if len(p.maxDets) < 3:
        raise ParameterError(
            f"summarize: params.maxDets needs at least three numbers, not {p.maxDets}; the results are in eval"
        )
    low, middle, largest = p.maxDets[:3]
    by_area = [(None, area, largest) for area in ("small", "medium", "large")]
    precisions = [(None, "all", 100), (0.5, "all", largest), (0.75, "all", largest), *by_area]
    recalls = [*((None, "all", limit) for limit in (low, middle, largest)), *by_area]
    return [*((True, *line) for line in precisions), *((False, *line) for line in recalls)]


def mean(arrays: dict[str, Any], p: Params, is_ap: bool, threshold: float | None, area: str, limit: int) -> float:
    """Return the mean of the evaluated values; -1 without any."""
    values = arrays["precision" if is_ap else "recall"]
    if threshold is not None:
        values = values[np.asarray(p.iouThrs) == threshold]
    areas = [number for number, label in enumerate(p.areaRngLbl) if label == area]
    limits = [number for number, each in enumerate(p.maxDets) if each == limit]
    values = values[..., areas, limits]
    evaluated = values[values > -1]
    return float(np.mean(evaluated)) if len(evaluated) else -1.0


def words(p: Params, is_ap: bool, threshold: float | None, area: str, limit: int, value: float) -> str:
    """Return a line of the printed summary."""
    title = "Average Precision  (AP)" if is_ap else "Average Recall     (AR)"
    iou = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}" if threshold is None else f"{threshold:0.2f}"
    return f" {title} @[ IoU={iou:<9} | area={area:>6s} | maxDets={limit:>3d} ] = {value:0.3f}"

"""Keywords that a function does not have: an error that names the one that is meant, by whatever name others know it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from apframe.exceptions import ParameterError
from apframe.wording import nearest, same_name

Given = ParamSpec("Given")
Result = TypeVar("Result")

# pycocotools' names, and those of libraries that give its numbers
_ELSEWHERE = {
    "maxDets": "max_detections", "max_dets": "max_detections", "max_detection_thresholds": "max_detections",
    "iouThrs": "iou_thresholds", "iou_thrs": "iou_thresholds", "thresholds": "iou_thresholds",
    "recThrs": "recall_levels", "rec_thresholds": "recall_levels", "recall_thresholds": "recall_levels",
    "areaRng": "area_ranges", "areaRngLbl": "area_ranges", "catIds": "categories", "classes": "categories",
    "metrics": "measures", "metric": "measures", "useCats": "agnostic", "class_agnostic": "agnostic", "iouType": "iou_type",
}  # fmt: skip
_OTHERWISE = {"imgids": "give ground truth of these images, or use `where` on the evaluation"}


def names_keywords(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Wrap a function so that an unknown keyword is a `ParameterError` that suggests the right one.

    >>> @names_keywords
    ... def evaluate(*, max_detections: int = 100) -> int:
    ...     return max_detections
    >>> evaluate(maxDets=10)
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no option 'maxDets'; did you mean max_detections?
    """
    known = list(signature(function).parameters)

    @wraps(function)
    def called(*args: Given.args, **options: Given.kwargs) -> Result:
        refuse_unknown(options, known)
        return function(*args, **options)

    return called


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """An error for the first keyword that is not among the known ones."""
    names = list(known)
    for name in given:
        if name not in names:
            meant = same_name(name, _ELSEWHERE)
            if meant is not None and _ELSEWHERE[meant] in names:
                remedy = f"did you mean {_ELSEWHERE[meant]}?"
            else:
                remedy = _OTHERWISE.get(name.lower(), "") or nearest(name, names) or f"there are {', '.join(names)}"
            raise ParameterError(f"no option {name!r}", remedy)

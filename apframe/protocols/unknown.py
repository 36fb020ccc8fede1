"""The error for arguments that are not protocols."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from apframe.exceptions import ParameterError
from apframe.option_values import by_name
from apframe.paths import kind_at
from apframe.protocols.published import PUBLISHED
from apframe.similarity.named import as_iou_type
from apframe.wording import option_name


def refuse_unknown_protocol(value: Any) -> NoReturn:
    """Raise the error for a value that is not a protocol: an unknown name, a similarity, or the results of a second model.

    >>> refuse_unknown_protocol("b.json")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: b.json is a path, not a protocol; to compare models, evaluate each, then a.compare(b)
    """
    if not isinstance(value, (str, Path)):
        raise ParameterError(f"must be a value such as apframe.COCO or its name, not {value!r}", option="protocol")
    if kind_at(value) or Path(value).suffix:
        raise ParameterError(f"{value} is a path, not a protocol", "to compare models, evaluate each, then a.compare(b)")
    try:
        by_name("protocol", str(value), {name.lower(): name for name in PUBLISHED})
    except ParameterError as error:
        problem, remedy = error.problem, error.remedy
    if as_iou_type(value) in PUBLISHED["COCO"].iou_types:
        remedy = f"{remedy}; choose a similarity with {option_name('iou_type', '')}"
    raise ParameterError(problem, remedy)

"""All similarities by the name that protocols are stored with, and functions of users in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from apframe.exceptions import ParameterError, first_line
from apframe.similarity.pairs import Similarity

# module and class by name; imported when one is asked for
_HOMES = {
    "box_iou": ("box_iou", "BoxIoU"),
    "inclusive_box_iou": ("inclusive_box_iou", "InclusiveBoxIoU"),
    "intersection_over_detection": ("intersection_over_detection", "IntersectionOverDetection"),
    "mask_iou": ("mask_iou", "MaskIoU"),
    "boundary_iou": ("boundary_iou", "BoundaryIoU"),
    "oks": ("keypoints", "OKS"),
    "rotated_iou": ("rotated_iou", "RotatedIoU"),
    "interval_iou": ("interval_iou", "IntervalIoU"),
    "user": ("user", "UserSimilarity"),
}


def as_similarity(value: Any) -> Similarity:
    """A similarity: one as it is, one that `as_choices` was taken of, or a function of a user.

    >>> as_similarity({"name": "boundary_iou", "dilation": 0.05})
    BoundaryIoU(dilation=0.05)
    """
    if isinstance(value, Similarity):
        return value
    if isinstance(value, Mapping) and value.get("name") in _HOMES:
        module, kind_name = _HOMES[value["name"]]
        kind = getattr(import_module(f"apframe.similarity.{module}"), kind_name)
        parameters = {name: item for name, item in value.items() if name != "name"}
        try:
            return kind(**{key: tuple(item) if isinstance(item, list) else item for key, item in parameters.items()})
        except TypeError as error:
            raise ParameterError(f"similarity: {value!r} has other parameters than {kind_name}: {first_line(error)}") from error
    if callable(value) and not isinstance(value, type):
        from apframe.similarity.user import UserSimilarity

        return UserSimilarity(value)
    raise ParameterError(
        f"similarity: {value!r} is none; take one such as apframe.BoxIoU() or apframe.OKS(sigmas=...), or a function of a "
        "frame of pairs"
    )


def as_choices(similarity: Similarity) -> dict[str, Any]:
    """Name and parameters as what JSON holds. A user's function cannot be kept.

    >>> from apframe.similarity.box_iou import BoxIoU
    >>> as_choices(BoxIoU())
    {'name': 'box_iou'}
    """
    parameters = {each.name: getattr(similarity, each.name) for each in fields(similarity)}
    return {"name": similarity.name} | {name: value for name, value in parameters.items() if not callable(value)}

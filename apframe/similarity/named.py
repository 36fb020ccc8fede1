"""All similarities by the names that stored protocols use, and users' own functions as similarities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from apframe import static_table
from apframe.exceptions import ParameterError
from apframe.registry import Registry
from apframe.similarity.pairs import Similarity
from apframe.wording import did_you_mean, first_line, option_name, same_name

# the module and class of each, and its iou_type (None: any), by name. Messages name the first similarity of an iou_type
_ROWS: dict[str, tuple[str, str | None]] = {
    "box_iou": ("apframe.similarity.box_iou:BoxIoU", "bbox"),
    "inclusive_box_iou": ("apframe.similarity.inclusive_box_iou:InclusiveBoxIoU", "bbox"),
    "intersection_over_detection": ("apframe.similarity.intersection_over_detection:IntersectionOverDetection", "bbox"),
    "mask_iou": ("apframe.similarity.mask_iou:MaskIoU", "segm"),
    "mask_or_box_iou": ("apframe.similarity.mask_or_box_iou:MaskOrBoxIoU", "segm"),
    "boundary_iou": ("apframe.similarity.boundary_iou:BoundaryIoU", "boundary"),
    "oks": ("apframe.similarity.oks:OKS", "keypoints"),
    "rotated_iou": ("apframe.similarity.rotated_iou:RotatedIoU", "rotated"),
    "interval_iou": ("apframe.similarity.interval_iou:IntervalIoU", "interval"),
    "bev_iou": ("apframe.similarity.bev_iou:BevIoU", "bev"),
    "cuboid_iou": ("apframe.similarity.cuboid_iou:CuboidIoU", "3d"),
    "centre_distance": ("apframe.similarity.centre_distance:CentreDistance", "distance"),
    "user": ("apframe.similarity.user:UserSimilarity", None),
} | static_table.SIMILARITIES
SIMILARITIES: Registry[type[Similarity]] = Registry({name: home for name, (home, _) in _ROWS.items()})
"""The similarities by their names in stored evaluations. Add your own as "its_module:ItsClass"."""
_TO_NAME = {iou_type: home.split(":")[1] for home, iou_type in reversed(_ROWS.values()) if iou_type is not None}
_ALIASES = {"box": "bbox", "boxes": "bbox", "mask": "segm", "masks": "segm", "segmentation": "segm"}


def as_similarity(value: Any) -> Similarity:
    """Return a similarity from a similarity, from the result of `as_choices`, or from a user's function.

    >>> as_similarity({"name": "boundary_iou", "dilation": 0.05})
    BoundaryIoU(dilation=0.05)
    """
    if isinstance(value, Similarity):
        return value
    if isinstance(value, Mapping) and SIMILARITIES.knows(value.get("name")):
        kind = SIMILARITIES[value["name"]]
        parameters = {name: item for name, item in value.items() if name != "name"}
        try:
            return kind(**{key: tuple(item) if isinstance(item, list) else item for key, item in parameters.items()})
        except TypeError as error:
            raise ParameterError(
                f"{value!r} does not have the parameters of {kind.__name__}: {first_line(error)}", option="similarity"
            ) from error
    if callable(value) and not isinstance(value, type):
        from apframe.similarity.user import UserSimilarity

        return UserSimilarity(value)
    raise ParameterError(
        f"{value!r} is not a similarity",
        "use one such as apframe.similarity.BoxIoU() or apframe.similarity.OKS(sigmas=...), or a function of a frame of pairs",
    )


def as_iou_type(value: Any) -> str:
    """Return the published iou_type for a name in any case or a synonym; other names are returned unchanged.

    >>> as_iou_type("Masks"), as_iou_type("SEGM"), as_iou_type("Lines")
    ('segm', 'segm', 'Lines')
    """
    if not isinstance(value, str):
        raise ParameterError(f"must be a name such as bbox or segm, not {value!r}", option="iou_type")
    names = {name: name for name in _TO_NAME} | _ALIASES
    name = same_name(value, names)
    return value if name is None else names[name]


def iou_type_of(similarity: Similarity) -> str | None:
    """Return the iou_type that a similarity compares; None for a user's, which may compare anything.

    >>> iou_type_of(as_similarity({"name": "mask_iou"}))
    'segm'
    """
    return _ROWS[similarity.name][1] if similarity.name in _ROWS else None


def refuse_other_similarity(iou_type: str, similarity: Similarity) -> None:
    """Raise an error if the similarity is the published one of another iou_type.

    >>> refuse_other_similarity("segm", as_similarity({"name": "box_iou"}))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: iou_type='segm' does not match BoxIoU(); give similarity=apframe.similarity.MaskIoU()
    """
    compared = iou_type_of(similarity)
    if compared in (None, iou_type):
        return
    if iou_type not in _TO_NAME:
        iou_types = list(dict.fromkeys(kind for _, kind in _ROWS.values() if kind is not None))
        remedy = f"{did_you_mean(iou_type, iou_types)}; for other names give a similarity of your own"
        raise ParameterError(f"no {option_name('iou_type')} {iou_type!r}", remedy)
    raise ParameterError(
        f"iou_type={iou_type!r} does not match {type(similarity).__name__}()",
        f"give similarity=apframe.similarity.{_TO_NAME[iou_type]}(), or iou_type={compared!r}",
    )


def as_choices(similarity: Similarity) -> dict[str, Any]:
    """Return name and parameters as JSON values. A user's function cannot be stored.

    >>> from apframe.similarity.box_iou import BoxIoU
    >>> as_choices(BoxIoU())
    {'name': 'box_iou'}
    """
    parameters = {each.name: getattr(similarity, each.name) for each in fields(similarity)}
    return {"name": similarity.name} | {name: value for name, value in parameters.items() if not callable(value)}

"""All similarities by the name that protocols are stored with, and functions of users in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from apframe.exceptions import ParameterError
from apframe.similarity.pairs import Similarity
from apframe.wording import did_you_mean, first_line, same_name, spelled

# module, class and iou_type (None: any) by name; imported when one is asked for. The first of an iou_type is the one to name
_HOMES = {
    "box_iou": ("box_iou", "BoxIoU", "bbox"),
    "inclusive_box_iou": ("inclusive_box_iou", "InclusiveBoxIoU", "bbox"),
    "intersection_over_detection": ("intersection_over_detection", "IntersectionOverDetection", "bbox"),
    "mask_iou": ("mask_iou", "MaskIoU", "segm"),
    "mask_or_box_iou": ("mask_or_box_iou", "MaskOrBoxIoU", "segm"),
    "single_box_iou": ("single_iou", "SingleBoxIoU", "bbox"),
    "single_mask_iou": ("single_iou", "SingleMaskIoU", "segm"),
    "boundary_iou": ("boundary_iou", "BoundaryIoU", "boundary"),
    "oks": ("keypoints", "OKS", "keypoints"),
    "rotated_iou": ("rotated_iou", "RotatedIoU", "rotated"),
    "interval_iou": ("interval_iou", "IntervalIoU", "interval"),
    "bev_iou": ("bev_iou", "BevIoU", "bev"),
    "cuboid_iou": ("cuboid_iou", "CuboidIoU", "3d"),
    "centre_distance": ("centre_distance", "CentreDistance", "distance"),
    "panoptic_iou": ("panoptic_iou", "PanopticIoU", "panoptic"),
    "panoptic_boundary_iou": ("panoptic_boundary_iou", "PanopticBoundaryIoU", "panoptic_boundary"),
    "label_iou": ("label_iou", "LabelIoU", "semantic"),
    "relation_iou": ("relation_iou", "RelationIoU", "relation"),
    "phrase_iou": ("relation_iou", "PhraseIoU", "phrase"),
    "sphere_distance": ("sphere_distance", "SphereDistance", "sphere"),
    "user": ("user", "UserSimilarity", None),
}
_TO_NAME = {iou_type: kind for _, kind, iou_type in reversed(_HOMES.values()) if iou_type is not None}
_ALIASES = {"box": "bbox", "boxes": "bbox", "mask": "segm", "masks": "segm", "segmentation": "segm"}


def as_similarity(value: Any) -> Similarity:
    """A similarity: one as it is, one that `as_choices` was taken of, or a function of a user.

    >>> as_similarity({"name": "boundary_iou", "dilation": 0.05})
    BoundaryIoU(dilation=0.05)
    """
    if isinstance(value, Similarity):
        return value
    if isinstance(value, Mapping) and value.get("name") in _HOMES:
        module, kind_name, _ = _HOMES[value["name"]]
        kind = getattr(import_module(f"apframe.similarity.{module}"), kind_name)
        parameters = {name: item for name, item in value.items() if name != "name"}
        try:
            return kind(**{key: tuple(item) if isinstance(item, list) else item for key, item in parameters.items()})
        except TypeError as error:
            raise ParameterError(
                f"{value!r} does not have the parameters of {kind_name}: {first_line(error)}", option="similarity"
            ) from error
    if callable(value) and not isinstance(value, type):
        from apframe.similarity.user import UserSimilarity

        return UserSimilarity(value)
    raise ParameterError(
        f"{value!r} is not a similarity",
        "use one such as apframe.BoxIoU() or apframe.OKS(sigmas=...), or a function of a frame of pairs",
    )


def as_iou_type(value: Any) -> str:
    """The published name of what is compared, for one in any case or another word for it; a name of your own as it is.

    >>> as_iou_type("Masks"), as_iou_type("SEGM"), as_iou_type("Lines")
    ('segm', 'segm', 'Lines')
    """
    if not isinstance(value, str):
        raise ParameterError(f"must be a name such as bbox or segm, not {value!r}", option="iou_type")
    known = {name: name for name in _TO_NAME} | _ALIASES
    name = same_name(value, known)
    return value if name is None else known[name]


def iou_type_of(similarity: Similarity) -> str | None:
    """The published name of what a similarity compares; None for a user's, which may compare anything.

    >>> iou_type_of(as_similarity({"name": "mask_iou"}))
    'segm'
    """
    return _HOMES[similarity.name][2] if similarity.name in _HOMES else None


def refuse_other_similarity(iou_type: str, similarity: Similarity) -> None:
    """An error where a published similarity stands under the name of another.

    >>> refuse_other_similarity("segm", as_similarity({"name": "box_iou"}))
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: iou_type='segm' with BoxIoU(); give similarity=apframe.MaskIoU(), or iou_type='bbox'
    """
    compared = iou_type_of(similarity)
    if compared in (None, iou_type):
        return
    if iou_type not in _TO_NAME:
        known = list(dict.fromkeys(kind for *_, kind in _HOMES.values() if kind is not None))
        remedy = f"{did_you_mean(iou_type, known)}; for other names give a similarity of your own"
        raise ParameterError(f"no {spelled('iou_type')} {iou_type!r}", remedy)
    raise ParameterError(
        f"iou_type={iou_type!r} does not match {type(similarity).__name__}()",
        f"give similarity=apframe.{_TO_NAME[iou_type]}(), or iou_type={compared!r}",
    )


def as_choices(similarity: Similarity) -> dict[str, Any]:
    """Name and parameters as what JSON holds. A user's function cannot be kept.

    >>> from apframe.similarity.box_iou import BoxIoU
    >>> as_choices(BoxIoU())
    {'name': 'box_iou'}
    """
    parameters = {each.name: getattr(similarity, each.name) for each in fields(similarity)}
    return {"name": similarity.name} | {name: value for name, value in parameters.items() if not callable(value)}

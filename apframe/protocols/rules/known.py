"""Images and categories of detections that the ground truth lacks, or the other way round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import (
    MostlyUnknownCategoriesWarning,
    MostlyUnknownImagesWarning,
    UnknownCategoryWarning,
    UnknownImageWarning,
    warn,
)
from apframe.protocols.rules.rule import Rule
from apframe.tables.ids import is_known, unknown_ids
from apframe.wording import counted, listed, nearest, option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

FIND_OUT = "run `apframe check` on both to find out why"
_WARNINGS = {  # for some, and for most detections
    "image_id": (UnknownImageWarning, MostlyUnknownImagesWarning),
    "category_id": (UnknownCategoryWarning, MostlyUnknownCategoriesWarning),
}


@dataclass(frozen=True)
class DetectedImagesOnly(Rule):
    """Images without any detection are removed."""

    line: ClassVar[str] = "detections"
    description: ClassVar[str] = "images without any are left out"
    needs_all_data: ClassVar[bool] = True

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the rows of images with a detection."""
        return inputs.subset({"images": {"images": is_known(inputs.image_ids, inputs.detections["image_id"].unique())}})


@dataclass(frozen=True)
class RequireKnownCategories(Rule):
    """A detection of a category that the ground truth lacks is an error."""

    description: ClassVar[str] = "a detection of a category that the ground truth lacks is an error"

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the same rows.

        Raises
        ------
        UnknownIdError
            the error names the detections
        """
        detections = inputs.detections
        there = inputs.dataset.core("categories")["category_id"]
        flags = is_known(detections["category_id"], there)
        if not flags.all():
            remedy = f"give ids of the ground truth's categories, or {option_name('category_map')}"
            raise unknown_ids("detections", detections, "category_id", "categories", flags, remedy, there)
        return inputs


@dataclass(frozen=True)
class KnownImagesOnly(Rule):
    """Detections on images that the ground truth lacks are removed, with a warning; without this rule, they are an error."""

    description: ClassVar[str] = "detections on images that the ground truth lacks are left out"


def warn_of_unknown(key: str, detections: pl.DataFrame, unknown: pl.Series, known_ids: pl.Series, note: str = "") -> None:
    """Warn of detections that are dropped because their image or category is unknown.

    If more than half of them are dropped, the numbers are doubtful, and the warning has another category.
    """
    usual, mostly = _WARNINGS[key]
    dropped = describe_dropped(key, detections, unknown, known_ids) + note
    if 2 * int(unknown.sum()) > len(unknown):
        warn(f"{dropped}; {FIND_OUT}", mostly)
    else:
        warn(dropped, usual)


def describe_dropped(key: str, detections: pl.DataFrame, unknown: pl.Series, known_ids: pl.Series) -> str:
    """Describe dropped detections: their number, their ids, and the ids that exist; similar names are suggested.

    >>> detections = pl.DataFrame({"image_id": [7, 8]})
    >>> describe_dropped("image_id", detections, pl.Series([False, True]), pl.Series([7]))
    '1 of 2 detections has an unknown image_id and was dropped: 8; the ground truth has 7'
    """
    has, was = ("has", "was") if unknown.sum() == 1 else ("have", "were")
    unknown_ids = detections[key].filter(unknown).unique(maintain_order=True).to_list()
    question = nearest(unknown_ids[0], known_ids.to_list()) if known_ids.dtype == pl.String else ""
    return (
        f"{unknown.sum():,} of {counted(detections.height, 'detection')} {has} an unknown {key} and {was} dropped: "
        f"{listed(unknown_ids)}; the ground truth has {listed(known_ids.to_list()) or 'none'}{question and f'; {question}'}"
    )

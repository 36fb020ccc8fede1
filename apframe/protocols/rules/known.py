"""Images and categories that detections have and the ground truth lacks, or the other way round."""

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
_WARNINGS = {  # of some, and of most detections
    "image_id": (UnknownImageWarning, MostlyUnknownImagesWarning),
    "category_id": (UnknownCategoryWarning, MostlyUnknownCategoriesWarning),
}


@dataclass(frozen=True)
class DetectedImagesOnly(Rule):
    """Images without any detection are left out."""

    line: ClassVar[str] = "detections"
    description: ClassVar[str] = "images without any are left out"
    needs_all_data: ClassVar[bool] = True

    def rows(self, inputs: Inputs) -> Inputs:
        """The rows of images with a detection."""
        return inputs.subset({"images": {"images": is_known(inputs.image_ids, inputs.detections["image_id"].unique())}})


@dataclass(frozen=True)
class RequireKnownCategories(Rule):
    """A detection of a category that the ground truth lacks is an error."""

    description: ClassVar[str] = "a detection of a category that the ground truth lacks is an error"

    def rows(self, inputs: Inputs) -> Inputs:
        """The same rows.

        Raises
        ------
        UnknownIdError
            it names the detections
        """
        found = inputs.detections
        there = inputs.dataset.core("categories")["category_id"]
        known = is_known(found["category_id"], there)
        if not known.all():
            remedy = f"give ids of the ground truth's categories, or {option_name('category_map')}"
            raise unknown_ids("detections", found, "category_id", "categories", known, remedy, there)
        return inputs


@dataclass(frozen=True)
class KnownImagesOnly(Rule):
    """Detections on images that the ground truth lacks are left out, with a warning; otherwise they are an error."""

    description: ClassVar[str] = "detections on images that the ground truth lacks are left out"


def warn_of_unknown(key: str, found: pl.DataFrame, unknown: pl.Series, known: pl.Series, note: str = "") -> None:
    """Warn of detections that are dropped because their image or category is unknown.

    If these are more than half, the numbers are in doubt, and the warning is another one.
    """
    usual, mostly = _WARNINGS[key]
    dropped = describe_dropped(key, found, unknown, known) + note
    if 2 * int(unknown.sum()) > len(unknown):
        warn(f"{dropped}; {FIND_OUT}", mostly)
    else:
        warn(dropped, usual)


def describe_dropped(key: str, found: pl.DataFrame, unknown: pl.Series, known: pl.Series) -> str:
    """Describe dropped detections: their number, their ids, and the ids that exist; names that are nearly one are asked about.

    >>> found = pl.DataFrame({"image_id": [7, 8]})
    >>> describe_dropped("image_id", found, pl.Series([False, True]), pl.Series([7]))
    '1 of 2 detections has an unknown image_id and was dropped: 8; the ground truth has 7'
    """
    has, was = ("has", "was") if unknown.sum() == 1 else ("have", "were")
    given = found[key].filter(unknown).unique(maintain_order=True).to_list()
    question = nearest(given[0], known.to_list()) if known.dtype == pl.String else ""
    return (
        f"{unknown.sum():,} of {counted(found.height, 'detection')} {has} an unknown {key} and {was} dropped: {listed(given)}; "
        f"the ground truth has {listed(known.to_list()) or 'none'}{question and f'; {question}'}"
    )

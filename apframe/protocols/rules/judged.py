"""Restriction to verified categories (LVIS, Open Images): joins with the annotations and verified lists of each image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.exceptions import MissingColumnWarning, warn
from apframe.protocols.rules.ignored import flags
from apframe.protocols.rules.rule import Rule, States

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

_AT = ["image_id", "category_id"]


@dataclass(frozen=True)
class JudgedOnly(Rule):
    """A category is judged on an image only if it is annotated there, or in the image's lists of verified categories.

    The columns of images are `pos_category_ids`, `neg_category_ids`, and `not_exhaustive_category_ids`; unmatched detections of
    the latter are ignored.
    """

    line: ClassVar[str] = "categories"
    description: ClassVar[str] = "judged only on images where they are annotated or verified"
    columns: ClassVar[tuple[str, ...]] = (
        "images.pos_category_ids",
        "images.neg_category_ids",
        "images.not_exhaustive_category_ids",
    )

    def rows(self, inputs: Inputs) -> Inputs:
        """Return only detections of categories that were looked for on their image."""
        images = inputs.dataset.images
        if not any(column.split(".")[1] in images.columns for column in self.columns):
            lacking = ", ".join(column.split(".")[1] for column in self.columns)
            name = inputs.protocol.name
            warn(
                f"{name}: the images have no column {lacking}: a category is judged only where it is annotated",
                MissingColumnWarning,
            )
        kept = inputs.keep_detections(are_judged(inputs.detections, inputs.annotations, images))
        return replace(kept, detections=flag_not_exhaustive(kept.detections, images))

    def states(self, inputs: Inputs) -> States:
        """Flag detections of categories that are not exhaustively annotated on their image."""
        return States(unmatched_ignored=flags(inputs.detections, "ignore"))


def are_judged(detections: pl.DataFrame, annotations: pl.DataFrame, images: pl.DataFrame) -> pl.Series:
    """True for detections of categories that are annotated on their image, or in its lists of verified categories.

    `images` may have `pos_category_ids` and `neg_category_ids`. Source: `LVISEval._prepare`, `OpenImagesChallengeEvaluator`.

    >>> images = pl.DataFrame({"image_id": [1], "neg_category_ids": [[7]]})
    >>> are_judged(
    ...     pl.DataFrame({"image_id": [1, 1, 1], "category_id": [5, 6, 7]}),
    ...     pl.DataFrame({"image_id": [1], "category_id": [5]}), images).to_list()
    [True, False, True]
    """
    ids = annotations.schema["category_id"]
    judged = [annotations.select(_AT), *(named(images, f"{kind}_category_ids", ids) for kind in ("pos", "neg"))]
    pairs = pl.concat(judged).unique().with_columns(is_judged=True)
    joined = detections.select(_AT).join(pairs, on=_AT, how="left", maintain_order="left")
    return joined["is_judged"].is_not_null()


def flag_not_exhaustive(detections: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Add `ignore` (if unmatched) to detections on images whose annotations of their category are not exhaustive.

    `images` may have `not_exhaustive_category_ids`. Source: `LVISEval.evaluate_img`.

    >>> images = pl.DataFrame({"image_id": [1], "not_exhaustive_category_ids": [[7]]})
    >>> flag_not_exhaustive(pl.DataFrame({"image_id": [1, 1], "category_id": [6, 7]}), images)["ignore"].to_list()
    [False, True]
    """
    unsure = named(images, "not_exhaustive_category_ids", detections.schema["category_id"]).unique()
    own = pl.col("ignore") if "ignore" in detections.columns else pl.lit(False)
    flagged = detections.join(unsure.with_columns(is_unsure=pl.lit(True)), on=_AT, how="left", maintain_order="left")
    return flagged.with_columns(ignore=own | pl.col("is_unsure").is_not_null()).drop("is_unsure")


def named(images: pl.DataFrame, column: str, dtype: pl.DataType) -> pl.DataFrame:
    """Return image_id and category_id (with this dtype) from a column of lists; no rows if there is no such column.

    >>> named(pl.DataFrame({"image_id": [1, 2], "neg_category_ids": [[7, 8], []]}), "neg_category_ids", pl.Int64()).rows()
    [(1, 7), (1, 8)]
    """
    if column not in images.columns:
        return images.select("image_id", category_id=pl.lit(None, dtype)).clear()
    return images.select("image_id", category_id=column).explode("category_id", empty_as_null=False, keep_nulls=False)

"""Limits on the detections of an image, over all of its categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from apframe.exceptions import ParameterError, RowError
from apframe.protocols.rules.rule import Limit, Rule
from apframe.tables.ids import is_known
from apframe.wording import option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol

PLACE = "place_in_image"


@dataclass(frozen=True)
class LimitPerImage(Limit):
    """`max_detections`, which is one number, is over all categories of an image, before others are left out.

    Attributes
    ----------
    ties
        of detections whose scores are equal across the limit, the "first" are kept, or "none"
    known_only
        whether only detections of the ground truth's categories are counted
    """

    of_images: ClassVar[bool] = True
    choices: ClassVar = {"ties": ("first", "none")}
    ties: Literal["first", "none"] = "first"
    known_only: bool = False

    @property
    def words(self) -> str:
        """What is unusual of the limit."""
        ties = "of more detections of an image, those above the score of the next one are kept" if self.ties == "none" else ""
        known = "the limit per image is over detections of the ground truth's categories alone" if self.known_only else ""
        return "; ".join(filter(None, (ties, known)))

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has several limits."""
        super().refuse(protocol)
        if len(protocol.limits) > 1:
            problem = f"{protocol.name} limits detections per image"
            raise ParameterError(f"{problem}: {option_name('max_detections')} must be one number, not {protocol.limits}")

    def rows(self, inputs: Inputs) -> Inputs:
        """The detections of the highest scores of each image."""
        limited = limit_per_image if self.ties == "first" else keep_above_limit
        found, limit = inputs.detections, inputs.protocol.max_detections[-1]
        if limit is None:
            return inputs
        if not self.known_only:
            return replace(inputs, detections=limited(found, limit))
        there = inputs.dataset.core("categories")["category_id"]
        known = is_known(found["category_id"], there)
        # those of other categories stay, for the warning of them
        return replace(inputs, detections=pl.concat([limited(found.filter(known), limit), found.filter(~known)]))

    def places(self, inputs: Inputs) -> pl.Series:
        """The limit has been applied already, so every detection has place 1, copies too."""
        return pl.repeat(1, inputs.detections.height, dtype=pl.UInt32, eager=True)


@dataclass(frozen=True)
class RequireAtMost(Rule):
    """More detections of an image than this are an error."""

    line: ClassVar[str] = "detections"
    limit: int

    @property
    def words(self) -> str:
        """The rule in words."""
        return f"more than {self.limit} in an image are an error"

    def rows(self, inputs: Inputs) -> Inputs:
        """The same rows.

        Raises
        ------
        RowError
            it names the images
        """
        n = inputs.detections.group_by("image_id", maintain_order=True).len().filter(pl.col("len") > self.limit)
        if n.height:
            name, most = inputs.protocol.name, self.limit
            problem = f"there are {n['len'][0]:,} detections of an image, and {name} accepts {most:,},"
            remedy = f"keep the {most:,} with the highest scores of each image"
            raise RowError("detections", problem, "image_id", n["image_id"].to_list(), remedy)
        return inputs


@dataclass(frozen=True)
class RankInImage(Limit):
    """`max_detections` counts the detections of an image, whatever their category.

    Attributes
    ----------
    by
        "score": the best scores first, of equal ones the first rows; "row": the rows in their order, whatever their score
    """

    of_images: ClassVar[bool] = True
    choices: ClassVar = {"by": ("score", "row")}
    by: Literal["score", "row"] = "score"

    @property
    def by_row(self) -> bool:
        """Whether the first rows are counted."""
        return self.by == "row"

    def rows(self, inputs: Inputs) -> Inputs:
        """The number of each detection in its image, from 1, as `place_in_image`; what is given stays."""
        if PLACE in inputs.detections.columns:
            return inputs
        by_row = pl.int_range(pl.len(), dtype=pl.UInt32) + 1
        by_score = pl.col("score").rank("ordinal", descending=True).cast(pl.UInt32)
        place = (by_row if self.by_row else by_score).over("image_id").alias(PLACE)
        return replace(inputs, detections=inputs.detections.with_columns(place))

    def places(self, inputs: Inputs) -> pl.Series:
        """The place of each detection in its image."""
        return inputs.detections[PLACE]


def limit_per_image(detections: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The detections of the highest scores of each image, over all categories; the order of the rows stays.

    Of equal scores the first rows are kept. Source: `LVISResults.limit_dets_per_image`.

    >>> found = pl.DataFrame({"image_id": [1, 1, 1, 2], "score": [0.3, 0.9, 0.3, 0.1]})
    >>> limit_per_image(found, 2).rows()
    [(1, 0.3), (1, 0.9), (2, 0.1)]
    """
    place = pl.int_range(pl.len()).over("image_id")
    rows = detections.lazy().select("image_id", "score").with_row_index("row")
    ranked = rows.sort("score", descending=True, maintain_order=True)
    kept = ranked.filter(place < limit).select(pl.col("row").sort()).collect()["row"]
    return detections if len(kept) == detections.height else detections[kept]


def keep_above_limit(detections: pl.DataFrame, limit: int) -> pl.DataFrame:
    """The detections of each image, over all categories; where they are more than the limit, those above the next score.

    So detections whose scores are equal across the limit are all left out. Source: `noduleCADEvaluationLUNA16.py`.

    >>> found = pl.DataFrame({"image_id": [1, 1, 1, 2], "score": [0.3, 0.9, 0.3, 0.1]})
    >>> keep_above_limit(found, 2).rows()
    [(1, 0.9), (2, 0.1)]
    """
    next_score = pl.col("score").sort(descending=True).get(limit, null_on_oob=True).over("image_id")
    return detections.filter((pl.col("score") > next_score).fill_null(True))

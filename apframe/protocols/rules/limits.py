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
    """`max_detections`, a single number, limits all categories of an image together, before other rules remove any.

    Attributes
    ----------
    ties
        if equal scores cross the limit, whether the "first" of these detections are kept, or "none"
    known_only
        whether to count only detections of the ground truth's categories
    """

    of_images: ClassVar[bool] = True
    choices: ClassVar = {"ties": ("first", "none")}
    ties: Literal["first", "none"] = "first"
    known_only: bool = False

    @property
    def words(self) -> str:
        """Describe the unusual choices of the limit."""
        ties = "of more detections of an image, those above the score of the next one are kept" if self.ties == "none" else ""
        counted = "the limit per image is over detections of the ground truth's categories alone" if self.known_only else ""
        return "; ".join(filter(None, (ties, counted)))

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has several limits."""
        super().refuse(protocol)
        if len(protocol.limits) > 1:
            problem = f"{protocol.name} limits detections per image"
            raise ParameterError(f"{problem}: {option_name('max_detections')} must be one number, not {protocol.limits}")

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the detections with the highest scores of each image."""
        limited = limit_per_image if self.ties == "first" else keep_above_limit
        detections, limit = inputs.detections, inputs.protocol.max_detections[-1]
        if limit is None:
            return inputs
        if not self.known_only:
            return replace(inputs, detections=limited(detections, limit))
        there = inputs.dataset.core("categories")["category_id"]
        is_counted = is_known(detections["category_id"], there)
        # detections of other categories are kept for a warning
        return replace(
            inputs, detections=pl.concat([limited(detections.filter(is_counted), limit), detections.filter(~is_counted)])
        )

    def places(self, inputs: Inputs) -> pl.Series:
        """Return 1 for every detection, including copies, because the limit has already been applied."""
        return pl.repeat(1, inputs.detections.height, dtype=pl.UInt32, eager=True)


@dataclass(frozen=True)
class RequireAtMost(Rule):
    """It is an error if an image has more detections than this."""

    line: ClassVar[str] = "detections"
    limit: int

    @property
    def words(self) -> str:
        """Describe the rule."""
        return f"more than {self.limit} in an image are an error"

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the same rows.

        Raises
        ------
        RowError
            the error names the images
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
        "score": the best scores first, or the first rows among equal ones; "row": the rows in their order, whatever their score
    """

    of_images: ClassVar[bool] = True
    choices: ClassVar = {"by": ("score", "row")}
    by: Literal["score", "row"] = "score"

    @property
    def by_row(self) -> bool:
        """True if the first rows are counted."""
        return self.by == "row"

    def rows(self, inputs: Inputs) -> Inputs:
        """Add the number of each detection in its image, from 1, as `place_in_image`; an existing column is kept."""
        if PLACE in inputs.detections.columns:
            return inputs
        by_row = pl.int_range(pl.len(), dtype=pl.UInt32) + 1
        by_score = pl.col("score").rank("ordinal", descending=True).cast(pl.UInt32)
        place = (by_row if self.by_row else by_score).over("image_id").alias(PLACE)
        return replace(inputs, detections=inputs.detections.with_columns(place))

    def places(self, inputs: Inputs) -> pl.Series:
        """Return the place of each detection in its image."""
        return inputs.detections[PLACE]


def limit_per_image(detections: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Return the detections with the highest scores of each image, over all categories, in their original order.

    Among equal scores, the first rows are kept. Source: `LVISResults.limit_dets_per_image`.

    >>> rows = pl.DataFrame({"image_id": [1, 1, 1, 2], "score": [0.3, 0.9, 0.3, 0.1]})
    >>> limit_per_image(rows, 2).rows()
    [(1, 0.3), (1, 0.9), (2, 0.1)]
    """
    place = pl.int_range(pl.len()).over("image_id")
    rows = detections.lazy().select("image_id", "score").with_row_index("row")
    ranked = rows.sort("score", descending=True, maintain_order=True)
    kept = ranked.filter(place < limit).select(pl.col("row").sort()).collect()["row"]
    return detections if len(kept) == detections.height else detections[kept]


def keep_above_limit(detections: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Return the detections of each image, over all categories; beyond the limit, only those above the next score.

    So if equal scores cross the limit, all of these detections are removed. Source: `noduleCADEvaluationLUNA16.py`.

    >>> rows = pl.DataFrame({"image_id": [1, 1, 1, 2], "score": [0.3, 0.9, 0.3, 0.1]})
    >>> keep_above_limit(rows, 2).rows()
    [(1, 0.9), (2, 0.1)]
    """
    next_score = pl.col("score").sort(descending=True).get(limit, null_on_oob=True).over("image_id")
    return detections.filter((pl.col("score") > next_score).fill_null(True))

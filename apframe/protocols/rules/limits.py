"""How many detections of an image take part, over all categories, and which images do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from apframe.exceptions import ParameterError, RowError
from apframe.protocols.rules.rule import Rule, refuse_several
from apframe.tables.ids import is_known, unknown_ids
from apframe.wording import counted, listed, nearest, spelled

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol

PLACE = "place_in_image"


@dataclass(frozen=True)
class Limit(Rule):
    """What `max_detections` counts: the best detections of each image and category, unless a subclass says otherwise.

    Attributes
    ----------
    by_row
        whether the first rows are counted, so that a detection beyond a limit may have a higher score
    of_images
        whether the detections of an image are counted, whatever their category
    """

    of_images: ClassVar[bool] = False

    @property
    def by_row(self) -> bool:
        """Whether the first rows are counted, whatever their scores."""
        return False

    def counted(self, protocol: Protocol) -> str:
        """What is counted, in words such as "per image, best scores first"."""
        of = "image" if self.of_images or protocol.agnostic else "image and category"
        return f"per {of}, {'the first rows' if self.by_row else 'best scores first'}"

    def places(self, inputs: Inputs) -> pl.Series | None:
        """The place of each detection, from 1, that limits are compared with; None for its rank in its image and category."""
        del inputs
        return None

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has another rule about what is counted."""
        refuse_several(Limit, protocol)


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
            raise ParameterError(f"{problem}: {spelled('max_detections')} must be one number, not {protocol.limits}")

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


@dataclass(frozen=True)
class DetectedImagesOnly(Rule):
    """Images without any detection are left out."""

    line: ClassVar[str] = "detections"
    description: ClassVar[str] = "images without any are left out"
    needs_all_data: ClassVar[bool] = True

    def rows(self, inputs: Inputs) -> Inputs:
        """What is on images with a detection."""
        return inputs.subset({"images": {"images": is_known(inputs.image_ids, inputs.detections["image_id"].unique())}})


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


FIND_OUT = "run `apframe check` on both to find out why"


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
            remedy = f"give ids of the ground truth's categories, or {spelled('category_map')}"
            raise unknown_ids("detections", found, "category_id", "categories", known, remedy, there)
        return inputs


@dataclass(frozen=True)
class KnownImagesOnly(Rule):
    """Detections on images that the ground truth lacks are left out, with a warning; otherwise they are an error."""

    description: ClassVar[str] = "detections on images that the ground truth lacks are left out"


def are_most(unknown: pl.Series) -> bool:
    """Whether more than half of the detections are unknown, so that the numbers are in doubt.

    >>> are_most(pl.Series([True, False])), are_most(pl.Series([True, False, True]))
    (False, True)
    """
    return 2 * int(unknown.sum()) > len(unknown)


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


@dataclass(frozen=True)
class MeansByImages(Rule):
    """A category counts in every mean once for each image with an annotation of it."""

    description: ClassVar[str] = "a category counts in every mean once for each image with an annotation of it"

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if a metric or the definition cannot be weighted by images."""
        one_list = any(metric.reads_one_list for metric in protocol.metrics)
        if one_list or not protocol.definition.reads_remainder:
            problem = f"means_by_images needs a definition that is a weighted sum, and no LAMR, not {protocol.definition}"
            raise ParameterError(problem, option="rules")


@dataclass(frozen=True)
class ZeroWithoutDetections(Rule):
    """Without any detection, all headline numbers are 0."""

    description: ClassVar[str] = "without any detection all headline numbers are 0"

"""Treatment of annotations of groups (`is_crowd`). Without one of these rules, they are annotations like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from apframe.exceptions import ParameterError
from apframe.protocols.rules.rule import Rule, States, refuse_several
from apframe.wording import option_name

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol


@dataclass(frozen=True)
class Crowds(Rule):
    """Annotations with `is_crowd` are groups: any number of detections can match one, and none of them is a true positive."""

    line: ClassVar[str] = "crowds"
    columns: ClassVar[tuple[str, ...]] = ("annotations.is_crowd (a group; iscrowd in JSON)",)

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the protocol has another rule about groups."""
        refuse_several(Crowds, protocol)

    def states(self, inputs: Inputs) -> States:
        """Flag the groups."""
        return States(crowds=inputs.annotations["is_crowd"])


@dataclass(frozen=True)
class CrowdsIgnored(Crowds):
    """Groups are ignored, and so are detections that match one."""

    description: ClassVar[str] = "any number of detections can match a group of objects; they are ignored"

    def states(self, inputs: Inputs) -> States:
        """Flag the groups, which do not count."""
        return States(crowds=inputs.annotations["is_crowd"], ignored=inputs.annotations["is_crowd"])


@dataclass(frozen=True)
class CrowdsAsMisses(Crowds):
    """Groups count as missed annotations; detections that match one are ignored."""

    description: ClassVar[str] = (
        "any number of detections can match a group of objects; they are ignored, and the group counts as missed"
    )

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the matcher matches at score cut-offs, where groups cannot count as missed."""
        super().refuse(protocol)
        if protocol.matcher.at_score_cutoffs:
            problem = f"matching {protocol.matcher.name!r} has no groups that count as missed"
            raise ParameterError(problem, "choose another, or the rule CrowdsIgnored()", option="rules")


@dataclass(frozen=True)
class CrowdsCountOnce(Crowds):
    """A group counts as one annotation, detected by its best detection; the others are ignored."""

    description: ClassVar[str] = "a group of objects counts once, for its best detection; the others are ignored"

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the matcher cannot make a detection of a group a true positive."""
        super().refuse(protocol)
        if not protocol.matcher.finds_groups:
            problem = f"groups that count need {option_name('matching', 'best_overlap')}, not {protocol.matcher.name!r}"
            raise ParameterError(problem, "or the rule CrowdsIgnored()")


@dataclass(frozen=True)
class IgnoredAsCrowds(CrowdsIgnored):
    """Other ignored annotations are groups too, including those outside an area range, a level or a slice.

    Attributes
    ----------
    over
        the divisor of the intersection with such an annotation: the area of the "detection", as for groups, or the "union"
    """

    choices: ClassVar = {"over": ("detection", "union")}
    over: Literal["detection", "union"] = "detection"

    @property
    def words(self) -> str:
        """Describe the rule."""
        how = "or by IoU another" if self.over == "union" else "or another"
        return f"any number of detections can match a group of objects {how} ignored annotation; they are ignored"

    @property
    def says(self) -> dict[str, str]:
        """The rule, and that detections inside ignored annotations are ignored."""
        return super().says | ({"matched": "inside"} if self.over == "detection" else {})

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the matcher does not read the pairs that reach a threshold."""
        super().refuse(protocol)
        protocol.matcher.require_reaching("ignored annotations as crowds", "choose CrowdsIgnored()", "rules")

    def pairs(self, inputs: Inputs, pairs: pl.DataFrame) -> pl.DataFrame:
        """Add `inside` to the pairs: the similarity with ignored annotations, which is null if it is too low."""
        from apframe.protocols.pairing import pair  # imports NumPy

        if self.over == "union":
            return pairs.with_columns(inside="similarity")
        inside = pair(inputs, is_crowd=pl.repeat(True, inputs.annotations.height, eager=True))
        return pairs.join(inside.rename({"similarity": "inside"}), on=["detection", "annotation"], how="full", coalesce=True)

"""Rules for means over categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from apframe.exceptions import ParameterError
from apframe.protocols.rules.rule import Rule

if TYPE_CHECKING:
    from apframe.protocols.protocol import Protocol


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
    """Without any detections, all headline numbers are 0."""

    description: ClassVar[str] = "without any detection all headline numbers are 0"

"""The protocol of the benchmark, with a rule, a matcher and a metric of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import apframe as apf
from apframe.matching.matchers import MATCHERS, Matcher
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.metrics.metric import KINDS
from apframe.metrics.sums_of_matches import OfSums
from apframe.protocols.protocol_json import RULES
from apframe.protocols.ranges import ALL
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.filters import refuse_unusable
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule, States
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES

if TYPE_CHECKING:
    import numpy as np

    from apframe.protocols.inputs import Inputs

APFRAME_CONTRACT = 1
PURPOSES = {"TOY_LAMPS": "lamps at night: AP and F1 of those that are lit"}


@dataclass(frozen=True)
class IgnoreUnlit(Rule):
    """Lamps that are not lit (`lit` is false) are ignored."""

    line: ClassVar[str] = "ignored"
    description: ClassVar[str] = "not lit (lit)"
    columns: ClassVar[tuple[str, ...]] = ("annotations.lit",)

    def rows(self, inputs: Inputs) -> Inputs:
        """The same rows; a `ColumnError` if `lit` is text."""
        refuse_unusable(inputs, "annotations", ["lit"])
        return inputs

    def states(self, inputs: Inputs) -> States:
        """Annotations that do not count."""
        if "lit" not in inputs.annotations.columns:
            return States()
        return States(ignored=(~inputs.annotations["lit"]).fill_null(False))


@dataclass(frozen=True)
class BestOfEach(Matcher):
    """Each detection, best score first, takes the first free lamp that it overlaps enough."""

    name: ClassVar[str] = "toy_best_of_each"
    description: ClassVar[str] = "each detection, best score first, takes the first free lamp that it overlaps enough"
    home: ClassVar[str] = "apframe.matching.by_score:match_nearest"


@dataclass(frozen=True)
class F1(OfSums):
    """F1 of all detections: 2 TP / (detections + annotations)."""

    columns: ClassVar = ("toy_f1",)
    lines: ClassVar = {"F1": "toy_f1"}
    sums: ClassVar = (("true_positives", None), ("detections", None), ("annotations", None))
    line: ClassVar = "metrics"

    @property
    def by_definition(self) -> None:
        """None, as it ranks nothing."""
        return

    def describe(self) -> str:
        """What `print(protocol)` says of it."""
        return "F1 of all detections"

    def of_sums(self, *sums: np.ndarray) -> Mapping[str, np.ndarray]:
        """F1 from the three sums."""
        true, detected, annotated = sums
        return {"toy_f1": 2 * true / (detected + annotated)}


RULES["toy_ignore_unlit"] = IgnoreUnlit
MATCHERS["toy_best_of_each"] = BestOfEach
KINDS["toy_f1"] = F1

TOY_LAMPS = apf.Protocol(
    name="TOY_LAMPS",
    citation="Nobody et al., Lamps at Night, 2026",
    similarity=apf.similarity.BoxIoU(),
    matcher=BestOfEach(),
    iou_thresholds=(0.5, 0.75),
    metrics=(AveragePrecision(Interpolated()), F1()),
    max_detections=(None,),
    ranges=(ALL,),
    headlines=("AP", "AP50", "F1", "F150"),
    rules=(MalformedCounts(), *STANDARD_SHAPES, *STANDARD_LISTS, CrowdsIgnored(), IgnoreUnlit()),
)

"""TinyPerson's benchmark of people of a few pixels, as its evaluator for COCO's format computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from apframe.matching.matchers import ByScore
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import COCO_101
from apframe.metrics.points import SPACING
from apframe.protocols.kit_table import KitRow, KitTable, named
from apframe.protocols.protocol import Protocol
from apframe.protocols.ranges import AreaRange
from apframe.protocols.rules.crowds import IgnoredAsCrowds
from apframe.protocols.rules.filters import refuse_unusable
from apframe.protocols.rules.ignored import IgnoreFlagged, flags
from apframe.protocols.rules.malformed import MalformedIgnoredByArea
from apframe.protocols.rules.rule import Rule
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.box_iou import BoxIoU

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "TINYPERSON": "people of a few pixels: AP at IoU .25, .5, .75 by size",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = {"tinyperson": "coco"}
"""The file format of a protocol, if its name differs from the protocol's."""


@dataclass(frozen=True)
class IgnoreUncertain(Rule):
    """Ignore annotations flagged `uncertain`."""

    line: ClassVar[str] = "ignored"
    description: ClassVar[str] = "flagged uncertain"
    columns: ClassVar[tuple[str, ...]] = ("annotations.uncertain",)

    def rows(self, inputs: Inputs) -> Inputs:
        """Set `ignore` where `uncertain` is set.

        Raises
        ------
        ColumnError
            `uncertain` is text
        """
        refuse_unusable(inputs, "annotations", ["uncertain"])
        uncertain = flags(inputs.dataset.annotations, "uncertain")
        if uncertain is None:
            return inputs
        ignore_flags = flags(inputs.dataset.annotations, "ignore")
        ignore = uncertain if ignore_flags is None else uncertain | ignore_flags
        return inputs.with_annotations(inputs.dataset.annotations.with_columns(ignore.alias("ignore")))


_MOST = 1e10
_AREAS = (
    AreaRange("all", 1.0, _MOST),
    AreaRange("tiny", 1.0, 20.0**2),
    AreaRange("tiny1", 1.0, 8.0**2),
    AreaRange("tiny2", 8.0**2, 12.0**2),
    AreaRange("tiny3", 12.0**2, 20.0**2),
    AreaRange("small", 20.0**2, 32.0**2),
    AreaRange("reasonable", 32.0**2, _MOST),
)

TINYPERSON = Protocol(
    name="TINYPERSON",
    citation="Yu et al., Scale Match for Tiny Person Detection, WACV 2020; PointTinyBenchmark, cocofmt evaluator",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=ByScore(),
    iou_thresholds=(0.25, 0.5, 0.75),
    metrics=(AveragePrecision(COCO_101, SPACING),),
    ranges=_AREAS,
    max_detections=(200,),
    headlines=("AP50{area}", "AP25{area}", "AP75{area}", "AP50", "AP25", "AP75"),
    rules=(
        MalformedIgnoredByArea(),
        *STANDARD_SHAPES,
        IgnoreUncertain(),
        *STANDARD_LISTS,
        IgnoredAsCrowds(),
        IgnoreFlagged(),
    ),
    tables=(
        KitTable(
            named("AP50", "AP25", "AP75"),
            tuple(KitRow((each.name,), {"all": "", "small": "s"}.get(each.name, f"_{each.name}")) for each in _AREAS),
            head=("size",),
        ),
    ),
)
"""People by size (tiny: at most 20 × 20 pixels), at IoU .25, .5 and .75 each; detections in ignored regions are ignored."""

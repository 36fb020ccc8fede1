"""THUMOS14's task of temporal detection: intervals in videos, matched by annotation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from apframe.matching.matchers import InFileOrder
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Step
from apframe.protocols.given import linspace
from apframe.protocols.kit_table import KitColumn, KitTable
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.interval_iou import IntervalIoU
from apframe.tables.shapes.declarations import INTERVAL

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "THUMOS14": "actions as time intervals: each interval takes its best detection",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""

_NAMES = (
    "BaseballPitch", "BasketballDunk", "Billiards", "CleanAndJerk", "CliffDiving", "CricketBowling",
    "CricketShot", "Diving", "FrisbeeCatch", "GolfSwing", "HammerThrow", "HighJump",
    "JavelinThrow", "LongJump", "PoleVault", "Shotput", "SoccerPenalty", "TennisSwing",
    "ThrowDiscus", "VolleyballSpiking",
)  # fmt: skip


@dataclass(frozen=True)
class MalformedIntervalsTurned(MalformedCounts):
    """Reverse intervals that end before they start. Source: `intervaloverlapvalseconds.m` of THUMOS14's kit."""

    description: ClassVar[str] = "an interval that ends before it starts is reversed"

    def treat(self, table: str, frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
        """Let each interval start at the earlier of its ends."""
        del table, inputs
        if not set(INTERVAL) <= set(frame.columns):
            return frame
        return frame.with_columns(start_time=pl.min_horizontal(INTERVAL), end_time=pl.max_horizontal(INTERVAL))


THUMOS14 = Protocol(
    name="THUMOS14",
    citation='Idrees et al., The THUMOS challenge on action recognition for videos "in the wild", CVIU 2017; THUMOS14 '
    "evaluation kit, TH14evalDet_Updated.m",
    iou_type="interval",
    similarity=IntervalIoU(),
    matcher=InFileOrder(strict=True),
    iou_thresholds=linspace(0.1, 0.5, 5),
    metrics=(AveragePrecision(Step()),),
    max_detections=(None,),
    headlines=("AP", "AP10", "AP20", "AP30", "AP40", "AP50"),
    rules=(
        MalformedIntervalsTurned(),
        *STANDARD_SHAPES,
        Classes(_NAMES, ignore_regions=("Ambiguous",)),
        *STANDARD_LISTS,
        CrowdsIgnored(),
    ),
    tables=(
        KitTable(
            (*(KitColumn(f"mAP@0.{tenths}", f"AP{tenths}0") for tenths in range(1, 6)), KitColumn("Average", "AP")),
            iou_thresholds=linspace(0.1, 0.5, 5),
        ),
    ),
)
"""Twenty actions, each annotation takes its best detection, tIoU above .1 to .5; detections on `Ambiguous` are ignored."""

"""Panoptic segmentation: COCO's panoptic quality, and Cityscapes', which has the same rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from apframe.benchmarks.pixels.panoptic.metric import PanopticQuality
from apframe.benchmarks.pixels.panoptic.panoptic_boundary_iou import PanopticBoundaryIoU
from apframe.benchmarks.pixels.panoptic.panoptic_iou import PanopticIoU
from apframe.matching.matchers import ByScore
from apframe.protocols.headlines import Part
from apframe.protocols.kit_table import EachCategory, KitRow, KitTable, named
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.crowds import CrowdsIgnored
from apframe.protocols.rules.known import KnownImagesOnly, RequireKnownCategories
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule, States
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "COCO_PANOPTIC": "panoptic quality of segments: PQ, SQ, RQ, also of boundaries",
    "CITYSCAPES_PANOPTIC": "the same for Cityscapes",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
FILES = {"cityscapes_panoptic": "coco_panoptic"}
"""The file format of a protocol, if its name differs from the protocol's."""


@dataclass(frozen=True)
class IgnoreMostlyVoid(Rule):
    """Ignore unmatched detections of which more than half is void (`void_area`)."""

    description: ClassVar[str] = "a detection of which more than half is void (void_area) is ignored if it matches nothing"

    def states(self, inputs: Inputs) -> States:
        """Ignore detections that are mostly void if they are unmatched."""
        detections = inputs.detections
        if "void_area" not in detections.columns:
            return States()
        return States(unmatched_ignored=(detections["void_area"] / detections["area"] > 0.5).fill_null(False))


_SEGMENTS = Protocol(
    name="COCO_PANOPTIC",
    citation="Kirillov et al., Panoptic Segmentation, CVPR 2019; panopticapi, evaluation.py",
    iou_type="panoptic",
    similarity=PanopticIoU(),
    matcher=ByScore(ties="input", strict=True),
    iou_thresholds=(0.5,),
    metrics=(PanopticQuality(),),
    max_detections=(None,),
    headlines=(
        "PQ",
        "SQ",
        "RQ",
        "PQ{part}",
        "SQ{part}",
        "RQ{part}",
        Part("_things", "categories", "isthing", above=0),
        Part("_stuff", "categories", "isthing", up_to=0),
    ),
    rules=(
        MalformedCounts(),
        *STANDARD_SHAPES,
        RequireKnownCategories(),
        *STANDARD_LISTS,
        CrowdsIgnored(),
        IgnoreMostlyVoid(),
        KnownImagesOnly(),
    ),
    tables=(
        KitTable(
            named("PQ", "SQ", "RQ"),
            (KitRow(("All",)), KitRow(("Things",), "_things"), KitRow(("Stuff",), "_stuff")),
            head=("categories",),
            digits=1,
        ),
    ),
)
_BOUNDARIES = replace(_SEGMENTS, iou_type="panoptic_boundary", similarity=PanopticBoundaryIoU())

COCO_PANOPTIC = replace(_SEGMENTS, variants=(_BOUNDARIES,))
"""PQ, SQ and RQ of all categories, of things and of stuff: IoU above .5, void pixels left out."""
_CITYSCAPES = (KitTable(named("PQ", "SQ", "RQ"), (EachCategory(),), head=("category",), digits=1), *_SEGMENTS.tables)
CITYSCAPES_PANOPTIC = replace(
    COCO_PANOPTIC,
    name="CITYSCAPES_PANOPTIC",
    citation="Kirillov et al., Panoptic Segmentation, CVPR 2019; cityscapesScripts, evalPanopticSemanticLabeling.py",
    tables=_CITYSCAPES,
    variants=(
        replace(_BOUNDARIES, name="CITYSCAPES_PANOPTIC", citation="cityscapesScripts; boundary-iou-api", tables=_CITYSCAPES),
    ),
)
"""As `COCO_PANOPTIC`: the kit writes its annotations in COCO's format, and evaluates them by the same rules."""

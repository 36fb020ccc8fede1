"""WIDER FACE's benchmark of faces: three sets by difficulty, scores in 1,000 steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from apframe.benchmarks.people.wider_face.definition import WiderFace
from apframe.matching.matchers import ByBestOverlap
from apframe.metrics.average_precision import AveragePrecision
from apframe.protocols.kit_table import KitColumn, KitRow, KitTable
from apframe.protocols.levels import ApplyLevels, Level
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.ignored import flags
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.rule import Rule, States
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.inclusive_box_iou import InclusiveBoxIoU
from apframe.tables.ids import is_known
from apframe.wording import Count, Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

PURPOSES = {
    "WIDER_FACE": "faces: easy, medium, hard; scores in 1,000 steps",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""


@dataclass(frozen=True)
class AnnotatedImagesOnly(Rule):
    """Ignore detections on images without annotations, with a note."""

    description: ClassVar[str] = "detections on images without annotations are ignored"

    def rows(self, inputs: Inputs) -> Inputs:
        """Set `ignore` for these detections, with a note of their number."""
        detections = inputs.detections
        without = ~is_known(detections["image_id"], inputs.annotations["image_id"].unique())
        ignored = flags(detections, "ignore")
        images = detections["image_id"].filter(without).unique(maintain_order=True).to_list()
        on = Count("image", len(images), detail=" without annotations", ids=images[:5])
        kit = f"the program of the benchmark {inputs.protocol.name} skips these images"
        note = Note(f"{{}}: ignored; {kit}", [Count("detection", int(without.sum())), on], " on ")
        ignore = without if ignored is None else without | ignored
        return replace(inputs, detections=detections.with_columns(ignore=ignore)).saying(note)

    def states(self, inputs: Inputs) -> States:
        """Ignore detections with `ignore` if they are unmatched."""
        return States(unmatched_ignored=flags(inputs.detections, "ignore"))


WIDER_FACE = Protocol(
    name="WIDER_FACE",
    citation="Yang et al., WIDER FACE: A Face Detection Benchmark, CVPR 2016; evaluation tools, evaluation.m and norm_score.m",
    iou_type="bbox",
    similarity=InclusiveBoxIoU(),
    matcher=ByBestOverlap(ties="input"),
    iou_thresholds=(0.5,),
    metrics=(AveragePrecision(WiderFace()),),
    max_detections=(None,),
    headlines=("AP{area}",),
    ranges=tuple(
        Level(name, ((name, 1, 1),), is_headline=name == "hard", closed="both") for name in ("easy", "medium", "hard")
    ),
    rules=(
        MalformedCounts(),
        *STANDARD_SHAPES,
        Classes(("face",)),
        ApplyLevels("name the folder eval_tools/ground_truth of the kit, which has wider_easy_val.mat and the other sets"),
        *STANDARD_LISTS,
        AnnotatedImagesOnly(),
    ),
    tables=(
        KitTable(
            (KitColumn("AP", "AP"),),
            tuple(KitRow((name,), f"_{name}") for name in ("easy", "medium", "hard")),
            head=("set",),
            digits=1,
        ),
    ),
)
"""Faces of the sets easy, medium and hard, each of which includes the one before; faces outside the set are ignored."""

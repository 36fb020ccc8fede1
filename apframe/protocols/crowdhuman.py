"""CrowdHuman's benchmark of people in crowds, as CrowdDet's evaluation computes it."""

from apframe.metrics.all_rows import CrowdHuman
from apframe.metrics.miss_rates import MissRates
from apframe.protocols.citypersons import ROUNDED_POINTS
from apframe.protocols.classes import Classes
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

CROWDHUMAN = Protocol(
    name="CROWDHUMAN",
    citation="Shao et al., CrowdHuman: A Benchmark for Detecting Human in a Crowd, 2018; CrowdDet, lib/evaluate",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="nearest",
    strict=True,
    ties="input",
    crowds="all_ignored",
    ignores=("ignore",),
    iou_thresholds=(0.5,),
    definition=CrowdHuman(),
    max_detections=(None,),
    further_rules=("clipped_boxes",),
    report=("AP", "LAMR", "JI"),
    classes=Classes(("person",)),
    miss_rates=MissRates(row="first", points=ROUNDED_POINTS, least=0.0, ties_together=False),
    malformed="counted",
)
"""People with their full boxes: AP without an envelope, LAMR (MR⁻²), and JI, see `Evaluation.jaccard_index`."""

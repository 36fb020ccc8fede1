"""WIDER FACE's benchmark of faces: three sets by difficulty, scores in 1,000 steps."""

from apframe.metrics.all_rows import WiderFace
from apframe.protocols.classes import Classes, Difficulty
from apframe.protocols.protocol import Protocol
from apframe.similarity.inclusive_box_iou import InclusiveBoxIoU

WIDER_FACE = Protocol(
    name="WIDER_FACE",
    citation="Yang et al., WIDER FACE: A Face Detection Benchmark, CVPR 2016; evaluation tools, evaluation.m and norm_score.m",
    iou_type="bbox",
    similarity=InclusiveBoxIoU(),
    matching="best_overlap",
    ties="input",
    crowds="ordinary",
    iou_thresholds=(0.5,),
    definition=WiderFace(),
    max_detections=(None,),
    further_rules=("annotated_images_only",),
    report=("AP{area}",),
    classes=Classes(("face",)),
    difficulties=tuple(
        Difficulty(name, ((name, 1, 1),), is_ranked_by=name == "hard", closed="both") for name in ("easy", "medium", "hard")
    ),
    malformed="counted",
)
"""Faces of the sets easy, medium and hard, of which each holds the one before; faces outside the set are ignored."""

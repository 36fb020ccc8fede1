"""What Ultralytics prints while it trains and validates: boxes and masks, by version."""

from dataclasses import replace

from apframe.metrics.all_rows import Ultralytics, UltralyticsBefore
from apframe.protocols.classes import Keep
from apframe.protocols.given import linspace
from apframe.protocols.protocol import Protocol
from apframe.similarity.single_iou import SingleBoxIoU, SingleMaskIoU

_BOXES = Protocol(
    name="ULTRALYTICS",
    citation="Jocher et al., Ultralytics YOLO; ultralytics 8.4.176 and later, utils/metrics.py, engine/validator.py and "
    "models/yolo/detect/val.py",
    iou_type="bbox",
    similarity=SingleBoxIoU(),
    matching="nearest",
    ties="image",
    crowds="ordinary",
    iou_thresholds=linspace(0.5, 0.95, 10),
    definition=Ultralytics(),
    keeps=(Keep("score", above=0.001, table="detections"),),
    malformed="images_left_out",
    max_detections=(300,),
    per_image=True,
    further_rules=("equal_labels",),
    report=("AP", "AP50", "AP75"),
)
ULTRALYTICS = replace(_BOXES, variants=(replace(_BOXES, iou_type="segm", similarity=SingleMaskIoU()),))
"""Versions 8.4.176 and later: each detection takes its most similar free annotation; the curve ends at the last detection.

AP is what is printed as mAP50-95, AP50 as mAP50. Masks are compared in the size of the images, not of the network's output.
"""


def _earlier(name: str, last: str, definition: Ultralytics) -> Protocol:
    """The rules up to the version `last`, by which a detection that finds its annotation taken tries no other."""

    def change(protocol: Protocol) -> Protocol:
        return replace(
            protocol,
            name=name,
            citation=protocol.citation.replace("8.4.176 and later", f"up to {last}"),
            matching="best_overlap",
            definition=definition,
        )

    return replace(change(ULTRALYTICS), variants=tuple(map(change, ULTRALYTICS.variants)))


ULTRALYTICS_8_4_175 = _earlier("ULTRALYTICS_8_4_175", "8.4.175", Ultralytics())
"""Versions 8.4.37 to 8.4.175: a detection can match only the annotation that it overlaps most."""

ULTRALYTICS_8_4_35 = _earlier("ULTRALYTICS_8_4_35", "8.4.36", UltralyticsBefore())
"""Versions 8.3 to 8.4.36: the same, and the curve goes on from the last detection to recall 1 and precision 0."""

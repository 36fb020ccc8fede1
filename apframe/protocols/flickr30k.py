"""Phrases and referring expressions that name objects in an image: is one of the best boxes right?"""

from dataclasses import replace

from apframe.metrics.sums_of_matches import Success
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

FLICKR30K = Protocol(
    name="FLICKR30K",
    citation="Plummer et al., Flickr30k Entities, ICCV 2015",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="shared",
    ties="input",
    crowds="ordinary",
    iou_thresholds=(0.5,),
    definition=Success(),
    malformed="counted",
    max_detections=(1, 5, 10),
    agnostic=True,
    further_rules=("limits_by_score",),
    report=("Success@{limit}",),
)
"""An image is a phrase, its annotations are the boxes of the phrase: the share of phrases of which one box was found."""
REFCOCO = replace(
    FLICKR30K,
    name="REFCOCO",
    citation="Yu et al., Modeling Context in Referring Expressions, ECCV 2016",
    max_detections=(1,),
    malformed="stops",
)
"""An image is an expression: the share of expressions whose best box has IoU .5 or more."""

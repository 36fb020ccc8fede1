"""Phrases and referring expressions that name objects in an image: is one of the best boxes right?"""

from dataclasses import replace

from apframe.metrics.sums_of_matches import Success
from apframe.protocols.classes import ALL_CLASSES
from apframe.protocols.given import ALL_AREAS
from apframe.protocols.protocol import Protocol
from apframe.similarity.box_iou import BoxIoU

FLICKR30K = Protocol(
    name="FLICKR30K",
    citation="Plummer et al., Flickr30k Entities, ICCV 2015",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="shared",
    strict=False,
    ties="input",
    crowds="ordinary",
    ignores=(),
    iou_thresholds=(0.5,),
    definition=Success(),
    adds_spacing=False,
    classes=ALL_CLASSES,
    difficulties=(),
    orientation="",
    keeps=(),
    most_per_image=None,
    errors=None,
    miss_rates=None,
    malformed="counted",
    area_ranges=(ALL_AREAS,),
    max_detections=(1, 5, 10),
    per_image=False,
    agnostic=True,
    judged_only=False,
    expands_hierarchy=False,
    detected_images_only=False,
    with_area_only=False,
    further_rules=("limits_by_score",),
    parts=(),
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

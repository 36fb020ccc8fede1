"""Phrases and referring expressions that name objects in an image: is one of the best boxes right?"""

from dataclasses import replace

from apframe.benchmarks.relations.flickr30k.metric import Success
from apframe.matching.matchers import Shared
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.limits import RankInImage
from apframe.protocols.rules.malformed import MalformedCounts, MalformedRefused
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.box_iou import BoxIoU

PURPOSES = {
    "FLICKR30K": "boxes of phrases: Success@1, @5, @10, which papers call R@k",
    "REFCOCO": "the box of a referring expression: accuracy at IoU 0.5",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""

FLICKR30K = Protocol(
    name="FLICKR30K",
    citation="Plummer et al., Flickr30k Entities, ICCV 2015",
    iou_type="bbox",
    similarity=BoxIoU(),
    matcher=Shared(ties="input"),
    iou_thresholds=(0.5,),
    metrics=(Success(),),
    max_detections=(1, 5, 10),
    agnostic=True,
    headlines=("Success@{limit}",),
    rules=(
        MalformedCounts(),
        *STANDARD_SHAPES,
        RankInImage(by="score"),
        *STANDARD_LISTS,
    ),
)
"""An image is a phrase, its annotations are the boxes of the phrase: the share of phrases of which one box was found."""
REFCOCO = replace(
    FLICKR30K,
    name="REFCOCO",
    citation="Yu et al., Modeling Context in Referring Expressions, ECCV 2016",
    max_detections=(1,),
    rules=(MalformedRefused("stops"), *STANDARD_SHAPES, RankInImage(by="score"), *STANDARD_LISTS),
)
"""An image is an expression: the share of expressions whose best box has IoU .5 or more."""

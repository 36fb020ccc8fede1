"""Visual Genome's relations between two boxes (scene graphs): recall of the best detections of each image."""

from dataclasses import replace

from apframe.benchmarks.relations.visual_genome.metric import RecallByImage
from apframe.benchmarks.relations.visual_genome.relation_iou import PhraseIoU, RelationIoU
from apframe.matching.matchers import Shared
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.limits import RankInImage
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES

PURPOSES = {
    "VISUAL_GENOME": "relations of two boxes: R@20, R@50, R@100; also of phrases",
    "VISUAL_GENOME_MEAN": "the mean over relations: mR@20, mR@50, mR@100",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""
TWINS = {"VISUAL_GENOME": {"mean": {"plain": "VISUAL_GENOME_MEAN"}}}
"""The protocols that an option of another one selects."""

_RELATIONS = Protocol(
    name="VISUAL_GENOME",
    citation="Lu et al., Visual Relationship Detection with Language Priors, ECCV 2016; neural-motifs, sg_eval.py",
    iou_type="relation",
    similarity=RelationIoU(),
    matcher=Shared(ties="input"),
    iou_thresholds=(0.5,),
    metrics=(RecallByImage(),),
    max_detections=(20, 50, 100),
    agnostic=True,
    headlines=("R@{limit}",),
    rules=(
        MalformedCounts(),
        *STANDARD_SHAPES,
        RankInImage(by="score"),
        *STANDARD_LISTS,
    ),
)
VISUAL_GENOME = replace(_RELATIONS, variants=(replace(_RELATIONS, iou_type="phrase", similarity=PhraseIoU()),))
"""R@k: the share of the relations of an image that its k best detections find, then the mean over images.

A detection finds every relation of the same three classes whose boxes it fits. `iou_type="phrase"` compares boxes around both.
"""


def _of_each(protocol: Protocol) -> Protocol:
    citation = "Chen et al., Knowledge-Embedded Routing Network for Scene Graph Generation, CVPR 2019"
    return replace(protocol, name="VISUAL_GENOME_MEAN", citation=citation, agnostic=False, headlines=("mR@{limit}",))


VISUAL_GENOME_MEAN = replace(_of_each(_RELATIONS), variants=tuple(map(_of_each, VISUAL_GENOME.variants)))
"""mR@k: R@k of each relation (category), over the images that have it, then the mean over relations."""

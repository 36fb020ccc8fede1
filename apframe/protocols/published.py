"""All published protocols by name, and where an evaluation departs from one."""

from __future__ import annotations

from typing import Any

from apframe.exceptions import ParameterError, by_name
from apframe.listing import Listing
from apframe.protocols.activitynet import ACTIVITYNET
from apframe.protocols.argoverse2 import ARGOVERSE2
from apframe.protocols.ava import AVA
from apframe.protocols.bdd100k import BDD100K
from apframe.protocols.citypersons import CALTECH, CITYPERSONS, EUROCITY
from apframe.protocols.coco import COCO
from apframe.protocols.crowdhuman import CROWDHUMAN
from apframe.protocols.crowdpose import CROWDPOSE
from apframe.protocols.dota import DOTA, DOTA_V1, DOTA_V15, MMROTATE
from apframe.protocols.flickr30k import FLICKR30K, REFCOCO
from apframe.protocols.given import OPTIONS
from apframe.protocols.kitti import KITTI
from apframe.protocols.luna16 import LUNA16
from apframe.protocols.lvis import LVIS
from apframe.protocols.nuscenes import NUSCENES
from apframe.protocols.open_images import OPEN_IMAGES, OPEN_IMAGES_CHALLENGE
from apframe.protocols.panoptic import CITYSCAPES_PANOPTIC, COCO_PANOPTIC
from apframe.protocols.proposals import PROPOSALS
from apframe.protocols.protocol import Protocol
from apframe.protocols.semantic import SEMANTIC
from apframe.protocols.thumos14 import THUMOS14
from apframe.protocols.tinyperson import TINYPERSON
from apframe.protocols.ultralytics import ULTRALYTICS, ULTRALYTICS_8_4_35, ULTRALYTICS_8_4_175
from apframe.protocols.visdrone import VISDRONE, VISDRONE_MEAN
from apframe.protocols.visual_genome import VISUAL_GENOME, VISUAL_GENOME_MEAN
from apframe.protocols.voc import VOC2007, VOC2012
from apframe.protocols.waymo import WAYMO
from apframe.protocols.wider_face import WIDER_FACE
from apframe.similarity.named import as_iou_type
from apframe.wording import spelled

PUBLISHED = {
    protocol.name: protocol
    for protocol in (
        COCO, VOC2007, VOC2012, LVIS, OPEN_IMAGES, OPEN_IMAGES_CHALLENGE, PROPOSALS, DOTA, ACTIVITYNET, CROWDPOSE, BDD100K,
        KITTI, NUSCENES, WAYMO, ARGOVERSE2, CITYPERSONS, CALTECH, EUROCITY, WIDER_FACE, CROWDHUMAN,
        TINYPERSON, COCO_PANOPTIC, CITYSCAPES_PANOPTIC, SEMANTIC,
        DOTA_V1, DOTA_V15, MMROTATE, VISDRONE, VISDRONE_MEAN, ULTRALYTICS, ULTRALYTICS_8_4_175, ULTRALYTICS_8_4_35,
        THUMOS14, AVA, LUNA16, VISUAL_GENOME, VISUAL_GENOME_MEAN, FLICKR30K, REFCOCO,
    )
}  # fmt: skip


_PURPOSES = {
    "COCO": "objects, masks, keypoints and boundaries; the usual choice",
    "VOC2007": "PASCAL VOC 2007: 11 recall levels, IoU 0.5",
    "VOC2012": "PASCAL VOC 2010 and later: every recall level, IoU 0.5",
    "LVIS": "many categories, each annotated in some images only",
    "OPEN_IMAGES": "Open Images: category hierarchy, boxes of groups",
    "OPEN_IMAGES_CHALLENGE": "Open Images challenges: verified labels, groups count once",
    "PROPOSALS": "recall of proposals without categories",
    "DOTA": "rotated boxes in aerial images",
    "DOTA_V1": "what DOTA's devkit prints for v1.0: 15 classes",
    "DOTA_V15": "what DOTA's devkit prints for v1.5: 16 classes",
    "MMROTATE": "what mmrotate prints for DOTA",
    "VISDRONE": "objects from drones, ten classes; as its toolkit prints them",
    "VISDRONE_MEAN": "VisDrone with the plain mean over classes",
    "ULTRALYTICS": "what Ultralytics prints from 8.4.176 on: mAP50-95, mAP50",
    "ULTRALYTICS_8_4_175": "what Ultralytics prints from 8.4.37 up to 8.4.175",
    "ULTRALYTICS_8_4_35": "what Ultralytics prints up to 8.4.36",
    "ACTIVITYNET": "actions as time intervals of videos",
    "CROWDPOSE": "keypoints of people in crowds",
    "BDD100K": "boxes and instance masks of driving scenes, ten classes",
    "WAYMO": "vehicles, pedestrians, signs, cyclists: in space, from above, in images",
    "KITTI": "cars, pedestrians and cyclists: in images, from above, in space",
    "NUSCENES": "cuboids by distance: AP, five errors, NDS",
    "ARGOVERSE2": "cuboids by distance: AP, three errors, CDS",
    "CITYPERSONS": "pedestrians by height and visible share: log-average miss rate",
    "CALTECH": "as CITYPERSONS, for Caltech's data",
    "CROWDHUMAN": "people in crowds: AP, log-average miss rate, Jaccard index",
    "TINYPERSON": "people of a few pixels: AP at IoU .25, .5, .75 by size",
    "WIDER_FACE": "faces: easy, medium, hard; scores in 1,000 steps",
    "LUNA16": "nodules in scans: mean sensitivity (CPM) of the FROC curve",
    "EUROCITY": "pedestrians by height and occlusion: log-average miss rate",
    "COCO_PANOPTIC": "panoptic quality of segments: PQ, SQ, RQ, also of boundaries",
    "CITYSCAPES_PANOPTIC": "the same for Cityscapes",
    "SEMANTIC": "IoU of the pixels of each class: mIoU, fwIoU, accuracies",
    "THUMOS14": "actions as time intervals: each interval takes its best detection",
    "AVA": "actions of people in frames of videos: frame mAP at IoU 0.5",
    "VISUAL_GENOME": "relations of two boxes: R@20, R@50, R@100; also of phrases",
    "VISUAL_GENOME_MEAN": "the mean over relations: mR@20, mR@50, mR@100",
    "FLICKR30K": "boxes of phrases: Success@1, @5, @10, which papers call R@k",
    "REFCOCO": "the box of a referring expression: accuracy at IoU 0.5",
}


def list_protocols(name: str | None = None) -> Listing:
    """List the published protocols, or describe one.

    Parameters
    ----------
    name
        the protocol to describe; None lists all of them

    Returns
    -------
    A frame with name, iou_types, purpose and citation; it prints within 80 columns. `print(apframe.COCO)` prints all rules.

    Raises
    ------
    ParameterError
        no protocol has this name; near names are suggested

    >>> list_protocols("dota").row(0)[:3]
    ('dota', 'rotated', 'rotated boxes in aerial images')
    """
    rows = [(each.name.lower(), ", ".join(each.iou_types), _PURPOSES[each.name], each.citation) for each in PUBLISHED.values()]
    table = Listing(rows, schema=["name", "iou_types", "purpose", "citation"], orient="row")
    return table.named("protocol", name)


def as_protocol(value: Any) -> Protocol:
    """A protocol: one as it is, or a published one by its name, in any case and however its words are joined.

    >>> as_protocol("voc2007").name
    'VOC2007'
    >>> as_protocol("voc2008")
    Traceback (most recent call last):
    apframe.exceptions.ParameterError: no protocol 'voc2008'; did you mean voc2007, voc2012?
    """
    if isinstance(value, Protocol):
        return value
    if not isinstance(value, str):
        raise ParameterError(f"must be a value such as apframe.COCO or its name, not {value!r}", option="protocol")
    try:
        return by_name("protocol", value, {name.lower(): protocol for name, protocol in PUBLISHED.items()})
    except ParameterError as error:
        if as_iou_type(value) in COCO.iou_types:
            remedy = f"{error.remedy}; choose a similarity with {spelled('iou_type', '')}"
            raise ParameterError(error.problem, remedy) from None
        raise


def departures(protocol: Protocol) -> list[str]:
    """The parameters in which a protocol is not the published one of its name and iou_type; none for a user's own.

    Where nothing is published for that iou_type, it departs from what is published first.

    >>> departures(COCO.with_options(max_detections=[1, 10, 300]))
    ['max_detections']
    """
    published = PUBLISHED.get(protocol.name)
    if published is None:
        return []
    if protocol.iou_type in published.iou_types:
        published = published.variant(protocol.iou_type)
    as_published = published.choices()
    changed = [name for name, choice in protocol.choices().items() if choice != as_published[name]]
    return [OPTIONS.get(name, name) for name in changed]

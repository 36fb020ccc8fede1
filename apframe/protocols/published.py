"""All published protocols by name, and where an evaluation departs from one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from apframe.exceptions import ParameterError, by_name
from apframe.listing import Listing
from apframe.protocols.coco import COCO
from apframe.protocols.given import OPTIONS
from apframe.protocols.protocol import Protocol
from apframe.similarity.named import as_iou_type
from apframe.wording import spelled

_TABLE = {  # the module of each protocol, and what it is for
    "COCO": ("coco", "objects, masks, keypoints and boundaries; the usual choice"),
    "VOC2007": ("voc", "PASCAL VOC 2007: 11 recall levels, IoU 0.5"),
    "VOC2012": ("voc", "PASCAL VOC 2010 and later: every recall level, IoU 0.5"),
    "LVIS": ("lvis", "many categories, each annotated in some images only"),
    "OPEN_IMAGES": ("open_images", "Open Images: category hierarchy, boxes of groups"),
    "OPEN_IMAGES_CHALLENGE": ("open_images", "Open Images challenges: verified labels, groups count once"),
    "PROPOSALS": ("proposals", "recall of proposals without categories"),
    "DOTA": ("dota", "rotated boxes in aerial images"),
    "ACTIVITYNET": ("activitynet", "actions as time intervals of videos"),
    "CROWDPOSE": ("crowdpose", "keypoints of people in crowds"),
    "BDD100K": ("bdd100k", "boxes and instance masks of driving scenes, ten classes"),
    "KITTI": ("kitti", "cars, pedestrians and cyclists: in images, from above, in space"),
    "NUSCENES": ("nuscenes", "cuboids by distance: AP, five errors, NDS"),
    "WAYMO": ("waymo", "vehicles, pedestrians, signs, cyclists: in space, from above, in images"),
    "ARGOVERSE2": ("argoverse2", "cuboids by distance: AP, three errors, CDS"),
    "CITYPERSONS": ("citypersons", "pedestrians by height and visible share: log-average miss rate"),
    "CALTECH": ("citypersons", "as CITYPERSONS, for Caltech's data"),
    "EUROCITY": ("citypersons", "pedestrians by height and occlusion: log-average miss rate"),
    "WIDER_FACE": ("wider_face", "faces: easy, medium, hard; scores in 1,000 steps"),
    "CROWDHUMAN": ("crowdhuman", "people in crowds: AP, log-average miss rate, Jaccard index"),
    "TINYPERSON": ("tinyperson", "people of a few pixels: AP at IoU .25, .5, .75 by size"),
    "COCO_PANOPTIC": ("panoptic", "panoptic quality of segments: PQ, SQ, RQ, also of boundaries"),
    "CITYSCAPES_PANOPTIC": ("panoptic", "the same for Cityscapes"),
    "SEMANTIC": ("semantic", "IoU of the pixels of each class: mIoU, fwIoU, accuracies"),
    "DOTA_V1": ("dota", "what DOTA's devkit prints for v1.0: 15 classes"),
    "DOTA_V15": ("dota", "what DOTA's devkit prints for v1.5: 16 classes"),
    "MMROTATE": ("dota", "what mmrotate prints for DOTA"),
    "VISDRONE": ("visdrone", "objects from drones, ten classes; as its toolkit prints them"),
    "VISDRONE_MEAN": ("visdrone", "VisDrone with the plain mean over classes"),
    "ULTRALYTICS": ("ultralytics", "what Ultralytics prints from 8.4.176 on: mAP50-95, mAP50"),
    "ULTRALYTICS_8_4_175": ("ultralytics", "what Ultralytics prints from 8.4.37 up to 8.4.175"),
    "ULTRALYTICS_8_4_35": ("ultralytics", "what Ultralytics prints up to 8.4.36"),
    "THUMOS14": ("thumos14", "actions as time intervals: each interval takes its best detection"),
    "AVA": ("ava", "actions of people in frames of videos: frame mAP at IoU 0.5"),
    "LUNA16": ("luna16", "nodules in scans: mean sensitivity (CPM) of the FROC curve"),
    "VISUAL_GENOME": ("visual_genome", "relations of two boxes: R@20, R@50, R@100; also of phrases"),
    "VISUAL_GENOME_MEAN": ("visual_genome", "the mean over relations: mR@20, mR@50, mR@100"),
    "FLICKR30K": ("flickr30k", "boxes of phrases: Success@1, @5, @10, which papers call R@k"),
    "REFCOCO": ("flickr30k", "the box of a referring expression: accuracy at IoU 0.5"),
}


class Published(Mapping[str, Protocol]):
    """The published protocols by name, each imported when it is asked for.

    >>> "KITTI" in PUBLISHED, PUBLISHED["KITTI"].name, len(list(PUBLISHED)) == len(PUBLISHED)
    (True, 'KITTI', True)
    """

    def __getitem__(self, name: str) -> Protocol:
        module, _ = _TABLE[name]
        protocol: Protocol = getattr(import_module(f"apframe.protocols.{module}"), name)
        return protocol

    def __contains__(self, name: object) -> bool:
        return name in _TABLE

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLE)

    def __len__(self) -> int:
        return len(_TABLE)


PUBLISHED = Published()


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
    rows = [(name.lower(), ", ".join(each.iou_types), _TABLE[name][1], each.citation) for name, each in PUBLISHED.items()]
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
        return PUBLISHED[by_name("protocol", value, {name.lower(): name for name in PUBLISHED})]
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

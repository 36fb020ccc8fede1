"""The protocols of the core: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import (
    CATEGORIES,
    DIFFICULT,
    ELSEWHERE,
    LVIS_FOUND,
    LVIS_TRUTH,
    MASKS,
    MASKS_FOUND,
    ONE_HIT,
    ONE_OF_TWO,
    SQUARE,
    VERIFIED,
    Hand,
    at,
    found,
    points,
    truth_of,
)

PEOPLE = truth_of([
    at(1, 1, bbox=[0, 0, 40, 60], area=1600, keypoints=points(17), num_keypoints=17),
    at(2, 1, bbox=[0, 0, 40, 60], area=1600, keypoints=points(17), num_keypoints=17),
    at(2, 1, bbox=[0, 0, 40, 60], area=1600, keypoints=[0] * 51, num_keypoints=0),
], categories=CATEGORIES[:1])  # fmt: skip
ANIMALS = truth_of(
    [at(1, 2, bbox=SQUARE), at(1, 2, bbox=ELSEWHERE, iscrowd=1), at(2, 3, bbox=SQUARE)],
    VERIFIED["images"],
    [{"id": 1, "name": "animal"}, {"id": 2, "name": "cat", "parent_ids": [1]}, {"id": 3, "name": "car"}],
)
ANIMALS_FOUND = [
    found(1, 2, 0.9, bbox=SQUARE),
    found(1, 2, 0.8, bbox=[60, 60, 10, 10]),  # in the group of cats
    found(1, 1, 0.7, bbox=SQUARE),  # a cat is an animal
    found(1, 3, 0.9, bbox=SQUARE),  # nobody has looked for cars on image 1
    found(2, 3, 0.8, bbox=SQUARE),
]


HAND: dict[str, Hand] = {
    "coco": ("coco", {}, ONE_OF_TWO, ONE_HIT, {"AP": 0.5, "AP50": 0.5, "APs": None, "APm": 0.5, "AR1": 0.5}),
    # 1000 of 1600 pixels: three of ten thresholds
    "coco segm": ("coco", {"iou_type": "segm"}, MASKS, MASKS_FOUND, {"AP": 0.65, "AP50": 1.0, "AP75": 0.5, "APm": 0.65}),
    "coco boundary": ("coco", {"iou_type": "boundary"}, MASKS, MASKS_FOUND[:1], {"AP": 0.5, "AR100": 0.5}),
    # half of two: precision 1 at 51 of 101 levels
    "coco keypoints": (
        "coco", {"iou_type": "keypoints"}, PEOPLE, [found(1, 1, 0.9, keypoints=points(17))],
        {"AP": 51 / 101, "AP50": 51 / 101, "AR": 0.5, "AR75": 0.5, "APl": None},
    ),
    "voc2007": ("voc2007", {}, DIFFICULT, ONE_HIT, {"AP": 0.5}),
    "voc2012": ("voc2012", {}, DIFFICULT, ONE_HIT, {"AP": 0.5}),
    "lvis": (
        "lvis", {}, LVIS_TRUTH, LVIS_FOUND,
        {"AP": 2.5 / 3, "AP50": 2.5 / 3, "APr": 1.0, "APc": 1.0, "APf": 0.5, "APm": 2.5 / 3, "AR300": 1.0},
    ),
    "open_images": ("open_images", {}, ANIMALS, ANIMALS_FOUND, {"AP": 2.5 / 3}),  # cars: one false before one true,
    # the group counts: 2 of 2 cats, 1 of 2 animals; the car on image 1 is not judged
    "open_images_challenge": ("open_images_challenge", {}, ANIMALS, ANIMALS_FOUND, {"AP": (1 + 0.5 + 1) / 3}),
    "proposals": (
        "proposals", {}, ONE_OF_TWO, ONE_HIT,
        {"AR100": 0.5, "AR1000": 0.5, "ARs": None, "ARm": 0.5, "AR_96-128": None},
    ),
}  # fmt: skip

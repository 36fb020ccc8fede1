"""Tiny data that hand cases of several protocols share."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Hand = tuple[str, Json, Json, list[Json], dict[str, float | None]]
"""A case by hand: protocol, options, ground truth, results, and some of the numbers."""
SQUARE = [0, 0, 40, 40]
ELSEWHERE = [50, 50, 40, 40]
OUTLINE = [[0, 0, 40, 0, 40, 40, 0, 40]]  # of SQUARE
PART = [[0, 0, 40, 0, 40, 25, 0, 25]]  # five eighths of it
IMAGES = [{"id": 1, "width": 100, "height": 100, "weather": "fog"}, {"id": 2, "width": 100, "height": 100, "weather": "clear"}]
CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]


def truth_of(annotations: list[Json], images: list[Json] = IMAGES, categories: list[Json] = CATEGORIES) -> Json:
    """Ground truth, its annotations numbered from 11."""
    numbered = [{"id": number} | row for number, row in enumerate(annotations, 11)]
    return {"images": images, "categories": categories, "annotations": numbered}


def at(image: int, category: int, **shape: Any) -> Json:
    return {"image_id": image, "category_id": category} | shape


def found(image: int, category: int, score: float, **shape: Any) -> Json:
    return at(image, category, score=score, **shape)


def points(number: int, shift: float = 0) -> list[float]:
    """Keypoints on a slant, all visible."""
    return [value for k in range(number) for value in (k + shift, 2 * k + shift, 2)]


# One hit, one miss, and what the protocol treats in a way of its own.
ONE_OF_TWO = truth_of([at(1, 1, bbox=SQUARE, area=1600), at(2, 2, bbox=SQUARE, area=1600)])
VERIFIED = ONE_OF_TWO | {"images": [image | {"neg_category_ids": []} for image in IMAGES]}  # for protocols that ask who looked
ONE_HIT = [found(1, 1, 0.9, bbox=SQUARE), found(2, 2, 0.8, bbox=ELSEWHERE)]
DIFFICULT = truth_of([at(1, 1, bbox=SQUARE), at(2, 2, bbox=SQUARE), at(2, 2, bbox=ELSEWHERE, ignore=1)])
MASKS = truth_of(
    [at(1, 1, bbox=SQUARE, segmentation=OUTLINE, area=1600), at(2, 2, bbox=SQUARE, segmentation=OUTLINE, area=1600)]
)
MASKS_FOUND = [found(1, 1, 0.9, segmentation=OUTLINE), found(2, 2, 0.8, segmentation=PART)]
LVIS_TRUTH = truth_of(
    [at(1, 1, bbox=SQUARE, area=1600), at(2, 2, bbox=SQUARE, area=1600), at(2, 3, bbox=SQUARE, area=1600),
     at(2, 3, bbox=ELSEWHERE, area=1600, ignore=1)],
    [IMAGES[0] | {"neg_category_ids": [3], "not_exhaustive_category_ids": []},
     IMAGES[1] | {"neg_category_ids": [], "not_exhaustive_category_ids": [2]}],
    [{"id": 1, "name": "cat", "frequency": "r"}, {"id": 2, "name": "dog", "frequency": "c"},
     {"id": 3, "name": "bird", "frequency": "f"}],
)  # fmt: skip
LVIS_FOUND = [
    found(1, 1, 0.9, bbox=SQUARE),
    found(2, 2, 0.95, bbox=ELSEWHERE),  # the dogs of image 2 are not all annotated: ignored
    found(2, 2, 0.8, bbox=SQUARE),
    found(1, 2, 0.99, bbox=SQUARE),  # nobody has looked for dogs on image 1: left out
    found(1, 3, 0.9, bbox=SQUARE),  # it was verified that there is no bird: false
    found(2, 3, 0.8, bbox=SQUARE),
    found(2, 3, 0.7, bbox=ELSEWHERE),  # its annotation is ignored
]


def cuboids(names: tuple[str, ...]) -> Json:
    """An object of each class, one behind the other, with all that the protocols of nuScenes and Argoverse 2 read."""
    further = {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5, "cuboid_yaw": 0.5, "velocity_x": 1.0,
               "velocity_y": 0.0, "attribute": "moving", "ego_distance": 9.0, "n_points": 5, "in_rack": 0,
               "in_region": 1}  # fmt: skip
    rows = [at(1, k, cuboid_x=9.0 * k, cuboid_y=0.0, cuboid_z=0.0, **further) for k in range(1, len(names) + 1)]
    return truth_of(rows, categories=[{"id": k, "name": name} for k, name in enumerate(names, 1)])


def without_ids(rows: list[Json]) -> list[Json]:
    return [{name: value for name, value in row.items() if name not in ("id", "n_points")} | {"score": 0.5} for row in rows]


PERFECT = 1 / (1 + 1e-6)  # the Jaccard index of one person who is found
MARK = {"sphere_x": 10.0, "sphere_y": 20.0, "sphere_z": 30.0}
RIDING = {f"{side}_{name}": value for side in ("subject", "object")
          for name, value in zip(("x", "y", "width", "height"), SQUARE, strict=True)}  # fmt: skip
RIDING |= {"subject_name": "man", "object_name": "horse"}

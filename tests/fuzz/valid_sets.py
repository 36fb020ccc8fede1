"""Tiny valid data sets and results of every format, which the mutations begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apframe as apf
from apframe.formats.catalogue import FORMATS
from tests.fuzz.read_only_sets import write_by_hand

_POLYGON = "[[4.0,4.0,24.0,4.0,24.0,20.0,4.0,20.0]]"
_TEXT, _LIST = '{"size":[48,64],"counts":"T3d0l0000\\\\h2"}', '{"size":[48,64],"counts":[100,20,28,20,28,20,2856]}'
_BOX = {"x": [4.0, 10.0, 3.0], "y": [4.0, 2.0, 3.0], "width": [20.0, 20.0, 9.0], "height": [16.0, 20.0, 9.0]}
_SHAPES: dict[str, dict[str, list[Any]]] = {
    "box": _BOX,
    "polygon": _BOX | {"mask": [_POLYGON, _POLYGON, _POLYGON]},
    "mask": _BOX | {"mask": [_TEXT, _TEXT, _POLYGON]},
    "runs": _BOX | {"mask": [_LIST, _LIST, _LIST]},
    "keypoints": _BOX | {"keypoints": [[4.0, 4.0, 2.0, 20.0, 18.0, 1.0], [9.0, 9.0, 2.0, 0.0, 0.0, 0.0], [5.0, 6.0, 2.0] * 2]},
    "corners": {"corners": [[4.0, 4.0, 24.0, 4.0, 24.0, 20.0, 4.0, 20.0], [20.0, 2.0, 30.0, 12.0, 20.0, 22.0, 10.0, 12.0]] * 2},
    "angle": _BOX | {"angle": [0.5, 0.0, -0.25]},
    "cuboid": {
        "cuboid_x": [3.0, 0.0, -20.5],
        "cuboid_y": [1.0, 0.0, 7.0],
        "cuboid_z": [0.0, 1.0, 0.5],
        "cuboid_length": [4.0, 0.5, 9.0],
        "cuboid_width": [2.0, 0.5, 2.5],
        "cuboid_height": [1.5, 1.75, 3.0],
        "cuboid_yaw": [0.0, 3.0, -1.5],
    },
    "interval": {"start_time": [0.5, 4.0, 1.0], "end_time": [2.5, 9.0, 3.0]},
}
_ATTRIBUTES = {"weather": ["rain", None, "sun"], "n": [1, 2, 3], "is_crowd": [False, False, False], "flag": [True, None, False]}
_ANY = ("box", "mask", "keypoints", "corners", "interval", "cuboid")
SHAPES = {
    "coco": ("box", "mask", "runs", "keypoints"), "lvis": ("box", "mask"), "voc": ("box",),
    "yolo": ("box", "polygon", "keypoints"), "open_images": ("box",), "cvat": ("box", "polygon", "mask", "angle"),
    "label_studio": ("box", "polygon", "mask", "keypoints", "angle"), "kitti": ("box",), "dota": ("corners", "box"),
    "activitynet": ("interval",), "boxes": ("box",), "parquet": _ANY, "arrow": _ANY,
    "hugging_face": ("box", "mask"), "csv": ("box",),
    **{name: ("box",) for name, each in FORMATS.items() if not each.writable},
}  # fmt: skip
"""The shapes of objects whose files are mutated, by format."""
_ENDINGS = {
    "parquet": ".parquet",
    "hugging_face": ".parquet",
    "arrow": ".arrow",
    "cvat": ".xml",
    "open_images": ".csv",
    "csv": ".csv",
}
IOU_TYPES = {"mask": "segm", "runs": "segm", "polygon": "segm", "keypoints": "keypoints"}


def write_valid(name: str, shape: str, folder: Path) -> tuple[Path, Path]:
    """A data set and its results in this format, whose objects have this shape; their paths."""
    if not FORMATS[name].writable:
        return write_by_hand(name, folder)
    lists = {"neg_category_ids": [[2], [1]], "not_exhaustive_category_ids": [[], [1]], "scene": ["a", "b"]}
    images = {"image_id": [1, 2], "file_name": ["one.jpg", "two.jpg"], "image_width": [64, 64], "image_height": [48, 48]}
    categories = {"category_id": [1, 2], "name": ["cat", "dog"], "supercategory": ["animal"] * 2, "frequency": ["c", "r"]}
    categories |= {"parent_ids": [[2], []]}
    ids = {"image_id": [1, 1, 2], "category_id": [1, 2, 1]}
    objects = {column: values[:3] for column, values in _SHAPES[shape].items()}
    dataset = apf.Dataset(images | lists, categories, ids | objects | _ATTRIBUTES)
    detections = ids | {"score": [0.9, 0.75, 0.5]} | objects
    ending, format_ = _ENDINGS.get(name, ".json"), FORMATS[name]
    truth = folder / ("truth" + ending * (format_.kinds_of("dataset")[0] == "file"))
    results = folder / ("found" + ending * (format_.kinds_of("results")[0] == "file"))
    apf.write_dataset(dataset, truth, name)
    apf.write_results(detections, results, name, dataset=dataset)
    return truth, results

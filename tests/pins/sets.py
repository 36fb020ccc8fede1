"""A small generated set for every protocol and variant, and a few images of `data/` for those that have some there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import apframe as apf
from tests.conformance.makers import Maker, Tables
from tests.conformance.rows import SETS

DATA = Path(__file__).parents[2] / "data"
SEED = 35


STREET = ("street/instances.json", "street/model_a.json")
KITTI = ("driving/kitti/label_2", "driving/kitti/model_a")
WALKING = ("people/walkers_val.json", "people/walkers_a.json")
FROM_ABOVE = ("aerial/visdrone/annotations", "aerial/visdrone/results")
FILES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("COCO bbox", "VOC2007", "VOC2012", "PROPOSALS", "BDD100K bbox"), STREET),
    **{f"{name} bbox": STREET for name in apf.PUBLISHED if name.startswith("ULTRALYTICS")},
    "KITTI": KITTI,
    "NUSCENES": ("driving/scenes", "driving/model_b.json"),
    **dict.fromkeys(("CITYPERSONS", "CALTECH"), WALKING),
    "WIDER_FACE": ("people/faces/ground_truth", "people/faces/results"),
    "CROWDHUMAN": ("people/crowd_val.odgt", "people/crowd_results.odgt"),
    **dict.fromkeys(
        ("COCO_PANOPTIC", "CITYSCAPES_PANOPTIC"), ("segments/panoptic/truth.json", "segments/panoptic/model_a.json")
    ),
    "SEMANTIC": ("segments/semantic/truth", "segments/semantic/model_a"),
    **dict.fromkeys(("DOTA", "DOTA_V1", "DOTA_V15", "MMROTATE"), ("aerial/dota/labelTxt", "aerial/dota/results")),
    **dict.fromkeys(("VISDRONE", "VISDRONE_MEAN"), FROM_ABOVE),
    **dict.fromkeys(("THUMOS14", "ACTIVITYNET"), ("video/thumos14/annotation", "video/thumos14/model_a.txt")),
    "AVA": ("video/ava/truth", "video/ava/model_a.csv"),
    "LUNA16": ("medical/luna16/annotations", "medical/luna16/model_a.csv"),
    **dict.fromkeys(("VISUAL_GENOME", "VISUAL_GENOME_MEAN"), ("relations/truth.json", "relations/model_a.json")),
    **dict.fromkeys(("FLICKR30K", "REFCOCO"), ("relations/phrases.json", "relations/phrases_found.json")),
}
N_IMAGES = 12
# of images, categories, annotations and detections: the column, and its values one after the other
KEYS = (("fold", ("a", "b", None)), ("family", ("p", "q")), ("tag", ("x", "y")), ("tag", ("x", "y", None)))

# settings that no published protocol has: another name for the variant, and the options
OTHERS: dict[str, dict[str, dict[str, Any]]] = {
    "COCO bbox": {
        "bbox pooled": {"agnostic": True, "max_detections": [1, 10, None]},
        "bbox optimal": {"matching": "optimal"},
    },
    "VOC2012 bbox": {"bbox at .3 and .5": {"iou_thresholds": [0.3, 0.5]}},
    **{key: {"bbox of three detections": {"max_detections": [3]}} for key in ("LVIS bbox", "ULTRALYTICS bbox")},
    "ARGOVERSE2 distance": {"distance of three detections": {"max_detections": [3]}},
    "LUNA16 sphere": {"sphere of three detections": {"max_detections": [3]}},
    "KITTI bbox": {"bbox at 11 positions": {"recall_positions": 11}},
    "WAYMO 3d": {"3d by score": {"matching": "score_first"}},
}


def cases(name: str, folder: Path) -> Iterator[tuple[str, str, Callable[[], apf.Evaluation]]]:
    """Of a protocol: every variant or other setting, each with its sets, and what evaluates one."""
    for label in apf.PUBLISHED[name].iou_types:
        variant = f"{name} {label}"
        for setting, options in {label: {}, **OTHERS.get(variant, {})}.items():
            options = {"protocol": name, "iou_type": label, **options}
            files = next((FILES[key] for key in (f"{name} {setting}", variant, name) if key in FILES), None)
            generate = partial(maker_of(name, label, setting), np.random.default_rng(SEED), folder)
            yield setting, "generated", partial(_evaluated, generate, options)
            if files:
                paths = [DATA / each for each in files]
                yield setting, "data", partial(_evaluated, partial(_first_images, *paths), options)
                yield setting, "files", partial(apf.evaluate, *paths, **options)


def _first_images(truth: Path, found: Path) -> Tables:
    dataset = apf.read_dataset(truth)
    images = dataset.images.head(N_IMAGES)
    kept = pl.col("image_id").is_in(images["image_id"].implode())
    detections = apf.read_results(found, dataset=dataset).filter(kept)
    return apf.Dataset(images, dataset.categories, dataset.annotations.filter(kept)), detections


def keyed(dataset: apf.Dataset, found: pl.DataFrame) -> Tables:
    """The tables with a key of the images, of the categories and of the objects, and a weight of the images."""
    tables = zip(KEYS, (dataset.images, dataset.categories, dataset.annotations, found), strict=True)
    frames = [
        frame.with_columns(pl.Series(key, [values[row % len(values)] for row in range(frame.height)], pl.String))
        for (key, values), frame in tables
    ]
    images = frames[0].with_columns(weight=0.25 + pl.int_range(pl.len()) % 3)
    return apf.Dataset(images, *frames[1:3]), frames[3]


def maker_of(name: str, iou_type: str, setting: str) -> Maker:
    """What makes the set of a protocol, a variant or a setting."""
    keys = (f"{name} {setting}", f"{name} {iou_type}", name)
    return next(SETS[key] for key in keys if key in SETS)


def _evaluated(make: Callable[[], Tables], options: dict[str, Any]) -> apf.Evaluation:
    dataset, detections = keyed(*make())
    return apf.evaluate(dataset, detections, **options)

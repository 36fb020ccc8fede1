"""A small generated set for every protocol and variant, and a few images of `data/` for those that have some there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import apframe as apf
from tests.benchmarks.aerial.dota import test_protocol as test_dota
from tests.benchmarks.aerial.visdrone import row as visdrone
from tests.benchmarks.driving.bdd100k import test_protocol as test_bdd100k
from tests.benchmarks.driving.driving_boxes import generated as cuboids
from tests.benchmarks.driving.kitti import test_protocol as test_kitti
from tests.benchmarks.driving.waymo import test_protocol as test_waymo
from tests.benchmarks.medical.luna16 import test_protocol as test_luna16
from tests.benchmarks.people.citypersons import test_protocol as test_citypersons
from tests.benchmarks.people.crowdhuman import test_protocol as test_crowdhuman
from tests.benchmarks.people.crowdpose import test_protocol as test_crowdpose
from tests.benchmarks.people.tinyperson import test_protocol as test_tinyperson
from tests.benchmarks.people.wider_face import test_protocol as test_wider_face
from tests.benchmarks.pixels.panoptic import panoptic_maps
from tests.benchmarks.pixels.semantic import test_protocol as test_semantic
from tests.benchmarks.relations.flickr30k import test_protocol as test_flickr30k
from tests.benchmarks.relations.visual_genome import test_protocol as test_visual_genome
from tests.benchmarks.trainers.ultralytics import test_protocol as test_ultralytics
from tests.benchmarks.video.activitynet import test_protocol as test_activitynet
from tests.benchmarks.video.ava import test_protocol as test_ava
from tests.benchmarks.video.thumos14 import test_protocol as test_thumos14
from tests.protocols import generated, test_lvis, test_open_images, test_open_images_masks, test_optimal, test_proposals

Tables = tuple[apf.Dataset, pl.DataFrame]
Maker = Callable[[np.random.Generator, Path], Tables]

DATA = Path(__file__).parents[2] / "data"
SEED = 35


def _with_copies(dataset: apf.Dataset, found: pl.DataFrame) -> Tables:
    """The tables with copies of some annotations and detections: equal similarities, equal scores."""
    annotations, found = dataset.annotations, found.drop("detection_id", strict=False)
    copies = annotations.gather_every(3).with_columns(pl.int_range(1, pl.len() + 1).alias("annotation_id") + annotations.height)
    dataset = apf.Dataset(dataset.images, dataset.categories, pl.concat([annotations, copies]))
    return dataset, pl.concat([found, found.gather_every(4)])


def _coco(make: Callable[[np.random.Generator, int], Any], n_images: int) -> Maker:
    """Of a maker of COCO's rows."""

    def made(random: np.random.Generator, _: Path) -> Tables:
        truth, results = make(random, n_images)
        return _with_copies(apf.read_coco(truth, masks=True), apf.read_coco_results(results))

    return made


def _rows(make: Callable[[np.random.Generator, int], Any], n_images: int, names: Any, **of_images: Any) -> Maker:
    """Of a maker of annotations and detections, or of the images with the annotations, and detections."""

    def made(random: np.random.Generator, _: Path) -> Tables:
        truth, found = make(random, n_images)
        if isinstance(truth, list):
            ids = sorted({row["image_id"] for row in [*truth, *found]})
            truth = {"images": [{"image_id": key} for key in ids], "annotations": truth}
        images = [row | of_images if isinstance(row, dict) else {"image_id": row} for row in truth["images"]]
        categories = {
            "category_id": list(names),
            "name": [str(names[key]) if isinstance(names, dict) else str(key) for key in names],
        }
        tables = [pl.DataFrame(rows, infer_schema_length=None) for rows in (images, truth["annotations"], found)]
        return _with_copies(apf.Dataset(tables[0], categories, tables[1]), tables[2])

    return made


def _in_a_hierarchy(random: np.random.Generator, n_images: int) -> Any:
    truth, results = test_open_images.verified(random, n_images)
    truth["categories"][1]["parent_ids"] = [1]
    return truth, results


def _group_masks(random: np.random.Generator, _: Path) -> Tables:
    return _with_copies(*test_open_images_masks.tables(*test_open_images_masks.some_masks(random, 10)))


def _scalabel(iou_type: str) -> Maker:
    def made(random: np.random.Generator, folder: Path) -> Tables:
        parts = [test_bdd100k.generated(random, iou_type) for _ in range(6)]
        for side, file in enumerate(("truth.json", "found.json")):
            frames = [frame | {"name": f"{part}_{frame['name']}"} for part, sides in enumerate(parts) for frame in sides[side]]
            (folder / file).write_text(json.dumps(frames))
        dataset = apf.read_dataset(folder / "truth.json", "scalabel", masks=True)
        return dataset, apf.read_results(folder / "found.json", "scalabel", dataset=dataset)

    return made


def _in_euro_city(random: np.random.Generator, n_sets: int) -> Any:
    parts = [test_citypersons.in_euro_city(int(random.integers(100))) for _ in range(n_sets)]
    return [
        [row | {"image_id": f"{part}_{row['image_id']}"} for part, sides in enumerate(parts) for row in sides[side]]
        for side in range(2)
    ]


def _kitti_cuboids(random: np.random.Generator, n_images: int) -> Any:
    truth, found = test_kitti.generated(random, n_images)
    return test_kitti.with_cuboids(random, truth), test_kitti.with_cuboids(random, found)


def _waymo_cuboids(random: np.random.Generator, n_images: int) -> Any:
    """At different heights."""
    sides = test_waymo.generated(random, n_images)
    return [[row | {"cuboid_z": float(random.normal(0, 0.05))} for row in rows] for rows in sides]


def _waymo_boxes(random: np.random.Generator, n_images: int) -> Any:
    """The boxes of the cuboids from above, for images."""
    places = {"x": "cuboid_x", "y": "cuboid_y", "width": "cuboid_length", "height": "cuboid_width"}
    sides = test_waymo.generated(random, n_images)
    return [[row | {name: 20 * row[place] for name, place in places.items()} for row in rows] for rows in sides]


def _segments(random: np.random.Generator, folder: Path) -> Tables:
    evaluation = panoptic_maps.evaluate(folder, panoptic_maps.generated(int(random.integers(100))))
    return evaluation.dataset, evaluation.detections


def _pixels(random: np.random.Generator, folder: Path) -> Tables:
    sides = zip(("truth", "found"), test_semantic.generated(int(random.integers(100))), strict=True)
    truth, found = (test_semantic.write(folder / name, maps) for name, maps in sides)
    dataset = apf.read_dataset(truth)
    return dataset, apf.read_results(found, dataset=dataset)


def _driving(names: list[str]) -> Maker:
    return _rows(lambda random, n: cuboids(random, names, n, 8), 6, names)


ROTATED = _rows(test_dota.rotated, 6, dict(zip(test_dota.CATEGORIES, test_dota.CLASSES, strict=True)))
RELATIONS = _rows(test_visual_genome.scenes, 6, test_visual_genome.RELATIONS)
PHRASES = _rows(test_flickr30k.phrases, 8, [1])
WALKERS = _rows(test_citypersons.generated, 8, {1: "pedestrian"})
SIZES = {"image_width": test_crowdhuman.WIDTH, "image_height": test_crowdhuman.HEIGHT}
GENERATED: dict[str, Maker] = {
    "COCO bbox": _coco(generated.boxes, 8),
    "COCO segm": _coco(generated.masks, 10),
    "COCO boundary": _coco(generated.masks, 10),
    "COCO keypoints": _coco(generated.people, 12),
    "COCO bbox optimal": _coco(test_optimal.crowded, 8),
    "VOC2007": _coco(generated.boxes, 8),
    "VOC2012": _coco(generated.boxes, 8),
    "LVIS bbox": _coco(test_lvis.federated_boxes, 8),
    "LVIS segm": _coco(test_lvis.federated_masks, 10),
    "LVIS boundary": _coco(test_lvis.federated_masks, 10),
    "OPEN_IMAGES bbox": _coco(_in_a_hierarchy, 8),
    "OPEN_IMAGES segm": _group_masks,
    "OPEN_IMAGES_CHALLENGE bbox": _coco(_in_a_hierarchy, 8),
    "OPEN_IMAGES_CHALLENGE segm": _group_masks,
    "PROPOSALS": _coco(test_proposals.of_categories, 6),
    "ACTIVITYNET": _rows(test_activitynet.videos, 8, test_activitynet.ACTIVITIES),
    "CROWDPOSE": _coco(test_crowdpose.in_all_parts, 6),
    "BDD100K bbox": _scalabel("bbox"),
    "BDD100K segm": _scalabel("segm"),
    "KITTI bbox": _rows(test_kitti.generated, 24, test_kitti.TYPES),
    **dict.fromkeys(("KITTI bev", "KITTI 3d"), _rows(_kitti_cuboids, 24, test_kitti.TYPES)),
    "NUSCENES": _driving(["car", "barrier", "traffic_cone"]),
    "ARGOVERSE2": _driving(["REGULAR_VEHICLE", "BUS", "DOG"]),
    **dict.fromkeys(("WAYMO 3d", "WAYMO bev"), _rows(_waymo_cuboids, 12, [*test_waymo.SHORT])),
    "WAYMO bbox": _rows(_waymo_boxes, 12, [*test_waymo.SHORT]),
    **dict.fromkeys(("CITYPERSONS", "CALTECH"), WALKERS),
    "EUROCITY": _rows(_in_euro_city, 3, {1: "pedestrian"}),
    "WIDER_FACE": _rows(test_wider_face.generated, 16, {1: "face"}),
    "CROWDHUMAN": _rows(test_crowdhuman.generated, 8, {1: "person"}, **SIZES),
    "TINYPERSON": _rows(test_tinyperson.scenes, 12, {1: "person"}),
    **dict.fromkeys(("COCO_PANOPTIC", "CITYSCAPES_PANOPTIC"), _segments),
    "SEMANTIC": _pixels,
    **dict.fromkeys(("DOTA", "DOTA_V1", "DOTA_V15", "MMROTATE"), ROTATED),
    **dict.fromkeys(("VISDRONE", "VISDRONE_MEAN"), _coco(visdrone.scenes, 8)),
    **{f"{name} bbox": _coco(test_ultralytics.scenes, 8) for name in apf.PUBLISHED if name.startswith("ULTRALYTICS")},
    **{f"{name} segm": _coco(generated.masks, 5) for name in apf.PUBLISHED if name.startswith("ULTRALYTICS")},
    "THUMOS14": _rows(test_thumos14.videos, 8, [*test_thumos14.ACTIONS, test_thumos14.AMBIGUOUS]),
    "AVA": _rows(test_ava.frames, 8, test_ava.ACTIONS),
    "LUNA16": _rows(test_luna16.scans, 8, ["nodule"]),
    **dict.fromkeys(("VISUAL_GENOME", "VISUAL_GENOME_MEAN"), RELATIONS),
    **dict.fromkeys(("FLICKR30K", "REFCOCO"), PHRASES),
}

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
    return next(GENERATED[key] for key in keys if key in GENERATED)


def _evaluated(make: Callable[[], Tables], options: dict[str, Any]) -> apf.Evaluation:
    dataset, found = keyed(*make())
    return apf.evaluate(dataset, found, **options)

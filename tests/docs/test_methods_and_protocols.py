"""The page says which method gives a number, a null or an error by which protocol. Calling them all fills in its tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ApframeError
from tests.parity.families import _at, _category, _image
from tests.protocols.rules_of import classes_of

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "methods_and_protocols.md"
Row = dict[str, Any]
Method = Callable[[apf.Evaluation, apf.Evaluation, float], pl.DataFrame]
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::apframe.exceptions.{name}")
    for name in (
        "FewResamplesWarning",
        "MissingColumnWarning",
        "NoAnnotationsWarning",
        "NothingMatchesWarning",
        "ResampledWarning",
    )
]
N_IMAGES = 30
NAMES = {
    "street": ("Car", "Pedestrian", "Cyclist", "Truck"),
    "walkers": ("pedestrian", "rider", "group", "region"),
    "faces": ("face", "mask", "drawing", "statue"),
    "people in crowds": ("person", "mask", "statue", "group"),
    "roads": ("TYPE_VEHICLE", "TYPE_PEDESTRIAN", "TYPE_CYCLIST", "TYPE_SIGN"),
}
_GIVEN = ("iou_threshold", "min_score", "score", "score_a", "score_b")
_NOT_CORRECTED = ("bias",)  # null where a number is not corrected for it

# family, whose scenes are evaluated, and options
PROTOCOLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "COCO, boxes": ("boxes", "coco", {}),
    "COCO, masks": ("masks", "coco", {"iou_type": "segm"}),
    "COCO, boundaries": ("boundaries", "coco", {"iou_type": "boundary"}),
    "COCO, keypoints": ("people", "coco", {"iou_type": "keypoints"}),
    "VOC2007": ("boxes", "voc2007", {}),
    "VOC2012": ("boxes", "voc2012", {}),
    "LVIS": ("lvis", "lvis", {}),
    "OPEN_IMAGES": ("open images", "open_images", {}),
    "OPEN_IMAGES_CHALLENGE": ("open images", "open_images_challenge", {}),
    "DOTA": ("rotated", "dota", {}),
    "DOTA_V1": ("rotated", "dota_v1", {"category_map": {"thing 1": "ship", "thing 2": "plane"}}),
    "DOTA_V15": ("rotated", "dota_v15", {"category_map": {"thing 1": "ship", "thing 2": "plane"}}),
    "MMROTATE": ("rotated", "mmrotate", {}),
    "ACTIVITYNET": ("intervals", "activitynet", {}),
    "CROWDPOSE": ("crowds", "crowdpose", {}),
    "BDD100K": (
        "boxes",
        "bdd100k",
        {"category_map": {"thing 1": "car", "thing 2": "bus", "thing 3": "truck", "thing 4": "rider"}},
    ),
    "KITTI": ("street", "kitti", {}),
    "WAYMO": ("roads", "waymo", {"iou_type": "bbox"}),
    "NUSCENES": ("scenes", "nuscenes", {}),
    "ARGOVERSE2": ("sweeps", "argoverse2", {}),
    "CITYPERSONS": ("walkers", "citypersons", {}),
    "CALTECH": ("walkers", "caltech", {}),
    "EUROCITY": ("walkers", "eurocity", {}),
    "WIDER_FACE": ("faces", "wider_face", {}),
    "CROWDHUMAN": ("people in crowds", "crowdhuman", {}),
    "TINYPERSON": ("boxes", "tinyperson", {}),
    "COCO_PANOPTIC": ("segments", "coco_panoptic", {}),
    "CITYSCAPES_PANOPTIC": ("segments", "cityscapes_panoptic", {}),
    "SEMANTIC": ("segments", "semantic", {}),
    "ULTRALYTICS": ("boxes", "ultralytics", {}),
    "ULTRALYTICS_8_4_175": ("boxes", "ultralytics_8_4_175", {}),
    "ULTRALYTICS_8_4_35": ("boxes", "ultralytics_8_4_35", {}),
    "VISDRONE": (
        "boxes",
        "visdrone",
        {"category_map": {"thing 1": "car", "thing 2": "bus", "thing 3": "van", "thing 4": "truck"}},
    ),
    "VISDRONE_MEAN": (
        "boxes",
        "visdrone_mean",
        {"category_map": {"thing 1": "car", "thing 2": "bus", "thing 3": "van", "thing 4": "truck"}},
    ),
    "THUMOS14": (
        "intervals",
        "thumos14",  # at .5 and not at .1, up to where errors take an overlap for background
        {
            "iou_thresholds": [0.5],
            "category_map": {"thing 1": "Diving", "thing 2": "HighJump", "thing 3": "PoleVault", "thing 4": "Shotput"},
        },
    ),
    "AVA": ("boxes", "ava", {}),
    "LUNA16": ("nodules", "luna16", {}),
    "VISUAL_GENOME": ("relations", "visual_genome", {}),
    "VISUAL_GENOME_MEAN": ("relations", "visual_genome_mean", {}),
    "FLICKR30K": ("boxes", "flickr30k", {}),
    "REFCOCO": ("boxes", "refcoco", {}),
    "PROPOSALS": ("boxes", "proposals", {}),
    "any, with `agnostic=True`": ("boxes", "coco", {"agnostic": True}),
}
MODELS = ("model_a", "model_b")
METHODS: dict[str, Method] = {
    "errors": lambda ev, _, t: ev.errors(t),
    "error_impact": lambda ev, _, t: ev.error_impact(t),
    "label_errors": lambda ev, _, t: ev.label_errors(t, min_score=0.1),
    "confusion": lambda ev, _, t: ev.confusion(t),
    "confusion_pairs": lambda ev, _, t: ev.confusion_pairs(t),
    "thresholds": lambda ev, _, t: ev.thresholds(t),
    "operating_points": lambda ev, _, t: ev.operating_points("f1", t),
    "at": lambda ev, _, t: ev.at(0.5, t).overall,
    "lrp": lambda ev, _, t: ev.lrp(t),
    "miss_rates": lambda ev, _, t: ev.miss_rates(t),
    "froc": lambda ev, _, t: ev.froc(t),
    "calibration": lambda ev, _, t: ev.calibration(t),
    "reliability": lambda ev, _, t: ev.reliability(t),
    "intervals": lambda ev, _, __: ev.intervals(metrics=first(ev), n_resamples=40),
    "compare": lambda ev, other, _: ev.compare(other, metrics=first(ev), n_resamples=40),
    "changes": lambda ev, other, t: ev.changes(other, t),
}


def first(ev: apf.Evaluation) -> str:
    name: str = ev.summary["metric"][0]
    return name


def scene(family: str) -> tuple[dict[str, list[Row]], list[Row]]:
    """In every image: objects found, missed, found badly, twice, as another category, and something found where nothing is."""
    kind = {"crowds": "people"} | dict.fromkeys((*NAMES, "scenes", "sweeps", "nodules", "relations"), "boxes")
    kind = kind.get(family, family)
    objects = [(1, 0, 0), (2, 2, 1), (2, 8, 0), (4, 3, 2), (3, 1, 0)]
    scored = [(1, 0, 0, 0.9), (1, 0, 1, 0.8), (4, 2, 0, 0.7), (2, 0, 2, 0.6), (4, 3, 2, 0.5), (1, 3, 0, 0.2), (1, 20, 0, 0.4)]
    scored.append((2, 10, 0, 0.55))
    truth: dict[str, list[Row]] = {
        "images": [_image(number, kind) | {"width": 99, "height": 99} for number in range(1, N_IMAGES + 1)],
        "categories": [_category(number, kind) for number in (1, 2, 3, 4)],
        "annotations": [],
    }
    results: list[Row] = []
    for image in range(1, N_IMAGES + 1):
        truth["annotations"] += [_at((image, *each), kind) for each in objects[: 3 + image % 3]]
        results += [_at((image, *each), kind) | {"score": score - image / 1000} for *each, score in scored[image % 2 :]]
    truth["annotations"] = [row | {"id": k, "iscrowd": 0, "area": 144} for k, row in enumerate(truth["annotations"], 1)]
    if family == "crowds":
        for row in (*truth["annotations"], *results):
            row["keypoints"] = row["keypoints"][: 3 * 14]
        truth["images"] = [row | {"crowdIndex": 0.5} for row in truth["images"]]
    if family in NAMES:
        names = NAMES[family]
        truth["categories"] = [{"id": number, "name": name} for number, name in enumerate(names, 1)]
        for row in (*truth["annotations"], *results):  # boxes are so low otherwise that none counts
            row |= {"bbox": [5 * side for side in row["bbox"]], "occluded": 0, "truncated": 0.0, "alpha": 0.0, "level": 1}
            row |= {"vis_ratio": 0.9, "occlusion": 0.0, "truncation": 0.0, "easy": True, "medium": True, "hard": True}
    if family in ("scenes", "sweeps"):
        names = classes_of({"scenes": apf.NUSCENES, "sweeps": apf.ARGOVERSE2}[family]).names
        truth["categories"] = [{"id": number, "name": name} for number, name in enumerate(names, 1)]
        for row in (*truth["annotations"], *results):
            x, y, *_ = row.pop("bbox")
            size = {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5, "cuboid_yaw": 0.0}
            row |= {"cuboid_x": x / 8, "cuboid_y": y / 8, "cuboid_z": 0.0} | size
    if family == "nodules":
        for row in (*truth["annotations"], *results):
            x, y, width, _ = row.pop("bbox")
            row |= {"sphere_x": float(x), "sphere_y": float(y), "sphere_z": 0.0, "sphere_diameter": float(width)}
    if family == "relations":
        for row in (*truth["annotations"], *results):
            box = dict(zip(("x", "y", "width", "height"), row.pop("bbox"), strict=True))
            row |= {f"{side}_{edge}": float(value) for side in ("subject", "object") for edge, value in box.items()}
            row |= {"subject_name": "man", "object_name": "horse"}
    return truth, results


def pair_of(family: str, protocol: str, options: dict[str, Any]) -> tuple[apf.Evaluation, apf.Evaluation, float]:
    """Two models, and the lowest threshold."""
    if family == "segments":
        folder = PAGE.parents[2] / "data" / "segments" / ("semantic" if protocol == "semantic" else "panoptic")
        ending = "" if protocol == "semantic" else ".json"
        one, other = (apf.evaluate(*[folder / f"{name}{ending}" for name in ("truth", model)], protocol) for model in MODELS)
        return one, other, one.protocol.iou_thresholds[0]
    truth, results = scene(family)
    in_some = [row for row in results if row["image_id"] < N_IMAGES]  # so that no number is 1
    one, other = (apf.evaluate(truth, rows, protocol, **options) for rows in (in_some, results[::2]))
    return one, other, one.protocol.iou_thresholds[0]


def outcome(method: Method, *given: Any) -> str:
    """A cell of the table: the type of the error, or the columns of values that have none but nulls."""
    try:
        table = method(*given)
    except ApframeError as error:
        return type(error).__name__
    values = [name for name, dtype in table.schema.items() if dtype == pl.Float64 and name not in _GIVEN + _NOT_CORRECTED]
    values += [name for name in ("proposed_category_id",) if name in table.columns]
    assert values and table.height
    nulls = [f"`{name}`" for name in values if table[name].null_count() == table.height]
    return f"{', '.join(nulls)} null" if nulls else "number"


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    part = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in part.splitlines() if line.startswith("|")]
    return [lines[0], *lines[2:]]


@pytest.mark.slow
def test_every_method_by_every_protocol() -> None:
    pytest.importorskip("shapely", reason="rotated boxes are compared with shapely")
    head, *rows = rows_of("Which protocol, which method?")
    columns = [[name.strip("` ") for name in cell.split(",")] for cell in head[1:]]
    assert [name for names in columns for name in names] == list(METHODS)
    expected = []
    for label, (family, protocol, options) in PROTOCOLS.items():
        pair = pair_of(family, protocol, options)
        cells = [{outcome(METHODS[name], *pair) for name in names} for names in columns]
        assert all(len(cell) == 1 for cell in cells), (label, cells)  # methods of one column agree
        name = label if label.startswith("any") else f"`{label.split(',')[0]}`{label[len(label.split(',')[0]) :]}"
        expected.append([name, *(cell.pop() for cell in cells)])
    assert {apf.PUBLISHED[protocol.upper()] for _, protocol, _ in PROTOCOLS.values()} == set(apf.PUBLISHED.values())
    assert rows == expected, "\n" + "\n".join(f"| {' | '.join(row)} |" for row in expected)


def evaluated(**options: Any) -> apf.Evaluation:
    return apf.evaluate(*scene("boxes"), **options)


def without(table: str) -> apf.Evaluation:
    truth, results = scene("boxes")
    return apf.evaluate(truth | {"annotations": []}, results) if table == "annotations" else apf.evaluate(truth, results[:0])


def logits() -> apf.Evaluation:
    truth, results = scene("boxes")
    return apf.evaluate(truth, [row | {"score": row["score"] * 10} for row in results])


def other_keypoints() -> apf.Evaluation:
    truth, results = scene("people")
    for category in truth["categories"]:
        category["keypoints"] = [f"{category['name']} {joint}" for joint in range(17)]
    return apf.evaluate(truth, results, iou_type="keypoints")


def few_images() -> apf.Evaluation:
    truth, results = scene("boxes")
    images = truth["images"][:4]
    kept = [[row for row in rows if row["image_id"] <= 4] for rows in (truth["annotations"], results)]
    return apf.evaluate(truth | {"images": images, "annotations": kept[0]}, kept[1])


# what the data is like, by the words of the page: an evaluation and a call
SITUATIONS: dict[tuple[str, str], Callable[[], pl.DataFrame]] = {
    ("no annotations", "ev.error_impact(0.5)"): lambda: without("annotations").error_impact(0.5),
    ("no annotations", "ev.miss_rates(0.5)"): lambda: without("annotations").miss_rates(0.5),
    ("no annotations", "ev.froc(0.5)"): lambda: without("annotations").froc(0.5),
    ("no detections", "ev.calibration(0.5)"): lambda: without("detections").calibration(0.5),
    ("no detections", "ev.operating_points(\"f1\", 0.5)"): lambda: without("detections").operating_points("f1", 0.5),
    ("scores outside [0, 1]", "ev.calibration(0.5)"): lambda: logits().calibration(0.5),
    ("scores outside [0, 1]", "ev.thresholds(0.5)"): lambda: logits().thresholds(0.5),
    ("a threshold that was not evaluated", "ev.errors(0.3)"): lambda: evaluated().errors(0.3),
    ("a threshold that was not evaluated", "ev.calibration(1e-9)"): lambda: evaluated().calibration(1e-9),
    ("`background` not below the threshold", "ev.errors(0.5, background=0.5)"): lambda: evaluated().errors(background=0.5),
    ("keypoints of other names in each category", "ev.errors(0.5)"): lambda: other_keypoints().errors(0.5),
    ("keypoints of other names in each category", "ev.confusion(0.5)"): lambda: other_keypoints().confusion(0.5),
    ("fewer than ten images", "ev.intervals(metrics=\"AP\")"): lambda: few_images().intervals(metrics="AP"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("always::apframe.exceptions.CategoriesNotComparedWarning")
def test_what_depends_on_the_data() -> None:
    _, *rows = rows_of("What depends on the data?")
    expected = []
    for (situation, call), compute in SITUATIONS.items():
        with warnings.catch_warnings(record=True) as caught:
            cell = outcome(lambda *_, compute=compute: compute())
        names = sorted({warning.category.__name__ for warning in caught} & {"CategoriesNotComparedWarning"})
        expected.append([situation, f"`{call}`", ", ".join([cell, *names])])
    assert [row[:3] for row in rows] == expected, "\n" + "\n".join(f"| {' | '.join(row)} |" for row in expected)

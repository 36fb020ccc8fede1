"""Tiny valid data sets and results of formats that are read only, written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.benchmarks.driving.argoverse2.sweeps import sweep, write_feather, write_log
from tests.benchmarks.driving.nuscenes.scenes import Objects, box, tables, write_results, write_tables
from tests.benchmarks.people.crowdhuman.odgt import write_lines
from tests.benchmarks.people.wider_face.wider import write_results as write_faces
from tests.benchmarks.people.wider_face.wider import write_text
from tests.formats.folders import written

_CORNERS, _TRIANGLE = [[4.0, 4.0], [24.0, 20.0]], [[10, 2], [30, 2], [10, 22]]


def write_by_hand(name: str, folder: Path) -> tuple[Path, Path]:
    """A data set and its results in this format; their paths."""
    writers = {"labelme": _labelme, "labelbox": _labelbox, "supervisely": _supervisely, "nuscenes": _nuscenes}
    writers |= {"argoverse2": _argoverse2, "scalabel": _scalabel, "wider_face": _wider_face, "crowdhuman": _crowdhuman}
    writers |= {"yolo_labels": _yolo_labels, "ultralytics_ndjson": _ultralytics_ndjson}
    writers |= {"coco_panoptic": _panoptic, "label_maps": _label_maps}
    writers |= {"visdrone": _visdrone}
    writers |= {"ava": _ava, "thumos14": _thumos14}
    writers |= {"luna16": _luna16, "table": _table}
    return writers[name](folder)


def _yolo_labels(folder: Path) -> tuple[Path, Path]:
    truth = {"classes.txt": "cat\ndog\n", "labels/one.txt": "1 .5 .5 .2 .4\n0 .1 .1 .5 .1 .5 .5\n", "labels/two.txt": "",
             "image_sizes.csv": "file_name,image_width,image_height\none.jpg,64,48\ntwo.jpg,64,48\n"}  # fmt: skip
    return written(folder / "truth", truth), written(folder / "found", {"one.txt": "1 .5 .5 .2 .4 .9\n"})


def _ultralytics_ndjson(folder: Path) -> tuple[Path, Path]:
    rows: list[dict[str, Any]] = [
        {"type": "dataset", "task": "detect", "name": "pets", "class_names": {"0": "cat", "1": "dog"}}
    ]
    for name, boxes in (("one", [[1, 0.5, 0.5, 0.2, 0.4]]), ("two", [[0, 0.1, 0.1, 0.5, 0.1, 0.5, 0.5]])):
        image = {"type": "image", "file": f"{name}.jpg", "width": 64, "height": 48, "split": "val"}
        rows.append(image | {"annotations": {"boxes": boxes}})
    written(folder, {"truth.ndjson": "\n".join(map(json.dumps, rows))})
    return folder / "truth.ndjson", written(folder / "found", {"one.txt": "1 .5 .5 .2 .4 .9\n"})


def _visdrone(folder: Path) -> tuple[Path, Path]:
    rows = {"one.txt": "4,4,20,16,1,4,0,0\n10,2,20,20,1,9,0,1\n1,30,9,9,0,0,0,0\n", "two.txt": "4,4,20,16,0,4,0,0,\n"}
    results = {"one.txt": "4,4,20,16,0.5,4,-1,-1\n", "two.txt": "4,4,20,16,0.75,4,-1,-1\n"}
    return written(folder / "truth", rows), written(folder / "found", results)


def _table(folder: Path) -> tuple[Path, Path]:
    rows = [{"file": "one.jpg", "label": "cat", "x": 4, "y": 4, "w": 20, "h": 16, "night": True}, {"file": "two.jpg"}]
    lines = [json.dumps(row) for row in (rows[0], rows[0] | {"label": "dog"}, rows[1])]
    detections = {"image_id": "one", "category_id": "cat", "bbox": [4, 4, 20, 16], "score": 0.5}
    written(folder, {"truth.jsonl": "\n".join(lines) + "\n", "found.jsonl": json.dumps(detections) + "\n"})
    return folder / "truth.jsonl", folder / "found.jsonl"


def _luna16(folder: Path) -> tuple[Path, Path]:
    header = "seriesuid,coordX,coordY,coordZ,"
    files = {"annotations.csv": f"{header}diameter_mm\n1.3.6,1.5,2,-3,8.5\n", "seriesuids.csv": "1.3.6\n1.3.7\n",
             "annotations_excluded.csv": f"{header}diameter_mm\n1.3.7,1,2,3,-1\n"}  # fmt: skip
    written(folder, {"found.csv": f"{header}probability\n1.3.6,1,2,-3,0.75\n1.3.7,9,9,9,0.5\n"})
    return written(folder / "truth", files), folder / "found.csv"


def _wider_face(folder: Path) -> tuple[Path, Path]:
    faces = {"event/one": [((4, 4, 20, 16), ())], "event/two": [((3, 3, 9, 9), ())]}
    truth = write_text(folder / "truth.txt", faces)
    return truth, write_faces(folder / "found", {"event/one": [(4, 4, 20, 16, 0.9), (10, 2, 20, 20, 0.75)], "event/two": []})


def _crowdhuman(folder: Path) -> tuple[Path, Path]:
    person = {"tag": "person", "fbox": [4, 4, 20, 16], "vbox": [4, 4, 20, 8], "extra": {"ignore": 0}}
    truth = [{"ID": "one", "gtboxes": [person, person | {"tag": "mask"}]}, {"ID": "two", "gtboxes": []}]
    boxes = [{"box": [4, 4, 20, 16], "score": 0.9, "tag": 1}]
    results = [{"ID": name, "width": 64, "height": 48, "dtboxes": boxes} for name in ("one", "two")]
    return write_lines(folder / "truth.odgt", truth), write_lines(folder / "found.odgt", results)


def _ava(folder: Path) -> tuple[Path, Path]:
    truth = "clip,0902,0.1,0.1,0.5,0.9,12,1\nclip,0902,0.1,0.1,0.5,0.9,14,1\nclip,0903\n"
    written(folder, {"truth.csv": truth, "found.csv": "clip,0902,0.1,0.1,0.5,0.8,12,0.75\nclip,0903,0.1,0.1,0.5,0.8,14,0.5\n"})
    return folder / "truth.csv", folder / "found.csv"


def _thumos14(folder: Path) -> tuple[Path, Path]:
    files = {"Diving_test.txt": "video_1 0.5 9.5\nvideo_2 3 4\n", "Ambiguous_test.txt": "video_1 20 30\n"}
    written(folder, {"found.txt": "video_1 0 9 26 0.75\nvideo_2 1 2 Diving 0.5\n"})
    return written(folder / "truth", files), folder / "found.txt"


def _labelme(folder: Path) -> tuple[Path, Path]:
    def image(name: str, **more: Any) -> str:
        shapes = [
            {"label": "cat", "points": _CORNERS, "group_id": None, "shape_type": "rectangle", "flags": {}, **more},
            {"label": "dog", "points": _TRIANGLE, "group_id": 1, "shape_type": "polygon", "flags": {}, **more},
        ]
        head = {"version": "5", "flags": {}, "shapes": shapes, "imagePath": name, "imageData": None}
        return json.dumps(head | {"imageHeight": 48, "imageWidth": 64})

    truth = written(folder / "truth", {"one.json": image("one.jpg"), "two.json": image("two.jpg")})
    return truth, written(folder / "found", {"one.json": image("one.jpg", score=0.5)})


def _labelbox(folder: Path) -> tuple[Path, Path]:
    box = {"top": 4, "left": 4, "height": 16, "width": 20}
    objects = [{"name": "cat", "annotation_kind": "ImageBoundingBox", "bounding_box": box}]
    objects += [{"name": "dog", "polygon": [{"x": x, "y": y} for x, y in _TRIANGLE]}]
    rows = [
        {
            "data_row": {"id": f"r{name}", "external_id": f"{name}.jpg"},
            "media_attributes": {"height": 48, "width": 64},
            "projects": {"p": {"labels": [{"annotations": {"objects": objects}}]}},
        }
        for name in ("one", "two")
    ]
    detections = [{"image_id": "one", "category_id": "cat", "bbox": [4, 4, 20, 16], "score": 0.5}]
    files = {"truth.ndjson": "\n".join(map(json.dumps, rows)), "found.json": json.dumps(detections)}
    written(folder, files)
    return folder / "truth.ndjson", folder / "found.json"


def _supervisely(folder: Path) -> tuple[Path, Path]:
    def image(*tags: dict[str, Any]) -> str:
        shapes = (("rectangle", _CORNERS, "cat"), ("polygon", _TRIANGLE, "dog"))
        objects = [
            {"classTitle": title, "geometryType": kind, "points": {"exterior": points, "interior": []}, "tags": list(tags)}
            for kind, points, title in shapes
        ]
        image_tags = [{"name": "scene", "value": "street"}, {"name": "cloudy", "value": None}]
        return json.dumps({"tags": image_tags, "size": {"height": 48, "width": 64}, "objects": objects})

    meta = json.dumps({"classes": [{"title": "cat"}, {"title": "dog"}], "tags": []})
    truth = written(folder / "truth", {"meta.json": meta, "ds/ann/one.jpg.json": image(), "ds/ann/two.jpg.json": image()})
    scored = image({"name": "confidence", "value": 0.5})
    return truth, written(folder / "found", {"meta.json": meta, "ds/ann/one.jpg.json": scored})


def _nuscenes(folder: Path) -> tuple[Path, Path]:
    samples = {"t1": ("scene-0103", 10.0, (100.0, 50.0)), "t2": ("scene-0103", 10.5, (103.0, 54.0))}
    objects: Objects = [
        ("t1", "i1", "vehicle.car", (110.0, 50.0, 1.0), {"yaw": 0.5, "attribute": "vehicle.moving"}),
        ("t1", "i2", "vehicle.bicycle", (100.0, 60.0, 1.0), {}),
        ("t1", "i3", "static_object.bicycle_rack", (100.0, 60.0, 1.0), {}),
        ("t2", "i1", "vehicle.car", (111.0, 52.0, 1.0), {}),
    ]
    results = {"t1": [box("t1", "car", 0.5, (110.0, 51.0, 1.0), attribute="vehicle.moving")], "t2": []}
    return write_tables(folder / "truth", tables(samples, objects)), write_results(folder / "found.json", results)


def _argoverse2(folder: Path) -> tuple[Path, Path]:
    rows = [sweep(10, "BUS", (3.0, 4.0, 0.0), num_interior_pts=7), sweep(20, "SIGN", (1.0, 2.0, 2.0), num_interior_pts=0)]
    detections = [sweep(10, "BUS", (3.0, 4.0, 0.5), log_id="log", score=0.5)]
    return write_log(folder / "truth", "log", rows).parent, write_feather(folder / "found.feather", detections)


def _panoptic(folder: Path) -> tuple[Path, Path]:
    """The label maps are the same for both sides."""
    pixels = np.zeros((48, 64, 3), dtype=np.uint8)
    pixels[4:20, 4:24, 0], pixels[22:40, 10:30, 1] = 7, 1
    segments: list[dict[str, Any]] = [{"id": 7, "category_id": 1}, {"id": 256, "category_id": 2}]
    truth = [each | {"area": area, "iscrowd": 0} for each, area in zip(segments, (320, 360), strict=True)]
    written(folder, {})
    for name in ("truth", "found"):
        (folder / name).mkdir(parents=True)
        for image in ("one", "two"):
            Image.fromarray(pixels).save(folder / name / f"{image}.png")
    files = {
        name: [{"image_id": k, "file_name": f"{image}.png", "segments_info": listed} for k, image in ((1, "one"), (2, "two"))]
        for name, listed in (("truth", truth), ("found", segments))
    }
    images = [{"id": k, "file_name": f"{k}.jpg", "width": 64, "height": 48, "scene": "a"} for k in (1, 2)]
    categories = [{"id": 1, "name": "cat", "isthing": 1}, {"id": 2, "name": "dog", "isthing": 0}]
    whole = {"images": images, "categories": categories, "annotations": files["truth"]}
    written(folder, {"truth.json": json.dumps(whole), "found.json": json.dumps({"annotations": files["found"]})})
    return folder / "truth.json", folder / "found.json"


def _label_maps(folder: Path) -> tuple[Path, Path]:
    pixels = np.zeros((48, 64), dtype=np.uint8)
    pixels[4:20, 4:24], pixels[40:] = 1, 255
    for name in ("truth", "found"):
        (folder / name).mkdir(parents=True)
        for image in ("one", "two"):
            Image.fromarray(pixels).save(folder / name / f"{image}.png")
    written(folder, {"truth/classes.txt": "cat\ndog\n"})
    return folder / "truth", folder / "found"


def _scalabel(folder: Path) -> tuple[Path, Path]:
    rle = {"size": [48, 64], "counts": "T3d0l0000\\\\h2"}
    flags = {"occluded": True, "crowd": False}
    labels = [{"id": "1", "category": "car", "attributes": flags, "rle": rle}, {"id": "2", "category": "van", "rle": rle}]
    frames = [{"name": "one.jpg", "attributes": {"weather": "rain"}, "labels": labels}, {"name": "two.jpg", "labels": None}]
    box = {"x1": 4.0, "y1": 4.0, "x2": 23.0, "y2": 19.0}
    detections = [{"name": "one.jpg", "labels": [{"id": "1", "category": "car", "score": 0.5, "box2d": box}]}]
    config = {"imageSize": {"width": 64, "height": 48}, "categories": [{"name": "car"}, {"name": "van"}]}
    written(folder, {"truth.json": json.dumps({"frames": frames, "config": config}), "found.json": json.dumps(detections)})
    return folder / "truth.json", folder / "found.json"

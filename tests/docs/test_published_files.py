"""Each command of the guide's table evaluates the files of a data set as its makers publish them, at the first try."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import apframe as apf
from tests.benchmarks.driving.argoverse2.sweeps import sweep, write_feather, write_log
from tests.benchmarks.driving.nuscenes.scenes import Objects, box, write_results, write_tables
from tests.benchmarks.driving.nuscenes.scenes import tables as scenes
from tests.cli.test_rank import apframe
from tests.formats.folders import written
from tests.fuzz.valid_sets import write_valid

ROOT = Path(__file__).parents[2]
DATA = ROOT / "data"
PAGE = (ROOT / "docs" / "guides" / "formats.md").read_text()
ROWS = re.findall(r"^\| ([^|]+?) \| `apframe eval ([^`]+)` \|$", PAGE, re.MULTILINE)
LABEL = "Car 0.00 0 1.5 100 100 200 200 1.5 1.6 3.9 1.0 1.6 20.0 1.5"
STREET = DATA / "street"


def copied(folder: Path, pairs: dict[str, Path]) -> None:
    """The same for names that have dots and slashes."""
    for name, source in pairs.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)


def coco(folder: Path) -> None:
    copied(
        folder, {"annotations/instances_val2017.json": STREET / "instances.json", "detections.json": STREET / "model_a.json"}
    )


def images_of_some(folder: Path) -> None:
    coco(folder)
    names = apf.read_dataset(STREET / "instances.json").images["file_name"].head(100).to_list()
    written(folder, {"minival.txt": "\n".join(names)})


def lvis(folder: Path) -> None:
    truth, detections = write_valid("lvis", "box", folder / "made")
    copied(folder, {"lvis_v1_val.json": truth, "detections.json": detections})


def voc(folder: Path) -> None:
    street = apf.read_dataset(STREET / "instances.json")
    apf.write_dataset(street, folder / "VOCdevkit" / "VOC2007", "voc")
    (folder / "VOCdevkit/VOC2007/ImageSets/Main/all.txt").rename(folder / "VOCdevkit/VOC2007/ImageSets/Main/test.txt")
    apf.write_results(apf.read_results(STREET / "model_a.json"), folder / "made", "voc", dataset=street)
    for file in (folder / "made").iterdir():
        copied(folder, {f"results/VOC2007/Main/comp4_det_test_{file.name.split('_')[-1]}": file})


def open_images(folder: Path) -> None:
    truth, detections = write_valid("open_images", "box", folder / "made")
    copied(folder, {"open_images": truth, "detections.csv": detections})


def ultralytics(folder: Path) -> None:
    for name in ("000000000009", "000000000025"):
        for kind, content in (("images", b""), ("labels", b"1 0.5 0.5 0.25 0.5\n")):
            place = folder / "datasets" / "coco8" / kind / "val"
            place.mkdir(parents=True, exist_ok=True)
            if kind == "images":
                Image.new("RGB", (640, 480)).save(place / f"{name}.jpg")
            else:
                (place / f"{name}.txt").write_bytes(content)
    classes = "\n".join(f"  {number}: {name}" for number, name in enumerate(("person", "bicycle")))
    boxes = [
        {"image_id": number, "file_name": f"{number:012}.jpg", "category_id": 2, "bbox": [240, 120, 160, 240], "score": 0.9}
        for number in (9, 25)
    ]
    files = {"coco8.yaml": f"path: coco8 # dataset root dir\ntrain: images/train\nval: images/val\ntest:\nnames:\n{classes}\n"}
    files |= {"runs/detect/val/predictions.json": json.dumps(boxes)}
    files |= {f"runs/detect/val/labels/{number:012}.txt": "1 0.5 0.5 0.25 0.5 0.9\n" for number in (9, 25)}
    written(folder, files)


def kitti(folder: Path) -> None:
    copied(folder, {"kitti/training/label_2": DATA / "driving/kitti/label_2", "results/data": DATA / "driving/kitti/model_a"})
    names = sorted(file.stem for file in (folder / "kitti/training/label_2").iterdir())
    written(folder, {"kitti/ImageSets/val.txt": "\n".join(names[1::2]), "kitti/ImageSets/train.txt": "\n".join(names[::2])})
    for name in names[::2]:
        (folder / "results/data" / f"{name}.txt").unlink(missing_ok=True)


def nuscenes(folder: Path) -> None:
    samples = {"t1": ("scene-0103", 10.0, (100.0, 50.0)), "t2": ("scene-0916", 10.5, (103.0, 54.0))}
    objects: Objects = [("t1", "i1", "vehicle.car", (110.0, 50.0, 1.0), {"attribute": "vehicle.moving"})]
    results = {"t1": [box("t1", "car", 0.5, (110.0, 50.0, 1.0), attribute="vehicle.moving")], "t2": []}
    write_tables(folder / "nuscenes" / "v1.0-mini", scenes(samples, objects))
    write_results(folder / "results_nusc.json", results)
    for name in ("maps", "samples", "sweeps"):
        (folder / "nuscenes" / name).mkdir()


def argoverse(folder: Path) -> None:
    write_log(folder / "av2" / "val", "log", [sweep(10, "BUS", (3.0, 4.0, 0.0), num_interior_pts=7)])
    write_feather(folder / "detections.feather", [sweep(10, "BUS", (3.0, 4.0, 0.5), log_id="log", score=0.5)])


def bdd(folder: Path) -> None:
    box = {"x1": 4.0, "y1": 4.0, "x2": 23.0, "y2": 19.0}
    label = {"id": "1", "category": "car", "attributes": {"occluded": True}, "score": None, "box2d": box}
    frames = [{"name": "one.jpg", "attributes": {"weather": "rain"}, "labels": [label]}, {"name": "two.jpg", "labels": None}]
    detections = [{"name": "one.jpg", "labels": [label | {"score": 0.5}]}]
    written(folder, {"bdd100k/labels/det_20/det_val.json": json.dumps(frames), "results.json": json.dumps(detections)})


def wider(folder: Path) -> None:
    copied(folder, {"eval_tools/ground_truth": DATA / "people/faces/ground_truth", "pred": DATA / "people/faces/results"})


def crowdhuman(folder: Path) -> None:
    copied(folder, {"annotation_val.odgt": DATA / "people/crowd_val.odgt", "results.odgt": DATA / "people/crowd_results.odgt"})


def citypersons(folder: Path) -> None:
    copied(folder, {"val_gt.json": DATA / "people/walkers_val.json", "val_dt.json": DATA / "people/walkers_a.json"})


def dota(folder: Path) -> None:
    copied(folder, {"DOTA/val/labelTxt": DATA / "aerial/dota/labelTxt", "Task1": DATA / "aerial/dota/results"})
    copied(folder, {"DOTA/train/labelTxt": DATA / "aerial/dota/labelTxt"})
    (folder / "DOTA/val/images").mkdir()


def visdrone(folder: Path) -> None:
    copied(folder, {"VisDrone2019-DET-val/annotations": DATA / "aerial/visdrone/annotations"})
    copied(folder, {"results": DATA / "aerial/visdrone/results"})
    (folder / "VisDrone2019-DET-val/images").mkdir()


def thumos(folder: Path) -> None:
    copied(folder, {"TH14_Temporal_annotations_test/annotation": DATA / "video/thumos14/annotation"})
    annotation = folder / "TH14_Temporal_annotations_test/annotation"
    for file in list(annotation.glob("*_test.txt")):
        (annotation / file.name.replace("_test", "_val")).write_text("video_validation_0000051 1 2\n")
    written(annotation, {"detclasslist.txt": "7 BaseballPitch\n", "readme.txt": "Annotation files\n"})
    lines = (DATA / "video/thumos14/model_a.txt").read_text().splitlines()
    named = [re.sub(r"^(\S+)", r"\1.mpeg", line) for line in lines]
    written(folder, {"detections.txt": "\n".join(named)})


def activitynet(folder: Path) -> None:
    truth, detections = write_valid("activitynet", "interval", folder / "made")
    copied(folder, {"activity_net.v1-3.min.json": truth, "detections.json": detections})


def ava(folder: Path) -> None:
    copied(folder, {"ava": DATA / "video/ava/truth", "detections.csv": DATA / "video/ava/model_a.csv"})


def luna(folder: Path) -> None:
    copied(
        folder,
        {
            "evaluationScript/annotations": DATA / "medical/luna16/annotations",
            "results.csv": DATA / "medical/luna16/model_a.csv",
        },
    )


def panoptic(folder: Path) -> None:
    source = DATA / "segments/panoptic"
    copied(
        folder, {"annotations/panoptic_val2017": source / "truth", "annotations/panoptic_val2017.json": source / "truth.json"}
    )
    copied(folder, {"predictions": source / "model_a", "predictions.json": source / "model_a.json"})


def cityscapes(folder: Path) -> None:
    labels = np.full((8, 16), 7, dtype=np.uint8)
    labels[:, 8:] = 26
    for split, city in (("train", "aachen"), ("val", "frankfurt")):
        name, place = f"{city}_000000_000294", folder / "gtFine" / split / city
        place.mkdir(parents=True)
        Image.fromarray(labels).save(place / f"{name}_gtFine_labelIds.png")
        Image.fromarray(labels.astype(np.uint16) * 1000).save(place / f"{name}_gtFine_instanceIds.png")
        Image.fromarray(np.zeros((8, 16, 4), np.uint8)).save(place / f"{name}_gtFine_color.png")
        (place / f"{name}_gtFine_polygons.json").write_text('{"imgHeight": 8, "imgWidth": 16, "objects": []}')
    (folder / "results").mkdir()
    Image.fromarray(labels).save(folder / "results" / "frankfurt_000000_000294_leftImg8bit.png")


def crowdpose(folder: Path) -> None:
    joints: list[Any] = [float(number) for joint in range(14) for number in (10 * joint, 5 * joint, 2)]
    person = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 140, 70], "area": 9800, "num_keypoints": 14}
    truth = {
        "images": [{"id": 1, "file_name": "1.jpg", "crowdIndex": 0.5}],
        "categories": [{"id": 1, "name": "person"}],
        "annotations": [person | {"keypoints": joints, "iscrowd": 0}],
    }
    detections = [{"image_id": 1, "category_id": 1, "score": 0.9, "keypoints": joints}]
    written(folder, {"crowdpose_test.json": json.dumps(truth), "keypoints.json": json.dumps(detections)})


def tables(folder: Path) -> None:
    street = apf.read_dataset(STREET / "instances.json")
    names = street.categories.select("category_id", label="name")
    rows = street.annotations.select("image_id", "category_id", "x", "y", "width", "height", "area", "is_crowd")
    rows.join(names, on="category_id").drop("category_id").write_parquet(folder / "annotations.parquet")
    detections = apf.read_results(STREET / "model_a.json").join(names, on="category_id").drop("category_id", "detection_id")
    detections.filter(pl.col("image_id").is_in(rows["image_id"].unique().implode())).write_parquet(
        folder / "detections.parquet"
    )


LAYOUTS: dict[str, Callable[[Path], None]] = {
    "COCO": coco, "COCO, some images": images_of_some, "LVIS": lvis, "PASCAL VOC": voc, "Open Images": open_images,
    "Ultralytics, JSON": ultralytics, "Ultralytics, text": ultralytics, "KITTI": kitti, "nuScenes": nuscenes,
    "Argoverse 2": argoverse, "BDD100K": bdd, "WIDER FACE": wider, "CrowdHuman": crowdhuman,
    "CityPersons": citypersons, "CrowdPose": crowdpose, "DOTA": dota, "VisDrone": visdrone, "THUMOS14": thumos,
    "ActivityNet": activitynet, "AVA": ava, "LUNA16": luna, "COCO panoptic": panoptic, "Cityscapes": cityscapes,
    "Tables": tables,
}  # fmt: skip


def test_every_row_of_the_table_is_tried() -> None:
    assert [name for name, _ in ROWS] == list(LAYOUTS)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "arguments"), ROWS, ids=[name for name, _ in ROWS])
def test_files_are_evaluated_at_the_first_try(
    name: str, arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command ends well, and its numbers are not all zero."""
    LAYOUTS[name](tmp_path)
    monkeypatch.chdir(tmp_path)
    done = apframe("eval", *shlex.split(arguments), "--json")
    assert (done.returncode, done.stderr) == (0, done.stderr)
    numbers = json.loads(done.stdout)
    assert max(value for key, value in numbers.items() if key != "json_version" and value is not None) > 0, numbers

"""Tasks for labelling tools: what is written, in which order, and the way back after an annotator corrected the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.evaluation.diagnose.tasks import LabelErrors, task_dataset
from apframe.exceptions import (
    ColumnError,
    InputError,
    InvalidRowsWarning,
    OutputError,
    ParameterError,
    RowError,
    UnknownIdError,
)
from tests.evaluation.diagnose.test_errors import STREET

NAMES = ['<img onerror="alert(1)">.jpg', "über/it's one.jpg", "untouched.jpg", "seen.jpg"]
DOG, CAT = "dog & <b>", "Kätzchen 'x'"
SIGN = [60.0, 10.0, 12.5, 20.25]  # the box that nobody labelled
NEW = [5.0, 60.0, 10.0, 10.0]  # one that the annotator adds


def tiny() -> apf.Evaluation:
    """Four images: a dog that is labelled as a cat, and twice; an object without a label; and two images without doubts."""
    rows = [(1, 2, CAT, [10, 10, 20, 20]), (2, 2, CAT, [10, 10, 20, 21]), (3, 3, DOG, [1, 1, 9, 9]), (4, 4, DOG, [1, 1, 9, 9])]
    categories = {1: DOG, 2: CAT}
    truth = {
        "images": [{"id": k + 1, "file_name": name, "width": 100, "height": 80} for k, name in enumerate(NAMES)],
        "categories": [{"id": k, "name": name} for k, name in categories.items()],
        "annotations": [
            {"id": k, "image_id": image, "category_id": 1 + (name == CAT), "bbox": box, "iscrowd": 0, "checked": "no"}
            for k, image, name, box in rows
        ],
    }
    scored_boxes = [(2, 1, [10, 10, 20, 20], 0.9), (1, 2, SIGN, 0.8), (3, 1, [1, 1, 9, 9], 0.7), (4, 1, [1, 1, 9, 9], 0.6)]
    detections = [{"image_id": i, "category_id": c, "bbox": b, "score": s} for i, c, b, s in [*scored_boxes, (1, 1, NEW, 0.4)]]
    return apf.evaluate(truth, detections, name="a")


@cache
def street(model: str = "a") -> apf.Evaluation:
    return apf.evaluate(STREET / "instances.json", STREET / f"model_{model}.json")


def test_the_worked_example() -> None:
    evaluation = tiny()
    dataset = task_dataset(evaluation.label_errors(), [evaluation])
    words = [f"duplicate: {CAT}; wrong_class: {CAT}, proposed {DOG}", f"missing, proposed {CAT}"]
    assert dataset.images.select("image_id", "doubts", "original_file_name").rows() == [
        (2, words[0], NAMES[1]),
        (1, words[1], NAMES[0]),
    ]
    columns = ["annotation_id", "image_id", "category_id", "doubt", "suspicion", "proposed", "checked", "is_crowd"]
    assert dataset.annotations.select(columns).rows() == [
        (1, 2, 2, "duplicate, wrong_class", pytest.approx(20 / 21), DOG, "no", False),
        (2, 2, 2, "duplicate", pytest.approx(20 / 21), None, "no", False),
        (5, 1, 2, "missing", 0.8, CAT, None, False),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "images"),
    [
        ([3, 1], [3, 1]),
        (["3", "1"], [3, 1]),
        (pl.Series([4, 4, 1]), [4, 1]),
        ([{"image_id": 3}], [3]),
        (pl.LazyFrame({"image_id": [2], "error": ["loc"], "annotation_id": [1]}), [2]),
        (duckdb.sql("SELECT 4 AS image_id, NULL AS suspicion UNION ALL SELECT 3, 0.5"), [3, 4]),
        ([], []),
    ],
)  # fmt: skip
def test_any_selection(rows: Any, images: list[int], tmp_path: Path) -> None:
    tiny().write_tasks(rows, tmp_path / "tasks.json", "coco")
    assert apf.read_dataset(tmp_path / "tasks.json").images["image_id"].to_list() == images


@pytest.mark.slow
def test_rows_of_other_tables_mark_their_annotations(tmp_path: Path) -> None:
    evaluation = street()
    misses = evaluation.errors().filter(error="miss").head(7)
    evaluation.write_tasks(misses, tmp_path / "tasks.xml")
    marked = apf.read_dataset(tmp_path / "tasks.xml").annotations.drop_nulls("doubt")
    assert set(marked["doubt"]) == {"miss"}
    missed_annotations = evaluation.dataset.annotations.join(misses.select("annotation_id"), on="annotation_id", how="semi")
    assert sorted(marked["x"].round(6).to_list()) == sorted(missed_annotations["x"].round(6).to_list())
    false_negatives = evaluation.matches(0.5).filter(outcome="fn").head(3)
    assert set(task_dataset(false_negatives, [evaluation]).annotations["doubt"].drop_nulls()) == {"fn"}


@pytest.mark.slow
def test_one_detection_for_each_missing_object() -> None:
    evaluations = [street("a"), street("b")]
    parts = [each.label_errors().with_columns(run=pl.lit(name)) for each, name in zip(evaluations, "ab", strict=True)]
    rows = pl.concat(parts).filter(kind="missing")
    added = task_dataset(rows, evaluations, ["a", "b"]).annotations.filter(doubt="missing")
    runs = {name: each.label_errors().filter(kind="missing").height for name, each in zip("ab", evaluations, strict=True)}
    assert max(runs.values()) <= added.height <= sum(runs.values())
    for name, evaluation in zip("ab", evaluations, strict=True):
        boxes = evaluation.detections.select("image_id", "category_id", "x", "y", "width", "height")
        runs[name] = added.join(boxes, on=boxes.columns, how="semi").height
    assert runs["a"] + runs["b"] == added.height


@pytest.mark.slow
def test_two_models_that_agree_add_one_box(tmp_path: Path) -> None:
    evaluation = tiny()
    for name in ("a", "b"):
        evaluation.write_parquet(tmp_path / name)
    errors = apf.scan_runs(f"{tmp_path}/*").label_errors()
    errors.filter(pl.col("kind") != "spurious").write(tmp_path / "tasks.json", "coco")
    assert apf.read_dataset(tmp_path / "tasks.json").annotations["doubt"].to_list() == [
        "duplicate, wrong_class",
        "duplicate",
        "missing",
    ]


@pytest.mark.slow
def test_a_table_like_any_other(tmp_path: Path) -> None:
    errors = street().label_errors()
    assert_frame_equal(errors, pl.DataFrame(errors))
    assert pl.concat([errors, errors]).height == 2 * errors.height
    assert duckdb.sql("SELECT count(*) FROM errors").fetchall() == [(errors.height,)]
    chosen = errors.filter(kind="missing").sort("score").tail(9).head(2)
    assert isinstance(chosen, LabelErrors)
    chosen.write(tmp_path / "tasks.json", "label_studio")
    names = apf.read_dataset(tmp_path / "tasks.json").images["file_name"].to_list()
    assert names == chosen.reverse()["file_name"].to_list()  # the most suspicious first
    other = tmp_path / "other.json"
    with pytest.raises(ParameterError, match=r"head, slice and the like keep it; write them with ev.write_tasks"):
        errors.partition_by("kind")[0].write(other)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "step",
    [
        lambda errors: errors[:5].slice(2, 3),
        lambda errors: errors.sample(3, seed=1),
        lambda errors: errors.unique("image_id", maintain_order=True),
        lambda errors: errors.top_k(3, by="suspicion"),
        lambda errors: errors.with_columns(pl.col("score") * 2).reverse().limit(4),
        lambda errors: errors.drop_nulls("annotation_id").clone(),
    ],
)
def test_steps_that_keep_the_evaluation(step: Callable[[LabelErrors], LabelErrors], tmp_path: Path) -> None:
    chosen = step(street().label_errors())
    written = chosen.filter(pl.col("kind") != "missing")
    written.write(tmp_path / "tasks.json", "coco")
    assert {*apf.read_dataset(tmp_path / "tasks.json").images["image_id"]} == {*written["image_id"]}


Box = list[float]
Edit = Callable[[Path, str, str, Box], None]


def edit_coco(path: Path, label: str, wrong: str, new: Box) -> None:
    file = json.loads(path.read_text())
    ids = {each["name"]: each["id"] for each in file["categories"]}
    for each in file["annotations"]:
        if "wrong_class" in (each["doubt"] or ""):
            each["category_id"] = ids[label]
    file["annotations"] = [each for each in file["annotations"] if each["doubt"] != wrong]
    image = next(each["id"] for each in file["images"] if each["file_name"] == NAMES[0])
    file["annotations"].append({"id": 99, "image_id": image, "category_id": ids[label], "bbox": new, "iscrowd": 0})
    path.write_text(json.dumps(file))


def edit_cvat(path: Path, label: str, wrong: str, new: Box) -> None:
    root = ElementTree.parse(path).getroot()
    for image in root.iterfind("image"):
        image.set("id", str(int(image.get("id", 0)) + 1000))  # as a task of CVAT numbers its frames
        for box in image.findall("box"):
            doubt = box.findtext("attribute[@name='doubt']")
            if "wrong_class" in (doubt or ""):
                box.set("label", label)
            if doubt == wrong:
                image.remove(box)
            box[:] = []  # CVAT drops attributes that no label declares
        if image.get("name") == NAMES[0]:
            sides = {"xtl": new[0], "ytl": new[1], "xbr": new[0] + new[2], "ybr": new[1] + new[3]}
            ElementTree.SubElement(image, "box", label=label, **{name: f"{value:.2f}" for name, value in sides.items()})
    ElementTree.ElementTree(root).write(path, encoding="utf-8")


def edit_label_studio(path: Path, label: str, wrong: str, new: Box) -> None:
    tasks = json.loads(path.read_text())
    shape = dict(zip(("x", "y", "width", "height"), (new[0], new[1] / 0.8, new[2], new[3] / 0.8), strict=True))
    kind, size = "rectanglelabels", {"original_width": 100, "original_height": 80}
    for number, task in enumerate(tasks):
        task["id"] = 500 + number  # as a project numbers its tasks
        task["data"]["image"] = f"/data/upload/1/1a2b3c4d-{number}.jpg"
        (annotation,) = task["annotations"]
        if "wrong_class" in task["data"]["doubts"]:  # region 2 is the duplicate of region 1
            first, second = annotation["result"]
            first["value"][kind] = [label]
            annotation["result"] = [first] if wrong == "duplicate" else [first, second]
        else:
            annotation["result"].append({"id": "new", "type": kind, "value": shape | {kind: [label]}, **size})
    path.write_text(json.dumps(tasks))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name", "edit"),
    [
        ("coco", "tasks.json", edit_coco),
        ("cvat", "tasks.xml", edit_cvat),
        ("label_studio", "tasks.json", edit_label_studio),
    ],
)
def test_export_correct_evaluate(format_: str, name: str, edit: Edit, tmp_path: Path) -> None:
    evaluation = tiny()
    assert evaluation["AP"] < 0.5
    evaluation.label_errors().write(tmp_path / name, format_)
    edit(tmp_path / name, DOG, "duplicate", NEW)
    corrected = apf.correct(evaluation.dataset, tmp_path / name)
    rows = corrected.annotations.sort("annotation_id").select("annotation_id", "image_id", "category_id", "checked")
    assert rows.rows()[:3] == [(1, 2, 1, "no"), (3, 3, 1, "no"), (4, 4, 1, "no")]  # 1 is a dog now, 2 is gone
    assert rows.drop("annotation_id").rows()[3:] == [(1, 2, None), (1, 1, None)]  # the missing one stays, and the new one
    assert corrected.annotations.columns == evaluation.dataset.annotations.columns
    untouched = pl.col("image_id") > 2
    assert_frame_equal(corrected.annotations.filter(untouched), evaluation.dataset.annotations.filter(untouched))
    assert_frame_equal(corrected.images, evaluation.dataset.images)
    again = apf.evaluate(corrected, evaluation.detections)
    assert again["AP"] == pytest.approx(1, abs=1e-9)
    assert again.label_errors().is_empty()


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["coco", "cvat", "label_studio"])
def test_missing_objects_are_all_that_changes(format_: str, tmp_path: Path) -> None:
    evaluation = street()
    errors = evaluation.label_errors().filter(kind="missing")
    errors.write(tmp_path / "tasks", format_)
    corrected = apf.correct(STREET / "instances.json", tmp_path / "tasks")
    n = evaluation.dataset.annotations.height
    annotations = corrected.annotations.sort("annotation_id")
    assert_frame_equal(annotations.head(n), evaluation.dataset.annotations)
    assert annotations[n:]["image_id"].sort().to_list() == errors["image_id"].sort().to_list()
    again = apf.evaluate(corrected, STREET / "model_a.json")
    assert again["AP"] > evaluation["AP"]
    assert again.label_errors().filter(kind="missing").is_empty()


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([7], UnknownIdError, "image_id is not among the images for row 1; unknown: 7"),
        (["1", "seen.jpg"], UnknownIdError, "image_id is not among the images for row 2; unknown: 'seen.jpg'"),
        ({"file_name": ["seen.jpg"]}, ColumnError, "there is no column image_id; there are file_name"),
        ([None], UnknownIdError, "image_id is not among the images"),
        ({"image_id": [1], "kind": ["missing"]}, RowError, "a missing object is not a detection of this evaluation"),
        ({"image_id": [1], "kind": ["missing"], "detection_id": [2], "score": [0.79]}, RowError, "a missing object is not"),
        ({"image_id": [2], "kind": ["missing"], "detection_id": [2]}, RowError, "a missing object is not"),
    ],
)
def test_rows_that_cannot_be_tasks(rows: Any, error: type[InputError], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=f"rows: {message}"):
        tiny().write_tasks(rows, tmp_path / "tasks.xml")
    assert [*tmp_path.iterdir()] == []


def test_nothing_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "tasks.xml").write_text("mine")
    with pytest.raises(OutputError):
        tiny().write_tasks([1], tmp_path / "tasks.xml")
    assert (tmp_path / "tasks.xml").read_text() == "mine"


@pytest.mark.slow
def test_subsets_of_images_come_back(tmp_path: Path) -> None:
    truth = STREET / "instances.json"
    fog = street().where("weather = 'fog'")
    fog.label_errors().write(tmp_path / "fog.xml")
    weather = apf.correct(truth, tmp_path / "fog.xml").images.select("file_name", "weather")
    tasks = apf.read_dataset(tmp_path / "fog.xml").images.join(weather, on="file_name")
    assert {*tasks["weather"]} == {"fog"}


DATA = STREET.parent
SAMPLES = [  # ground truth, results, the protocol, and why its tasks are refused; "" if they come back
    ("street/instances.json", "street/model_a.json", "coco", ""),
    ("aerial/visdrone/annotations", "aerial/visdrone/results", "visdrone", "VISDRONE leaves out, changes or copies some"),
    ("aerial/visdrone/annotations", "aerial/visdrone/results", "coco", ""),
    ("aerial/dota/labelTxt", "aerial/dota/results", "dota", "they have no boxes"),
    ("driving/kitti/label_2", "driving/kitti/model_a", "kitti", "KITTI leaves out, changes or copies some"),
    ("driving/kitti/label_2", "driving/kitti/model_a", "coco", ""),
    ("driving/scenes", "driving/model_a.json", "nuscenes", "NUSCENES compares distance"),
    ("people/crowd_val.odgt", "people/crowd_results.odgt", "crowdhuman", "CROWDHUMAN leaves out, changes or copies some"),
    ("people/walkers_val.json", "people/walkers_a.json", "citypersons", ""),
    ("people/faces/ground_truth", "people/faces/results", "wider_face", ""),
    ("video/ava/truth", "video/ava/model_a.csv", "ava", ""),
    ("video/thumos14/annotation", "video/thumos14/model_a.txt", "thumos14", "THUMOS14 compares interval"),
    ("relations/truth.json", "relations/model_a.json", "visual_genome", "VISUAL_GENOME compares relation"),
    ("relations/phrases.json", "relations/phrases_found.json", "flickr30k", ""),
    ("segments/panoptic/truth.json", "segments/panoptic/model_a.json", "coco_panoptic", "COCO_PANOPTIC compares panoptic"),
    ("segments/semantic/truth", "segments/semantic/model_a", "semantic", "SEMANTIC compares semantic"),
    ("medical/luna16/annotations", "medical/luna16/model_a.csv", "luna16", "LUNA16 compares sphere"),
]


@pytest.mark.slow(every=True)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("truth", "found", "protocol", "refused"), SAMPLES)
def test_no_label_is_lost_or_invented(truth: str, found: str, protocol: str, refused: str, tmp_path: Path) -> None:
    evaluation, path = apf.evaluate(DATA / truth, DATA / found, protocol), tmp_path / "tasks"
    images = evaluation.dataset.images["image_id"]
    if refused:
        with pytest.raises(ParameterError, match=refused):
            evaluation.write_tasks(images, path)
        assert not path.exists()
        return
    evaluation.write_parquet(tmp_path / "stored")
    whole = apf.read_dataset(DATA / truth)
    for format_, each in (("cvat", evaluation), ("coco", apf.read_evaluation(tmp_path / "stored"))):
        each.write_tasks(images, tmp_path / format_, format_)
        again = apf.correct(whole, tmp_path / format_)
        assert_frame_equal(again.annotations.sort("annotation_id"), whole.annotations.sort("annotation_id"))


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("options", "where", "why"),
    [
        ({"category_map": {"van": "car"}}, None, "categories were mapped"),
        ({"category_map": {"car": "car"}, "unmapped": "drop"}, None, "categories were mapped"),
        ({"categories": ["car"]}, None, "only some categories are evaluated"),
        ({}, "name = 'car'", "a subset has only some categories"),
    ],
)
def test_parts_of_the_ground_truth_are_refused(options: Any, where: str | None, why: str, tmp_path: Path) -> None:
    whole = apf.evaluate(STREET / "instances.json", STREET / "model_a.json", **options)
    part = whole if where is None else whole.where(where)
    part.write_parquet(tmp_path / "stored")
    for each in (part, apf.read_evaluation(tmp_path / "stored")):
        with pytest.raises(ParameterError, match=f"annotations may differ from the ground truth: {why}"):
            each.label_errors().write(tmp_path / "tasks.xml")


@pytest.mark.slow
def test_rows_left_out_as_invalid_are_not_lost(tmp_path: Path) -> None:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [{"id": 1} | box, {"id": 2} | box]}
    wrong = {"score": 0.9} | box | {"bbox": [0, 0, -9, 9]}
    with pytest.warns(InvalidRowsWarning):
        apf.evaluate(truth, [wrong, {"score": 0.9} | box], invalid="drop").write_tasks([1], tmp_path / "tasks.xml")
    truth["annotations"] = [{"id": 1} | box, {"id": 2} | wrong]
    with pytest.warns(InvalidRowsWarning):
        evaluation = apf.evaluate(truth, [{"score": 0.9} | box], invalid="drop")
        updates = apf.Evaluator(truth, invalid="drop")
        updates.update([{"score": 0.9} | box])
        updated = updates.compute()
    for each in (evaluation, updated):
        with pytest.raises(ParameterError, match="rows that cannot be evaluated were left out"):
            each.write_tasks([1], tmp_path / "more.xml")


@pytest.mark.filterwarnings("ignore")
def test_updates_know_what_the_rules_changed(tmp_path: Path) -> None:
    updates = apf.Evaluator(DATA / "driving/kitti/label_2", "kitti")
    with pytest.raises(ParameterError, match="KITTI leaves out, changes or copies some"):
        updates.compute().write_tasks([], tmp_path / "tasks.xml")


@pytest.mark.slow
@pytest.mark.parametrize("where", [None, "area > 5000"])
def test_what_was_stored_before_may_have_lost_labels(where: str | None, tmp_path: Path) -> None:
    evaluation = street() if where is None else street().where(where)
    evaluation.write_parquet(tmp_path / "stored")
    apf.read_evaluation(tmp_path / "stored").write_tasks([22], tmp_path / "tasks.xml")
    assert "outside_subset_attribute" not in apf.read_dataset(tmp_path / "tasks.xml").annotations.columns
    manifest = tmp_path / "stored" / "manifest.json"
    manifest.write_text(json.dumps({key: value for key, value in json.loads(manifest.read_text()).items() if key != "altered"}))
    with pytest.raises(ParameterError, match="they were stored by an earlier version"):
        apf.read_evaluation(tmp_path / "stored").write_tasks([22], tmp_path / "more.xml")

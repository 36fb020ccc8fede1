"""Which format a path is of, and writing that leaves nothing half done."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, OutputError, ParameterError, RowError
from apframe.formats.catalogue import FORMATS, ROWS, as_format
from apframe.formats.looks import Look
from apframe.tables.shapes.boxes import BOX
from tests.formats.folders import written

TRUTH = {
    "images": [{"id": 1, "file_name": "a.jpg"}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
}


def test_names_are_found_in_any_spelling() -> None:
    assert as_format("Coco").name == "coco"
    with pytest.raises(ParameterError, match=r"no format 'coko'; did you mean coco"):
        as_format("coko")


def test_every_format_says_what_its_files_are() -> None:
    table = apf.list_formats()
    assert table["format"].to_list() == list(FORMATS)
    assert not any(table.null_count().row(0))
    for name, format_ in FORMATS.items():
        assert format_.name == name
        assert {*format_.kinds_of("dataset"), *format_.kinds_of("results")} <= {"file", "folder"}
        assert set(format_.holds) == {"images", "categories", "annotations", "detections"}


def test_formats_that_are_only_read_say_so(tmp_path: Path) -> None:
    read_only = apf.list_formats().filter(~pl.col("written"))["format"].to_list()
    assert read_only == [
        "table", "ultralytics_ndjson", "yolo_labels", "labelbox", "labelme", "supervisely", "argoverse2", "ava",
        "coco_panoptic", "crowdhuman", "label_maps",
        "luna16", "nuscenes", "scalabel", "thumos14", "visdrone", "wider_face",
    ]  # fmt: skip
    for name in read_only:
        message = f"^{FORMATS[name].title} can be read, but not written; choose another: `apframe formats` lists them$"
        with pytest.raises(ParameterError, match=message):
            apf.write_dataset(TRUTH, tmp_path / "a", name)
        with pytest.raises(ParameterError, match=message):
            apf.write_results([], tmp_path / "a", name)


def test_what_is_in_memory_is_taken_as_it_is() -> None:
    dataset = apf.read_dataset(TRUTH)
    assert apf.read_dataset(dataset) is dataset


def test_results_may_be_what_pycocotools_loads() -> None:
    from pycocotools.coco import COCO

    truth = COCO()
    truth.dataset = TRUTH
    truth.createIndex()
    detections = [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]
    assert apf.read_results(truth.loadRes(detections)).select("image_id", "score", "width").rows() == [(1, 0.5, 3.0)]
    with pytest.raises(FormatError, match=r"is it ground truth\?$"):
        apf.read_results(truth)


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nowhere: there is no such file or folder$"):
        apf.read_dataset(tmp_path / "nowhere", "coco")


def test_a_file_where_a_folder_is_needed_and_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("cat 1 2 3 4")
    with pytest.raises(FormatError, match=r"this is a file; class-and-box text is a folder of .*$"):
        apf.read_dataset(tmp_path / "file", "boxes")
    with pytest.raises(FormatError, match=r"this is a folder; COCO JSON is a JSON file, .*$"):
        apf.read_results(tmp_path, "coco")


def test_what_cannot_be_told_lists_the_formats_and_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(FormatError) as error:
        apf.read_dataset(tmp_path / "file")
    message = str(error.value)
    problem = "no format has a data set file like this: text that begins with 'hello'"
    assert f"its format cannot be detected: {problem}; choose one with format=: coco" in message
    assert set(re.split(r"\W+", message.split("format=: ")[1])) == {
        name for name, each in FORMATS.items() if "file" in each.kinds_of("dataset")
    }
    with pytest.raises(FormatError, match="choose one with results_format=: arrow, coco"):
        apf.evaluate(TRUTH, tmp_path / "file")
    with pytest.raises(FormatError, match="choose one with format=: arrow, coco"):
        apf.read_results(tmp_path / "file")


def test_what_is_like_two_formats_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    monkeypatch.setitem(ROWS, "boxes", ROWS["boxes"]._replace(dataset_looks=(Look("file", keys=("images",)),)))
    with pytest.raises(
        FormatError,
        match=r"cannot be detected: looks like boxes \(.*\) and like coco \(.*\); choose one with format=: boxes, coco$",
    ):
        apf.read_dataset(tmp_path / "truth.json")


def test_what_is_mistaken_for_another_thing_is_told(tmp_path: Path) -> None:
    for name, text in {"truth/a.txt": "cat 1 2 3 4", "found/a.txt": "cat .5 1 2 3 4", "coco/x.json": "{}"}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "none").mkdir()
    (tmp_path / "nothing").touch()
    with pytest.raises(FormatError, match=r"none: the folder is empty$"):
        apf.read_dataset(tmp_path / "none")
    with pytest.raises(FormatError, match=r"nothing: the file is empty$"):
        apf.read_results(tmp_path / "nothing")
    with pytest.raises(
        FormatError,
        match=r"truth: looks like a data set of boxes, but results are needed here; are the two swapped, or do the results ",
    ):
        apf.read_results(tmp_path / "truth")
    with pytest.raises(
        FormatError, match=r"found: looks like results of boxes, but a data set is needed here; are the two swapped\?$"
    ):
        apf.read_dataset(tmp_path / "found")
    with pytest.raises(FormatError, match=r"to read its only JSON file, name that file: .*x\.json$"):
        apf.read_dataset(tmp_path / "coco")
    for read in (apf.read_dataset, apf.read_results):
        with pytest.raises(FormatError, match=r"^the path is empty"):
            read("")


def test_options_of_files_are_refused_for_what_is_in_memory() -> None:
    for source in (TRUTH, apf.read_dataset(TRUTH)):
        for options in ({"format": "coco"}, {"split": "val"}, {"image_sizes": {"file_name": ["a.jpg"]}}):
            with pytest.raises(ParameterError, match=f"^{next(iter(options))}=: only for files and folders; leave it out"):
                apf.read_dataset(source, **options)  # type: ignore[arg-type]
    for found in ([], {}):
        with pytest.raises(ParameterError, match=r"^format=: only for files and folders"):
            apf.read_results(found, "coco")
        with pytest.raises(ParameterError, match=r"^results_format=: only for files and folders"):
            apf.evaluate(TRUTH, found, results_format="coco")


def test_ground_truth_in_the_place_of_results_is_told() -> None:
    for truth in (TRUTH, apf.read_dataset(TRUTH)):
        with pytest.raises(FormatError, match=r"^results: this has images and annotations, .*; is it ground truth\?$"):
            apf.read_results(truth)


@pytest.mark.slow
def test_what_is_written_may_be_anything_that_is_read(tmp_path: Path) -> None:
    detections = [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]
    apf.write_dataset(TRUTH, tmp_path / "a.json", "coco")
    apf.write_dataset(tmp_path / "a.json", tmp_path / "boxes", "boxes")
    apf.write_results(detections, tmp_path / "b.json", "coco")
    apf.write_results(tmp_path / "b.json", tmp_path / "found", "boxes", dataset=tmp_path / "a.json")
    assert (tmp_path / "boxes" / "a.txt").read_text() == "cat 1.0 2.0 3.0 4.0\n"
    assert (tmp_path / "found" / "a.txt").read_text() == "cat 0.5 1.0 2.0 3.0 4.0\n"
    names = ["images", "categories"]
    joined = apf.read_results(tmp_path / "found", dataset=tmp_path / "a.json", join_by_name=names)
    assert joined.select("image_id", "category_id", "score").rows() == [(1, 1, 0.5)]
    with pytest.raises(FormatError, match=r"a list is not ground truth|holds a list"):
        apf.write_dataset([], tmp_path / "c.json", "coco")


def test_crowds_that_are_not_held_are_told_to_count(tmp_path: Path) -> None:
    truth = TRUTH | {"annotations": [TRUTH["annotations"][0] | {"iscrowd": 1, "ignore": 1}]}
    lost = apf.write_dataset(truth, tmp_path / "boxes", "boxes").filter(pl.col("column").is_in(["is_crowd", "ignore"]))
    assert lost.select("column", "what").rows() == [
        ("is_crowd", "left out: crowds become ordinary objects"), ("ignore", "left out: these objects count then")
    ]  # fmt: skip


def test_options_that_a_format_does_not_take_are_refused(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    with pytest.raises(ParameterError, match="COCO JSON in one file has no splits"):
        apf.read_dataset(tmp_path / "truth.json", split="val")
    with pytest.raises(ParameterError, match="join_by_name needs the data set that has these names"):
        apf.read_results([], join_by_name="images")


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "notes").write_text("mine")
    dataset = apf.read_dataset(TRUTH)
    with pytest.raises(OutputError, match="old: is not empty; give a new folder"):
        apf.write_dataset(dataset, tmp_path / "old", "boxes")
    with pytest.raises(OutputError, match="old: this is a folder; name a file"):
        apf.write_dataset(dataset, tmp_path / "old", "coco")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for name in ("file", "link"):
        for format_ in ("boxes", "coco"):
            with pytest.raises(OutputError, match=f"{name}: a file with this name exists; remove it or choose another name$"):
                apf.write_dataset(dataset, tmp_path / name, format_)
        with pytest.raises(OutputError, match=f"{name}: a file with this name exists; remove it or choose another name$"):
            apf.write_results([], tmp_path / name, "coco")
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "link", "notes", "old"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    apf.write_dataset(apf.read_dataset(TRUTH), tmp_path / "empty", "boxes")
    assert (tmp_path / "empty" / "a.txt").read_text() == "cat 1.0 2.0 3.0 4.0\n"


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(_format: object, _dataset: apf.Dataset, path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(FORMATS["coco"]), "write", fail)
    with pytest.raises(OutputError, match=r"truth\.json: cannot be written \(no space left on device\)"):
        apf.write_dataset(apf.read_dataset(TRUTH), tmp_path / "truth.json", "coco")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_writer_killed_at_its_end_are_removed(tmp_path: Path) -> None:
    left = tmp_path / ".boxes.0123abcd.part"
    (left / "new").mkdir(parents=True)
    (left / "lock").touch()
    written(tmp_path / "boxes", {"a.txt": ""})
    with pytest.raises(OutputError, match="boxes: is not empty; give a new folder"):
        apf.write_dataset(apf.read_dataset(TRUTH), tmp_path / "boxes", "boxes")
    assert [path.name for path in tmp_path.iterdir()] == ["boxes"]


def test_a_name_that_ends_in_gz_is_packed(tmp_path: Path) -> None:
    dataset = apf.read_dataset(TRUTH)
    apf.write_dataset(dataset, tmp_path / "truth.json.gz", "coco")
    assert (tmp_path / "truth.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert apf.read_dataset(tmp_path / "truth.json.gz").annotations.equals(dataset.annotations)


def test_a_link_to_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    apf.write_dataset(apf.read_dataset(TRUTH), tmp_path / "link", "boxes")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "a.txt").is_file()


@pytest.mark.parametrize("name", ["voc", "kitti", "dota", "boxes", "label_studio"])
def test_an_attribute_called_name_is_one_like_any_other(name: str, tmp_path: Path) -> None:
    row = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9], "name": [5]}
    images = {"image_id": [1], "image_width": [20], "image_height": [20]}
    lost = apf.write_dataset(apf.Dataset(images, {"category_id": [1], "name": ["cat"]}, row), tmp_path / "out", name)
    assert ("annotations", "name", 1, "left out") in lost.rows()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["voc", "kitti", "boxes"])
def test_rotated_boxes_become_the_boxes_around_them(name: str, tmp_path: Path) -> None:
    rotated = {"image_id": ["a"], "category_id": ["ship"], "corners": [[1, 0, 2, 1, 1, 3, 0, 1]]}
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": ["ship"], "name": ["ship"]}, rotated)
    assert apf.write_dataset(dataset, tmp_path / "truth", name).rows() == [("annotations", "corners", 1, "left out")]
    assert apf.read_dataset(tmp_path / "truth", name).annotations.select("x", "y", "width", "height").rows() == [(0, 0, 2, 3)]
    assert apf.write_results(rotated | {"score": [0.5]}, tmp_path / "found", name).rows() == [
        ("detections", "corners", 1, "left out")
    ]
    assert apf.read_results(tmp_path / "found", name).select("x", "y", "width", "height").rows() == [(0, 0, 2, 3)]


# what becomes of the angle in each format with boxes: they are not turned in the file, or stand there with the angle
UPRIGHT, WITH_CORNERS = "left out; the box is the upright one around the shape", "becomes corners; the box is the upright one"
OF_ANGLES = {
    **dict.fromkeys(("voc", "yolo", "open_images", "kitti", "boxes", "csv", "lvis"), UPRIGHT),
    **dict.fromkeys(("coco", "hugging_face"), f"{WITH_CORNERS} around the shape"),
    "dota": "becomes corners", **dict.fromkeys(("cvat", "label_studio", "parquet", "arrow")),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if each.writable and "x" in each.holds["annotations"]])
def test_a_turned_box_is_evaluated_alike_in_every_format(name: str, tmp_path: Path) -> None:
    lists = {"neg_category_ids": [[]], "not_exhaustive_category_ids": [[]]}  # which LVIS needs
    images = {"image_id": [1], "file_name": ["1.jpg"], "image_width": [200], "image_height": [100]}
    categories = {"category_id": [1], "name": ["ship"], "frequency": ["f"]}
    box = {"x": [10.0], "y": [20.0], "width": [60.0], "height": [40.0], "angle": [math.atan2(3, 4)]}
    row, around = {"image_id": [1], "category_id": [1]}, (4, 6, 72, 68)  # .8 * 60 + .6 * 40 and .6 * 60 + .8 * 40
    dataset = apf.Dataset(images | lists, categories, row | box)
    lost = apf.write_dataset(dataset, tmp_path / "truth", name)
    written = apf.write_results(row | box | {"score": [0.5]}, tmp_path / "found", name, dataset=dataset)
    for losses, like in ((lost, name), (written, "coco" if name == "lvis" else name)):  # results of LVIS are those of COCO
        angle_losses = losses.filter(pl.col("column") == "angle").select("n_rows", "what").rows()
        assert angle_losses == ([] if OF_ANGLES[like] is None else [(1, OF_ANGLES[like])])
    truth = apf.read_dataset(tmp_path / "truth", name)
    results = apf.read_results(tmp_path / "found", name, dataset=truth)
    upright = truth.annotations.select("image_id", "category_id", **dict(zip(BOX, map(pl.lit, around), strict=True)), score=0.5)
    area = 72 * 68 if OF_ANGLES[name] == UPRIGHT and "area" not in FORMATS[name].holds["annotations"] else 60 * 40
    for detections in (results, upright):
        evaluation = apf.evaluate(truth, detections)
        assert evaluation.dataset.annotations.select(*BOX, "area").row(0) == pytest.approx((*around, area))
        assert evaluation.summary["value"][0] == pytest.approx(1)
        assert bool(evaluation.notes) == (OF_ANGLES[name] is None)
    if "angle" in truth.annotations.columns or "corners" in truth.annotations.columns:
        assert apf.evaluate(truth, results, "dota").summary["value"][0] == pytest.approx(1)


def test_results_with_files_and_no_ids_say_how_to_join_them() -> None:
    detections = {"file_name": ["a.jpg"], "image_id": [None], "category_id": [1], "bbox": [[1, 2, 3, 4]], "score": [0.5]}
    with pytest.raises(
        RowError, match=r'image_id is missing .*; supply it, or join the images by file_name: join_by_name="images"'
    ):
        apf.read_results(detections)


WRONG_FIRST_LINES = {  # of results: the ground truth, the name and the text of the results, the message about them
    "thumos14": ({"Diving_test.txt": "v 0 10\n"}, "a.txt", "v 0 10 99 0.5\nv 0 10 26 0.5\n",
                 r"a\.txt: the class is not a number of THUMOS14's list, 7 to 97, and not a name in line 1;"),
    "thumos14 like a run": ({"Diving_test.txt": "v 0 10\n"}, "a.txt", "v 0 10 26\n", r"a\.txt: not 5 fields .* in line 1;"),
    "ava": ({"a.csv": "v,902,.1,.1,.5,.5,12,0\n", "a.pbtxt": 'item { name: "stand" id: 12 }\n'}, "a.csv",
            "v,902,.1,.1,.5,.5,stand,.5\n", r"a\.csv: category_id is not a finite number in line 1;"),
    "luna16": ({"annotations.csv": "seriesuid,coordX,coordY,coordZ,diameter_mm\n1.3,1,2,3,4\n"}, "a.csv",
               "1.3,1,2,3,0.5\n", r"a\.csv: no column seriesuid, coordX, coordY, coordZ, probability;"),
    "kitti": ({"000000.txt": "Car 0 0 0 10 20 30 40 1 1 1 1 1 1 0\n"}, "found/000000.txt",
              "Car 0 0 0 10 20 30 40 1 1 1 1 1 1 0 9 9\n", r"found.000000\.txt: not 16 fields .* in line 1;"),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("case", WRONG_FIRST_LINES)
def test_results_that_look_like_none_are_read_as_their_truth(case: str, tmp_path: Path) -> None:
    files, name, text, message = WRONG_FIRST_LINES[case]
    truth = written(tmp_path / "truth", files)
    written(tmp_path, {name: text})
    results = tmp_path / name.split("/")[0]
    with pytest.raises(FormatError, match=message):
        apf.evaluate(truth, results)
    if case in ("thumos14", "ava"):  # whose lines have as many fields as they need
        assert apf.check(truth, results).row(0, named=True)["rows"] == [f"line 1 of {name}"]
    else:
        with pytest.raises(FormatError, match=message):
            apf.check(truth, results)


@pytest.mark.slow
def test_results_of_another_kind_are_not_read_as_their_truth(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth", {"Diving_test.txt": "v 0 10\n"})
    table = {"image_id": ["v"], "category_id": ["Diving"], "start_time": [0.0], "end_time": [10.0], "score": [0.5]}
    pl.DataFrame(table).write_parquet(tmp_path / "a.parquet")
    assert apf.evaluate(truth, tmp_path / "a.parquet", "thumos14").summary["value"].max() == 1
    written(tmp_path, {"a.tsv": "v 0 10 26\n", "b.txt": ""})
    with pytest.raises(FormatError, match="this looks like judgements or a run"):
        apf.evaluate(truth, tmp_path / "a.tsv")
    with pytest.raises(FormatError, match="the file is empty"):
        apf.evaluate(truth, tmp_path / "b.txt")

"""CSV with a line for each object: names of columns as people write them, ids, round trips, and lines that cannot be right."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ColumnError, FormatError

STREET = Path(__file__).parents[2] / "data" / "street"
BOX = ["x", "y", "width", "height"]
# the same box, 1 2 3 4, in the headers of files met in the wild
BOXES = {
    "image_id,category_id,x,y,width,height": "a,cat,1,2,3,4",
    "filename,width,height,class,xmin,ymin,xmax,ymax": "a.jpg,64,48,cat,1,2,4,6",
    "image;label;x1;y1;x2;y2": "val/a.jpg;cat;1;2;4;6",
    "img_id\tclass_name\tleft\ttop\tw\th": "a\tcat\t1\t2\t3\t4",
    "Image_ID,Class,Left,Top,Right,Bottom": "a,cat,1,2,4,6",
    "image_name,label_name,bbox_x,bbox_y,bbox_width,bbox_height,image_width,image_height": "a.png,cat,1,2,3,4,64,48",
    'image_id,width,height,bbox,label': 'a,64,48,"[1.0, 2.0, 3.0, 4.0]",cat',
    "path,category,cx,cy,w,h": "a.jpg,cat,2.5,4,3,4",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("header", BOXES)
def test_columns_are_called_as_people_call_them(header: str, tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text(f"{header}\n{BOXES[header]}\n")
    truth = apf.read_dataset(tmp_path / "truth.csv")
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [("a", "cat", 1, 2, 3, 4)]
    assert truth.categories["name"].to_list() == ["cat"]
    sizes = truth.images.select("image_width", "image_height").row(0)
    assert sizes == ((64, 48) if "64" in BOXES[header] else (None, None))
    separator = max(",;\t", key=header.count)
    (tmp_path / "found.csv").write_text(f"{header}{separator}conf\n{BOXES[header]}{separator}0.75\n")
    detections = apf.read_results(tmp_path / "found.csv")
    assert detections.select("image_id", "category_id", "score", *BOX).rows() == [("a", "cat", 0.75, 1, 2, 3, 4)]
    assert apf.evaluate(tmp_path / "truth.csv", tmp_path / "found.csv").summary["value"][0] == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("header", BOXES)
def test_a_frame_is_read_as_the_csv_with_its_columns_is(header: str, tmp_path: Path) -> None:
    separator = max(",;\t", key=header.count)
    (tmp_path / "found.csv").write_text(f"{header}{separator}conf\n{BOXES[header]}{separator}0.75\n")
    frame = pl.read_csv(tmp_path / "found.csv", separator=separator)
    for found in (frame, frame.lazy(), frame.to_pandas(), frame.to_dict(as_series=False)):
        assert_frame_equal(apf.read_results(found), apf.read_results(tmp_path / "found.csv"))


def test_canonical_names_of_columns_come_before_others() -> None:
    detections = pl.DataFrame(
        {"image_id": [1], "category_id": [2], "score": [0.5], "conf": [0.1], "label": ["x"], "bbox": [[1, 2, 3, 4]]}
    )
    assert apf.read_results(detections).select("category_id", "score", "conf", "label").rows() == [(2, 0.5, 0.1, "x")]


def test_numbers_are_ids_and_names_go_with_them(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text(
        "image_id,class_id,class_name,x,y,w,h,truncated\n7,2,dog,1,2,3,4,true\n8,1,cat,5,6,7,8,\n"
    )
    truth = apf.read_dataset(tmp_path / "truth.csv")
    assert truth.categories.select("category_id", "name").rows() == [(1, "cat"), (2, "dog")]
    assert truth.annotations.select("image_id", "truncated").rows() == [(7, True), (8, None)]
    (tmp_path / "truth.csv").write_text("image_id,class_id,x,y,w,h\n007,2,1,2,3,4\n")
    assert apf.read_dataset(tmp_path / "truth.csv").images["image_id"].to_list() == ["007"]


def test_files_of_one_name_in_two_folders_stay_two_images(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("path,class,x,y,w,h\na/1.jpg,cat,1,2,3,4\nb/1.jpg,cat,1,2,3,4\n")
    assert apf.read_dataset(tmp_path / "truth.csv").images["image_id"].to_list() == ["a/1.jpg", "b/1.jpg"]


def test_an_image_alone_is_one_without_objects(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("file_name,class,x,y,w,h\na.jpg,cat,1,2,3,4\nb.jpg,,,,,\n\n")
    truth = apf.read_dataset(tmp_path / "truth.csv")
    assert (truth.images["image_id"].to_list(), truth.annotations.height) == (["a", "b"], 1)
    (tmp_path / "found.csv").write_text("file_name,class,score,x,y,w,h\na.jpg,cat,.5,1,2,3,4\nb.jpg,,,,,,\n")
    assert apf.read_results(tmp_path / "found.csv").height == 1


@pytest.mark.slow
def test_results_join_to_other_formats_by_their_names(tmp_path: Path) -> None:
    truth = apf.read_dataset(STREET / "instances.json")
    detections = apf.read_results(STREET / "model_a.json")
    named = detections.join(truth.images, on="image_id").join(truth.categories, on="category_id")
    named.select("score", *BOX, image="file_name", label="name").write_csv(tmp_path / "found.csv")
    ev = apf.evaluate(truth, tmp_path / "found.csv", join_by_name=["images", "categories"])
    assert ev.summary["value"].to_list() == pytest.approx(apf.evaluate(truth, detections).summary["value"].to_list(), abs=2e-3)


@pytest.mark.slow
def test_round_trip(tmp_path: Path) -> None:
    street = apf.read_dataset(STREET / "instances.json")
    lost = apf.write_dataset(street, tmp_path / "truth.csv", "csv")
    assert set(lost["what"]) == {"left out"}
    again = apf.read_dataset(tmp_path / "truth.csv")
    columns = ["image_id", "image_width", "image_height", "file_name"]
    assert_frame_equal(again.images.select(columns), street.images.select(columns))
    for table, key in (("categories", "category_id"), ("annotations", "annotation_id")):
        before, after = getattr(street, table).sort(key), getattr(again, table).sort(key)
        kept = [name for name in before.columns if name in after.columns and name != "supercategory"]
        assert_frame_equal(after.select(kept), before.select(kept))
    apf.write_results(STREET / "model_a.json", tmp_path / "found.csv", "csv")
    ev = apf.evaluate(tmp_path / "truth.csv", tmp_path / "found.csv")
    assert str(ev) == str(apf.evaluate(street, STREET / "model_a.json"))


def test_texts_that_look_like_numbers_are_told_to_become_some(tmp_path: Path) -> None:
    row = {"image_id": ["1"], "category_id": ["cat"], "x": [1], "y": [2], "width": [3], "height": [4]}
    dataset = apf.Dataset({"image_id": ["1"]}, {"category_id": ["cat"]}, row)
    assert ("images", "image_id", 1, "becomes a number") in apf.write_dataset(dataset, tmp_path / "a.csv", "csv").rows()


def test_frames_in_memory_are_ground_truth_too() -> None:
    columns = {"file_name": ["a.jpg"], "label": ["cat"], "x1": [1], "y1": [2], "x2": [4], "y2": [6]}
    for frame in (pl.DataFrame(columns), pd.DataFrame(columns), columns):
        assert apf.read_dataset(frame).annotations.select("image_id", *BOX).rows() == [("a", 1, 2, 3, 4)]


BAD = {
    "no number": ("image_id,class,score,x,y,w,h\na,cat,.5,1,2,3,4\na,cat,high,1,2,3,4\n", FormatError,
                  r"found\.csv: score is not a finite number in line 3; correct these lines$"),
    "infinite": ("image_id,class,score,x1,y1,x2,y2\na,cat,.5,1,2,inf,4\n", FormatError, r"x2 is not a finite number in line 2"),
    "other columns": ("image_id,class,score\na,cat,1\n", FormatError, r"columns are image_id, class, score; each line needs"),
    "no score": ("image_id,class,x,y,w,h\na,cat,1,2,3,4\n", ColumnError, r"detections: no column score"),
    "box": ('image_id,class,score,bbox\na,cat,.5,"1 2 3 4"\n', ColumnError, r"bbox is not text such as \[x, y,"),
    "empty": ("", FormatError, r"the file is empty"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_right_is_named(text: str, kind: type[Exception], message: str, tmp_path: Path) -> None:
    (tmp_path / "found.csv").write_text(text)
    with pytest.raises(kind, match=message):
        apf.read_results(tmp_path / "found.csv", "csv")


def test_cuboids_may_be_in_the_place_of_boxes(tmp_path: Path) -> None:
    cuboid = "cuboid_x,cuboid_y,cuboid_z,cuboid_length,cuboid_width,cuboid_height,cuboid_yaw"
    truth, detections = tmp_path / "truth.csv", tmp_path / "found.csv"
    truth.write_text(f"image,class,{cuboid},weather\na,car,10,5,1,4,2,1.5,0,rain\nb,,,,,,,,,\n")
    detections.write_text(f"image,class,score,{cuboid}\na,car,0.5,10.5,5,1,4,2,1.5,0\n")
    dataset = apf.read_dataset(truth)
    assert dataset.images["image_id"].to_list() == ["a", "b"]
    assert dataset.annotations.select("cuboid_x", "cuboid_yaw", "weather").rows() == [(10, 0, "rain")]
    evaluation = apf.evaluate(dataset, detections, similarity=apf.similarity.CentreDistance(), iou_thresholds=[-1])
    assert evaluation.summary["value"][0] == pytest.approx(1)

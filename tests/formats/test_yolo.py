"""YOLO's text: what its lines and its data.yaml say, where sizes come from, round trips, and what cannot be read."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from polars.testing import assert_frame_equal, assert_series_equal

import apframe as apf
from apframe.exceptions import FormatError, OutputError, ParameterError, RowError, UnitWarning, UnknownIdError
from apframe.formats.box_text import Boxes
from apframe.formats.class_names import read_class_names
from apframe.formats.path_contents import see
from apframe.formats.yolo.format import Yolo
from tests.cli.test_command import command
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]
SIZES = "image_id,image_width,image_height\na,100,50\nb,200,80\n"
CONFIG = "val: images/val\nnames: [cat, dog]\n"


def picture(path: Path, width: int, height: int, orientation: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("L", (width, height)).save(path, exif=exif)


def small(folder: Path, label: str = "1 .5 .5 .2 .4\n", config: str = CONFIG, **further: str) -> Path:
    """A set with the images a (100 x 50) and b (200 x 80), which is empty."""
    texts = {"data.yaml": config, "labels/val/a.txt": label, "labels/val/b.txt": "", "image_sizes.csv": SIZES}
    return written(folder, texts | further)


def test_lines_are_boxes_around_their_middle(tmp_path: Path) -> None:
    truth = apf.read_dataset(small(tmp_path))
    assert truth.images.select("image_id", "image_width", "image_height").rows() == [("a", 100, 50), ("b", 200, 80)]
    assert truth.categories.select("category_id", "name").rows() == [(0, "cat"), (1, "dog")]
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [("a", 1, 40, 15, 20, 20)]
    assert "mask" not in truth.annotations.columns


def test_polygons_are_masks_and_their_extent_the_box(tmp_path: Path) -> None:
    truth = apf.read_dataset(small(tmp_path, "0 .1 .2 .5 .2 .5 .6\n1 .5 .5 .2 .4\n"))
    assert truth.annotations.select("category_id", *BOX, "mask").rows() == [
        (0, 10, 10, 40, 20, [[10, 10, 50, 10, 50, 30]]),
        (1, 40, 15, 20, 20, None),
    ]


@pytest.mark.parametrize(
    ("shape", "line", "keypoints"),
    [
        ("[2, 3]", "0 .5 .5 .2 .4 .1 .2 2 0 0 0", [10, 10, 2, 0, 0, 0]),
        ("[2, 2]", "0 .5 .5 .2 .4 .1 .2 -.5 0", [10, 10, 1, -50, 0, 0]),
    ],
)
def test_keypoints_follow_the_box(shape: str, line: str, keypoints: list[float], tmp_path: Path) -> None:
    truth = apf.read_dataset(small(tmp_path, line, f"{CONFIG}kpt_shape: {shape}\n"))
    assert truth.annotations.select(*BOX, "keypoints").rows() == [(40, 15, 20, 20, keypoints)]


def test_results_have_the_score_last(tmp_path: Path) -> None:
    truth = apf.read_dataset(small(tmp_path / "truth"))
    results = written(tmp_path / "run", {"labels/a.txt": "1 .5 .5 .2 .4 .75\n", "labels/b.txt": "0 .1 .25 .5 .25 .5 .5 .25\n"})
    detections = apf.read_results(results, dataset=truth)
    assert detections.select("image_id", "category_id", "score", *BOX, "mask").rows() == [
        ("a", 1, 0.75, 40, 15, 20, 20, None),
        ("b", 0, 0.25, 20, 20, 80, 20, [[20, 20, 100, 20, 100, 40]]),
    ]
    assert_frame_equal(apf.read_results(results / "labels", dataset=truth), detections)


@pytest.mark.parametrize("line", ["0 .5 .5 .2 .4 .1 .2 .9 .5", "0 .5 .5 .2 .4 .1 .2 .5"])
def test_results_have_keypoints_where_their_number_fits(line: str, tmp_path: Path) -> None:
    truth = apf.read_dataset(small(tmp_path / "truth", "0 .5 .5 .2 .4 .1 .2 2", f"{CONFIG}kpt_shape: [1, 3]\n"))
    detections = apf.read_results(written(tmp_path / "found", {"a.txt": line}), dataset=truth)
    assert detections["keypoints"].to_list() == [[10, 10, 0.9 if line.count(" ") == 8 else 1]]
    boxes = apf.read_results(written(tmp_path / "boxes", {"a.txt": "0 .5 .5 .2 .4 .5"}), dataset=truth)
    assert boxes.select(*BOX, "score").rows() == [(40, 15, 20, 20, 0.5)]


def test_results_are_evaluated_in_another_id_space_by_name(tmp_path: Path) -> None:
    cat = {"image_id": [7], "category_id": [0], "x": [40], "y": [15], "width": [20], "height": [20]}
    images = {"image_id": [7, 8], "file_name": ["val/a.jpg", "val/b.jpg"], "image_width": [100, 100], "image_height": [50, 50]}
    truth = apf.Dataset(images, {"category_id": [0], "name": ["cat"]}, cat)
    results = written(tmp_path / "found", {"a.txt": "0 .5 .5 .2 .4 .75\n"})
    detections = apf.read_results(results, dataset=truth, join_by_name="images")
    assert detections.select("image_id", *BOX).rows() == [(7, 40, 15, 20, 20)]
    assert apf.evaluate(truth, detections).summary["value"][0] == pytest.approx(1)


NAMES = {
    "list": ("names: [no, '1', Ä b]", {0: "no", 1: "1", 2: "Ä b"}),
    "mapping": ("names:\n  0: person\n  7: ~\n", {0: "person", 7: "~"}),
    "number alone": ("nc: 2", {0: "class0", 1: "class1"}),
    "both": ("nc: 1\nnames: [a]", {0: "a"}),
}


@pytest.mark.slow
def test_labels_on_both_sides_are_told_whose_number_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line under COCO's numbers; none under those of another protocol, or where one side is another format."""
    truth, labels = small(tmp_path / "truth"), written(tmp_path / "found", {"a.txt": "1 .5 .5 .2 .4 .75\n"})
    (line,) = apf.evaluate(truth, labels).notes
    assert line == 'both sides are YOLO text: the number that their own program prints comes from protocol="ultralytics"'
    assert apf.evaluate(truth, labels, invalid="drop").notes == (line,)
    assert str(apf.evaluate(truth, labels)).endswith(line)
    assert apf.evaluate(truth, apf.read_results(labels, dataset=apf.read_dataset(truth))).notes == ()
    assert apf.evaluate(apf.read_dataset(truth), labels).notes == ()
    for protocol in ("ultralytics", "voc2007"):
        assert apf.evaluate(truth, labels, protocol).notes == ()
    code, out, err = command(capsys, monkeypatch, "eval", str(truth), str(labels))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].endswith("comes from --protocol ultralytics")
    assert "Ultralytics" not in command(capsys, monkeypatch, "eval", str(truth), str(labels), "--protocol", "ultralytics")[1]


@pytest.mark.parametrize(("names", "expected"), NAMES.values(), ids=NAMES)
def test_names_are_texts_whatever_yaml_takes_them_for(names: str, expected: dict[int, str], tmp_path: Path) -> None:
    categories = apf.read_dataset(small(tmp_path, "", f"val: images/val\n{names}\n")).categories
    assert dict(categories.select("category_id", "name").rows()) == expected


PLACES = {
    "beside the file": ("val: images/val", "labels/val/a.txt"),
    "below path": ("path: data\nval: images/val", "data/labels/val/a.txt"),
    "path of another machine": ("path: /nowhere/data\nval: images/val", "labels/val/a.txt"),
    "as Roboflow writes it": ("val: ../valid/images", "valid/labels/a.txt"),
    "several folders": ("val: [images/x, images/y]", "labels/y/a.txt"),
    "folders within": ("val: images", "labels/x/y/a.txt"),
    "labels beside the images": ("val: all", "all/a.txt"),
    "the only split": ("train: images/val\ntest: # none", "labels/val/a.txt"),
}


@pytest.mark.parametrize("has_image", [True, False])
@pytest.mark.parametrize(("config", "label"), PLACES.values(), ids=PLACES)
def test_labels_are_found_beside_images_or_alone(config: str, label: str, has_image: bool, tmp_path: Path) -> None:
    (tmp_path / "labels" / "x").mkdir(parents=True)
    folder = written(tmp_path, {"data.yaml": f"{config}\nnames: [cat]\n", label: "0 .5 .5 .5 .5\n"})
    image = label.replace("labels", "images").replace(".txt", ".png")
    if has_image:
        picture(folder / image, 200, 100)
    truth = apf.read_dataset(folder, image_sizes={"file_name": ["a.png"], "image_width": [200], "image_height": [100]})
    assert truth.images["file_name"].to_list() == [image if has_image else "a.png"]
    assert truth.annotations.select(*BOX).rows() == [(50, 25, 100, 50)]


def test_images_are_listed_in_a_text_file(tmp_path: Path) -> None:
    small(tmp_path, config="val: val.txt\nnames: [cat, dog]\n", **{"labels/val/c.txt": "0 .5 .5 .5 .5"})
    picture(tmp_path / "images" / "val" / "b.png", 200, 80)
    (tmp_path / "val.txt").write_text("./images/val/a.jpg\n\nimages/val/b.png\n")
    truth = apf.read_dataset(tmp_path / "data.yaml")
    assert truth.images["image_id"].to_list() == ["a", "b"]
    assert truth.annotations["image_id"].to_list() == ["a"]


@pytest.mark.parametrize("outside", ["../../x.jpg", "labels/../../../x.jpg", "{folder}/x.jpg"])
def test_a_list_names_images_in_the_data_set_alone(outside: str, tmp_path: Path) -> None:
    picture(tmp_path / "x.jpg", 10, 10)
    folder = tmp_path / "down" / "loaded"
    small(folder, config="val: val.txt\nnames: [cat, dog]\n")
    (folder / "image_sizes.csv").unlink()
    name = outside.format(folder=tmp_path)
    (folder / "val.txt").write_text(f"{name}\n")
    message = rf"val\.txt: lists images outside the data set: '{re.escape(name)}'; correct the list, or set path in data\.yaml"
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(folder)
    (folder / "data.yaml").write_text(f"path: {tmp_path}\nval: down/loaded/val.txt\nnames: [cat, dog]\n")
    assert apf.read_dataset(folder).images["image_width"].to_list() == [10]


def test_a_list_may_name_its_images_in_full(tmp_path: Path) -> None:
    small(tmp_path, config="val: val.txt\nnames: [cat, dog]\n")
    (tmp_path / "val.txt").write_text(f"{tmp_path}/images/val/a.jpg\n")
    assert apf.read_dataset(tmp_path).images["image_id"].to_list() == ["a"]


def test_images_without_a_label_file_are_empty(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "val" / "c.PNG", 30, 40)
    truth = apf.read_dataset(small(tmp_path), image_sizes=written(tmp_path, {"s.csv": SIZES + "c,30,40\n"}) / "s.csv")
    assert truth.images["image_id"].to_list() == ["a", "b", "c"]


@pytest.mark.parametrize("classes", ["cat\ndog\n", "0\n1\n", ""])
def test_a_list_of_classes_among_the_labels_is_no_image(classes: str, tmp_path: Path) -> None:
    truth = apf.read_dataset(small(tmp_path, **{"labels/val/classes.txt": classes}))
    assert truth.images["image_id"].to_list() == ["a", "b"]


def test_an_image_may_be_called_classes(tmp_path: Path) -> None:
    sizes = {"file_name": ["a", "b", "classes"], "image_width": [9] * 3, "image_height": [9] * 3}
    truth = apf.read_dataset(small(tmp_path, **{"labels/val/classes.txt": "0 .5 .5 .2 .4\n"}), image_sizes=sizes)
    assert truth.annotations["image_id"].to_list() == ["a", "classes"]


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    folder = small(tmp_path, **{"labels/val/._a.txt": "\0", "images/val/._a.jpg": "\0", "._data.yaml": "\0"})
    assert apf.read_dataset(folder).images["image_id"].to_list() == ["a", "b"]


def test_images_of_one_name_in_two_folders_are_named(tmp_path: Path) -> None:
    folder = small(tmp_path, config="val: images\nnames: [cat, dog]\n", **{"labels/train/a.txt": ""})
    with pytest.raises(FormatError, match=r"two images of val have the same name: .*train/a\.txt and .*val/a\.txt; rename one"):
        apf.read_dataset(folder)


def test_images_with_the_same_label_file_are_named(tmp_path: Path) -> None:
    folder = small(tmp_path)
    for name in ("a.jpg", "a.png"):
        picture(folder / "images" / "val" / name, 100, 50)
    with pytest.raises(FormatError, match=r"val: a\.jpg and a\.png have the same label file; rename one of them$"):
        apf.read_dataset(folder)


def test_splits_are_chosen(tmp_path: Path) -> None:
    config = "train: images/train\nval: images/val\nnames: [cat, dog]\n"
    folder = small(tmp_path, config=config, **{"labels/train/b.txt": "0 .5 .5 .5 .5\n"})
    assert apf.read_dataset(folder).annotations["image_id"].to_list() == ["a"]
    assert apf.read_dataset(folder, split="train").annotations["image_id"].to_list() == ["b"]
    with pytest.raises(ParameterError, match=r"data\.yaml: no split 'test'; choose one with split=: val, train$"):
        apf.read_dataset(folder, split="test")
    (folder / "data.yaml").write_text("train: images/train\ntest: images/val\nnames: [cat, dog]\n")
    with pytest.raises(ParameterError, match=r"data\.yaml: several splits, but no val; choose one with split=: train, test$"):
        apf.read_dataset(folder)


def test_sizes_come_from_the_heads_of_the_image_files(tmp_path: Path) -> None:
    folder = small(tmp_path)
    (folder / "image_sizes.csv").unlink()
    picture(folder / "images" / "val" / "a.jpg", 50, 100, orientation=6)  # which is shown 100 wide and 50 high
    picture(folder / "images" / "val" / "b.png", 200, 80)
    truth = apf.read_dataset(folder)
    assert truth.images.select("file_name", "image_width", "image_height").rows() == [
        ("images/val/a.jpg", 100, 50),
        ("images/val/b.png", 200, 80),
    ]


def test_sizes_that_are_given_come_first(tmp_path: Path) -> None:
    sizes = pl.DataFrame({"file_name": ["x/a.jpg", "b"], "image_width": [10, 20], "image_height": [10.0, 20.0]})
    folder = small(tmp_path)
    sizes.write_parquet(folder / "sizes.parquet")
    for given_sizes in (sizes, folder / "sizes.parquet", str(folder / "sizes.parquet")):
        assert apf.read_dataset(folder, image_sizes=given_sizes).images["image_width"].to_list() == [10, 20]


def test_without_sizes_boxes_stay_fractions_with_one_warning(tmp_path: Path) -> None:
    folder = small(tmp_path)
    (folder / "image_sizes.csv").unlink()
    with pytest.warns(UnitWarning, match=r"data\.yaml: the image sizes are unknown.*give image_sizes") as warned:
        truth = apf.read_dataset(folder)
    assert [warning.filename for warning in warned] == [__file__]
    assert truth.annotations.select(*BOX).row(0) == pytest.approx((0.4, 0.3, 0.2, 0.4))
    detections = apf.read_results(written(tmp_path / "found", {"a.txt": "1 .5 .5 .2 .4 1\n"}), dataset=truth)
    assert apf.evaluate(truth, detections).summary["value"][0] == pytest.approx(1)


SIZE_ERRORS = {
    "some images without": ({"file_name": ["a"], "image_width": [9], "image_height": [9]},
                            "no size, or several, for images 'b'; give image_sizes with their file_name"),
    "two of an image": ({"file_name": ["x/a", "y/a", "b"], "image_width": [9, 8, 7], "image_height": [9, 9, 9]},
                        "no size, or several, for images 'a'; give image_sizes with their file_name"),
    "no such column": ({"name": ["a"], "image_width": [9]},
                       "image_sizes: no column file_name and image_height; there are name, image_width"),
    "no size": ({"file_name": ["a", "b"], "image_width": [9, 0], "image_height": [9.5, 9]},
                "image_sizes: image_width and image_height are not positive whole numbers for images 'a', 'b'"),
}  # fmt: skip


@pytest.mark.parametrize(("sizes", "message"), SIZE_ERRORS.values(), ids=SIZE_ERRORS)
def test_sizes_that_cannot_be_used_are_named(sizes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(small(tmp_path), image_sizes=sizes)


def test_an_image_file_that_is_none_is_named(tmp_path: Path) -> None:
    folder = small(tmp_path, **{"images/val/a.jpg": "no image"})
    (folder / "image_sizes.csv").unlink()
    with pytest.raises(
        FormatError, match=r"a\.jpg: cannot be read as an image \(cannot identify.*replace it or give image_sizes$"
    ):
        apf.read_dataset(folder)


@pytest.mark.parametrize(
    ("module", "message"), [("yaml", "PyYAML: pip install pyyaml"), ("PIL.Image", "Pillow .*: pip install pillow")]
)
def test_what_is_not_installed_is_named(module: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small(tmp_path)
    (folder / "image_sizes.csv").unlink()
    picture(folder / "images" / "val" / "a.png", 9, 9)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ParameterError, match=rf'{message}, or the extra "yolo"'):
        apf.read_dataset(folder, "yolo")


SIDES = st.integers(1, 5000)
PARTS = st.floats(-0.5, 1.2)
WIDTHS = st.floats(0, 0.8)
# what YAML has to quote among them
NAME = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4), st.sampled_from(["no", "1", "a: b", "~"])
)


@st.composite
def datasets(draw: st.DrawFn, shape: str = "box") -> apf.Dataset:
    names = st.text("ab7_. Ä", min_size=1, max_size=4).filter(lambda name: name[0] != ".")
    images = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    images.sort(key=lambda name: f"{name}.txt")
    sizes = [draw(st.tuples(SIDES, SIDES)) for _ in images]
    names = dict(enumerate(draw(st.lists(NAME, min_size=1, max_size=3))))
    rows: list[dict[str, Any]] = []
    for image, size in zip(images, sizes, strict=True):
        for number in draw(st.lists(st.sampled_from(sorted(names)), max_size=3)):
            x, y, width, height = (draw(part) * side for part, side in zip([PARTS] * 2 + [WIDTHS] * 2, size * 2, strict=True))
            row = {"image_id": image, "category_id": number, "x": x, "y": y, "width": width, "height": height}
            if shape == "mask":
                outline = [x, y, x + width, y, x + width, y + height]
                row |= {"mask": [outline], "width": outline[2] - x, "height": outline[5] - y}
            if shape == "keypoints":
                row |= {"keypoints": [x, y, 2.0, 0.0, 0.0, 0.0]}
            rows.append(row)
    schema = {"image_id": pl.String, "category_id": pl.Int64, **dict.fromkeys(BOX, pl.Float64)}
    schema |= {"mask": {"mask": pl.List(pl.List(pl.Float64))}, "keypoints": {"keypoints": pl.List(pl.Float64)}}.get(shape, {})
    file_names = [draw(st.sampled_from([f"x/{image}.jpg", None])) for image in images]
    frame = {
        "image_id": images,
        "file_name": file_names,
        "image_width": [w for w, _ in sizes],
        "image_height": [h for _, h in sizes],
    }
    categories = pl.DataFrame({"category_id": list(names), "name": list(names.values())})
    return apf.Dataset(
        pl.DataFrame(frame, schema_overrides={"file_name": pl.String}), categories, pl.DataFrame(rows, schema=schema)
    )


def same(again: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Equal in the columns that are expected, to 1e-9 of the largest image, and in the same order."""
    for name in set(expected.columns) - {"area"}:
        columns = again[name], expected[name]
        while columns[0].dtype == pl.List:
            columns = columns[0].explode(), columns[1].explode()
        assert_series_equal(*columns, rel_tol=0, abs_tol=5e-6)


@pytest.mark.slow
@given(st.sampled_from(["box", "mask", "keypoints"]).flatmap(datasets))
def test_round_trip_in_the_order_of_files(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("yolo")
    assert apf.write_dataset(dataset, path / "truth", "yolo").rows() == []
    again = apf.read_dataset(path / "truth")
    same(again.images, dataset.images)
    same(again.categories, dataset.categories)
    annotations, detections = (
        apf.read_dataset(path / "truth").annotations,
        dataset.annotations.drop("annotation_id", "is_crowd", "area"),
    )
    assert annotations.height == dataset.annotations.height
    if annotations.height:
        same(annotations, dataset.annotations)
    results = apf.read_results(detections.with_columns(score=pl.int_range(pl.len()) / 7))
    assert apf.write_results(results, path / "found", "yolo", dataset=dataset).rows() == []
    results_again = apf.read_results(path / "found", "yolo", dataset=again)
    assert results_again.height == results.height
    if results.height:
        same(results_again, results)


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    square, triangle = [1.0, 2, 4, 2, 4, 6, 1, 6], [0.0, 0, 5, 0, 5, 5]
    dataset = apf.Dataset(
        {"image_id": ["a"], "image_width": [10], "image_height": [20], "weather": ["rain"]},
        {"category_id": [3, 5], "name": ["cat", None]},
        {
            "annotation_id": [1, 2, 3, 5],
            "image_id": ["a"] * 4,
            "category_id": [3] * 4,
            "x": [1, 1, 1, 1],
            "y": [2, 2, 2, 2],
            "width": [3, 3, 3, 3],
            "height": [4, 4, 4, 4],
            "is_crowd": [False, False, False, True],
            "mask": [str([square]), str([square, triangle]), str([triangle]), '{"size": [20, 10], "counts": [9, 191]}'],
        },
    )
    assert apf.write_dataset(dataset, tmp_path / "truth", "yolo").rows() == [
        ("images", "weather", 1, "left out"),
        ("categories", "category_id", 2, "numbered anew"),
        ("annotations", "annotation_id", 1, "numbered anew, from 1"),
        ("annotations", "is_crowd", 1, "left out: crowds become ordinary objects"),
        ("annotations", "mask", 2, "left out: not a single polygon"),
        ("annotations", "x", 1, "replaced by that of the polygon"),
        ("annotations", "y", 1, "replaced by that of the polygon"),
        ("annotations", "width", 1, "replaced by that of the polygon"),
        ("annotations", "height", 1, "replaced by that of the polygon"),
        ("annotations", "area", 1, "replaced by that of the polygon's box"),
    ]
    assert {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*.*")} == {
        "truth/data.yaml": "val: images/val\nnames:\n  0: cat\n  1: '5'\n",
        "truth/image_sizes.csv": "image_id,file_name,image_width,image_height\na,,10,20\n",
        "truth/labels/val/a.txt": "0 0.1 0.1 0.4 0.1 0.4 0.3 0.1 0.3\n0 0.25 0.2 0.3 0.2\n0 0.0 0.0 0.5 0.0 0.5 0.25\n"
        "0 0.25 0.2 0.3 0.2\n",
    }
    again = apf.read_dataset(tmp_path / "truth").annotations
    assert again.select(*BOX).row(2) == (0, 0, 5, 5)
    assert again["mask"].to_list() == [[pytest.approx(square)], None, [triangle], None]


def test_scores_and_categories_with_keypoints_are_written(tmp_path: Path) -> None:
    people = {"category_id": [0], "name": ["person"], "keypoints": ['["nose"]']}
    row = {"image_id": ["a"], "category_id": [0], "x": [1], "y": [2], "width": [3], "height": [4]}
    dataset = apf.Dataset(
        {"image_id": ["a"], "image_width": [10], "image_height": [20]},
        people,
        row | {"keypoints": [[1.0, 2, 2]], "score": [0.5]},
    )
    assert apf.write_dataset(dataset, tmp_path / "truth", "yolo").rows() == [
        ("categories", "keypoints", 1, "left out"),
        ("annotations", "score", 1, "left out"),
    ]
    assert apf.read_dataset(tmp_path / "truth").annotations["keypoints"].to_list() == [pytest.approx([1, 2, 2])]


@pytest.mark.slow
def test_keypoints_are_filled_up_and_displace_masks(tmp_path: Path) -> None:
    box = {"image_id": ["a"] * 2, "category_id": [0] * 2, "x": [1, 1], "y": [2, 2], "width": [3, 3], "height": [4, 4]}
    shapes = {"keypoints": [[1.0, 2, 2, 3, 4, 1], None], "mask": [[[1.0, 2, 4, 2, 4, 6]], None]}
    images = {"image_id": ["a"], "image_width": [10], "image_height": [20]}
    dataset = apf.Dataset(images, {"category_id": [0], "name": ["a"]}, box | shapes)
    assert apf.write_dataset(dataset, tmp_path / "truth", "yolo").rows() == [
        ("annotations", "keypoints", 1, "padded with unlabelled keypoints at 0"),
        ("annotations", "mask", 1, "left out: lines with keypoints cannot hold polygons"),
    ]
    again = apf.read_dataset(tmp_path / "truth").annotations
    assert again["keypoints"].to_list() == [pytest.approx([1, 2, 2, 3, 4, 1]), [0] * 6]
    detections = pl.DataFrame(box).with_columns(score=1.0, keypoints=pl.lit([1.0, 2, 2]))
    with pytest.raises(FormatError, match="detections have 1 keypoints, but the annotations of their data set have 2; results"):
        apf.write_results(detections, tmp_path / "found", "yolo", dataset=dataset)
    assert apf.write_results(detections.drop("keypoints"), tmp_path / "found", "yolo", dataset=dataset).rows() == []
    assert "keypoints" not in apf.read_results(tmp_path / "found", dataset=dataset).columns


LINES = {
    "four fields": ("0 .5 .5 .2\n", "a.txt: neither 5 fields (class x y width height) nor a polygon (class x1 y1 x2 y2 "
                    "...), in line 1; correct these lines"),
    "results": ("0 .5 .5 .2 .4\n0 .5 .5 .2 .4 .9\n", "a.txt: neither 5 fields (class x y width height) nor a polygon "
                "(class x1 y1 x2 y2 ...), in line 2; correct these lines"),
    "text": ("cat .5 .5 .2 .4\n", "a.txt: not all fields are finite numbers in line 1; correct these lines"),
    "not finite": ("0 .5 .5 .2 nan\n", "a.txt: not all fields are finite numbers in line 1; correct these lines"),
    "a fraction of a class": ("0.5 .5 .5 .2 .4\n", "a.txt: class is not a whole number from 0 in line 1; correct these lines"),
    "a class without a name": ("\n2 .5 .5 .2 .4\n", "a.txt: class is not among the names in data.yaml in line 2; add its name, "
                               "or correct these lines"),
    "a negative width": ("0 .5 .5 .2 .4\n0 .5 .5 -.2 .4\n0 .1 .2 -.1 -.2 .3 .3\n",
                         "a.txt: width or height is negative in line 2; correct these lines, "
                         'or evaluate with invalid="drop" or invalid="keep"'),
    "pixels": ("0 320 240 64 48\n",
               "a.txt: these look like pixels in line 1; divide by the image size: YOLO's boxes are fractions"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), LINES.values(), ids=LINES)
def test_bad_lines_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(small(tmp_path, text))


def test_a_line_without_its_keypoints_is_named(tmp_path: Path) -> None:
    message = r"a\.txt: not 11 fields \(class x y width height, 2 keypoints\) in line 1; correct these lines$"
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(small(tmp_path, config=f"{CONFIG}kpt_shape: [2, 3]\n"))


BOMB = (
    "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    + "names: *a9\n"
)
CONFIGS = {
    "empty": ("", "data.yaml: is empty; it needs names, and val, train or test"),
    "no mapping": ("- names\n", "data.yaml: has no keys; it needs names, and val, train or test"),
    "cut off": ("names: [a, b\n", "data.yaml: cannot be read as YAML (expected ',' or ']', but got '<stream end>', in line 2)"),
    "control character": ("names: [a\0]\n", "data.yaml: cannot be read as YAML (special characters are not allowed)"),
    "twice": ("val: images/val\nnames:\n  0: a\n  0: b\n", "data.yaml: '0' stands twice, in line 4; correct it"),
    "no names": ("val: images/val\n",
                 "data.yaml: names must be a list of class names, or a mapping from numbers to names"),
    "nested names": ("names: [[a]]\n",
                     "data.yaml: names must be a list of class names, or a mapping from numbers to names"),
    "a class that is no number": ("names: {a: b}\n", "data.yaml: a class of names is 'a', not a whole number from 0"),
    "another count": ("nc: 3\nnames: [a]\n", "data.yaml: nc is 3, but names has 1 name; correct one of them"),
    "keypoints": ("names: [a]\nkpt_shape: [17]\n", "data.yaml: kpt_shape must be [number of keypoints, 2 or 3], not [17]"),
    "path is a list": ("names: [a]\npath: [a]\n", "data.yaml: path must be one value"),
    "val is a mapping": ("names: [a]\nval: {a: b}\n", "data.yaml: val must be one value or a list of values"),
    "no split": ("names: [a]\nval:\n", "data.yaml: names no images (val, train or test)"),
    "no such list": ("names: [a]\nval: images.txt\n", "images.txt nor labels for it; correct path or val"),
    "no such folder": ("names: [a]\nval: images/other\n", "images/other nor labels for it; correct path or val"),
    "too many classes": ("nc: 10000000000\n", "data.yaml: nc is '10000000000'; the limit is 1,000,000"),
    "a class that is too large": ("names: {99999999999999999999: a}\n",
                                  "a class of names is '99999999999999999999'; the limit is 1,000,000"),
    "a number of 5,000 digits": (f"nc: {'1' * 5000}\n",
                                 f"nc is '{'1' * 199} ... (5,000 characters); the limit is 1,000,000"),
    "too many keypoints": ("names: [a]\nkpt_shape: [10000000000, 3]\n",
                           "data.yaml: kpt_shape is '10000000000'; the limit is 1,000"),
    "names that hold themselves": ("names: &a [*a]\n",
                                   "data.yaml: names must be a list of class names, or a mapping from numbers to names"),
    "a mapping that holds itself": ("names: &a {0: *a}\n",
                                    "names must be a list of class names, or a mapping from numbers to names"),
    "a path that holds itself": ("names: [a]\nval: &a [*a]\n", "data.yaml: val must be one value or a list of values"),
    "10^10 names": (BOMB, "data.yaml: names must be a list of class names, or a mapping from numbers to names"),
    "nested 900 deep": (f"nc: 1\nx: {'[' * 900}{']' * 900}\n",
                        "data.yaml: cannot be read as YAML (nested deeper than 20 levels, in line 2)"),
    "nested 100,000 deep": (f"names: {'[' * 100_000}\n",
                            "data.yaml: cannot be read as YAML (nested deeper than 20 levels, in line 1)"),
    "5 MB": (f"names: [{'a' * 5_000_000}]\n", "data.yaml: larger than 4 MB; is it the data.yaml of a data set?"),
    "half of a character": ('names: [a,\n"\\uD800"]\n',
                            r"data.yaml: half of a character (\ud800 to \udfff), in line 2; correct it"),
    "half of a character as a key": ('names: [a]\n"\\uD800": b\n',
                                     r"data.yaml: half of a character (\ud800 to \udfff), in line 2; correct it"),
    "no character": ('names: ["\\UFFFFFFFF"]\n', "cannot be read as YAML (Python int too large to convert to C int)"),
    "an empty folder": ("names: [a]\nval: images/none\n", "data.yaml: val: no images or labels in images/none"),
    "a list of missing images": ("names: [a]\nval: val.txt\n", "val.txt: lists images that do not exist: 'images/val/c.jpg'; "
                                 "correct the list, or add them"),
}  # fmt: skip


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(("text", "message"), CONFIGS.values(), ids=CONFIGS)
def test_what_is_wrong_in_data_yaml_is_said(text: str, message: str, tmp_path: Path) -> None:
    folder = small(tmp_path, config=text, **{"val.txt": "images/val/a.jpg\nimages/val/c.jpg\n"})
    (folder / "labels" / "none").mkdir()
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_dataset(folder, "yolo")


def test_a_file_that_is_no_data_yaml_is_refused(tmp_path: Path) -> None:
    path = small(tmp_path) / "image_sizes.csv"
    message = r"image_sizes\.csv: a data\.yaml ends in \.yaml or \.yml, an obj\.data in \.data; give that file, or the folder"
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(path, "yolo")


def test_a_folder_without_data_yaml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "truth").mkdir()
    with pytest.raises(FormatError, match=r"truth/data\.yaml: there is no such file$"):
        apf.read_dataset(tmp_path / "truth", "yolo")


RESULTS = {
    "no score": ("0 .5 .5 .2 .4\n", "a.txt: neither 6 fields (class x y width height score) nor a polygon (class x1 y1 "
                 "x2 y2 ... score), in line 1; correct these lines"),
    "pixels": ("0 320 240 64 48 .5\n",
               "a.txt: these look like pixels in line 1; divide by the image size: YOLO's boxes are fractions"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), RESULTS.values(), ids=RESULTS)
def test_bad_lines_of_results_are_named(text: str, message: str, tmp_path: Path) -> None:
    results = written(tmp_path / "found", {"a.txt": text})
    with pytest.raises(FormatError, match=f"{re.escape(message)}$"):
        apf.read_results(results, "yolo", dataset=apf.read_dataset(small(tmp_path / "truth")))


def test_results_need_the_sizes_of_their_images(tmp_path: Path) -> None:
    results = written(tmp_path / "found", {"c.txt": "0 .5 .5 .2 .4 .5\n"})
    truth = apf.read_dataset(small(tmp_path / "truth"))
    with pytest.raises(
        FormatError, match="found: the data set has no size, or several, for images 'c'; give their image_width and"
    ):
        apf.read_results(results, dataset=apf.Dataset({"image_id": ["c"]}, truth.categories, {}))
    with pytest.raises(ParameterError, match="found: boxes are fractions of their images; give their data set"):
        apf.read_results(results)


@pytest.mark.slow
def test_results_of_unknown_images_are_refused_or_dropped(tmp_path: Path) -> None:
    line = "1 .5 .5 .2 .4 .5\n"
    truth, detections = small(tmp_path / "truth"), written(tmp_path / "found", {"a.txt": line, "c.txt": line})
    with pytest.raises(UnknownIdError, match=r"image_id is not among the images .*unknown: 'c'"):
        apf.evaluate(truth, detections)
    assert apf.evaluate(truth, detections, unknown_images="drop").summary["value"][0] == pytest.approx(1)
    assert apf.check(truth, detections).filter(pl.col("check") == "unknown_image")["n_rows"].to_list() == [1]


@pytest.mark.parametrize("place", ["labels/classes.txt", "classes.txt"])
@pytest.mark.parametrize("classes", ["cat\ndog\n", "0\n1\n"])
def test_a_list_of_classes_is_no_file_of_results(place: str, classes: str, tmp_path: Path) -> None:
    results = written(tmp_path / "found", {"labels/a.txt": "1 .5 .5 .2 .4 .5\n", place: classes})
    assert Yolo().fits(see(results), "results")
    assert apf.read_results(results, dataset=apf.read_dataset(small(tmp_path / "truth")))["image_id"].to_list() == ["a"]


def test_an_empty_folder_holds_no_results(tmp_path: Path) -> None:
    (tmp_path / "found").mkdir()
    with pytest.raises(FormatError, match=r"found: holds no text file \(\.txt\), and neither does its folder labels$"):
        apf.read_results(tmp_path / "found", "yolo", dataset=apf.read_dataset(small(tmp_path / "truth")))


IMAGE = {"image_id": ["a"], "image_width": [10], "image_height": [20]}
ROW = {"image_id": ["a"], "category_id": [0], "x": [1], "y": [2], "width": [3], "height": [4]}
UNWRITABLE: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "no size": ({"image_id": ["a"]}, ROW, RowError,
                "images: image_width or image_height is missing or not positive for image_id 'a'; "
                "give both: this format stores boxes as fractions of the image"),
    "a name with a folder": (IMAGE | {"image_id": ["b/a"]}, ROW | {"image_id": ["b/a"]}, FormatError,
                             "no file can be called 'b/a'; rename it"),
    "far outside": (IMAGE, ROW | {"x": [21]}, RowError,
                    "annotations: the object is farther outside its image than the image is large for annotation_id 1; "
                    "correct them: programs would read such numbers as pixels"),
    "no box": (IMAGE, {"image_id": ["a"], "category_id": [0], "keypoints": [[1.0, 2, 2]]}, RowError,
               "annotations: there is no box for annotation_id 1; this format needs boxes: make them from "
               "the shapes, or remove these rows"),
}  # fmt: skip


@pytest.mark.parametrize(("images", "row", "kind", "message"), UNWRITABLE.values(), ids=UNWRITABLE)
def test_what_cannot_be_written_leaves_nothing_behind(
    images: dict[str, Any], row: dict[str, Any], kind: type[Exception], message: str, tmp_path: Path
) -> None:
    dataset = apf.Dataset(images, {"category_id": row["category_id"], "name": ["cat"]}, row)
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        apf.write_dataset(dataset, tmp_path / "truth", "yolo")
    assert list(tmp_path.iterdir()) == []


def test_a_name_too_long_for_a_file_leaves_nothing_behind(tmp_path: Path) -> None:
    dataset = apf.Dataset(IMAGE | {"image_id": ["a" * 300]}, {"category_id": [0]}, {})
    with pytest.raises(OutputError, match="cannot be written"):
        apf.write_dataset(dataset, tmp_path / "truth", "yolo")
    assert list(tmp_path.iterdir()) == []


def test_told_from_names_and_the_first_line(tmp_path: Path) -> None:
    truth = small(tmp_path / "truth")
    results = written(tmp_path / "found", {"labels/a.txt": "", "labels/b.txt": "0 .5 .5 .2 .4 .9\n"})
    boxes = written(tmp_path / "boxes", {"a.txt": "cat .5 1 2 3 4\n"})
    kitti = written(tmp_path / "kitti", {"a.txt": "Car 0 0 0 1 2 3 4 0 0 0 0 0 0 0 .5\n"})
    voc = written(tmp_path / "voc", {"comp4_det_test_cat.txt": "000001 .5 100 200 300 400\n"})
    dota = written(tmp_path / "dota", {"a.txt": "1 1 2 1 2 2 1 2 plane 0\n"})
    other = written(tmp_path / "other", {"settings.yaml": "colour: red\n"})
    empty = written(tmp_path / "empty", {"a.txt": ""})
    folders = [truth, results, boxes, kitti, voc, dota, other, empty]
    assert [folder.name for folder in folders if Yolo().fits(see(folder), "dataset")] == ["truth"]
    assert [folder.name for folder in folders if Yolo().fits(see(folder), "results")] == ["found"]
    assert not any(
        Boxes().fits(see(folder), "dataset") or Boxes().fits(see(folder), "results")
        for folder in (truth, results, results / "labels")
    )
    assert Yolo().fits(see(truth / "data.yaml"), "dataset")
    assert not Yolo().fits(see(other / "settings.yaml"), "dataset")
    assert not Yolo().fits(see(truth / "image_sizes.csv"), "dataset")


DARKNET = {
    "data/obj.data": "classes = 2\ntrain  = data/train.txt\nvalid = data/test.txt\n# weights\n"
    "names = data/obj.names\nbackup = backup/\n",
    "data/obj.names": "cat\ndog\n",
    "data/train.txt": "data/obj/b.jpg\n",
    "data/test.txt": "data/obj/a_jpg.rf.8d3.jpg\n",
    "data/obj/a_jpg.rf.8d3.txt": "1 .5 .5 .5 .5\n",
    "data/obj/b.txt": "0 .5 .5 .5 .5\n",
    "sizes.csv": "file_name,image_width,image_height\na_jpg.rf.8d3.jpg,100,50\nb.jpg,100,50\n",
    "found/a_jpg.rf.8d3.txt": "1 .5 .5 .5 .5 .9\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data/obj.data", "data"])
def test_obj_data_of_darknet(name: str, tmp_path: Path) -> None:
    folder = written(tmp_path, DARKNET)
    truth = apf.read_dataset(folder / name, image_sizes=folder / "sizes.csv")
    assert truth.categories.select("category_id", "name").rows() == [(0, "cat"), (1, "dog")]
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [("a_jpg.rf.8d3", 1, 25, 12.5, 50, 25)]
    assert apf.read_dataset(folder / name, split="train", image_sizes=folder / "sizes.csv").images["image_id"].to_list() == [
        "b"
    ]
    assert apf.evaluate(truth, folder / "found").summary["value"][0] == pytest.approx(1)


CVAT = {
    "obj.data": "classes = 2\ntrain = data/train.txt\nnames = data/obj.names\nbackup = backup/\n",
    "obj.names": "cat\ndog\n",
    "train.txt": "data/obj_train_data/a.jpg\ndata/obj_train_data/more/b.jpg\n",
    "obj_train_data/a.txt": "1 .5 .5 .5 .5\n",
    "obj_train_data/more/b.txt": "",
    "image_sizes.csv": "file_name,image_width,image_height\na.jpg,100,50\nb.jpg,100,50\n",
}


@pytest.mark.parametrize("name", ["export", "export/obj.data"])
@pytest.mark.parametrize("prefix", ["data/", "x64/data/", "/content/darknet/data/", ""])
def test_obj_data_as_cvat_exports_it(prefix: str, name: str, tmp_path: Path) -> None:
    """All that the file names lies beside it, although the paths begin with the folder `data` of darknet."""
    written(tmp_path / "export", {path: text.replace("data/", prefix, 1) for path, text in CVAT.items()})
    if prefix:
        assert prefix in (tmp_path / "export" / "obj.data").read_text()
    truth = apf.read_dataset(tmp_path / name)
    assert truth.categories.select("category_id", "name").rows() == [(0, "cat"), (1, "dog")]
    assert truth.images["image_id"].to_list() == ["a", "b"]
    assert truth.annotations.select("image_id", "category_id", *BOX).rows() == [("a", 1, 25, 12.5, 50, 25)]
    assert read_class_names(tmp_path / "export" / "obj.data") == {0: "cat", 1: "dog"}


def test_a_list_of_obj_data_names_no_image_outside(tmp_path: Path) -> None:
    written(tmp_path, {"secret.txt": "1 .5 .5 .5 .5\n"})
    written(tmp_path / "a" / "export", CVAT | {"train.txt": "data/../../../secret.jpg\n"})
    with pytest.raises(FormatError, match=r"train\.txt: lists images outside the data set: 'data/\.\./\.\./\.\./secret\.jpg'"):
        apf.read_dataset(tmp_path / "a" / "export")


def test_obj_data_without_its_names_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, {name: text for name, text in DARKNET.items() if not name.endswith(".names")})
    with pytest.raises(FormatError, match=r"obj\.data: there is no data/obj\.names; correct names, or add the file$"):
        apf.read_dataset(folder / "data" / "obj.data")


@pytest.mark.slow
def test_names_with_dots_join(tmp_path: Path) -> None:
    image = {"id": 7, "file_name": "val/a_jpg.rf.8d3.jpg", "width": 100, "height": 50}
    box = {"id": 1, "image_id": 7, "category_id": 1, "bbox": [25, 12.5, 50, 25]}
    truth = {"images": [image], "categories": [{"id": 1, "name": "dog"}], "annotations": [box]}
    detections = [{"image_id": "a_jpg.rf.8d3", "category_id": 1, "bbox": [25, 12.5, 50, 25], "score": 0.9}]
    for source in (detections, written(tmp_path, DARKNET) / "found"):
        ev = apf.evaluate(truth, source, join_by_name="images")
        assert ev.summary["value"][0] == pytest.approx(1)

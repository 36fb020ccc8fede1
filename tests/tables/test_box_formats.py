"""How boxes are written: corners, centres and fractions in frames, dicts, files and text; what is said where it looks wrong."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.cli.command import main
from apframe.exceptions import BoxFormatWarning, ColumnError, ParameterError, RowError
from tests.formats.folders import text_folder

BOX = ["x", "y", "width", "height"]
IMAGES = pl.DataFrame({"image_id": [1, 2], "image_width": [640, 320], "image_height": [480, 200]})
BOXES = np.array([[10.0, 20, 30, 40], [100, 50, 60, 70], [5, 6, 200, 90]])


def written(box_format: str, relative: bool = False) -> np.ndarray:
    x, y, width, height = BOXES.T
    formats = {
        "xywh": (x, y, width, height),
        "xyxy": (x, y, x + width, y + height),
        "cxcywh": (x + width / 2, y + height / 2, width, height),
    }
    numbers = np.stack(formats[box_format], axis=1)
    sizes = np.array([[640, 480], [640, 480], [320, 200]])
    return numbers / np.tile(sizes, 2) if relative else numbers


def rows(box_format: str, relative: bool = False) -> dict[str, Any]:
    boxes = written(box_format, relative).tolist()
    return {"image_id": [1, 1, 2], "category_id": [1, 2, 1], "score": [0.9, 0.8, 0.7], "bbox": boxes}


TRUTH = apf.Dataset(
    IMAGES, {"category_id": [1, 2], "name": ["cat", "dog"]}, {k: v for k, v in rows("xywh").items() if k != "score"}
)
EVERY = [(box_format, relative) for box_format in ("xywh", "xyxy", "cxcywh") for relative in (False, True)]


def found_of(evaluation: apf.Evaluation) -> np.ndarray:
    assert evaluation.summary["value"][0] == pytest.approx(1)
    return evaluation.detections.select(BOX).to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize(("box_format", "relative"), EVERY)
def test_frames_dicts_and_lists(box_format: str, relative: bool, tmp_path: Path) -> None:
    detections = rows(box_format, relative)
    as_list = [dict(zip(detections, values, strict=True)) for values in zip(*detections.values(), strict=True)]
    columns = pl.DataFrame({name: detections[name] for name in ("image_id", "category_id", "score")}).with_columns(
        **{name: written(box_format, relative)[:, k] for k, name in enumerate(BOX)}
    )
    path = tmp_path / "found.json"
    path.write_text(json.dumps(as_list))
    columns.write_parquet(tmp_path / "found.parquet")
    for source in (detections, pl.DataFrame(detections), columns, as_list, path, tmp_path / "found.parquet"):
        evaluation = apf.evaluate(TRUTH, source, box_format=box_format, relative=relative)
        assert found_of(evaluation) == pytest.approx(BOXES)
        assert evaluation.detections["area"].to_numpy() == pytest.approx(BOXES[:, 2] * BOXES[:, 3])


@pytest.mark.parametrize(("box_format", "relative"), EVERY)
def test_annotations(box_format: str, relative: bool) -> None:
    annotations = {name: values for name, values in rows(box_format, relative).items() if name != "score"}
    truth = apf.Dataset(IMAGES, TRUTH.categories, annotations, box_format=box_format, relative=relative)
    assert_frame_equal(truth.annotations, TRUTH.annotations, check_exact=False)


@pytest.mark.parametrize(("box_format", "relative"), EVERY)
def test_an_evaluator_reads_updates_alike(box_format: str, relative: bool) -> None:
    evaluator = apf.Evaluator(TRUTH, box_format=box_format, relative=relative)
    evaluator.update(rows(box_format, relative))
    assert found_of(evaluator.compute()) == pytest.approx(BOXES)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["x1 y1 x2 y2", "xmin ymin xmax ymax", "XMin YMin XMax YMax", "left top right bottom"])
def test_names_of_corners_need_no_option(names: str) -> None:
    detections = {name: values for name, values in rows("xyxy").items() if name != "bbox"}
    detections |= {name: written("xyxy")[:, k] for k, name in enumerate(names.split())}
    assert found_of(apf.evaluate(TRUTH, detections)) == pytest.approx(BOXES)
    assert found_of(apf.evaluate(TRUTH, detections, box_format="xyxy")) == pytest.approx(BOXES)
    with pytest.raises(ColumnError, match="hold boxes as xyxy, not as cxcywh; leave out box_format"):
        apf.evaluate(TRUTH, detections, box_format="cxcywh")


@pytest.mark.parametrize(("names", "box_format"), [("x y w h", "cxcywh"), ("x y w h", "xywh"), ("cx cy w h", None)])
def test_other_names(names: str, box_format: str | None) -> None:
    detections = {name: values for name, values in rows("xywh").items() if name != "bbox"}
    detections |= {name: written(box_format or "cxcywh")[:, k] for k, name in enumerate(names.split())}
    assert found_of(apf.evaluate(TRUTH, detections, box_format=box_format)) == pytest.approx(BOXES)


@pytest.mark.slow
def test_text_as_two_tools_write_it(tmp_path: Path) -> None:
    truth = text_folder(tmp_path / "truth", a="cat 10 20 40 60\ncat 100 50 160 120 difficult\n", b="dog 5 6 205 96\n")
    detections = text_folder(tmp_path / "found", a="cat .9 10 20 40 60\n", b="dog .8 5 6 205 96\ncat .3 1 2 9 9\n")
    evaluation = apf.evaluate(truth, detections, apf.VOC2012, box_format="xyxy")
    assert evaluation.dataset.annotations.select(*BOX, "ignore").rows() == [
        (10, 20, 30, 40, False), (100, 50, 60, 70, True), (5, 6, 200, 90, False)]  # fmt: skip
    assert evaluation.metrics.select("category_id", "ap", "n_positives").rows() == [("cat", 1, 1), ("dog", 1, 1)]
    sizes = {"file_name": ["a.jpg", "b.jpg"], "image_width": [640, 320], "image_height": [480, 200]}
    truth = text_folder(tmp_path / "relative", a="cat .5 .25 .1 .5\n", b="dog .5 .5 1 1\n")
    dataset = apf.read_dataset(truth, image_sizes=sizes, box_format="cxcywh", relative=True)
    assert dataset.annotations.select(BOX).rows() == [(288, 0, 64, 240), (0, 0, 320, 200)]


@pytest.mark.slow
@pytest.mark.parametrize("header", ["file,class,x,y,w,h", "file,class,bbox"])
def test_rows_of_objects(header: str, tmp_path: Path) -> None:
    box = "10,20,40,60" if header.endswith("h") else '"[10, 20, 40, 60]"'
    (tmp_path / "truth.csv").write_text(f"{header}\na.jpg,cat,{box}\n")
    (tmp_path / "found.csv").write_text(f"score,{header}\n.9,a.jpg,cat,{box}\n")
    evaluation = apf.evaluate(tmp_path / "truth.csv", tmp_path / "found.csv", box_format="xyxy")
    assert evaluation.dataset.annotations.select(BOX).rows() == evaluation.detections.select(BOX).rows() == [(10, 20, 30, 40)]


@pytest.mark.slow
def test_ground_truth_that_says_it_itself_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    apf.write_coco(TRUTH, path)
    detections = rows("xyxy")
    for truth in (path, json.loads(path.read_text()), TRUTH):
        assert found_of(apf.evaluate(truth, detections, box_format="xyxy")) == pytest.approx(BOXES)
    with pytest.raises(ParameterError, match="box_format: a Dataset defines how its boxes are written"):
        apf.read_dataset(TRUTH, box_format="xyxy")


@pytest.mark.parametrize("where", ["file", "memory"])
def test_ground_truth_with_corners_is_read_alone(where: str, tmp_path: Path) -> None:
    data = {
        "images": [{"id": 1, "width": 640, "height": 480}], "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 20, 40, 60], "scene": "night"}],
    }  # fmt: skip
    (tmp_path / "truth.json").write_text(json.dumps(data))
    truth = apf.read_dataset(tmp_path / "truth.json" if where == "file" else data, box_format="xyxy")
    assert truth.annotations.select(*BOX, "area", "scene").rows() == [(10, 20, 30, 40, 1200, "night")]


@pytest.mark.slow
def test_formats_that_say_it_take_no_option(tmp_path: Path) -> None:
    apf.write_dataset(TRUTH.part(IMAGES.with_columns(file_name=pl.format("{}.jpg", "image_id")), TRUTH.annotations),
                      tmp_path / "voc", "voc")  # fmt: skip
    with pytest.raises(ParameterError, match="relative: PASCAL VOC defines how its boxes are written; leave it out"):
        apf.read_dataset(tmp_path / "voc", relative=True)
    apf.write_results(rows("xywh"), tmp_path / "found", "voc", dataset=TRUTH)
    with pytest.raises(ParameterError, match="box_format: PASCAL VOC defines how its boxes are written"):
        apf.evaluate(TRUTH, tmp_path / "found", box_format="xyxy")


ERRORS: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "typo": (rows("xyxy"), {"box_format": "xyyx"}, ParameterError, r'box_format is "xyxy".*did you mean xyxy\?'),
    "no boxes": ({"image_id": [1], "category_id": [1], "score": [1.0], "mask": ["[]"]}, {"relative": True}, ParameterError,
                 "relative applies to boxes, but the detections have no box columns"),
    "no numbers": (rows("xyxy") | {"bbox": None, "x1": ["a"] * 3, "y1": 1, "x2": 2, "y2": 3} , {"box_format": "xyxy"},
                   ColumnError, "detections"),
    "three numbers": (rows("xyxy") | {"bbox": [[1, 2, 3]] * 3}, {"box_format": "xyxy"}, RowError,
                      "bbox is missing or not four numbers.*boxes need four numbers, xyxy"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "options", "error", "message"), ERRORS.values(), ids=ERRORS)
def test_errors(found: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        apf.evaluate(TRUTH, pl.DataFrame(found), **options)


def test_fractions_need_sizes() -> None:
    truth = apf.Dataset(IMAGES.select("image_id"), TRUTH.categories, TRUTH.annotations)
    with pytest.raises(
        RowError, match="images: the image size is missing, which relative boxes need, for image_id 1, 2; give both"
    ):
        apf.evaluate(truth, rows("xywh", relative=True), relative=True)
    with pytest.raises(ParameterError, match="relative needs the data set"):
        apf.read_results(rows("xywh", relative=True), relative=True)


def many(n: int = 120, **columns: Any) -> pl.DataFrame:
    generator = np.random.default_rng(1)
    x, y = generator.integers(50, 200, (2, n))
    width, height = generator.integers(5, 40, (2, n))
    frame = pl.DataFrame({"image_id": 1, "category_id": 1, "score": generator.random(n), "x": x, "y": y, "width": x + width,
                          "height": y + height})  # fmt: skip
    return frame.with_columns(**columns)


CORNERS = r'detections: in all boxes the third number is at least .* give box_format="xyxy", or box_format="xywh" if they'
FRACTIONS = (
    r"detections: all boxes are in \[0, 1.05\], so they look like fractions of the image; if they are, give relative=True"
)


@pytest.mark.parametrize(
    ("found", "message"),
    [(many(), CORNERS), (many(100), CORNERS), (many(3).with_columns(pl.col(BOX) / 400), FRACTIONS),
     (pl.DataFrame(rows("xyxy", relative=True)), FRACTIONS)],
)  # fmt: skip
def test_what_looks_wrong_is_said_before_the_number(found: pl.DataFrame, message: str) -> None:
    with pytest.warns(BoxFormatWarning, match=message):
        apf.evaluate(TRUTH, found)
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(found)
    with pytest.warns(BoxFormatWarning, match=message):
        evaluator.compute()
    with pytest.warns(BoxFormatWarning, match=message.replace("detections", "annotations")):
        apf.Dataset(IMAGES, TRUTH.categories, found)


@pytest.mark.parametrize(
    ("found", "options"),
    [(many(99), {}), (many(), {"box_format": "xyxy"}), (many(), {"box_format": "xywh"}),
     (many(width=pl.when(pl.col("score") == pl.col("score").max()).then(10).otherwise("width")), {}),  # one that is no corner
     (many(x=0, y=0), {}),  # where it is the same
     (pl.concat([many(1)] * 200), {}),  # one box many times
     (many(x=0, y=0, width=1, height=1), {}), (many(3).with_columns(pl.col(BOX) / 400), {"relative": True})],
)  # fmt: skip
def test_silent(found: pl.DataFrame, options: dict[str, Any]) -> None:
    with warnings.catch_warnings(action="error", category=BoxFormatWarning):
        apf.evaluate(TRUTH, found, **options)


@pytest.mark.slow
def test_formats_that_say_it_are_silent(tmp_path: Path) -> None:
    truth = apf.Dataset(
        {"image_id": [1], "file_name": ["a.jpg"]}, {"category_id": [1], "name": ["cat"]}, many(), box_format="xywh"
    )
    with warnings.catch_warnings(action="error", category=BoxFormatWarning):
        for name in ("coco", "voc", "parquet"):
            apf.write_dataset(truth, tmp_path / name, name)
            apf.read_dataset(tmp_path / name)


@pytest.mark.filterwarnings("ignore:detections. all boxes")
def test_protocols_that_count_pixels_want_pixels() -> None:
    apart = {"image_id": [1], "category_id": [1], "score": [0.5], "x": [0.1], "y": [0.1], "width": [0.1], "height": [0.1]}
    with pytest.warns(BoxFormatWarning, match="all boxes of the detections are in .0, 1.05., but VOC2007 adds a pixel"):
        apf.evaluate(TRUTH, apart, apf.VOC2007)
    with warnings.catch_warnings(action="error", category=BoxFormatWarning):
        apf.evaluate(TRUTH, rows("xywh"), apf.VOC2007)
        apf.evaluate(TRUTH, rows("xywh", relative=True), apf.VOC2007, relative=True)


@pytest.mark.slow
def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = text_folder(tmp_path / "truth", a="cat 10 20 40 60\n", b="dog 5 6 205 96\n")
    detections = text_folder(tmp_path / "found", a="cat .9 10 20 40 60\n", b="dog .8 5 6 205 96\n")
    for command in (
        ["eval", truth, detections, "--box-format", "xyxy", "--protocol", "voc2012"],
        ["check", truth, detections, "--box-format", "xyxy"],
        ["convert", truth, tmp_path / "truth.json", "--to", "coco", "--box-format", "xyxy"],
        ["convert", detections, tmp_path / "found.json", "--to", "coco", "--results-of", truth, "--box-format", "xyxy"],
    ):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in command])
        assert ended.value.code == 0, capsys.readouterr()
    assert " mean    100.00" in capsys.readouterr().out
    boxes = [row["bbox"] for row in json.loads((tmp_path / "truth.json").read_text())["annotations"]]
    assert boxes == [[10, 20, 30, 40], [5, 6, 200, 90]]
    with pytest.raises(SystemExit):
        main(["eval", str(truth), str(detections), "--box-format", "xyxy", "--relative"])
    assert "--image-sizes" in capsys.readouterr().err

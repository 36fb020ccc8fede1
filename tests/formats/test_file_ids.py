"""Ids as formats have them, and results that name images and categories."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, IdTypeError, NoAnnotationsWarning, ParameterError, RowError, UnknownIdError
from apframe.formats.box_text import Boxes
from apframe.formats.by_name import with_ids_by_name
from apframe.formats.coco.format import Coco
from apframe.formats.file_ids import results_with_ids_of, with_ids_of
from tests.formats.folders import written

BOX = {"x": [1.0], "y": [2.0], "width": [3.0], "height": [4.0]}


def dataset(files: list[str | None], names: list[str | None], image: Any = 1, category: Any = 1) -> apf.Dataset:
    of_texts = isinstance(image, str)
    images = {"image_id": [f"i{n}" if of_texts else n for n in range(1, len(files) + 1)], "file_name": files}
    categories = {"category_id": [f"c{n}" if of_texts else n for n in range(1, len(names) + 1)], "name": names}
    return apf.Dataset(images, categories, {"image_id": [image], "category_id": [category], **BOX})


def test_numbers_become_names_of_files_and_classes() -> None:
    named = with_ids_of(Boxes(), dataset(["val/a.b.jpg", None], ["cat", "dog"], 1, 2))
    assert named.images["image_id"].to_list() == ["a.b", "2"]
    assert named.categories["category_id"].to_list() == ["cat", "dog"]
    assert named.annotations.select("image_id", "category_id").rows() == [("a.b", "dog")]


def test_names_become_numbers_and_stay_as_names() -> None:
    numbered = with_ids_of(Coco(), dataset([None, "b.jpg"], [None, "dog"], "i2", "c1"))
    assert numbered.images.select("image_id", "file_name").rows() == [(1, "i1"), (2, "b.jpg")]
    assert numbered.categories.select("category_id", "name").rows() == [(1, "c1"), (2, "dog")]
    assert numbered.annotations.select("image_id", "category_id").rows() == [(2, 1)]


def test_lists_of_categories_go_with_them() -> None:
    images = {"image_id": [1, 2], "neg_category_ids": [[4, 3], []]}
    categories = {"category_id": [3, 4], "name": ["cat", "animal"], "parent_ids": [[4], []]}
    named = with_ids_of(Boxes(), apf.Dataset(images, categories, {}))
    assert named.images["neg_category_ids"].to_list() == [["animal", "cat"], []]
    assert named.categories["parent_ids"].to_list() == [["animal"], []]


def test_ids_that_fit_stay() -> None:
    truth = dataset(["a.jpg"], ["cat"])
    assert with_ids_of(Coco(), truth) is truth


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.raises(RowError, match=r"images: the name is not unique \('a'\) for image_id 1, 2; .* rename them"):
        with_ids_of(Boxes(), dataset(["x/a.jpg", "y/a.jpg"], ["cat"]))


def test_results_go_with_their_data_set() -> None:
    results = pl.DataFrame({"detection_id": [1], "image_id": [1], "category_id": [2]})
    named = results_with_ids_of(Boxes(), results, dataset(["a.jpg"], ["cat", "dog"]))
    assert named.rows() == [(1, "a", "dog")]


def test_results_without_a_data_set_keep_ids_as_text() -> None:
    results = pl.DataFrame({"detection_id": [1], "image_id": [7], "category_id": [2]})
    assert results_with_ids_of(Boxes(), results, None).rows() == [(1, "7", "2")]
    with pytest.raises(ParameterError, match="COCO JSON numbers its images, but these results name them; give their data set"):
        results_with_ids_of(Coco(), results.cast({"image_id": pl.String}), None)


def test_results_of_unknown_images_are_not_translated() -> None:
    results = pl.DataFrame({"detection_id": [1], "image_id": [9], "category_id": [2]})
    with pytest.raises(UnknownIdError, match="image_id is not among the images for detection_id 1; unknown: 9"):
        results_with_ids_of(Boxes(), results, dataset(["a.jpg"], ["cat"]))


def test_results_with_ids_of_another_type_are_not_translated() -> None:
    results = pl.DataFrame({"detection_id": [1], "image_id": ["a"], "category_id": [2]})
    with pytest.raises(
        IdTypeError, match=r'^detections\.image_id holds strings, .* join them by name \(join_by_name="images"\)$'
    ):
        results_with_ids_of(Boxes(), results, dataset(["a.jpg"], ["cat"]))


JOINS = {
    "as they are": (["val/a.jpg", "b.jpg"], ["val/a.jpg", "b.jpg"]),
    "without folders": (["val/a.jpg", "val/b.jpg"], ["a.jpg", "test/b.jpg"]),
    "without ending": (["val/a.jpg", "val/b.jpg"], ["a", "b.png"]),
    "by id where there is no file": ([None, "b.jpg"], ["1", "b.jpg"]),
    "dots without ending": (["frame_jpg.rf.8d3.jpg", "val/v1.2.jpg"], ["frame_jpg.rf.8d3", "v1.2"]),
    "dots, and only the data set without ending": (["frame_jpg.rf.8d3", "v1.2"], ["frame_jpg.rf.8d3.jpg", "val/v1.2.png"]),
    "dots with other endings": (["frame_jpg.rf.8d3.jpg", "v1.2.jpg"], ["frame_jpg.rf.8d3.png", "v1.2.txt"]),
    "dots, some without ending": (["frame_jpg.rf.8d3.jpg", "v1.2.jpg"], ["frame_jpg.rf.8d3", "v1.2.png"]),
    "a whole name before one without ending": (["a.b.jpg", "a.jpg"], ["a.b", "a"]),
    "nor is an ending what others have in the middle": (["a.b.jpg", "a.c.jpg"], ["a.b", "a.c"]),
}


@pytest.mark.parametrize(("files", "named"), JOINS.values(), ids=JOINS)
def test_images_are_joined_by_file_name(files: list[str | None], named: list[str]) -> None:
    detections = pl.DataFrame({"image_id": named})
    assert with_ids_by_name(detections, dataset(files, ["cat"]), "images")["image_id"].to_list() == [1, 2]


@pytest.mark.slow
def test_what_ultralytics_predicts_for_an_export_of_roboflow(tmp_path: Path) -> None:
    names = ["street_jpg.rf.8d3f", "street_jpg.rf.77aa", "000000000139_jpg.rf.0c1d"]
    truth = dataset([f"{name}.jpg" for name in names], ["cat"])
    rows = [{"image_id": name, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5} for name in names]
    (tmp_path / "predictions.json").write_text(json.dumps(rows))
    assert apf.evaluate(truth, tmp_path / "predictions.json", join_by_name="images").metrics["recall"][0] == 1
    results = written(tmp_path / "labels", {f"{name}.txt": "0 0.025 0.2 0.03 0.2 0.5\n" for name in names})
    sized = apf.Dataset(truth.images.with_columns(image_width=100, image_height=20), truth.categories, truth.annotations)
    sized = apf.Dataset(
        sized.images, {"category_id": [0], "name": ["cat"]}, sized.annotations.with_columns(category_id=pl.lit(0))
    )
    assert apf.evaluate(sized, results, join_by_name="images").metrics["recall"][0] == 1


@pytest.mark.parametrize("ending", ["", ".jpg", ".png"])
@pytest.mark.parametrize("name", ["a", "frame_jpg.rf.8d3", "v1.2"])
def test_sizes_are_those_of_the_images_that_are_named(tmp_path: Path, name: str, ending: str) -> None:
    files = {"data.yaml": "names: [cat]\nval: images\n", f"labels/{name}.txt": "0 .5 .5 .5 .5\n", f"images/{name}.jpg": ""}
    sizes = {"file_name": [f"{name}{ending}", "frame_jpg.rf.jpg"], "image_width": [100, 7], "image_height": [20, 7]}
    truth = apf.read_dataset(written(tmp_path, files), image_sizes=sizes)
    assert truth.images.select("image_id", "image_width", "image_height").rows() == [(name, 100, 20)]
    detections = apf.read_results(written(tmp_path / "found", {f"{name}.txt": "0 .5 .5 .5 .5 .9\n"}), dataset=truth)
    assert detections.select("image_id", *BOX).rows() == [(name, 25.0, 5.0, 50.0, 10.0)]


def test_columns_of_names_come_before_ids() -> None:
    detections = pl.DataFrame(
        {"image_id": [0, 0], "file_name": ["b.jpg", "a.jpg"], "category_id": [0, 1], "name": ["dog", "cat"]}
    )
    joined = with_ids_by_name(detections, dataset(["a.jpg", "b.jpg"], ["cat", "dog"]), ["images", "categories"])
    assert joined.select("image_id", "category_id").rows() == [(2, 2), (1, 1)]


def test_numbers_of_a_file_are_names_as_they_are_written(tmp_path: Path) -> None:
    truth = dataset(["000.jpg", "7.jpg"], ["cat"], 2)
    row = {"image_id": 7, "category_id": "cat", "bbox": [1, 2, 3, 4], "score": 0.5}
    for name, rows in {"whole": [row], "a double": [row | {"image_id": 7.0}]}.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(rows))
        joined = apf.read_results(path, dataset=truth, join_by_name=["images", "categories"])
        assert joined.select("image_id", "category_id").rows() == [(2, 1)]


def test_names_that_are_missing_are_refused() -> None:
    detections = {"image_id": ["a", None], "category_id": [1, 1], "score": [0.5, 0.5], **{side: [1.0, 1.0] for side in BOX}}
    with pytest.raises(RowError, match="image_id is missing for detection_id 2"):
        apf.read_results(detections, dataset=dataset(["a.jpg"], ["cat"]), join_by_name="images")
    with pytest.raises(ColumnError, match=r"^detections: no column name or category_id to join by; there are image_id$"):
        with_ids_by_name(pl.DataFrame({"image_id": ["a"]}), dataset(["a.jpg"], ["cat"]), "categories")


def test_unknown_and_ambiguous_names_are_refused() -> None:
    truth = dataset(["x/a.jpg", "y/a.jpg"], ["cat", "cat"])
    with pytest.raises(UnknownIdError, match=r"unknown: 'c\.jpg'; the images are called .* must be a file_name of the images"):
        with_ids_by_name(pl.DataFrame({"image_id": ["c.jpg", "a"]}), truth, "images")
    with pytest.raises(
        RowError, match=r"images: file_name is not unique \('a'\) for image_id 1, 2; make the names unique, or use ids"
    ):
        with_ids_by_name(pl.DataFrame({"image_id": ["a"]}), truth, "images")
    with pytest.raises(RowError, match=r"categories: name is not unique \('cat'\)"):
        with_ids_by_name(pl.DataFrame({"category_id": ["cat"]}), truth, "categories")
    with pytest.raises(ParameterError, match="join_by_name takes images and categories, not 'files'"):
        with_ids_by_name(pl.DataFrame({"category_id": ["cat"]}), truth, "files")


def test_a_name_that_nobody_asks_for_may_be_ambiguous() -> None:
    truth = dataset(["x/a.jpg", "y/a.jpg", "b.jpg"], ["cat"])
    assert with_ids_by_name(pl.DataFrame({"image_id": ["b"]}), truth, "images")["image_id"].to_list() == [3]


CAST = 'make image_id of the {} whole numbers (in Polars .cast(pl.Int64), in JSON 7 instead of "7")'
JOIN = 'join them by name (join_by_name="images")'
# ids and names of two images, ids of two detections -> what to do
OF_TWO_TYPES: dict[str, tuple[list[int] | list[str], list[str] | None, list[int] | list[str], str]] = {
    "numbers as text": ([1, 2], None, ["1", "2"], CAST.format("detections")),
    "numbers as text, that no image is called": ([1, 2], ["a.jpg", "b.jpg"], ["1", "02"], CAST.format("detections")),
    "numbers as text, that images are called": ([7, 8], ["x/01.jpg", "02"], ["01", "02"], JOIN),
    "both": ([1, 2], ["x/01.jpg", "02"], ["01", "02"], f"{CAST.format('detections')}, or {JOIN}"),
    "names": ([1, 2], ["a.jpg", "b.jpg"], ["a", "b"], JOIN),
    "other names": ([1, 2], ["a.jpg", "b.jpg"], ["x", "y"], f"use the ids of the images, or {JOIN}"),
    "names, and the images have none": ([1, 2], None, ["a", "2"], "use the ids of the images"),
    "images numbered as text": (["1", "2"], None, [1, 2], f"{CAST.format('images')}, and annotations likewise"),
    "images called by names": (["a", "b"], None, [1, 2], f"use the ids of the images, or {JOIN}"),
}  # fmt: skip


@pytest.mark.parametrize(("ids", "names", "found", "remedy"), OF_TWO_TYPES.values(), ids=OF_TWO_TYPES)
def test_ids_of_two_types(
    ids: list[int] | list[str], names: list[str] | None, found: list[int] | list[str], remedy: str
) -> None:
    images = {"image_id": ids} if names is None else {"image_id": ids, "file_name": names}
    truth = apf.Dataset(images, {"category_id": [1]}, {})
    detections = pl.DataFrame(
        {"image_id": found, "category_id": [1, 1], "score": [0.5, 0.5], **{n: v * 2 for n, v in BOX.items()}}
    )
    with pytest.raises(IdTypeError) as error:
        apf.evaluate(truth, detections)
    assert str(error.value).split("; ", 1)[1] == remedy
    if "integers: detections" in remedy:  # which helps
        detections = detections.with_columns(pl.col("image_id").cast(pl.Int64))
        with pytest.warns(NoAnnotationsWarning):
            assert apf.evaluate(truth, detections).detections.height == 2


@pytest.mark.slow
def test_detections_that_name_their_files_are_joined_first() -> None:
    """As Ultralytics writes them, where label files call the image 000042."""
    truth = apf.Dataset({"image_id": ["000042"]}, {"category_id": [1]}, {"image_id": ["000042"], "category_id": [1], **BOX})
    detections = pl.DataFrame({"image_id": [42], "file_name": "000042.jpg", "category_id": 1, "score": 0.5, **BOX})
    for options in ({}, {"join_by_name": "images"}):
        assert apf.evaluate(truth, detections, **options)["AP"] == pytest.approx(1)
    assert apf.evaluate(truth, detections.drop("file_name"))["AP"] == pytest.approx(1)
    with pytest.raises(IdTypeError) as error:  # there is no image with this number, nor a file of this name
        apf.evaluate(truth, detections.with_columns(image_id=7, file_name=pl.lit("7.jpg")))
    assert str(error.value).split("; ", 1)[1] == f"{JOIN}, or {CAST.format('images')}, and annotations likewise"


def test_numbers_that_may_only_count_are_no_names() -> None:
    """0, 1, 2 of ten images may be the first three, or any three that a program counted."""
    truth = apf.Dataset({"image_id": [f"{n:06}" for n in range(10)]}, {"category_id": [1]}, {})
    for ids, expected in (([5, 7], ["000005", "000007"]), (list(range(10)), [f"{n:06}" for n in range(10)])):
        detections = {"image_id": ids, "category_id": [1] * len(ids), "score": [0.5] * len(ids)}
        detections |= {name: values * len(ids) for name, values in BOX.items()}
        assert apf.read_results(detections, dataset=truth)["image_id"].to_list() == expected
    for ids in ([0, 1, 2], [1, 2]):
        detections = {"image_id": ids, "category_id": [1] * len(ids), "score": [0.5] * len(ids)}
        with pytest.raises(IdTypeError, match="holds integers, not strings like"):
            apf.evaluate(truth, detections | {name: values * len(ids) for name, values in BOX.items()})


def test_texts_that_are_no_names_are_no_numbers() -> None:
    """Ids that are texts by chance have to be cast by whoever knows what they mean."""
    truth = apf.Dataset({"image_id": ["1", "2"]}, {"category_id": [1]}, {})
    with pytest.raises(IdTypeError, match="holds integers, not strings like"):
        apf.evaluate(truth, {"image_id": [1], "category_id": [1], "score": [0.5], **BOX})


def test_annotations_with_ids_of_another_type() -> None:
    with pytest.raises(IdTypeError, match=re.escape(f"; {CAST.format('annotations')}") + "$"):
        apf.Dataset({"image_id": [1]}, {"category_id": [1]}, {"image_id": ["1"], "category_id": [1], **BOX})


def test_evaluate_joins_when_asked_and_says_how_when_not() -> None:
    truth = dataset(["a.jpg"], ["cat"])
    detections = {"image_id": ["a"], "category_id": ["cat"], "score": [0.5], **BOX}
    assert apf.evaluate(truth, detections, join_by_name=["images", "categories"]).metrics["recall"][0] == 1
    with pytest.raises(IdTypeError, match=r'; join them by name \(join_by_name="images"\)$'):
        apf.evaluate(truth, detections)

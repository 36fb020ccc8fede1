"""Evaluations of some images alone: those that a user lists, and splits that are published as lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ParameterError, UnknownIdError
from apframe.formats.catalogue import FORMATS
from tests.fuzz.valid_sets import SHAPES, write_valid

IMAGES = {"image_id": [7, 8, 9], "file_name": ["val/a.jpg", "val/b.jpg", "val/c.jpg"]}
BOX = {"x": [0, 0, 0], "y": [0, 0, 0], "width": [9, 9, 9], "height": [9, 9, 9]}
TRUTH = apf.Dataset(IMAGES, {"category_id": [1]}, {"image_id": [7, 8, 9], "category_id": [1, 1, 1], **BOX})
FOUND: dict[str, list[Any]] = {"image_id": [7, 8, 9], "category_id": [1, 1, 1], "score": [0.9, 0.8, 0.7], **BOX}
LABEL = "Car 0 0 1.5 100 100 200 200 1.5 1.6 3.9 1 1.6 20 1.5"


def kitti(folder: Path, *, n: int = 4) -> Path:
    """Labels of `n` images as KITTI's archives unpack, with the usual list of the validation set."""
    labels = folder / "kitti" / "training" / "label_2"
    labels.mkdir(parents=True)
    for number in range(n):
        (labels / f"{number:06}.txt").write_text(f"{LABEL}\n")
    (folder / "kitti" / "ImageSets").mkdir()
    (folder / "kitti" / "ImageSets" / "val.txt").write_text("000001\n\n000003\n")
    return labels


@pytest.mark.parametrize("name", list(FORMATS))
def test_images_chooses_in_every_format(name: str, tmp_path: Path) -> None:
    """The data set, and its results, of the images that are listed."""
    truth, results = write_valid(name, SHAPES[name][0], tmp_path)
    whole = apf.read_dataset(truth, name)
    first = whole.images["image_id"].sort()[0]
    part = apf.read_dataset(truth, name, images=[first])
    assert part.images["image_id"].to_list() == [first]
    assert part.annotations.equals(whole.where([first]).annotations)
    if results.exists():
        options: dict[str, Any] = {} if name in ("boxes", "csv", "parquet", "arrow", "hugging_face") else {"protocol": "coco"}
        reading: dict[str, Any] = {"format": name, "results_format": name, "unknown_images": "drop", **options}
        if {"mask", "corners", "cuboid_x", "start_time", "segment_id", "label_map"} & set(whole.annotations.columns):
            return  # which COCO does not compare
        everything = apf.evaluate(truth, results, **reading)
        chosen = apf.evaluate(truth, results, images=[first], **reading)
        expected = everything.detections.filter(pl.col("image_id") == first)
        assert chosen.detections.drop("detection_id").equals(expected.drop("detection_id"))


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if "folder" in each.kinds_of("dataset")])
def test_split_is_a_list_in_every_folder(name: str, tmp_path: Path) -> None:
    """A split is a file of image names, from here or from the folder of the data set."""
    truth, _ = write_valid(name, SHAPES[name][0], tmp_path)
    if not truth.is_dir():
        pytest.skip("the smallest data set of this format is a file")
    whole = apf.read_dataset(truth, name)
    first = whole.images["image_id"].sort()[0]
    (tmp_path / "ImageSets").mkdir()
    (tmp_path / "ImageSets" / "few.txt").write_text(f"{first}\n")
    for split in (str(tmp_path / "ImageSets" / "few.txt"), "ImageSets/few.txt"):
        assert apf.read_dataset(truth, name, split=split).annotations.equals(whole.where([first]).annotations)
    if "split" not in FORMATS[name].options:
        assert apf.read_dataset(truth, name, split="few").images["image_id"].to_list() == [first]


def test_kitti_val_is_evaluated_at_the_first_try(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Half of the labels are those of the validation set, and results have only these."""
    labels = kitti(tmp_path)
    (tmp_path / "found").mkdir()
    for number in (1, 3):
        (tmp_path / "found" / f"{number:06}.txt").write_text(f"{LABEL} 0.9\n")
    evaluation = apf.evaluate(labels, tmp_path / "found", "kitti", split="val")
    assert evaluation.dataset.images["image_id"].to_list() == ["000001", "000003"]
    assert list(evaluation.notes) == ["2 of 4 images were chosen; the others were left out with their detections"]
    assert not [each for each in recwarn if "without a result file" in str(each.message)]


def test_split_is_a_folder_inside(tmp_path: Path) -> None:
    """A folder with one folder for each split is no data set itself."""
    for name, number in (("train", 1), ("val", 2)):
        (tmp_path / "labels" / name).mkdir(parents=True)
        (tmp_path / "labels" / name / f"{number}.txt").write_text(f"{LABEL}\n")
    assert apf.read_dataset(tmp_path / "labels", split="val").images["image_id"].to_list() == ["2"]


def test_unknown_split_names_those_that_there_are(tmp_path: Path) -> None:
    """A typo is an error that has the right name."""
    labels = kitti(tmp_path)
    with pytest.raises(
        ParameterError, match="no split 'vla', neither a folder nor a list of images in ImageSets; did you mean val"
    ):
        apf.read_dataset(labels, split="vla")
    other = tmp_path / "other" / "deep" / "labels"
    other.mkdir(parents=True)
    (other / "1.txt").write_text(f"{LABEL}\n")
    with pytest.raises(ParameterError, match="give the path of a text file with an image name in each line"):
        apf.read_dataset(other, split="val")


def test_one_file_has_no_splits() -> None:
    """The error names the option that chooses images of a file."""
    with pytest.raises(ParameterError, match="COCO JSON in one file has no splits; evaluate some of its images with images="):
        apf.read_dataset("data/street/instances.json", split="val")


@pytest.mark.parametrize("images", [[7, 9], ["a", "c"], ["a.jpg", "c.jpg"], ["val/a.jpg", "val/c.jpg"], pl.Series([7, 9])])
def test_images_are_ids_or_names(images: object) -> None:
    """Names match with or without folders and ending."""
    assert apf.evaluate(TRUTH, FOUND, images=images).detections["image_id"].to_list() == [7, 9]


def test_images_are_listed_in_a_file(tmp_path: Path) -> None:
    """A line for each, by name or id."""
    (tmp_path / "ids.txt").write_text("9\n7\n")
    (tmp_path / "names.txt").write_text("images/val/c.png\r\n\r\nimages/val/a.png\r\n")
    for name in ("ids.txt", "names.txt"):
        assert apf.evaluate(TRUTH, FOUND, images=tmp_path / name).dataset.images["image_id"].to_list() == [7, 9]


def test_an_unknown_image_is_an_error() -> None:
    """It shows how images are called."""
    problem = r"images=: 1 of 2 images are not in the ground truth \('d'\); its images are called 'val/a.jpg', 'val/b.jpg'"
    with pytest.raises(ParameterError, match=problem):
        apf.evaluate(TRUTH, FOUND, images=["a", "d"])
    with pytest.raises(ParameterError, match="images= names no images"):
        apf.evaluate(TRUTH, FOUND, images=[])


def test_detections_of_unknown_images_stay_errors() -> None:
    """Only those of images that are left out are left out."""
    found = {**FOUND, "image_id": [7, 8, 70]}
    with pytest.raises(UnknownIdError, match="unknown: 70"):
        apf.evaluate(TRUTH, found, images=[7])


def test_results_by_name_know_images_left_out() -> None:
    """Detections are joined to all images, and then left out."""
    found = {**FOUND, "image_id": ["a", "b", "c"]}
    evaluation = apf.evaluate(TRUTH, found, images=[8], join_by_name="images")
    assert evaluation.detections.select("image_id", "score").rows() == [(8, 0.8)]


def test_an_evaluator_leaves_out_other_images() -> None:
    """Updates may have detections of any image of the data set, or name them."""
    evaluator = apf.Evaluator(TRUTH, images=["b"])
    for row in range(3):
        evaluator.update({name: values[row : row + 1] for name, values in FOUND.items()}, image_ids=[7 + row])
    assert evaluator.state()["image_id"].to_list() == [8]
    assert evaluator.compute()["AP50"] == pytest.approx(1)


def test_attributes_of_other_images_are_no_surprise(recwarn: pytest.WarningsRecorder) -> None:
    """A table about all images fits, and so does one about the chosen ones."""
    for ids in ([7, 8, 9], [8]):
        attributes = {"image_id": ids, "weather": ["fog"] * len(ids)}
        evaluation = apf.evaluate(TRUTH, FOUND, images=[8], image_attributes=attributes)
        assert evaluation.by("weather")["weather"].to_list() == ["fog"]
    assert not [each for each in recwarn if issubclass(each.category, apf.UnmatchedAttributesWarning)]


def test_shards_are_written_of_chosen_images(tmp_path: Path) -> None:
    """The list names images of all files together."""
    files = []
    for number, image in enumerate((7, 8, 9)):
        files.append(tmp_path / f"truth_{number}.json")
        apf.write_dataset(TRUTH.where([image]), files[-1], "coco")
    apf.write_shards(files, FOUND, tmp_path / "shards", images=[7, 9])
    assert apf.evaluate_shards(tmp_path / "shards" / "*").dataset.images["image_id"].sort().to_list() == [7, 9]
    with pytest.raises(ParameterError, match="images is about files; shards are tables, which are read without it"):
        apf.evaluate_shards(tmp_path / "shards" / "*", images=[7])

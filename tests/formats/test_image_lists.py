"""Evaluations of some images alone: those that a user lists, and splits that are published as lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, RowError, UnknownIdError
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_kitti_val_is_evaluated_at_the_first_try(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """Half of the labels are those of the validation set, and results have only these."""
    labels = kitti(tmp_path)
    (tmp_path / "found").mkdir()
    for number in (1, 3):
        (tmp_path / "found" / f"{number:06}.txt").write_text(f"{LABEL} 0.9\n")
    evaluation = apf.evaluate(labels, tmp_path / "found", "kitti", split="val")
    assert evaluation.dataset.images["image_id"].to_list() == ["000001", "000003"]
    assert list(evaluation.notes) == ["2 images left out with their detections, as others were chosen"]
    assert not [each for each in recwarn if "without a result file" in str(each.message)]


def test_split_is_a_folder_inside(tmp_path: Path) -> None:
    """A folder with one folder for each split is no data set itself."""
    for name, number in (("train", 1), ("val", 2)):
        (tmp_path / "labels" / name).mkdir(parents=True)
        (tmp_path / "labels" / name / f"{number}.txt").write_text(f"{LABEL}\n")
    assert apf.read_dataset(tmp_path / "labels", split="val").images["image_id"].to_list() == ["2"]


def test_only_ground_truth_is_looked_for_in_folders(tmp_path: Path) -> None:
    """Results are where they are said to be, and ground truth only in folders that have nothing else."""
    for name in ("empty", "old"):
        (tmp_path / "found" / name).mkdir(parents=True)
    (tmp_path / "found" / "old" / "1.txt").write_text(f"{LABEL} 0.9\n")
    with pytest.raises(FormatError, match=r"name what is in it: .*old"):
        apf.read_results(tmp_path / "found")
    (tmp_path / "truth" / "label_2").mkdir(parents=True)
    (tmp_path / "truth" / "label_2" / "1.txt").write_text(f"{LABEL}\n")
    assert apf.read_dataset(tmp_path / "truth").images["image_id"].to_list() == ["1"]
    (tmp_path / "truth" / "1.txt").write_text("Car 1 2\n")
    for options in ({}, {"format": "kitti"}):
        with pytest.raises(FormatError):
            apf.read_dataset(tmp_path / "truth", **options)


def test_many_folders_are_not_searched(tmp_path: Path) -> None:
    """The only one of some that fits may not be the only one of all."""
    for number in range(60):
        (tmp_path / f"{number:03}").mkdir()
    (tmp_path / "005" / "1.txt").write_text(f"{LABEL}\n")
    with pytest.raises(FormatError):
        apf.read_dataset(tmp_path, "kitti")


def test_a_split_of_its_own_stays_with_the_format(tmp_path: Path) -> None:
    """A folder that is called as the split has several of these itself."""
    for split in ("train", "val"):
        for kind, name, text in (("labels", f"{split}.txt", "0 .5 .5 .2 .2\n"), ("images", f"{split}.jpg", "")):
            place = tmp_path / "train" / kind / split
            place.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
    (tmp_path / "train" / "data.yaml").write_text("train: images/train\nval: images/val\nnames: [cat]\n")
    sizes = {"file_name": ["train.jpg", "val.jpg"], "image_width": [64, 64], "image_height": [48, 48]}
    assert apf.read_dataset(tmp_path, split="train", image_sizes=sizes).images["image_id"].to_list() == ["train"]


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
    problem = r"images=: 1 of 2 images not in the ground truth \('d'\); its images are called 'val/a.jpg', 'val/b.jpg'"
    with pytest.raises(ParameterError, match=problem):
        apf.evaluate(TRUTH, FOUND, images=["a", "d"])
    with pytest.raises(ParameterError, match="images= names no images"):
        apf.evaluate(TRUTH, FOUND, images=[])


def test_names_that_mean_several_images_are_errors(tmp_path: Path) -> None:
    """Ids of some that are file names of others, and file names of several folders."""
    truth = apf.Dataset({"image_id": [1, 2, 3], "file_name": ["3.jpg", "1.jpg", "2.jpg"]}, {"category_id": [1]}, {})
    (tmp_path / "list.txt").write_text("1\n3\n")
    with pytest.raises(ParameterError, match="these are ids of some images and file names of others; add the ending to"):
        apf.read_dataset(truth, images=tmp_path / "list.txt")
    assert apf.read_dataset(truth, images=["1.jpg", "3.jpg"]).images["image_id"].to_list() == [1, 2]
    assert apf.read_dataset(truth, images={1, 3}).images["image_id"].to_list() == [1, 3]
    truth = apf.Dataset({"image_id": [1, 2], "file_name": ["a/1.jpg", "b/1.jpg"]}, {"category_id": [1]}, {})
    with pytest.raises(ParameterError, match=r"several images are called '1\.jpg'; add their folders, or give ids"):
        apf.read_dataset(truth, images=["1.jpg"])
    assert apf.read_dataset(truth, images=["b/1.jpg"]).images["image_id"].to_list() == [2]


@pytest.mark.parametrize("images", [[None], "", []])
def test_no_images_are_an_error(images: Any) -> None:
    with pytest.raises(ParameterError, match="images= names no images"):
        apf.read_dataset(TRUTH, images=images)


def test_rows_keep_their_numbers() -> None:
    """An error names the rows of the source, and detections have the same ids as in the whole."""
    detections = {**FOUND, "score": [0.9, 0.8, None]}
    with pytest.raises(RowError, match="score is missing for detection_id 3"):
        apf.evaluate(TRUTH, detections, images=[9])
    assert apf.evaluate(TRUTH, FOUND, images=[9]).detections["detection_id"].to_list() == [3]


def test_detections_of_unknown_images_stay_errors() -> None:
    """Only those of images that are left out are left out."""
    detections = {**FOUND, "image_id": [7, 8, 70]}
    with pytest.raises(UnknownIdError, match="unknown: 70"):
        apf.evaluate(TRUTH, detections, images=[7])


def test_results_by_name_know_images_left_out() -> None:
    """Detections are joined to all images, and then left out."""
    detections = {**FOUND, "image_id": ["a", "b", "c"]}
    evaluation = apf.evaluate(TRUTH, detections, images=[8], join_by_name="images")
    assert evaluation.detections.select("image_id", "score").rows() == [(8, 0.8)]


def test_an_evaluator_leaves_out_other_images() -> None:
    """Updates may have detections of any image of the data set, or name them."""
    evaluator = apf.Evaluator(TRUTH, images=["b"])
    for row in range(3):
        evaluator.update({name: values[row : row + 1] for name, values in FOUND.items()}, image_ids=[7 + row])
    assert evaluator.state()["image_id"].to_list() == [8]
    assert evaluator.compute()["AP50"] == pytest.approx(1)


@pytest.mark.slow
def test_attributes_of_other_images_are_no_surprise(recwarn: pytest.WarningsRecorder) -> None:
    """A table about all images fits, and so does one about the chosen ones."""
    for ids in ([7, 8, 9], [8]):
        attributes = {"image_id": ids, "weather": ["fog"] * len(ids)}
        evaluation = apf.evaluate(TRUTH, FOUND, images=[8], image_attributes=attributes)
        assert evaluation.by("weather")["weather"].to_list() == ["fog"]
    assert not [each for each in recwarn if issubclass(each.category, apf.UnmatchedAttributesWarning)]


@pytest.mark.slow
def test_shards_are_written_of_a_split_of_each(tmp_path: Path) -> None:
    """Detections of the images that a split leaves out are left out, as with one data set."""
    kitti(tmp_path)
    (tmp_path / "found.jsonl").write_text(
        "\n".join(f'{{"image_id": "{n:06}", "category_id": "Car", "bbox": [1, 2, 3, 4], "score": 0.5}}' for n in range(4))
    )
    labels = [tmp_path / "kitti" / "training" / "label_2"]
    apf.write_shards([*labels, *labels[1:]], tmp_path / "found.jsonl", tmp_path / "one", split="val")
    (tmp_path / "kitti" / "testing" / "label_2").mkdir(parents=True)
    for name in ("000004", "000005"):
        (tmp_path / "kitti" / "testing" / "label_2" / f"{name}.txt").write_text(f"{LABEL}\n")
    (tmp_path / "kitti" / "testing" / "ImageSets").mkdir()
    (tmp_path / "kitti" / "testing" / "ImageSets" / "val.txt").write_text("000005\n")
    several = [*labels, tmp_path / "kitti" / "testing" / "label_2"]
    apf.write_shards(several, tmp_path / "found.jsonl", tmp_path / "two", split="val")
    for folder, images in (("one", ["000001", "000003"]), ("two", ["000001", "000003", "000005"])):
        assert apf.evaluate_shards(tmp_path / folder / "*").dataset.images["image_id"].sort().to_list() == images


@pytest.mark.slow
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

"""Folders of label maps: names of images and classes, and what is wrong with files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import FormatError, UnknownCategoryWarning


def write(folder: Path, *names: str, values: list[list[int]] | None = None) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.array(values or [[0, 1, 1], [2, 2, 255]], dtype=np.uint8)).save(folder / name)
    return folder


def test_classes_of_images(tmp_path: Path) -> None:
    dataset = apf.read_dataset(write(tmp_path, "b.png", "town/a.png"))
    assert dataset.images.select("image_id", "image_width", "image_height").rows() == [("b", 3, 2), ("town/a", 3, 2)]
    assert dataset.annotations.select("image_id", "category_id", "segment_id", "area").rows()[:4] == [
        ("b", 0, 0, 1.0), ("b", 1, 1, 2.0), ("b", 2, 2, 2.0), ("b", 255, 255, 1.0),
    ]  # fmt: skip
    assert dataset.categories["category_id"].to_list() == [0, 1, 2, 255]


def test_names_of_cityscapes(tmp_path: Path) -> None:
    truth = write(tmp_path / "truth", "ulm/ulm_000000_000019_gtFine_labelTrainIds.png")
    results = write(tmp_path / "found", "ulm/ulm_000000_000019_leftImg8bit.png")
    assert apf.evaluate(truth, results, "semantic").summary["value"].to_list() == [1.0] * 4
    for kind in ("instanceIds", "color"):
        write(tmp_path / "truth", f"ulm/ulm_000000_000019_gtFine_{kind}.png")
    assert apf.read_dataset(truth).images["file_name"].to_list() == ["ulm_000000_000019_gtFine_labelTrainIds.png"]
    write(tmp_path / "truth", "ulm/ulm_000000_000019_gtFine_labelIds.png")
    with pytest.raises(FormatError, match=r"several files belong to one image .*; keep one kind of label maps"):
        apf.read_dataset(truth)


def test_results_may_lie_in_one_folder(tmp_path: Path) -> None:
    """As Cityscapes' kit finds them: by city, sequence and frame alone."""
    truth = write(tmp_path / "truth", "ulm/ulm_0_19_gtFine_labelIds.png", "bonn/bonn_0_19_gtFine_labelIds.png")
    results = write(tmp_path / "found", "ulm_0_19_leftImg8bit.png", "bonn_0_19.png")
    assert apf.evaluate(truth, results, "semantic").summary["value"].to_list() == [1.0] * 4
    doubled = write(tmp_path / "doubled", "ulm/7.png", "bonn/7.png")
    with pytest.raises(FormatError, match=r"no label map for 2 images of the ground truth \('bonn/7', 'ulm/7'\)"):
        apf.evaluate(doubled, write(tmp_path / "one", "7.png"), "semantic")


def test_two_files_of_one_image_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"several files belong to one image"):
        apf.read_dataset(write(tmp_path, "a.png", "a_leftImg8bit.png"))


def test_names_of_classes(tmp_path: Path) -> None:
    (write(tmp_path, "a.png") / "classes.txt").write_text("road\nsky\ncar\nbus\n")
    names = ["road", "sky", "car", "bus", None]
    assert apf.read_dataset(tmp_path).categories["name"].to_list() == names


def test_an_image_without_results(tmp_path: Path) -> None:
    truth, detections = write(tmp_path / "truth", "a.png", "b.png"), write(tmp_path / "found", "a.png")
    with pytest.raises(FormatError, match=r"no label map for 1 image of the ground truth \('b'\)"):
        apf.evaluate(truth, detections, "semantic")


def test_no_label_maps(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(FormatError, match="no PNG in this folder"):
        apf.read_dataset(tmp_path, "label_maps")


def test_grey_pictures_in_color(tmp_path: Path) -> None:
    truth, detections = write(tmp_path / "truth", "a.png", "b.png"), write(tmp_path / "found", "a.png", "b.png")
    with Image.open(detections / "b.png") as image:
        grey = image.convert("RGB")
    grey.save(detections / "b.png")
    message = r"b\.png: is a color image whose channels are the same, so that its labels are 65793, 131586, 16777215; save"
    with pytest.raises(FormatError, match=message):
        apf.evaluate(truth, detections, "semantic")
    grey.save(truth / "b.png")  # both sides have these labels
    assert apf.evaluate(truth, detections, "semantic").dataset.categories["category_id"].to_list()[3:] == [
        255,
        65793,
        131586,
        16777215,
    ]
    colors = np.array([[[7, 7, 7], [1, 2, 3]]] * 3, dtype=np.uint8).transpose(1, 0, 2)
    Image.fromarray(colors).save(detections / "a.png")
    with pytest.warns(UnknownCategoryWarning, match="460551"):  # but one grey color among others is none
        apf.evaluate(truth, detections, "semantic")

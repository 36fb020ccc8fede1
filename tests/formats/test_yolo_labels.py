"""YOLO's label files alone: where the names of classes and the images are, and folders that are something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import FormatError, ParameterError, UnitWarning
from apframe.formats.path_contents import see
from apframe.formats.yolo.label_files import YoloLabels
from tests.cli.test_command import command
from tests.formats.folders import written

BOX = ["x", "y", "width", "height"]
LABELS = {"a.txt": "1 .5 .5 .2 .4\n", "b.txt": "0 .1 .1 .5 .1 .5 .5\n"}
SIZES = "file_name,image_width,image_height\na.jpg,100,50\nb.jpg,100,50\n"


def image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("1", (100, 50)).save(path)


@pytest.mark.parametrize("as_file", [False, True])
def test_names_are_given(as_file: bool, tmp_path: Path) -> None:
    folder = written(tmp_path / "labels", LABELS | {"image_sizes.csv": SIZES})
    written(tmp_path, {"my.names": "cat\ndog\ncar\n"})
    truth = apf.read_dataset(folder, names=tmp_path / "my.names" if as_file else ["cat", "dog", "car"])
    assert truth.categories.select("category_id", "name").rows() == [(0, "cat"), (1, "dog"), (2, "car")]
    assert truth.annotations.select("image_id", "category_id", *BOX, "mask").rows() == [
        ("a", 1, 40, 15, 20, 20, None), ("b", 0, 10, 5, 40, 20, [[10, 5, 50, 5, 50, 25]]),
    ]  # fmt: skip


@pytest.mark.slow
def test_names_are_joined_to_those_of_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results as text of YOLO, and as text with names and pixels."""
    files = {"sizes.csv": SIZES, "my.names": "cat\ndog\n"}
    predictions = {"yolo/a.txt": "1 .5 .5 .2 .4 .9\n", "words/a.txt": "dog .9 40 15 20 20\n"}
    written(tmp_path, {f"labels/{name}": text for name, text in LABELS.items()} | files | predictions)
    for results in ("yolo", "words"):
        arguments = [str(tmp_path / "labels"), str(tmp_path / results), "--names", str(tmp_path / "my.names")]
        arguments += ["--image-sizes", str(tmp_path / "sizes.csv"), "--protocol", "voc2012", "--json"]
        code, out, err = command(capsys, monkeypatch, "eval", *arguments)
        assert (code, err) == (0, "")
        assert json.loads(out)["AP"] == pytest.approx(0.5)


@pytest.mark.parametrize("place", ["labels/classes.txt", "classes.txt", "obj.names"])
@pytest.mark.parametrize("name", ["labels", ""])
def test_names_are_listed_beside_the_labels(name: str, place: str, tmp_path: Path) -> None:
    """As labelImg leaves them among the labels, Label Studio and CVAT above."""
    files = {f"labels/{path}": text for path, text in LABELS.items()} | {"sizes.csv": SIZES, place: "cat\ndog\n"}
    truth = apf.read_dataset(written(tmp_path, files) / name, image_sizes=tmp_path / "sizes.csv")
    assert truth.categories["name"].to_list() == ["cat", "dog"]
    assert truth.images["image_id"].to_list() == ["a", "b"]


@pytest.mark.parametrize("images", ["images", "labels"])
def test_images_lie_beside_the_labels(images: str, tmp_path: Path) -> None:
    """They have their sizes, and those without a label file are without objects."""
    written(tmp_path / "labels", LABELS)
    for name in "abc":
        image(tmp_path / images / f"{name}.png")
    truth = apf.read_dataset(tmp_path / "labels", names=["cat", "dog"])
    assert truth.images.select("image_id", "image_width", "image_height").rows() == [(name, 100, 50) for name in "abc"]
    assert truth.annotations["image_id"].to_list() == ["a", "b"]
    image(tmp_path / images / "c.jpg")
    with pytest.raises(FormatError, match=r"c\.\w+ and c\.\w+ have the same label file; rename one of them"):
        apf.read_dataset(tmp_path / "labels", names=["cat", "dog"])


def test_sizes_that_nothing_says_are_warned_of(tmp_path: Path) -> None:
    with pytest.warns(UnitWarning, match="the image sizes are unknown"):
        apf.read_dataset(written(tmp_path / "labels", LABELS), names=["cat", "dog"])


def test_labels_without_names_are_refused(tmp_path: Path) -> None:
    """The label file of an image that is called `classes` is no list of names."""
    folder = written(
        tmp_path / "labels", LABELS | {"classes.txt": "0 .5 .5 .1 .1\n", "image_sizes.csv": f"{SIZES}classes.jpg,9,9\n"}
    )
    with pytest.raises(
        ParameterError, match=r"labels: these look like label files of YOLO; name the data\.yaml .*, or give names=$"
    ):
        apf.read_dataset(folder)
    with pytest.raises(FormatError, match=r"a\.txt: class is not among the names in line 1; add its name, or correct"):
        apf.read_dataset(folder, names=["cat"])


OTHERS = {
    "results": {"a.txt": "0 .5 .5 .2 .4 .9\n"},
    "pixels": {"a.txt": "0 50 50 20 40\n"},
    "words": {"a.txt": "cat .5 .5 .2 .4\n"},
    "a data set": {"labels/a.txt": "0 .5 .5 .2 .4\n", "data.yaml": "val: images\nnames: [cat]\n"},
    "nothing": {"a.txt": "", "classes.txt": "cat\n"},
}


@pytest.mark.parametrize("files", OTHERS.values(), ids=OTHERS)
def test_other_folders_are_no_label_files_alone(files: dict[str, str | bytes], tmp_path: Path) -> None:
    assert not YoloLabels().fits(see(written(tmp_path, files)), "dataset")


@pytest.mark.slow
def test_a_tree_without_a_config_has_its_images(tmp_path: Path) -> None:
    """Splits are folders of labels and of images; the list of classes is beside both."""
    files = {"classes.txt": "cat\n", "labels/val/a.txt": "0 .5 .5 .2 .4\n"}
    written(tmp_path, files)
    for name in ("a", "b"):
        (tmp_path / "images" / "val").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (100, 50)).save(tmp_path / "images" / "val" / f"{name}.jpg")
    for path, options in ((tmp_path / "labels" / "val", {}), (tmp_path / "labels", {"split": "val"})):
        truth = apf.read_dataset(path, **options)
        assert truth.images.select("image_id", "image_width").rows() == [("a", 100), ("b", 100)]
        assert truth.annotations["x"].to_list() == [40]

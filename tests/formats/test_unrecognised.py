"""What people name by mistake: packed files, pictures, search runs, folders around a data set, names with a typo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import FormatError, ParameterError

CONTENTS = {
    "coco.zip": (b"PK\x03\x04rest", "this is a zip archive; unpack it"),
    "a.png": (b"\x89PNG\r\n\x1a\n", "this is a picture; name the file or folder that has the boxes"),
    "a.jpg": (b"\xff\xd8\xff\xe0", "this is a picture"),
    "run.txt": (b"301 Q0 doc1 1 0.5 tag\n", "this looks like judgements or a run of a search engine; .*apframe rank"),
    "qrels.txt": (b"301 0 doc1 1\n", "this looks like judgements or a run of a search engine; .*evaluate_run"),
    "headless.csv": (b"a.jpg,1,2,3,4,cat\n", "the first line holds numbers; it must name the columns"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_files_that_are_something_else(name: str, tmp_path: Path) -> None:
    content, message = CONTENTS[name]
    (tmp_path / name).write_bytes(content)
    for read in (apf.read_dataset, apf.read_results):
        with pytest.raises(FormatError, match=message):
            read(tmp_path / name)


def test_label_files_of_yolo_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.2 0.2\n")
    with pytest.raises(ParameterError, match=r"look like label files of YOLO; name the data\.yaml .*, or give names="):
        apf.read_dataset(tmp_path)
    with pytest.raises(FormatError, match="without scores; write them with save_conf=True; or are the two swapped"):
        apf.read_results(tmp_path)


def test_a_folder_around_a_data_set_names_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "instances.json").write_text('{"images": [], "categories": [], "annotations": []}')
    (tmp_path / "found.json").write_text('[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]')
    with pytest.raises(FormatError, match=r"this folder; name what is in it: \S+instances\.json$"):
        apf.read_dataset(tmp_path)
    with pytest.raises(FormatError, match=r"this folder; name what is in it: \S+found\.json$"):
        apf.read_results(tmp_path)
    (tmp_path / "results" / "data").mkdir(parents=True)
    (tmp_path / "results" / "data" / "a.txt").write_text("cat 0.5 1 2 3 4\n")
    with pytest.raises(FormatError, match=r"name what is in it: \S+data$"):
        apf.read_results(tmp_path / "results")


def test_a_missing_name_is_answered_with_near_ones(tmp_path: Path) -> None:
    (tmp_path / "instances.json").touch()
    with pytest.raises(FormatError, match=r"instance\.json: there is no such file or folder; did you mean instances\.json\?$"):
        apf.read_dataset(tmp_path / "instance.json")
    with pytest.raises(FormatError, match=r"there is no such file or folder$"):
        apf.read_dataset(tmp_path / "nowhere" / "instance.json")


@pytest.mark.parametrize(
    ("of", "name", "text"),
    [
        ("luna16", "annotations.csv", "seriesuid,coordX,coordY,coordZ,diameter_mm\n"),
        ("wider_face", "wider_face_val.mat", "MATLAB"),
    ],
)
def test_a_folder_in_place_of_a_file_is_named(of: str, name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    message = rf"{name}: this is one file of {of} ground truth, which is a folder; name the folder: {re.escape(str(tmp_path))}$"
    with pytest.raises(FormatError, match=message):
        apf.read_dataset(tmp_path / name)

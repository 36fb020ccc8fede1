"""LUNA16's CSV: nodules, excluded findings, the list of scans, marks, and lines that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import apframe as apf
from apframe.benchmarks.medical.luna16.format import Luna16
from apframe.exceptions import FormatError, ImagesLeftOutWarning
from apframe.formats.path_contents import see
from tests.formats.folders import written
from tests.fuzz.valid_sets import write_valid

HEADER = "seriesuid,coordX,coordY,coordZ"
FILES = {
    "annotations.csv": f"{HEADER},diameter_mm\n1.3.6,-1.5,2,-3,8.5\n1.3.8,0,0,0,4\n",
    "annotations_excluded.csv": f"{HEADER},diameter_mm\n1.3.6,100,2,3,-1\n",
    "seriesuids.csv": "1.3.6\n1.3.7\n",
}
FOUND = f"{HEADER},probability\n1.3.6,-1,2,-3,0.75\n1.3.6,101,2,3,1e-2\n1.3.7,0,0,0,0.5\n"
SPHERE = ("sphere_x", "sphere_y", "sphere_z")


LEFT_OUT = "ignore:.*left out 1 annotation of 1 scan:apframe.exceptions.ImagesLeftOutWarning"


def test_lines_are_spheres(tmp_path: Path) -> None:
    with pytest.warns(ImagesLeftOutWarning, match=r"seriesuids\.csv: left out 1 annotation .*\('1\.3\.8'\); add these"):
        truth = apf.read_dataset(written(tmp_path / "truth", FILES))
    assert truth.images["image_id"].to_list() == ["1.3.6", "1.3.7"]
    assert truth.categories["name"].to_list() == ["nodule"]
    assert truth.annotations.select("image_id", *SPHERE, "sphere_diameter", "ignore").rows() == [
        ("1.3.6", -1.5, 2, -3, 8.5, False), ("1.3.6", 100, 2, 3, -1, True),
    ]  # fmt: skip


def test_without_the_other_files(tmp_path: Path) -> None:
    truth = apf.read_dataset(written(tmp_path / "truth", {"annotations.csv": FILES["annotations.csv"]}))
    assert truth.images["image_id"].to_list() == ["1.3.6", "1.3.8"]
    assert truth.annotations["ignore"].to_list() == [False, False]


def test_marks(tmp_path: Path) -> None:
    written(tmp_path, {"found.csv": FOUND})
    detections = apf.read_results(tmp_path / "found.csv")
    assert detections.select("image_id", "category_id", "score", *SPHERE).rows() == [
        ("1.3.6", "nodule", 0.75, -1, 2, -3), ("1.3.6", "nodule", 0.01, 101, 2, 3), ("1.3.7", "nodule", 0.5, 0, 0, 0),
    ]  # fmt: skip


def test_excluded_findings_of_other_scans_are_said_too(tmp_path: Path) -> None:
    others = FILES["annotations_excluded.csv"] + "1.3.9,1,2,3,-1\n1.3.9,5,2,3,-1\n"
    with pytest.warns(ImagesLeftOutWarning, match=r"left out 3 annotations of 2 scans .*\('1\.3\.8', '1\.3\.9'\)"):
        truth = apf.read_dataset(written(tmp_path / "truth", FILES | {"annotations_excluded.csv": others}))
    assert truth.annotations.height == 2


@pytest.mark.slow
@pytest.mark.filterwarnings(LEFT_OUT)
def test_evaluated_checked_and_converted_from_its_files(tmp_path: Path) -> None:
    truth = written(tmp_path / "truth", FILES)
    written(tmp_path, {"found.csv": FOUND})
    evaluation = apf.evaluate(truth, tmp_path / "found.csv", "luna16")
    # found first; the mark in the excluded finding is ignored
    assert evaluation["CPM"] == 1
    assert sorted(evaluation.matches()["outcome"]) == ["fp", "ignored", "tp"]
    assert "error" not in apf.check(truth, tmp_path / "found.csv")["severity"].to_list()
    apf.write_dataset(apf.read_dataset(truth), tmp_path / "set", "parquet")
    again = apf.evaluate(tmp_path / "set", tmp_path / "found.csv", "luna16")
    assert again["CPM"] == 1


WRONG = {
    "columns": ("seriesuid,coordX\n1,2\n", "no column coordY, coordZ, diameter_mm"),
    "number": (f"{HEADER},diameter_mm\na,1,2,3,4\na,1,x,3,4\n", "coordY is not a finite number in line 3"),
    "diameter": (f"{HEADER},diameter_mm\na,1,2,3,\n", "diameter_mm is not a finite number in line 2"),
    "scan": (f"{HEADER},diameter_mm\n,1,2,3,4\n", "seriesuid is missing in line 2"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_files_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        Luna16().read_tables(written(tmp_path / "truth", {"annotations.csv": text}))
    assert message in str(caught.value)


def test_scans_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the scan is repeated in line 2"):
        Luna16().read_tables(written(tmp_path / "truth", FILES | {"seriesuids.csv": "1.3.6\n1.3.6\n"}))


def test_files_of_others_are_none(tmp_path: Path) -> None:
    written(tmp_path, {"a.csv": "image_id,class,x,y,width,height,score\n", "annotations.csv": "image_id,x\n"})
    assert not Luna16().fits(see(tmp_path / "a.csv"), "results") and not Luna16().fits(see(tmp_path), "dataset")


@pytest.mark.skipif(os.name != "posix", reason="pipes with names are a matter of Unix")
@pytest.mark.parametrize(("name", "file"), [("luna16", "annotations.csv"), ("nuscenes", "attribute.json")])
def test_a_pipe_in_the_folder_is_never_opened(name: str, file: str, tmp_path: Path) -> None:
    truth, _ = write_valid(name, "box", tmp_path)
    (truth / file).unlink()
    os.mkfifo(truth / file)
    with pytest.raises(FormatError, match="this is a pipe where a file is expected"):
        apf.read_dataset(truth, name)

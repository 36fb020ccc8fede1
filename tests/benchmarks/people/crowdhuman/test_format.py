"""CrowdHuman's .odgt: people and regions, results with sizes, from files to the kit's numbers, and what cannot be read."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import apframe as apf
from apframe.cli import main
from apframe.exceptions import BoxFormatWarning, FormatError, MissingResultsWarning
from tests.benchmarks.people.crowdhuman.odgt import write_lines

Json = dict[str, Any]


def box(fbox: list[float], tag: str = "person", **extra: Any) -> Json:
    return {"tag": tag, "fbox": fbox, "vbox": [*fbox[:3], fbox[3] / 2], "hbox": fbox, "head_attr": {}, "extra": extra}


TRUTH = [
    {"ID": "273271,c9db", "gtboxes": [box([0, 0, 100, 100], box_id=0, occ=1), box([300, 0, 100, 100]),
                                      box([600, 0, 300, 300], "mask"), box([0, 500, 9, 9], ignore=1)]},
    {"ID": "b", "gtboxes": []},
]  # fmt: skip
FOUND = [
    {"ID": "273271,c9db", "width": 1000, "height": 600, "gtboxes": TRUTH[0]["gtboxes"],
     "dtboxes": [{"tag": 1, "box": [620, 20, 50, 50], "score": 0.95}, {"box": [-5, 0, 105, 100], "score": 0.9},
                 {"box": [700, 400, 50, 50], "score": 0.85}, {"box": [300, 0, 100, 100], "score": 0.8}]},
    {"ID": "b", "width": 800, "height": 600, "dtboxes": []},
]  # fmt: skip


def run(*arguments: object) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return int(ended.value.code or 0)


def test_people_and_what_is_ignored(tmp_path: Path) -> None:
    truth = apf.read_dataset(write_lines(tmp_path / "annotation_val.odgt", TRUTH))
    assert truth.images["image_id"].to_list() == ["273271,c9db", "b"]
    assert truth.categories.select("category_id", "name").rows() == [("person", "person")]
    assert truth.annotations.select("x", "y", "width", "height", "ignore", "tag", "vis_ratio").rows() == [
        (0, 0, 100, 100, False, "person", 0.5), (300, 0, 100, 100, False, "person", 0.5),
        (600, 0, 300, 300, True, "mask", 0.5), (0, 500, 9, 9, True, "person", 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ignore", "is_ignored"), [(None, True), (1, True), ("0", True), (0, False), (0.0, False), (False, False)]
)
def test_what_is_not_0_is_ignored_as_in_crowddet(ignore: Any, is_ignored: bool, tmp_path: Path) -> None:
    lines = [{"ID": "b", "gtboxes": [box([0, 0, 100, 100], ignore=ignore)]}]
    assert apf.read_dataset(write_lines(tmp_path / "truth.odgt", lines)).annotations["ignore"].to_list() == [is_ignored]


def test_boxes_in_fractions_of_the_image_are_named(tmp_path: Path) -> None:
    truth = write_lines(tmp_path / "truth.odgt", TRUTH)
    message = r"found\.odgt: all boxes are in \[0, 1\.05\], .* but the format has pixels; multiply x and width"
    small = [{"ID": "b", "dtboxes": [{"box": [0.1, 0.2, 0.3, 0.4], "score": 0.5}]}, FOUND[0] | {"dtboxes": []}]
    with pytest.warns(BoxFormatWarning, match=message):
        apf.evaluate(truth, write_lines(tmp_path / "found.odgt", small), "crowdhuman")
    with pytest.warns(BoxFormatWarning, match=r"small\.odgt: all boxes are in"):
        apf.read_dataset(write_lines(tmp_path / "small.odgt", [{"ID": "b", "gtboxes": [box([0.1, 0.2, 0.3, 0.4])]}]))


def test_boxes_that_are_wrong_are_counted_in_words(tmp_path: Path) -> None:
    wrong = [{"ID": "b", "gtboxes": [{"tag": "person"}, {"tag": "person"}]}]
    with pytest.raises(FormatError, match="fbox is missing or not 4 numbers in gtboxes 1, 2"):
        apf.read_dataset(write_lines(tmp_path / "truth.odgt", wrong))


@pytest.mark.slow
def test_the_command_has_the_jaccard_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_lines(tmp_path / "truth.odgt", TRUTH), write_lines(tmp_path / "found.odgt", FOUND)
    expected = apf.evaluate(*paths, "crowdhuman").jaccard_index()["jaccard_index"].item()
    run("eval", *paths, "--protocol", "crowdhuman")
    head, numbers = capsys.readouterr().out.splitlines()
    assert (head.split(), numbers.split()[2]) == (["AP", "MR", "JI"], f"{100 * expected:.2f}")
    run("eval", *paths, "--protocol", "crowdhuman", "--json")
    assert json.loads(capsys.readouterr().out)["JI"] == expected
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    run("eval", *paths, "--protocol", "crowdhuman")
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split()[2] == "–"
    assert err.count("warning: JI is not computed: matching by the largest sum needs SciPy") == 1


def test_results_and_the_sizes_of_images(tmp_path: Path) -> None:
    detections = apf.read_results(write_lines(tmp_path / "found.odgt", FOUND))
    assert detections.select("image_id", "category_id", "score", "x", "width", "image_width").row(1) == (
        "273271,c9db", "person", 0.9, -5, 105, 1000,
    )  # fmt: skip


@pytest.mark.slow
def test_from_the_files_to_the_numbers_of_the_kit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, detections = write_lines(tmp_path / "truth.odgt", TRUTH), write_lines(tmp_path / "found.odgt", FOUND)
    evaluation = apf.evaluate(truth, detections, "crowdhuman")
    assert evaluation["AP"] == pytest.approx(0.291666667, abs=1e-9)
    assert evaluation.jaccard_index()["jaccard_index"].item() == pytest.approx(0.666666444, abs=1e-9)
    assert evaluation.detections["x"].to_list() == [620, 0, 700, 300] and evaluation.notes == ()
    assert run("eval", truth, detections, "--protocol", "crowdhuman") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["AP", "MR", "JI"], ["29.17", "0.00", "66.67"]]
    assert run("check", truth, detections) == 0
    assert run("convert", truth, tmp_path / "truth.json", "--to", "coco") == 0
    assert apf.read_dataset(tmp_path / "truth.json").annotations["ignore"].to_list() == [False, False, True, True]


def test_images_without_a_line_are_named(tmp_path: Path) -> None:
    truth, detections = write_lines(tmp_path / "truth.odgt", TRUTH), write_lines(tmp_path / "found.odgt", FOUND[:1])
    with pytest.warns(MissingResultsWarning, match=r"found.odgt: 1 image without a line \('b'\), evaluated as images without"):
        apf.evaluate(truth, detections, "crowdhuman")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"gtboxes": []}], "ID is missing or not text in line 1"),
        ([{"ID": "a", "gtboxes": []}, {"ID": "a", "gtboxes": []}], "several lines have the ID 'a'"),
        ([{"ID": "a", "gtboxes": 3}], "gtboxes is not a list in line 1"),
        ([{"ID": "a", "gtboxes": [{"tag": "person"}]}], "fbox is missing or not 4 numbers in gtbox 1 (ID 'a')"),
        ([{"ID": "a", "gtboxes": [{"fbox": [0, 0, 1, 1]}]}], "tag is missing or not text in gtbox 1 (ID 'a')"),
        ([{"ID": "a", "gtboxes": [box([0, 0, 1, 1]) | {"extra": 3}]}], "extra is not an object in gtbox 1 (ID 'a')"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, lines: list[Json], message: str) -> None:
    path = write_lines(tmp_path / "truth.odgt", lines)
    with pytest.raises(FormatError, match=re.escape(f"{path}: {message}")):
        apf.read_dataset(path, "crowdhuman")


def test_other_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "truth.odgt"
    path.write_text(json.dumps(TRUTH[0]) + '\n{"ID": "b", "gtb\n')
    with pytest.raises(FormatError, match=r"truth.odgt: not JSON, or cut off \(.* line 2 "):
        apf.read_dataset(path)
    path.write_text("\n")
    with pytest.raises(FormatError, match=r"truth.odgt: the file is empty"):
        apf.read_dataset(path, "crowdhuman")


def test_a_name_with_odgt_is_this_format_whatever_the_first_line(tmp_path: Path) -> None:
    truth = write_lines(tmp_path / "truth.odgt", [{"ID": "a"}, *TRUTH])
    detections = write_lines(tmp_path / "found.odgt", [{"ID": "a", "boxes": []}, *FOUND])
    assert apf.read_dataset(truth).annotations.height == 4
    assert apf.read_results(detections).height == 4
    for read, name in ((apf.read_dataset, "gtboxes"), (apf.read_results, "dtboxes")):
        path = write_lines(tmp_path / f"{name}.odgt", [{"IDs": "a"}, {"ID": "b", name: []}])
        with pytest.raises(FormatError, match="ID is missing or not text in line 1"):
            read(path)

"""A benchmark outside the package, with a rule, a matcher, a metric and a format of its own, is found by its entry points."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import apframe as apf
from apframe.exceptions import FormatError, InvalidRowsWarning, ParameterError, PluginError, PluginWarning, RowError
from apframe.formats.catalogue import choose_format
from apframe.plugins import CONTRACT
from apframe.protocols.published import PUBLISHED
from tests.plugins.installed import TOY, installed

TRUTH = "lamps\na 0 0 10 10 1\na 20 0 10 10 0\nb 0 0 10 10 1\nb 30 0 10 10 1\n"
FOUND = "found lamps\na 0 0 10 10 .9\na 20 0 10 10 .8\nb 50 0 10 10 .7\nb 30 0 10 10 .6\n"
CHECK = "import json, apframe as apf; print(json.dumps(dict(apf.read_evaluation({!r}).summary.rows())))"


@pytest.fixture
def toy() -> Iterator[None]:
    with installed(TOY):
        yield


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    truth, detections = tmp_path / "truth.txt", tmp_path / "found.txt"
    truth.write_text(TRUTH)
    detections.write_text(FOUND)
    return truth, detections


def package(folder: Path, name: str, code: str) -> None:
    """A package of one module with a protocol and a format."""
    (folder / f"{name}.py").write_text(code)
    about = folder / f"{name}-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
    entries = f"[apframe.protocols]\nBROKEN = {name}:BROKEN\n\n[apframe.formats]\nbroken = {name}:Broken\n"
    (about / "entry_points.txt").write_text(entries)


@pytest.mark.usefixtures("toy")
def test_it_is_listed() -> None:
    assert apf.list_protocols("toy_lamps").row(0)[:3] == (
        "toy_lamps", "bbox", "lamps at night: AP and F1 of those that are lit"
    )  # fmt: skip
    assert apf.list_formats("toy-lamps").row(0)[:3] == ("toy_lamps", "Lamps", False)
    assert "TOY_LAMPS" in apf.PUBLISHED


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
def test_its_files_are_recognised_and_evaluated(files: tuple[Path, Path]) -> None:
    assert [choose_format(path, None, role).name for path, role in zip(files, ("dataset", "results"), strict=True)] == [
        "toy_lamps", "toy_lamps"
    ]  # fmt: skip
    evaluation = apf.evaluate(*files, protocol="Toy Lamps")
    # two of the three lit lamps are found, and one detection is false; the second ones of `a` do not count
    assert evaluation["AP50"] == pytest.approx(1 / 3 + 2 / 3 / 3) and evaluation["F150"] == pytest.approx(4 / 6)
    assert "ignored     annotations not lit (lit)" in str(evaluation.protocol)
    assert apf.check(*files).is_empty()


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
def test_its_files_are_validated_and_checked(files: tuple[Path, Path]) -> None:
    """Rows that cannot be evaluated are refused, left out or listed, as those of formats of apframe are."""
    truth, detections = files
    detections.write_text(FOUND + "b 30 0 -10 10 .6\n")
    with pytest.raises(RowError, match="width is negative"):
        apf.evaluate(truth, detections, protocol="toy_lamps")
    with pytest.warns(InvalidRowsWarning, match="1 detection"):
        evaluation = apf.evaluate(truth, detections, protocol="toy_lamps", invalid="drop")
    assert evaluation["F150"] == pytest.approx(4 / 6)
    assert apf.check(truth, detections).select("severity", "check", "rows").rows() == [("error", "invalid_value", ["5"])]
    with pytest.raises(FormatError, match="looks like results of toy_lamps, but a data set is needed here"):
        apf.read_dataset(detections)


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
def test_it_has_a_report(files: tuple[Path, Path], tmp_path: Path) -> None:
    apf.write_report(tmp_path / "page.html", apf.evaluate(*files, protocol="toy_lamps"))
    page = (tmp_path / "page.html").read_text()
    assert "TOY_LAMPS" in page and "F150" in page


@pytest.mark.slow
def test_stored_evaluations_are_read_where_it_is_installed(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Its rules, matcher and metric are known there, although nobody imported it."""
    with installed(TOY):
        evaluation = apf.evaluate(*files, protocol="toy_lamps")
        evaluation.write_parquet(tmp_path / "set")
        values = dict(evaluation.summary.rows())
    command = [sys.executable, "-c", CHECK.format(str(tmp_path / "set"))]
    path = {"PYTHONPATH": f"{TOY}:{TOY.parents[1]}"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=path)
    assert json.loads(done.stdout) == values
    with pytest.raises(FormatError, match=r"is from the package 'toy_benchmark': add it before you read"):
        apf.read_evaluation(tmp_path / "set")


def test_where_it_is_not_installed_it_is_unknown(files: tuple[Path, Path]) -> None:
    with pytest.raises(ParameterError, match=r"^no protocol 'toy_lamps'"):
        apf.evaluate(*files, protocol="toy_lamps")
    with pytest.raises(FormatError, match="its format cannot be detected"):
        apf.read_dataset(files[0])


def test_one_that_cannot_be_imported_is_named_when_asked_for(tmp_path: Path) -> None:
    package(tmp_path, "broken_toy", "import a_package_that_is_not_there\n")
    problem = r"of the package broken_toy 2\.0 cannot be imported \(ModuleNotFoundError: No module named 'a_package_that"
    (tmp_path / "unknown.txt").write_text("unknown")
    with installed(tmp_path):
        row = apf.list_protocols("broken").row(0)
        assert row[0] == "broken" and "cannot be imported (ModuleNotFoundError" in row[2]
        with pytest.raises(PluginError, match=rf"^the protocol BROKEN {problem}.*; update or remove that package$"):
            apf.evaluate({"images": [], "categories": [], "annotations": []}, [], protocol="broken")
        with pytest.warns(PluginWarning, match=rf"^the format broken {problem}"), pytest.raises(FormatError):
            apf.read_dataset(tmp_path / "unknown.txt")
        with pytest.raises(PluginError, match=rf"^the format broken {problem}"):
            apf.read_dataset(tmp_path / "unknown.txt", "broken")
        assert "broken" not in apf.list_formats()["format"]
        findings = apf.check({"images": [{"id": 1}], "categories": [], "annotations": []}).filter(check="broken_plugin")
        assert findings["table"].to_list() == ["formats", "protocols"] and findings["severity"].unique().to_list() == [
            "warning"
        ]


@pytest.mark.parametrize(("version", "updated"), [(CONTRACT + 1, "apframe"), (CONTRACT - 1, "that package")])
def test_one_of_another_version_of_the_contract_is_refused(tmp_path: Path, version: int, updated: str) -> None:
    package(tmp_path, "other_toy", f"APFRAME_CONTRACT = {version}\nBROKEN = None\nBroken = dict\n")
    problem = rf"of the package other_toy 2\.0 was written for version {version} of the contract, and this apframe has version"
    with installed(tmp_path), pytest.raises(PluginError, match=rf"{problem} {CONTRACT}; update {updated}$"):
        apf.evaluate({}, [], protocol="broken")


def test_a_name_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    package(tmp_path, "toy_coco", "")
    entries = tmp_path / "toy_coco-2.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text().replace("BROKEN", "coco").replace("broken =", "coco ="))
    with installed(tmp_path), warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        assert apf.list_protocols("coco")["purpose"].item().startswith("objects, masks")
        assert apf.list_formats("coco")["title"].item() == "COCO JSON"


WRONG = {
    "no protocol": ("BROKEN = 1\nBroken = dict", r"TypeError: 1 is no Protocol"),
    "no format": ("import apframe\nBROKEN = apframe.COCO\nBroken = dict", r"TypeError: <class 'dict'> is no Format"),
    "no pattern": (
        "from apframe.formats.csv_table import Csv\nBROKEN = 1\n"
        "from apframe.formats.looks import Look\n"
        "class Broken(Csv):\n    name = 'broken'\n    dataset_looks = (Look('file', line='('),)",
        r"error: missing \)",
    ),
    "another name": (
        "from apframe.formats.csv_table import Csv\nBROKEN = 1\nclass Broken(Csv):\n    name = 'zz'", r"its name is 'zz'"
    ),
    "it ends the program": ("import sys\nsys.exit()", r"SystemExit"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_protocol_or_format_is_said(tmp_path: Path, code: str, message: str) -> None:
    package(tmp_path, "wrong_toy", code)
    with installed(tmp_path):
        findings = apf.check({"images": [{"id": 1}], "categories": [], "annotations": []}).filter(check="broken_plugin")
        assert findings["problem"].str.contains(message).any()
        with pytest.warns(PluginWarning):
            assert "broken" not in apf.list_formats()["format"]


def test_a_broken_one_is_warned_of_once(tmp_path: Path) -> None:
    package(tmp_path, "broken_toy", "raise ValueError('no')")
    with installed(tmp_path), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with pytest.raises(ParameterError, match=r"^no definition 'nope'"):
                apf.protocols.as_definition("nope")
    assert [each.category for each in caught] == [PluginWarning]


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
def test_threads_find_it_too(files: tuple[Path, Path]) -> None:
    with ThreadPoolExecutor(8) as threads:
        heights = list(threads.map(lambda _: apf.read_dataset(files[0]).annotations.height, range(16)))
    assert heights == [4] * 16


def test_other_spellings_of_a_name_that_is_there(tmp_path: Path) -> None:
    package(tmp_path, "toy_faces", "")
    entries = tmp_path / "toy_faces-2.0.dist-info" / "entry_points.txt"
    entries.write_text("[apframe.protocols]\nWIDER-FACE = toy_faces:X\n\n[apframe.formats]\nwider-face = toy_faces:X\n")
    with installed(tmp_path), warnings.catch_warnings():
        warnings.simplefilter("ignore", PluginWarning)
        assert apf.list_protocols("wider_face")["purpose"].item().startswith("faces")
        assert apf.list_formats("wider_face")["title"].item() == "WIDER FACE"


def test_the_names_of_the_contract_are_where_the_guide_says() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "custom_protocols.md").read_text()
    contract = guide.partition("## What you can rely on")[2].partition("Other modules may move")[0]
    places = re.findall(r"((?:`\w+`(?:, | and )?)+) (?:in\s+|\()`(apframe\.[a-z_.]+)`", contract)
    named = {(name, module) for names, module in places for name in re.findall(r"`(\w+)`", names)}
    assert {name for name, _ in named} >= {"Rule", "Matcher", "Metric", "Format", "Look", "PathContents", "AreaRange", "Level"}
    assert [(name, module) for name, module in sorted(named) if not hasattr(import_module(module), name)] == []


def test_a_protocol_of_a_user_is_listed_without_a_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUBLISHED, "MINE", replace(apf.COCO, name="MINE"))
    monkeypatch.setitem(PUBLISHED, "THEIRS", "tests.plugins.test_plugins:THEIRS")
    assert apf.list_protocols("mine").row(0)[:3] == ("mine", "bbox, segm, keypoints, boundary", "")
    assert dict(apf.list_protocols().select("name", "purpose").rows())["theirs"] == ""


THEIRS = replace(apf.COCO, name="THEIRS")

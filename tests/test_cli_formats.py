"""`eval`, `convert` and `formats` on the files of other formats, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import apframe as apf
from tests.test_cli import METRICS, RESULTS, STREET, TRUTH, command

EXAMPLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "voc-worked-example"
Capture, Patch = pytest.CaptureFixture[str], pytest.MonkeyPatch


@pytest.fixture
def street(tmp_path: Path) -> str:
    """The sample's ground truth, without blanks in its names."""
    path = tmp_path / "street.json"
    path.write_text(Path(TRUTH).read_text().replace("traffic ", "traffic_"))
    return str(path)


@pytest.mark.skipif(not EXAMPLE.is_dir(), reason="the worked example is not beside this checkout")
def test_worked_example_by_one_command(capsys: Capture, monkeypatch: Patch) -> None:
    arguments = [str(EXAMPLE / "groundtruths"), str(EXAMPLE / "detections"), "--iou-thresholds", ".3", "--json"]
    for protocol, published in (("voc2012", 0.2457), ("voc2007", 0.2684)):
        code, out, _ = command(capsys, monkeypatch, "eval", *arguments, "--protocol", protocol)
        assert (code, round(json.loads(out)["AP"], 4)) == (0, published)


def test_converted_data_has_the_same_numbers(street: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    boxes, found = str(tmp_path / "boxes"), str(tmp_path / "found")
    code, out, _ = command(capsys, monkeypatch, "convert", street, boxes, "--to", "boxes")
    assert code == 0
    assert "annotations.is_crowd: left out (" in out and out.endswith("boxes: class-and-box text, but for what is said above\n")
    code, out, _ = command(capsys, monkeypatch, "convert", RESULTS, found, "--to", "boxes", "--results-of", street)
    assert code == 0
    code, out, _ = command(capsys, monkeypatch, "eval", boxes, found, "--json", "--gt-format", "boxes")
    dataset = apf.read_coco(street)
    plain = dataset.annotations.drop("is_crowd", "area").sort("image_id", maintain_order=True)
    expected = apf.evaluate(apf.Dataset(dataset.images, dataset.categories, plain), RESULTS).summary
    assert (code, list(json.loads(out))) == (0, METRICS)
    assert json.loads(out) == pytest.approx(dict(expected.rows()), abs=1e-12)  # the categories are in another order


def test_results_that_name_images_and_categories(street: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    found = str(tmp_path / "found")
    command(capsys, monkeypatch, "convert", RESULTS, found, "--to", "boxes", "--results-of", street)
    code, _, err = command(capsys, monkeypatch, "eval", street, found)
    assert code == 1 and 'or join them by name (join_by_name="images")' in err
    code, out, _ = command(capsys, monkeypatch, "eval", street, found, "--join-by-name", "images,categories")
    assert (code, out) == (0, f"{apf.evaluate(street, apf.read_results(found), join_by_name=['images', 'categories'])}\n")


def test_convert_says_what_is_lost_as_json(street: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    code, out, _ = command(capsys, monkeypatch, "convert", street, str(tmp_path / "boxes"), "--to", "boxes", "--json")
    assert code == 0
    assert {"table": "images", "column": "weather", "n_rows": 300, "what": "left out"} in json.loads(out)


def test_nothing_is_half_written(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "traffic light"}],
             "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}]}  # fmt: skip
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    code, out, err = command(
        capsys, monkeypatch, "convert", str(tmp_path / "truth.json"), str(tmp_path / "out"), "--to", "boxes"
    )
    assert (code, out) == (1, "") and "cannot hold the name 'traffic light'" in err
    assert [path.name for path in tmp_path.iterdir()] == ["truth.json"]


BAD = {
    "an unknown format": (["eval", TRUTH, RESULTS, "--gt-format", "coko"], 2, "no format 'coko'; did you mean coco"),
    "another format": (["eval", TRUTH, RESULTS, "--gt-format", "boxes"], 1, "this is a file; class-and-box text, a folder"),
    "no split": (["eval", TRUTH, RESULTS, "--split", "val"], 2, "COCO JSON takes no split"),
    "a folder of anything": (["eval", str(STREET), RESULTS], 1, "say which with format= or --gt-format: "),
    "by ids": (["eval", TRUTH, RESULTS, "--join-by-name", "ids"], 2, "takes images and categories, not 'ids'"),
    "to nothing": (["convert", TRUTH, "{folder}/out", "--to", "cocoa"], 2, "no format 'cocoa'"),
    "names of no results": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--join-by-name", "images"], 2, "data set with --results-of"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "message"), BAD.values(), ids=BAD)
def test_bad_use(arguments: list[str], code: int, message: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    ended, out, err = command(capsys, monkeypatch, *(text.format(folder=tmp_path) for text in arguments))
    assert (ended, out) == (code, "")
    assert err.startswith("error: ") and err.count("\n") == 1 and message in err
    assert list(tmp_path.iterdir()) == []


def test_formats_are_listed(capsys: Capture, monkeypatch: Patch) -> None:
    code, out, _ = command(capsys, monkeypatch, "formats")
    assert code == 0 and "coco: COCO JSON\n" in out
    code, out, _ = command(capsys, monkeypatch, "formats", "--json")
    assert (code, json.loads(out)) == (0, apf.formats().to_dicts())

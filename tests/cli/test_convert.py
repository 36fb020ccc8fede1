"""`eval`, `convert` and `formats` on the files of other formats, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import apframe as apf
from tests.cli.test_command import METRICS, RESULTS, STREET, TRUTH, command, files

EXAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "voc-worked-example"
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


@pytest.mark.slow
def test_converted_data_has_the_same_numbers(street: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    boxes, found = str(tmp_path / "boxes"), str(tmp_path / "found")
    code, out, _ = command(capsys, monkeypatch, "convert", street, boxes, "--to", "boxes")
    assert code == 0
    assert "annotations.is_crowd: left out: crowds become ordinary objects (" in out and out.endswith(
        "boxes: class-and-box text, written, except for the losses above\n"
    )
    code, out, _ = command(capsys, monkeypatch, "convert", RESULTS, found, "--to", "boxes", "--results-of", street)
    assert code == 0
    code, out, _ = command(capsys, monkeypatch, "eval", boxes, found, "--json", "--gt-format", "boxes")
    dataset = apf.read_coco(street)
    plain = dataset.annotations.drop("is_crowd", "area").sort("image_id", maintain_order=True)
    expected = apf.evaluate(apf.Dataset(dataset.images, dataset.categories, plain), RESULTS).summary
    values = json.loads(out)
    assert (code, values.pop("json_version"), list(values)) == (0, 1, METRICS)
    assert values == pytest.approx(dict(expected.rows()), abs=1e-12)  # the categories are in another order


@pytest.mark.slow
def test_results_that_name_images_and_categories(street: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    results = str(tmp_path / "found")
    command(capsys, monkeypatch, "convert", RESULTS, results, "--to", "boxes", "--results-of", street)
    code, _, err = command(capsys, monkeypatch, "eval", street, results)
    assert code == 1 and "; join them by name (--join-by-name images)" in err
    code, out, _ = command(
        capsys, monkeypatch, "eval", street, results, "--join-by-name", "images", "--join-by-name", "categories"
    )
    assert (code, out) == (0, f"{apf.evaluate(street, apf.read_results(results), join_by_name=['images', 'categories'])}\n")


@pytest.mark.slow
def test_results_of_another_type_of_ids_are_not_converted(
    street: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    found, again = str(tmp_path / "found"), str(tmp_path / "again.json")
    command(capsys, monkeypatch, "convert", RESULTS, found, "--to", "boxes", "--results-of", street)
    arguments = ["convert", found, again, "--to", "coco", "--results-of", street]
    code, out, err = command(capsys, monkeypatch, *arguments)
    assert (code, out, err.count("\n")) == (1, "", 1) and err.endswith("; join them by name (--join-by-name images)\n")
    code, out, err = command(capsys, monkeypatch, *arguments, "--join-by-name", "images,categories")
    assert (code, err) == (0, "")
    ids = apf.read_results(again).select("image_id", "category_id").unique().sort("image_id", "category_id")
    assert ids.equals(apf.read_results(RESULTS).select("image_id", "category_id").unique().sort("image_id", "category_id"))


def test_options_of_messages_are_flags_here(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth, detections = files(tmp_path, results=[{"image_id": 9, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}])
    _, _, err = command(capsys, monkeypatch, "eval", truth, detections)
    assert f"or drop them (--drop-unknown-images); {detections} was read as coco\n" in err
    code, _, err = command(
        capsys, monkeypatch, "convert", detections, str(tmp_path / "x"), "--to", "boxes", "--results-of", truth
    )
    assert code == 1 and err.endswith(f"{detections} was read as coco\n")
    code, _, err = command(capsys, monkeypatch, "eval", truth, detections, "--drop-unknown-images")
    assert code == 0 and "warning: 1 of 1 detection has an unknown image_id" in err


def test_results_need_their_data_set(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    line = {"ID": "a", "width": 9, "height": 9, "dtboxes": [{"box": [1, 1, 5, 5], "score": 0.5}]}
    source = tmp_path / "results.odgt"
    source.write_text(f"{json.dumps(line)}\n" * 2)
    code, _, err = command(capsys, monkeypatch, "convert", str(source), str(tmp_path / "a.json"), "--to", "coco")
    assert code == 1
    assert "looks like results of crowdhuman, but a data set is needed here" in err
    assert "to convert results, name their data set with --results-of" in err


def test_formats_named_as_benchmarks(capsys: Capture, monkeypatch: Patch) -> None:
    code, _, err = command(capsys, monkeypatch, "formats", "citypersons")
    assert code == 2 and "no format 'citypersons'; files of citypersons are of the format coco" in err


@pytest.mark.slow
def test_check_prints_findings_as_lines(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    paths = files(tmp_path, results=[{"image_id": 9, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}])
    code, out, _ = command(capsys, monkeypatch, "check", *paths)
    option = "apframe eval --drop-unknown-images"
    assert (code, out) == (1, f"{apf.check(*paths)}\n".replace('unknown_images="drop"', option))
    assert out.startswith("error: 1 of 1 detection: image_id is not among the images (9) [1]. Supply the ground truth of")
    assert f"or drop them ({option}).\n" in out
    assert option in json.loads(command(capsys, monkeypatch, "check", *paths, "--json")[1])[0]["remedy"]


def test_help_says_which_formats_are_files(capsys: Capture, monkeypatch: Patch) -> None:
    _, out, _ = command(capsys, monkeypatch, "convert", "--help")
    shown = " ".join(out.split())
    assert (
        "a new file for coco, csv, hugging_face, lvis, cvat, label_studio, activitynet, "
        "and for results in arrow, open_images, parquet; otherwise a new folder" in shown
    )
    assert " GT" not in command(capsys, monkeypatch, "check", "--help")[1]


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
    assert (code, out) == (1, "") and "the name 'traffic light' cannot be written" in err
    assert [path.name for path in tmp_path.iterdir()] == ["truth.json"]


TEXTS = STREET.parents[1] / "docs" / "decisions"
BAD = {
    "an unknown format": (["eval", TRUTH, RESULTS, "--gt-format", "coko"], 2, "no format 'coko'; did you mean coco"),
    "another format": (["eval", TRUTH, RESULTS, "--gt-format", "boxes"], 1, "this is a file; class-and-box text is a folder"),
    "no split": (["eval", TRUTH, RESULTS, "--split", "val"], 2, "COCO JSON in one file has no splits"),
    "a folder of anything": (["eval", str(TEXTS), RESULTS], 1, "choose one with --gt-format: "),
    "by ids": (["eval", TRUTH, RESULTS, "--join-by-name", "ids"], 2, "takes images and categories, not 'ids'"),
    "a source of anything": (["convert", str(TEXTS), "{folder}/out", "--to", "coco"], 1, "choose one with --from: "),
    "results of anything": (
        ["convert", str(TEXTS), "{folder}/out", "--to", "coco", "--results-of", TRUTH], 1, "choose one with --from: "
    ),
    "a ground truth of anything": (
        ["convert", RESULTS, "{folder}/out", "--to", "coco", "--results-of", str(TEXTS)], 1, "choose one with --gt-format: "
    ),
    "a DT of anything": (["eval", TRUTH, str(TEXTS)], 1, "choose one with --dt-format: "),
    "a source as target": (["convert", TRUTH, TRUTH, "--to", "coco"], 1, "a file with this name exists; remove it or"),
    "to nothing": (["convert", TRUTH, "{folder}/out", "--to", "cocoa"], 2, "no format 'cocoa'"),
    "parts of results": (
        ["convert", RESULTS, "{folder}/out", "--to", "coco", "--results-of", TRUTH, "--where", "score > .5", "--sample", "5"],
        2, "--where, --sample: for data sets only, not for results",
    ),
    "results of two": (["convert", RESULTS, RESULTS, "{folder}/out", "--to", "coco", "--results-of", TRUTH], 2, "one SOURCE"),
    "a seed of nothing": (["convert", TRUTH, "{folder}/out", "--to", "coco", "--seed", "1"], 2, "--seed needs --sample"),
    "groups of nothing": (["convert", TRUTH, "{folder}/out", "--to", "coco", "--by", "city"], 2, "--by needs --split with"),
    "shares of half": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--split", "train=.5"], 2, "--split needs positive shares that sum"),
    "no share": (["convert", TRUTH, "{folder}/out", "--to", "coco", "--split", "train=x"], 2, "shares such as train=.8,val=.2"),
    "a part that is a path": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--split", "../a=.5,b=.5"], 2, "'../a' cannot be the name"),
    "too large a sample": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--sample", "301"], 2, "--sample must be between 1 and the 300"),
    "an unknown group": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--split", "a=.5,b=.5", "--by", "cty"], 2, "did you mean city"),
    "an unknown category": (["convert", TRUTH, "{folder}/out", "--to", "coco", "--categories", "carr"], 2, "did you mean car?"),
    "names of no results": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--join-by-name", "images"], 2, "data set with --results-of"
    ),
    "names of COCO's classes": (
        ["convert", TRUTH, "{folder}/out", "--to", "coco", "--names", "a.txt"], 2, "COCO JSON does not support --names"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "message"), BAD.values(), ids=BAD)
def test_bad_use(arguments: list[str], code: int, message: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    ended, out, err = command(capsys, monkeypatch, *(text.format(folder=tmp_path) for text in arguments))
    assert (ended, out) == (code, "")
    assert err.startswith("error: ") and err.count("\n") == 1 and message in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_label_files_get_the_names_of_their_classes(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    """As a source, and as the data set of results."""
    texts = {"labels/a.txt": "1 .5 .5 .2 .4\n", "found/a.txt": "1 .5 .5 .2 .4 .9\n", "obj.names": "cat\ndog\n"}
    texts["sizes.csv"] = "file_name,image_width,image_height\na.jpg,100,50\n"
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    labels, found, names, sizes = (str(tmp_path / name) for name in ("labels", "found", "obj.names", "sizes.csv"))
    options = ["--to", "coco", "--names", names, "--image-sizes", sizes]
    code, _, err = command(capsys, monkeypatch, "convert", labels, str(tmp_path / "truth.json"), *options)
    assert (code, err) == (0, "")
    truth = apf.read_dataset(tmp_path / "truth.json")
    assert truth.annotations.join(truth.categories, on="category_id").select("name", "x").rows() == [("dog", 40.0)]
    out = str(tmp_path / "found.json")
    code, _, err = command(capsys, monkeypatch, "convert", found, out, *options, "--results-of", labels)
    assert (code, err) == (0, "")
    assert apf.read_results(out).select("category_id", "x").rows() == [(1, 40.0)]


def images_of(path: Path) -> list[int]:
    return apf.read_dataset(path).images["image_id"].sort().to_list()


@pytest.mark.slow
def test_parts_and_merges(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    truth, out = apf.read_dataset(TRUTH), tmp_path / "street.json"
    arguments = ["convert", TRUTH, str(out), "--to", "coco", "--split", "train=.8,val=.2", "--by", "city", "--seed", "1"]
    code, printed, err = command(capsys, monkeypatch, *arguments)
    assert (code, err) == (0, "")
    written = [tmp_path / "street_train.json", tmp_path / "street_val.json"]
    assert sorted(tmp_path.iterdir()) == written
    assert printed == "".join(f"{path}: COCO JSON, everything was written\n" for path in written)
    expected = truth.split({"train": 0.8, "val": 0.2}, by="city", seed=1)
    assert [images_of(path) for path in written] == [part.images["image_id"].sort().to_list() for part in expected.values()]

    whole = tmp_path / "whole.json"
    code, printed, err = command(capsys, monkeypatch, "convert", *map(str, written), str(whole), "--to", "coco")
    assert (code, err, printed) == (0, "", f"{whole}: COCO JSON, everything was written\n")
    assert images_of(whole) == truth.images["image_id"].sort().to_list()
    twice = tmp_path / "twice.json"
    code, printed, _ = command(capsys, monkeypatch, "convert", TRUTH, TRUTH, str(twice), "--to", "coco", "--json")
    assert code == 0
    assert [(row["table"], row["n_rows"]) for row in json.loads(printed)] == [
        ("images", 600),
        ("images", 300),
        ("annotations", 4800),
    ]
    assert apf.read_dataset(twice).categories.height == truth.categories.height


@pytest.mark.slow
def test_a_part_by_conditions_at_random(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    (tmp_path / "map.json").write_text('{"car": "vehicle", "truck": "vehicle"}')
    images = apf.read_dataset(TRUTH).images
    (tmp_path / "scenes.csv").write_text(images.select("image_id", scene=pl.col("weather") + "!").write_csv())
    chosen = {
        "--category-map": str(tmp_path / "map.json"), "--unmapped": "keep", "--categories": "vehicle,bicycle",
        "--image-attributes": str(tmp_path / "scenes.csv"), "--where": "scene = 'clear!' AND area > 1000", "--sample": "20",
        "--seed": "3",
    }  # fmt: skip
    out = tmp_path / "out.json"
    options = [word for pair in chosen.items() for word in pair]
    code, _, err = command(capsys, monkeypatch, "convert", TRUTH, str(out), "--to", "coco", *options)
    assert (code, err) == (0, "")
    part = apf.read_dataset(out)
    assert part.images["scene"].unique().to_list() == ["clear!"] and part.images.height == 20
    assert part.categories["name"].sort().to_list() == ["bicycle", "vehicle"]
    assert part.annotations["area"].min() > 1000  # type: ignore[operator]


@pytest.mark.slow
def test_parts_in_folders(tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    arguments = ["convert", TRUTH, str(tmp_path / "out"), "--to", "parquet", "--split", "a=.5,b=.5"]
    code, printed, _ = command(capsys, monkeypatch, *arguments)
    assert code == 0 and printed.count("\n") == 2
    assert [apf.read_dataset(tmp_path / "out" / name).images.height for name in "ab"] == [150, 150]
    code, _, err = command(capsys, monkeypatch, *arguments)
    assert code == 1 and "is not empty" in err


@pytest.mark.slow
@pytest.mark.parametrize(("target", "written"), [
    ("street", "street_a"), ("street.json", "street_a.json"), ("street.json.gz", "street_a.json.gz"),
    ("v1.2.json", "v1.2_a.json"),
])  # fmt: skip
def test_names_of_parts(target: str, written: str, tmp_path: Path, capsys: Capture, monkeypatch: Patch) -> None:
    code, _, _ = command(capsys, monkeypatch, "convert", TRUTH, str(tmp_path / target), "--to", "coco", "--split", "a=1")
    assert (code, [path.name for path in tmp_path.iterdir()]) == (0, [written])

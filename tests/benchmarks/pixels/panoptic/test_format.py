"""COCO's panoptic JSON with its label maps: what is read, and what is wrong with files."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import (
    ApframeError,
    FormatError,
    ImagesLeftOutWarning,
    MissingColumnWarning,
    ParameterError,
    SegmentsDifferWarning,
    UnknownIdError,
    UnknownImageWarning,
)
from apframe.formats.catalogue import choose_format
from apframe.formats.format import Expected
from tests.benchmarks.pixels.panoptic.panoptic_maps import CATEGORIES, evaluate, generated, write_map
from tests.cli.test_command import command

Change = Callable[[dict[str, Any], dict[str, Any]], Any]


def write(folder: Path, seed: int = 3, change: Change | None = None) -> tuple[Path, Path]:
    """A data set and results of generated label maps as files of the field."""
    sides: dict[str, dict[str, Any]] = {"truth": {"annotations": []}, "found": {"annotations": []}}
    for k, pair in enumerate(generated(seed)):
        for (name, document), side in zip(sides.items(), pair, strict=True):
            (folder / name).mkdir(exist_ok=True, parents=True)
            write_map(folder / name / f"{k}.png", side.pixels)
            document["annotations"].append({"image_id": k, "file_name": f"{k}.png", "segments_info": side.segments})
    height, width = side.pixels.shape
    images = [{"id": k, "file_name": f"{k}.jpg", "width": width, "height": height, "weather": "dry"} for k in range(4)]
    categories = [
        {"id": number, "name": name, "isthing": thing} for number, name, thing in zip(*CATEGORIES.values(), strict=True)
    ]
    sides["truth"] = {"images": images, **sides["truth"], "categories": categories}
    if change is not None:
        change(sides["truth"], sides["found"])
    for name, document in sides.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder / "truth.json", folder / "found.json"


@pytest.mark.slow
def test_files_of_the_field(tmp_path: Path) -> None:
    truth, detections = write(tmp_path)
    evaluation = apf.evaluate(truth, detections, protocol=apf.COCO_PANOPTIC)
    (tmp_path / "frames").mkdir()
    assert evaluation.summary.equals(evaluate(tmp_path / "frames", generated(3)).summary)
    assert evaluation.dataset.images["weather"].to_list() == ["dry"] * 4
    assert evaluation.dataset.annotations["annotation_id"].to_list() == list(
        range(1, evaluation.dataset.annotations.height + 1)
    )
    assert set(evaluation.by("isthing")["isthing"]) == {0, 1}
    boundaries = apf.evaluate(truth, detections, protocol="cityscapes_panoptic", iou_type="panoptic_boundary")
    assert boundaries.summary["value"][0] < evaluation.summary["value"][0]


@pytest.mark.slow
def test_a_folder_of_maps_leads_to_the_file_beside_it(tmp_path: Path) -> None:
    truth, detections = write(tmp_path)
    folders = truth.with_suffix(""), detections.with_suffix("")
    expected = apf.evaluate(truth, detections, "coco_panoptic").summary
    assert apf.evaluate(*folders, "coco_panoptic").summary.equals(expected)
    semantic = Expected.of_protocol("SEMANTIC", "semantic")
    assert choose_format(folders[0], None, "dataset", expected=semantic).name == "label_maps"
    with pytest.raises(FormatError, match=r"looks like coco_panoptic .* and like label_maps .*; choose one with format="):
        apf.read_dataset(folders[0])
    truth.unlink()
    with pytest.raises(FormatError, match=r"a folder of PNGs, without the JSON file of its name beside it; add .*truth\.json"):
        apf.read_dataset(folders[0], "coco_panoptic")


@pytest.mark.slow
def test_shards_are_evaluated_in_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, detections = (path.relative_to(tmp_path) for path in write(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    apf.write_shards(truth, detections, "shards", n=2)
    whole = apf.evaluate(truth, detections, "coco_panoptic").summary
    for path in (tmp_path / "truth", tmp_path / "found"):  # of which the shards have copies
        shutil.rmtree(path)
    monkeypatch.chdir(tmp_path / "elsewhere")
    moved = (tmp_path / "shards").rename(tmp_path / "elsewhere" / "moved")
    assert apf.evaluate_shards(str(moved / "*"), protocol="coco_panoptic").summary.equals(whole)
    assert apf.evaluate_shards("moved", protocol="coco_panoptic").summary.equals(whole)
    for table in moved.glob("*/*.parquet"):  # as they were written before: whole paths
        frame = pl.read_parquet(table)
        if "label_map" in frame.columns:
            frame.with_columns(pl.lit(f"{table.parent}/") + pl.col("label_map")).write_parquet(table)
    assert apf.evaluate_shards("moved", protocol="coco_panoptic").summary.equals(whole)


@pytest.mark.slow
def test_tables_are_evaluated_in_any_folder(tmp_path: Path) -> None:
    truth, detections = write(tmp_path)
    whole = apf.evaluate(truth, detections, "coco_panoptic")
    apf.write_dataset(truth, tmp_path / "tables", "parquet")
    apf.write_results(whole.detections, tmp_path / "found.parquet", "parquet")
    assert set(pl.read_parquet(tmp_path / "found.parquet")["label_map"]) == {f"found/{k}.png" for k in range(4)}
    with pytest.raises(
        FormatError, match=r"label_map of detections leads out of the folder .*/tables \(.*0.png', .*\); put .* before$"
    ):
        apf.write_results(whole.detections, tmp_path / "tables" / "found.parquet", "parquet")
    shutil.rmtree(tmp_path / "truth")
    tables = (tmp_path / "tables").rename(tmp_path / "moved")
    again = apf.evaluate(tables, tmp_path / "found.parquet", "coco_panoptic")
    assert again.summary.equals(whole.summary)
    again.write_parquet(tmp_path / "run")  # which has counted the pixels
    shutil.rmtree(tmp_path / "found")
    assert apf.evaluate(tmp_path / "run", tmp_path / "run", "coco_panoptic").summary.equals(whole.summary)


def outside(path: Path, secret: str) -> None:
    """Let the tables of a file or folder name another label map."""
    for table in [path] if path.is_file() else path.rglob("*.parquet"):
        if table.suffix == ".json":
            rows = json.loads(table.read_text())
            for row in rows["images"] if isinstance(rows, dict) else rows:
                row["label_map"] = secret
            table.write_text(json.dumps(rows))
        elif "label_map" in (frame := pl.read_parquet(table)).columns:
            frame.with_columns(label_map=pl.lit(secret)).write_parquet(table)


@pytest.mark.slow
@pytest.mark.parametrize("secret", ["{folder}/secret.png", "{folder}/no.png", "../secret.png", "truth/../../secret.png"])
@pytest.mark.parametrize("what", ["shards", "tables", "found.parquet", "truth.json", "found.json", "sizes.csv"])
def test_label_maps_outside_their_folder_are_refused(what: str, secret: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.png").write_text("not for you")
    truth, detections = write(tmp_path / "data")
    secret = secret.format(folder=tmp_path)
    whole = apf.evaluate(truth, detections, "coco_panoptic")
    path = tmp_path / "data" / what
    again: dict[str, Any] = {"truth": truth, "detections": detections, "protocol": "coco_panoptic"}
    if what == "shards":
        apf.write_shards(truth, detections, path, n=2)
        secret = secret.replace("..", "../..")  # other shards are no secret
    elif what == "sizes.csv":
        path.write_text(f"image_id,label_map\n0,{secret}\n")
    elif what in ("tables", "truth.json"):
        path.unlink(missing_ok=True)
        apf.write_dataset(whole.dataset, path, "parquet" if what == "tables" else "coco")
        again["truth"] = path
    else:
        path.unlink(missing_ok=True)
        apf.write_results(whole.detections.drop("overlaps"), path, "parquet" if path.suffix == ".parquet" else "coco")
        again["detections"] = path
    if what == "sizes.csv":
        again["image_attributes"] = path
    else:
        outside(path, secret)
    message = rf"label_map of .* leads out of the folder .* \({re.escape(repr(secret))}\); put the label maps into the folder"
    with pytest.raises(ApframeError, match=message):
        apf.evaluate_shards(path, protocol="coco_panoptic") if what == "shards" else apf.evaluate(**again)
    if what not in ("shards", "sizes.csv"):
        with pytest.raises(ApframeError, match=message):
            apf.check(again["truth"], again["detections"])
    if what.endswith("json"):
        with pytest.raises(ApframeError, match=message):
            apf.read_coco(path) if what == "truth.json" else apf.read_coco_results(path)


@pytest.mark.slow
@pytest.mark.parametrize("secret", ["{folder}/secret.png", "{folder}/no.png", "../../secret.png"])
def test_label_maps_of_files_in_place_of_tables(secret: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.png").write_text("not for you")
    truth, detections = write(tmp_path / "data")
    whole = apf.evaluate(truth, detections, "coco_panoptic").summary
    apf.write_dataset(truth, tmp_path / "data" / "tables", "parquet")
    tables: dict[str, Any] = {
        name: tmp_path / "data" / "tables" / f"{name}.parquet" for name in ("images", "categories", "annotations")
    }
    assert apf.evaluate(apf.Dataset(**tables), detections, "coco_panoptic").summary.equals(whole)
    evaluator = apf.Evaluator(truth, "coco_panoptic")
    evaluator.update(detections)
    state = evaluator.state()
    state.write_parquet(tmp_path / "data" / "state.parquet")
    (tmp_path / "other").mkdir()
    state.write_parquet(tmp_path / "other" / "state.parquet")
    evaluator.reset()
    with pytest.raises(FormatError, match=r"label_map of detections leads out of the folder .*paths of tables in memory"):
        evaluator.merge(tmp_path / "other" / "state.parquet")
    for other in (pl.read_parquet(tmp_path / "other" / "state.parquet"), tmp_path / "data" / "state.parquet"):
        evaluator.reset()
        evaluator.merge(other)
        assert evaluator.compute().summary.equals(whole)
    secret = secret.format(folder=tmp_path)
    outside(tmp_path / "data", secret)
    message = rf"label_map of .* leads out of the folder .* \({re.escape(repr(secret))}\); put the label maps into the folder"
    for reads in (
        lambda: apf.Dataset(**tables),
        lambda: apf.evaluate(tables, detections, "coco_panoptic"),
        lambda: evaluator.merge(tmp_path / "data" / "state.parquet"),
        lambda: evaluator.update(tmp_path / "data" / "state.parquet"),
    ):
        with pytest.raises(FormatError, match=message):
            reads()


@pytest.mark.slow
def test_what_is_written_as_coco_is_evaluated(tmp_path: Path) -> None:
    truth, detections = write(tmp_path)
    whole = apf.evaluate(truth, detections, "coco_panoptic")
    apf.write_dataset(whole.dataset, tmp_path / "again.json", "coco")
    apf.write_results(whole.detections, tmp_path / "results.json", "coco", dataset=whole.dataset)
    again = apf.evaluate(tmp_path / "again.json", tmp_path / "results.json", "coco_panoptic")
    assert again.summary.equals(whole.summary)
    assert apf.read_dataset(tmp_path / "again.json").images["label_map"].equals(whole.dataset.images["label_map"])


@pytest.mark.slow
def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    truth, detections = map(str, write(tmp_path))
    code, out, _ = command(capsys, monkeypatch, "eval", truth, detections, "--protocol", "coco_panoptic", "--json")
    assert code == 0 and json.loads(out)["PQ"] == apf.evaluate(truth, detections, "coco_panoptic").summary["value"][0]
    code, out, _ = command(capsys, monkeypatch, "check", truth, detections)
    assert code == 0, out
    with pytest.raises(ParameterError, match="COCO panoptic JSON can be read, but not written"):
        apf.write_dataset(apf.read_dataset(truth), tmp_path / "again.json", "coco_panoptic")


def test_long_files_are_recognised(tmp_path: Path) -> None:
    def lengthen(truth: dict[str, Any], detections: dict[str, Any]) -> None:
        truth["images"][0]["note"] = detections["info"] = "x" * 200_000

    truth, detections = write(tmp_path, change=lengthen)
    (tmp_path / "found.json").write_text(json.dumps(dict(reversed(json.loads(detections.read_text()).items()))))
    assert apf.evaluate(truth, detections, "coco_panoptic").summary["value"].count() == 9


def test_boxes_are_read_where_all_segments_have_one(tmp_path: Path) -> None:
    def add(truth: dict[str, Any], _: dict[str, Any]) -> None:
        for image in truth["annotations"]:
            for segment in image["segments_info"]:
                segment["bbox"] = [1, 2, 3, 4]

    assert apf.read_dataset(write(tmp_path / "all", change=add)[0]).annotations["width"].to_list() == [3.0] * 12
    assert apf.read_dataset(write(tmp_path / "none")[0]).annotations["width"].null_count() == 12


def first_of_found(found: dict[str, Any]) -> dict[str, Any]:
    segment: dict[str, Any] = found["annotations"][0]["segments_info"][0]
    return segment


def relist(_: dict[str, Any], found: dict[str, Any]) -> None:
    found["annotations"][0]["segments_info"] = found["annotations"][0]["segments_info"][1:]


def invent(_: dict[str, Any], found: dict[str, Any]) -> None:
    found["annotations"][0]["segments_info"].append({"id": 12345, "category_id": 1})


def mix_ids(truth: dict[str, Any], _: dict[str, Any]) -> None:
    truth["images"][0]["id"] = truth["annotations"][0]["image_id"] = "first"


def empty(_: dict[str, Any], found: dict[str, Any]) -> None:
    found["annotations"][0]["segments_info"] = []


BROKEN: dict[str, tuple[Change, str]] = {
    "a number that is not listed": (relist, r"0\.png: segments 70000 are not among those listed for image 0"),
    "a segment without pixels": (
        invent, r"label map has no pixel of the segment \(segment 12345 of image 0, .*found/0\.png\) for detection_id",
    ),
    "two segments without pixels": (
        lambda _, found: [one["segments_info"].append({"id": 12345, "category_id": 1}) for one in found["annotations"][:2]],
        r"\(segment 12345 of image 0, .*found/0\.png; and 1 other segment\) for",
    ),
    "a segment with the number 0": (
        lambda _, found: found["annotations"][1]["segments_info"].extend([{"id": 0, "category_id": 1}] * 2),
        r"\(segment 0 of image 1, .*found/1\.png; the number 0 stands for no segment\) for",
    ),
    "an unknown category": (
        lambda _, found: first_of_found(found).update(category_id=77), r"found\.json: unknown category_id 77 in image 0",
    ),
    "an image without results": (
        lambda _, found: found["annotations"].pop(1), r"found\.json: 1 image of the ground truth without results \(1\)",
    ),
    "an image twice": (
        lambda _, found: found["annotations"].append(found["annotations"][0]), "several annotations have the image_id '0'",
    ),
    "a segment twice": (
        lambda _, found: found["annotations"][0]["segments_info"].append(first_of_found(found)),
        r"segment_id is not unique in its image \(segment 70000 of image 0, .*found/0\.png\) for detection_id",
    ),
    "no list": (lambda _, found: found["annotations"][0].pop("segments_info"), "segments_info is missing or not a list"),
    "no id": (lambda _, found: first_of_found(found).pop("id"), "id is missing or not a whole number in segment 1"),
    "a path elsewhere": (
        lambda _, found: found["annotations"][0].update(file_name="../../0.png"), "file_name leads out of the folder",
    ),
    "no list, but segments": (empty, r"0\.png: segments .* are not among those listed for image 0"),
    "no list, and no such file": (
        lambda _, found: found["annotations"][0].update(segments_info=[], file_name="9.png"),
        r"9\.png: there is no such label map",
    ),
    "no such file": (lambda _, found: found["annotations"][0].update(file_name="9.png"), r"9\.png: there is no such label map"),
    "ids of two kinds": (mix_ids, "some image_id are numbers, others are text; use one kind"),
    "no area": (
        lambda truth, _: truth["annotations"][0]["segments_info"][0].pop("area"),
        "area is missing or not a number in segment 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_named(name: str, tmp_path: Path) -> None:
    change, message = BROKEN[name]
    paths = write(tmp_path, change=change)
    with pytest.raises(ApframeError, match=message):
        apf.evaluate(*paths, protocol="coco_panoptic").summary  # noqa: B018


def test_maps_of_other_sizes(tmp_path: Path) -> None:
    paths = write(tmp_path)
    write_map(tmp_path / "found" / "0.png", np.zeros((3, 5), dtype=int))
    with pytest.raises(FormatError, match=r"0\.png: is 5 x 3 pixels, but the annotated one is 17 x 14"):
        apf.evaluate(*paths, protocol="coco_panoptic")
    paths = write(tmp_path, change=empty)
    write_map(tmp_path / "found" / "0.png", np.zeros((3, 5), dtype=int))
    with pytest.raises(FormatError, match=r"0\.png: is 5 x 3 pixels, but the annotated one is 17 x 14"):
        apf.evaluate(*paths, protocol="coco_panoptic")


def test_frames_with_an_unknown_category(tmp_path: Path) -> None:
    truth, detections = (apf.read_dataset(write(tmp_path)[0]), apf.read_results(tmp_path / "found.json"))
    wrong = detections.with_columns(category_id=pl.when(pl.int_range(pl.len()) == 2).then(77).otherwise("category_id"))
    with pytest.raises(UnknownIdError, match="category_id is not among the categories for detection_id 3; unknown: 77"):
        apf.evaluate(truth, wrong, protocol="coco_panoptic")


def test_annotated_label_maps_and_lists_that_differ(tmp_path: Path) -> None:
    segment = {"id": 12345, "category_id": 1, "iscrowd": 0, "area": 9}

    def differ(truth: dict[str, Any], _: dict[str, Any]) -> None:
        truth["annotations"][0]["segments_info"].append(segment)
        truth["annotations"][1]["segments_info"].pop()

    paths = write(tmp_path, change=differ)
    message = r"segments that their label maps lack: 12345 \(image 0\); .*segments that are not listed: \d+ \(image 1\)"
    with pytest.warns(SegmentsDifferWarning, match=message):
        apf.evaluate(*paths, protocol="coco_panoptic")


def recount(truth: dict[str, Any], _: dict[str, Any]) -> None:
    """Wrong areas of two segments of image 0 and one of image 2."""
    for number, place in ((0, 0), (0, 1), (2, 0)):
        truth["annotations"][number]["segments_info"][place]["area"] += 1000


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", [None, "panoptic_boundary"])
def test_listed_areas_that_are_not_those_of_the_pixels(iou_type: str | None, tmp_path: Path) -> None:
    paths = write(tmp_path, change=recount)
    first = min(json.loads(paths[0].read_text())["annotations"][0]["segments_info"][:2], key=lambda segment: segment["id"])
    message = (
        r"for 3 segments of 2 images \(0, 2\): "
        rf"segment {first['id']} of image 0 has {first['area'] - 1000} pixels, not {first['area']:,}; the listed areas are used"
    )
    with pytest.warns(SegmentsDifferWarning, match=message):
        wrong = apf.evaluate(*paths, protocol="coco_panoptic", iou_type=iou_type)
    right = apf.evaluate(*write(tmp_path), protocol="coco_panoptic", iou_type=iou_type)
    assert wrong.summary["value"][0] < right.summary["value"][0]


@pytest.mark.slow
def test_areas_of_crowds_are_not_read(tmp_path: Path) -> None:
    def of_crowd(more: int) -> Change:
        def change(truth: dict[str, Any], _: dict[str, Any]) -> None:
            segment = truth["annotations"][0]["segments_info"][0]
            segment.update(iscrowd=1, area=segment["area"] + more)

        return change

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right, wrong = (
            apf.evaluate(*write(tmp_path / str(more), change=of_crowd(more)), protocol="coco_panoptic") for more in (0, 1000)
        )
    assert wrong.summary.equals(right.summary)


@pytest.mark.slow
def test_images_without_annotations_are_left_out(tmp_path: Path) -> None:
    paths = write(tmp_path, change=lambda truth, _: truth["images"].append({"id": 9, "file_name": "9.jpg"}))
    with pytest.warns(ImagesLeftOutWarning, match=r"left out 1 image without an annotation \(9\)"):
        evaluation = apf.evaluate(*paths, protocol="coco_panoptic")
    assert evaluation.summary.equals(apf.evaluate(*write(tmp_path), protocol="coco_panoptic").summary)


def test_categories_that_are_neither_things_nor_stuff(tmp_path: Path) -> None:
    def forget(truth: dict[str, Any], _: dict[str, Any]) -> None:
        truth["categories"] = [{"id": each["id"], "name": each["name"]} for each in truth["categories"]]

    evaluation = apf.evaluate(*write(tmp_path, change=forget), protocol="coco_panoptic")
    with pytest.warns(MissingColumnWarning, match="no column 'isthing', so PQ_things, PQ_stuff are null"):
        assert evaluation.summary["value"].null_count() == 6


@pytest.mark.slow
def test_results_of_other_images_are_left_out(tmp_path: Path) -> None:
    paths = write(tmp_path)
    whole = apf.evaluate(*paths, protocol="coco_panoptic")

    def shorten(truth: dict[str, Any], _: dict[str, Any]) -> None:
        truth["images"], truth["annotations"] = truth["images"][1:], truth["annotations"][1:]

    paths = write(tmp_path, change=shorten)
    with pytest.warns(
        UnknownImageWarning, match="were dropped: 0; .*; the program of the benchmark COCO_PANOPTIC drops them too"
    ):
        part = apf.evaluate(*paths, protocol="coco_panoptic")
    assert part.summary.equals(whole.where(pl.col("image_id") > 0).summary)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"annotations": []}', "images? of the ground truth without results"),
        ("[]", "no list named annotations; is it COCO's panoptic JSON"),
    ],
)
def test_results_without_any_image_are_an_error(text: str, message: str, tmp_path: Path) -> None:
    truth, _ = write(tmp_path)
    (tmp_path / "none.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        apf.evaluate(truth, tmp_path / "none.json", "coco_panoptic")


def test_an_id_beyond_64_bits(tmp_path: Path) -> None:
    def enlarge(_: dict[str, Any], detections: dict[str, Any]) -> None:
        detections["annotations"][1]["image_id"] = 2**70

    truth, detections = write(tmp_path, change=enlarge)
    with pytest.raises(FormatError, match=r"found\.json: image_id is missing or no id in annotation 2"):
        apf.evaluate(truth, detections, "coco_panoptic")

"""COCO's JSON: what is read is written back, files and memory hold the same, and large files are read as small ones are."""

from __future__ import annotations

import copy
import gzip
import json
import os
from io import BytesIO
from itertools import permutations
from pathlib import Path
from time import sleep
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import FormatError, OutputError
from apframe.formats.catalogue import choose_format
from apframe.formats.coco import pieces, scan
from apframe.formats.coco import truth as coco_truth
from apframe.formats.coco.format import Coco
from apframe.formats.path_contents import see

TABLES = ("images", "categories", "annotations")
POLYGON = [[1.5, 2.0, 10.0, 2.0, 10.0, 9.5]]
RLE = {"counts": [3, 4, 93], "size": [10, 10]}
PACKED_RLE = {"counts": 'PPYo1`0\\"', "size": [10, 10]}
TRUTH: dict[str, Any] = {
    "info": {"description": "a \"test\" – with quotes", "year": 2024},
    "licenses": [{"id": 1, "url": "https://example.org/]}"}],
    "images": [
        {"id": 3, "width": 640, "height": 480, "file_name": "a.jpg", "date_captured": "2013-11-14 11:18:45", "night": True},
        {"id": 1, "width": 320, "height": 240, "file_name": "b.jpg", "date_captured": "2013-11-15", "night": None,
         "camera": {"name": "left", "pose": [1, 2.5, None]}, "exposure": 1},
        {"id": 2, "width": 320, "height": 240, "file_name": "ü.jpg", "night": False, "exposure": 0.5},
    ],
    "categories": [
        {"id": 5, "name": "cat", "supercategory": "animal", "keypoints": ["nose", "tail"], "skeleton": [[1, 2]]},
        {"id": 4, "name": "car", "supercategory": "vehicle", "rare": False},
    ],
    "annotations": [
        {"id": 9, "image_id": 1, "category_id": 4, "bbox": [0.1, 0.2, 10.5, 20.25], "area": 200.5, "iscrowd": 0,
         "segmentation": POLYGON, "occlusion": 0.25, "truncated": True, "seen": "10:15:00"},
        {"id": 2, "image_id": 3, "category_id": 5, "bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 1, "segmentation": RLE,
         "occlusion": 1, "width": 7, "note": "007"},
        {"id": 7, "image_id": 3, "category_id": 5, "bbox": [1, 2, 30, 40], "area": 1200, "iscrowd": 0, "ignore": 1,
         "segmentation": PACKED_RLE, "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1, "tags": ["a", 1, {"b": None}]},
        {"id": 0, "image_id": 3, "category_id": 4, "bbox": [0, 0, 0, 0], "area": 0.0, "iscrowd": 0, "note": "\n\"x\\"},
    ],
}  # fmt: skip
NOTHING: dict[str, list[Any]] = {table: [] for table in TABLES}
RESULTS: list[dict[str, Any]] = [
    {"image_id": 1, "category_id": 4, "bbox": [0.1, 0.2, 10.5, 20.25], "score": 0.5, "track": 3, "depth": 1.5,
     "occluded": True, "source": "2020-01-01", "segmentation": RLE},
    {"image_id": 3, "category_id": 5, "bbox": [1, 2, 3, 4], "score": 1, "track": 4, "depth": 2.25, "occluded": False,
     "source": "12", "segmentation": PACKED_RLE},
]  # fmt: skip


def as_file(data: Any, path: Path) -> Path:
    text = json.dumps(data).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def assert_same(left: apf.Dataset, right: apf.Dataset) -> None:
    for table in TABLES:
        assert_frame_equal(getattr(left, table), getattr(right, table), check_exact=True)
    assert left.other_sections == right.other_sections


def without_nulls(data: dict[str, Any]) -> dict[str, Any]:
    """As `write_coco` writes: null fields left out."""
    rows = {table: [{k: v for k, v in row.items() if v is not None} for row in data[table]] for table in TABLES}
    return data | rows


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_read_write_read(suffix: str, tmp_path: Path) -> None:
    truth = apf.read_coco(as_file(TRUTH, tmp_path / f"truth{suffix}"))
    apf.write_coco(truth, tmp_path / f"again{suffix}")
    assert (tmp_path / f"again{suffix}").read_bytes().startswith(b"\x1f\x8b") == (suffix == ".json.gz")
    again = apf.read_coco(tmp_path / f"again{suffix}")
    assert_same(again, truth)
    assert_same(apf.read_coco(TRUTH), truth)


def test_written_file_holds_all_that_was_read(tmp_path: Path) -> None:
    apf.write_coco(apf.read_coco(TRUTH), tmp_path / "again.json")
    written = json.loads((tmp_path / "again.json").read_text())
    expected = without_nulls(TRUTH)
    for table in TABLES:
        for row, given in zip(written[table], expected[table], strict=True):
            assert {name: row[name] for name in given} == given
            # what is added are the defaults of fields that other rows have
            assert {name: row[name] for name in row.keys() - given.keys()} in ({}, {"ignore": 0})
    assert {name: written[name] for name in ("info", "licenses")} == {name: TRUTH[name] for name in ("info", "licenses")}


def test_attribute_columns(tmp_path: Path) -> None:
    truth = apf.read_coco(as_file(TRUTH, tmp_path / "truth.json"))
    images, categories, annotations = truth.images, truth.categories, truth.annotations
    assert images["date_captured"].to_list() == ["2013-11-14 11:18:45", "2013-11-15", None]
    assert images["night"].to_list() == [True, None, False]
    assert images["exposure"].to_list() == [None, 1.0, 0.5]
    assert json.loads(images["camera"][1]) == {"name": "left", "pose": [1, 2.5, None]}
    assert images.select("image_width", "image_height").row(0) == (640, 480)
    assert json.loads(categories["skeleton"][0]) == [[1, 2]] and categories["rare"].to_list() == [None, False]
    assert annotations["width"].to_list() == [10.5, 3.0, 30.0, 0.0]
    assert annotations["width_attribute"].to_list() == [None, 7, None, None]
    assert annotations["note"].to_list() == [None, "007", None, '\n"x\\']
    assert annotations["seen"].dtype == pl.String
    assert [None if m is None else json.loads(m) for m in annotations["mask"]] == [POLYGON, RLE, PACKED_RLE, None]
    assert annotations["keypoints"].to_list() == [None, None, [1.0, 2.0, 2.0, 0.0, 0.0, 0.0], None]
    assert annotations["is_crowd"].to_list() == [False, True, False, False]
    assert annotations["ignore"].to_list() == [False, False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("order", list(permutations(TRUTH, 5))[::7], ids="-".join)
def test_sections_in_any_order(order: tuple[str, ...], tmp_path: Path) -> None:
    path = as_file({name: TRUTH[name] for name in order}, tmp_path / "truth.json")
    truth = apf.read_coco(path)
    assert truth.core("annotations").height == 4
    assert_same(truth, apf.read_coco(TRUTH))


# sections whose contents look like another section
CONFUSING: dict[str, dict[str, Any]] = {
    "names in info": {"info": {"annotations": [], "images": None, "licenses": "]"}},
    "text in info": {"info": '"annotations": [{"id": 1}]'},
    "text in images": {"images": [row | {"note": '"annotations": [], "info": ]'} for row in TRUTH["images"]]},
    "text in annotations": {"annotations": [row | {"note": '], "images": [], "info"'} for row in TRUTH["annotations"]]},
    "another section": {"runs": [{"annotations": [1, 2]}], "videos": []},
}


@pytest.mark.slow
@pytest.mark.parametrize("sections", CONFUSING.values(), ids=CONFUSING)
@pytest.mark.parametrize("reverse", [False, True])
def test_confusing_sections(sections: dict[str, Any], reverse: bool, tmp_path: Path) -> None:
    truth = TRUTH | sections
    path = as_file({name: truth[name] for name in (reversed(truth) if reverse else truth)}, tmp_path / "truth.json")
    assert apf.read_coco(path).core("annotations")["annotation_id"].to_list() == [9, 2, 7, 0]
    assert_same(apf.read_coco(path), apf.read_coco(truth))


@pytest.mark.slow
def test_indented_files_and_byte_order_marks(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(TRUTH, indent=4))
    assert_same(apf.read_coco(path), apf.read_coco(TRUTH))
    path.write_text(json.dumps(RESULTS, indent=4))
    assert_frame_equal(apf.read_coco_results(path).drop("mask"), apf.read_coco_results(RESULTS).drop("mask"))
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(RESULTS).encode())
    assert_frame_equal(apf.read_coco_results(path).drop("mask"), apf.read_coco_results(RESULTS).drop("mask"))
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(TRUTH).encode())
    assert_same(apf.read_coco(path), apf.read_coco(TRUTH))


# the ids of the images in a file, and what they are in the tables
IDS: dict[str, tuple[list[Any], list[Any]]] = {
    "beyond 2**53": ([2**53 + 1, 2**53 + 2, 2**62 + 1], [2**53 + 1, 2**53 + 2, 2**62 + 1]),
    "negative": ([-5, 0, 3], [-5, 0, 3]),
    "text of digits": (["007", "7", "1e3"], ["007", "7", "1e3"]),
    "text": (["a", "2020-01-01", ""], ["a", "2020-01-01", ""]),
    "whole floats": ([1.0, 2.0, 3], [1, 2, 3]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("ids", "expected"), IDS.values(), ids=IDS)
@pytest.mark.parametrize("is_file", [False, True])
def test_ids(ids: list[Any], expected: list[Any], is_file: bool, tmp_path: Path) -> None:
    truth = {
        "images": [{"id": i} for i in ids],
        "categories": [{"id": 1}],
        "annotations": [{"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9]} for i in ids],
    }
    results = [{"image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for i in ids]
    read = apf.read_coco(as_file(truth, tmp_path / "truth.json") if is_file else truth)
    detections = apf.read_coco_results(as_file(results, tmp_path / "results.json") if is_file else results)
    assert read.core("annotations")["image_id"].to_list() == expected
    assert read.images["image_id"].to_list() == read.annotations["annotation_id"].to_list() == expected
    assert detections["image_id"].to_list() == expected
    assert apf.evaluate(read, detections).matches()["outcome"].to_list() == ["tp"] * 3


@pytest.mark.parametrize("is_file", [False, True])
def test_attributes_of_results(is_file: bool, tmp_path: Path) -> None:
    detections = apf.read_coco_results(as_file(RESULTS, tmp_path / "results.json") if is_file else RESULTS)
    assert detections["detection_id"].to_list() == [1, 2]
    assert detections["score"].to_list() == [0.5, 1.0]
    assert detections["area"].to_list() == [10.5 * 20.25, 12.0]
    attributes = ["track", "depth", "occluded", "source"]
    assert detections.select(attributes).rows() == [(3, 1.5, True, "2020-01-01"), (4, 2.25, False, "12")]
    assert detections.schema["track"] == pl.Int64 and detections.schema["occluded"] == pl.Boolean
    assert [json.loads(mask) for mask in detections["mask"]] == [RLE, PACKED_RLE]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_results_written_and_read_again(suffix: str, tmp_path: Path) -> None:
    detections = apf.read_coco_results(as_file(RESULTS, tmp_path / "results.json"))
    apf.write_coco_results(detections, tmp_path / f"again{suffix}")
    again = apf.read_coco_results(tmp_path / f"again{suffix}")
    assert_frame_equal(again.drop("mask"), detections.drop("mask"), check_exact=True)
    assert [json.loads(mask) for mask in again["mask"]] == [RLE, PACKED_RLE]
    if suffix == ".json":
        assert json.loads((tmp_path / "again.json").read_text()) == RESULTS


# more fields of each row of a results file that is read in parts
MORE_FIELDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "nested": {"segmentation": RLE, "keypoints": [1, 2, 3]},
    "objects in lists": {"tags": [{"a": 1}, {"b": 2}], "nested": {"c": {"d": 1}}},
    "text": {"note": '}, {"image_id": 5}, {'},
}


@pytest.mark.slow
@pytest.mark.parametrize("more", MORE_FIELDS.values(), ids=MORE_FIELDS)
def test_large_results_equal_those_in_memory(more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    rows = [
        {"image_id": k * 7 % 501, "category_id": k % 11, "bbox": [k / 3, k / 7, k % 50 + 0.1, 1.5], "score": 1 / (k + 1)} | more
        for k in range(32_000)
    ]
    path = as_file(rows, tmp_path / "results.json")
    assert path.stat().st_size > 2 << 20
    found, expected = apf.read_coco_results(path), apf.read_coco_results(rows)
    assert found.columns == expected.columns
    assert found["detection_id"].to_list() == list(range(1, 32_001))
    for frame in (found, expected):  # the text of a mask may have other spaces
        assert "mask" not in frame.columns or json.loads(frame["mask"][-1]) == RLE
    assert_frame_equal(found.drop("mask", strict=False), expected.drop("mask", strict=False), check_exact=True)


@pytest.mark.slow
def test_reading_in_small_pieces_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def n_threads() -> Any:
        return scan.json_database().execute("SELECT current_setting('threads')").fetchall()

    path = as_file([RESULTS[0] | {"image_id": k} for k in range(9_000)], tmp_path / "results.json")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    expected, before = apf.read_coco_results(path), n_threads()
    for name, size in {"_HEAD": 16, "_PIECE": 10_007, "_LARGE": 0}.items():
        monkeypatch.setattr(scan, name, size)
    assert_frame_equal(apf.read_coco_results(path), expected, check_exact=True)
    for _ in range(200):  # they are ended beside the reading
        if n_threads() == before:
            break
        sleep(0.05)
    assert n_threads() == before


@pytest.mark.slow
def test_large_truth_equals_that_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    truth = copy.deepcopy(TRUTH)
    truth["annotations"] = [
        TRUTH["annotations"][k % 4] | {"id": k, "bbox": [k / 3, 0, k % 50 + 0.1, 1.5]} for k in range(14_000)
    ]
    path = as_file(truth, tmp_path / "truth.json")
    assert path.stat().st_size > 2 << 20
    read, expected = apf.read_coco(path), apf.read_coco(truth)
    core = read.core("annotations")
    assert_frame_equal(core, expected.annotations.select(core.columns), check_exact=True)
    assert_same(read, expected)


def test_file_changed_before_its_attributes_are_read(tmp_path: Path) -> None:
    path = as_file(TRUTH, tmp_path / "truth.json")
    truth = apf.read_coco(path)
    as_file(TRUTH | {"info": "another"}, path)
    with pytest.raises(FormatError, match="the file has been changed or removed since it was read; read it again"):
        _ = truth.annotations


@pytest.mark.parametrize("number", [1, 2])
def test_file_that_is_replaced_in_the_moment_in_which_it_is_read(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later file has no stamp of an earlier one, be it replaced after the first reading or before the second."""
    path, read, n_calls = as_file(TRUTH, tmp_path / "truth.json"), coco_truth.read_unpacked, 0
    other = as_file(TRUTH | {"info": "another"}, tmp_path / "other.json")

    def replaced_meanwhile(at: Path) -> bytes:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 2 == number:
            other.replace(path)
        content = read(at)
        if n_calls == 1 == number:
            other.replace(path)
        return content

    monkeypatch.setattr(coco_truth, "read_unpacked", replaced_meanwhile)
    truth = apf.read_coco(path)
    with pytest.raises(FormatError, match="the file has been changed or removed since it was read; read it again"):
        _ = truth.annotations
    assert not other.exists()


def test_file_removed_before_its_attributes_are_read(tmp_path: Path) -> None:
    path = as_file(TRUTH, tmp_path / "truth.json")
    truth = apf.read_coco(path)
    path.unlink()
    with pytest.raises(FormatError, match=r"truth\.json: "):
        _ = truth.annotations


@pytest.mark.slow
def test_unwritable_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.json").mkdir()
    truth, detections = apf.read_coco(TRUTH), apf.read_coco_results(RESULTS)
    for place in (tmp_path / "nowhere" / "a.json", tmp_path / "file" / "a.json", tmp_path / "folder.json"):
        with pytest.raises(OutputError, match=r"\.json: cannot be written \("):
            apf.write_coco(truth, place)
        with pytest.raises(OutputError, match=r"\.json: cannot be written \("):
            apf.write_coco_results(detections, place)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder.json"]


def test_interrupted_writing_keeps_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_file(RESULTS, tmp_path / "results.json")
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match=r"cannot be written \(no space left on device\)"):
        apf.write_coco_results(apf.read_coco_results(RESULTS), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["results.json"]


def test_writing_nothing(tmp_path: Path) -> None:
    apf.write_coco_results(apf.read_coco_results([]), tmp_path / "results.json")
    assert json.loads((tmp_path / "results.json").read_text()) == []
    apf.write_coco(apf.read_coco(NOTHING), tmp_path / "truth.json")
    assert json.loads((tmp_path / "truth.json").read_text()) == NOTHING


def test_list_inside_info_is_not_the_annotations(tmp_path: Path) -> None:
    inner = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5]}]
    data = {"info": {"annotations": inner}, "images": [{"id": 1}], "categories": [{"id": 1, "name": "a"}], "annotations": []}
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(data))
    assert apf.read_coco(path).core("annotations").is_empty()


@pytest.mark.parametrize("name", ["^a$", "^.*$", "*", ""])
def test_flags_may_have_any_name(name: str, tmp_path: Path) -> None:
    boxes = [{"id": n, "image_id": 1, "category_id": 1, "bbox": [9 * n, 0, 2, 2], name: n == 1} for n in (1, 2)]
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": boxes}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    assert apf.read_coco(tmp_path / "truth.json").annotations[name].to_list() == [True, False]


def test_fields_that_end_in_attribute_keep_their_names(tmp_path: Path) -> None:
    row = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "vehicle_attribute": "red", "bbox_attribute": 7}
    data = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "a"}], "annotations": [row], "hash": 2**70}
    data["images"][0]["hash"] = 2**70  # type: ignore[index]
    apf.write_coco(apf.read_coco(data), tmp_path / "truth.json")
    written = json.loads((tmp_path / "truth.json").read_text())
    assert written["annotations"][0].items() >= {"vehicle_attribute": "red", "bbox_attribute": 7}.items()
    assert written["images"][0]["hash"] == 2**70


def test_attributes_called_as_fields_of_coco_are_left_out(tmp_path: Path) -> None:
    row = {"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [9], "height": [9], "id": [7], "iscrowd": ["no"]}
    dataset = apf.Dataset({"image_id": [1], "width": [3]}, {"category_id": [1], "name": ["cat"]}, row)
    assert apf.write_dataset(dataset, tmp_path / "truth.json", "coco").rows() == [
        ("images", "width", 1, "left out: COCO has a field with this name"),
        ("annotations", "id", 1, "left out: COCO has a field with this name"),
        ("annotations", "iscrowd", 1, "left out: COCO has a field with this name"),
    ]
    assert apf.read_dataset(tmp_path / "truth.json").annotations.equals(dataset.annotations.drop("id", "iscrowd"))


def test_results_that_the_first_row_lacks_come_back(tmp_path: Path) -> None:
    mask = '{"size":[9,9],"counts":[0,81]}'
    detections = {"image_id": [1, 1], "category_id": [1, 1], "score": [0.5, 0.4], "x": [0, 0], "y": [0, 0], "width": [9, 9],
                  "height": [9, 9], "mask": [None, mask], "note": [None, "far"]}  # fmt: skip
    assert apf.write_results(detections, tmp_path / "found.json", "coco").rows() == []
    again = apf.read_results(tmp_path / "found.json")
    assert again.select("mask", "note").rows() == [(None, None), (mask, "far")]


def test_an_object_without_lists_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n"image_id": 1, "score": 0.5}')
    assert not Coco().fits(see(tmp_path / "a.json"), "results")
    (tmp_path / "a.json").write_text('{"image_id": 1, "score": 0.5}\n')  # a result in each line
    assert Coco().fits(see(tmp_path / "a.json"), "results")


def test_a_byte_order_mark_does_not_hide_a_format(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf" + b'{"version": "1.3", "database": {}}')
    assert choose_format(tmp_path / "a.json", None, "dataset").name == "activitynet"


FOUND = [{"image_id": n, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5 / n, "note": "a\\nb"} for n in (1, 2)]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\n\n"])
def test_results_in_lines_are_those_of_a_list(ending: str, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(json.dumps(FOUND))
    for rows in (FOUND, FOUND[:1]):
        (tmp_path / "lines.jsonl").write_text(ending.join(map(json.dumps, rows)) + ending, newline="")
        assert apf.read_results(tmp_path / "lines.jsonl").equals(apf.read_results(tmp_path / "list.json")[: len(rows)])


@pytest.mark.slow
def test_results_as_a_data_set_with_scores_join_by_its_own_names(tmp_path: Path) -> None:
    truth = {
        "images": [{"id": 70, "file_name": "a.jpg"}, {"id": 80, "file_name": "b.jpg"}],
        "categories": [{"id": 5, "name": "cat"}],
        "annotations": [{"id": n, "image_id": 10 * n + 60, "category_id": 5, "bbox": [1, 2, 3, 4]} for n in (1, 2)],
    }
    detections = {
        "annotations": [{"id": 9 + n, **row} for n, row in enumerate(FOUND)],
        "images": [{"id": 1, "file_name": "b.jpg"}, {"id": 2, "file_name": "a.jpg"}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    (tmp_path / "found.json").write_text(json.dumps(detections))
    for source in (detections, tmp_path / "found.json"):
        assert apf.read_results(source).select("image_id", "file_name", "name", "score").rows() == [
            (1, "b.jpg", "cat", 0.5), (2, "a.jpg", "cat", 0.25),
        ]  # fmt: skip
        ev = apf.evaluate(truth, source, join_by_name=["images", "categories"])
        assert ev.detections["image_id"].to_list() == [80, 70]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    with pytest.raises(FormatError, match="holds an object, not a list of results; is it ground truth"):
        apf.read_results(tmp_path / "truth.json")


ATTRIBUTES: dict[str, list[Any]] = {
    "numbers": [1, 2, None], "fractions": [0.5, 1, 2], "texts": ["a", None, "é"], "flags": [True, False, None],
    "other later": [1, "a", 2], "flag later": [0.5, True, 1], "number later": [True, 1, False], "none first": [None, 1, 2],
    "fraction later": [1, 0.5, 2],
    "lists": [["a"], [], None], "objects": [{"a": 1}, {"b": 2}, 5], "quoted": ['"id": 5', "", "a"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ATTRIBUTES, "later key", "absent", "masks", "nested key"])
def test_attributes_of_files_are_those_of_dicts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's attributes are scanned where that is right, else parsed: the table is the same as that of the parsed file."""
    rows: list[dict[str, Any]] = [
        {"id": number, "image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "area": 81.0, "iscrowd": 0, "seen": 0.5}
        for number in (1, 2, 3)
    ]
    changes = {
        "later key": lambda: rows[2].update(later=5),
        "absent": lambda: rows[1].pop("seen"),
        "masks": lambda: [row.update(segmentation={"size": [9, 9], "counts": "5"}) for row in rows[:2]],
        "nested key": lambda: rows[1].update(segmentation={"size": [9, 9], "counts": "5", "score": 1}),
    }
    if name in ATTRIBUTES:
        for row, value in zip(rows, ATTRIBUTES[name], strict=True):
            row["attribute"] = value
    else:
        changes[name]()
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": rows}
    for number, text in enumerate((json.dumps(truth), json.dumps(truth, separators=(",", ":")), json.dumps(truth, indent=1))):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        for masks, size in ((False, 1 << 20), (True, 1 << 20), (False, 10), (True, 250)):
            monkeypatch.setattr(pieces, "PIECE", size)
            read = apf.read_coco(path, masks=masks)
            assert_frame_equal(read.annotations, apf.read_coco(truth).annotations)
            assert read.json_columns == apf.read_coco(truth).json_columns


# a box of 40 x 20 around (100, 50), turned by 30 degrees clockwise, as Ultralytics writes it
POLY = [112.321, 68.66, 122.321, 51.34, 87.679, 31.34, 77.679, 48.66]
RBOX = [100, 50, 40, 20, 0.524]


@pytest.mark.slow(every=True)
@pytest.mark.parametrize("is_file", [False, True])
@pytest.mark.parametrize(
    ("fields", "columns", "similarity"),
    [
        ({"rbox": RBOX, "poly": POLY}, {"corners": POLY}, 1.0),
        ({"poly": POLY}, {"corners": POLY}, 1.0),
        ({"rbox": RBOX}, {"x": 80.0, "y": 40.0, "width": 40.0, "height": 20.0, "angle": -0.524}, 0.9995),
    ],
)
def test_rotated_boxes_of_ultralytics(
    fields: dict[str, Any], columns: dict[str, Any], similarity: float, is_file: bool, tmp_path: Path
) -> None:
    """Rows have no `bbox`; an id is a number or a text, by the name of the file."""
    images = [{"id": 1, "file_name": "000042.jpg"}, {"id": 2, "file_name": "P0001.png"}]
    annotations = [{"id": k, "image_id": k, "category_id": 1, "corners": POLY} for k in (1, 2)]
    truth = apf.read_coco({"images": images, "categories": [{"id": 1, "name": "plane"}], "annotations": annotations})
    for image_id, file_name in ((42, "000042.jpg"), ("P0001", "P0001.png")):
        row = {"image_id": image_id, "file_name": file_name, "category_id": 1, "score": 0.9} | fields
        results: Any = [row]
        if is_file:
            results = tmp_path / "predictions.json"
            results.write_text(json.dumps([row]))
        read = apf.read_coco_results(results).row(0, named=True)
        assert {name: read[name] for name in columns} == columns
        assert not {"poly", "rbox"} & read.keys()
        evaluation = apf.evaluate(truth, results, apf.MMROTATE, join_by_name="images")
        assert evaluation.pairs["similarity"].to_list() == [pytest.approx(similarity, abs=1e-4)]


def test_polygons_beside_boxes_are_attributes() -> None:
    row = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}
    assert apf.read_coco_results([row | {"poly": [[0, 0], [9, 9]]}])["poly"].to_list() == ["[[0, 0], [9, 9]]"]
    frame = pl.DataFrame([row | {"poly": POLY}])
    assert "corners" not in apf.read_results(frame).columns
    with pytest.raises(apf.exceptions.RowError, match="rbox is not five numbers for row 1"):
        apf.read_coco_results([{"image_id": 1, "category_id": 1, "score": 0.5, "rbox": RBOX[:4]}])


@pytest.mark.parametrize("size", [1, 4, 7, 20])
def test_lists_are_cut_however_little_is_read_at_once(size: int) -> None:
    rows = b'{"a": 1}, {"a": 2}'
    cut = [piece.text for piece in pieces.pieces_of_stream(BytesIO(b"[" + rows + b"]"), size) if piece is not None]
    assert b", ".join(filter(None, cut)) == rows


def test_long_lists_with_values_of_other_types_are_not_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "SHORT", 0)
    for value, is_read in (("0.25", True), ('"0.25"', False)):
        text = f'[{{"id": 1, "score": 0.5}}, {{"id": 2, "score": {value}}}]'.encode()
        frame = scan.scan_list(BytesIO(text), slice(0, len(text)), {"id": "id", "score": "number"}, {"id": 1, "score": 0.5})
        assert (frame is not None) == is_read

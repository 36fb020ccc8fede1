"""Masks, keypoints, rotated boxes, intervals and lists of categories: read in every form they come in, written, read again."""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

import apframe as apf
from apframe.exceptions import ColumnError, FormatError

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of pycocotools

Json = dict[str, Any]
HEIGHT, WIDTH = 30, 40
POLYGONS = {  # annotations 11, 12 and detections 1, 2, 3
    11: [[2, 2, 22, 2, 22, 22, 2, 22]],
    12: [[5.5, 5.25, 30, 8, 20, 28.75], [31, 1, 39, 1, 39, 9]],
    1: [[2, 2, 22, 2, 22, 18, 2, 18]],
    2: [[5, 5, 30, 8, 20, 28]],
    3: [[0, 20, 10, 20, 10, 30, 0, 30]],
}
WHERE = {11: 1, 12: 2, 1: 1, 2: 2, 3: 2}  # images


def packed(number: int) -> Json:
    """The mask as pycocotools has it: counts are bytes."""
    return dict(coco_mask.merge(coco_mask.frPyObjects(POLYGONS[number], HEIGHT, WIDTH)))


def bitmap(number: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "__array__ implementation")  # of pycocotools, about NumPy 2
        return np.asarray(coco_mask.decode(packed(number)))


def plain(number: int) -> Json:
    """Run lengths as numbers."""
    pixels = bitmap(number).ravel(order="F")
    starts = np.flatnonzero(np.diff(pixels, prepend=0)).tolist()
    return {"size": [HEIGHT, WIDTH], "counts": np.diff([0, *starts, pixels.size]).tolist()}


def text(number: int) -> Json:
    return {"size": [HEIGHT, WIDTH], "counts": packed(number)["counts"].decode()}


FORMS: dict[str, Any] = {"polygons": POLYGONS.__getitem__, "run lengths": plain, "packed": text, "bytes": packed}
ON_FILE = ["polygons", "run lengths", "packed"]
AREAS = {number: float(bitmap(number).sum()) for number in POLYGONS}


def truth_as(form: str) -> Json:
    return {
        "images": [{"id": 1, "width": WIDTH, "height": HEIGHT}, {"id": 2, "width": WIDTH, "height": HEIGHT}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": n, "image_id": WHERE[n], "category_id": 1, "bbox": list(coco_mask.toBbox(packed(n))), "area": AREAS[n],
             "iscrowd": 0, "segmentation": FORMS[form](n)}
            for n in (11, 12)
        ],
    }  # fmt: skip


def results_as(form: str) -> list[Json]:
    return [{"image_id": WHERE[n], "category_id": 1, "score": 1 - n / 10, "segmentation": FORMS[form](n)} for n in (1, 2, 3)]


def written(data: Any, path: Path) -> Path:
    content = json.dumps(data).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def iou(a: int, b: int) -> float:
    return float(coco_mask.iou([packed(a)], [packed(b)], [0])[0, 0])


PAIRS = [(1, 11, iou(1, 11)), (2, 12, iou(2, 12))]


def assert_masks_are_right(evaluation: apf.Evaluation) -> None:
    assert evaluation.pairs.rows() == PAIRS
    assert all(similarity >= 0.5 for *_, similarity in PAIRS)
    assert evaluation.detections["area"].to_list() == [AREAS[n] for n in (1, 2, 3)]
    assert evaluation.matches(0.5)["outcome"].to_list() == ["tp", "tp", "fp"]


@pytest.mark.slow
@pytest.mark.parametrize("of_results", FORMS)
@pytest.mark.parametrize("of_truth", FORMS)
def test_every_form_in_memory(of_truth: str, of_results: str) -> None:
    assert_masks_are_right(apf.evaluate(truth_as(of_truth), results_as(of_results), iou_type="segm"))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
@pytest.mark.parametrize("of_results", ON_FILE)
@pytest.mark.parametrize("of_truth", ON_FILE)
def test_every_form_on_file(of_truth: str, of_results: str, suffix: str, tmp_path: Path) -> None:
    truth = written(truth_as(of_truth), tmp_path / f"truth{suffix}")
    results = written(results_as(of_results), tmp_path / f"results{suffix}")
    assert_masks_are_right(apf.evaluate(truth, results, iou_type="segm"))
    dataset = apf.read_coco(truth)
    assert "mask" not in dataset.core("annotations").columns  # until they are compared
    assert_masks_are_right(apf.evaluate(dataset, apf.read_coco_results(results), iou_type="segm"))
    assert apf.read_coco(truth).annotations["mask"].null_count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("order", [["packed", "run lengths", "polygons"], ["polygons", "packed", "run lengths"],
                                   ["run lengths", "polygons", "packed"], ["packed", "packed", "run lengths"]])  # fmt: skip
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_rows_of_different_forms(kind: str, order: list[str], tmp_path: Path) -> None:
    results: Any = [results_as(form)[row] for row, form in enumerate(order)]
    truth: Any = truth_as(order[0])
    truth["annotations"][1]["segmentation"] = FORMS[order[-1]](12)
    if kind == "file":
        truth, results = written(truth, tmp_path / "truth.json"), written(results, tmp_path / "results.json")
    assert_masks_are_right(apf.evaluate(truth, results, iou_type="segm"))


@pytest.mark.slow
def test_results_of_a_file_are_those_in_memory(tmp_path: Path) -> None:
    for form in ON_FILE:
        on_file = apf.read_coco_results(written(results_as(form), tmp_path / f"{form}.json"))
        in_memory = apf.read_coco_results(results_as(form))
        assert_frame_equal(on_file.drop("mask"), in_memory.drop("mask"))
        assert on_file["x"].null_count() == in_memory["x"].null_count() == 3  # boxes are made when they are evaluated


@pytest.mark.slow
@pytest.mark.parametrize("place", [1, 2])
def test_a_file_of_packed_masks_with_one_in_numbers(place: int, tmp_path: Path) -> None:
    rows = results_as("packed")
    rows[place]["segmentation"] = plain(place + 1)
    detections = apf.read_coco_results(written(rows, tmp_path / "results.json"))
    assert [json.loads(mask) for mask in detections["mask"]] == [row["segmentation"] for row in rows]
    assert_frame_equal(detections, apf.read_coco_results(rows))


def with_parsed_masks(frame: pl.DataFrame) -> pl.DataFrame:
    """The text of the masks without its spaces."""
    masks = [None if mask is None else json.dumps(json.loads(mask)) for mask in frame.get_column("mask", default=[])]
    return frame.with_columns(mask=pl.Series(masks, dtype=pl.String)) if masks else frame


@pytest.mark.slow
@pytest.mark.parametrize("form", ON_FILE)
def test_masks_are_the_same_text_however_they_are_read(form: str, tmp_path: Path) -> None:
    expected = [json.dumps(FORMS[form](n), separators=(",", ":")) for n in (11, 12)]
    assert apf.read_coco(truth_as(form)).annotations["mask"].to_list() == expected
    for indent in (None, 1):  # with a space after each comma, with line breaks
        (tmp_path / "truth.json").write_text(json.dumps(truth_as(form), indent=indent))
        for dataset in (apf.read_coco(tmp_path / "truth.json"), apf.read_coco(tmp_path / "truth.json", masks=True)):
            at_once = dataset.core("annotations").get_column("mask", default=pl.Series("mask", expected))
            assert at_once.to_list() == dataset.annotations["mask"].to_list() == expected


@pytest.mark.slow
def test_evaluations_of_masks_and_of_boxes_are_of_one_data_set(tmp_path: Path) -> None:
    truth = written(truth_as("packed"), tmp_path / "truth.json")
    results = [row | {"bbox": [0, 0, 4, 5]} for row in results_as("packed")]
    apf.evaluate(truth, results, iou_type="segm").write_parquet(tmp_path / "segm")
    apf.evaluate(truth, results).write_parquet(tmp_path / "bbox")
    hashes = [json.loads((tmp_path / name / "manifest.json").read_text())["inputs"] for name in ("segm", "bbox")]
    assert hashes[0] == hashes[1]


@pytest.mark.slow
@pytest.mark.parametrize("form", ON_FILE)
def test_masks_read_at_once_are_those_read_later(form: str, tmp_path: Path) -> None:
    path = written(truth_as(form), tmp_path / "truth.json")
    at_once, later, looked_at = apf.read_coco(path, masks=True), apf.read_coco(path), apf.read_coco(path)
    assert at_once.core("annotations")["mask"].null_count() == 0
    for dataset in (at_once, later.with_masks):
        assert_frame_equal(with_parsed_masks(dataset.annotations), with_parsed_masks(looked_at.annotations), check_exact=True)
    in_memory = apf.read_coco(truth_as(form))
    assert_frame_equal(looked_at.annotations.drop("mask"), in_memory.annotations.drop("mask"), check_exact=True)
    masks = [[json.loads(mask) for mask in dataset.annotations["mask"]] for dataset in (at_once, in_memory)]
    assert masks[0] == masks[1] == [FORMS[form](11), FORMS[form](12)]
    for dataset in (at_once, later, looked_at, in_memory):
        assert_masks_are_right(apf.evaluate(dataset, results_as("packed"), iou_type="segm"))


@pytest.mark.slow
def test_masks_and_attributes_of_the_same_file(tmp_path: Path) -> None:
    truth = truth_as("polygons")
    for row in truth["annotations"]:
        row["occlusion"] = row["id"] / 100
    path = written(truth, tmp_path / "truth.json")
    evaluation = apf.evaluate(path, results_as("packed"), iou_type="segm")
    assert_masks_are_right(evaluation)
    assert evaluation.where(pl.col("occlusion") < 0.115).matches(0.5)["outcome"].to_list() == ["tp", "ignored", "fp"]
    assert evaluation.dataset.annotations.select("annotation_id", "occlusion").rows() == [(11, 0.11), (12, 0.12)]


@pytest.mark.slow
def test_a_file_without_any_mask(tmp_path: Path) -> None:
    truth = truth_as("polygons")
    for row in truth["annotations"]:
        row["segmentation"] = None
    for masks in (False, True):
        dataset = apf.read_coco(written(truth, tmp_path / "truth.json"), masks=masks)
        assert "mask" not in dataset.annotations.columns


@pytest.mark.slow
def test_a_file_that_changes_before_its_masks_are_read(tmp_path: Path) -> None:
    path = written(truth_as("polygons"), tmp_path / "truth.json")
    dataset = apf.read_coco(path)
    written(truth_as("run lengths") | {"info": "another"}, path)
    with pytest.raises(FormatError, match=r"the file has been changed or removed since it was read; read it again$"):
        apf.evaluate(dataset, results_as("packed"), iou_type="segm")


@pytest.mark.slow
def test_areas_of_boxes_where_results_have_boxes() -> None:
    boxed = [row | {"bbox": [0, 0, 4, 5]} for row in results_as("packed")]
    evaluation = apf.evaluate(truth_as("packed"), boxed, iou_type="segm")
    assert evaluation.detections["area"].to_list() == [20.0] * 3
    assert evaluation.pairs.rows() == PAIRS


# ---- frames


FRAMES: dict[str, pl.Series] = {
    "structs of text": pl.Series("mask", [text(n) for n in (1, 2, 3)]),
    "structs of numbers": pl.Series("mask", [plain(n) for n in (1, 2, 3)]),
    "JSON text": pl.Series("mask", [json.dumps(POLYGONS[n]) for n in (1, 2, 3)]),
    "polygons": pl.Series("mask", [POLYGONS[n] for n in (1, 2, 3)], dtype=pl.List(pl.List(pl.Float64))),
    "bitmaps of numbers": pl.Series("mask", [bitmap(n).tolist() for n in (1, 2, 3)]),
    "bitmaps of bytes": pl.Series("mask", [bitmap(n).tolist() for n in (1, 2, 3)], dtype=pl.List(pl.List(pl.UInt8))),
    "bitmaps of flags": pl.Series("mask", [bitmap(n).astype(bool).tolist() for n in (1, 2, 3)]),
}


def frame_of(masks: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"image_id": [1, 2, 2], "category_id": [1, 1, 1], "score": [0.9, 0.8, 0.7], "mask": masks})


@pytest.mark.slow
@pytest.mark.parametrize("masks", FRAMES.values(), ids=FRAMES)
def test_frames(masks: pl.Series, tmp_path: Path) -> None:
    frame = frame_of(masks)
    assert_masks_are_right(apf.evaluate(truth_as("packed"), frame, iou_type="segm"))
    assert_masks_are_right(apf.evaluate(truth_as("packed"), frame.lazy(), iou_type="segm"))
    assert_masks_are_right(apf.evaluate(truth_as("packed"), frame.to_arrow(), iou_type="segm"))
    frame.write_parquet(tmp_path / "found.parquet")
    assert_masks_are_right(apf.evaluate(truth_as("packed"), tmp_path / "found.parquet", iou_type="segm"))


@pytest.mark.slow
@pytest.mark.parametrize("masks", FRAMES.values(), ids=FRAMES)
def test_evaluations_with_masks_of_frames_are_stored(masks: pl.Series, tmp_path: Path) -> None:
    evaluation = apf.evaluate(truth_as("packed"), frame_of(masks), iou_type="segm")
    evaluation.write_parquet(tmp_path / "run")
    again = apf.read_evaluation(tmp_path / "run")
    assert_masks_are_right(again)
    assert_frame_equal(again.detections, evaluation.detections)
    assert again.sql("SELECT count(mask) FROM detections").item() == 3


# ---- written and read again


def through_file(dataset: apf.Dataset, tmp_path: Path) -> apf.Dataset:
    apf.write_coco(dataset, tmp_path / "again.json")
    return apf.read_coco(tmp_path / "again.json")


def silently_read(path: Path) -> COCO:
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_written_masks(form: str, tmp_path: Path) -> None:
    again = through_file(apf.read_coco(truth_as(form)), tmp_path)
    assert_masks_are_right(apf.evaluate(again, results_as("packed"), iou_type="segm"))
    rows = json.loads((tmp_path / "again.json").read_text())["annotations"]
    assert [row["segmentation"] for row in rows] == [FORMS["packed" if form == "bytes" else form](n) for n in (11, 12)]
    reference = silently_read(tmp_path / "again.json")
    for n in (11, 12):
        assert np.array_equal(reference.annToMask(reference.anns[n]), bitmap(n))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["structs of text", "structs of numbers", "polygons", "JSON text"])
def test_written_masks_of_frames(name: str, tmp_path: Path) -> None:
    kinds: dict[str, Any] = {
        "structs of text": text, "structs of numbers": plain, "polygons": POLYGONS.__getitem__,
        "JSON text": lambda n: json.dumps(POLYGONS[n]),
    }  # fmt: skip
    dtype = pl.List(pl.List(pl.Float64)) if name == "polygons" else None
    read = apf.read_coco(truth_as("packed"))
    masks = pl.Series("mask", [kinds[name](n) for n in (11, 12)], dtype=dtype)
    dataset = apf.Dataset(read.images, read.categories, read.annotations.with_columns(masks))
    again = through_file(dataset, tmp_path)
    assert_masks_are_right(apf.evaluate(again, results_as("packed"), iou_type="segm"))
    reference = silently_read(tmp_path / "again.json")
    for n in (11, 12):
        assert np.array_equal(reference.annToMask(reference.anns[n]), bitmap(n))


BITMAPS = [
    *(masks for name, masks in FRAMES.items() if name.startswith("bitmaps")),
    pl.Series("mask", np.stack([bitmap(n) for n in (1, 2, 3)])),
    pl.Series("mask", [bitmap(n).tolist() for n in (1, 2, 3)], dtype=pl.List(pl.Array(pl.UInt8, WIDTH))),
]


@pytest.mark.parametrize("masks", BITMAPS, ids=lambda masks: str(masks.dtype))
def test_bitmaps_are_not_written(masks: pl.Series, tmp_path: Path) -> None:
    message = r"^{}\.mask: bitmaps \((List|Array).*\) cannot be written: COCO's JSON holds run .* pycocotools.mask.encode"
    with pytest.raises(ColumnError, match=message.format("detections")):
        apf.write_coco_results(frame_of(masks), tmp_path / "results.json")
    read = apf.read_coco(truth_as("packed"))
    dataset = apf.Dataset(read.images, read.categories, read.annotations.with_columns(masks.head(2)))
    with pytest.raises(ColumnError, match=message.format("annotations")):
        apf.write_coco(dataset, tmp_path / "truth.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FRAMES if not name.startswith("bitmaps")])
def test_written_results(name: str, tmp_path: Path) -> None:
    masks = FRAMES[name]
    frame = frame_of(masks)
    apf.write_coco_results(frame, tmp_path / "results.json")
    again = apf.read_coco_results(tmp_path / "results.json")
    assert_masks_are_right(apf.evaluate(truth_as("packed"), again, iou_type="segm"))
    rows = json.loads((tmp_path / "results.json").read_text())
    assert all("bbox" not in row and "area" not in row for row in rows)
    reference = silently_read(written(truth_as("packed"), tmp_path / "truth.json"))
    if masks.dtype == pl.String or FRAMES["polygons"].dtype == masks.dtype or masks.dtype == FRAMES["structs of numbers"].dtype:
        return  # pycocotools takes none of these as results
    with contextlib.redirect_stdout(io.StringIO()):
        loaded = reference.loadRes(str(tmp_path / "results.json"))
    for n in (1, 2, 3):
        assert np.array_equal(loaded.annToMask(loaded.anns[n]), bitmap(n))


BOXED = {"image_id": 1, "category_id": 1, "bbox": [0.5, 1, 10, 20]}
OTHER = {"image_id": 2, "category_id": 2, "bbox": [0, 0, 5, 5]}
CORNERS = [0.5, 0, 10, 0.25, 10, 10, 0, 10]
# shapes of two rows
SHAPES: dict[str, tuple[Json, Json]] = {
    "keypoints": ({"keypoints": [1.5, 2, 2, 0, 0, 0]}, {"keypoints": [3, 4, 1, 5, 6, 2]}),
    "corners": ({"corners": CORNERS}, {"corners": [0, 0, 1, 0, 1, 1, 0, 1]}),
    "angle": ({"angle": 0.1}, {"angle": -3}),
    "interval": ({"start_time": 0.25, "end_time": 7}, {"start_time": 1, "end_time": 1}),
    "cuboid": (
        {
            "cuboid_x": 3,
            "cuboid_y": 1.5,
            "cuboid_z": 0,
            "cuboid_length": 4,
            "cuboid_width": 2,
            "cuboid_height": 1.5,
            "cuboid_yaw": 0.25,
        },
        {
            "cuboid_x": 0,
            "cuboid_y": -1,
            "cuboid_z": 1,
            "cuboid_length": 0.5,
            "cuboid_width": 0.5,
            "cuboid_height": 2,
            "cuboid_yaw": -3,
        },
    ),
    "corners or angle": ({"corners": CORNERS}, {"angle": 0.5}),
    "mask and keypoints": ({"segmentation": [[0, 0, 5, 0, 5, 5.5]], "keypoints": [1, 1, 2]}, {"keypoints": [0, 0, 0]}),
}
each_shape = pytest.mark.parametrize(
    ("first", "second", "with_boxes"),
    [
        pytest.param(*rows, with_boxes, id=f"{name}{'' if with_boxes else ' alone'}")
        for name, rows in SHAPES.items()
        for with_boxes in (True, False)
        if with_boxes or "angle" not in name  # which turns a box
    ],
)
ANNOTATION = {"num_keypoints": 1, "ignore": 1, "iscrowd": 0, "area": 7.5}
IMAGES = [
    {"id": 1, "width": 40, "height": 30, "pos_category_ids": [1, 2], "neg_category_ids": []},
    {"id": 2, "neg_category_ids": [2]},
]
CATEGORIES = [{"id": 1, "name": "animal"}, {"id": 2, "name": "cat", "parent_ids": [1], "frequency": "r"}]


@pytest.mark.slow
@each_shape
def test_written_shapes(first: Json, second: Json, with_boxes: bool, tmp_path: Path) -> None:
    rows = [{"id": 5, **BOXED, **first, **ANNOTATION}, {"id": 4, **OTHER, **second}]
    if not with_boxes:
        for row in rows:
            del row["bbox"]
    truth: Json = {"images": IMAGES, "categories": CATEGORIES, "annotations": rows}
    dataset = apf.read_coco(copy.deepcopy(truth))
    apf.write_coco(dataset, tmp_path / "again.json")
    kept = json.loads((tmp_path / "again.json").read_text())
    for name, given in truth.items():
        for row, expected in zip(kept[name], given, strict=True):
            assert {field: row[field] for field in expected} == expected
    again = apf.read_coco(tmp_path / "again.json")
    on_file = apf.read_coco(written(truth, tmp_path / "truth.json"))
    for name in truth:
        for other in (again, on_file):
            frames = [with_parsed_masks(getattr(each, name)) for each in (other, dataset)]
            assert_frame_equal(*frames, check_exact=True)


@pytest.mark.slow
@each_shape
def test_written_shapes_of_results(first: Json, second: Json, with_boxes: bool, tmp_path: Path) -> None:
    rows = [{**BOXED, **first, "score": 0.5, "track": 3}, {**OTHER, **second, "score": 1.0, "track": 4}]
    if not with_boxes:
        for row in rows:
            del row["bbox"]
    detections = apf.read_coco_results(copy.deepcopy(rows))
    apf.write_coco_results(detections, tmp_path / "results.json")
    content = json.loads((tmp_path / "results.json").read_text())
    assert [{name: value for name, value in row.items() if value is not None} for row in content] == rows
    again = apf.read_coco_results(tmp_path / "results.json")
    on_file = apf.read_coco_results(written(rows, tmp_path / "given.json"))
    assert set(again.columns) == set(detections.columns)
    # of a file of others, the first row decides which columns there are
    assert set(detections.columns) - set(on_file.columns) <= set(second)
    for frame in (again, on_file):
        expected = detections.select(name for name in detections.columns if name in frame.columns)
        assert_frame_equal(with_parsed_masks(frame), with_parsed_masks(expected), check_exact=True, check_column_order=False)


@pytest.mark.slow
def test_lists_of_categories(tmp_path: Path) -> None:
    truth: Json = {"images": IMAGES, "categories": CATEGORIES, "annotations": []}
    for dataset in (apf.read_coco(truth), apf.read_coco(written(truth, tmp_path / "truth.json"))):
        assert dataset.images["pos_category_ids"].to_list() == [[1, 2], []]
        assert dataset.images["neg_category_ids"].to_list() == [[], [2]]
        assert "not_exhaustive_category_ids" not in dataset.images.columns
        assert dataset.categories["parent_ids"].to_list() == [[], [1]]
        assert dataset.categories.schema["parent_ids"] == dataset.images.schema["neg_category_ids"] == pl.List(pl.Int64)


def test_lists_of_names(tmp_path: Path) -> None:
    truth: Json = {
        "images": [{"id": "a", "neg_category_ids": ["cat"], "not_exhaustive_category_ids": []}],
        "categories": [{"id": "animal"}, {"id": "cat", "parent_ids": ["animal"]}],
        "annotations": [],
    }
    dataset = apf.read_coco(truth)
    assert dataset.images["neg_category_ids"].to_list() == [["cat"]]
    assert dataset.images.schema["not_exhaustive_category_ids"] == pl.List(pl.String)
    assert dataset.categories["parent_ids"].to_list() == [[], ["animal"]]
    again = through_file(dataset, tmp_path)
    for name in truth:
        assert_frame_equal(getattr(again, name), getattr(dataset, name), check_exact=True)


def test_lists_that_are_all_empty_or_null() -> None:
    for given in ([], None):
        truth: Json = {"images": [{"id": 1, "neg_category_ids": given}], "categories": [{"id": "x"}], "annotations": []}
        assert apf.read_coco(truth).images.to_dicts()[0].get("neg_category_ids", []) == []


def test_numbered_images_and_named_categories_are_judged() -> None:
    truth: Json = {
        "images": [{"id": 1, "neg_category_ids": ["dog"]}],
        "categories": [{"id": "cat", "frequency": "f"}, {"id": "dog", "frequency": "f"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": "cat", "bbox": [0, 0, 40, 40]}],
    }
    results = [{"image_id": 1, "category_id": name, "bbox": [0, 0, 40, 40], "score": 0.5} for name in ("cat", "dog")]
    evaluation = apf.evaluate(truth, results, "lvis", area_ranges={})
    assert evaluation.detections["category_id"].to_list() == ["cat", "dog"]

"""LVIS's JSON: what it demands beyond COCO's, round trips, and that lvis-api reads what is written."""

from __future__ import annotations

import json
import logging
import re
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import ApframeError, FormatError
from apframe.formats.coco.format import Coco
from apframe.formats.lvis import Lvis
from apframe.formats.path_contents import see
from tests.protocols.generated import references_at_work

TRUTH: dict[str, Any] = {
    "info": {"version": "v1"},
    "images": [
        {
            "id": 7,
            "width": 64,
            "height": 48,
            "coco_url": "http://images.cocodataset.org/val2017/000000000007.jpg",
            "neg_category_ids": [2],
            "not_exhaustive_category_ids": [],
        },
        {
            "id": 9,
            "width": 64,
            "height": 48,
            "file_name": "nine.jpg",
            "neg_category_ids": [],
            "not_exhaustive_category_ids": [1, 2],
        },
    ],
    "categories": [
        {"id": 1, "name": "aerosol_can", "frequency": "c", "synset": "aerosol.n.02", "synonyms": ["aerosol_can", "spray_can"]},
        {"id": 2, "name": "zebra", "frequency": "f", "synset": "zebra.n.01", "synonyms": ["zebra"]},
    ],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 10, 20], "area": 150,
         "segmentation": [[1, 2, 11, 2, 11, 22, 1, 22]]},
        {"id": 5, "image_id": 9, "category_id": 2, "bbox": [0, 0, 8, 8], "area": 64,
         "segmentation": [[0, 0, 8, 0, 8, 8, 0, 8]]},
    ],
}  # fmt: skip
RESULTS = [
    {"image_id": 7, "category_id": 1, "bbox": [1, 2, 10, 18], "score": 0.9},
    {"image_id": 7, "category_id": 2, "bbox": [30, 30, 8, 8], "score": 0.8},
    {"image_id": 9, "category_id": 2, "bbox": [0, 0, 8, 9], "score": 0.7},
    {"image_id": 9, "category_id": 1, "bbox": [0, 0, 8, 9], "score": 0.6},
]


def file(folder: Path, data: Any, name: str = "lvis.json") -> Path:
    (folder / name).write_text(json.dumps(data))
    return folder / name


def without(table: str, row: int, field: str) -> dict[str, Any]:
    data = deepcopy(TRUTH)
    del data[table][row][field]
    return data


@pytest.mark.slow
def test_files_are_read_as_coco_with_names_from_their_urls(tmp_path: Path) -> None:
    path = file(tmp_path, TRUTH)
    truth, as_coco = apf.read_dataset(path, "lvis"), apf.read_dataset(path, "coco")
    assert truth.images["file_name"].to_list() == ["val2017/000000000007.jpg", "nine.jpg"]
    assert truth.images["coco_url"].to_list() == [TRUTH["images"][0]["coco_url"], None]
    assert truth.images["neg_category_ids"].to_list() == [[2], []]
    assert truth.images["not_exhaustive_category_ids"].to_list() == [[], [1, 2]]
    assert truth.categories["frequency"].to_list() == ["c", "f"]
    assert_frame_equal(truth.images.drop("file_name"), as_coco.images.drop("file_name"))
    assert_frame_equal(truth.categories, as_coco.categories)
    assert_frame_equal(truth.annotations, as_coco.annotations)


def test_tables_that_are_not_checked_have_names_too(tmp_path: Path) -> None:
    tables = Lvis().read_tables(file(tmp_path, TRUTH))
    assert tables["images"]["file_name"].to_list() == ["val2017/000000000007.jpg", "nine.jpg"]
    assert tables["annotations"]["annotation_id"].to_list() == [1, 5]


BAD = {
    "no negatives": (without("images", 0, "neg_category_ids"),
                     "lvis.json: no list neg_category_ids in the image 7; add it, or read the file as coco"),
    "not exhaustive where": (without("images", 1, "not_exhaustive_category_ids"),
                             "lvis.json: no list not_exhaustive_category_ids in the image 9; add it, or read the file as coco"),
    "no frequency": (without("categories", 1, "frequency"),
                     "lvis.json: no frequency r, c or f in the category 2; add it, or read the file as coco"),
    "another frequency": (TRUTH | {"categories": [{"id": key, "name": str(key), "frequency": "common"} for key in (1, 2)]},
                          "lvis.json: no frequency r, c or f in the category 1, 2; add it, or read the file as coco"),
    "no annotations": ({"images": [], "categories": []},
                       "lvis.json: no list named annotations; ground truth needs it; found: images, categories"),
    "results": (RESULTS, "lvis.json: holds a list, not an object with images and annotations; is it a results file?"),
    "a duplicate": (TRUTH | {"images": TRUTH["images"] + TRUTH["images"][:1]},
                    "images: image_id is not unique for image_id 7; make the ids unique"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_files_are_refused(data: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ApframeError, match=f"{re.escape(message)}$"):
        apf.read_dataset(file(tmp_path, data), "lvis")


@pytest.mark.parametrize("text", ["", json.dumps(TRUTH)[:-40], '{"a": "\udce4"}'], ids=["empty", "cut off", "not UTF-8"])
def test_what_is_no_json_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lvis.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FormatError, match=r"lvis\.json: (the file is empty|not JSON|line 1 is not UTF-8)"):
        apf.read_dataset(path, "lvis")


@pytest.mark.slow
def test_what_is_written_is_as_lvis_has_it(tmp_path: Path) -> None:
    dataset = apf.read_dataset(file(tmp_path, TRUTH), "lvis")
    assert apf.write_dataset(dataset, tmp_path / "again.json", "lvis").rows() == []
    assert json.loads((tmp_path / "again.json").read_text()) == TRUTH


@pytest.mark.slow
def test_what_is_lost_is_said(tmp_path: Path) -> None:
    data = deepcopy(TRUTH)
    data["annotations"][0] |= {"iscrowd": 1, "ignore": 1, "keypoints": [1, 2, 2], "occluded": True}
    dataset = apf.read_dataset(data)
    lost = apf.write_dataset(dataset, tmp_path / "lvis.json", "lvis")
    assert lost.rows() == [
        ("annotations", "is_crowd", 1, "left out: crowds become ordinary objects"),
        ("annotations", "keypoints", 1, "left out"),
    ]
    again = json.loads((tmp_path / "lvis.json").read_text())["annotations"][0]
    assert set(again) == {"id", "image_id", "category_id", "bbox", "area", "ignore", "segmentation", "occluded"}


@pytest.mark.slow(every=True)
@pytest.mark.parametrize(
    ("table", "column", "message"),
    [
        ("images", "neg_category_ids", "images: no column neg_category_ids; add them: LVIS needs these lists for every image"),
        (
            "categories",
            "frequency",
            "categories: frequency is not r, c or f for category_id 1, 2; supply one: LVIS needs it",
        ),
    ],
)
def test_what_lvis_needs_is_not_left_to_be_guessed(table: str, column: str, message: str, tmp_path: Path) -> None:
    tables = {name: getattr(apf.read_dataset(TRUTH), name) for name in ("images", "categories", "annotations")}
    dataset = apf.Dataset(**tables | {table: tables[table].drop(column)})
    with pytest.raises(ApframeError, match=f"^{re.escape(message)}$"):
        apf.write_dataset(dataset, tmp_path / "lvis.json", "lvis")
    assert list(tmp_path.iterdir()) == []


@st.composite
def datasets(draw: st.DrawFn) -> apf.Dataset:
    keys = st.lists(st.integers(0, 2**40), min_size=1, max_size=4, unique=True)
    images, categories = draw(keys), draw(keys)
    some = st.lists(st.sampled_from(categories), unique=True)
    numbers = st.floats(0, 1e6)
    names = st.none() | st.sampled_from(["a.jpg", "val2017/b.jpg"])
    frame = pl.DataFrame(
        [
            {
                "annotation_id": key,
                "image_id": draw(st.sampled_from(images)),
                "category_id": draw(st.sampled_from(categories)),
                **{name: draw(numbers) for name in ("x", "y", "width", "height", "area")},
                "occlusion": draw(st.none() | numbers),
                "ignore": draw(st.booleans()),
            }
            for key in draw(keys)
        ],
        schema_overrides={"occlusion": pl.Float64},
    )
    return apf.Dataset(
        pl.DataFrame(
            {
                "image_id": images,
                "file_name": ["d/first.jpg", *(draw(names) for _ in images[1:])],
                "neg_category_ids": [draw(some) for _ in images],
                "not_exhaustive_category_ids": [draw(some) for _ in images],
                "coco_url": ["http://a.b/c/d/first.jpg", *(None for _ in images[1:])],
            },
            schema_overrides=dict.fromkeys(["neg_category_ids", "not_exhaustive_category_ids"], pl.List(pl.Int64)),
        ),
        {
            "category_id": categories,
            "name": [f"name {key}" for key in categories],
            "frequency": [draw(st.sampled_from("rcf")) for _ in categories],
        },
        frame,
    )


@pytest.mark.slow
@given(datasets())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, dataset: apf.Dataset) -> None:
    path = tmp_path_factory.mktemp("lvis")
    assert apf.write_dataset(dataset, path / "truth.json", "lvis").rows() == []
    again = apf.read_dataset(path / "truth.json", "lvis")
    for table in ("images", "categories", "annotations"):
        expected = getattr(dataset, table)
        names = [name for name in expected.columns if name in getattr(again, table).columns or expected[name].count()]
        assert_frame_equal(getattr(again, table).select(names), expected.select(names), check_exact=True)
    detections = dataset.annotations.select("image_id", "category_id", "x", "y", "width", "height", score=pl.col("x") / 7)
    assert apf.write_results(detections, path / "found.json", "lvis", dataset=dataset).rows() == []
    assert_frame_equal(apf.read_results(path / "found.json", "lvis"), apf.read_results(detections), check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["bbox", "segm"])
def test_lvis_api_reads_what_is_written(iou_type: str, tmp_path: Path) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it imports: cv2 and matplotlib
            from lvis import LVIS, LVISEval, LVISResults
    except ImportError as error:
        pytest.skip(f"lvis-api cannot be imported: {error}")
    truth, detections = tmp_path / "truth.json", tmp_path / "found.json"
    apf.write_dataset(apf.read_dataset(TRUTH), truth, "lvis")
    apf.write_results(apf.read_results(RESULTS), detections, "lvis")
    newer = patch.object(np, "float", float, create=True), patch.object(logging.Logger, "warn", lambda *_: None, create=True)
    with references_at_work(), newer[0], newer[1]:
        expected = LVIS(str(truth))
        reference = LVISEval(expected, LVISResults(expected, str(detections)), iou_type)
        reference.run()
    ev = apf.evaluate(
        apf.read_dataset(truth, "lvis", masks=iou_type == "segm"), masked(iou_type, detections), apf.LVIS, iou_type=iou_type
    )
    assert ev.summary["value"].fill_null(-1).to_list() == pytest.approx(list(reference.get_results().values()), abs=1e-12)
    assert ev.summary["value"][0] > 0


def masked(iou_type: str, found: Path) -> pl.DataFrame:
    """Results, their boxes as masks where these are compared, as lvis-api makes them."""
    frame = apf.read_results(found, "lvis")
    if iou_type == "bbox":
        return frame
    masks = [json.dumps([[x, y, x, y + h, x + w, y + h, x + w, y]]) for x, y, w, h in (row["bbox"] for row in RESULTS)]
    return frame.with_columns(mask=pl.Series(masks))


@pytest.mark.slow
def test_asked_for_by_name_alone(tmp_path: Path) -> None:
    truth, detections = file(tmp_path, TRUTH), file(tmp_path, RESULTS, "found.json")
    assert not Lvis().fits(see(truth), "dataset")
    assert not Lvis().fits(see(detections), "results")
    assert Coco().fits(see(truth), "dataset")
    assert Coco().fits(see(detections), "results")
    assert apf.read_dataset(truth).images.columns == apf.read_dataset(truth, "lvis").images.columns

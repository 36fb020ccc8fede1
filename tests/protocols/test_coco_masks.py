"""Masks by COCO's rules: every number is that of pycocotools 2.0.11."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import apframe as apf
from tests.protocols.generated import Row, Truth, assert_equal, by_pycocotools, half_as_often, masks, sets, with_boxes

SAMPLE = Path(__file__).resolve().parents[3] / "shared" / "data" / "coco-val2014-100"
needs_sample = pytest.mark.skipif(not SAMPLE.is_dir(), reason="the sample of COCO val2014 is not beside this checkout")

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)

mask_sets = sets(masks)


def assert_parity(truth: Truth, results: list[Row], iou_type: str = "segm") -> None:
    assert_equal(apf.evaluate(truth, results, iou_type=iou_type), by_pycocotools(truth, results, iou_type))


def without_boxes(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "bbox"} for row in rows]


@pytest.mark.slow
@needs_sample
@pytest.mark.parametrize("from_file", [False, True], ids=["in memory", "file"])
@pytest.mark.parametrize("iou_type", ["segm", "bbox"])
def test_real_sample_equals_reference(iou_type: str, from_file: bool) -> None:
    truth, results = (json.loads((SAMPLE / name).read_text()) for name in ("instances.json", "detections_segm.json"))
    source = SAMPLE / "detections_segm.json" if from_file else results
    assert_equal(apf.evaluate(SAMPLE / "instances.json", source, iou_type=iou_type), by_pycocotools(truth, results, iou_type))


@pytest.mark.slow
@needs_sample
def test_real_sample_has_its_published_numbers() -> None:
    values = dict(apf.evaluate(SAMPLE / "instances.json", SAMPLE / "detections_segm.json", iou_type="segm").summary.rows())
    assert [round(values[name], 4) for name in ("AP", "AP50", "AP75")] == [0.3195, 0.5623, 0.2989]


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["segm", "bbox"])  # for bbox, boxes are made of the masks
@half_as_often
@given(data=mask_sets)
def test_masks_without_boxes_equal_reference(data: tuple[Truth, list[Row]], iou_type: str) -> None:
    # the area of a detection is that of its mask
    assert_parity(*data, iou_type)


@pytest.mark.slow
@half_as_often
@given(mask_sets, st.integers(0, 2**32), st.booleans())
def test_masks_with_boxes_equal_reference(data: tuple[Truth, list[Row]], seed: int, as_polygons: bool) -> None:
    # the area of a detection is that of its box, which is not the mask's; masks may be polygons or uncompressed then
    truth, results = data
    assert_parity(truth, with_boxes(np.random.default_rng(seed), results, as_polygons=as_polygons))


@pytest.mark.slow
@half_as_often
@given(mask_sets)
def test_ground_truth_without_boxes_equals_reference(data: tuple[Truth, list[Row]]) -> None:
    truth, results = data
    bare = truth | {"annotations": without_boxes(truth["annotations"])}
    assert_equal(apf.evaluate(bare, results, iou_type="segm"), by_pycocotools(truth, results, "segm"))


@pytest.mark.slow
def test_annotations_without_boxes_of_a_file_are_those_in_memory(tmp_path: Path) -> None:
    truth, results = masks(np.random.default_rng(3), 8)
    bare = truth | {"annotations": without_boxes(truth["annotations"])}
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(bare))
    expected = by_pycocotools(truth, results, "segm")
    for source in (path, apf.read_coco(path), apf.read_coco(path, masks=True), bare):
        assert_equal(apf.evaluate(source, results, iou_type="segm"), expected)


@pytest.mark.slow
@pytest.mark.parametrize("boxes", [None, "masks", "polygons"])
@pytest.mark.parametrize("iou_type", ["segm", "bbox"])
def test_files_equal_reference(boxes: str | None, iou_type: str, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    truth, results = masks(random, 12)
    if boxes:
        results = with_boxes(random, results, as_polygons=boxes == "polygons")
    paths = tmp_path / "truth.json", tmp_path / "results.json"
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    assert_equal(apf.evaluate(*paths, iou_type=iou_type), by_pycocotools(truth, results, iou_type))


@pytest.mark.slow
@pytest.mark.parametrize("from_file", [False, True], ids=["in memory", "file"])
@pytest.mark.parametrize("iou_type", ["segm", "bbox"])
def test_areas_are_those_of_masks_without_a_first_box(iou_type: str, from_file: bool, tmp_path: Path) -> None:
    # then the boxes of all are made of the masks, which pycocotools does only for those that have none
    random = np.random.default_rng(2)
    truth, results = masks(random, 12)
    boxed = with_boxes(random, results, as_polygons=False)
    results = [row if place % 2 == 0 else boxed[place] for place, row in enumerate(results)]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(results))
    evaluation = apf.evaluate(truth, path if from_file else results, iou_type=iou_type)
    assert_equal(evaluation, by_pycocotools(truth, without_boxes(results), iou_type))


@pytest.mark.parametrize("missing", ["results", "annotations", "both"])
def test_nothing_found_or_nothing_there_equals_reference(missing: str) -> None:
    truth, results = masks(np.random.default_rng(1), 3)
    truth = truth if missing == "results" else truth | {"annotations": []}
    assert_parity(truth, results if missing == "annotations" else [])


@pytest.mark.parametrize(("box", "counted"), [(None, "small"), ([10, 10, 60, 60], "medium"), ([10, 10, 97, 97], "large")])
def test_the_area_of_a_false_positive_is_that_of_its_box(box: list[float] | None, counted: str) -> None:
    square = {"size": [100, 100], "counts": [1010, *[30, 70] * 29, 30, 10000 - 1010 - 29 * 100 - 30]}  # 30 x 30 pixels
    cell = {"image_id": 1, "category_id": 1}
    truth = {
        "images": [{"id": 1, "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "square"}],
        # far away from what is found, one for each range
        "annotations": [
            cell | {"id": k, "segmentation": [[60, 60, 70, 60, 70, 70]], "bbox": [60, 60, 10, 10], "area": area, "iscrowd": 0}
            for k, area in enumerate([500, 5000, 50000], 1)
        ],
    }
    row = cell | {"segmentation": square, "score": 0.5}
    results = [row] if box is None else [row | {"bbox": box}]
    metrics = apf.evaluate(truth, results, iou_type="segm").metrics.filter(iou_threshold=0.5, max_detections=100)
    # not matched: a false positive in the range of its own area (and that of all), ignored elsewhere
    assert metrics.filter(n_detections=1)["area_range"].to_list() == ["all", counted]

"""Detections and ground truth in memory: rows, arrays, outputs of detectors and results of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from pycocotools import mask

import apframe as apf
from apframe.exceptions import ColumnError, IdTypeError, InputError, ParameterError, RowError, UnknownIdError
from tests.adapters.tensors import Tensor

Row = dict[str, Any]
PIXELS = np.zeros((100, 100), dtype=np.uint8, order="F")
PIXELS[10:20, 10:30] = 1
CORNERS = [10.0, 10.0, 30.0, 10.0, 30.0, 20.0, 10.0, 20.0]
SCORE = float(np.float32(0.7))  # a score that 32 bits do not hold is kept as they hold it
TRUTH = {
    "images": [
        {"id": 22, "width": 100, "height": 100, "file_name": "street.jpg"},
        {"id": 23, "width": 100, "height": 100, "file_name": "000023.png"},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 3, "name": "car"}],
    "annotations": [
        {
            "id": 1,
            "image_id": 22,
            "category_id": 3,
            "bbox": [10.0, 10, 20, 10],
            "area": 200.0,
            "iscrowd": 0,
            "corners": CORNERS,
        },
        {
            "id": 2,
            "image_id": 23,
            "category_id": 1,
            "bbox": [10.0, 10, 20, 10],
            "area": 200.0,
            "iscrowd": 0,
            "corners": CORNERS,
        },
    ],
}
IDS: Row = {"image_id": 22, "category_id": 3, "score": SCORE}
FOUND: Row = IDS | {"bbox": [10.0, 10, 20, 10]}


def with_numpy(value: Any, dtype: type = np.float32) -> Any:
    """The same value with numbers of NumPy, and arrays where there were lists of numbers."""
    if isinstance(value, dict):
        return {name: with_numpy(each, dtype) for name, each in value.items()}
    if isinstance(value, list):
        kinds = set(map(type, value))
        if not kinds <= {int, float}:
            return [with_numpy(each, dtype) for each in value]
        return np.array(value, dtype if float in kinds else None)
    types: dict[type, Callable[[Any], Any]] = {bool: np.bool_, int: np.int64, float: dtype, str: np.str_}
    return types.get(type(value), lambda each: each)(value)


SHAPES: dict[str, Row] = {
    "a box": {"bbox": [10.0, 10, 20, 10]},
    "columns of a box": {"x": 10.0, "y": 10.0, "width": 20.0, "height": 10.0},
    "corners": {"corners": CORNERS},
    "keypoints": {"bbox": [10.0, 10, 20, 10], "keypoints": [12.0, 12, 2] * 17},
    "outlines": {"segmentation": [CORNERS]},
    "counts": {"segmentation": {"size": [100, 100], "counts": [1010, 10, 90, 10, 8880]}},
    "bytes": {"segmentation": mask.encode(PIXELS)},
    "a cuboid": {f"cuboid_{name}": 1.5 for name in ("x", "y", "z", "length", "width", "height", "yaw")},
    "a sphere": {"sphere_x": 1.5, "sphere_y": 2.5, "sphere_z": 3.5},
    "a relation": {f"{part}_{name}": 2.0 for part in ("subject", "object") for name in ("x", "y", "width", "height")}
    | {"subject_name": "man", "object_name": "bike"},
    "times": {"start_time": 1.0, "end_time": 2.5},
    "attributes": {"bbox": [1.0, 2, 3, 4], "is_day": True, "speed": 2.0, "lane": 3, "weather": "rain", "tags": ["a", "b"]},
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_rows_of_numpy_are_read_as_those_of_python(shape: Row, dtype: type) -> None:
    twice = [IDS | shape, IDS | shape | {"image_id": 23, "score": 0.25}]
    expected = apf.read_results(twice)
    assert apf.read_results(with_numpy(twice, dtype)).equals(expected, null_equal=True)
    assert apf.read_results([twice[0], with_numpy(twice[1], dtype)]).equals(expected, null_equal=True)
    assert expected["score"].to_list() == [SCORE, 0.25]


def test_numbers_of_numpy_in_a_list_are_numbers() -> None:
    rows = [
        FOUND | {"bbox": list(np.array([10.5, 10, 20, 10], np.float32))},
        FOUND | {"bbox": (np.int64(1), 2, np.float16(3), 4)},
    ]
    assert apf.read_results(rows).select("x", "y", "width", "height").rows() == [(10.5, 10, 20, 10), (1, 2, 3, 4)]


@pytest.mark.slow
def test_ground_truth_may_have_numbers_of_numpy() -> None:
    dataset = apf.read_dataset(with_numpy(TRUTH))
    assert dataset.annotations.equals(apf.read_dataset(TRUTH).annotations)
    assert dataset.images.equals(apf.read_dataset(TRUTH).images)
    assert apf.evaluate(with_numpy(TRUTH), with_numpy([FOUND])).summary["value"][1] == pytest.approx(0.5)


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "half an id": (FOUND | {"image_id": np.float32(22.5)}, "image_id is not a whole number for row 2"),
    "a large id": (FOUND | {"image_id": np.uint64(2**63)}, "image_id is beyond 64 bits for row 2"),
    "no number": (FOUND | {"score": np.float32("nan")}, "score is not a finite number for detection_id 2"),
    "a list": (FOUND | {"score": np.array([0.5, 0.5])}, "score is not a number for row 2"),
    "a table": (FOUND | {"bbox": np.ones((2, 2))}, "bbox is not a list of numbers for row 2"),
    "three numbers": (FOUND | {"bbox": np.ones(3)}, "bbox is missing or not four numbers for row 2"),
    "a text": (FOUND | {"bbox": np.array(["1", "2", "3", "4"])}, "bbox is not a list of numbers for row 2"),
    "no dict": (Tensor([1.0]), "a Tensor is not a dict; see apf.from_torchvision, apf.from_ultralytics and apf.from_superv"),
}  # fmt: skip


@pytest.mark.parametrize(("row", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_values_of_numpy_are_errors_that_name_their_row(row: Any, message: str) -> None:
    with pytest.raises(RowError, match=message):
        apf.read_results([FOUND, row])


# ---- everything that holds detections, in every function that takes them

BOX = np.array([[10.0, 10, 30, 20]], dtype=np.float32)
SCORES, NOTHING = np.array([0.7], dtype=np.float32), np.zeros((0, 4), dtype=np.float32)


def output(wrap: Callable[[Any], Any] = np.asarray, n: int = 1) -> Row:
    """What a detector of torchvision returns for an image."""
    return {"boxes": wrap(BOX[:n]), "labels": wrap(np.array([3])[:n]), "scores": wrap(SCORES[:n])}


def results(path: str = "val/street.jpg", n: int = 1) -> SimpleNamespace:
    """What a model of ultralytics returns for an image: it numbers its classes from 0."""
    boxes = SimpleNamespace(xyxy=Tensor(BOX[:n]), conf=Tensor(SCORES[:n]), cls=Tensor(np.array([1.0])[:n]))
    return SimpleNamespace(boxes=boxes, obb=None, masks=None, keypoints=None, names={0: "person", 1: "car"}, path=path)


def named(n: int = 1) -> SimpleNamespace:
    """supervision's Detections with names, whose numbers are those of a model."""
    return SimpleNamespace(
        xyxy=BOX[:n], confidence=SCORES[:n], class_id=np.array([1])[:n], mask=None, tracker_id=None,
        data={"class_name": np.array(["car"])[:n]},
    )  # fmt: skip


def numbered(n: int = 1) -> SimpleNamespace:
    """supervision's Detections without names."""
    return SimpleNamespace(xyxy=BOX[:n], confidence=SCORES[:n], class_id=np.array([3])[:n], mask=None, tracker_id=None, data={})


ARRAY = np.array([[22, 10, 10, 20, 10, 0.7, 3]], dtype=np.float32)
LARGE = ARRAY * np.array([1e6, 1, 1, 1, 1, 1, 1], dtype=np.float32)
COLUMNS = {
    "image_id": np.array([22]),
    "category_id": np.array([3], np.int8),
    "score": SCORES,
    "bbox": np.array([[10.0, 10, 20, 10]]),
}
KINDS: dict[str, Callable[[], Any]] = {
    "rows of Python": lambda: [dict(FOUND)],
    "rows of NumPy": lambda: [with_numpy(FOUND)],
    "rows of tensors": lambda: [{name: Tensor(with_numpy(value)) for name, value in FOUND.items()}],
    "rows with the columns of a box": lambda: [with_numpy(IDS | SHAPES["columns of a box"])],
    "rows of a generator": lambda: (row for row in [with_numpy(FOUND)]),
    "rows, a tuple": lambda: (dict(FOUND),),
    "columns of arrays": lambda: dict(COLUMNS),
    "an array": lambda: ARRAY.copy(),
    "a tensor": lambda: Tensor(ARRAY),
    "outputs by image": lambda: {22: output()},
    "outputs of tensors by number of NumPy": lambda: {np.int64(22): output(Tensor)},
    "outputs, one without objects": lambda: {22: output(), 23: output(n=0)},
    "results": lambda: [results(), results("000023.png", n=0)],
    "outputs that hold their ids": lambda: [{"image_id": Tensor([22])} | output(Tensor), {"image_id": 23} | output(n=0)],
    "results of a generator": lambda: (each for each in [results()]),
    "results, a tuple": lambda: (results(),),
    "results, alone": results,
    "results by image": lambda: {22: results("elsewhere.jpg")},
    "detections by image": lambda: {22: numbered(), 23: numbered(0)},
    "detections with names by image": lambda: {22: named()},
}  # fmt: skip
EXPECTED = {"image_id": 22, "category_id": 3, "score": SCORE, "x": 10.0, "y": 10.0, "width": 20.0, "height": 10.0}


def updated(found: Any) -> pl.DataFrame:
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(found)
    return evaluator.compute().detections


def sharded(found: Any) -> pl.DataFrame:
    with TemporaryDirectory() as folder:
        apf.write_shards(TRUTH, found, folder)
        return pl.concat([pl.read_parquet(path) for path in Path(folder).rglob("*detections*.parquet")])


def written(found: Any) -> pl.DataFrame:
    with TemporaryDirectory() as folder:
        apf.write_results(found, Path(folder) / "found.json", "coco", dataset=TRUTH)
        return apf.read_results(Path(folder) / "found.json")


TAKERS: dict[str, Callable[[Any], pl.DataFrame]] = {
    "evaluate": lambda found: apf.evaluate(TRUTH, found).detections,
    "evaluate what is valid": lambda found: apf.evaluate(TRUTH, found, invalid="drop").detections,
    "Evaluator": updated,
    "read_results": lambda found: apf.read_results(found, dataset=TRUTH),
    "write_results": written,
    "write_shards": sharded,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingResultsWarning")  # of the second image, in no update
@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_all_that_holds_detections_is_taken(make: Callable[[], Any], take: Callable[[Any], pl.DataFrame]) -> None:
    assert take(make()).select(EXPECTED.keys()).rows(named=True) == [EXPECTED]


REFUSED: dict[str, tuple[Any, type[InputError], str]] = {
    "outputs in a list": ([output()], ColumnError, "output of torchvision's .* image; give them by image id, as in {22: "),
    "an output alone": (output(), ColumnError, r"torchvision's detectors does not name its image; .* apf.from_torchvision\("),
    "detections in a list": ([numbered()], ColumnError, r"supervision's Detections does not name its image; .* {22: output}"),
    "detections alone": (numbered(), ColumnError, r"not name its image; .* with apf.from_supervision\(outputs, image_ids\)"),
    "an output of another kind": ({22: output(), 23: 5}, RowError, "the item is not a dict for index 1; .* not an int"),
    "results of another kind": ([results(), 5], RowError, "results: neither boxes nor obb for index 1"),
    "detections of another kind": ({22: numbered(), 23: 5}, RowError, r"not a supervision.Detections for index 1"),
    "results without a file": ([results("")], RowError, "results: path is missing for index 0; give image_ids"),
    "results of an unknown file": ([results("b.jpg")], UnknownIdError, r"not among the images .* image id, as in \{22: output"),
    "numbers by image": ({22: 5}, ColumnError, "the key 22 is an int, not the name of a column; .* Results or Detections"),
    "text by image": ({22: "out.json"}, ColumnError, "the key 22 is an int, not the name of a column"),
    "an object": (object(), ColumnError, "an object cannot be read as a table; .* apf.from_torchvision, apf.from_ultralytics"),
    "objects": ([FOUND, object()], RowError, "the row is not a JSON object for row 2; .* an object is not a dict; see"),
    "six columns": (ARRAY[:, :6], ColumnError, "of shape 1 × 6 and type float32 does not .* seven columns of numbers: im"),
    "one row": (ARRAY[0], ColumnError, "of shape 7 and type float32 does not hold results; .* x, y, width, height, sc"),
    "an array of text": (ARRAY.astype(str), ColumnError, "of shape 1 × 7 and type <U32 does not hold results"),
    "half an id": (ARRAY * (1 + 1 / 64), RowError, "image_id is not a whole number for row 1; give ids as"),
    "no id": (ARRAY * [[1, 1, 1, 1, 1, 1, np.nan]], RowError, "category_id is not a whole number for row 1"),
    "an id of many digits": (LARGE, RowError, "image_id is too large for float32"),
    "an array as lists": (ARRAY.tolist(), ColumnError, r"of them is a list; .* 7 numbers, np.array\(rows\): image_id, x,"),
    "an array as tuples": ([tuple(ARRAY[0])], ColumnError, r"the first of them is a tuple; give an array of n × 7 numbers, np"),
    "the rows of an array": (list(ARRAY), ColumnError, r"the first of them is a ndarray; give an array of n × 7 numbers, np"),
    "a score that is NaN": (ARRAY * [[1, 1, 1, 1, 1, np.nan, 1]], RowError, "score is not a finite number for"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_an_error_about_no_detections_says_what_to_give(found: Any, error: type[InputError], message: str) -> None:
    for take in (lambda: apf.evaluate(TRUTH, found), lambda: apf.Evaluator(TRUTH).update(found)):
        with pytest.raises(error, match=message) as caught:
            take()
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_one_result_has_its_image_beside_it() -> None:
    for one in (output(), results(), numbered()):
        evaluator = apf.Evaluator(TRUTH)
        evaluator.update(one, [22])
        assert evaluator.state().select(EXPECTED.keys()).rows(named=True) == [EXPECTED]
    with pytest.raises(RowError, match="the item is not a dict for index 0; give one for each image, not a ndarray"):
        apf.Evaluator(TRUTH).update([BOX], [22])
    with pytest.raises(ParameterError, match="the results are a mapping with its own"):
        apf.Evaluator(TRUTH).update({22: results()}, [22])


@pytest.mark.parametrize("image_ids", [22, "22", np.array(22), Tensor(22)])
def test_image_ids_are_a_list_of_ids(image_ids: Any) -> None:
    for found in ([FOUND], output(), [results()]):
        with pytest.raises(ParameterError, match=r"image_ids is not a list but an? \w+; put a single id in a list: \[22\]"):
            apf.Evaluator(TRUTH).update(found, image_ids)
    with pytest.raises(ParameterError, match="outputs: image_ids is not a list but"):
        apf.from_torchvision([output()], image_ids)
    with pytest.raises(ParameterError, match="outputs: image ids must be all integers or all strings, not 22, None"):
        apf.evaluate(TRUTH, [{"image_id": 22} | output(), output()])


NOTHING_FOUND: dict[str, Any] = {"a list": [], "a tuple": (), "a dict": {}, "an array": ARRAY[:0], "a frame": pl.DataFrame()}


@pytest.mark.slow
@pytest.mark.parametrize("nothing", NOTHING_FOUND.values(), ids=NOTHING_FOUND)
def test_nothing_may_be_found_on_images_that_are_named(nothing: Any) -> None:
    evaluator = apf.Evaluator(TRUTH)
    evaluator.update(nothing, [])
    evaluator.update(nothing, [22])
    evaluator.update(np.where(ARRAY == 22, 23, ARRAY), [23])
    seen = evaluator.compute(images="seen")
    assert seen.dataset.images["image_id"].to_list() == [22, 23]
    assert seen.detections["image_id"].to_list() == [23]


@pytest.mark.slow
def test_classes_count_by_name_where_the_categories_have_names() -> None:
    ids = [{"id": 1}, {"id": 3}]
    detections = apf.read_results({22: results()}, dataset=TRUTH | {"categories": ids})
    assert detections.select("image_id", "category_id", "name").rows() == [(22, 1, "car")]
    merged = apf.evaluate(TRUTH, [results()], category_map={"car": "vehicle"})
    assert merged.detections["category_id"].to_list() == [3]
    other = [{"id": 1, "name": "Person"}, {"id": 3, "name": "Car"}]
    message = r"category_id is not among the categories for row 1; unknown: 'car'; .* a name of the categories: to leave"
    with pytest.raises(UnknownIdError, match=message):
        apf.evaluate(TRUTH | {"categories": other}, {22: results()})


@pytest.mark.parametrize("image_ids", [None, [22, 23]])
def test_classes_without_a_category_can_be_left_out(image_ids: list[int | str] | None) -> None:
    truth = TRUTH | {"categories": TRUTH["categories"][:1], "annotations": TRUTH["annotations"][1:]}
    car, person = results(), results("000023.png")
    person.boxes.cls = Tensor([0.0])
    with pytest.raises(
        UnknownIdError, match=r"unknown: 'car'; .* convert them with apf.from_ultralytics\(results\) or"
    ) as caught:
        apf.evaluate(truth, [car, person] if image_ids is None else dict(zip(image_ids, [car, person], strict=True)))
    tables = ["images", "categories"] if image_ids is None else ["categories"]
    assert str(caught.value).endswith(f", filter by name, and evaluate with join_by_name={tables}".replace("'", '"'))
    kept = apf.from_ultralytics([car, person], image_ids).filter(pl.col("name") != "car")
    assert apf.evaluate(truth, kept, join_by_name=tables)["AP"] == pytest.approx(1)


def test_ids_that_were_given_count_and_not_the_files() -> None:
    with pytest.raises(IdTypeError, match=r'image_id holds strings, not integers .* \(join_by_name="images"\)'):
        apf.evaluate(TRUTH, {"other": results()})
    truth = {**TRUTH, "images": [{"id": "street"}], "annotations": []}
    assert apf.read_results([results()], dataset=truth)["image_id"].to_list() == ["street"]


def test_boxes_of_outputs_are_in_their_own_format() -> None:
    with pytest.raises(ParameterError, match="box_format: what a detector returns defines how its boxes are written"):
        apf.evaluate(TRUTH, {22: output()}, box_format="cxcywh")
    corners = np.concatenate([ARRAY[:, :3], ARRAY[:, 1:3] + ARRAY[:, 3:5], ARRAY[:, 5:]], axis=1)
    assert apf.evaluate(TRUTH, corners, box_format="xyxy").detections.select(EXPECTED.keys()).rows(named=True) == [EXPECTED]


@pytest.mark.slow
def test_masks_of_outputs_are_taken_alone_for_masks() -> None:
    masks = {22: output() | {"masks": PIXELS[None, None].astype(np.float32)}}
    truth = TRUTH | {"annotations": [row | {"segmentation": [CORNERS]} for row in TRUTH["annotations"]]}
    evaluator = apf.Evaluator(truth, iou_type="segm")
    evaluator.update(masks)
    detections = apf.evaluate(truth, masks, iou_type="segm").detections
    assert detections["mask"].to_list() == evaluator.state()["mask"].to_list()
    assert detections["area"].to_list() == [200.0]
    assert "mask" not in apf.evaluate(TRUTH, masks).detections.columns
    assert "mask" in apf.evaluate(truth, masks, iou_type="boundary").detections.columns  # no array is called boundary


@pytest.mark.slow
def test_check_and_stats_read_outputs_too() -> None:
    assert apf.stats(TRUTH, [results()])["n_detections"].to_list() == [1, 0, 1, 1, 0, 0]
    assert "unknown" not in str(apf.check(TRUTH, [results()]))
    assert "image_id is not among the images (99)" in str(apf.check(TRUTH, {22: output(), 99: output()}))

"""torchvision's outputs and targets: its evaluation script gives pycocotools' numbers, and every error names its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import apframe as apf
from apframe.adapters.torchvision import from_torchvision, targets_from_torchvision
from apframe.evaluation.evaluator import Evaluator
from apframe.exceptions import IdTypeError, ParameterError, RowError, UnknownIdError
from tests.adapters.tensors import Tensor, as_tensors, items_of, results_of, truth_of
from tests.protocols.generated import Row, Truth, assert_equal, boxes, by_pycocotools, masks, people, sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.MissingResultsWarning",  # batches that are tables do not name their images
    "ignore::apframe.exceptions.NoAnnotationsWarning",
    "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.UnknownCategoryWarning",
)
STREET = Path(__file__).parents[2] / "data" / "street"
ONE = {"boxes": [[10.0, 10, 30, 20]], "labels": [3], "scores": [0.75]}
NONE: dict[str, Any] = {"boxes": np.zeros((0, 4)), "labels": [], "scores": []}


def run_script(truth: Truth, results: list[Row], iou_type: str) -> None:
    """What a training script does after an epoch, with both; of targets and outputs that are tensors of 32 bits."""
    image_ids = [image["id"] for image in truth["images"]]
    targets, outputs = items_of(truth["annotations"], image_ids), items_of(results, image_ids)
    if iou_type == "segm":  # probabilities, in one channel
        outputs = [item | {"masks": item["masks"][:, None].astype(np.float32) * 0.8} for item in outputs]
    reference = by_pycocotools(truth_of(targets, image_ids), results_of(outputs, image_ids, iou_type), iou_type)
    dataset = targets_from_torchvision(as_tensors(targets), image_ids)
    batches = zip(image_ids[::2], image_ids[1::2], strict=False)  # a loop that evaluates two images at a time, and the rest
    of_image = dict(zip(image_ids, as_tensors(outputs), strict=True))
    parts = [from_torchvision({key: of_image[key] for key in batch}, iou_type=iou_type) for batch in batches]
    parts += [from_torchvision([of_image[key]], [key], iou_type=iou_type) for key in image_ids[len(image_ids) // 2 * 2 :]]
    assert_equal(apf.evaluate(dataset, pl.concat(parts), iou_type=iou_type), reference)
    evaluator = Evaluator(dataset, iou_type=iou_type)
    for part in parts:
        evaluator.update(part)
    assert_equal(evaluator.compute(), reference)


@pytest.mark.slow
@pytest.mark.parametrize("model", [pytest.param("model_a", marks=pytest.mark.slow), "model_b"])
def test_script_on_the_sample_has_the_numbers_of_the_reference(model: str) -> None:
    truth = json.loads((STREET / "instances.json").read_text())
    run_script(truth, json.loads((STREET / f"{model}.json").read_text()), "bbox")


@pytest.mark.slow
@given(sets(boxes))
def test_script_with_boxes_has_the_numbers_of_the_reference(data: tuple[Truth, list[Row]]) -> None:
    run_script(*data, "bbox")


@pytest.mark.slow
@given(sets(masks, 3))
def test_script_with_masks_has_the_numbers_of_the_reference(data: tuple[Truth, list[Row]]) -> None:
    run_script(*data, "segm")


@pytest.mark.slow
@given(sets(people))
def test_script_with_keypoints_has_the_numbers_of_the_reference(data: tuple[Truth, list[Row]]) -> None:
    run_script(*data, "keypoints")


def test_all_shapes_are_columns_in_the_order_of_the_images() -> None:
    pixels = np.zeros((1, 1, 3, 4))
    pixels[0, 0, 1:, 2] = [0.5, 0.6]
    outputs = [NONE, ONE | {"masks": pixels, "keypoints": [[[1, 2, 1], [3, 4, 1]]]}, NONE]
    expected = {
        "image_id": ["b"], "category_id": [3], "score": [0.75], "x": [10.0], "y": [10.0], "width": [20.0],
        "height": [10.0], "area": [200.0], "mask": [{"size": [3, 4], "counts": "813"}], "keypoints": [[1.0, 2, 1, 3, 4, 1]],
    }  # fmt: skip
    assert from_torchvision(outputs, ["a", "b", "c"]).to_dict(as_series=False) == expected


@pytest.mark.parametrize(("iou_type", "kept"), [("bbox", "x"), ("segm", "mask"), ("keypoints", "keypoints")])
def test_an_iou_type_takes_its_shape_alone(iou_type: str, kept: str) -> None:
    output = ONE | {"masks": np.ones((1, 3, 4), dtype=bool), "keypoints": [[[1, 2, 1]]]}
    detections = from_torchvision([output], [1], iou_type=iou_type)
    names = [name for name in ("x", "mask", "keypoints") if name in detections.columns]
    assert [name for name in names if detections[name].null_count() == 0] == [kept]


@pytest.mark.parametrize(
    ("box_format", "box"), [("xyxy", [10, 10, 30, 20]), ("xywh", [10, 10, 20, 10]), ("cxcywh", [20, 15, 20, 10])]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8])
def test_boxes_of_any_format_and_type_are_the_same(box_format: str, box: list[float], dtype: type) -> None:
    detections = from_torchvision([ONE | {"boxes": Tensor(np.array([box], dtype=dtype))}], [1], box_format=box_format)
    assert detections.select("x", "y", "width", "height").rows() == [(10.0, 10.0, 20.0, 10.0)]


def test_tensors_of_torch_are_taken() -> None:
    torch = pytest.importorskip("torch")
    output = {name: torch.tensor(values, requires_grad=name != "labels") for name, values in ONE.items()}
    half = output | {"boxes": output["boxes"].bfloat16()}
    assert from_torchvision([output, half], torch.tensor([7, 8])).select("image_id", "x", "area").rows() == [
        (7, 10.0, 200.0),
        (8, 10.0, 200.0),
    ]


@pytest.mark.parametrize("empty", [[], np.zeros(0), np.zeros((0, 4)), Tensor(np.zeros((0, 4)))])
def test_images_without_detections_have_no_rows(empty: Any) -> None:
    assert from_torchvision([NONE | {"boxes": empty}], [1]).is_empty()
    assert from_torchvision([NONE | {"boxes": empty}, ONE], [1, 2])["image_id"].to_list() == [2]
    assert from_torchvision([], []).is_empty()


def test_detections_go_into_evaluate_without_outputs_at_all() -> None:
    truth = targets_from_torchvision([ONE], [1])
    assert apf.evaluate(truth, from_torchvision([NONE], [1])).summary["value"][0] == 0
    assert apf.evaluate(truth, from_torchvision([], [])).summary["value"][0] == 0


def test_targets_are_the_three_tables() -> None:
    bitmaps = np.zeros((1, 3, 4), dtype=np.uint8)
    bitmaps[0, 1, 1:3] = 1
    boxed = {"labels": [2], "masks": bitmaps, "boxes": [[1, 1, 3, 2]], "image_id": Tensor([7]), "iscrowd": [1], "area": [1.5]}
    other = {"labels": [9], "masks": bitmaps, "boxes": [[1, 1, 3, 2]], "image_id": 8}
    truth = targets_from_torchvision([boxed, other], categories={2: "cat", 9: "dog", 4: "cow"})
    assert truth.images.select("image_id", "image_height", "image_width").rows() == [(7, 3, 4), (8, 3, 4)]
    assert truth.categories.select("category_id", "name").rows() == [(2, "cat"), (9, "dog"), (4, "cow")]
    columns = ("annotation_id", "image_id", "category_id", "x", "width", "area", "is_crowd")
    assert truth.annotations.select(columns).rows() == [(1, 7, 2, 1.0, 2.0, 1.5, True), (2, 8, 9, 1.0, 2.0, 2.0, False)]
    assert truth.annotations["mask"].to_list() == [{"size": [3, 4], "counts": "41202"}] * 2


def test_targets_without_objects_are_images() -> None:
    truth = targets_from_torchvision([{"boxes": np.zeros((0, 4)), "labels": []}, ONE], [5, 6])
    assert truth.images["image_id"].to_list() == [5, 6]
    assert truth.annotations["image_id"].to_list() == [6]


def test_unknown_labels_of_targets_are_an_error() -> None:
    with pytest.raises(UnknownIdError, match="category_id is not among the categories"):
        targets_from_torchvision([ONE], [1], categories={4: "cow"})


def test_ids_of_outputs_and_targets_are_of_one_type() -> None:
    with pytest.raises(IdTypeError):
        apf.evaluate(targets_from_torchvision([ONE], [1]), from_torchvision([ONE], ["1"]))


BAD: list[tuple[Any, type[Exception], str]] = [
    ({"labels": [3, 4]}, RowError, "outputs: boxes and labels differ in length for index 1; give one row per"),
    ({"scores": []}, RowError, "outputs: scores and labels differ in length for index 1; give one row per object"),
    ({"scores": None}, RowError, "outputs: scores is missing for index 1; give scores for each image"),
    ({"boxes": [10.0, 10, 30, 20]}, RowError, "outputs: boxes is not an array of numbers of shape n × 4 for index 1"),
    ({"boxes": [[10.0, 10, 30]]}, RowError, "outputs: boxes is not an array of numbers of shape n × 4 for index 1"),
    ({"boxes": [[1, 2, 3, 4], [1]]}, RowError, "outputs: boxes is not an array of numbers of shape n × 4 for index 1"),
    ({"labels": ["cat"]}, RowError, "outputs: labels is not an array of numbers of shape n for index 1; correct these"),
    ({"labels": [0.5]}, RowError, "outputs: labels: not whole numbers for index 1; correct these"),
    ({"labels": [np.inf]}, RowError, "outputs: labels: not whole numbers for index 1; correct these"),
    ({"labels": [np.nan]}, RowError, "outputs: labels: not whole numbers for index 1; correct these"),
    ({"scores": [np.nan]}, RowError, "outputs: scores: a number is not finite for index 1; correct these"),
    ({"boxes": [[1, 2, np.inf, 4]]}, RowError, "outputs: boxes: a number is not finite for index 1; correct these"),
    (
        {"boxes": [[30, 10, 20, 40]]},
        RowError,
        "outputs: boxes: a width or height is negative for index 1; they were read",
    ),
    (
        {"masks": np.zeros((1, 2, 3, 4))},
        RowError,
        "outputs: masks is not an array of numbers of shape n × height × width for",
    ),
    ({"keypoints": np.zeros((0, 17, 3))}, RowError, "outputs: keypoints is missing for index 0; give keypoints for all"),
    ({"masks": np.zeros((1, 3, 4))}, RowError, "outputs: masks is missing for index 0; give masks for all images, or for"),
    ({"keypoints": np.zeros((1, 17, 2))}, RowError, "outputs: keypoints is not an array of numbers of shape n × points × 3"),
]


@pytest.mark.parametrize(("change", "kind", "message"), BAD, ids=[f"{bad[2]} {bad[0]}"[:90] for bad in BAD])
def test_a_bad_output_is_one_error_that_names_its_place(change: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}") as caught:
        from_torchvision([ONE, ONE | change], [1, 2])
    assert "\n" not in str(caught.value)


def test_targets_may_be_given_by_image_id() -> None:
    truth = targets_from_torchvision({6: ONE, 5: {"boxes": np.zeros((0, 4)), "labels": []}})
    assert truth.images["image_id"].to_list() == [6, 5]
    assert truth.annotations.equals(targets_from_torchvision([ONE], [6]).annotations)


def test_one_image_needs_no_list() -> None:
    assert from_torchvision(ONE, [7]).equals(from_torchvision({7: ONE}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([ONE, ONE], [1]), {}, "outputs: 2 items, but 1 image id; give one for each"),
        (([ONE, ONE, NONE], [1, 2, 1]), {}, "outputs: image ids 1 are given more than once, at 0, 2; "
         "give each image only once"),
        (([ONE, ONE], [1, "2"]), {}, "outputs: image ids must be all integers or all strings, not 1, '2'"),
        (([ONE], [None]), {}, "outputs: image ids must be all integers or all strings, not None"),
        ((ONE,), {}, "outputs: no image_ids; give one per image, or a mapping from image ids to outputs"),
        (([ONE],), {}, "outputs: no image_ids; give one per image, or a mapping from image ids to outputs"),
        (({1: ONE}, [1]), {}, "outputs: image_ids were given, but the outputs are a mapping with its own"),
        (([ONE], [1]), {"box_format": "yolo"}, 'box_format is "xyxy", "xywh" or "cxcywh", not \'yolo\''),
        (([ONE], [1]), {"iou_type": "mask"}, "iou_type must be one of bbox, segm, keypoints, rotated, or None "
         "for all, not 'mask'"),
    ],
)  # fmt: skip
def test_bad_options_and_ids_are_errors(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        from_torchvision(*arguments, **options)


@pytest.mark.parametrize(("name", "rows"), [("masks", np.zeros((1, 3, 4))), ("keypoints", np.zeros((1, 17, 3)))])
def test_shapes_must_be_as_many_as_boxes(name: str, rows: np.ndarray) -> None:
    two = {"boxes": ONE["boxes"] * 2, "labels": [3, 4], "scores": [0.5, 0.5]}
    with pytest.raises(RowError, match=f"outputs: {name} and labels differ in length for index 1; give one row per"):
        from_torchvision([ONE | {name: rows}, two | {name: rows}], [1, 2])


def test_keypoints_are_as_many_everywhere() -> None:
    outputs = [ONE | {"keypoints": np.zeros((1, n, 3))} for n in (17, 14)]
    with pytest.raises(RowError, match="outputs: keypoints: fewer points than in other images for index 1; give as many"):
        from_torchvision(outputs, [1, 2])


def test_an_output_that_is_no_dict_is_an_error() -> None:
    with pytest.raises(RowError, match="outputs: the item is not a dict for index 1; give one for each image"):
        from_torchvision([ONE, [1]], [1, 2])


@pytest.mark.parametrize(
    ("targets", "image_ids", "message"),
    [
        (
            [ONE | {"image_id": 1}, ONE],
            None,
            "targets: image_id is missing for index 1; give image_ids, or an image_id in",
        ),
        (
            [ONE | {"image_id": 1}, [1]],
            None,
            "targets: image_id is missing for index 1; give image_ids, or an image_id in",
        ),
        ([{"labels": [1]}], [1], "targets: boxes is missing for index 0; give boxes for each image"),
        ([ONE, ONE], [4, 4], "targets: image ids 4 are given more than once, at 0, 1; give each image only once"),
    ],
)
def test_bad_targets_are_errors(targets: Any, image_ids: Any, message: str) -> None:
    with pytest.raises((ParameterError, RowError), match=f"^{re.escape(message)}"):
        targets_from_torchvision(targets, image_ids)


def test_outputs_without_any_shape_are_an_error() -> None:
    with pytest.raises(RowError, match="outputs: boxes is missing for index 0; give boxes for each image"):
        from_torchvision([{"labels": [3], "scores": [0.5]}], [1])


def test_lists_of_tensors_are_arrays() -> None:
    boxes, scores = [Tensor([10.0, 10, 30, 20])], [Tensor(0.5)]
    detections = from_torchvision([{"boxes": boxes, "labels": [Tensor(3)], "scores": scores}], [7])
    assert detections.select("image_id", "category_id", "score", "x", "width").rows() == [(7, 3, 0.5, 10.0, 20.0)]
    broken = [[boxes[0], Tensor([1.0])]]
    with pytest.raises(RowError, match="boxes is not an array of numbers"):
        from_torchvision([{"boxes": broken, "labels": [3], "scores": [0.5]}], [7])


def test_what_cannot_become_an_array_is_named() -> None:
    class Lost:
        def __array__(self, *_: object, **__: object) -> None:
            raise RuntimeError("the tensor is gone")

    with pytest.raises(RowError, match=r"boxes is not an array of numbers .* for index 0"):
        from_torchvision([{"boxes": Lost(), "labels": [3], "scores": [0.5]}], [7])

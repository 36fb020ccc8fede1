"""The metric of torchmetrics: its script gives pycocotools' numbers under torchmetrics' names."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from apframe.exceptions import NoDetectionsWarning, ParameterError, RowError
from apframe.training.torchmetrics import MeanAveragePrecision
from tests.adapters.tensors import as_tensors, items_of, results_of, truth_of
from tests.protocols.generated import Row, Truth, boxes, masks, references_at_work, sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning", "ignore::apframe.exceptions.NothingMatchesWarning"
)
STREET = Path(__file__).parents[2] / "data" / "street"
KEYS = ["map", "map_50", "map_75", "map_small", "map_medium", "map_large", "mar_1", "mar_10", "mar_100", "mar_small",
        "mar_medium", "mar_large"]  # fmt: skip
# as torch.linspace(0.5, 0.95, 10) and torch.linspace(0, 1, 101) have them
THRESHOLDS = np.linspace(0.5, 0.95, 10, dtype=np.float32).tolist()
LEVELS = [
    float(np.float32(k * float(np.float32(0.01)) if k < 51 else 1 - (100 - k) * float(np.float32(0.01)))) for k in range(101)
]
ONE = {"boxes": [[10.0, 10, 30, 20]], "labels": [3], "scores": [0.75]}


def by_reference(truth: Truth, results: list[Row], iou_type: str, category_ids: Sequence[int] | None = None) -> np.ndarray:
    """The twelve stats of pycocotools at torchmetrics' thresholds."""
    with references_at_work():
        expected = COCO()
        expected.dataset = truth
        expected.createIndex()
        evaluation = COCOeval(expected, expected.loadRes([dict(row) for row in results]), iou_type)
        evaluation.params.iouThrs, evaluation.params.recThrs = np.array(THRESHOLDS), np.array(LEVELS)
        if category_ids is not None:
            evaluation.params.catIds = list(category_ids)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


def with_labels(truth: Truth, results: list[Row]) -> Truth:
    """The ground truth with a category for each label that is found."""
    labels = {row["category_id"] for row in [*truth["annotations"], *results]}
    return {"info": {}, **truth, "categories": [{"id": label} for label in sorted(labels)]}  # type: ignore[dict-item]


def with_own_areas(truth: Truth, iou_type: str) -> Truth:
    """The ground truth, areas of 0 being those of the boxes or masks: torchmetrics takes 0 for unknown."""
    rows = []
    for row in truth["annotations"]:
        with references_at_work():
            own = row["bbox"][2] * row["bbox"][3] if iou_type == "bbox" else float(mask.area(row["segmentation"]))
        rows.append(row | {"area": row["area"] or own})
    return truth | {"annotations": rows}


def run_script(truth: Truth, results: list[Row], iou_type: str, average: str = "macro") -> None:
    """What a validation loop does, with both: batches of two images."""
    image_ids = [image["id"] for image in truth["images"]]
    targets, outputs = items_of(truth["annotations"], image_ids), items_of(results, image_ids)
    metric = MeanAveragePrecision(iou_type=iou_type, class_metrics=True, average=average)
    for at in range(0, len(image_ids), 2):
        metric.update(as_tensors(outputs[at : at + 2]), as_tensors(targets[at : at + 2]))
    computed = metric.compute()

    places = list(range(len(image_ids)))
    detections = results_of(outputs, places, iou_type)
    expected = with_labels(with_own_areas(truth_of(targets, places), iou_type), detections)
    labels = [category["id"] for category in expected["categories"]]
    per_class = [by_reference(expected, detections, iou_type, [label]) for label in labels]
    if average == "micro":
        expected = with_labels(
            expected | {"annotations": [row | {"category_id": 0} for row in expected["annotations"]]},
            detections := [row | {"category_id": 0} for row in detections],
        )
    assert list(computed) == [*KEYS, "map_per_class", "mar_100_per_class", "classes"]
    stats = by_reference(expected, detections, iou_type)
    assert [computed[key] for key in KEYS] == pytest.approx(stats.astype(np.float32).tolist(), rel=1e-7)
    assert all(isinstance(computed[key], np.float32) for key in KEYS)
    assert computed["classes"].tolist() == labels
    assert computed["classes"].dtype == np.int32
    for name, place in (("map_per_class", 0), ("mar_100_per_class", 8)):
        assert computed[name].tolist() == pytest.approx([stats[place] for stats in per_class], rel=1e-6)
        assert computed[name].dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("model", [pytest.param("model_a", marks=pytest.mark.slow), "model_b"])
def test_script_on_the_sample_has_the_numbers_of_the_reference(model: str, average: str) -> None:
    truth = json.loads((STREET / "instances.json").read_text())
    run_script(truth, json.loads((STREET / f"{model}.json").read_text()), "bbox", average)


@pytest.mark.slow
@given(sets(boxes), st.sampled_from(["macro", "micro"]))
def test_script_with_boxes_has_the_numbers_of_the_reference(data: tuple[Truth, list[Row]], average: str) -> None:
    run_script(*data, "bbox", average)


@pytest.mark.slow
@given(sets(masks, 3), st.sampled_from(["macro", "micro"]))
def test_script_with_masks_has_the_numbers_of_the_reference(data: tuple[Truth, list[Row]], average: str) -> None:
    run_script(*data, "segm", average)


def test_default_thresholds_are_of_32_bits() -> None:
    assert [LEVELS[place] for place in (1, 35, 53, 54, 99)] == [
        0.009999999776482582, 0.3499999940395355, 0.5300000309944153, 0.5400000214576721, 0.9900000095367432
    ]  # fmt: skip
    protocol = MeanAveragePrecision().evaluation().protocol
    assert list(protocol.iou_thresholds) == THRESHOLDS
    assert list(protocol.recall_levels) == LEVELS


def test_thresholds_are_what_torch_computes() -> None:
    torch = pytest.importorskip("torch")
    assert torch.linspace(0, 1, 101).tolist() == LEVELS
    assert torch.linspace(0.5, 0.95, 10).tolist() == THRESHOLDS


def test_the_documented_example_has_its_documented_numbers() -> None:
    metric = MeanAveragePrecision()
    detections = {"boxes": [[258.0, 41.0, 606.0, 285.0]], "scores": [0.536], "labels": [0]}
    metric.update([detections], [{"boxes": [[214.0, 41.0, 562.0, 285.0]], "labels": [0]}])
    computed = {name: round(value.item(), 4) for name, value in metric.compute().items()}
    assert computed == dict.fromkeys(["map", "map_large", "mar_1", "mar_10", "mar_100", "mar_large"], 0.6) | {
        "map_50": 1, "map_75": 1, "map_small": -1, "map_medium": -1, "mar_small": -1, "mar_medium": -1,
        "map_per_class": -1, "mar_100_per_class": -1, "classes": 0,
    }  # fmt: skip


@pytest.mark.slow
def test_both_types_have_their_names_and_areas_of_the_masks() -> None:
    pixels = np.zeros((1, 200, 200), dtype=bool)
    pixels[0, :100, :50] = True  # of a medium area, in a large box
    item = {"boxes": [[0.0, 0, 100, 100]], "labels": [1], "scores": [0.5], "masks": pixels}
    metric = MeanAveragePrecision(iou_type=("bbox", "segm"))
    metric.update([item], [item | {"area": [0.0]}])
    computed = metric.compute()
    assert list(computed) == [f"{kind}_{key}" for kind in ("bbox", "segm")
                              for key in (*KEYS, "map_per_class", "mar_100_per_class")] + ["classes"]  # fmt: skip
    for kind in ("bbox", "segm"):
        assert computed[f"{kind}_map_medium"] == pytest.approx(1)
        assert computed[f"{kind}_map_large"] == -1


def test_areas_that_are_given_decide() -> None:
    metric = MeanAveragePrecision()
    metric.update([ONE, ONE], [ONE | {"area": [5000.0]}, ONE])
    computed = metric.compute()
    assert (computed["map_small"], computed["map_medium"], computed["map_large"]) == pytest.approx((1, 1, -1))


@pytest.mark.slow
def test_own_thresholds_levels_and_limits() -> None:
    metric = MeanAveragePrecision(
        iou_thresholds=[0.3, 0.5], rec_thresholds=[0.0, 0.5, 1.0], max_detection_thresholds=[300, 1, 5]
    )
    metric.update([ONE], [ONE])
    computed = metric.compute()
    assert [computed[name] for name in ("map", "map_50", "map_75", "mar_1", "mar_5", "mar_300")] == pytest.approx(
        [1, 1, -1, 1, 1, 1]
    )
    assert metric.evaluation().arrays()["precision"].shape == (2, 3, 1, 4, 3)


def test_boxes_of_another_format() -> None:
    metric = MeanAveragePrecision(box_format="cxcywh")
    metric.update([ONE | {"boxes": [[20.0, 15, 20, 10]]}], [ONE | {"boxes": [[20.0, 15, 20, 10]]}])
    assert metric.evaluation().detections.select("x", "y", "width", "height").rows() == [(10.0, 10.0, 20.0, 10.0)]


@pytest.mark.slow
def test_nothing_seen_is_minus_one_and_reset_forgets() -> None:
    metric = MeanAveragePrecision(class_metrics=True)
    for _ in range(2):
        computed = metric.compute()
        assert {computed[key].item() for key in KEYS} == {-1.0}
        assert computed["classes"].tolist() == computed["map_per_class"].tolist() == []
        metric.update([ONE], [ONE])
        assert metric.compute()["map"] == pytest.approx(1)
        metric.reset()


@pytest.mark.slow
def test_updates_add_up_and_compute_changes_nothing() -> None:
    metric, whole = MeanAveragePrecision(), MeanAveragePrecision()
    other = ONE | {"labels": [4], "scores": [0.5]}
    for pair in ((ONE, other), (other, other)):
        metric.update([pair[0]], [pair[1]])
        metric.compute()
    whole.update([ONE, other], [other, other])
    assert repr(metric.compute()) == repr(whole.compute())


@pytest.mark.slow
def test_a_failed_update_adds_nothing() -> None:
    metric = MeanAveragePrecision()
    metric.update([ONE], [ONE])
    with pytest.raises(RowError, match="target: boxes and labels differ in length for index 0"):
        metric.update([ONE], [ONE | {"labels": [3, 4]}])
    assert metric.compute()["map"] == pytest.approx(1)
    assert metric.evaluation().detections.height == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"box_format": "yolo"}, 'box_format is "xyxy", "xywh" or "cxcywh", not \'yolo\''),
        ({"iou_type": "keypoints"}, 'iou_type must be "bbox", "segm" or a tuple of them, not \'keypoints\''),
        ({"iou_type": ()}, 'iou_type must be "bbox", "segm" or a tuple of them, not ()'),
        ({"average": "none"}, 'average is "macro" or "micro", not \'none\''),
        ({"max_detection_thresholds": [1, 10]}, "max_detection_thresholds must be three numbers, not [1, 10]"),
        ({"iou_thresholds": [1.5]}, "iou_thresholds must lie in (0, 1] and increase, got 1.5"),
    ],
)
def test_bad_options_are_errors_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        MeanAveragePrecision(**options)


def test_bad_updates_are_errors() -> None:
    metric = MeanAveragePrecision()
    with pytest.raises(ParameterError, match="update: 2 preds but 1 targets; pass one of each per image"):
        metric.update([ONE, ONE], [ONE])
    with pytest.raises(RowError, match="preds: scores is missing for index 0; give scores for each image"):
        metric.update([{"boxes": ONE["boxes"], "labels": [3]}], [ONE])
    with pytest.raises(RowError, match="preds: masks is missing for index 0"):
        MeanAveragePrecision(iou_type="segm").update([ONE], [ONE])


@pytest.mark.slow
def test_a_call_gives_the_numbers_of_its_images_and_adds_them() -> None:
    missed = {**ONE, "boxes": [[200.0, 10, 230, 20]]}
    metric = MeanAveragePrecision()
    assert metric([ONE], [ONE])["map"] == pytest.approx(1)
    assert metric([missed], [ONE])["map"] == 0
    both = MeanAveragePrecision()
    both.update([ONE, missed], [ONE, ONE])
    assert metric.compute()["map"] == both.compute()["map"]
    assert 0 < metric.compute()["map"] < 1


@pytest.mark.slow
def test_a_batch_alone_does_not_warn() -> None:
    metric = MeanAveragePrecision()
    none = {name: values[:0] for name, values in ONE.items()}
    with warnings.catch_warnings(action="error"):
        assert metric([none], [ONE])["map"] == 0
    with pytest.warns(NoDetectionsWarning, match="there are no detections"):
        metric.compute()


def test_extended_summary_is_refused_with_what_to_call() -> None:
    with pytest.raises(ParameterError, match="extended_summary: call evaluation"):
        MeanAveragePrecision(extended_summary=True)

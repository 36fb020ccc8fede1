"""Ultralytics: the values of its own functions, its rules one by one, and which labels are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.trainers.ultralytics.definition import Ultralytics, UltralyticsBefore
from apframe.exceptions import ParameterError
from apframe.metrics.all_rows import ListedRows
from tests.benchmarks.trainers.ultralytics.reference import average_precision
from tests.benchmarks.trainers.ultralytics.row import BY_VERSION

Row = dict[str, Any]
each_version = pytest.mark.parametrize("name", BY_VERSION)

# flags and R; AP by the definition of COCO, and up to 8.4.36 and from 8.4.37 on, as the functions of the wheels compute it
LISTS: dict[str, tuple[list[int], int, float, float, float]] = {
    "A": ([1, 0, 1, 0, 1], 3, 0.756435644, 0.753, 0.753),
    "B": ([1, 1, 0, 1, 0, 1, 0, 0, 0, 1], 5, 0.785478548, 0.778333333, 0.778333333),
    "C": ([1, 0, 1, 0, 1], 6, 0.381518152, 0.527333333, 0.374333333),
    "1 of 2": ([1], 2, 0.504950495, 0.75, 0.495),
    "1 of 2 and a false one": ([1, 0], 2, 0.504950495, 0.6225, 0.495),
    "a false one first": ([0, 1], 1, 0.5, 0.4975, 0.4975),
    "perfect": ([1, 1, 1], 3, 1.0, 0.995, 0.995),
    "a gap": ([1, 0, 0, 0, 0, 1], 2, 0.669966997, 0.661666667, 0.661666667),
    "nothing found": ([0, 0], 2, 0.0, 0.0, 0.0),
}


def area(definition: Ultralytics, flags: list[int], n: int, weights: list[float] | None = None) -> float:
    """Of one list, each row in an image of its own weight."""
    rows = np.array(flags)
    own = np.array(weights or [1.0] * len(flags))[:, None]
    scores = -np.arange(len(flags), dtype=float)
    ends, n_positives, missing = np.array([0, len(rows)]), np.array([[float(n)]]), np.full((2, 1, 1), np.nan)
    listed = ListedRows(np.zeros(len(rows), dtype=np.int64), scores, rows > 0, ends, own, n_positives, lambda: missing)
    return float(definition.area(listed)[0, 0])


@pytest.mark.parametrize("name", LISTS)
def test_lists(name: str) -> None:
    flags, n, _, before, now = LISTS[name]
    assert area(UltralyticsBefore(), flags, n) == pytest.approx(before, abs=1e-9)
    assert area(Ultralytics(), flags, n) == pytest.approx(now, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_lists_from_boxes(name: str) -> None:
    flags, n, *expected = LISTS[name]
    places = [[100.0 * k, 0.0, 10.0, 10.0] for k in range(n)]
    hits = iter(places)
    results = [
        {"image_id": 1, "category_id": 1, "score": 0.9 - k / 100, "bbox": next(hits) if flag else [900.0, 90.0 * k, 5.0, 5.0]}
        for k, flag in enumerate(flags)
    ]
    values = [apf.evaluate(truth_of(places), results, rules)["AP50"] for rules in ("coco", "ultralytics_8_4_35", "ultralytics")]
    assert values == pytest.approx(expected, abs=1e-9)


@each_version
def test_equal_scores_stay_as_they_come(name: str) -> None:
    hit, wrong = ({"image_id": 1, "category_id": 1, "score": 0.5, "bbox": [x, 0, 10, 10]} for x in (0, 500))
    values = [apf.evaluate(truth_of([[0, 0, 10, 10]]), rows, name)["AP50"] for rows in ([hit, wrong], [wrong, hit])]
    assert values == pytest.approx([0.995, 0.4975], abs=1e-9)


@pytest.mark.slow
def test_random_lists_are_those_of_interp() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        flags = (random.random(random.integers(1, 60)) < random.random()).astype(int).tolist()
        n = max(1, sum(flags) + int(random.integers(0, 5)) * int(random.integers(0, 2)))
        for definition in (Ultralytics(), UltralyticsBefore()):
            expected = average_precision([bool(flag) for flag in flags], n, falls_at_once=definition.falls_at_once)
            assert area(definition, flags, n) == pytest.approx(expected, abs=1e-12)


def test_a_weight_of_two_is_two_rows() -> None:
    flags, weights = [1, 0, 1, 0, 1], [2.0, 1, 0, 3, 1]
    copies = [flag for flag, weight in zip(flags, weights, strict=True) for _ in range(int(weight))]
    for definition in (Ultralytics(), UltralyticsBefore()):
        assert area(definition, flags, 5, weights) == pytest.approx(area(definition, copies, 5), abs=1e-12)


def test_a_level_is_reached_with_weights_that_are_not_whole() -> None:
    tenths = [0.1] * 10
    assert area(Ultralytics(), [1] * 10, 1, tenths) == pytest.approx(0.995, abs=1e-9)


def test_ranked_lists_have_no_such_definition() -> None:
    frame = pl.DataFrame({"relevant": [1, 0], "score": [0.9, 0.8]})
    with pytest.raises(ParameterError, match="ultralytics needs all rows of a list"):
        frame.select(apf.lists.average_precision("relevant", "score", n_positives=1, definition="ultralytics"))


def truth_of(boxes: list[list[float]]) -> Any:
    annotations = [{"id": k, "image_id": 1, "category_id": 1, "bbox": box} for k, box in enumerate(boxes, 1)]
    return {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": annotations}


def found(boxes: list[list[float]]) -> list[Row]:
    return [{"image_id": 1, "category_id": 1, "bbox": box, "score": 0.9 - k / 10} for k, box in enumerate(boxes)]


@pytest.mark.slow
def test_the_second_choice() -> None:
    """Two detections overlap the first annotation most, and the second of them the other one enough."""
    truth, results = truth_of([[0, 0, 10, 10], [3, 0, 10, 10]]), found([[0, 0, 10, 9], [1, 0, 10, 10]])
    flags = {}
    for name in BY_VERSION:
        matches = apf.evaluate(truth, results, name).matches(0.5).drop_nulls("detection_id").sort("rank")
        flags[name] = matches["outcome"].to_list()
    assert flags == {
        "ULTRALYTICS": ["tp", "tp"], "ULTRALYTICS_8_4_175": ["tp", "fp"], "ULTRALYTICS_8_4_35": ["tp", "fp"],
    }  # fmt: skip


@each_version
def test_a_better_one_that_reaches_less(name: str) -> None:
    """IoU .55 with the higher score and .9 with the lower: the first is true at .5 and .55, the second one above."""
    evaluation = apf.evaluate(truth_of([[0, 0, 100, 10]]), found([[0, 0, 55, 10], [0, 0, 90, 10]]), name)
    for threshold, outcomes in ((0.5, ["tp", "fp"]), (0.55, ["tp", "fp"]), (0.6, ["fp", "tp"]), (0.9, ["fp", "tp"])):
        matches = evaluation.matches(threshold).drop_nulls("detection_id").sort("rank")
        assert matches["outcome"].to_list() == outcomes


def test_thresholds_are_in_single_precision() -> None:
    """Seven pixels of ten reach .7 there, as both are 0.69999999 in single precision."""
    evaluation = apf.evaluate(truth_of([[0, 0, 10, 1]]), found([[0, 0, 7, 1]]), apf.ULTRALYTICS)
    assert evaluation.matches(0.7)["outcome"].to_list() == ["tp"]
    assert evaluation.matches(0.75)["outcome"].to_list() == ["fp", "fn"]
    at_it = apf.evaluate(truth_of([[0, 0, 10, 1]]), found([[0, 0, 7, 1]]), apf.ULTRALYTICS, iou_thresholds=[0.7])
    assert at_it["AP"] == pytest.approx(0.995)


def test_masks_in_single_precision() -> None:
    square = [[0, 0, 10, 0, 10, 1, 0, 1]]
    part = [[0, 0, 7, 0, 7, 1, 0, 1]]
    truth = truth_of([[0, 0, 10, 1]])
    truth["images"][0] |= {"width": 20, "height": 20}
    truth["annotations"][0]["segmentation"] = square
    results = [{"image_id": 1, "category_id": 1, "segmentation": part, "score": 0.9}]
    evaluation = apf.evaluate(truth, results, apf.ULTRALYTICS, iou_type="segm")
    assert evaluation.pairs["similarity"].to_list() == [float(np.float32(0.7))]
    assert evaluation["AP"] == pytest.approx(0.995 * 5 / 10)


@pytest.mark.slow
def test_low_scores_and_more_than_300_detections_are_left_out() -> None:
    truth = truth_of([[0, 0, 10, 10]])
    low = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": score} for score in (0.001, 0.0011)]
    assert apf.evaluate(truth, low[:1], apf.ULTRALYTICS)["AP"] == 0
    assert apf.evaluate(truth, low[1:], apf.ULTRALYTICS)["AP"] == pytest.approx(0.995)
    many = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 10], "score": 0.5} for _ in range(300)]
    assert apf.evaluate(truth, [*many, *low[1:]], apf.ULTRALYTICS)["AP"] == 0
    assert apf.evaluate(truth, [*many[1:], *low[1:]], apf.ULTRALYTICS)["AP"] > 0


def label_files(folder: Path, labels: str, found: str = "", config: str = "") -> tuple[Path, Path]:
    """A data set of one image of 100 x 50 pixels, and results."""
    for name, text in {
        "data.yaml": f"path: .\nval: images/val\nnames: [car, bus]\n{config}",
        "image_sizes.csv": "file_name,image_width,image_height\na.jpg,100,50\n",
        "labels/val/a.txt": labels,
        "found/a.txt": found,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder, folder / "found"


REPEATED = "left out: {} of {} annotations that repeat another one of the same image, category and shape, as Ultralytics does"
BOXES = "0 .5 .5 .2 .2\n"
POSE = "0 .5 .5 .2 .2 .4 .4 .6 .6\n"


@pytest.mark.parametrize(("name", "ap"), [*((name, 0.995) for name in BY_VERSION), ("COCO", 34 / 101)])
def test_equal_rows_are_one_label(name: str, ap: float, tmp_path: Path) -> None:
    """`verify_image_label` reads numbers in single precision: .5, 0.50 and .50000001 are equal."""
    labels = f"{BOXES}0 0.50 .5 0.2 .2\n0 .50000001 .5 .2 .2\n"
    evaluation = apf.evaluate(*label_files(tmp_path, labels, "0 .5 .5 .2 .2 .9\n"), name)
    assert evaluation["AP50"] == pytest.approx(ap)
    assert (REPEATED.format(2, 3) in evaluation.notes) == (name in BY_VERSION)
    assert evaluation.metrics.filter(iou_threshold=0.5)["n_positives"].max() == (1 if name in BY_VERSION else 3)


@pytest.mark.parametrize(
    ("rows", "config", "n"),
    {
        "boxes of two classes": (BOXES + BOXES.replace("0 ", "1 ", 1), "", 0),
        "boxes that differ": (BOXES + BOXES.replace(".5 .2", ".51 .2"), "", 0),
        "polygons": ("0 .1 .1 .3 .1 .3 .3\n" * 2 + "1 .1 .1 .3 .1 .3 .3\n", "", 1),
        "polygons within one box": ("0 .1 .1 .3 .1 .3 .3\n0 .1 .1 .3 .1 .1 .3\n0 .1 .1 .3 .3 .1 .3\n", "", 0),
        "a polygon from another corner": ("0 .1 .1 .3 .1 .3 .3\n0 .3 .1 .3 .3 .1 .1\n", "", 0),
        "keypoints": (POSE * 3, "kpt_shape: [2, 2]\n", 2),
        "other keypoints of a box": (POSE + POSE.replace(".6", ".7"), "kpt_shape: [2, 2]\n", 0),
    }.values(),
)
def test_which_rows_are_equal(rows: str, config: str, n: int, tmp_path: Path) -> None:
    evaluation = apf.evaluate(label_files(tmp_path, rows, config=config)[0], [], apf.ULTRALYTICS)
    assert list(evaluation.notes) == ([REPEATED.format(n, rows.count("\n"))] if n else [])
    assert evaluation.dataset.annotations.height == rows.count("\n") - n


def test_the_first_of_equal_labels_stays_in_frames_too() -> None:
    truth = truth_of([[0, 0, 10, 10], [30, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10]])
    truth["images"] = [{"id": k} for k in (1, 2, 3)]
    truth["annotations"] += [truth["annotations"][0] | {"id": 3 + k, "image_id": k} for k in (2, 3)]
    hits = found([[0, 0, 10, 10], [30, 0, 10, 9]])
    dataset = apf.read_coco(truth)
    results = apf.read_coco_results([*hits, hits[0] | {"image_id": 2, "score": 0.7}, hits[0] | {"image_id": 3, "score": 0.6}])
    evaluation = apf.evaluate(dataset, results, apf.ULTRALYTICS)
    assert evaluation["AP50"] == pytest.approx(0.995)
    assert evaluation.dataset.annotations["annotation_id"].to_list() == [1, 2, 5, 6]
    assert list(evaluation.notes) == [REPEATED.format(2, 6)]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("8.3", apf.ULTRALYTICS_8_4_35), ("8.4.36", apf.ULTRALYTICS_8_4_35), ("8.4.37", apf.ULTRALYTICS_8_4_175),
        ("8.4.175", apf.ULTRALYTICS_8_4_175), ("8.4.176", apf.ULTRALYTICS), ("9", apf.ULTRALYTICS),
    ],
)  # fmt: skip
def test_versions_are_those_that_print_alike(version: str, expected: apf.Protocol) -> None:
    protocol = apf.ULTRALYTICS.at_version(version)
    assert protocol == expected and protocol.variants == expected.variants
    assert apf.ULTRALYTICS.variant("segm").at_version(version) == expected.variant("segm")


def test_what_is_no_version_is_refused() -> None:
    for wrong in ("v8", "8.4.x", "", "8..4"):
        with pytest.raises(ParameterError, match=r"^version must be numbers as text, such as '8\.4\.35', not "):
            apf.ULTRALYTICS.at_version(wrong)
    with pytest.raises(ParameterError, match=r"^version: COCO does not depend on a version; leave it out$"):
        apf.COCO.at_version("2")

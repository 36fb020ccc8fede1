"""BDD100K: the cases of its rules, and Scalabel's own program on generated frames."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, ShapesLeftOutWarning, UnknownCategoryWarning, UnknownImageWarning
from tests.benchmarks.driving.bdd100k.row import CLASSES, IGNORED, RENAMED, Json, frame, generated, label, masked, rectangle
from tests.kits import run_kit

HALF = 0.5049504950495049  # one of two, with a precision of 1 at 51 of 101 levels
SQUARE = (0, 0, 9, 9)


def written(folder: Path, *sides: list[Json]) -> list[Path]:
    """Frames with objects, and with predictions, as Scalabel's files."""
    paths = [folder / "truth.json", folder / "found.json"]
    for path, frames in zip(paths, sides, strict=True):
        path.write_text(json.dumps(frames))
    return paths


def numbers(folder: Path, truth: list[Json], found: list[Json], iou_type: str = "bbox") -> dict[str, float | None]:
    """The summary of these frames."""
    of_files = {"format": "scalabel", "results_format": "scalabel"}
    return dict(apf.evaluate(*written(folder, truth, found), "bdd100k", iou_type=iou_type, **of_files).summary.rows())


def test_s1_corners_are_inclusive(tmp_path: Path) -> None:
    """Half of 10 x 10 pixels: an IoU of exactly .5."""
    summary = numbers(tmp_path, [frame("a", label("car", SQUARE))], [frame("a", label("car", (0, 0, 9, 4), 0.9))])
    assert (summary["AP50"], summary["AP75"]) == (pytest.approx(1), 0)
    assert summary["AP"] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("ignored", [{"ignored": True}, {"crowd": True}])
def test_s2_an_ignored_box_takes_any_number(ignored: Json, tmp_path: Path) -> None:
    truth = [frame("a", label("car", SQUARE), label("car", (100, 100, 199, 199), **ignored))]
    inside = [label("car", (110 + 20 * k, 110, 120 + 20 * k, 120), 0.9 - k / 10) for k in range(3)]
    assert numbers(tmp_path, truth, [frame("a", label("car", SQUARE, 0.5), *inside)])["AP"] == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
def test_s3_classes_are_renamed(tmp_path: Path) -> None:
    """Of detections too; those of the three ignored ones count, as they are of the class then."""
    for old, new in RENAMED.items():
        for one, other in ((old, new), (new, old)):
            truth, predictions = [frame("a", label(one, SQUARE))], [frame("a", label(other, SQUARE, 0.9))]
            assert numbers(tmp_path, truth, predictions)["AP"] == pytest.approx(1, abs=1e-9)
    for old, new in IGNORED.items():
        truth = [frame("a", label(new, SQUARE), label(old, (100, 100, 199, 199)))]
        predictions = [
            frame("a", label(new, SQUARE, 0.5), label(new, (110, 110, 120, 120), 0.9), label(old, (0, 0, 9, 8), 0.4))
        ]
        assert numbers(tmp_path, truth, predictions)["AP"] == pytest.approx(1, abs=1e-9)
        assert numbers(tmp_path, truth[:1], [frame("a", label(old, SQUARE, 0.5))])["AP"] == pytest.approx(1, abs=1e-9)


def test_s4_without_predictions_all_is_0(tmp_path: Path) -> None:
    summary = numbers(tmp_path, [frame("a", label("car", SQUARE))], [frame("a")])
    assert set(summary.values()) == {0.0}
    assert len(summary) == 12


def test_s5_frames_without_predictions_and_unknown_frames(tmp_path: Path) -> None:
    truth = [frame("b", label("car", SQUARE)), frame("a", label("car", SQUARE))]
    predictions = [frame("unknown", label("car", SQUARE, 0.9)), frame("a", label("car", SQUARE, 0.5))]
    with pytest.warns(UnknownImageWarning, match="1 of 2 detections has an unknown image_id and was dropped: 'unknown'"):
        assert numbers(tmp_path, truth, predictions)["AP"] == pytest.approx(HALF, abs=1e-9)


@pytest.mark.slow
def test_a_frame_whose_masks_overlap_loses_its_predictions(tmp_path: Path) -> None:
    near, far = rectangle(0, 0, 40, 40), rectangle(45, 0, 80, 40)
    truth = [frame(name, masked("car", near), masked("bus", far)) for name in ("a", "b")]
    apart = [masked("car", near, 0.9), masked("bus", far, 0.8)]
    overlapping = [masked("car", near, 0.7), masked("bus", rectangle(39, 39, 80, 60), 0.6)]
    assert numbers(tmp_path, truth, [frame("a", *apart), frame("b", *apart)], "segm")["AP"] == pytest.approx(1, abs=1e-9)
    lost = r"masks overlap on 1 image \('b'\), which lose all their 2 detections by the"
    with pytest.warns(ShapesLeftOutWarning, match=lost):
        summary = numbers(tmp_path, truth, [frame("a", *apart), frame("b", *overlapping)], "segm")
    assert summary["AP"] == pytest.approx(HALF, abs=1e-9)


def test_results_without_masks_are_told_that_they_lack_them(tmp_path: Path) -> None:
    message = r"^detections: no column mask, needed to compare by intersection over union of m"
    for one in (label("car", SQUARE), masked("car", rectangle(0, 0, 9, 9))):
        with pytest.raises(ColumnError, match=message):
            numbers(tmp_path, [frame("a.jpg", one)], [frame("a.jpg", label("car", SQUARE, 0.9))], "segm")


def test_other_classes_are_left_out_misspelled_ones_are_asked(tmp_path: Path) -> None:
    truth = [frame("a", label("Car", SQUARE), label("cars", SQUARE), label("lane", SQUARE))]
    with pytest.warns(UnknownCategoryWarning, match=r"^BDD100K does not evaluate 'cars', did you mean car\?$"):
        summary = numbers(tmp_path, truth, [frame("a", label("car", SQUARE, 0.9))])
    assert summary["AP"] == pytest.approx(1, abs=1e-9)
    message = r"^protocol: BDD100K evaluates 'pedestrian', .*, but the categories are 'cat'; rename yours with category_map"
    with pytest.raises(ParameterError, match=message):
        numbers(tmp_path, [frame("a", label("cat", SQUARE))], [])


def test_a_map_of_the_users_own_comes_first(tmp_path: Path) -> None:
    truth = [frame("a", label("auto", SQUARE), label("van", (50, 50, 59, 59)))]
    files = written(tmp_path, truth, [frame("a", label("auto", SQUARE, 0.9))])
    with warnings.catch_warnings(action="error"):
        evaluation = apf.evaluate(*files, apf.BDD100K, category_map={"auto": "car"}, categories=["car"])
    assert evaluation.metrics["category_id"].unique().to_list() == ["car"]
    assert evaluation.summary["value"][0] == pytest.approx(HALF, abs=1e-9)


SCRIPT = """
import logging
from contextlib import redirect_stdout
from scalabel.eval.detect import evaluate_det
from scalabel.eval.ins_seg import evaluate_ins_seg
from scalabel.label.typing import Category, Config, Frame, ImageSize
config = Config(imageSize=ImageSize(width=80, height=60), categories=[Category(name=name) for name in given["classes"]])
evaluate = evaluate_det if given["iou_type"] == "bbox" else evaluate_ins_seg
with redirect_stdout(sys.stderr):
    results = []
    for truth, found in given["sets"]:
        result = evaluate([Frame(**each) for each in truth], [Frame(**each) for each in found], config, nproc=1)
        results.append({name: value for name, value in result.summary().items() if "/" not in name})
print(json.dumps([{name: None if value != value else float(value) for name, value in each.items()} for each in results]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("iou_type", ["bbox", "segm"])
@pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.ShapesLeftOutWarning", "ignore::apframe.exceptions.NoAnnotationsWarning"
)
def test_all_twelve_numbers_are_scalabels(iou_type: str, tmp_path: Path) -> None:
    sets = [generated(np.random.default_rng(seed), iou_type) for seed in range(20)]
    sets = [(truth, found) for truth, found in sets if any(each["labels"] for each in truth)]
    expected = run_kit("scalabel", SCRIPT, {"classes": CLASSES, "iou_type": iou_type, "sets": sets})
    for (truth, found), percent in zip(sets, expected, strict=True):
        values = {name: None if value is None else value / 100 for name, value in percent.items()}
        assert numbers(tmp_path, truth, found, iou_type) == pytest.approx(values, abs=1e-9), (truth, found)


def test_what_frames_in_memory_need() -> None:
    """Ids may be numbers, with names in the table of categories."""
    box = {"image_id": [1, 1], "category_id": [7, 8], "x": [0.0, 20], "y": [0.0, 0], "width": [10.0] * 2, "height": [10.0] * 2}
    truth = apf.Dataset({"image_id": [1]}, pl.DataFrame({"category_id": [7, 8], "name": ["van", "car"]}), box)
    evaluation = apf.evaluate(truth, {**box, "score": [0.5, 0.4]}, apf.BDD100K)
    assert evaluation.dataset.categories.select("category_id", "name").rows() == [(8, "car")]
    assert evaluation.summary["value"][0] == pytest.approx(1, abs=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissedCategoryWarning")
def test_all_that_follows_has_the_classes(tmp_path: Path) -> None:
    """Slices, stored sets, shards and batches give the same numbers, for the same names: nothing is renamed twice."""
    names = {"rider": "van", "car": "other person", "truck": "person"}
    truth, detections = generated(np.random.default_rng(4), "bbox")
    for one in (one for each in truth for one in each["labels"]):
        one["category"] = names.get(one["category"], one["category"])
    files = written(tmp_path, truth, detections)
    whole = apf.evaluate(*files, apf.BDD100K)
    assert set(whole.by("name")["name"]) == set(CLASSES)
    assert whole.summary["value"][0] > 0.05
    whole.write_parquet(tmp_path / "run")
    apf.write_shards(*files, tmp_path / "shards", 2)
    in_batches = apf.Evaluator(files[0], apf.BDD100K)
    in_batches.update(apf.read_results(files[1]))
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=apf.BDD100K)
    for other in (apf.read_evaluation(tmp_path / "run"), sharded, in_batches.compute()):
        assert other.summary.rows() == whole.summary.rows()
        classes = [each.by("name").select("name", "AP", "n_annotations").rows() for each in (other, whole)]
        assert classes[0] == classes[1]

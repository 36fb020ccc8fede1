"""SEMANTIC: the numbers of a confusion matrix over all pixels, with labels that stand for no class."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, UnitWarning, UnknownCategoryWarning
from tests.benchmarks.pixels.semantic.row import N, generated, of_matrix, write
from tests.protocols.generated import on_many_sets


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def written(folder: Path, maps: tuple[list[np.ndarray], list[np.ndarray]]) -> tuple[Path, Path]:
    """The folders of the ground truth and of the results."""
    return write(folder / "truth", maps[0]), write(folder / "found", maps[1])


@pytest.mark.slow
@on_many_sets
def test_confusion_matrix_of_all_pixels(seeds: range, tmp_path: Path) -> None:
    """Of every set, of every image and of all together, with the maps of all sets evaluated at once."""
    sets = {str(seed): generated(seed, 2) for seed in seeds}
    whole = [[each for maps in sets.values() for each in maps[side]] for side in (0, 1)]
    for name, (truth, found) in sets.items():
        write(tmp_path / "truth" / name, truth)
        write(tmp_path / "found" / name, found)
    dataset = apf.read_dataset(tmp_path / "truth")
    detections = apf.read_results(tmp_path / "found", dataset=dataset)
    images = dataset.images.with_columns(set=pl.col("image_id").str.split("/").list.first())
    dataset = apf.Dataset(images, dataset.categories, dataset.annotations)
    for ignored in ((255,), (0, 255)):
        evaluation = apf.evaluate(dataset, detections, apf.SEMANTIC, similarity=apf.similarity.LabelIoU(ignored=ignored))
        assert evaluation.metrics["category_id"].to_list() == [k for k in range(N) if k not in ignored]
        assert dict(evaluation.summary.rows()) == exactly(of_matrix(*whole, ignored))
        of_sets, of_images = (numbers_by(evaluation, key) for key in ("set", "image_id"))
        for name, (truth, found) in sets.items():
            assert of_sets[name] == exactly(of_matrix(truth, found, ignored)), name
            for k in range(2):
                assert of_images[f"{name}/{k}"] == exactly(of_matrix(truth[k : k + 1], found[k : k + 1], ignored)), name


def numbers_by(evaluation: apf.Evaluation, key: str) -> dict[str, dict[str, float]]:
    return {row[key]: {name: row[name] for name in evaluation.protocol.lines} for row in evaluation.by(key).to_dicts()}


@pytest.mark.slow
def test_a_class_on_one_side_alone(tmp_path: Path) -> None:
    truth, detections = [np.array([[0, 0, 1], [2, 2, 2]])], [np.array([[0, 0, 0], [2, 2, 3]])]
    paths = written(tmp_path, (truth, detections))
    with pytest.warns(UnknownCategoryWarning, match="unknown category_id and was dropped: 3"):
        unknown = apf.evaluate(*paths, "semantic")
    assert dict(unknown.summary.rows())["mIoU"] == exactly((2 / 3 + 0 + 2 / 3) / 3)
    (tmp_path / "truth" / "classes.txt").write_text("road\nsky\ncar\nbus\ntram\n")
    evaluation = apf.evaluate(*paths, "semantic")
    assert dict(evaluation.summary.rows()) == exactly(of_matrix(truth, detections))
    named = evaluation.metrics.join(evaluation.dataset.categories, on="category_id")
    assert dict(named.select("name", "iou").rows()) == exactly({"road": 2 / 3, "sky": 0, "car": 2 / 3, "bus": 0, "tram": None})
    assert dict(named.select("name", "accuracy").rows())["bus"] is None


@pytest.mark.slow
def test_compared_with_another_model(tmp_path: Path) -> None:
    truth, detections = generated(3, 8)
    paths = written(tmp_path, (truth, detections))
    one, other = (apf.evaluate(paths[0], maps, "semantic") for maps in (paths[1], write(tmp_path / "other", truth[::-1])))
    with pytest.warns(match="only 8 images"):
        compared = one.compare(other, n_resamples=100)
    differences = {metric: other[metric] - value for metric, value in one.summary.rows()}
    assert dict(compared.select("metric", "difference").rows()) == exactly(differences)


@pytest.mark.slow
def test_there_are_no_scores(tmp_path: Path) -> None:
    evaluation = apf.evaluate(*written(tmp_path, generated(1)), "semantic")
    assert evaluation.matches()["score"].null_count() == evaluation.matches().height
    for name in ("curves", "thresholds", "arrays", "errors", "error_impact", "label_errors", "calibration", "lrp", "froc"):
        with pytest.raises(ParameterError, match="SEMANTIC does not rank detections by score, so it has no"):
            getattr(evaluation, name)()
    assert evaluation.sql("SELECT count(*) FROM curves").item() == 0


def test_other_protocols_compare_no_pixels(tmp_path: Path) -> None:
    paths = written(tmp_path, generated(2))
    with pytest.raises(ColumnError, match="no boxes; there are segment_id: did you mean protocol coco_panoptic or semantic"):
        apf.evaluate(*paths)
    with pytest.raises(ColumnError, match="no column label_map, in which pixels are counted"):
        apf.evaluate("data/street/instances.json", "data/street/model_a.json", "semantic")


def test_label_maps_of_classes_have_no_segments(tmp_path: Path) -> None:
    paths = written(tmp_path, generated(2))
    with pytest.warns(UnitWarning, match=r"segment_id is the category_id in all rows: .* did you mean protocol semantic\?"):
        evaluation = apf.evaluate(*paths, "coco_panoptic")
    stuff = evaluation.dataset.categories.with_columns(isthing=0)
    dataset = apf.Dataset(evaluation.dataset.images, stuff, evaluation.dataset.annotations)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apf.evaluate(*paths, "semantic")
        apf.evaluate(dataset, evaluation.detections, "coco_panoptic")


def test_nothing_found_is_zero(tmp_path: Path) -> None:
    """Without a match there are no pixels of matches either."""
    truth, _ = generated(3, 4)
    whole = apf.evaluate(*written(tmp_path, (truth, truth)), "semantic")
    nothing = apf.evaluate(whole.dataset, whole.detections.clear(), "semantic")
    assert nothing.summary["value"].to_list() == [0.0] * 4
    assert nothing.intervals(n_resamples=4)["estimate"].to_list() == [0.0] * 4

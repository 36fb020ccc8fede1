"""SEMANTIC: the numbers of a confusion matrix over all pixels, with labels that stand for no class."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, UnitWarning, UnknownCategoryWarning
from tests.metrics.reading import under_weights
from tests.protocols.generated import on_many_sets

N = 4


def write(folder: Path, maps: list[np.ndarray]) -> Path:
    folder.mkdir(parents=True)
    for k, values in enumerate(maps):
        Image.fromarray(values.astype(np.uint8)).save(folder / f"{k}.png")
    return folder


def generated(seed: int, n_images: int = 5) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    truth, found = [], []
    for k in range(n_images):
        values = rng.integers(0, N - (k % 2), (8, 9))  # the last class is not on every image
        truth.append(np.where(rng.random((8, 9)) < 0.15, 255, values))
        found.append(np.where(rng.random((8, 9)) < 0.3, rng.integers(0, N, (8, 9)), values))
    return truth, found


def of_matrix(truth: list[np.ndarray], found: list[np.ndarray], ignored: tuple[int, ...] = (255,)) -> dict[str, float]:
    """The numbers in a plain loop over pixels."""
    matrix = np.zeros((256, 256))
    for a, b in zip(truth, found, strict=True):
        for one, other in zip(a.ravel(), b.ravel(), strict=True):
            matrix[one, other] += one not in ignored
    classes = [k for k in range(N) if k not in ignored and matrix[k].sum() + matrix[:, k].sum()]
    iou = {k: matrix[k, k] / (matrix[k].sum() + matrix[:, k].sum() - matrix[k, k]) for k in classes}
    own = {k: matrix[k].sum() for k in classes}
    right = {k: matrix[k, k] / own[k] for k in classes if own[k]}
    return {
        "mIoU": sum(iou.values()) / len(classes),
        "fwIoU": sum(own[k] * iou[k] for k in classes) / sum(own.values()),
        "mACC": sum(right.values()) / len(right),
        "pACC": sum(matrix[k, k] for k in classes) / sum(own.values()),
    }


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


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
        evaluation = apf.evaluate(dataset, detections, apf.SEMANTIC, similarity=apf.LabelIoU(ignored=ignored))
        assert evaluation.metrics["category_id"].to_list() == [k for k in range(N) if k not in ignored]
        assert dict(evaluation.summary.rows()) == exactly(of_matrix(*whole, ignored))
        of_sets, of_images = (numbers_by(evaluation, key) for key in ("set", "image_id"))
        for name, (truth, found) in sets.items():
            assert of_sets[name] == exactly(of_matrix(truth, found, ignored)), name
            for k in range(2):
                assert of_images[f"{name}/{k}"] == exactly(of_matrix(truth[k : k + 1], found[k : k + 1], ignored)), name


def numbers_by(evaluation: apf.Evaluation, key: str) -> dict[str, dict[str, float]]:
    return {row[key]: {name: row[name] for name in evaluation.protocol.lines} for row in evaluation.by(key).to_dicts()}


def test_a_class_on_one_side_alone(tmp_path: Path) -> None:
    truth, found = [np.array([[0, 0, 1], [2, 2, 2]])], [np.array([[0, 0, 0], [2, 2, 3]])]
    paths = write(tmp_path / "truth", truth), write(tmp_path / "found", found)
    with pytest.warns(UnknownCategoryWarning, match="unknown category_id and was dropped: 3"):
        unknown = apf.evaluate(*paths, "semantic")
    assert dict(unknown.summary.rows())["mIoU"] == exactly((2 / 3 + 0 + 2 / 3) / 3)
    (tmp_path / "truth" / "classes.txt").write_text("road\nsky\ncar\nbus\ntram\n")
    evaluation = apf.evaluate(*paths, "semantic")
    assert dict(evaluation.summary.rows()) == exactly(of_matrix(truth, found))
    named = evaluation.metrics.join(evaluation.dataset.categories, on="category_id")
    assert dict(named.select("name", "iou").rows()) == exactly({"road": 2 / 3, "sky": 0, "car": 2 / 3, "bus": 0, "tram": None})
    assert dict(named.select("name", "accuracy").rows())["bus"] is None


def test_stored_compared_resampled(tmp_path: Path) -> None:
    truth, found = generated(3, 8)
    paths = write(tmp_path / "truth", truth), write(tmp_path / "found", found)
    evaluation = apf.evaluate(*paths, "semantic")
    evaluation.write_parquet(tmp_path / "stored")
    again = apf.read_evaluation(tmp_path / "stored")
    assert again.protocol == apf.SEMANTIC and again.by("image_id").equals(evaluation.by("image_id"))
    times = np.array([[2.0, 0, 1, 1, 1, 0, 3, 0]])
    ious = under_weights(evaluation, "iou", times.T)
    kept = [k for k, n in enumerate(times[0]) for _ in range(int(n))]
    copied = [[side[k] for k in kept] for side in (truth, found)]
    assert np.nanmean(ious) == exactly(of_matrix(copied[0], copied[1])["mIoU"])
    drawn = evaluation.draws(metric="fwIoU", n_resamples=5, seed=1)
    assert drawn.height == 5 and drawn["value"].n_unique() == 5
    other = apf.evaluate(paths[0], write(tmp_path / "other", truth[::-1]), "semantic")
    with pytest.warns(match="only 8 images"):
        compared = evaluation.compare(other, n_resamples=100)
    difference = dict(evaluation.summary.rows())["mIoU"] - dict(other.summary.rows())["mIoU"]
    assert abs(compared.filter(metric="mIoU")["difference"].item()) == exactly(abs(difference))


def test_there_are_no_scores(tmp_path: Path) -> None:
    truth, found = generated(1)
    evaluation = apf.evaluate(write(tmp_path / "truth", truth), write(tmp_path / "found", found), "semantic")
    assert evaluation.matches()["score"].null_count() == evaluation.matches().height
    for name in ("curves", "thresholds", "arrays", "errors", "error_impact", "label_errors", "calibration", "lrp", "froc"):
        with pytest.raises(ParameterError, match="SEMANTIC does not rank detections by score, so it has no"):
            getattr(evaluation, name)()
    assert evaluation.sql("SELECT count(*) FROM curves").item() == 0


def test_shards_have_the_same_numbers(tmp_path: Path) -> None:
    truth, found = generated(5, 6)
    whole = apf.evaluate(write(tmp_path / "truth", truth), write(tmp_path / "found", found), "semantic")
    apf.write_shards(whole.dataset, whole.detections, tmp_path / "shards", n=3)
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol="semantic")
    assert dict(sharded.summary.rows()) == exactly(dict(whole.summary.rows()))
    assert sharded.by("image_id")["fwIoU"].to_list() == exactly(whole.by("image_id")["fwIoU"].to_list())


def test_other_protocols_compare_no_pixels(tmp_path: Path) -> None:
    truth, found = generated(2)
    paths = write(tmp_path / "truth", truth), write(tmp_path / "found", found)
    with pytest.raises(ColumnError, match="no boxes; there are segment_id: did you mean protocol coco_panoptic or semantic"):
        apf.evaluate(*paths)
    boxes = "data/street/instances.json", "data/street/model_a.json"
    with pytest.raises(ColumnError, match="no column label_map, in which pixels are counted"):
        apf.evaluate(*boxes, "semantic")


def test_label_maps_of_classes_have_no_segments(tmp_path: Path) -> None:
    truth, found = generated(2)
    paths = write(tmp_path / "truth", truth), write(tmp_path / "found", found)
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
    paths = write(tmp_path / "truth", truth), write(tmp_path / "found", truth)
    whole = apf.evaluate(*paths, "semantic")
    nothing = apf.evaluate(whole.dataset, whole.detections.clear(), "semantic")
    assert nothing.summary["value"].to_list() == [0.0] * 4
    assert nothing.intervals(n_resamples=4)["estimate"].to_list() == [0.0] * 4

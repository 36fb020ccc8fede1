"""Diagnoses are those of tidecv 1.0.1, hotcoco 1.3.0 and supervision where the rules are the same.

In the generated sets, every category has an annotation that is found and that nothing else touches, scores are all different,
and there are no crowds and no more than 100 detections in an image: the other cases are in DIAGNOSIS.md 1.4. tidecv reads
recall at x / 100 instead of `linspace`, and shows no rise below 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf

pytestmark = pytest.mark.slow  # tidecv is imported with its plotting libraries
N_CATEGORIES, N_IMAGES = 4, 6
Row = dict[str, Any]
KINDS = ("cls", "loc", "both", "dupe", "bkg", "miss", "fp", "fn")


def generated(seed: int) -> tuple[dict[str, list[Row]], list[Row]]:
    """Objects in a few places of each image, and detections around them, many of another category or shifted far."""
    rng = np.random.default_rng(seed)
    annotations: list[Row] = []
    results: list[Row] = []
    for category in range(1, N_CATEGORIES + 1):
        anchor = {"image_id": 1, "category_id": category, "bbox": [1000.0 * category, 0.0, 20.0, 30.0]}
        annotations.append(anchor)
        results.append(anchor)
    for image in range(2, N_IMAGES + 2):
        for place in range(3):
            annotations += [around(rng, image, place, 4) for _ in range(rng.integers(0, 3))]
            results += [around(rng, image, place, rng.choice([2, 8, 20, 60])) for _ in range(rng.integers(0, 6))]
    scores = rng.permutation(len(results)) / len(results)
    truth = {
        "images": [{"id": image, "width": 5000, "height": 5000} for image in range(1, N_IMAGES + 2)],
        "categories": [{"id": category, "name": f"c{category}"} for category in range(1, N_CATEGORIES + 1)],
        "annotations": [
            row | {"id": number, "area": row["bbox"][2] * row["bbox"][3], "iscrowd": 0}
            for number, row in enumerate(annotations, 1)
        ],
    }
    return truth, [row | {"score": 0.05 + 0.9 * float(score)} for row, score in zip(results, scores, strict=True)]


def around(rng: np.random.Generator, image: int, place: int, spread: float) -> Row:
    x, y = 300 * place + 500 + rng.normal(0, spread, 2)
    width, height = rng.uniform(40, 60, 2)
    category = int(rng.integers(1, N_CATEGORIES + 1) if rng.random() < 0.3 else 1 + place)
    return {"image_id": image, "category_id": category, "bbox": [float(each) for each in (x, y, width, height)]}


def ours(truth: Any, results: Any, **options: Any) -> tuple[float, dict[str, float], dict[str, int]]:
    impact = apf.evaluate(truth, results, **options).error_impact(0.5)
    mean = impact.filter(pl.col("category_id").is_null())
    counts = dict(mean.select("error", "n").rows())
    return mean["ap"][0], dict(mean.select("error", "delta_ap").rows()), counts


@pytest.mark.parametrize("seed", range(25))
def test_tidecv(seed: int) -> None:
    tidecv = pytest.importorskip("tidecv", reason="install the extra test")
    truth, results = generated(seed)
    data, found = tidecv.Data("truth"), tidecv.Data("found")
    for row in truth["annotations"]:
        data.add_ground_truth(row["image_id"], row["category_id"], row["bbox"])
    for row in results:
        found.add_detection(row["image_id"], row["category_id"], row["score"], row["bbox"])
    for each in (data, found):
        for category in truth["categories"]:
            each.add_class(category["id"], category["name"])
        for image in truth["images"]:  # it leaves out images that it does not know
            each.add_image(image["id"], f"{image['id']}.jpg")
    tide = tidecv.TIDE()
    run = tide.evaluate(data, found, mode=tidecv.TIDE.BOX)
    errors = tide.get_all_errors()
    theirs: dict[str, float] = {}
    for part in errors.values():
        (values,) = part.values()
        theirs |= {name.lower(): value / 100 for name, value in values.items()}
    names = {"falsepos": "fp", "falseneg": "fn"}
    theirs = {names.get(name, name): value for name, value in theirs.items()}
    ap, rises, counts = ours(truth, results, recall_levels=[k / 100 for k in range(101)])
    assert run.ap / 100 == pytest.approx(ap, abs=1e-9, rel=0)
    assert theirs == pytest.approx({kind: max(rise, 0) for kind, rise in rises.items()}, abs=1e-9, rel=0)
    numbers = {error.short_name.lower(): n for error, n in run.count_errors().items()}
    assert numbers == {kind: counts[kind] for kind in numbers}
    assert set(numbers) == {*KINDS} - {"fp", "fn"}


def by_hotcoco(truth: Any, results: Any, folder: Path) -> Any:
    hotcoco = pytest.importorskip("hotcoco", reason="install the extra test")
    paths = [folder / name for name in ("truth.json", "results.json")]
    for path, content in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(content))
    data = hotcoco.COCO(str(paths[0]))
    evaluation = hotcoco.COCOeval(data, data.loadRes(str(paths[1])), "bbox")
    evaluation.evaluate()
    return evaluation


@pytest.mark.parametrize("seed", range(25))
def test_hotcoco(seed: int, tmp_path: Path) -> None:
    truth, results = generated(seed)
    theirs = by_hotcoco(truth, results, tmp_path).tide_errors()
    ap, rises, counts = ours(truth, results)
    assert theirs["ap_base"] == pytest.approx(ap, abs=1e-9, rel=0)
    assert {kind.lower(): rise for kind, rise in theirs["delta_ap"].items()} == pytest.approx(rises, abs=1e-9, rel=0)
    numbers = {kind.lower(): n for kind, n in theirs["counts"].items()}
    assert numbers == {kind: counts[kind] for kind in numbers}


@pytest.mark.parametrize("seed", range(25))
def test_calibration_and_label_errors_of_hotcoco(seed: int, tmp_path: Path) -> None:
    """Of label errors it has two kinds."""
    truth, results = generated(seed)
    theirs, evaluation = by_hotcoco(truth, results, tmp_path), apf.evaluate(truth, results)
    expected, found = theirs.calibration(), evaluation.calibration(0.5).row(0, named=True)
    assert [expected[name] for name in ("ece", "mce")] == pytest.approx([found["ece"], found["mce"]], abs=1e-9, rel=0)
    assert expected["num_detections"] == found["n"]
    names = {"missing_annotation": "missing", "wrong_label": "wrong_class"}
    listed = {(names[row["type"]], row["dt_id"], row["gt_id"]) for row in theirs.image_diagnostics()["label_errors"]}
    suspects = evaluation.label_errors(0.5).filter(pl.col("kind").is_in(["missing", "wrong_class"]))
    assert listed == set(suspects.select("kind", "detection_id", "annotation_id").rows())


A, MOVED = [0, 0, 10, 10], [2, 0, 10, 10]
# C1 to C4 and C6 of DIAGNOSIS.md 2.2, where supervision has the same cells
MISTAKEN: dict[str, tuple[list[tuple[int, Any]], list[tuple[int, Any, float]]]] = {
    "C1": ([(1, A)], [(2, A, 0.9), (1, A, 0.8)]),
    "C2": ([(1, A)], [(2, A, 0.9)]),
    "C3": ([(1, A)], [(1, A, 0.9), (1, A, 0.8)]),
    "C4": ([(1, A), (2, MOVED)], [(1, MOVED, 0.9), (2, A, 0.8)]),
    "C6": ([(1, A)], [(2, A, 0.9), (1, MOVED, 0.5)]),
}


@pytest.mark.parametrize("name", MISTAKEN)
def test_supervision(name: str) -> None:
    supervision = pytest.importorskip("supervision")
    expected, found = MISTAKEN[name]

    def corners(boxes: list[Any]) -> np.ndarray:
        return np.array([[x, y, x + width, y + height] for x, y, width, height in boxes], dtype=float)

    matrix = supervision.ConfusionMatrix.from_detections(
        predictions=[
            supervision.Detections(
                xyxy=corners([box for _, box, _ in found]),
                class_id=np.array([category - 1 for category, *_ in found]),
                confidence=np.array([score for *_, score in found]),
            )
        ],
        targets=[
            supervision.Detections(
                xyxy=corners([box for _, box in expected]), class_id=np.array([category - 1 for category, _ in expected])
            )
        ],
        classes=["c1", "c2"],
        conf_threshold=0.3,
        iou_threshold=0.5,
    ).matrix
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1, "name": "c1"}, {"id": 2, "name": "c2"}],
        "annotations": [{"id": k, "image_id": 1, "category_id": c, "bbox": box} for k, (c, box) in enumerate(expected)],
    }
    results = [{"image_id": 1, "category_id": c, "bbox": box, "score": score} for c, box, score in found]
    cells = np.zeros((3, 3))
    table = apf.evaluate(truth, results).confusion(0.5, min_score=0.3)
    for true, other, n in table.select(pl.col("true_category_id", "found_category_id").fill_null(3), "n").rows():
        cells[true - 1, other - 1] = n
    assert matrix.tolist() == cells.tolist()


def test_the_sets_have_all_kinds_of_errors() -> None:
    totals = dict.fromkeys(KINDS, 0)
    for seed in range(25):
        _, _, counts = ours(*generated(seed))
        totals = {kind: totals[kind] + counts[kind] for kind in KINDS}
    assert min(totals.values()) >= 20

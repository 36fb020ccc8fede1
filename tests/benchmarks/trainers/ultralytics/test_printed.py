"""The table of a validation: precision and recall by numpy.interp, class by class, at the score of the best mean F1."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.benchmarks.trainers.ultralytics.printed import validation_table

pytestmark = pytest.mark.filterwarnings("ignore::apframe.exceptions.ApframeWarning")
STREET = ("data/street/instances.json", "data/street/model_a.json")
BOX: dict[str, Any] = {"y": 0.0, "width": 10.0, "height": 10.0}


def at_best_score(ev: apf.Evaluation) -> list[tuple[float, float]]:
    """Precision and recall of each class with instances, as the kit's loop reads them from the rows of the curves."""
    levels, curves = np.linspace(0, 1, 1000), []
    n_instances = dict(ev.dataset.annotations.group_by("category_id").len().rows())
    rows = ev.curves(0.5)
    for category_id in sorted(n_instances):
        own = rows.filter(category_id=category_id)
        score = own["score"].to_numpy()
        precision = np.interp(-levels, -score, own["precision"].to_numpy(), left=1) if len(own) else np.zeros(1000)
        recall = np.interp(-levels, -score, own["recall"].to_numpy(), left=0) if len(own) else np.zeros(1000)
        curves.append((precision, recall))
    f1 = np.mean([2 * p * r / (p + r + 1e-16) for p, r in curves], axis=0)
    padded = np.concatenate([np.full(50, f1[0]), f1, np.full(50, f1[-1])])
    best = int(np.argmax([padded[k : k + 101].mean() for k in range(1000)]))
    return [(p[best], r[best]) for p, r in curves]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["ultralytics", "ultralytics_8_4_35"])
def test_precision_and_recall_of_the_best_score(protocol: str) -> None:
    ev = apf.evaluate(*STREET, protocol)
    table, expected = validation_table(ev), np.array(at_best_score(ev))
    assert table.select("P", "R").to_numpy()[1:] == pytest.approx(expected, abs=1e-9)
    assert table.select("P", "R").row(0) == pytest.approx(expected.mean(axis=0), abs=1e-9)
    classes = ev.by(level="category").sort("category_id")
    assert table["mAP50"].to_list() == pytest.approx([ev["AP50"], *classes["AP50"]])
    assert table["mAP50-95"].to_list() == pytest.approx([ev["AP"], *classes["AP"]])
    assert table.row(0)[:3] == ("all", 300, 2400)


def small(**options: Any) -> apf.Evaluation:
    """A cat that is found, one that is not, a dog without detections, and no birds."""
    truth = apf.Dataset(
        {"image_id": [1, 2, 3]}, {"category_id": [0, 1, 2], "name": ["cat", "dog", "bird"]},
        pl.DataFrame([BOX | {"image_id": k, "x": 0.0, "category_id": each} for k, each in ((1, 0), (2, 0), (2, 1))]),
    )  # fmt: skip
    detections = [(1, 0.0, 0, 0.9), (1, 50.0, 0, 0.5), (3, 50.0, 2, 0.4)]
    rows = [BOX | {"image_id": k, "x": x, "category_id": each, "score": score} for k, x, each, score in detections]
    return apf.evaluate(truth, pl.DataFrame(rows), "ultralytics", **options)


def test_classes_without_instances_or_detections() -> None:
    """Below .5 the cats have a precision of .5; the mean over classes with instances counts dogs as 0."""
    rows = validation_table(small()).select("Class", "Images", "Instances", "P", "R").rows()
    assert [row[:3] for row in rows] == [("all", 3, 3), ("cat", 2, 2), ("dog", 1, 1), ("bird", 0, 0)]
    (_, _, _, whole, _), (_, _, _, cat, recall), dog, bird = rows
    assert recall == 0.5 and 0.5 < cat <= 1 and whole == pytest.approx(cat / 2)
    assert (dog[3:], bird[3:]) == ((0.0, 0.0), (None, None))


def test_pooled_classes_have_one_row() -> None:
    table = validation_table(small(agnostic=True))
    assert table.select("Class", "Images", "Instances").rows() == [("all", 3, 3)]
    assert table["R"].to_list() == [pytest.approx(1 / 3)]


@pytest.mark.slow
def test_chosen_classes_alone_are_counted() -> None:
    assert validation_table(small(categories=["dog"])).select("Class", "Images", "Instances").rows() == [
        ("all", 3, 1), ("dog", 1, 1),
    ]  # fmt: skip
    assert str(small().where("annotations.x > 10")).splitlines()[1].split() == ["all", "3", "0", "–", "–", "–", "–"]

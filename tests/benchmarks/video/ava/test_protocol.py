"""AVA's frame mAP: the values that its kit printed, its limit, and rows that its program drops."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import apframe as apf
from apframe.exceptions import UnknownCategoryWarning, UnknownImageWarning
from tests.benchmarks.video.ava.row import ACTIONS, BOX, MOST, Data, Row, by_loops, frames
from tests.protocols.generated import sets

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning",
    "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.UnknownImageWarning",
)


def dataset_of(truth: dict[str, list[Row]]) -> apf.Dataset:
    columns = {"image_id": pl.String, "category_id": pl.String, **dict.fromkeys(BOX, pl.Float64)}
    return apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": ACTIONS}, pl.DataFrame(truth["annotations"], columns))


def evaluate(data: Data) -> apf.Evaluation:
    return apf.evaluate(dataset_of(data[0]), pl.DataFrame(data[1]), "ava")


A, B, FALSE = (0.0, 0.0, 0.25, 0.25), (0.5, 0.5, 0.25, 0.25), (0.75, 0.0, 0.125, 0.125)
Found = tuple[str, tuple[float, float, float, float], float]


def one_frame(annotations: list[tuple[str, Any]], results: list[Found], *, others: list[Row] | None = None) -> Data:
    def row(action: str, box: Any) -> Row:
        return {"image_id": "clip,902.000000", "category_id": action, **dict(zip(BOX, box, strict=True))}

    truth = {"images": [{"image_id": name} for name in ("clip,902.000000", "clip,903.000000")]}
    detections = [row(action, box) | {"score": score} for action, box, score in results]
    return truth | {"annotations": [row(action, box) for action, box in annotations]}, detections + (others or [])


def outside(frame: str, score: float) -> Row:
    return {"image_id": frame, "category_id": "stand", **dict(zip(BOX, A, strict=True)), "score": score}


STANDING = [("stand", A), ("stand", B)]
FOUND: list[Found] = [("stand", A, 0.9), ("stand", FALSE, 0.8), ("stand", B, 0.7)]
MANY: list[Found] = [*[("sit", FALSE, 0.9 - k / 1000) for k in range(48)], ("stand", A, 0.95), ("stand", B, 0.1)]
# what the kit printed: annotations, results, AP of stand
OF_THE_KIT: dict[str, tuple[list[tuple[str, Any]], list[Found], list[Row], float]] = {
    "a false one in between": (STANDING, FOUND, [], 0.833333333),
    "twice the same": (STANDING, [("stand", A, 0.9), ("stand", A, 0.8), ("stand", B, 0.7)], [], 0.833333333),
    "first, in an unknown frame": (STANDING, FOUND[::2], [outside("other,902.000000", 0.99)], 1),
    "first, in a frame without boxes": (STANDING, FOUND[::2], [outside("clip,903.000000", 0.99)], 0.666666667),
    "50 rows": (STANDING, MANY, [], 1),
    "51 rows": (STANDING, [("sit", FALSE, 0.5), *MANY], [], 0.5),
    "of equal scores the false one first": ([("stand", A)], [("stand", FALSE, 0.9), ("stand", A, 0.9)], [], 0.5),
    "half": ([("stand", A)], [("stand", (0.0, 0.0, 0.25, 0.125), 0.9)], [], 1),
}


def test_frames_outside_the_split_are_named() -> None:
    data = one_frame(STANDING, FOUND, others=[outside("other,902.000000", 0.99)])
    message = (
        r"^1 of 4 detections has an unknown image_id and was dropped: 'other,902.000000'; .*; the program of the benchmark AVA"
    )
    with pytest.warns(UnknownImageWarning, match=message):
        evaluate(data)
    evaluator = apf.Evaluator(dataset_of(data[0]), "ava")
    with pytest.warns(UnknownImageWarning, match=message):
        evaluator.update(pl.DataFrame(data[1]))


@pytest.mark.parametrize(("annotations", "results", "others", "ap"), OF_THE_KIT.values(), ids=OF_THE_KIT)
def test_numbers_of_the_kit(annotations: Any, results: Any, others: Any, ap: float) -> None:
    evaluation = evaluate(one_frame(annotations, results, others=others))
    assert evaluation.metrics.filter(category_id="stand")["ap"].to_list() == pytest.approx([ap], abs=1e-9)


def test_the_mean_is_over_actions_with_annotations() -> None:
    evaluation = evaluate(one_frame([*STANDING, ("sit", A)], [*FOUND, ("sit", A, 0.6)]))
    assert evaluation.summary["value"].to_list() == pytest.approx([0.916666667], abs=1e-9)


def test_other_actions_take_no_place_of_the_fifty() -> None:
    results: list[Found] = [("swim", FALSE, 0.9)] * 60 + [("stand", A, 0.5), ("stand", B, 0.4)]
    with pytest.warns(UnknownCategoryWarning, match="60 of 62 detections have an unknown category_id"):
        assert evaluate(one_frame(STANDING, results)).summary["value"].to_list() == [1]


@pytest.mark.slow
@given(sets(frames))
@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
def test_each_action_equals_loops(data: Data) -> None:
    expected = by_loops(data)
    assert dict(evaluate(data).metrics.select("category_id", "ap").rows()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_generated_frames_reach_the_limit() -> None:
    results = [row | {"set": seed} for seed in range(50) for row in frames(np.random.default_rng(seed), 1 + seed % 9)[1]]
    assert max(Counter((row["set"], row["image_id"]) for row in results).values()) > MOST

"""AVA's frame mAP: every number is that of loops over the rules of its kit, and the values that the kit printed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import UnknownCategoryWarning, UnknownImageWarning
from tests.parity.reference import close
from tests.protocols.generated import area_under_envelope, assert_sets_equal, joined_by_name, mean, on_many_sets, sets
from tests.protocols.parts_of_sets import assert_parts_are_the_whole

pytestmark = pytest.mark.filterwarnings(
    "ignore::apframe.exceptions.NoAnnotationsWarning",
    "ignore::apframe.exceptions.NothingMatchesWarning",
    "ignore::apframe.exceptions.UnknownImageWarning",
    "ignore::apframe.exceptions.FewUnitsWarning",
)

Row = dict[str, Any]
Data = tuple[dict[str, list[Row]], list[Row]]
ACTIONS = ["sit", "stand", "walk"]
BOX = ("x", "y", "width", "height")
MOST = 50


def box_iou(one: Row, other: Row) -> float:
    width = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    height = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    if width <= 0 or height <= 0:
        return 0.0
    areas = one["width"] * one["height"] + other["width"] * other["height"]
    return float(width * height / (areas - width * height))


def judge(truth: list[Row], results: list[Row]) -> list[bool]:
    """Which detections of an action are true, best score first: each looks at the annotation that it overlaps most alone."""
    outcomes, taken = [], set[int]()
    for row in sorted(results, key=lambda row: -row["score"]):
        best, at = 0.0, None
        for number, other in enumerate(truth):
            if other["image_id"] == row["image_id"] and box_iou(row, other) > best:
                best, at = box_iou(row, other), number
        is_true = at is not None and best >= 0.5 and at not in taken
        if at is not None and is_true:
            taken.add(at)
        outcomes.append(is_true)
    return outcomes


def by_loops(data: Data, images: set[str] | None = None) -> dict[str, float | None]:
    """AP of each action, of some frames or all."""
    known = {row["image_id"] for row in data[0]["images"] if images is None or row["image_id"] in images}
    found: list[Row] = []
    for frame in known:
        own = [row for row in data[1] if row["image_id"] == frame and row["category_id"] in ACTIONS]
        kept = sorted(range(len(own)), key=lambda number: -own[number]["score"])[:MOST]
        found += [own[number] for number in sorted(kept)]
    truth = [row for row in data[0]["annotations"] if row["image_id"] in known]
    values: dict[str, float | None] = {}
    for action in ACTIONS:
        expected, results = ([row for row in rows if row["category_id"] == action] for rows in (truth, found))
        values[action] = area_under_envelope(judge(expected, results), len(expected)) if expected else None
    return values


def frames(random: np.random.Generator, n_images: int) -> Data:
    """Boxes on a grid of 1/32 of the frame, some with several actions; in some frames more rows than the limit."""
    annotations: list[Row] = []
    results: list[Row] = []
    names = [f"clip{key % 2},{900 + key:.6f}" for key in range(n_images)]
    for name in [*names, "elsewhere,900.000000"]:
        crowded = random.random() < 0.2
        for _ in range(random.integers(0, 5)):
            x, y, width, height = (random.integers((0, 0, 4, 4), (20, 20, 12, 12)) / 32).tolist()
            for action in random.choice(ACTIONS, random.integers(1, 3), replace=False).tolist():
                row = {"image_id": name, "category_id": action, "x": x, "y": y, "width": width, "height": height}
                if name in names:
                    annotations.append(row)
                for _ in range(random.integers(5, 30) if crowded else random.integers(0, 4)):
                    moved = row | {key: row[key] + float(random.integers(-1, 2)) / 32 for key in BOX}
                    if random.random() < 0.1:
                        moved["category_id"] = str(random.choice([*ACTIONS, "swim"]))
                    results.append(moved)
    results = [results[place] for place in random.permutation(len(results))]
    scores = (random.permutation(len(results)) + 1) / (len(results) + 1)
    truth = {"images": [{"image_id": name, "video": name.split(",")[0]} for name in names], "annotations": annotations}
    return truth, [row | {"score": score} for row, score in zip(results, scores.tolist(), strict=True)]


def dataset_of(truth: dict[str, list[Row]]) -> apf.Dataset:
    columns = {"image_id": pl.String, "category_id": pl.String, **dict.fromkeys(BOX, pl.Float64)}
    return apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": ACTIONS}, pl.DataFrame(truth["annotations"], columns))


def evaluate(data: Data) -> apf.Evaluation:
    return apf.evaluate(dataset_of(data[0]), pl.DataFrame(data[1]), "ava")


@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
@given(sets(frames))
def test_numbers_equal_loops(data: Data) -> None:
    evaluation, expected = evaluate(data), by_loops(data)
    metrics = evaluation.metrics.sort("category_id")
    assert metrics["category_id"].to_list() == list(expected)
    assert metrics["ap"].to_list() == close(expected.values())
    assert evaluation.summary.rows() == [("AP", *close([mean(expected.values())]))]


@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
@on_many_sets
def test_numbers_of_many_sets_equal_loops(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    parts = {f"{seed:03}": frames(np.random.default_rng(seed), 1 + seed % 9) for seed in seeds}
    data = joined_by_name(parts)
    assert max(Counter(row["image_id"] for row in data[1]).values()) > MOST  # the limit matters
    assert_sets_equal(evaluate(data), [by_loops(part) for part in parts.values()])


A, B, FALSE = (0.0, 0.0, 0.25, 0.25), (0.5, 0.5, 0.25, 0.25), (0.75, 0.0, 0.125, 0.125)
Found = tuple[str, tuple[float, float, float, float], float]


def one_frame(annotations: list[tuple[str, Any]], results: list[Found], *, others: list[Row] | None = None) -> Data:
    def row(action: str, box: Any) -> Row:
        return {"image_id": "clip,902.000000", "category_id": action, **dict(zip(BOX, box, strict=True))}

    truth = {"images": [{"image_id": name} for name in ("clip,902.000000", "clip,903.000000")]}
    found = [row(action, box) | {"score": score} for action, box, score in results]
    return truth | {"annotations": [row(action, box) for action, box in annotations]}, found + (others or [])


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


@pytest.mark.filterwarnings("ignore::apframe.exceptions.UnknownCategoryWarning")
def test_stored_sets_slices_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    data = frames(np.random.default_rng(4), 9)
    evaluation = evaluate(data)
    evaluation.write_parquet(tmp_path / "stored")
    for each in (evaluation, apf.read_evaluation(tmp_path / "stored")):
        assert_frame_equal(each.summary, evaluation.summary)
        by = each.by("video")
        for video in ("clip0", "clip1"):
            inside = {row["image_id"] for row in data[0]["images"] if row["video"] == video}
            expected = mean(by_loops(data, inside).values())
            assert by.filter(video=video)["AP"].to_list() == close([expected])
    evaluator = apf.Evaluator(dataset_of(data[0]), "ava")
    found = pl.DataFrame(data[1])
    for name in found["image_id"].unique().sort():
        evaluator.update(found.filter(pl.col("image_id") == name))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)
    assert evaluation.intervals(n_resamples=20)["estimate"].to_list() == close(evaluation.summary["value"])


@pytest.mark.slow
def test_parts_are_the_whole(tmp_path: Path) -> None:
    truth, results = frames(np.random.default_rng(11), 12)
    found = pl.DataFrame(results).filter(pl.col("image_id") != "elsewhere,900.000000", pl.col("category_id") != "swim")
    scores = (np.random.default_rng(1).permutation(found.height) + 1) / (found.height + 1)
    one = assert_parts_are_the_whole(dataset_of(truth), found.with_columns(score=scores), apf.AVA, tmp_path, "video")
    other = apf.evaluate(dataset_of(truth), found.with_columns(score=scores[::-1]), apf.AVA)
    compared = one.compare(other, metrics="AP", n_resamples=40)
    assert compared["difference"].to_list() == close([other["AP"] - one["AP"]])

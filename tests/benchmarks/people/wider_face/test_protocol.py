"""WIDER_FACE: the cases of the kit, its rules as a plain loop on generated sets, and everything after the matches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import apframe as apf
from apframe.exceptions import BoxFormatWarning, ColumnError, ParameterError
from tests.benchmarks.people.wider_face.reference import average_precision
from tests.metrics.reading import under_weights
from tests.protocols.generated import on_many_sets
from tests.protocols.many_sets import together

Row = dict[str, Any]
Box = tuple[float, float, float, float]
SETS = ("easy", "medium", "hard")
NAMES = [f"AP_{name}" for name in SETS]
G, G2, G3, F = (10, 10, 20, 20), (100, 100, 20, 20), (200, 10, 8, 8), (500, 500, 20, 20)


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def face(box: Box, inside: bool | str = True, image: str = "a") -> Row:
    """A face of all sets, of none, or of the one that is named and all larger ones."""
    sets = SETS[SETS.index(inside) :] if isinstance(inside, str) else SETS if inside else ()
    return {"image_id": image, "category_id": 1, **dict(zip(("x", "y", "width", "height"), map(float, box), strict=True)),
            **{name: name in sets for name in SETS}}  # fmt: skip


def found(box: Box, score: float, image: str = "a") -> Row:
    return {"image_id": image, "category_id": 1, **dict(zip(("x", "y", "width", "height"), map(float, box), strict=True)),
            "score": score}  # fmt: skip


def evaluate(truth: list[Row], detections: list[Row], images: Any = ("a", "b"), **options: Any) -> apf.Evaluation:
    rows = images if isinstance(images, dict) else {"image_id": list(images)}
    dataset = apf.Dataset(rows, {"category_id": [1], "name": ["face"]}, pl.DataFrame(truth) if truth else {})
    table: Any = pl.DataFrame(detections, schema_overrides={"score": pl.Float64}) if detections else {}
    return apf.evaluate(dataset, table, protocol=apf.WIDER_FACE, **options)


def summary(evaluation: apf.Evaluation) -> list[float | None]:
    return evaluation.summary["value"].to_list()


THREE = [face(G), face(G2), face(G3, inside=False)]


@pytest.mark.parametrize(
    ("truth", "detections", "value"),
    [
        pytest.param(THREE, [found(G, 0.9), found(F, 0.8), found(G2, 0.7), found(G3, 0.6)], 0.833333333, id="1"),
        pytest.param(THREE, [found(G, 0.9), found(G, 0.85), found(G2, 0.7)], 0.833333333, id="3"),
        pytest.param([face(G)], [found(G, 0.5), found(F, 1.0, "b")], 1, id="4"),
        pytest.param([face(G), face(G, False, "b")], [found(G, 0.5), found(F, 1.0, "b")], 0.5, id="4b"),
        pytest.param(
            [face(G), face(G3, inside=False), face(G2, inside=False)],
            [found(G3, 1.0), found(G, 0.9004), found(F, 0.9001), found(G2, 0)],
            0.5,
            id="5",
        ),
        pytest.param(THREE, [found(F, 0.3), found(G, 0.9), found(F, 0.1), found(G2, 0.8)], 1, id="6 sorted"),
        pytest.param(THREE, [found(G, 0.7), found(G2, 0.7)], 0, id="7"),
        pytest.param([face((0, 0, 1, 3))], [found((0, 0, 1, 1), 0.9), found(F, 0.1)], 1, id="8"),
        pytest.param(
            [face((0, 0, 20, 20)), face((0, 0, 20, 24), inside=False)],
            [found((0, 0, 20, 23), 0.9), found(F, 0.1)],
            0,
            id="9",
        ),
        pytest.param(
            [face((50 * k, 0, 20, 20)) for k in range(3)],
            [found((50 * k, 0, 20, 20), 0.9 - k / 5) for k in range(3)]
            + [found((50 * k, 900, 20, 20), 0.8 - k / 5) for k in (0, 1)],
            0.755555556,
            id="list A",
        ),
    ],
)
def test_cases_of_the_kit(truth: list[Row], detections: list[Row], value: float) -> None:
    assert summary(evaluate(truth, detections)) == exactly([value] * 3)


def test_sets_hold_each_other_and_have_no_mean() -> None:
    truth = [face(G, "easy"), face(G2, "medium"), face(G3, "hard")]
    evaluation = evaluate(truth, [found(G, 0.9), found(F, 0.5), found(G3, 0.3)])
    assert dict(evaluation.summary.rows()) == exactly({"AP_easy": 1.0, "AP_medium": 0.5, "AP_hard": 1 / 3 + 2 / 9})
    assert evaluation.metrics["n_positives"].to_list() == [1, 2, 3]


def test_images_without_faces_are_noted() -> None:
    assert evaluate([face(G)], [found(G, 0.5)]).notes == ()
    evaluation = evaluate([face(G)], [found(G, 0.5), found(F, 1.0, "b"), found(F, 0.3, "b")])
    kit = "the program of the benchmark WIDER_FACE skips these images"
    assert evaluation.notes == (f"2 detections on 1 image without annotations ('b'): ignored; {kit}",)
    assert evaluation.matches().sort("score")["outcome"].to_list().count("ignored") == 2


def test_what_the_data_must_have() -> None:
    bare = pl.DataFrame([face(G)]).drop(SETS)
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": [1], "name": ["face"]}, bare)
    with pytest.raises(ColumnError, match=r"^annotations: no column easy, medium, hard; add it, as null where it is unknown"):
        apf.evaluate(dataset, pl.DataFrame([found(G, 0.5)]), protocol="wider_face")
    with pytest.warns(BoxFormatWarning, match="fractions"):
        evaluate([face((0.1, 0.1, 0.2, 0.2))], [found((0.1, 0.1, 0.2, 0.2), 0.9)])


def generated(rng: np.random.Generator, n_images: int = 4) -> tuple[list[Row], list[Row]]:
    """Faces of any set, many of them over each other, and detections of them or of nothing; some images have no face."""
    truth: list[Row] = []
    detections: list[Row] = []
    for image in (f"i{k}" for k in range(n_images)):
        for _ in range(rng.integers(0, 5)):
            box = (*rng.integers(0, 30, 2).tolist(), *rng.choice([8, 12, 20], 2).tolist())
            truth.append(face(box, str(rng.choice(SETS)) if rng.random() < 0.8 else False, image))
            for _ in range(rng.integers(0, 4)):
                off = rng.integers(-3, 4, 4) * (rng.random(4) < 0.5)
                x, y, width, height = (np.array(box) + off).tolist()
                detections.append(found((x, y, max(width, 1), max(height, 1)), 0, image))
        detections += [found((*rng.integers(0, 99, 2).tolist(), 9, 9), 0, image) for _ in range(rng.integers(0, 3))]
    # many in one step, none of them equal on an image
    for place, row in enumerate(detections):
        row["score"] = float(rng.choice([0.2, 0.5, 0.9]) + place / 1e6 + rng.random() / 1e4)
    return truth, detections


@on_many_sets
def test_as_a_plain_loop_does(seeds: range) -> None:
    """Every set, of which all are evaluated at once."""
    sets = {seed: generated(np.random.default_rng(seed), 2) for seed in seeds}
    table = evaluate(*together(sets, ["i0", "i1"])).by("set").sort("set").select(NAMES)
    for found, rows in zip(table.rows(), sets.values(), strict=True):
        assert list(found) == exactly([average_precision(*rows, name) for name in SETS])


def weathered(seed: int = 3, n_images: int = 12) -> tuple[list[Row], list[Row], Row]:
    truth, detections = generated(np.random.default_rng(seed), n_images)
    ids = [f"i{k}" for k in range(n_images)]
    return truth, detections, {"image_id": ids, "event": ["parade" if k % 3 == 0 else "meeting" for k in range(n_images)]}


def on(images: list[str], rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["image_id"] in images]


def test_slices_and_subsets_are_evaluations_of_their_images() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images)
    for event, row in zip(("meeting", "parade"), evaluation.by("event").sort("event").to_dicts(), strict=True):
        ids = [image for image, own in zip(images["image_id"], images["event"], strict=True) if own == event]
        expected = [average_precision(on(ids, truth), on(ids, detections), name) for name in SETS]
        assert [row[name] for name in NAMES] == exactly(expected)
        assert summary(evaluation.where(pl.col("event") == event)) == exactly(expected)


def test_slices_of_objects_are_matched_again() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images)
    row = evaluation.by(apf.bins("annotations.width", [0, 10, 30])).sort("width").to_dicts()[-1]
    wide = [each | {name: each[name] and each["width"] >= 10 for name in SETS} for each in truth]
    assert [row[name] for name in NAMES] == exactly([average_precision(wide, detections, name) for name in SETS])


def test_weights_are_copies_of_images() -> None:
    truth, detections, images = weathered(n_images=6)
    evaluation = evaluate(truth, detections, images)
    weights = np.random.default_rng(2).integers(0, 4, (6, 5)).astype(float)
    for weighting in range(5):
        copies = [(f"i{k}", f"i{k}/{copy}") for k in range(6) for copy in range(int(weights[k, weighting]))]
        rows = [
            [each | {"image_id": new} for k, new in copies for each in rows if each["image_id"] == k]
            for rows in (truth, detections)
        ]
        expected = summary(evaluate(rows[0], rows[1], [new for _, new in copies]))
        own = [under_weights(evaluation, "ap", weights, area_range=k)[0, weighting] for k in range(3)]
        assert own == pytest.approx([math.nan if value is None else value for value in expected], abs=1e-9, nan_ok=True)
    for column in ("ap", "recall"):
        halves, ones = (under_weights(evaluation, column, np.full((6, 1), weight), area_range=2) for weight in (0.5, 1.0))
        assert halves == exactly(ones)


def test_intervals_and_comparisons() -> None:
    truth, detections, images = weathered(n_images=30)
    worse = [row | {"x": row["x"] + 3} for row in detections]
    a, b = (evaluate(truth, rows, images) for rows in (detections, worse))
    intervals = a.intervals(n_resamples=60, method="bootstrap")
    assert intervals["metric"].to_list() == NAMES
    assert intervals["estimate"].to_list() == exactly(summary(a))
    assert ((intervals["low"] < intervals["estimate"]) & (intervals["estimate"] < intervals["high"])).all()
    by_event = a.intervals(n_resamples=20, method="bootstrap", by="event", metrics="AP_hard")
    assert by_event["estimate"].to_list() == exactly(a.by("event").sort("event")["AP_hard"].to_list())
    compared = a.compare(b, n_resamples=60, method="bootstrap", metrics="AP_hard")
    assert compared["difference"].item() == exactly(summary(b)[2] - summary(a)[2]) and compared["share_better"].item() < 0.1


@pytest.mark.slow
def test_stored_sets_queries_shards_and_updates_have_the_same_numbers(tmp_path: Path) -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images)
    evaluation.write_parquet(tmp_path / "run")
    stored = apf.read_evaluation(tmp_path / "run")
    assert stored.protocol == apf.WIDER_FACE
    assert_frame_equal(stored.summary, evaluation.summary)
    assert_frame_equal(stored.by("event"), evaluation.by("event"))
    assert stored.sql("SELECT ap FROM metrics WHERE area_range = 'hard'").item() == exactly(summary(evaluation)[2])
    dataset = evaluation.dataset
    for shard in range(3):
        (tmp_path / "shards" / str(shard)).mkdir(parents=True)
        ids = pl.Series(images["image_id"][shard::3]).implode()
        tables = {"images": dataset.images, "annotations": dataset.annotations, "detections": evaluation.detections}
        for name, frame in tables.items():
            frame.filter(pl.col("image_id").is_in(ids)).write_parquet(tmp_path / "shards" / str(shard) / f"{name}.parquet")
        dataset.categories.write_parquet(tmp_path / "shards" / str(shard) / "categories.parquet")
    sharded = apf.evaluate_shards(str(tmp_path / "shards" / "*"), protocol=apf.WIDER_FACE)
    assert_frame_equal(sharded.metrics, evaluation.metrics)
    assert_frame_equal(sharded.by("event"), evaluation.by("event"))
    evaluator = apf.Evaluator(dataset, protocol=apf.WIDER_FACE)
    for shard in range(3):
        ids = pl.Series(images["image_id"][shard::3]).implode()
        evaluator.update(evaluation.detections.drop("detection_id", "ignore").filter(pl.col("image_id").is_in(ids)))
    assert_frame_equal(evaluator.compute().summary, evaluation.summary)


def test_what_comes_after_the_matches() -> None:
    truth, detections, images = weathered()
    evaluation = evaluate(truth, detections, images)
    impact = evaluation.error_impact(0.5).filter(pl.col("category_id").is_null())
    assert impact.filter(error="fn")["delta_ap"].item() > 0
    assert evaluation.errors(0.5).height and evaluation.curves(0.5).height and evaluation.thresholds(0.5).height
    with pytest.raises(ParameterError, match=r"^arrays: wider_face has no recall levels"):
        evaluation.arrays()
    with pytest.raises(ParameterError, match=r"^definition: wider_face needs all rows of a list with their scores"):
        hits = pl.col("hit").ap.average_precision("score", definition="wider_face", n_positives=1)
        pl.DataFrame({"score": [0.5], "hit": [True]}).select(hits)

"""WIDER_FACE: the cases of the kit, its rules one by one, and what its scores and sets need after the matches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import BoxFormatWarning, ColumnError, ParameterError
from tests.benchmarks.people.wider_face.reference import average_precision
from tests.benchmarks.people.wider_face.row import DIFFICULTIES, Row, face, generated, seen
from tests.metrics.reading import under_weights

NAMES = [f"AP_{name}" for name in DIFFICULTIES]
G, G2, G3, F = (10, 10, 20, 20), (100, 100, 20, 20), (200, 10, 8, 8), (500, 500, 20, 20)


def exactly(values: Any) -> Any:
    return pytest.approx(values, abs=1e-9)


def evaluate(truth: list[Row], detections: list[Row], images: Any = ("a", "b")) -> apf.Evaluation:
    rows = images if isinstance(images, dict) else {"image_id": list(images)}
    dataset = apf.Dataset(rows, {"category_id": [1], "name": ["face"]}, pl.DataFrame(truth))
    table = pl.DataFrame(detections, schema_overrides={"score": pl.Float64})
    return apf.evaluate(dataset, table, protocol=apf.WIDER_FACE)


def summary(evaluation: apf.Evaluation) -> list[float | None]:
    return evaluation.summary["value"].to_list()


THREE = [face(G), face(G2), face(G3, inside=False)]


@pytest.mark.parametrize(
    ("truth", "detections", "value"),
    [
        pytest.param(THREE, [seen(G, 0.9), seen(F, 0.8), seen(G2, 0.7), seen(G3, 0.6)], 0.833333333, id="1"),
        pytest.param(THREE, [seen(G, 0.9), seen(G, 0.85), seen(G2, 0.7)], 0.833333333, id="3"),
        pytest.param([face(G)], [seen(G, 0.5), seen(F, 1.0, "b")], 1, id="4"),
        pytest.param([face(G), face(G, False, "b")], [seen(G, 0.5), seen(F, 1.0, "b")], 0.5, id="4b"),
        pytest.param(
            [face(G), face(G3, inside=False), face(G2, inside=False)],
            [seen(G3, 1.0), seen(G, 0.9004), seen(F, 0.9001), seen(G2, 0)],
            0.5,
            id="5",
        ),
        pytest.param(THREE, [seen(F, 0.3), seen(G, 0.9), seen(F, 0.1), seen(G2, 0.8)], 1, id="6 sorted"),
        pytest.param(THREE, [seen(G, 0.7), seen(G2, 0.7)], 0, id="7"),
        pytest.param([face((0, 0, 1, 3))], [seen((0, 0, 1, 1), 0.9), seen(F, 0.1)], 1, id="8"),
        pytest.param(
            [face((0, 0, 20, 20)), face((0, 0, 20, 24), inside=False)],
            [seen((0, 0, 20, 23), 0.9), seen(F, 0.1)],
            0,
            id="9",
        ),
        pytest.param(
            [face((50 * k, 0, 20, 20)) for k in range(3)],
            [seen((50 * k, 0, 20, 20), 0.9 - k / 5) for k in range(3)]
            + [seen((50 * k, 900, 20, 20), 0.8 - k / 5) for k in (0, 1)],
            0.755555556,
            id="list A",
        ),
    ],
)
def test_cases_of_the_kit(truth: list[Row], detections: list[Row], value: float) -> None:
    assert summary(evaluate(truth, detections)) == exactly([value] * 3)


def test_sets_hold_each_other_and_have_no_mean() -> None:
    truth = [face(G, "easy"), face(G2, "medium"), face(G3, "hard")]
    evaluation = evaluate(truth, [seen(G, 0.9), seen(F, 0.5), seen(G3, 0.3)])
    assert dict(evaluation.summary.rows()) == exactly({"AP_easy": 1.0, "AP_medium": 0.5, "AP_hard": 1 / 3 + 2 / 9})
    assert evaluation.metrics["n_positives"].to_list() == [1, 2, 3]


def test_images_without_faces_are_noted() -> None:
    assert evaluate([face(G)], [seen(G, 0.5)]).notes == ()
    evaluation = evaluate([face(G)], [seen(G, 0.5), seen(F, 1.0, "b"), seen(F, 0.3, "b")])
    kit = "the program of the benchmark WIDER_FACE skips these images"
    assert evaluation.notes == (f"2 detections on 1 image without annotations ('b'): ignored; {kit}",)
    assert evaluation.matches().sort("score")["outcome"].to_list().count("ignored") == 2


def test_what_the_data_must_have() -> None:
    bare = pl.DataFrame([face(G)]).drop(DIFFICULTIES)
    dataset = apf.Dataset({"image_id": ["a"]}, {"category_id": [1], "name": ["face"]}, bare)
    with pytest.raises(ColumnError, match=r"^annotations: no column easy, medium, hard; add it, as null where it is unknown"):
        apf.evaluate(dataset, pl.DataFrame([seen(G, 0.5)]), protocol="wider_face")
    with pytest.warns(BoxFormatWarning, match="fractions"):
        evaluate([face((0.1, 0.1, 0.2, 0.2))], [seen((0.1, 0.1, 0.2, 0.2), 0.9)])


def weathered(n_images: int) -> tuple[list[Row], list[Row], Row]:
    events = ["meeting" if k % 3 else "parade" for k in range(n_images)]
    images = {"image_id": [f"i{k}" for k in range(n_images)], "event": events}
    return *generated(np.random.default_rng(3), n_images), images


def test_slices_of_objects_are_matched_again() -> None:
    truth, detections, images = weathered(12)
    evaluation = evaluate(truth, detections, images)
    row = evaluation.by(apf.bins("annotations.width", [0, 10, 30])).sort("width").to_dicts()[-1]
    wide = [each | {name: each[name] and each["width"] >= 10 for name in DIFFICULTIES} for each in truth]
    assert [row[name] for name in NAMES] == exactly([average_precision(wide, detections, name) for name in DIFFICULTIES])


@pytest.mark.slow
def test_weights_are_copies_of_images() -> None:
    """Also where many scores are in one step."""
    truth, detections, images = weathered(6)
    evaluation = evaluate(truth, detections, images)
    weights = np.random.default_rng(2).integers(0, 4, (6, 5)).astype(float)
    average_precisions = [under_weights(evaluation, "ap", weights, area_range=k)[0] for k in range(3)]
    for weighting in range(5):
        copies = [(f"i{k}", f"i{k}/{copy}") for k in range(6) for copy in range(int(weights[k, weighting]))]
        rows = [
            [each | {"image_id": new} for k, new in copies for each in rows if each["image_id"] == k]
            for rows in (truth, detections)
        ]
        expected = [math.nan if value is None else value for value in summary(evaluate(*rows, [new for _, new in copies]))]
        assert [values[weighting] for values in average_precisions] == pytest.approx(expected, abs=1e-9, nan_ok=True)
    for column in ("ap", "recall"):
        halves, ones = (under_weights(evaluation, column, np.full((6, 1), weight), area_range=2) for weight in (0.5, 1.0))
        assert halves == exactly(ones)


@pytest.mark.slow
def test_intervals_of_slices_are_about_their_numbers() -> None:
    evaluation = evaluate(*weathered(30))
    by_event = evaluation.intervals(n_resamples=20, method="bootstrap", by="event", metrics="AP_hard")
    assert by_event["estimate"].to_list() == exactly(evaluation.by("event").sort("event")["AP_hard"].to_list())


def test_what_needs_recall_levels_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^arrays: wider_face has no recall levels"):
        evaluate([face(G)], [seen(G, 0.5)]).arrays()
    with pytest.raises(ParameterError, match=r"^definition: wider_face needs all rows of a list with their scores"):
        hits = pl.col("hit").ap.average_precision("score", definition="wider_face", n_positives=1)
        pl.DataFrame({"score": [0.5], "hit": [True]}).select(hits)

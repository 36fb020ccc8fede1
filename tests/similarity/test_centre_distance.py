"""Distances of centres, beside NumPy's norm; and protocols that go by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.matching.matchers import ByScore
from apframe.similarity.centre_distance import CentreDistance


def objects(n: int, seed: int, *, crowds: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    centre = {f"cuboid_{axis}": rng.integers(-8, 9, n) / 2 for axis in "xyz"}
    frame = pl.DataFrame({"cell": rng.integers(0, 4, n), **centre})
    return frame.with_columns(is_crowd=pl.Series(rng.random(n) < 0.3)) if crowds else frame


@pytest.mark.parametrize("axes", ["xy", "xyz"])
@pytest.mark.parametrize("seed", range(5))
def test_as_the_norm(axes: str, seed: int) -> None:
    detections, truth = objects(40, seed), objects(30, seed + 100, crowds=True)
    names = [f"cuboid_{axis}" for axis in axes]
    expected = {}
    for i, (cell, left) in enumerate(zip(detections["cell"], detections.select(names).rows(), strict=True)):
        for j, (other, right) in enumerate(zip(truth["cell"], truth.select(names).rows(), strict=True)):
            distance = np.linalg.norm(np.array(left) - np.array(right))
            if cell == other and distance <= 2:
                expected[i, j] = pytest.approx(-distance, abs=1e-15)
    table = CentreDistance(axes).pair(detections, truth, -2.0)
    assert table.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
    assert {(detection, annotation): value for detection, annotation, value in table.rows()} == expected
    assert expected


def test_no_limit() -> None:
    """Argoverse 2 pairs at any distance."""
    detections, truth = objects(40, 0), objects(30, 1, crowds=True)
    n_pairs = detections.join(truth, on="cell").height
    assert CentreDistance().pair(detections, truth, -np.inf).height == n_pairs


def test_equal_centres_have_no_distance() -> None:
    detections = objects(1, 3)
    assert CentreDistance("xyz").pair(detections, detections.with_columns(is_crowd=False), -1.0).rows() == [(0, 0, 0.0)]


def test_rows_without_a_cuboid() -> None:
    detections = pl.DataFrame({"cell": [1, 1], "cuboid_x": [0.0, None], "cuboid_y": [0.0, None]})
    assert CentreDistance().pair(detections, detections.with_columns(is_crowd=False), -9.0).rows() == [(0, 0, 0.0)]
    broken = detections.with_columns(cuboid_y=pl.Series([0.0, 1.0]))
    with pytest.raises(RowError, match=r"^annotations: cuboid_x is missing or not a finite number for row 2; supply"):
        CentreDistance().pair(detections, broken.with_columns(is_crowd=False), -9.0)
    with pytest.raises(ColumnError, match=r"^detections: no column cuboid_z, needed to compare by minus the distance"):
        CentreDistance("xyz").pair(detections, detections, -9.0)


def test_axes() -> None:
    with pytest.raises(ParameterError, match=r"^axes is .xy. or .xyz., not 'x'; did you mean xy\?$"):
        CentreDistance("x")


def test_thresholds_of_distances() -> None:
    protocol = apf.COCO.with_options(similarity=CentreDistance(), iou_thresholds=[-4, -2, -1, -0.5])
    assert protocol.iou_type == "distance" and protocol.iou_thresholds == (-4.0, -2.0, -1.0, -0.5)
    message = r"^iou_thresholds must lie in \(-inf, 0\] and increase, got 2.0; a distance of 2 m is -2$"
    with pytest.raises(ParameterError, match=message):
        protocol.with_options(iou_thresholds=2)
    with pytest.raises(ParameterError, match=message.replace("2.0;", "-1.0, -2.0;")):
        protocol.with_options(iou_thresholds=[-1, -2])
    with pytest.raises(ParameterError, match=r"^iou_thresholds must lie in \(0, 1\] and increase, got -2.0$"):
        apf.COCO.with_options(iou_thresholds=-2)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_a_distance_that_is_the_threshold(strict: bool) -> None:
    """By hand: distances of 2 and 0.5, which count at their own threshold unless it is strict."""
    cuboid = {"cuboid_length": [4.0, 4.0], "cuboid_width": [2.0, 2.0], "cuboid_height": [1.5, 1.5], "cuboid_yaw": [0.0, 0.0],
              "cuboid_z": [0.0, 0.0]}  # fmt: skip
    rows = {"image_id": [1, 2], "category_id": [1, 1], "cuboid_y": [0.0, 0.0], **cuboid}
    truth = apf.Dataset({"image_id": [1, 2]}, {"category_id": [1]}, rows | {"cuboid_x": [0.0, 0.0]})
    protocol = apf.Protocol(
        "distances", "", iou_type="distance", similarity=CentreDistance(), matcher=ByScore(strict=strict),
        iou_thresholds=(-2.0, -0.5),
        headlines=("AP",),
    )  # fmt: skip
    evaluation = apf.evaluate(truth, rows | {"cuboid_x": [2.0, 0.5], "score": [0.9, 0.8]}, protocol)
    outcomes = evaluation.matches(iou_threshold=-2)["outcome"].to_list()
    assert outcomes == (["fp", "tp", "fn"] if strict else ["tp", "tp"])
    nearer = evaluation.matches(iou_threshold=-0.5)["outcome"].to_list()
    assert nearer.count("tp") == (0 if strict else 1)
    assert sorted(evaluation.pairs["similarity"].to_list()) == [-2.0, -0.5]
    assert evaluation.metrics["iou_threshold"].to_list() == [-2.0, -0.5]


DRIVING = Path(__file__).parents[2] / "data" / "driving"


@pytest.fixture(scope="module")
def evaluation() -> apf.Evaluation:
    protocol = apf.COCO.with_options(similarity=CentreDistance(), iou_thresholds=[-4, -2, -1, -0.5], max_detections=[None])
    return apf.evaluate(DRIVING / "scenes", DRIVING / "model_a.json", protocol)


@pytest.mark.slow
def test_errors_by_distance(evaluation: apf.Evaluation) -> None:
    """The background is twice the threshold: what is farther from everything is `bkg`, what is nearer `loc`."""
    errors = evaluation.errors(-2).drop_nulls("detection_id")
    near = pl.max_horizontal(pl.col("same", "other"))
    assert (errors.filter(error="bkg").select(near.is_null() | (near <= -4)).to_series()).all()
    assert errors.filter(error="loc")["same"].is_between(-4, -2).all()
    assert errors.filter(error="bkg").height
    tight = evaluation.errors(-0.5).filter(error="loc")["same"]
    assert len(tight) and tight.is_between(-1, -0.5).all()
    impact = evaluation.error_impact(-2).filter(pl.col("category_id").is_null())
    assert impact["n"].sum() and (impact["delta_ap"] >= -1e-9).all()
    with pytest.raises(ParameterError, match=r"^background must be below the threshold -2, not -1$"):
        evaluation.errors(-2, background=-1)


def test_loss_by_distance(evaluation: apf.Evaluation) -> None:
    """LRP's part of localization is the mean distance; in LRP it counts as a share of the threshold."""
    row = evaluation.thresholds(-2).filter(pl.col("tp") > 0).row(-1, named=True)
    category = row["category_id"]
    hits = evaluation.matches(-2).filter(pl.col("category_id") == category, outcome="tp", score=pl.col("score"))
    hits = hits.filter(pl.col("score") >= row["score_threshold"])
    assert row["lrp_loc"] == pytest.approx(-hits["similarity"].mean(), abs=1e-12)  # type: ignore[operator]
    loss = -hits["similarity"].sum() / 2
    assert row["lrp"] == pytest.approx((loss + row["fp"] + row["fn"]) / (row["tp"] + row["fp"] + row["fn"]), abs=1e-12)


def test_what_needs_similarities_from_0_to_1(evaluation: apf.Evaluation) -> None:
    with pytest.raises(ParameterError, match=r"^label errors need similarities from 0 to 1, and COCO compares distances$"):
        evaluation.label_errors(-2)
    with pytest.raises(ParameterError, match=r"^target needs similarities from 0 to 1, and COCO compares distances$"):
        evaluation.calibration(-2, target="similarity")
    assert evaluation.calibration(-2)["n"].sum() > 0


@pytest.mark.slow
def test_stored_and_in_sql(evaluation: apf.Evaluation, tmp_path: Path) -> None:
    evaluation.write_parquet(tmp_path / "run", tables=["errors", "lrp"])
    again = apf.read_evaluation(tmp_path / "run")
    assert again.protocol == evaluation.protocol and again.summary.equals(evaluation.summary)
    n = again.sql("SELECT count(*) FROM matches WHERE iou_threshold = -2 AND area_range = 'all' AND outcome = 'tp'").item()
    assert n == evaluation.matches(-2).filter(outcome="tp").height
    assert again.sql("SELECT count(*) FROM errors").item() == evaluation.errors(-4).height


def test_false_positives_of_models_are_the_same_if_they_overlap(evaluation: apf.Evaluation) -> None:
    changes = evaluation.changes(evaluation, -2)
    assert set(changes["change"].unique()) <= {"found", "missed", "fp_kept"} and changes.filter(change="fp_kept").height

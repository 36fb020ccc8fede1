"""Visual Genome's relations: the rules of neural-motifs' sg_eval.py one by one, what has no numbers, and bad rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import ColumnError, ParameterError, RowError
from tests.benchmarks.relations.visual_genome.row import RELATIONS, Data, Row, crowded, recalls, relation, scenes
from tests.metrics.reading import under_weights
from tests.parity.reference import close
from tests.protocols.generated import mean

LIMITS = [1, 3, 7]


def evaluate(data: Data, protocol: str = "visual_genome", **options: Any) -> apf.Evaluation:
    truth, results = data
    dataset = apf.Dataset(pl.DataFrame(truth["images"]), {"category_id": RELATIONS}, pl.DataFrame(truth["annotations"]))
    return apf.evaluate(dataset, pl.DataFrame(results), protocol, **({"max_detections": LIMITS} | options))


SMALL, FAR = (0, 0, 9, 9), (50, 0, 9, 9)
RIDING = relation(1, "riding", ("man", SMALL), ("horse", FAR))


def small(annotations: list[Row], results: list[Row]) -> Data:
    return {"images": [{"image_id": 1}, {"image_id": 2}], "annotations": annotations}, results


def test_one_detection_finds_several_relations() -> None:
    """Two that are the same but for a pixel; images without relations do not count."""
    near = relation(1, "riding", ("man", (1, 0, 9, 9)), ("horse", FAR))
    evaluation = evaluate(small([RIDING, near], [RIDING | {"score": 0.9}]), max_detections=[1])
    assert evaluation.summary.rows() == [("R@1", 1.0)]
    assert evaluation.matches()["outcome"].to_list() == ["tp", "tp"]
    assert evaluation.detections["expanded_from"].to_list() == [None, 1]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({}, 1.0),
        ({"subject_name": "horse"}, 0.0),
        ({"category_id": "wearing"}, 0.0),
        ({"subject_width": 4.0}, 1.0),  # 5 of 10 pixels
        ({"subject_width": 3.0}, 0.0),
        ({"object_x": 60.0}, 0.0),
    ],
)
def test_classes_are_equal_and_both_boxes_fit(change: Row, value: float) -> None:
    evaluation = evaluate(small([RIDING], [RIDING | {"score": 0.5} | change]), max_detections=[1])
    assert evaluation.summary["value"].to_list() == [value]


@pytest.mark.slow
def test_the_limit_is_over_all_relations_of_an_image() -> None:
    wearing = relation(1, "wearing", ("man", SMALL), ("horse", SMALL))
    data = small([RIDING, wearing], [RIDING | {"score": 0.5}, wearing | {"score": 0.9}])
    for protocol in ("visual_genome", "visual_genome_mean"):
        assert evaluate(data, protocol, max_detections=[1, 2]).summary["value"].to_list() == [0.5, 1.0]


@pytest.mark.slow
def test_equal_scores_stay_in_the_order_of_the_input() -> None:
    false = RIDING | {"object_x": 0.0}
    for rows, value in (([RIDING, false], 1.0), ([false, RIDING], 0.0)):
        evaluation = evaluate(small([RIDING], [row | {"score": 0.5} for row in rows]), max_detections=[1])
        assert evaluation.summary["value"].to_list() == [value]


@pytest.mark.slow
def test_generated_scenes_are_hard() -> None:
    """Each limit matters, and there are detections that find several relations."""
    random = np.random.default_rng(0)
    data = crowded(random, scenes(random, 100))
    evaluation = evaluate(data, max_detections=None)
    assert evaluation["R@20"] + 0.02 < evaluation["R@50"] < evaluation["R@100"] - 0.02
    assert evaluation.detections.height - len(data[1]) > 20


def test_recall_of_each_relation() -> None:
    data = scenes(np.random.default_rng(4), 14)
    by_name = evaluate(data, "visual_genome_mean").by("category_id")
    for name in RELATIONS:
        expected = close([mean(recalls(data, k, of=name)) for k in LIMITS])
        assert [*by_name.filter(category_id=name).select(f"mR@{k}" for k in LIMITS).row(0)] == expected


@pytest.mark.slow
def test_changes_and_reports(tmp_path: Path) -> None:
    truth, results = scenes(np.random.default_rng(7), 40)
    a, b = (evaluate((truth, rows), max_detections=None) for rows in (results, results[::2]))
    page = apf.write_report(tmp_path / "page.html", a, b, by="place").read_text()
    assert "R@20" in page and "Which threshold?" not in page
    assert set(a.changes(b)["change"]) >= {"lost"}


@pytest.mark.parametrize("method", ["curves", "thresholds", "errors", "error_impact", "calibration", "label_errors", "froc"])
def test_what_needs_precision_is_an_error(method: str) -> None:
    evaluation = evaluate(small([RIDING], [RIDING | {"score": 0.5}]))
    with pytest.raises(ParameterError, match="VISUAL_GENOME measures recall alone, so it has no "):
        getattr(evaluation, method)()


@pytest.mark.parametrize("table", ["annotations", "detections"])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"subject_x": None}, "subject_x is missing or not a finite number"),
        ({"object_height": float("nan")}, "object_height is not a finite number"),
        ({"object_width": -1.0}, "object_width is negative"),
        ({"subject_name": None}, "subject_name is missing"),
    ],
)
def test_bad_rows_are_named(table: str, change: Row, problem: str) -> None:
    rows = {"annotations": [RIDING, RIDING], "detections": [RIDING | {"score": 0.5}, RIDING | {"score": 0.4}]}
    rows[table][1] = rows[table][1] | change
    with pytest.raises(RowError) as caught:
        evaluate(small(rows["annotations"], rows["detections"]))
    assert problem in str(caught.value) and table in str(caught.value)


def test_a_column_is_missing() -> None:
    without = {name: value for name, value in RIDING.items() if name != "object_name"}
    with pytest.raises(ColumnError, match="detections: no column object_name"):
        evaluate(small([RIDING], [without | {"score": 0.5}]))


def test_the_mean_over_relations_is_an_option() -> None:
    protocol = apf.VISUAL_GENOME.with_options(mean="plain")
    assert protocol == apf.VISUAL_GENOME_MEAN and protocol.variants == apf.VISUAL_GENOME_MEAN.variants


def test_weights_are_copies_of_images() -> None:
    random = np.random.default_rng(5)
    data = scenes(random, 6)
    weights = random.integers(0, 4, (6, 5)).astype(float)
    mean_recalls = under_weights(evaluate(data), "mean_recall", weights, limit=2)
    of_each = {row["image_id"]: recalls(({**data[0], "images": [row]}, data[1]), LIMITS[2]) for row in data[0]["images"]}
    for weighting in range(5):
        copies = [share for k, shares in enumerate(of_each.values()) for share in shares * int(weights[k, weighting])]
        assert mean_recalls[0, weighting] == pytest.approx(mean(copies), abs=1e-12)

"""Label errors of several runs: what they agree about, and annotations that none of them finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import apframe as apf
from apframe.exceptions import NotComparableError
from tests.evaluation.diagnose.test_errors import A, B, C, found, truth

FAR = [200, 0, 20, 10]
COLUMNS = ["kind", "annotation_id", "proposed_category_id", "n_runs", "run", "detection_id", "suspicion"]


def runs_of(folder: Path, *results: Any, annotations: Any = None) -> apf.RunSets:
    for name, detections in zip("abc", results, strict=False):
        apf.evaluate(annotations or truth((1, A), (1, B)), detections).write_parquet(folder / name)
    return apf.scan_runs(folder / "*")


@pytest.mark.slow
def test_what_several_runs_find_is_one_row(tmp_path: Path) -> None:
    runs = runs_of(
        tmp_path,
        found((2, A, 0.9), (1, B, 0.9), (1, FAR, 0.6)),
        found((2, A, 0.95), (1, B, 0.9), (1, [205, 0, 20, 10], 0.8), (1, C, 0.7)),
        found((1, A, 0.9), (1, B, 0.9), (1, [210, 0, 20, 10], 0.7), (2, FAR, 0.9)),
    )
    # the first and the last of the three are not similar enough, but both are to the second; another category is another object
    assert runs.label_errors().select(COLUMNS).rows() == [
        ("missing", None, 1, 3, "b", 3, 0.8),
        ("missing", None, 2, 1, "c", 4, 0.9),
        ("missing", None, 1, 1, "b", 4, 0.7),
        ("wrong_class", 1, 2, 2, "b", 1, 0.95),
    ]


@pytest.mark.slow
def test_two_detections_of_one_run_count_once(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, found((1, A, 0.9), (1, B, 0.9), (1, FAR, 0.6), (1, FAR, 0.7)))
    assert runs.label_errors().select(COLUMNS).rows() == [("missing", None, 1, 1, "a", 4, 0.7)]


@pytest.mark.slow
def test_annotations_that_no_run_touches_are_spurious(tmp_path: Path) -> None:
    faint = found((1, A, 0.9), (1, B, 0.049))
    assert [*runs_of(tmp_path / "one", faint).label_errors().select(COLUMNS).rows()] == [
        ("spurious", 2, None, 1, None, None, None)
    ]
    other_category = found((2, [57, 50, 10, 10], 0.06), (1, A, 0.9))  # touches B, with a similarity of 3 / 17
    assert runs_of(tmp_path / "two", faint, other_category).label_errors().is_empty()


@pytest.mark.slow
def test_crowds_are_never_spurious(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, found((1, A, 0.9)), annotations=truth((1, A), crowds=((1, C),)))
    assert runs.label_errors().is_empty()


@pytest.mark.slow
def test_runs_of_different_ground_truth_are_refused(tmp_path: Path) -> None:
    apf.evaluate(truth((1, A)), found((1, A, 0.9))).write_parquet(tmp_path / "a")
    apf.evaluate(truth((1, B)), found((1, A, 0.9))).write_parquet(tmp_path / "b")
    with pytest.warns(apf.exceptions.RunsDifferWarning):
        runs = apf.scan_runs(tmp_path / "*")
    with pytest.raises(NotComparableError):
        runs.label_errors()


@pytest.mark.slow
def test_masks_and_keypoints_are_compared_as_such(tmp_path: Path) -> None:
    box = {"image_id": 1, "category_id": 1, "bbox": FAR}
    mask = [box | {"segmentation": [[200, 0, 220, 0, 220, 10, 200, 10]], "score": score} for score in (0.6, 0.8)]
    annotations = truth((1, A), (1, B))
    annotations["images"] = [{"id": 1, "width": 300, "height": 100}]
    for row in annotations["annotations"]:
        x, y, width, height = row["bbox"]
        row["segmentation"] = [[x, y, x + width, y, x + width, y + height, x, y + height]]
    for name, row in zip("ab", mask, strict=True):
        apf.evaluate(annotations, [row], iou_type="segm").write_parquet(tmp_path / name)
    table = apf.scan_runs(tmp_path / "*").label_errors()
    assert table.filter(pl.col("kind") == "missing").select("n_runs", "run").rows() == [(2, "b")]

"""Pieces of an evaluation in rows of slices."""

from __future__ import annotations

import apframe as apf
from apframe.detection.comparison.resampled import cell_of
from apframe.detection.comparison.sampling import chosen_lines
from apframe.ranking.weighted import Cell


def test_cells_of_headlines() -> None:
    lines = {line.metric: line for line in chosen_lines(apf.evaluate(*tiny()), None)}
    every = tuple(range(10))
    assert cell_of(lines["AP"], apf.COCO) == Cell("ap", every, 0, 2)
    assert cell_of(lines["AP75"], apf.COCO) == Cell("ap", (5,), 0, 2)
    assert cell_of(lines["ARs"], apf.COCO) == Cell("recall", every, 1, 2)
    assert cell_of(lines["AR10"], apf.COCO) == Cell("recall", every, 0, 1)
    assert cell_of(lines["AP75"], apf.COCO.with_options(iou_thresholds=[0.5])) is None


def tiny() -> tuple[dict[str, list[dict[str, object]]], list[dict[str, object]]]:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    return {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [box | {"id": 1}]}, [box | {"score": 0.5}]

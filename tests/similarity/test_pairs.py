"""Similarities as classes of one's own: `pair` is all that they need, whatever they derive from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
import pytest

import apframe as apf
from apframe.similarity.pairs import pair_by
from apframe.tables.shapes import mask_columns

SQUARE = {"size": [4, 4], "counts": [0, 8, 8]}
TRUTH = {
    "images": [{"id": 1, "width": 4, "height": 4}],
    "categories": [{"id": 1, "name": "cat"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 4], "segmentation": SQUARE, "iscrowd": 0}],
}
BOX = {"image_id": 1, "category_id": 1, "score": 0.5, "bbox": [1, 0, 2, 4]}
MASK = {"image_id": 1, "category_id": 1, "score": 0.5, "segmentation": SQUARE}


@dataclass(frozen=True)
class Nearness(apf.similarity.Similarity):
    name: ClassVar[str] = "nearness"

    @property
    def words(self) -> str:
        return "how near the left edges are"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        return pair_by(1 / (1 + (pl.col("x") - pl.col("x_right")).abs()), detections, annotations, ["x"], min_similarity)


@dataclass(frozen=True)
class HalfMaskIoU(apf.similarity.MaskIoU):
    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float, **prepared: Any) -> pl.DataFrame:
        pairs = super().pair(detections, annotations, min_similarity, **prepared)
        return pairs.with_columns(pl.col("similarity") / 2)


@pytest.mark.parametrize(
    ("similarity", "row"), [(Nearness(), BOX), (HalfMaskIoU(), MASK), (HalfMaskIoU(), MASK | BOX)], ids=["own", "lone", "boxed"]
)
def test_a_class_of_ones_own(similarity: apf.similarity.Similarity, row: dict[str, Any]) -> None:
    evaluation = apf.evaluate(TRUTH, [row], similarity=similarity, iou_thresholds=[0.4])
    assert evaluation.pairs["similarity"].to_list() == [0.5]


@pytest.mark.filterwarnings("ignore::apframe.exceptions.MissingColumnWarning")
def test_masks_that_boxes_are_made_of_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, read_masks = [], mask_columns.read_masks
    monkeypatch.setattr(mask_columns, "read_masks", lambda table, frame: decoded.append(table) or read_masks(table, frame))
    assert apf.evaluate(TRUTH, [MASK], protocol="lvis", iou_type="segm").pairs["similarity"].to_list() == [1.0]
    assert sorted(decoded) == ["annotations", "detections"]

"""Similarity of two relations: the lower IoU of their subjects and objects, or the IoU of the boxes around both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from apframe.similarity.inclusive_box_iou import inclusive_box_iou
from apframe.similarity.pairs import Similarity, pair_by, require
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import EDGES, RELATION, RELATIONS
from apframe.tables.shapes.relations import NAMES, SIDES, around, check_relations
from apframe.tables.shapes.shape import Shape

_CLASSES = ("category_id", *NAMES)  # equal in each pair


@dataclass(frozen=True)
class RelationIoU(Similarity):
    """The lower of two IoUs, of the subjects and of the objects, for relations of the same three classes.

    The classes are the category, such as "riding", and the names of subject and object; relations that differ in one are not
    paired. Boxes reach from their first pixel to their last, both included.

    Source: `_compute_pred_matches` of `sg_eval.py` of neural-motifs.

    >>> box = {"x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}
    >>> boxes = {f"{side}_{name}": value for side in ("subject", "object") for name, value in box.items()}
    >>> classes = {"category_id": "riding", "subject_name": "man", "object_name": "horse"}
    >>> relation = pl.DataFrame({"cell": [7], "is_crowd": False, **classes, **boxes})
    >>> RelationIoU().pair(relation.with_columns(object_width=pl.lit(5.0)), relation, min_similarity=0.5).rows()
    [(0, 0, 0.6)]
    """

    name: ClassVar[str] = "relation_iou"
    iou_type: ClassVar[str] = "relation"
    shape: ClassVar[Shape] = RELATIONS
    needs: ClassVar[tuple[str, ...]] = RELATION
    inclusive: ClassVar[bool] = True
    words = "the lower IoU of subjects and of objects of the same classes, one pixel added to widths and heights"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        _check(self, detections, annotations)
        alike = [inclusive_box_iou(f"{side}_") for side in SIDES]
        lower = pl.when(pl.all_horizontal(each.is_not_null() for each in alike)).then(pl.min_horizontal(alike))
        return pair_by(_of_same_classes(lower), detections, annotations, (*_CLASSES, *EDGES), min_similarity)


@dataclass(frozen=True)
class PhraseIoU(Similarity):
    """IoU of the smallest boxes around subject and object, for relations of the same three classes, see `RelationIoU`.

    Source: phrase detection (`phrdet`) in `sg_eval.py` of neural-motifs.

    >>> box = {"x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0]}
    >>> boxes = {f"{side}_{name}": value for side in ("subject", "object") for name, value in box.items()}
    >>> classes = {"category_id": "riding", "subject_name": "man", "object_name": "horse"}
    >>> relation = pl.DataFrame({"cell": [7], "is_crowd": False, **classes, **boxes})
    >>> PhraseIoU().pair(relation.with_columns(object_width=pl.lit(5.0)), relation, min_similarity=0.5).rows()
    [(0, 0, 1.0)]
    """

    name: ClassVar[str] = "phrase_iou"
    iou_type: ClassVar[str] = "phrase"
    shape: ClassVar[Shape] = RELATIONS
    needs: ClassVar[tuple[str, ...]] = RELATION
    inclusive: ClassVar[bool] = True
    words = "IoU of the boxes around subjects and objects of the same classes, one pixel added to widths and heights"

    def pair(self, detections: pl.DataFrame, annotations: pl.DataFrame, min_similarity: float) -> pl.DataFrame:
        """Return the pairs of a cell: see `Similarity.pair`."""
        _check(self, detections, annotations)
        hulls = [frame.with_columns(around()) for frame in (detections, annotations)]
        return pair_by(_of_same_classes(inclusive_box_iou()), hulls[0], hulls[1], (*_CLASSES, *BOX), min_similarity)


def _check(similarity: Similarity, detections: pl.DataFrame, annotations: pl.DataFrame) -> None:
    require(similarity, detections, annotations)
    check_relations("detections", detections)
    check_relations("annotations", annotations)


def _of_same_classes(similarity: pl.Expr) -> pl.Expr:
    return pl.when(pl.all_horizontal(pl.col(name) == pl.col(f"{name}_right") for name in _CLASSES)).then(similarity)

"""Relations: the lower IoU of two pairs of boxes, or that of the boxes around both; classes must be equal."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from apframe.benchmarks.relations.visual_genome.relation_iou import PhraseIoU, RelationIoU
from apframe.exceptions import ColumnError

EDGES = ("x", "y", "width", "height")
SUBJECT, OBJECT = (0.0, 0.0, 9.0, 9.0), (20.0, 0.0, 9.0, 9.0)


def relation(subject: tuple[float, ...] = SUBJECT, object_: tuple[float, ...] = OBJECT, **more: Any) -> pl.DataFrame:
    boxes = {f"{side}_{edge}": value for side, box in (("subject", subject), ("object", object_))
             for edge, value in zip(EDGES, box, strict=True)}  # fmt: skip
    row = {"cell": 7, "category_id": 1, "subject_name": "man", "object_name": "horse", **boxes, "is_crowd": False}
    return pl.DataFrame([row | more])


@pytest.mark.parametrize(
    ("found", "lower", "around"),
    [
        (relation(), 1.0, 1.0),
        (relation(object_=(20.0, 0.0, 4.0, 9.0)), 0.5, 25 / 30),
        (relation((0.0, 0.0, 9.0, 4.0), (20.0, 0.0, 9.0, 5.0)), 0.5, 0.6),
        (relation((15.0, 0.0, 9.0, 9.0)), None, 0.5),  # the subjects are apart
        (relation(OBJECT, SUBJECT), None, 1.0),
        (relation(subject_name="horse"), None, None),
        (relation(category_id=2), None, None),
        (relation(cell=8), None, None),
    ],
)
def test_values(found: pl.DataFrame, lower: float | None, around: float | None) -> None:
    for similarity, expected in ((RelationIoU(), lower), (PhraseIoU(), around)):
        pairs = similarity.pair(found, relation(), min_similarity=0.0)
        assert pairs.schema == {"detection": pl.UInt32, "annotation": pl.UInt32, "similarity": pl.Float64}
        assert pairs["similarity"].to_list() == ([] if expected is None else [pytest.approx(expected)])


def test_pairs_below_the_least_are_dropped() -> None:
    detection = relation(object_=(20.0, 0.0, 4.0, 9.0))
    assert RelationIoU().pair(detection, relation(), min_similarity=0.6).is_empty()


@pytest.mark.parametrize("similarity", [RelationIoU(), PhraseIoU()], ids=lambda similarity: similarity.name)
def test_a_column_is_missing(similarity: RelationIoU | PhraseIoU) -> None:
    with pytest.raises(ColumnError, match="annotations: no column subject_name"):
        similarity.pair(relation(), relation().drop("subject_name"), min_similarity=0.5)

"""Tables of pairs of detections and annotations: all that were compared, and those that were matched."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from apframe.matching.verdicts import Verdicts, has_bit, range_names, threshold_names

if TYPE_CHECKING:
    from apframe.evaluation.source import Source
    from apframe.matching.match_input import MatchInput


def pairs(source: Source) -> pl.DataFrame:
    """Return the pairs, see `Evaluation.pairs`, without matching."""
    rows, outline = source.rows, source.outline
    compared = rows.pairs.drop_nulls("similarity")
    if rows.matcher.wants == "nearest":
        compared = compared.filter(pl.col("similarity") >= outline.thresholds[0])
    compared = compared.filter((rows.detections["place"] <= outline.limits[-1]).gather(compared["detection"]))
    return pl.DataFrame([*_ids(source, rows, compared), compared["similarity"]]).sort("detection_id", "annotation_id")


def assignments(source: Source) -> pl.DataFrame:
    """Return the matched pairs, see `Evaluation.assignments`."""
    verdicts = source.verdicts()
    hits, n = verdicts.hits_at(-1), len(verdicts.ranges)
    held = hits["ranges"].to_numpy()
    numbers = np.stack([has_bit(held, k) for k in range(n)], axis=1)
    numbers[numbers.all(axis=1), 1:] = False  # null stands for all
    row, k = np.nonzero(numbers)
    hits, everywhere = hits[row], held[row] == (1 << n) - 1
    thresholds = threshold_names(verdicts.thresholds)
    return pl.DataFrame([*_ids(source, verdicts, hits), hits["similarity"]]).with_columns(
        area_range=range_names(verdicts.ranges).gather(pl.Series(k).set(pl.Series(everywhere), None)),
        iou_from=thresholds.gather(hits["first"]),
        iou_to=thresholds.gather(hits["last"] - 1),
    )


LINKS: dict[str, Callable[[Source], pl.DataFrame]] = {"pairs": pairs, "assignments": assignments}
"""The functions that compute the tables of pairs, by name."""


def _ids(source: Source, of: MatchInput | Verdicts, links: pl.DataFrame) -> list[pl.Series]:
    """Return detection_id and annotation_id of pairs, which are positions of the rows or of the verdicts."""
    return [
        source.inputs.detections["detection_id"].gather(of.detections["row"].gather(links["detection"])),
        source.inputs.annotations["annotation_id"].gather(of.annotations["row"].gather(links["annotation"])),
    ]

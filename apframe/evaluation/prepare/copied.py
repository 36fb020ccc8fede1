"""Copies of detections that are similar enough to several annotations, where nothing is used up (LUNA16)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from apframe.matching.policies import POLICIES
from apframe.protocols.protocol import Protocol

if TYPE_CHECKING:
    from apframe.evaluation.prepare.inputs import Inputs


def copy_shared(inputs: Inputs, protocol: Protocol) -> Inputs:
    """A copy of each detection for every further annotation that it can match, right behind it: LUNA16.

    Copies have ids of their own, and `expanded_from` names the detection that each is of; those that match nothing are ignored.
    """
    found, expected = inputs.detections, inputs.annotations
    if not POLICIES[protocol.matching].is_shared or found.is_empty() or expected.is_empty():
        return inputs
    import numpy as np

    from apframe.matching.reached import reaches

    at = ["image_id"] if protocol.agnostic else ["image_id", "category_id"]
    cells = pl.concat([found.select(at), expected.select(at)]).unique().with_row_index("cell")
    left, right = (frame.join(cells, on=at, how="left", maintain_order="left") for frame in (found, expected))
    least = protocol.iou_thresholds[0]
    pairs = protocol.similarity.pair(left, right.with_columns(is_crowd=False), least)
    near = pairs.filter(pl.Series(reaches(pairs["similarity"].to_numpy(), np.array(least), strict=protocol.strict)))
    several = near.group_by("detection").len("n").filter(pl.col("n") > 1)
    if several.is_empty():
        return inputs
    rows = found.with_row_index("detection").join(several, on="detection", maintain_order="left")
    copies = rows.with_columns(copy=pl.int_ranges(1, "n")).explode("copy")
    ids = found["detection_id"]
    if ids.dtype == pl.String:
        number = pl.concat_str("detection_id", pl.lit("/"), pl.col("copy").cast(pl.String))
    else:
        number = pl.int_range(pl.len(), dtype=pl.Int64) + (ids.max() or 0) + 1
    copies = copies.with_columns(expanded_from="detection_id").with_columns(number.cast(ids.dtype).alias("detection_id"))
    first = found.with_row_index("detection").with_columns(expanded_from=pl.lit(None, ids.dtype))
    every = pl.concat([first, copies.select(first.columns)]).sort("detection", maintain_order=True)
    return replace(inputs, detections=every.drop("detection"))

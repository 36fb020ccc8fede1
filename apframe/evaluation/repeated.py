"""Images that come in several updates of an `Evaluator`, of which one result is kept."""

from __future__ import annotations

from functools import reduce
from typing import Any
from zlib import crc32

import polars as pl
from polars import selectors

from apframe.columns import exact
from apframe.tables.ids import is_known
from apframe.tables.schemas import TABLES

UPDATE = "update_of_evaluator"  # a column: the number of the update that contained a row


def keep_one_of_each(detections: pl.DataFrame) -> tuple[pl.DataFrame, list[Any]]:
    """Keep the rows of one update for each image, and return the sorted ids of the images whose updates differ.

    Parameters
    ----------
    detections
        a canonical table, with a column that numbers the updates.

    >>> twice = pl.DataFrame({"image_id": [7, 7, 7, 8, 8], "score": [.5, .5, .6, .9, .9], UPDATE: [0, 1, 1, 0, 1]})
    >>> rows, differ = keep_one_of_each(twice)
    >>> rows.rows(), differ
    ([(7, 0.5, 1), (7, 0.6, 1), (8, 0.9, 0)], [7])
    """
    begins = [(pl.col(name) != pl.col(name).shift()).fill_null(True) for name in ("image_id", UPDATE)]
    stretches = detections.lazy().select("image_id", UPDATE).filter(pl.any_horizontal(begins))  # far fewer than rows
    n_updates = stretches.group_by("image_id").agg(pl.col(UPDATE).n_unique())
    repeated_ids = n_updates.filter(pl.col(UPDATE) > 1).collect()["image_id"]
    if repeated_ids.is_empty():
        return detections, []
    again = is_known(detections["image_id"], repeated_ids)
    repeated = detections.filter(again)
    ids = selectors.by_name("detection_id", require_all=False)
    updates = (
        repeated.select("image_id", UPDATE, row=_hash_contents(repeated), id=repeated.select(ids, "image_id").hash_rows())
        .group_by("image_id", UPDATE, maintain_order=True)
        .agg(pl.len(), contents=pl.col("row").sort(), in_order=pl.col("row"), ids=pl.col("id"))
        .with_columns(pl.col("contents", "in_order", "ids").hash())
    )
    best_first = updates.sort("len", "contents", "in_order", "ids", descending=[True, False, False, False])
    kept = best_first.unique("image_id", keep="first", maintain_order=True).select("image_id", UPDATE)
    differ = updates.group_by("image_id").agg(pl.col("contents").n_unique()).filter(pl.col("contents") > 1)
    rows = repeated.join(kept, on=["image_id", UPDATE], how="semi", maintain_order="left")
    return pl.concat([detections.filter(~again), rows]), differ["image_id"].sort().to_list()


def _hash_contents(frame: pl.DataFrame) -> pl.Series:
    """Hash the contents of each row, whatever columns other rows have, and in whatever order."""
    standard = [c.name for c in TABLES["detections"] if c.name in frame.columns and c.name != "detection_id"]
    attributes = [
        pl.when(exact(name).is_not_null()).then(exact(name).hash(crc32(name.encode()))).otherwise(pl.lit(0, pl.UInt64))
        for name in frame.columns
        if name not in (*standard, "detection_id", UPDATE)
    ]
    of_attributes = reduce(pl.Expr.xor, attributes, pl.repeat(0, pl.len(), dtype=pl.UInt64))
    return frame.select(known=frame.select(standard).hash_rows(), attributes=of_attributes).hash_rows()

"""Many generated sets as one: each is a slice, so that one evaluation has the numbers of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

import apframe as apf

Row = dict[str, Any]
Sets = tuple[list[Row], list[Row]]


def slices_of(
    sets: Mapping[int, Sets], categories: Sequence[str], protocol: apf.Protocol, level: str = "summary", **options: Any
) -> pl.DataFrame:
    """The numbers of each set by its number, `set`: an evaluation of them all, sliced.

    `sets` are annotations and detections; categories are called as their ids.
    """
    sides = [
        [row | {"image_id": f"{number:04d}/{row['image_id']}"} for number, rows in sets.items() for row in rows[side]]
        for side in (0, 1)
    ]
    images = sorted({row["image_id"] for rows in sides for row in rows})
    of_set = [int(image.split("/")[0]) for image in images]
    names = {"category_id": list(categories), "name": list(categories)}
    frames = [pl.DataFrame(rows, infer_schema_length=None) for rows in sides]
    truth = apf.Dataset({"image_id": images, "set": of_set}, names, frames[0])
    return apf.evaluate(truth, frames[1], protocol, **options).by("set", level=level)

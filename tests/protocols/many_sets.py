"""Many generated sets as one: each is a slice, so that one evaluation has the numbers of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

import apframe as apf

Row = dict[str, Any]
Sets = tuple[list[Row], list[Row]]


def together(sets: Mapping[int, Sets], of_each: Iterable[Any] = ()) -> tuple[list[Row], list[Row], dict[str, list[Any]]]:
    """Annotations and detections of all sets, and the images with the number of their `set`.

    `of_each` are the images that each set has; without them, they are those that have rows.
    """
    sides = [
        [row | {"image_id": f"{number:04d}/{row['image_id']}"} for number, rows in sets.items() for row in rows[side]]
        for side in (0, 1)
    ]
    images = [f"{number:04d}/{image}" for number in sets for image in of_each]
    images = images or sorted({row["image_id"] for rows in sides for row in rows})
    return sides[0], sides[1], {"image_id": images, "set": [int(image.split("/")[0]) for image in images]}


def slices_of(
    sets: Mapping[int, Sets], categories: Sequence[str], protocol: apf.Protocol, level: str = "summary", **options: Any
) -> pl.DataFrame:
    """The numbers of each set by its number, `set`: an evaluation of them all, sliced.

    `sets` are annotations and detections; categories are called as their ids.
    """
    annotations, found, images = together(sets)
    names = {"category_id": list(categories), "name": list(categories)}
    frames = [pl.DataFrame(rows, infer_schema_length=None) for rows in (annotations, found)]
    return apf.evaluate(apf.Dataset(images, names, frames[0]), frames[1], protocol, **options).by("set", level=level)

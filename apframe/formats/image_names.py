"""Images and classes of formats that only have names for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl


def image_ids(paths: Sequence[Path]) -> pl.Series:
    """Return `image_id` as the names of these files without their extension.

    >>> image_ids([Path("labels/000007.b.txt")]).to_list()
    ['000007.b']
    """
    return pl.Series("image_id", [path.stem for path in paths], dtype=pl.String)


def ids_to_write(key: str, detections: pl.DataFrame, owner: pl.DataFrame | None) -> pl.Series:
    """Return the ids of images or categories with files in results: all of the data set, or else those that occur.

    >>> ids_to_write("image_id", pl.DataFrame({"image_id": ["b", "a", "b"]}), None).to_list()
    ['b', 'a']
    """
    return (detections if owner is None else owner)[key].unique(maintain_order=True)


def categories_of(annotations: pl.DataFrame) -> pl.DataFrame:
    """Return the categories that occur, by name, including those of rows that will be left out.

    >>> categories_of(pl.DataFrame({"category_id": ["dog", "cat", "dog"]})).rows()
    [('cat', 'cat'), ('dog', 'dog')]
    """
    return annotations.select(category_id=pl.col("category_id").drop_nulls().unique().sort()).with_columns(name="category_id")

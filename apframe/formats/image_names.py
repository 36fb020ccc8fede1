"""Images and classes of formats that know them by names alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl


def image_ids(paths: Sequence[Path]) -> pl.Series:
    """`image_id`: images that are called as these files without their ending.

    >>> image_ids([Path("labels/000007.b.txt")]).to_list()
    ['000007.b']
    """
    return pl.Series("image_id", [path.stem for path in paths], dtype=pl.String)


def ids_to_write(key: str, detections: pl.DataFrame, owner: pl.DataFrame | None) -> pl.Series:
    """The images, or categories, that results have files for: all of their data set, else those that occur.

    >>> ids_to_write("image_id", pl.DataFrame({"image_id": ["b", "a", "b"]}), None).to_list()
    ['b', 'a']
    """
    return (detections if owner is None else owner)[key].unique(maintain_order=True)


def categories_of(annotations: pl.DataFrame) -> pl.DataFrame:
    """The categories that occur, by name; those of rows that are to be left out too.

    >>> categories_of(pl.DataFrame({"category_id": ["dog", "cat", "dog"]})).rows()
    [('cat', 'cat'), ('dog', 'dog')]
    """
    return annotations.select(category_id=pl.col("category_id").drop_nulls().unique().sort()).with_columns(name="category_id")

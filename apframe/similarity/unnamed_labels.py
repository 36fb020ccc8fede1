"""Labels in label maps that are missing from the file with the names of the classes."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from apframe.tables.dataset import Dataset
from apframe.wording import counted, listed

_IGNORED = (255,)  # unless a similarity ignores others


def describe_unnamed(dataset: Dataset, ignored: Sequence[int] = _IGNORED) -> tuple[str, str] | None:
    """Name the annotated labels that count as classes although only others have names, and the remedy; None without any.

    >>> dataset = Dataset(
    ...     {"image_id": ["a"]}, {"category_id": [0, 77], "name": ["road", None]},
    ...     {"image_id": ["a"], "category_id": [77], "segment_id": [77], "area": [25.0]})
    >>> describe_unnamed(dataset)  # doctest: +NORMALIZE_WHITESPACE
    ("classes.txt does not name label 77 of the ground truth (25 pixels, image 'a'), which counts as a class",
     'name it there, or leave it out in Python with similarity=apf.similarity.LabelIoU(ignored=(77, 255))')
    """
    categories = dataset.core("categories")
    if "segment_id" not in dataset.core("annotations").columns or "name" not in categories.columns:
        return None
    unnamed = categories.filter(pl.col("name").is_null())["category_id"]
    if not 0 < len(unnamed) < categories.height or not unnamed.dtype.is_integer():
        return None
    rows = dataset.core("annotations").filter(pl.col("category_id").is_in(unnamed.implode()))
    rows = rows.filter(~pl.col("category_id").is_in([*ignored]))
    if rows.is_empty():
        return None
    labels = rows["category_id"].unique().sort().to_list()
    images = rows["image_id"].unique(maintain_order=True).to_list()
    where = f"{counted(int(rows['area'].sum()), 'pixel')}, image{'s' * (len(images) > 1)} {listed(images, 3)}"
    which, become, them = f"label {labels[0]}", "counts as a class", "it"
    if len(labels) > 1:
        which, become, them = f"labels {listed(labels)}", "count as classes", "them"
    without = tuple(sorted({*labels[:5], *ignored}))
    return (
        f"classes.txt does not name {which} of the ground truth ({where}), which {become}",
        f"name {them} there, or leave {them} out in Python with similarity=apf.similarity.LabelIoU(ignored={without})",
    )

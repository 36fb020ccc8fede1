"""Ground truth: images, categories and annotations, checked against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import counted
from apframe.schema.canonical import canonical
from apframe.schema.ids import check_references, with_id_types, with_known_lists
from apframe.schema.tables import GROUND_TRUTH, KEYS, noun


class Dataset:
    """Ground truth as three Polars frames: `images`, `categories` and `annotations`.

    Parameters
    ----------
    images, categories, annotations
        anything that holds columns (Polars eager or lazy, pyarrow, pandas, a DuckDB relation, the path of a Parquet
        file), with the columns of `apframe.schema.TABLES`; further columns are attributes

    Raises
    ------
    ColumnError, RowError, DuplicateIdError, UnknownIdError, IdTypeError
        naming the rows

    >>> truth = Dataset(
    ...     images={"image_id": [1]},
    ...     categories={"category_id": [1], "name": ["cat"]},
    ...     annotations={"image_id": [1], "category_id": [1], "x": [0], "y": [0], "width": [10], "height": [5]},
    ... )
    >>> truth.annotations.select("annotation_id", "area", "is_crowd").rows()
    [(1, 50.0, False)]
    """

    def __init__(self, images: Any, categories: Any, annotations: Any) -> None:
        given = zip(GROUND_TRUTH, (images, categories, annotations), strict=True)
        self._core = {table: canonical(table, source) for table, source in given}
        self._attributes: Callable[[], tuple[pl.DataFrame, set[str]]] | None = None
        self._masks: Callable[[], pl.DataFrame] | None = None
        # what a COCO file holds beside the three tables, and attributes that are kept as JSON text, as (table, column)
        self.other_sections: dict[str, Any] = {}
        self.json_columns: set[tuple[str, str]] = set()
        self._core["annotations"] = with_id_types("annotations", self.core("annotations"), self)
        check_references("annotations", self.core("annotations"), self)
        for table in KEYS:
            self._core[table] = with_known_lists(table, self.core(table), self.core("categories")["category_id"])

    def defer(self, attributes: Callable[[], tuple[pl.DataFrame, set[str]]], masks: Callable[[], pl.DataFrame] | None) -> None:
        """Have the annotations' attributes and masks read when they are first looked at.

        `attributes` gives columns, that of the masks too, and which are JSON text; `masks` the column `mask` alone, sooner.
        """
        self._attributes, self._masks = attributes, masks

    def read_masks(self) -> None:
        """Read the masks of the annotations, if there are some that have not been read."""
        if self._masks is not None:
            masks = self._masks()
            self._masks = None
            if masks["mask"].count():
                self._core["annotations"] = canonical("annotations", self._core["annotations"].hstack(masks))

    def core(self, table: str) -> pl.DataFrame:
        """A table with at least its canonical columns, without reading attributes for it."""
        return self._core[table]

    @property
    def images(self) -> pl.DataFrame:
        """One row per image: image_id, image_width, image_height, file_name and attributes."""
        return self._core["images"]

    @property
    def categories(self) -> pl.DataFrame:
        """One row per category: category_id, name, supercategory and attributes."""
        return self._core["categories"]

    @property
    def annotations(self) -> pl.DataFrame:
        """One row per annotation: ids, box, area, is_crowd and attributes."""
        if self._attributes is not None:
            attributes, as_json = self._attributes()
            known = set(self._core["annotations"].columns)  # masks may have been read
            attributes = attributes.select(exact(name) for name in attributes.columns if name not in known)
            self._core["annotations"] = canonical("annotations", self._core["annotations"].hstack(attributes))
            self.json_columns |= {("annotations", name) for name in as_json}
            self._attributes = self._masks = None
        return self._core["annotations"]

    def part(self, images: pl.DataFrame, annotations: pl.DataFrame) -> Dataset:
        """The same data set with some of its images and annotations, which need no check."""
        part = object.__new__(type(self))
        own = {"_core": self._core | {"images": images, "annotations": annotations}, "_attributes": None, "_masks": None}
        part.__dict__ = self.__dict__ | own
        return part

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: with what has not been read yet, for its readers stay with their file."""
        _ = self.annotations
        return self.__dict__

    def __repr__(self) -> str:
        sizes = ", ".join(counted(frame.height, noun(name)) for name, frame in self._core.items())
        return f"Dataset({sizes})"


def canonical_detections(source: Any, dataset: Dataset) -> pl.DataFrame:
    """Detections as a canonical table, checked against the images and categories of their data set.

    Detections of categories that the data set does not have stay in; evaluation leaves them out with a warning.
    """
    return with_id_types("detections", canonical("detections", source), dataset)

"""LVIS JSON: COCO JSON with the categories that were searched for on each image, and their frequencies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from apframe.exceptions import ColumnError, FormatError
from apframe.formats.coco.format import Coco
from apframe.formats.coco.truth import read_unchecked
from apframe.formats.looks import Look, looks
from apframe.rows import refuse_rows
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import TABLES
from apframe.wording import listed

_LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
_FREQUENCIES = ("r", "c", "f")
_OBJECT = ("annotation_id", "image_id", "category_id", "x", "y", "width", "height", "area", "ignore", "mask")
_FILE = r"([^/]+/[^/]+)$"


class Lvis(Coco):
    """Ground truth of LVIS; results are those of COCO.

    Every image has the lists `neg_category_ids` and `not_exhaustive_category_ids`, and every category a `frequency` r, c or f
    (rare, common, frequent), which lvis-api requires. Images without a `file_name` get the end of their `coco_url`, as in
    `val2017/000000000139.jpg`. There are neither crowds nor keypoints. Such a file is also valid COCO JSON, so this format must
    be chosen by name; `Coco` reads the same columns, but requires none of them.

    Source: the description of the annotations on the pages of LVIS; lvis-api 0.5.3.
    """

    name = "lvis"
    title = "LVIS JSON"
    dataset_is = "COCO's JSON with neg_category_ids and not_exhaustive_category_ids of images and frequency of categories"
    results_are = "the same as COCO's"
    dataset_looks = results_looks = looks(Look("file", only_named=True))
    holds: ClassVar[dict[str, tuple[str, ...]]] = Coco.holds | {"annotations": ("*", *_OBJECT)}

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        return _checked(path, super().read_tables(path, **options))

    def read(
        self, path: Path, *, masks: bool = False, box_format: str | None = None, relative: bool = False, **options: Any
    ) -> Dataset:
        """Read a data set: see `read_coco`."""
        truth = read_unchecked(path, masks=masks)
        return replace(truth, tables=_checked(path, truth.tables)).checked(box_format, relative=relative)

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`. A `file_name` that is the end of the `coco_url` is left out."""
        images, categories, annotations = dataset.images, dataset.categories, dataset.annotations
        missing = [name for name in _LISTS if name not in images.columns]
        if missing:
            raise ColumnError(
                f"no column {', '.join(missing)}", "add them: LVIS needs these lists for every image", table="images"
            )
        unlike = _is_without_frequency(categories)
        refuse_rows("categories", categories, unlike, "frequency is not r, c or f", "supply one: LVIS needs it")
        follows = _end_of_url(images).eq_missing(pl.col("file_name"))
        others = {column.name for column in TABLES["annotations"]} - set(_OBJECT)
        slim = dataset.part(
            images.with_columns(file_name=pl.when(~follows).then("file_name")), annotations.drop(others, strict=False)
        )
        super().write(slim, path)


def _checked(path: Path, tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Check the tables from COCO's reader, and add file names.

    Raises
    ------
    FormatError
        images without the lists, or categories without a frequency; names the ids
    """
    images, categories = tables["images"], tables["categories"]
    for name in _LISTS:
        lists = pl.col(name) if name in images.columns else pl.lit(None)
        _refuse(path, images.filter(lists.is_null())["image_id"], f"no list {name} in the image")
    _refuse(path, categories.filter(_is_without_frequency(categories))["category_id"], "no frequency r, c or f in the category")
    return tables | {"images": images.with_columns(file_name=pl.coalesce("file_name", _end_of_url(images)))}


def _refuse(path: Path, ids: pl.Series, problem: str) -> None:
    if len(ids):
        raise FormatError(f"{problem} {listed(ids.to_list())}", "add it, or read the file as coco", path=path)


def _is_without_frequency(categories: pl.DataFrame) -> pl.Series:
    frequency = pl.col("frequency").cast(pl.String) if "frequency" in categories.columns else pl.lit(None, pl.String)
    return categories.select(pl.repeat(True, pl.len()) & ~frequency.is_in(_FREQUENCIES).fill_null(False)).to_series()


def _end_of_url(images: pl.DataFrame) -> pl.Expr:
    """Return the last folder and the file in `coco_url`; null without a URL."""
    is_there = images.schema.get("coco_url") == pl.String
    return pl.col("coco_url").str.extract(_FILE) if is_there else pl.lit(None, pl.String)

"""`stats`: count a data set by category, area range and attribute, as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from apframe.formats.reading import Reading
from apframe.formats.reading_options import ReadingOptions
from apframe.keywords import names_keywords
from apframe.paths import reading_once
from apframe.protocols.coco import COCO_AREAS
from apframe.protocols.ranges import ALL
from apframe.tables.conditions import find_owners, items_of, refuse_ambiguous
from apframe.tables.dataset import canonical_detections
from apframe.tables.ids import is_known
from apframe.tables.names import labels_of
from apframe.tables.schemas import KEYS, TABLES
from apframe.tables.shapes.corners import upright
from apframe.threads import pool

if TYPE_CHECKING:
    from apframe.formats.input_types import DetectionsLike, TruthLike

Tables = Mapping[str, pl.DataFrame]
_MOST_VALUES = 20  # maximum number of values of an attribute that is counted by default


@names_keywords
def stats(
    truth: TruthLike,
    detections: DetectionsLike | None = None,
    *,
    by: str | Sequence[str] | None = None,
    image_attributes: Any = None,
    **options: Unpack[ReadingOptions],
) -> pl.DataFrame:
    """Count images, annotations and detections, and return median sizes, by category, area range and attribute.

    Parameters
    ----------
    truth, detections, image_attributes
        as for `evaluate`
    by
        columns of the images, categories or annotations to count by, such as "weather" or "annotations.occlusion"; by default
        the attributes of the images that have at most 20 values. Each item of a list, such as tags, is a value

    Returns
    -------
    A row for everything, then for each category (those with most annotations first), each of COCO's area ranges small, medium
    and large, and each value of the columns:

    - `by`, `value`: the column, and its value as text; `by` of the first rows is "all", "name" and "area_range"
    - `n_images`: all images for everything and for attributes of images, else the images with such annotations
    - `n_empty`: the number of these images without annotations; null for attributes of annotations
    - `n_annotations`, `n_crowds`: all annotations, and the crowds among them
    - `median_width`, `median_height`, `median_area`: of the annotations in pixels; sides of upright boxes
    - `n_detections`: if detections are passed

    Raises
    ------
    InputError
        bad data
    ParameterError
        unknown or ambiguous columns, bad options

    >>> from apframe import Dataset
    >>> box = {"x": [0, 0], "y": [0, 0], "width": [10, 20], "height": [10, 20]}
    >>> truth = Dataset(
    ...     {"image_id": [1, 2], "weather": ["fog", "sun"]}, {"category_id": [1], "name": ["cat"]},
    ...     {"image_id": [1, 1], "category_id": [1, 1], **box})
    >>> for row in stats(truth).select("by", "value", "n_images", "n_empty", "n_annotations", "median_area").rows():
    ...     print(*row)
    all None 2 1 2 250.0
    name cat 1 None 2 250.0
    area_range small 1 None 2 250.0
    area_range medium 0 None 0 None
    area_range large 0 None 0 None
    weather fog 1 0 2 250.0
    weather sun 1 1 0 None
    """
    reading = Reading.of_options(options, "image_attributes", "by")
    with reading_once(truth), reading_once(detections), pool() as others:
        reading = reading.of_files(truth, detections)
        read = others.submit(reading.dataset, truth)
        result_rows = None if detections is None else reading.raw_results(detections, read.result)
        dataset = read.result()
    if image_attributes is not None:
        dataset = dataset.with_images(image_attributes)
    annotations = upright(dataset.annotations)
    tables = {"images": dataset.images, "categories": dataset.categories, "annotations": annotations}
    if result_rows is not None:
        tables["detections"] = canonical_detections(result_rows, dataset)
    names = _attributes(dataset.images) if by is None else [by] if isinstance(by, str) else list(by)
    parts = [_everything(tables), _by_category(tables), _by_area(tables), *(_by_column(name, tables) for name in names)]
    return pl.concat(parts)


def _attributes(images: pl.DataFrame) -> list[str]:
    """Return the attributes of the images with few values: texts, flags, lists of texts."""
    core_columns = {column.name for column in TABLES["images"]}
    kinds = (pl.String, pl.Boolean, pl.Categorical, pl.Enum)
    items = {name: items_of(images[name])["value"] for name in images.columns if name not in core_columns}
    return [name for name, values in items.items() if values.dtype in kinds and values.n_unique() <= _MOST_VALUES]


def _everything(tables: Tables) -> pl.DataFrame:
    nothing = pl.Series("value", [None], dtype=pl.String)
    return _counted("all", nothing, {name: _rows(frame, pl.lit(None, pl.String)) for name, frame in tables.items()}, tables)


def _by_category(tables: Tables) -> pl.DataFrame:
    categories = tables["categories"]
    values = {name: _rows(tables[name], pl.col("category_id")) for name in _objects(tables)}
    table = _counted("name", categories["category_id"].alias("value"), values, tables)
    return table.with_columns(value=labels_of("categories", categories)).sort(
        "n_annotations", descending=True, maintain_order=True
    )


def _by_area(tables: Tables) -> pl.DataFrame:
    ranges = [(each.name, each.low, each.high) for each in COCO_AREAS if each != ALL]
    values = {
        name: pl.concat(
            _rows(tables[name], pl.lit(label)).filter(tables[name]["area"].is_between(low, high)) for label, low, high in ranges
        )
        for name in _objects(tables)
    }
    return _counted("area_range", pl.Series("value", [label for label, *_ in ranges]), values, tables)


def _by_column(word: str, tables: Tables) -> pl.DataFrame:
    column, owners = find_owners(word, tables)
    refuse_ambiguous(word, column, owners)
    values = {name: items_of(tables[name][column]) for name in owners}
    for owner, key in KEYS.items():
        if owner in owners:
            ids = values[owner].select(tables[owner][key].gather(values[owner]["row"]), "value")
            for name in _objects(tables):
                of_objects = tables[name].select(key).with_row_index("row").join(ids, on=key, maintain_order="left")
                values[name] = of_objects.select("row", "value")
    there = pl.concat([each["value"].to_frame() for each in values.values()], how="vertical_relaxed")
    return _counted(column, there["value"].unique().sort(nulls_last=True), values, tables)


def _objects(tables: Tables) -> list[str]:
    return [name for name in ("annotations", "detections") if name in tables]


def _rows(frame: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
    """Return `row` and `value`, as `items_of` does."""
    return frame.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), value.alias("value"))


def _counted(by: str, values: pl.Series, rows: Tables, tables: Tables) -> pl.DataFrame:
    """Count each value; `rows` are the rows of the tables with each value, as `items_of` returns them."""

    def count(frame: pl.DataFrame, table: str, *counts: pl.Expr) -> pl.DataFrame:
        having = frame.with_row_index("row").join(rows[table].cast({"value": values.dtype}), on="row")
        counts_by_value = having.group_by("value").agg(counts)
        counts_by_value = values.to_frame("value").join(
            counts_by_value, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        return counts_by_value.drop("value")

    if "images" in rows:
        is_annotated = is_known(tables["images"]["image_id"], tables["annotations"]["image_id"].unique())
        images = tables["images"].select(is_empty=~is_annotated)
        of_images = count(images, "images", pl.len().alias("n_images"), pl.col("is_empty").sum().alias("n_empty"))
    else:
        in_images = pl.col("image_id").n_unique().alias("n_images")
        of_images = count(tables["annotations"], "annotations", in_images, pl.lit(None, pl.UInt32).alias("n_empty"))
    n_annotations, n_crowds = pl.len().alias("n_annotations"), pl.col("is_crowd").sum().alias("n_crowds")
    medians = [pl.col(name).median().alias(f"median_{name}") for name in ("width", "height", "area")]
    parts = [of_images, count(tables["annotations"], "annotations", n_annotations, n_crowds, *medians)]
    if "detections" in rows:
        parts.append(count(tables["detections"], "detections", pl.len().alias("n_detections")))
    elif "detections" in tables:
        parts.append(pl.DataFrame({"n_detections": [None] * len(values)}, schema={"n_detections": pl.Int64}))
    table = pl.concat([values.cast(pl.String).to_frame("value"), *parts], how="horizontal")
    counts = pl.col("^n_.*$").cast(pl.Int64)
    is_zero = ["n_images", "n_annotations", "n_crowds", *(["n_detections"] if "detections" in rows else [])]
    return table.select(pl.lit(by).alias("by"), pl.all()).with_columns(counts).with_columns(pl.col(is_zero).fill_null(0))

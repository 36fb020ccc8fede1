"""The canonical tables: their columns, dtypes, keys and meanings, and what makes a row valid."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from apframe.columns import exact
from apframe.exceptions import (
    ColumnError,
    DuplicateIdError,
    FormatError,
    IdTypeError,
    RowError,
    UnknownIdError,
    counted,
    first_line,
    listed,
    reason,
)
from apframe.paths import read_parquet

ID = pl.Int64  # or String; see `as_id`
OUTSIDE = "outside_subset"
GROUND_TRUTH = ("images", "categories", "annotations")  # the tables of a data set
KEYS = {"images": "image_id", "categories": "category_id"}  # of the tables that the others refer to
NAMES = {"images": "file_name", "categories": "name"}  # what people call their rows
BOX = ("x", "y", "width", "height")
_CAST = "cast one of them, so that both are the same"
SIZE = ("image_width", "image_height")
# How large masks may be, for all readers and similarities. What is beyond is an error that names the rows (in a file, the
# images), raised before anything is allocated for it.
MOST_PIXELS = 2**30  # of a mask: their numbers are of 32 bits
MOST_SIDE = 2**20  # its height, and its width
MOST_STEPS = 2**22  # columns of pixels that the outlines of one mask pass, there and back counted twice
MOST_RUNS = 2**27  # runs of pixels, each of one column, of all masks of a table; or RUNS_PER_NUMBER, if that is more
RUNS_PER_NUMBER = (
    32  # for each number that masks are given by, so that small files take little memory, and large ones what they need
)


@dataclass(frozen=True)
class Column:
    """One column of a canonical table.

    `required` columns must be given, those of a box only where no other shape is (`unless`); `standard` ones are added when
    missing. A `dtype` of None leaves the column as it came. `aliases` are what it may be called where it is not there.
    """

    name: str
    dtype: Any
    meaning: str
    required: bool = False
    standard: bool = True
    is_id: bool = False
    unless: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


def _id(name: str, meaning: str, required: bool = True) -> Column:
    return Column(name, ID, meaning, required=required, is_id=True)


def _ids(name: str, meaning: str) -> Column:
    return Column(name, pl.List(ID), meaning, standard=False, is_id=True)


_SHAPES = ("mask", "keypoints", "corners", "start_time")  # a box is made of one of these where none is given
_BOX = tuple(
    Column(name, pl.Float64, meaning, required=True, unless=_SHAPES)
    for name, meaning in zip(
        BOX,
        (
            "left edge of the box, pixels",
            "top edge of the box, pixels",
            "xmax - xmin of the box, pixels",
            "ymax - ymin of the box, pixels",
        ),
        strict=True,
    )
)
_SHAPE = (
    Column(
        "mask", None, "COCO's segmentation as JSON text, polygons as lists, RLE as structs, or bitmaps as lists", standard=False
    ),
    Column("keypoints", pl.List(pl.Float64), "x, y, visibility of each keypoint", standard=False),
    Column("corners", pl.List(pl.Float64), "x and y of the four corners of a rotated box, in order around it", standard=False),
    Column("angle", pl.Float64, "of a rotated box, radians, counter-clockwise about its centre", standard=False),
    Column("start_time", pl.Float64, "where an interval starts, seconds", standard=False),
    Column("end_time", pl.Float64, "where it ends", standard=False),
)
_OUTSIDE = Column(OUTSIDE, pl.Boolean, "outside the subset that `Evaluation.where` took: ignored", standard=False)

TABLES: dict[str, tuple[Column, ...]] = {
    "images": (
        _id("image_id", "key"),
        Column("image_width", pl.Int64, "pixels"),
        Column("image_height", pl.Int64, "pixels"),
        Column("file_name", pl.String, "as the data set names it"),
        _ids("pos_category_ids", "categories that were verified to be there"),
        _ids("neg_category_ids", "categories that were verified not to be there"),
        _ids("not_exhaustive_category_ids", "categories of which not every object is annotated"),
    ),
    "categories": (
        _id("category_id", "key"),
        Column("name", pl.String, "as people call it"),
        Column("supercategory", pl.String, "the group it belongs to"),
        _ids("parent_ids", "the categories right above it in a hierarchy"),
    ),
    "annotations": (
        _id("annotation_id", "key; numbered from 1 when not given", required=False),
        _id("image_id", "the image it is on"),
        _id("category_id", "what it is"),
        *_BOX,
        Column("area", pl.Float64, "square pixels, of the object where known, else of its box"),
        Column(
            "is_crowd",
            pl.Boolean,
            "a group of objects (COCO: matched many times, never counted; else as the protocol says); "
            "or called iscrowd, IsGroupOf, is_group_of",
            aliases=("iscrowd", "IsGroupOf", "is_group_of"),
        ),
        Column(
            "ignore",
            pl.Boolean,
            "as the file says, or called difficult (VOC); COCO does not use it",
            standard=False,
            aliases=("difficult",),
        ),
        *_SHAPE,
        Column("num_keypoints", pl.Int64, "how many are labelled; counted where it is not given", standard=False),
        _OUTSIDE,
    ),
    "detections": (
        _id("detection_id", "key; numbered from 1 when not given", required=False),
        _id("image_id", "the image it is on"),
        _id("category_id", "what it is taken for"),
        Column("score", pl.Float64, "confidence; only its order matters", required=True),
        *_BOX,
        Column("area", pl.Float64, "square pixels of the box; of the shape that the box was made of, where none was given"),
        Column("ignore", pl.Boolean, "ignored where it is not matched", standard=False),
        *_SHAPE,
        _OUTSIDE,
    ),
    "queries": (_id("query_id", "key"),),
    "judgements": (
        _id("query_id", "what was asked"),
        _id("document_id", "what was judged; with query_id the key"),
        Column("relevance", pl.Float64, "the grade; negative: seen, but not judged", required=True),
    ),
    "runs": (
        _id("query_id", "what was asked"),
        _id("document_id", "what was found; with query_id the key"),
        Column("score", pl.Float64, "only its order matters", required=True),
        Column("ignore", pl.Boolean, "takes no rank", standard=False),
    ),
}
"""Columns beyond these are attributes and are carried along."""
OUTCOMES = pl.Enum(["tp", "fp", "fn", "ignored"])
AREAS = pl.Enum([])  # stands for the names of the protocol's area ranges

_THRESHOLD = Column("iou_threshold", pl.Float64, "similarity from which a pair may match, rounded to ten digits")
_AREA_RANGE = Column("area_range", AREAS, "name of one of the protocol's area ranges")
_DETECTION = _id("detection_id", "the detection", required=False)
_ANNOTATION = _id("annotation_id", "the annotation", required=False)
_CATEGORY = _id("category_id", "the category; null where they are pooled", required=False)
_SIMILARITY = Column("similarity", pl.Float64, "IoU of the two, or what the protocol compares")
_COUNTS = (
    Column("tp", pl.UInt32, "true positives"),
    Column("fp", pl.UInt32, "false positives"),
    Column("fn", pl.UInt32, "annotations that were missed"),
)

RESULTS: dict[str, tuple[Column, ...]] = {
    "pairs": (_DETECTION, _ANNOTATION, _SIMILARITY),
    "assignments": (
        _DETECTION,
        _id("annotation_id", "the annotation that it is matched with", required=False),
        _SIMILARITY,
        Column("area_range", AREAS, "where the match holds; null: in every one"),
        Column("iou_from", pl.Float64, "the lowest threshold at which it holds"),
        Column("iou_to", pl.Float64, "the highest threshold at which it holds"),
    ),
    "matches": (
        Column("match_id", pl.Int64, "key"),
        _id("image_id", "the image", required=False),
        _id("category_id", "the category", required=False),
        _id("detection_id", "the detection; null for a missed annotation", required=False),
        _id("annotation_id", "the annotation that it is matched with; null if none", required=False),
        _THRESHOLD,
        _AREA_RANGE,
        Column("score", pl.Float64, "of the detection"),
        Column("rank", pl.Int64, "of the detection within its category, ties resolved, from 1"),
        Column("similarity", pl.Float64, "that of the matched pair"),
        Column("outcome", OUTCOMES, "tp, fp, fn (a missed annotation) or ignored"),
    ),
    "curves": (
        _CATEGORY,
        _AREA_RANGE,
        _THRESHOLD,
        Column("rank", pl.UInt32, "from 1; ignored detections take none"),
        _DETECTION,
        Column("score", pl.Float64, "of the detection"),
        Column("tp", pl.UInt32, "true positives down to this rank"),
        Column("fp", pl.UInt32, "false positives down to this rank"),
        Column("precision", pl.Float64, "tp / (tp + fp)"),
        Column("recall", pl.Float64, "tp / n_positives; null without positives"),
        Column("envelope", pl.Float64, "the largest precision at this rank or below it"),
    ),
    "metrics": (
        _CATEGORY,
        _AREA_RANGE,
        _THRESHOLD,
        Column("max_detections", pl.Int64, "so many detections per image and category take part (LVIS: per image); null: all"),
        Column("ap", pl.Float64, "average precision; null without positives"),
        Column("recall", pl.Float64, "at the end of the list; null without positives"),
        Column("n_positives", pl.Int64, "annotations that count"),
        Column("n_detections", pl.Int64, "detections that count: true and false positives"),
    ),
    "summary": (
        Column("metric", pl.String, "name of the headline number"),
        Column("value", pl.Float64, "mean over categories and thresholds; null where nothing could be evaluated"),
    ),
    "per_image": (
        _AREA_RANGE,
        _THRESHOLD,
        _id("image_id", "the image", required=False),
        *_COUNTS,
        Column("mean_similarity", pl.Float64, "mean similarity of the true positives; null without any"),
    ),
    "thresholds": (
        _CATEGORY,
        _AREA_RANGE,
        _THRESHOLD,
        Column("score_threshold", pl.Float64, "detections of this score and more count"),
        *_COUNTS,
        Column("precision", pl.Float64, "tp / (tp + fp)"),
        Column("recall", pl.Float64, "tp / (tp + fn); null without positives"),
        Column("f1", pl.Float64, "2 tp / (2 tp + fp + fn); null without positives"),
        Column("is_best", pl.Boolean, "the largest f1 of the category, at the highest threshold that has it"),
    ),
}
"""The tables of an evaluation."""

_QUERY, _RUN = (
    _id("query_id", "the query", required=False),
    Column("run", pl.String, "the run; left out where there is one alone"),
)
RUN_RESULTS: dict[str, tuple[Column, ...]] = {
    "matches": (
        _RUN,
        _QUERY,
        _id("document_id", "the judged document", required=False),
        Column("relevance", pl.Float64, "its grade"),
        Column("score", pl.Float64, "what the run gave it; null: not retrieved"),
        Column("rank", pl.Int64, "its place among all that the run retrieved, from 1; null: not retrieved"),
    ),
    "per_query": (
        _RUN,
        _QUERY,
        Column("measure", pl.String, "name of the measure"),
        Column("value", pl.Float64, "of this query; null where the query is left out"),
    ),
    "summary": (
        _RUN,
        Column("measure", pl.String, "name of the measure"),
        Column("value", pl.Float64, "the mean over queries"),
        Column("n_queries", pl.UInt32, "over so many"),
    ),
    "coverage": (
        _RUN,
        Column("n_judged", pl.Int64, "queries with judgements"),
        Column("n_evaluated", pl.Int64, "queries that the means are over"),
        Column("n_missing", pl.Int64, "judged queries that the run does not have"),
        Column("n_without_relevant", pl.Int64, "judged queries without a document of relevance 1 or more"),
        Column("n_not_judged", pl.Int64, "queries of the run without judgements"),
    ),
}
"""The tables of an evaluation of search runs."""

SLICES = (
    Column("rolled_up", pl.String, "with marginals: the keys of which the row takes all values"),
    Column("n_images", pl.Int64, "images of the slice; keys of the objects leave it as it is"),
    Column("n_annotations", pl.Int64, "annotations that count: inside the slice, no crowd"),
    Column("n_detections", pl.Int64, "true and false positives at the lowest threshold, all areas"),
    Column("n_categories", pl.Int64, "categories that the metrics are means over"),
)
"""The columns of a table of slices, beside its keys and the metrics."""
SUPPORT = tuple(column.name for column in SLICES if column.name.startswith("n_"))
_PAIRS = ("judgements", "runs")  # tables whose key is query_id and document_id
_READERS = {"annotations": "read_coco", "detections": "read_coco_results"}
FLAT_LISTS = {
    "corners": "; give x1, y1, x2, y2, x3, y3, x4, y4, around the shape, in one list",
    "keypoints": "; give x, y, visibility of each keypoint in one list",
}
"""What to do where a list is not one of numbers, for errors."""
# what others call the columns of a box or a shape, and how to make ours of them
_CALLED = {
    "x: {}": ("xmin", "x_min", "x1", "left"), "width: {} - x": ("xmax", "x_max", "x2", "right"), "width: {}": ("w",),
    "y: {}": ("ymin", "y_min", "y1", "top"), "height: {} - y": ("ymax", "y_max", "y2", "bottom"), "height: {}": ("h",),
    "start_time: {}": ("t-start", "t_start", "start"), "end_time: {}": ("t-end", "t_end", "end"),
    "start_time and end_time: the two numbers of {}": ("segment",), "corners: {}": ("poly",), "mask: {}": ("polygon", "masks"),
}  # fmt: skip


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
        _check_references("annotations", self.core("annotations"), self)
        for table in KEYS:
            self._core[table] = _with_known_lists(table, self.core(table), self.core("categories")["category_id"])

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


def noun(table: str) -> str:
    """What a row of a table is called.

    >>> noun("categories")
    'category'
    """
    return TABLES[table][0].name.removesuffix("_id")


def dictionary() -> pl.DataFrame:
    """Every column of every table: table, column, dtype, meaning.

    >>> dictionary().filter(pl.col("table") == "summary")["column"].to_list()
    ['metric', 'value', 'run', 'measure', 'value', 'n_queries']
    """
    groups = [*TABLES.items(), *RESULTS.items(), ("(slices)", SLICES), *RUN_RESULTS.items()]
    rows = [(table, c.name, _dtype_name(c), c.meaning) for table, columns in groups for c in columns]
    return pl.DataFrame(rows, schema=["table", "column", "dtype", "meaning"], orient="row")


def _dtype_name(column: Column) -> str:
    if column.is_id:
        return "List of ids" if isinstance(column.dtype, pl.List) else "Int64 or String"
    if column.dtype is None:
        return "String, List or Struct"
    return "Enum" if isinstance(column.dtype, pl.Enum) else str(column.dtype)


def result_schema(table: str, ids: Mapping[str, Any], areas: Any) -> dict[str, Any]:
    """Names and dtypes of one of the `RESULTS`, with the ids' dtypes and the area ranges of an evaluation.

    >>> result_schema("summary", {}, pl.Enum(["all"]))
    {'metric': String, 'value': Float64}
    """
    return {c.name: areas if c.dtype is AREAS else ids.get(c.name, c.dtype) for c in RESULTS[table]}


def canonical_detections(source: Any, dataset: Dataset) -> pl.DataFrame:
    """Detections as a canonical table, checked against the images and categories of their data set.

    Detections of categories that the data set does not have stay in; evaluation leaves them out with a warning.
    """
    return with_id_types("detections", canonical("detections", source), dataset)


def canonical(table: str, source: Any) -> pl.DataFrame:
    """Any source of columns as the named canonical table: names, dtypes, defaults and values checked.

    Missing optional columns are added: ids are numbered from 1, `area` is that of the box, `is_crowd` is false, the others
    are null. A detection's `area` is that of its box, unless the frame has another shape too
    and says the area. Attributes keep their dtypes and follow the canonical columns.
    """
    columns = TABLES[table]
    frame = _without_aliases(to_polars(source, table), columns)
    if "bbox" in frame.columns and "x" not in frame.columns and any(c.name == "x" for c in columns):
        frame = split_boxes(table, frame)
    if frame.is_empty() and not frame.columns:
        frame = pl.DataFrame(schema={c.name: c.dtype for c in columns if c.required})
    has_box = not frame.columns or any(c.name in frame.columns for c in columns if c.unless)
    missing = [c.name for c in columns if _is_needed(c, frame, has_box) and c.name not in frame.columns]
    if "x" in missing and "segmentation" in frame.columns:
        hint = f"rename COCO's segmentation to mask, or use {_READERS[table]}"
        raise ColumnError(f"{table}: no column {', '.join(missing)}; {hint}")
    if missing and "id" in frame.columns and columns[0].name in missing:
        raise ColumnError(f"{table}: no column {', '.join(missing)}; rename COCO's id to {columns[0].name}, or use read_coco")
    if set(BOX) & set(missing):
        raise _no_box(table, frame, missing)
    if missing:
        near = [match for name in missing for match in difflib.get_close_matches(name, frame.columns, 1)]
        hint = f" (did you mean to rename {', '.join(map(repr, near))}?)" if near else ""
        raise ColumnError(f"{table}: no column {', '.join(missing)}{hint}; there are {', '.join(frame.columns) or 'none'}")
    frame = frame.with_columns(_as_column(table, frame, c) for c in columns if c.name in frame.columns)
    given = frame.columns
    frame = frame.with_columns(pl.lit(None, c.dtype).alias(c.name) for c in columns if c.unless and c.name not in given)
    frame = frame.with_columns(_defaults(table, frame))
    known = [c.name for c in columns if c.name in frame.columns]
    frame = frame.select(*known, pl.exclude(known))
    _check_values(table, frame, given)
    return frame


def _without_aliases(frame: pl.DataFrame, columns: tuple[Column, ...]) -> pl.DataFrame:
    """The frame, a flag that is called by an alias under its own name, where it has none of that name."""
    for column in columns:
        called = [name for name in column.aliases if name in frame.columns and _is_flag(frame.schema[name])]
        if called and column.name not in frame.columns:
            frame = frame.rename({called[0]: column.name})
    return frame


def _is_flag(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Boolean


def _no_box(table: str, frame: pl.DataFrame, missing: list[str]) -> ColumnError:
    """The error that there is neither a box nor a shape, with the columns that may be one by another name."""
    known = {name: ours for ours, names in _CALLED.items() for name in names}
    near = {name: known[name.lower()].format(name) for name in frame.columns if name.lower() in known}
    for name in missing:
        near |= {match: f"{name}: {match}" for match in difflib.get_close_matches(name, frame.columns, 1) if match not in near}
    hints = ", ".join(hint for hint in near.values() if hint.split(":")[0] not in frame.columns)
    return ColumnError(
        f"{table}: no column {', '.join(missing)}; a box (x, y, width, height) or a shape (mask, keypoints, corners, or "
        f"start_time and end_time) is needed{f' (did you mean {hints}?)' if hints else ''}; "
        f"there are {', '.join(frame.columns) or 'none'}"
    )


def split_boxes(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """COCO's `bbox`, a column of lists [x, y, width, height], as four columns."""
    is_list = frame["bbox"].dtype == pl.List
    if not (is_list or frame["bbox"].dtype == pl.Array(pl.Float64, 4)):
        raise ColumnError(f"{table}.bbox: lists of four numbers expected, got {frame['bbox'].dtype}")
    wrong = frame["bbox"].list.len().fill_null(0) != 4 if is_list else frame["bbox"].is_null()
    refuse_rows(table, frame, wrong, "bbox is missing or not four numbers", "boxes are [x, y, width, height]")
    side = pl.col("bbox").list if is_list else pl.col("bbox").arr
    return frame.with_columns(side.get(k).alias(name) for k, name in enumerate(BOX)).drop("bbox")


def to_polars(source: Any, table: str) -> pl.DataFrame:
    """Polars, pyarrow, pandas, DuckDB, a dict of columns, or the path of a Parquet file, as a Polars frame.

    >>> to_polars({"a": [1]}, "images").shape
    (1, 1)
    """
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, (str, Path)):
        try:
            return read_parquet(source)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise FormatError(f"{table}: cannot read {source} as Parquet: {reason(error)}") from error
    if isinstance(source, dict) or hasattr(source, "__arrow_c_stream__"):
        try:
            return _of_columns(source) if isinstance(source, dict) else from_arrow_stream(source)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise ColumnError(f"{table}: the columns cannot be read: {first_line(error)}") from error
    raise ColumnError(
        f"{table}: {kind_of(source)} holds no columns; give a Polars, pyarrow or pandas frame, a DuckDB relation, "
        "a dict of columns or the path of a Parquet file"
    )


def kind_of(value: Any) -> str:
    """What something is, for messages: its type, with an article.

    >>> kind_of(None), kind_of(1), kind_of({})
    ('None', 'an int', 'a dict')
    """
    name = type(value).__name__
    return str(value) if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _of_columns(columns: dict[str, Any]) -> pl.DataFrame:
    """A dict of columns as a frame; Polars takes one array of two dimensions, but not a list of them, such as bitmaps."""
    return pl.DataFrame(
        {
            name: [each.tolist() if hasattr(each, "tolist") else each for each in values]
            if isinstance(values, list)
            else values
            for name, values in columns.items()
        }
    )


def from_arrow_stream(source: Any) -> pl.DataFrame:
    """A frame from anything that gives an Arrow stream: pyarrow, pandas, a DuckDB relation.

    Polars is shown the stream and nothing else: it would look into a relation more closely, and DuckDB would complain of
    that at the end of the program.

    >>> import duckdb
    >>> from_arrow_stream(duckdb.sql("SELECT 7 AS a")).item()
    7
    """
    return pl.DataFrame(_ArrowStream(source.__arrow_c_stream__()))


@dataclass(frozen=True)
class _ArrowStream:
    stream: Any

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.stream


def with_id_types(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """The frame, its image_id and category_id of the types that the data set has; an error where they differ."""
    for owner, column in KEYS.items():
        mine, theirs = frame[column].dtype, dataset.core(owner)[column].dtype
        if mine == theirs:
            continue
        if frame.is_empty():
            frame = frame.with_columns(pl.col(column).cast(theirs))
        elif dataset.core(owner).height:
            remedy = _agreeing_ids(table, frame[column], owner, dataset.core(owner))
            raise different_id_types(f"{table}.{column}", mine, f"{owner}.{column}", theirs, remedy)
    return frame


def _agreeing_ids(table: str, ids: pl.Series, owner: str, rows: pl.DataFrame) -> str:
    """What to do where the ids of a table are text, and those that they refer to numbers, or the other way round."""
    key, is_text = ids.name, ids.dtype == pl.String
    texts, numbers, holder = (ids, rows[key], table) if is_text else (rows[key], ids, owner)
    cast = texts.cast(pl.Int64, strict=False)
    names = rows[NAMES[owner]].drop_nulls()
    bare = names.str.replace(r"^.*[/\\]", "")
    are_names = is_known(ids.cast(pl.String), pl.concat([names, bare, bare.str.replace(r"\.[^.]*$", "")])).any()
    remedies = [f"use the ids of the {owner}"]
    if not cast.null_count():
        also = ", and annotations likewise" if table == "detections" and not is_text else ""
        remedies = [f'cast {key} to integers: {holder}.with_columns(pl.col("{key}").cast(pl.Int64)){also}']
    could_be_names = are_names or (cast.null_count() and (len(names) or not is_text))
    if table == "detections" and could_be_names:
        remedies.append(f'join them by name (join_by_name="{owner}")')
        if are_names and not is_known(cast, numbers).any():
            remedies = remedies[1:]
    return ", or ".join(remedies)


def different_id_types(name: str, mine: Any, other: str, theirs: Any, remedy: str = _CAST) -> IdTypeError:
    """The error that ids are integers on one side and strings on the other."""
    kinds = {pl.Int64(): "integers", pl.String(): "strings"}
    return IdTypeError(f"{name} holds {kinds[mine]}, {other} {kinds[theirs]}; {remedy}")


def is_known(ids: pl.Series, known: pl.Series) -> pl.Series:
    """Flags: is each id among the known ones?"""
    return ids.is_in(known.implode()) if len(known) else pl.repeat(False, len(ids), eager=True)


def unknown_ids(table: str, frame: pl.DataFrame, column: str, owner: str, known: pl.Series, remedy: str) -> UnknownIdError:
    """The error that names the rows whose ids are not known, and these ids."""
    unknown = listed(frame[column].filter(~known).unique(maintain_order=True).to_list())
    rows = _rows(table, frame, ~known)
    error = UnknownIdError(table, f"{column} is not among the {owner}", *rows, f"unknown: {unknown}; {remedy}")
    error.of_all_rows = not known.any()
    return error


def _check_references(table: str, frame: pl.DataFrame, dataset: Dataset) -> None:
    """Every image_id and category_id of the frame stands in the data set's own tables, or an error names the rows."""
    for owner, column in KEYS.items():
        known = is_known(frame[column], dataset.core(owner)[column])
        if not known.all():
            raise unknown_ids(table, frame, column, owner, known, f"add them to the {owner} or remove these rows")


def _with_known_lists(table: str, frame: pl.DataFrame, category_ids: pl.Series) -> pl.DataFrame:
    """The frame, its lists of category ids of their type, none missing; an error names the rows that list unknown ones."""
    key = TABLES[table][0].name
    for name in (c.name for c in TABLES[table] if c.is_id and not c.standard and c.name in frame.columns):
        listing = frame.select(key, named=name).explode("named", empty_as_null=False, keep_nulls=False)
        if listing.is_empty():
            listing = listing.with_columns(pl.col("named").cast(category_ids.dtype))
        elif listing["named"].dtype != category_ids.dtype:
            types = (listing["named"].dtype, category_ids.dtype)
            remedy = f"{_CAST}; give ids in the lists, not names" if types[0] == pl.String else _CAST
            raise different_id_types(f"{table}.{name}", types[0], "categories.category_id", types[1], remedy)
        known = is_known(listing["named"], category_ids)
        if not known.all():
            unknown = listed(listing["named"].filter(~known).unique(maintain_order=True).to_list())
            rows = listing[key].filter(~known).unique(maintain_order=True)
            remedy = f"unknown: {unknown}; add them to the categories or remove them from the lists"
            raise UnknownIdError(table, f"{name} has ids that are not among the categories", key, rows, remedy)
        frame = frame.with_columns(pl.col(name).cast(pl.List(category_ids.dtype)).fill_null([]))
    return frame


def _as_column(table: str, frame: pl.DataFrame, column: Column) -> pl.Series:
    values = frame[column.name]
    if column.dtype is None:
        return values
    if not column.is_id:
        return _as_dtype(table, frame, values, column.dtype)
    if column.dtype == ID:
        return as_id(table, frame, values)
    return _as_id_lists(table, frame, values)


def _as_id_lists(table: str, frame: pl.DataFrame, values: pl.Series) -> pl.Series:
    if values.dtype == pl.Null:
        return values.cast(pl.List(ID))
    inner: Any = getattr(values.dtype, "inner", None)
    is_text = inner in (pl.Categorical, pl.Enum, pl.String)
    if not isinstance(values.dtype, pl.List) or not (is_text or inner == pl.Null or inner.is_numeric()):
        raise ColumnError(f"{table}.{values.name}: lists of ids expected, got {values.dtype}")
    is_missing, is_broken = pl.element().is_null(), pl.element() != pl.element().floor()
    missing = values.list.eval(is_missing).list.any().fill_null(False)
    refuse_rows(table, frame, missing, f"{values.name} lists an id that is missing", "correct these rows")
    if inner.is_float():
        broken = values.list.eval(is_broken | ~pl.element().is_finite()).list.any().fill_null(False)
        refuse_rows(table, frame, broken, f"{values.name} is not a whole number", "correct these rows")
    if not is_text:
        ids = values.cast(pl.List(ID), strict=False)
        large = ids.list.eval(pl.element().is_null()).list.any().fill_null(False)
        refuse_rows(table, frame, large, f"{values.name} lists an id beyond 64 bits", "correct these rows")
        return ids
    return values.cast(pl.List(pl.String))


def as_id(table: str, frame: pl.DataFrame, ids: pl.Series) -> pl.Series:
    """Integers as Int64, strings as String; whole floats become integers; anything else is an error."""
    if ids.dtype in (pl.Categorical, pl.Enum, pl.String):
        return ids.cast(pl.String)
    if ids.dtype.is_numeric() or ids.dtype == pl.Null:
        return _as_dtype(table, frame, ids, pl.Int64)
    raise ColumnError(f"{table}.{ids.name}: ids are integers or strings, not {ids.dtype}")


def _as_dtype(table: str, frame: pl.DataFrame, values: pl.Series, dtype: Any) -> pl.Series:
    if values.dtype == dtype:
        return values
    inner: Any = values.dtype
    while isinstance(inner, (pl.List, pl.Array)):
        inner = inner.inner
    is_text = inner in (pl.String, pl.Categorical, pl.Enum) and dtype != pl.String
    if is_text or (values.dtype.is_nested() and not pl.Series([], dtype=dtype).dtype.is_nested()):
        raise ColumnError(f"{table}.{values.name}: {dtype} expected, got {values.dtype}{FLAT_LISTS.get(values.name, '')}")
    if values.dtype.is_float() and dtype == pl.Int64:
        broken = (values != values.floor()) | ~values.is_finite()
        refuse_rows(table, frame, broken, f"{values.name} is not a whole number", "correct these rows")
    try:
        return values.cast(dtype, strict=True)
    except pl.exceptions.PolarsError as error:
        if pl.Series([], dtype=dtype).dtype.is_nested():
            remedy = FLAT_LISTS.get(values.name, "")
            raise ColumnError(
                f"{table}.{values.name}: {dtype} expected, got {values.dtype}: {first_line(error)}{remedy}"
            ) from error
        try:
            failed = values.cast(dtype, strict=False).is_null() & values.is_not_null()
        except pl.exceptions.PolarsError:  # no value of this type can be one of that
            raise ColumnError(f"{table}.{values.name}: {dtype} expected, got {values.dtype}") from None
        rows = _rows(table, frame, failed)
        raise RowError(table, f"{values.name} is not {dtype}", *rows, "correct these rows") from None


def _defaults(table: str, frame: pl.DataFrame) -> list[pl.Expr]:
    box_area = (pl.col("width") * pl.col("height")).alias("area")
    exprs = []
    for column in TABLES[table]:
        name, given = column.name, column.name in frame.columns
        if name == "area":
            # a detection's area is that of its box, but where the box was made of another shape
            has_shape = any(c.name in frame.columns for c in TABLES[table] if c.name in _SHAPES)
            is_own = given and (table == "annotations" or has_shape)
            exprs.append(pl.col("area").fill_null(box_area) if is_own else box_area)
        elif name == "is_crowd" or (name in ("ignore", OUTSIDE) and given):
            exprs.append((pl.col(name).fill_null(False) if given else pl.lit(False)).alias(name))
        elif not given and column.is_id and column.standard:
            exprs.append(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(name))
        elif not given and column.standard:
            exprs.append(pl.lit(None, dtype=column.dtype).alias(name))
    return exprs


def _check_values(table: str, frame: pl.DataFrame, given: list[str]) -> None:
    has_box = any(frame[c.name].count() for c in TABLES[table] if c.unless)
    for column in (c for c in TABLES[table] if _is_needed(c, frame, has_box) or (c.is_id and c.standard)):
        refuse_rows(table, frame, frame[column.name].is_null(), f"{column.name} is missing", "give it, or remove the rows")
    for column in TABLES[table]:
        if column.dtype == pl.Float64 and column.name in frame.columns:
            values = frame[column.name]
            if not math.isfinite(values.sum()):  # much cheaper than a look at every value
                refuse_rows(
                    table, frame, ~values.is_finite(), f"{column.name} is not a finite number", "correct or remove them"
                )
            if column.name in ("width", "height", "area") and values.count() and values.min() < 0:  # type: ignore[operator]
                refuse_rows(table, frame, values < 0, f"{column.name} is negative", "boxes are x, y, width, height, in pixels")
    key = TABLES[table][0].name
    if table not in _PAIRS and key in given and not _all_different(frame[key]):
        duplicated = frame[key].is_duplicated()
        raise DuplicateIdError(
            table,
            f"{key} is not unique",
            key,
            frame[key].filter(duplicated).unique(maintain_order=True),
            "make the ids unique",
        )


def refuse_equal_pairs(table: str, frame: pl.DataFrame) -> None:
    """An error where a query has a document twice: `canonical` does not look, as that takes longer than all else it does.

    Only where two hashes are equal are the ids themselves compared.
    """
    if frame.select("query_id", "document_id").hash_rows().n_unique() < frame.height:
        ids = frame.select("query_id", "document_id")
        doubled = ids.is_duplicated()
        if doubled.any():
            which = listed(
                [f"{query} {document}" for query, document in ids.filter(doubled).unique(maintain_order=True).rows()]
            )
            problem = f"a query has a document more than once ({which})"
            raise DuplicateIdError(table, problem, "row", row_numbers(doubled), "keep one of each")


def _all_different(ids: pl.Series) -> bool:
    if ids.is_sorted():
        return bool((ids.shift() != ids).all())
    return ids.n_unique() == len(ids)


def _is_needed(column: Column, frame: pl.DataFrame, has_box: bool) -> bool:
    return column.required and (has_box or not set(column.unless) & set(frame.columns))


def refuse_rows(table: str, frame: pl.DataFrame, broken: pl.Series, problem: str, remedy: str) -> None:
    """An error that names the flagged rows by their ids, or by their numbers (from 1) where the frame has none.

    >>> refuse_rows("detections", pl.DataFrame({"detection_id": [7, 8]}), pl.Series([False, True]), "no good", "mend it")
    Traceback (most recent call last):
    apframe.exceptions.RowError: detections: no good where detection_id is 8; mend it
    """
    if broken.any():
        raise RowError(table, problem, *_rows(table, frame, broken), remedy)


def _rows(table: str, frame: pl.DataFrame, where: pl.Series) -> tuple[str, list[Any]]:
    """The key column and the ids of rows; their numbers where some have no id."""
    key = TABLES[table][0].name
    if table in _PAIRS or key not in frame.columns:
        return "row", row_numbers(where)
    given = frame[key]
    ids = given.cast(pl.Int64, strict=False) if given.dtype.is_float() else given  # as files are read
    if ids.dtype.is_nested() or ids.null_count() or not (ids == given).all():
        return "row", row_numbers(where)
    return key, ids.filter(where).to_list()


def row_numbers(where: pl.Series) -> list[int]:
    """The numbers of the rows that are flagged, from 1."""
    return [row + 1 for row in where.arg_true().to_list()]

"""The canonical tables: their columns, types, keys and meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from apframe.columns import Column
from apframe.shapes.boxes import BOXES
from apframe.shapes.catalogue import OTHERS

ID = pl.Int64  # or String; see `as_id`
OUTSIDE = "outside_subset"
GROUND_TRUTH = ("images", "categories", "annotations")  # the tables of a data set
KEYS = {"images": "image_id", "categories": "category_id"}  # of the tables that the others refer to
NAMES = {"images": "file_name", "categories": "name"}  # what people call their rows
SIZE = ("image_width", "image_height")


def _id(name: str, meaning: str, required: bool = True, aliases: tuple[str, ...] = ()) -> Column:
    return Column(name, ID, meaning, required=required, is_id=True, aliases=aliases)


def _ids(name: str, meaning: str) -> Column:
    return Column(name, pl.List(ID), meaning, standard=False, is_id=True)


# a box is made of another shape where none is given
_BOX = tuple(replace(column, unless=tuple(shape.column for shape in OTHERS)) for column in BOXES.columns)
_SHAPE = tuple(column for shape in OTHERS for column in shape.columns)
# what retrieval tools call them; docno comes first, as PyTerrier's docid is a number of its own
_QUERY_IDS = ("qid", "query-id", "q_id", "topic")
_DOCUMENT_IDS = ("docno", "doc_id", "docid", "did", "pid", "corpus-id")
_GRADES = ("label", "rel", "grade", "score")
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
    "queries": (_id("query_id", "key", aliases=_QUERY_IDS),),
    "judgements": (
        _id("query_id", f"what was asked; or called {', '.join(_QUERY_IDS)}", aliases=_QUERY_IDS),
        _id(
            "document_id",
            f"what was judged, key with query_id; or called {', '.join(_DOCUMENT_IDS)}",
            aliases=_DOCUMENT_IDS,
        ),
        Column(
            "relevance",
            pl.Float64,
            f"the grade; negative: seen, but not judged; or called {', '.join(_GRADES)}",
            required=True,
            aliases=_GRADES,
        ),
    ),
    "runs": (
        _id("query_id", "what was asked, as in judgements", aliases=_QUERY_IDS),
        _id("document_id", "what was found, as in judgements; key with query_id", aliases=_DOCUMENT_IDS),
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

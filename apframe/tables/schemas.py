"""The canonical tables: their columns, types, keys and meanings."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from apframe.columns import Column
from apframe.tables.shapes.boxes import BOXES
from apframe.tables.shapes.declarations import COUNTED, LABEL_MAP, OTHERS, SEGMENTS

ID = pl.Int64  # or String; see `apframe.tables.types`
OUTSIDE = "outside_subset"
GROUND_TRUTH = ("images", "categories", "annotations")  # the tables of a data set
KEYS = {"images": "image_id", "categories": "category_id"}  # keys of the tables that the others refer to
NAMES = {"images": "file_name", "categories": "name"}  # columns with the names of their rows
SIZE = ("image_width", "image_height")
OUTCOMES = pl.Enum(["tp", "fp", "fn", "ignored"])  # of detections and annotations


def id_column(name: str, meaning: str, required: bool = True, aliases: tuple[str, ...] = ()) -> Column:
    """Declare a column of ids."""
    return Column(name, ID, meaning, required=required, is_id=True, aliases=aliases)


def ids_column(name: str, meaning: str) -> Column:
    """Declare a column of lists of ids."""
    return Column(name, pl.List(ID), meaning, standard=False, is_id=True)


# a box is computed from another shape if there is none
_BOX = tuple(replace(column, unless=tuple(shape.column for shape in OTHERS)) for column in BOXES.columns)
_SHAPE = tuple(column for shape in OTHERS for column in shape.columns)
# names in retrieval tools; docno comes first, as PyTerrier's docid is a number of its own
_QUERY_IDS = ("qid", "query-id", "q_id", "topic")
_DOCUMENT_IDS = ("docno", "doc_id", "docid", "did", "pid", "corpus-id")
_GRADES = ("label", "rel", "grade", "score")
_OUTSIDE = Column(OUTSIDE, pl.Boolean, "outside the subset that `Evaluation.where` took: ignored", standard=False)
TABLES: dict[str, tuple[Column, ...]] = {
    "images": (
        id_column("image_id", "key"),
        Column("image_width", pl.Int64, "pixels"),
        Column("image_height", pl.Int64, "pixels"),
        Column("file_name", pl.String, "file name in the data set"),
        ids_column("pos_category_ids", "categories verified to be present"),
        ids_column("neg_category_ids", "categories verified to be absent"),
        ids_column("not_exhaustive_category_ids", "categories whose objects are not all annotated"),
        LABEL_MAP,
    ),
    "categories": (
        id_column("category_id", "key"),
        Column("name", pl.String, "its name"),
        Column("supercategory", pl.String, "the group it belongs to"),
        ids_column("parent_ids", "its direct parents in a hierarchy"),
    ),
    "annotations": (
        id_column("annotation_id", "key; numbered from 1 when not given", required=False),
        id_column("image_id", "the image it is on"),
        id_column("category_id", "what it is"),
        *_BOX,
        Column("area", pl.Float64, "square pixels: of the object if known, otherwise of its box"),
        Column(
            "is_crowd",
            pl.Boolean,
            "a group of objects (COCO: may match many detections, never counts; otherwise see the protocol); "
            "or called iscrowd, IsGroupOf, is_group_of",
            aliases=("iscrowd", "IsGroupOf", "is_group_of"),
        ),
        Column(
            "ignore",
            pl.Boolean,
            "flagged as ignored in the file; or called difficult (VOC); COCO does not use it",
            standard=False,
            aliases=("difficult",),
        ),
        *_SHAPE,
        Column("num_keypoints", pl.Int64, "number of labelled keypoints; counted if not given", standard=False),
        _OUTSIDE,
    ),
    "detections": (
        id_column("detection_id", "key; numbered from 1 when not given", required=False),
        id_column("image_id", "the image it is on"),
        id_column("category_id", "the predicted category"),
        Column(
            "score",
            pl.Float64,
            "confidence; only its order matters; null where segments have none",
            required=True,
            unless=(SEGMENTS.column,),
        ),
        *_BOX,
        Column("area", pl.Float64, "square pixels: of the box, or of the shape if the box was made from it"),
        Column("ignore", pl.Boolean, "ignored if unmatched", standard=False),
        *_SHAPE,
        *COUNTED,
        _OUTSIDE,
    ),
    "queries": (id_column("query_id", "key", aliases=(*_QUERY_IDS, "_id")),),
    "judgements": (
        id_column("query_id", f"the query; or called {', '.join(_QUERY_IDS)}", aliases=_QUERY_IDS),
        id_column(
            "document_id",
            f"the judged document, key with query_id; or called {', '.join(_DOCUMENT_IDS)}",
            aliases=_DOCUMENT_IDS,
        ),
        Column(
            "relevance",
            pl.Float64,
            f"the grade; negative: in the pool, but not judged; or called {', '.join(_GRADES)}",
            required=True,
            aliases=_GRADES,
        ),
    ),
    "runs": (
        id_column("query_id", "the query, as in judgements", aliases=_QUERY_IDS),
        id_column("document_id", "the retrieved document, as in judgements; key with query_id", aliases=_DOCUMENT_IDS),
        Column("score", pl.Float64, "only its order matters", required=True),
        Column("ignore", pl.Boolean, "takes no rank", standard=False),
    ),
}
"""All other columns are attributes and are kept."""


def noun(table: str) -> str:
    """Return the noun for a row of a table.

    >>> noun("categories")
    'category'
    """
    return TABLES[table][0].name.removesuffix("_id")

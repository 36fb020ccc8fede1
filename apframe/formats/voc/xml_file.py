"""Annotations of VOC in XML, read and written as whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.documents import read_xml
from apframe.formats.edges import refuse_reversed, to_edges
from apframe.formats.text_lines import Lines
from apframe.formats.xml_text import escaped, refuse_illegal
from apframe.tables.schemas import SIZE
from apframe.wording import listed

# the elements of an annotation and of its objects, and their columns
IMAGE = {
    "folder": "folder",
    "filename": "file_name",
    "size/width": "image_width",
    "size/height": "image_height",
    "segmented": "segmented",
}
OBJECT = {
    "name": "category_id",
    "pose": "pose",
    "truncated": "truncated",
    "occluded": "occluded",
    "difficult": "ignore",
}
EDGES = ("xmin", "ymin", "xmax", "ymax")
_REQUIRED = ("name", *EDGES)
_NUMBERS = ("size/width", "size/height", *EDGES)
_FLAGS = ("segmented", "truncated", "occluded", "difficult", "ignore")
_TEXTS = ("folder", "file_name", "pose", "category_id")
_OPTIONAL = ("folder", "segmented", "pose", "truncated", "occluded", "ignore")
_FLAG_WORDS = {"0": False, "1": True, "false": False, "true": True, "unspecified": None}
_NO_BOX = ElementTree.Element("bndbox")


def read_annotations(paths: Sequence[Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read images and objects: `file` (position in `paths`) and their elements; objects also have `object` and edges.

    Attributes that no file has are left out.
    """
    images: list[tuple[Any, ...]] = []
    objects: list[tuple[Any, ...]] = []
    for place, path in enumerate(paths):
        root = read_xml(path)
        if root.tag != "annotation":
            raise FormatError(f"the root is <{root.tag}>, not <annotation>", path=path)
        images.append((place, *map(root.findtext, IMAGE)))
        for number, element in enumerate(root.iterfind("object"), 1):
            box = element.find("bndbox")
            corners = _NO_BOX if box is None else box
            objects.append((place, number, *map(element.findtext, OBJECT), *map(corners.findtext, EDGES)))
    of_images, _ = _values("", paths, images, ("file", *IMAGE))
    table, lines = _values("annotations", paths, objects, ("file", "object", *OBJECT, *EDGES))
    refuse_reversed(lines, table, EDGES)
    return _without_empty(of_images.rename(IMAGE)), _without_empty(lines.marked(table.rename(OBJECT)))


def _values(
    table: str, paths: Sequence[Path], rows: list[tuple[Any, ...]], names: tuple[str, ...]
) -> tuple[pl.DataFrame, Lines]:
    """Convert texts of elements to columns of their types, null for missing or empty elements."""
    schema = {name: pl.Int64 if name in ("file", "object") else pl.String for name in names}
    frame = pl.DataFrame(rows, schema, orient="row").with_columns(pl.col(pl.String).str.strip_chars().replace("", None))
    lines = Lines(table, paths, frame, "object")
    for name in names:
        texts = frame[name]
        if name in _REQUIRED:
            lines.refuse(texts.is_null(), f"{name} is missing")
        if name in _NUMBERS:
            frame = frame.with_columns(lines.numbers(frame.select(name)))
        elif name in _FLAGS:
            words = texts.str.to_lowercase()
            broken = texts.is_not_null() & ~words.is_in(list(_FLAG_WORDS))
            lines.refuse(broken, f"{name} is neither 0 nor 1")
            frame = frame.with_columns(words.replace_strict(_FLAG_WORDS, default=None, return_dtype=pl.Boolean))
    return frame, lines


def _without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop([name for name in _OPTIONAL if name in frame.columns and not frame[name].count()])


def written_annotations(images: pl.DataFrame, annotations: pl.DataFrame) -> pl.DataFrame:
    """Return `image_id` and the `document` of each image.

    Raises
    ------
    FormatError
        names of classes that would change in a round trip, or characters that XML cannot hold
    """
    names = annotations["category_id"].unique(maintain_order=True)
    unlike = names.filter(names.ne_missing(_text(names))).to_list()
    if unlike:
        raise FormatError(f"categories: VOC cannot hold the name {listed(unlike)}", "change it")
    objects = annotations.select(
        "image_id",
        objects=pl.concat_str(
            pl.lit("\t<object>\n"),
            *(_element(annotations, tag, column, "\t\t") for tag, column in OBJECT.items()),
            pl.lit("\t\t<bndbox>\n"),
            *(pl.format("\t\t\t<{}>{}</{}>\n", pl.lit(tag), side, pl.lit(tag)) for tag, side in to_edges(EDGES).items()),
            pl.lit("\t\t</bndbox>\n\t</object>\n"),
        ),
    )
    objects = objects.group_by("image_id", maintain_order=True).agg(pl.col("objects").str.join())
    documents = images.join(objects, on="image_id", how="left", maintain_order="left").select(
        "image_id",
        document=pl.concat_str(
            pl.lit("<annotation>\n"),
            _element(images, "folder", "folder", "\t"),
            _element(images, "filename", "file_name", "\t"),
            pl.lit("\t<size>\n"),
            _element(images, "width", "image_width", "\t\t"),
            _element(images, "height", "image_height", "\t\t"),
            pl.lit("\t</size>\n"),
            _element(images, "segmented", "segmented", "\t"),
            pl.col("objects").fill_null(""),
            pl.lit("</annotation>\n"),
        ),
    )
    refuse_illegal(documents["document"])
    return documents


def changed_values(frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
    """List the values that elements cannot hold: see `Format.further_losses`."""
    losses = []
    for name in (name for name in frame.columns if name in (*_TEXTS, *_FLAGS)):
        values = frame[name]
        if name in _FLAGS:
            losses.append((name, values.is_not_null() & _text(values).is_null(), "left out: neither true nor false"))
        elif not _is_text(values):
            losses.append((name, values.is_not_null(), "left out: not text"))
        else:
            changed = values.cast(pl.String).ne_missing(_text(values))
            losses.append((name, changed, "surrounding blanks are removed; null if nothing is left"))
    return losses


def _element(frame: pl.DataFrame, tag: str, column: str, indent: str) -> pl.Expr:
    """Return the column as lines of XML; empty for null values."""
    if column not in frame.columns:
        return pl.lit("")
    text = escaped(pl.lit(_text(frame[column])))
    return pl.concat_str(pl.lit(f"{indent}<{tag}>"), text, pl.lit(f"</{tag}>\n")).fill_null("")


def _text(values: pl.Series) -> pl.Series:
    """Return each value of a column as text for XML; null if the value cannot be written."""
    if values.name in _FLAGS and (values.dtype.is_numeric() or values.dtype == pl.Boolean):
        return values.cast(pl.Float64).replace_strict({0: "0", 1: "1"}, default=None, return_dtype=pl.String)
    if values.name in SIZE or (values.name in _TEXTS and _is_text(values)):
        return values.cast(pl.String).str.strip_chars().replace("", None)
    return pl.repeat(None, len(values), dtype=pl.String, eager=True)


def _is_text(values: pl.Series) -> bool:
    return values.dtype in (pl.String, pl.Categorical, pl.Enum)

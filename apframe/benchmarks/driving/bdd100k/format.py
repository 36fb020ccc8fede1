"""Scalabel's JSON, in which BDD100K comes: frames with attributes, labels with boxes or masks."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError, ShapesLeftOutWarning, warn
from apframe.formats.coco.json_rows import canonical_names, frame_of_rows
from apframe.formats.documents import read_json
from apframe.formats.format import ReadOnly
from apframe.formats.image_names import categories_of
from apframe.formats.json_fields import Fields
from apframe.formats.looks import Look, looks
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import SIZE

_CORNERS, _RLE = ("x1", "y1", "x2", "y2"), ("size", "counts")
_OF_CROWDS = ("crowd", "ignored")
_SHAPES = ("box2d", "rle", "poly2d", "box3d", "graph")
_ATTRIBUTES = "attributes"


class Scalabel(ReadOnly):
    """Scalabel's JSON: a list of frames, or an object with frames and config. BDD100K's labels and results are such files.

    Each frame is an image, whose id is the name of the frame. Its attributes, such as weather, scene and timeofday, are
    columns, and so are its videoName and frameIndex. The size of the image is that of the frame, or of the config. Categories
    are those of the config, or those that occur.

    The corners of box2d are inclusive pixels, as in the programs of Scalabel and BDD100K: a box from 0 to 9 is 10 wide. If any
    label of the file has an `rle`, masks are read, with the boxes around them, and labels without an `rle` are left out. Labels
    with neither box2d nor rle are always left out. Both cases give a `ShapesLeftOutWarning`. Attributes of labels are columns.
    As in Scalabel's own conversion to COCO, `is_crowd` is true if crowd or ignored is. The id becomes `label_id`.

    Source: the documentation of Scalabel, "Scalabel format".
    """

    name = "scalabel"
    title = "Scalabel JSON"
    dataset_is = "a JSON file, plain or gzip, with a list of frames, each with name, attributes and labels (BDD100K)"
    results_are = "the same, with a score in each label"
    dataset_looks = looks(
        Look("file", begins="[", keys=("name", "labels"), no_keys=("image_id", "data_row", "score")),
        Look("file", begins="{", keys=("frames", "name", "labels"), no_keys=("image_id", "data_row", "score")),
    )
    results_looks = looks(
        Look("file", begins="[", keys=("name", "labels", "score"), no_keys=("image_id", "data_row")),
        Look("file", begins="{", keys=("frames", "name", "labels", "score"), no_keys=("image_id", "data_row")),
        Look("file", begins="[", keys=("name", "labels"), no_keys=("image_id", "data_row", "category")),
        Look("file", begins="{", keys=("frames", "name", "labels"), no_keys=("image_id", "data_row", "category")),
    )

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        frames, config = _document(path)
        annotations = _labels(path, frames, "annotations")
        names = _leaves(path, config.get("categories") or [])
        categories = pl.DataFrame({"category_id": names, "name": names}, {"category_id": pl.String, "name": pl.String})
        return {
            "images": _images(frames, config),
            "categories": categories if names else categories_of(annotations),
            "annotations": annotations,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _labels(path, _document(path)[0], "detections")


def _document(path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the frames and the config of a file."""
    document = read_json(path)
    frames, config = (document.get("frames"), document.get("config")) if isinstance(document, dict) else (document, {})
    if not isinstance(frames, list):
        raise FormatError("no list of frames", "is it Scalabel's JSON?", path=path)
    named = Fields("", path, "frame", "", frames)
    named.refuse_repeated(named.text("name"), "several frames have the name")
    named.refuse_each([not isinstance(frame.get("labels") or [], list) for frame in frames], "labels is not a list")
    named.objects(_ATTRIBUTES)
    return frames, config if isinstance(config, dict) else {}


def _images(frames: list[dict[str, Any]], config: dict[str, Any]) -> pl.DataFrame:
    rows = [
        {name: frame[name] for name in ("videoName", "frameIndex") if frame.get(name) is not None}
        | (frame.get(_ATTRIBUTES) or {})
        for frame in frames
    ]
    sizes = [frame.get("size") or config.get("imageSize") or {} for frame in frames]
    whole = {name: [_whole(size, name.removeprefix("image_")) for size in sizes] for name in SIZE}
    ids = pl.DataFrame(
        {"image_id": [frame["name"] for frame in frames], **whole}, {"image_id": pl.String, **dict.fromkeys(SIZE, pl.Int64)}
    )
    return ids.hstack(_attributes("images", rows))


def _whole(size: Any, side: str) -> int | None:
    value = size.get(side) if isinstance(size, dict) else None
    return value if type(value) is int and 0 < value < 2**31 else None


def _attributes(table: str, rows: list[dict[str, Any]]) -> list[pl.Series]:
    """Return attributes as columns, renamed if a canonical column has their name; those without a value are left out."""
    frame = canonical_names(table, frame_of_rows(table, rows, attributes_only=True)[0])
    return [values for values in frame if values.count()]


def _leaves(path: Path, categories: Any) -> list[str]:
    """Return the names of categories without subcategories, in their order."""
    names, waiting = [], [categories]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(reversed(node))
        elif not isinstance(node, dict) or not isinstance(node.get("name"), str):
            raise FormatError(
                "the categories of the config are not a list of objects with a name", "correct the file", path=path
            )
        elif node.get("subcategories"):
            waiting.append(node["subcategories"])
        else:
            names.append(node["name"])
    return list(dict.fromkeys(names))


def _labels(path: Path, frames: list[dict[str, Any]], table: str) -> pl.DataFrame:
    """Return labels as annotations or detections."""
    names = [frame["name"] for frame in frames for _ in frame.get("labels") or []]
    rows = list(chain.from_iterable(frame.get("labels") or [] for frame in frames))
    every = Fields("", path, "label", "frame", rows, names)
    kind = "rle" if any(row.get("rle") for row in rows) else "box2d"
    has_shape = [bool(row.get(kind)) for row in rows]
    _warn_of_others(path, [row for row, is_read in zip(rows, has_shape, strict=True) if not is_read])
    every.objects(_ATTRIBUTES)
    kept = pl.Series("kept", has_shape, pl.Boolean).arg_true().to_list()
    labels = Fields(table, path, "label", "frame", [rows[row] for row in kept], [names[row] for row in kept])
    attributes = labels.objects(_ATTRIBUTES)
    columns: dict[str, Any] = {"image_id": pl.Series(labels.places, dtype=pl.String), "category_id": labels.text("category")}
    if table == "detections":
        columns["score"] = labels.number("score")
    else:
        is_crowd = [any(row.get(name) for name in _OF_CROWDS) for row in attributes]
        columns["is_crowd"] = pl.Series(is_crowd, dtype=pl.Boolean)
    ids = [None if row.get("id") is None else str(row["id"]) for row in labels.rows]
    labels.enter(kind)
    columns |= _masks(labels) if kind == "rle" else _boxes(labels)
    read = pl.DataFrame(columns).with_columns(label_id=pl.Series(ids, dtype=pl.String))
    return labels.marked(read.hstack(_attributes(table, attributes)))


def _boxes(labels: Fields) -> dict[str, pl.Series]:
    left, top, right, bottom = (labels.number(name) for name in _CORNERS)
    return {"x": left, "y": top, "width": right - left + 1, "height": bottom - top + 1}


def _masks(labels: Fields) -> dict[str, pl.Series]:
    """Return run lengths as JSON text, as COCO has it."""
    labels.numbers("size", 2), labels.text("counts")  # both reject invalid values
    texts = [json.dumps({name: row.get(name) for name in _RLE}) for row in labels.rows]
    return {"mask": pl.Series(texts, dtype=pl.String)}


def _warn_of_others(path: Path, labels: list[dict[str, Any]]) -> None:
    """Warn of labels that were left out, with their number for each shape."""
    kinds = Counter(" and ".join(name for name in _SHAPES if label.get(name)) or "no shape" for label in labels)
    if kinds:
        shown = ", ".join(f"{n:,} with {kind}" for kind, n in sorted(kinds.items()))
        needed = "no rle, which other labels have" if any("box2d" in kind for kind in kinds) else "neither box2d nor rle"
        warn(f"{path}: left out labels that have {needed}: {shown}", ShapesLeftOutWarning)

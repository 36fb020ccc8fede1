"""AVA's CSV: boxes of people in frames of videos, a line for each action, without a header."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.folders import files_in
from apframe.formats.edges import from_edges, refuse_reversed
from apframe.formats.files import read_text
from apframe.formats.format import ReadOnly
from apframe.formats.looks import TEXT, Look, looks
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import Lines
from apframe.rows import OF_SOURCE
from apframe.tables.dataset import Dataset
from apframe.wording import listed

_EDGES = ("x1", "y1", "x2", "y2")
_FIELDS = ("video", "timestamp", *_EDGES, "category_id", "last")
_LABEL_MAP = ".pbtxt"
_ITEM = re.compile(r"\{([^{}]*)\}")
_FAR = (-1.0, 2.0)  # the limits of coordinates as fractions of a frame


class Ava(ReadOnly):
    """AVA's ground truth and results: lines of video, second, x1, y1, x2, y2, action, and a person or a score.

    Coordinates remain fractions of the frame, whose size is 1 x 1. Each frame is an image, whose id is the video and the second
    with six decimals, "abc,902.000000"; it has the attributes `video` and `timestamp`. Lines of video and second alone are
    frames without boxes. The number of a person is `person_id`.

    Categories are the numbers of the actions. If the ground truth is a folder with one CSV file and one label map, a `.pbtxt`
    file, the label map has the names of the evaluated actions. Annotations of other actions are left out, as in the kit.
    Without a label map, the actions of the ground truth are evaluated.

    Source: the files of AVA, as described on its page; `read_csv` of get_ava_performance.py.
    """

    name = "ava"
    title = "AVA CSV"
    dataset_is = (
        "a CSV file without a header, lines of video, second, x1, y1, x2, y2, action, person; or a folder with that file and a "
        "label map (.pbtxt)"
    )
    results_are = "a CSV file without a header, lines of video, second, x1, y1, x2, y2, action, score"
    dataset_looks = looks(Look("file", begins=TEXT), Look("folder", endings=(_LABEL_MAP,)))
    results_looks = looks(Look("file", begins=TEXT))
    results_ending = ".csv"

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Look for lines of a name and numbers, the last a person or a score; in a folder, in its CSV files.

        Persons are whole numbers. Scores are not all whole, or all of them are 0 or 1.
        """
        return any(role in _roles(file) for file in ([seen] if seen.kind == "file" else seen.children("*.csv")))

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        labels = None
        if path.is_dir():
            labels, path = _label_map(_only(path, _LABEL_MAP)), _only(path, ".csv")
        source, lines = _read("annotations", path, {2, 7, 8})
        images = lines.select("image_id", "video", "timestamp").drop_nulls().unique("image_id", maintain_order=True)
        images = images.with_columns(image_width=1, image_height=1)
        person = lines["last"].cast(pl.Int64, strict=False)
        source.refuse(person.ne_missing(lines["last"]), "the person is not a whole number")
        boxes = source.marked(lines).filter(pl.col("category_id").is_not_null())
        if labels is None:
            ids = boxes["category_id"].unique().sort()
            labels = pl.DataFrame({"category_id": ids, "name": ids.cast(pl.String)})
        boxes = boxes.join(labels, on="category_id", how="semi", maintain_order="left")
        persons = pl.col("last").cast(pl.Int64, strict=False)
        annotations = boxes.select("image_id", "category_id", OF_SOURCE, **from_edges(_EDGES), person_id=persons)
        return {"images": images, "categories": labels, "annotations": annotations}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        source, lines = _read("detections", path, {8})
        source.refuse(~lines["last"].is_finite().fill_null(False), "the score is not a finite number")
        return source.marked(lines).select("image_id", "category_id", OF_SOURCE, score="last", **from_edges(_EDGES))


def _only(folder: Path, ending: str) -> Path:
    paths = files_in(folder, ending)
    if len(paths) != 1:
        names = f": {listed([each.name for each in paths])}" if paths else ""
        raise FormatError(f"holds {len(paths)} files {ending}, not one{names}", "leave one of them there", path=folder)
    return paths[0]


def _roles(seen: PathContents) -> set[str]:
    """Return the possible roles of a file by its first lines: "dataset", "results" or both; empty if it is neither."""
    lines = [line.split(",") for line in seen.lines]
    first = next((fields for fields in lines if len(fields) > 2), [])
    if not all(len(fields) in (2, len(first)) and is_number(fields[1]) for fields in lines[:1]) or len(first) not in (7, 8):
        return set()
    if is_number(first[0]) or not all(map(is_number, first[1:])) or not first[6].strip().isdecimal():
        return set()
    last = {fields[7].strip() for fields in lines[: max(1, len(lines) - 1)] if len(fields) == 8}  # the last line may be cut
    if not all(each.isdecimal() for each in last):
        return {"results"}
    return {"dataset"} | ({"results"} if last and last <= {"0", "1"} else set())


def _read(table: str, path: Path, widths: set[int]) -> tuple[Lines, pl.DataFrame]:
    """Return the lines of a file, and a table of `file`, `line`, `image_id` and the fields by name; numbers are finite.

    Lines with another number of fields, text instead of a number, or pixels instead of fractions are rejected.
    """
    texts = pl.Series("text", read_text(path).split("\n"), dtype=pl.String).str.strip_chars(" \t\r")
    lines = texts.to_frame().with_row_index("line", offset=1).filter(pl.col("text") != "")
    lines = lines.select("line", file=pl.lit(0, pl.UInt32), fields=pl.col("text").str.split(","))
    source = Lines(table, [path], lines)
    n = lines["fields"].list.len()
    allowed = " or ".join(str(width) for width in sorted(widths))
    source.refuse_or_stop(~n.is_in(list(widths)), f"video, second, x1, y1, x2, y2, action, ... are not {allowed} fields")
    field = {name: pl.col("fields").list.get(place, null_on_oob=True).str.strip_chars() for place, name in enumerate(_FIELDS)}
    texts_of = lines.select("file", "line", **field)
    source.refuse(texts_of["video"] == "", "the video has no name")
    numbers = source.numbers(texts_of.select(*_FIELDS[1:-1]).rename({"timestamp": "second"})).rename({"second": "timestamp"})
    read = texts_of.with_columns(numbers).with_columns(pl.col("last").cast(pl.Float64, strict=False))
    broken = texts_of["last"].is_not_null() & read["last"].is_null()
    source.refuse(broken, "the last field is not a number")
    category = read["category_id"].cast(pl.Int64, strict=False)
    source.refuse(category.ne_missing(read["category_id"]), "the action is not a whole number")
    far = read.select(pl.any_horizontal(~pl.col(_EDGES).is_between(*_FAR)).fill_null(False)).to_series()
    remedy = "divide x by the width of the frame and y by its height"
    source.refuse(far, "coordinates are not fractions of the frame but look like pixels", remedy)
    refuse_reversed(source, read, _EDGES)
    seconds = read["timestamp"].drop_nulls().unique()
    keys = pl.DataFrame({"timestamp": seconds, "key": pl.Series([f"{each:.6f}" for each in seconds], dtype=pl.String)})
    read = read.join(keys, on="timestamp", how="left", maintain_order="left")
    return source, read.with_columns(category, image_id=pl.format("{},{}", "video", "key")).drop("key")


def _label_map(path: Path) -> pl.DataFrame:
    """Read categories from a label map: items of name and id (or label_id), with label_type as `supercategory`."""
    items = [dict(re.findall(r'(\w+)\s*:\s*("[^"]*"|\w+)', item)) for item in _ITEM.findall(read_text(path))]
    rows = [(item.get("label_id", item.get("id")), item.get("name"), item.get("label_type")) for item in items]
    if not rows or any(number is None or not number.isdecimal() or name is None for number, name, _ in rows):
        raise FormatError("an item lacks a name or an id", "correct the file", path=path)
    labels = pl.DataFrame(rows, schema=dict.fromkeys(("category_id", "name", "supercategory"), pl.String), orient="row")
    labels = labels.with_columns(pl.col("category_id").cast(pl.Int64), pl.col("name", "supercategory").str.strip_chars('"'))
    return labels if labels["supercategory"].count() else labels.drop("supercategory")

"""The CSV files of Open Images: detection of the kind of a file, and reading of its rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from apframe.exceptions import FormatError
from apframe.folders import files_in
from apframe.formats.documents import read_csv
from apframe.formats.edges import refuse_reversed
from apframe.formats.files import read_text
from apframe.formats.image_sizes import FARTHEST, IMAGE_SIZES, NEAREST
from apframe.formats.path_contents import PathContents, see
from apframe.formats.text_lines import Lines, refuse_lines
from apframe.tables.schemas import TABLES
from apframe.wording import listed, option_name

EDGES = {"XMin": "image_width", "XMax": "image_width", "YMin": "image_height", "YMax": "image_height"}
"""The edges of a box, and the sides that they are fractions of."""
FLAGS = {
    "IsOccluded": "is_occluded", "IsTruncated": "is_truncated", "IsGroupOf": "is_crowd", "IsDepiction": "is_depiction",
    "IsInside": "is_inside",
}  # fmt: skip
BOXES = {
    "ImageID": "image_id", "Source": "source", "LabelName": "category_id", "Confidence": "confidence",
    **{edge: edge for edge in EDGES}, **FLAGS,
}  # fmt: skip
"""The columns of a file of boxes in the published order, and the columns that they are read as; others are attributes."""
_SCORES = ("Score", "Conf")
_PREDICTIONS = "PredictionString"
_PREDICTION = ("LabelName", "Score", "XMin", "YMin", "XMax", "YMax")  # fields of each box in such a string
_WORDS = {
    "boxes": "boxes", "labels": "labels of images", "images": "images", "classes": "descriptions of classes",
    "hierarchy": "hierarchies",
}  # fmt: skip


def kind_of(seen: PathContents) -> str | None:
    """Return the kind of a file by its name or first line: boxes, labels, images, classes, hierarchy, results or None.

    >>> kind_of(PathContents(Path("a.csv"), "file", b"ImageID,Rotation"))
    'images'
    """
    name = seen.path.name.lower()
    if seen.kind == "folder" or name == IMAGE_SIZES or name.startswith("."):
        return None
    if name.endswith(".json"):
        return "hierarchy" if "hierarchy" in name else None
    if not name.endswith((".csv", ".csv.gz")):
        return None
    if "class" in name and "description" in name:
        return "classes"
    columns = {column.lower() for column in seen.columns}
    if "imageid" not in columns:
        return None
    is_box = columns >= {"labelname", *map(str.lower, EDGES)}
    if _PREDICTIONS.lower() in columns or (is_box and columns & set(map(str.lower, _SCORES))):
        return "results"
    if is_box:
        return "boxes"
    if columns >= {"labelname", "confidence"}:
        return None if "machine" in name else "labels"
    return None if any(column.startswith("labelname") for column in columns) else "images"


def find_files(folder: Path, split: str | None) -> dict[str, Path]:
    """Return the file of each kind in a folder: with `split` in its name, and preferably with `boxable` in it.

    Raises
    ------
    FormatError
        no boxes, or several files of a kind
    """
    by_kind: dict[str, list[Path]] = {}
    for file in files_in(folder, ".json", ".csv", ".csv.gz"):
        kind = kind_of(see(file))
        is_of_split = split is None or split in file.name or kind in ("classes", "hierarchy")
        if kind in _WORDS and is_of_split:
            by_kind.setdefault(kind, []).append(file)
    files = {}
    for kind, candidates in by_kind.items():
        likely = [file for file in candidates if "boxable" in file.name] or candidates
        if len(likely) > 1:
            names = ", ".join(file.name for file in likely)
            remedy = f"choose one with {option_name('split', '')} (part of its name), or remove the others"
            raise FormatError(f"several files of {_WORDS[kind]}: {names}", remedy, path=folder)
        files[kind] = likely[0]
    if "boxes" not in files:
        of_split = "" if split is None else f" with {split!r} in its name"
        raise FormatError(f"holds no CSV of ImageID, LabelName, {', '.join(EDGES)}{of_split}", path=folder)
    return files


def read_boxes(path: Path) -> tuple[pl.DataFrame, pl.Series]:
    """Read boxes: `file` (0), `line`, the existing columns of `BOXES`, and attributes; edges are fractions.

    Also return the ids of images in lines without a class and a box: images without objects.

    Raises
    ------
    FormatError
        missing or invalid columns, ids or numbers; names the lines
    """
    table, lines = _read_table(path)
    is_alone = _without_boxes(table)
    alone = _checked("", path, table.filter(is_alone), lines.filter(is_alone), {"ImageID": "image_id"}, needed=["ImageID"])
    boxes = table.filter(~is_alone), lines.filter(~is_alone)
    return _checked("annotations", path, *boxes, BOXES, needed=("ImageID", "LabelName", *EDGES)), alone["image_id"]


def read_scored_boxes(path: Path) -> pl.DataFrame:
    """Read results: one row with a `score` per box in a prediction string. Lines without a box are left out."""
    table, lines = _read_table(path)
    names = {name.lower(): name for name in table.columns}
    if _PREDICTIONS.lower() in names:
        table, lines = _split_predictions(path, table, lines, names[_PREDICTIONS.lower()])
    else:
        score = next((names[name.lower()] for name in _SCORES if name.lower() in names), None)
        table = table if score is None else table.rename({score: "Score"})
        is_alone = _without_boxes(table)
        table, lines = table.filter(~is_alone), lines.filter(~is_alone)
    layout = {"ImageID": "image_id", "LabelName": "category_id", "Score": "score", **{edge: edge for edge in EDGES}}
    return _checked("detections", path, table, lines, layout, needed=layout)


def _without_boxes(table: pl.DataFrame) -> pl.Series:
    """Flag the lines that name an image, but no class and no box."""
    required = {name.lower() for name in ("LabelName", *EDGES)}
    names = [name for name in table.columns if name.lower() in required]
    if len(names) < len(required):
        return pl.repeat(False, table.height, eager=True)
    return table.select(pl.all_horizontal(pl.col(names).is_null())).to_series()


def read_labels(path: Path) -> pl.DataFrame:
    """Read labels of images: `file`, `line`, `image_id`, `category_id`, and `confidence`, which is 1 or 0."""
    layout = {name: BOXES[name] for name in ("ImageID", "LabelName", "Confidence")}
    labels = _checked("", path, *_read_table(path), layout, needed=layout)
    unsure = ~labels["confidence"].is_in([0.0, 1.0]).fill_null(False)
    remedy = "use labels verified by people, not machine-generated ones"
    refuse_lines([path], labels, unsure, "Confidence is not 1 or 0", remedy)
    return labels


def read_images(path: Path) -> pl.DataFrame:
    """Read images: `file`, `line`, `image_id` and attributes."""
    images = _checked("", path, *_read_table(path), {"ImageID": "image_id"}, needed=["ImageID"])
    refuse_lines([path], images, ~images["image_id"].is_first_distinct(), "an image is listed twice", "remove these lines")
    return images


def read_classes(path: Path) -> pl.DataFrame:
    """Read classes: `category_id` and `name`; the first line may be LabelName, DisplayName."""
    table, lines = _read_rows(path)
    if table.width != 2:
        raise FormatError(f"not two columns, LabelName and DisplayName, but {table.width}", path=path)
    classes = table.select(category_id=table.columns[0], name=table.columns[1])
    refuse_lines([path], lines, classes["category_id"].is_null(), "LabelName is missing")
    refuse_lines([path], lines, ~classes["category_id"].is_first_distinct(), "a class is described twice", "remove these lines")
    is_header = classes[:1].rows() == [("LabelName", "DisplayName")]
    return classes[is_header:].with_columns(pl.coalesce("name", "category_id").alias("name"))


def _read_table(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the rows after the first line, which has the names of the columns; see `_read_rows`."""
    rows, lines = _read_rows(path)
    names = pl.Series([(name or "").strip() for name in rows.row(0)])
    doubled = names.filter(names.is_duplicated()).unique().to_list()
    if doubled:
        raise FormatError(f"the column {listed(doubled)} is repeated", "rename or remove one", path=path)
    return rows[1:].rename(dict(zip(rows.columns, names, strict=True))), lines[1:]


def _read_rows(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the lines of a CSV that are not blank, and their places: `file` (0) and `line`."""
    try:
        rows = read_csv(path, has_header=False)
    except FormatError:
        _refuse_ragged(path)
        raise
    if rows[rows.columns[-1]].null_count():
        _refuse_ragged(path)
    is_blank = rows.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if is_blank.all():
        raise FormatError("the file is empty", path=path)
    lines = rows.select(file=pl.repeat(0, pl.len()), line=pl.int_range(1, pl.len() + 1))
    return rows.filter(~is_blank), lines.filter(~is_blank)


def _refuse_ragged(path: Path) -> None:
    """Raise an error that names the lines with more or fewer fields than the first, unlike the parser's error."""
    texts = pl.Series(read_text(path).split("\n")).str.strip_chars_end("\r")
    if (texts.str.count_matches('"') % 2 == 1).any():
        return  # a field continues in the next line
    n_fields = texts.str.replace_all('"[^"]*"', "").str.count_matches(",") + 1
    lines = pl.DataFrame({"line": range(1, len(texts) + 1)}).with_columns(file=0)
    refuse_lines([path], lines, (n_fields != n_fields[0]) & (texts != ""), f"not {n_fields[0]} fields, as in line 1,")


def _split_predictions(path: Path, table: pl.DataFrame, lines: pl.DataFrame, name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row for each box of the prediction strings, and its line."""
    fields = table[name].fill_null("").str.extract_all(r"\S+")
    wrong = fields.list.len() % len(_PREDICTION) != 0
    refuse_lines([path], lines, wrong, f"{name} is not a sequence of {' '.join(_PREDICTION)}")
    parts = (fields.list.gather_every(len(_PREDICTION), k).alias(field) for k, field in enumerate(_PREDICTION))
    rows = table.drop(name).hstack(lines.rename({"file": "\0file", "line": "\0line"})).with_columns(parts)
    rows = rows.explode(_PREDICTION, empty_as_null=False, keep_nulls=False)
    return rows.drop("\0file", "\0line"), rows.select(file="\0file", line="\0line")


def _checked(
    rows_of: str, path: Path, table: pl.DataFrame, places: pl.DataFrame, layout: Mapping[str, str], needed: Iterable[str]
) -> pl.DataFrame:
    """Return a table with the columns of the layout under its names, and attributes, after `file` and `line`.

    Invalid lines are rejected as rows of the table `rows_of`; if it is empty, they are an error.
    """
    lines = Lines(rows_of, [path], places)
    layout_names = {name: column for name in table.columns for column in layout if name.lower() == column.lower()}
    missing = [column for column in needed if column not in layout_names.values()]
    if missing:
        raise FormatError(f"no column {' and '.join(missing)}", f"there are {', '.join(table.columns)}", path=path)
    columns = places.get_columns()
    for name, values in zip(table.columns, table, strict=True):
        column = layout_names.get(name)
        if column is None:
            columns.append(_attribute(values))
            continue
        if column in ("ImageID", "LabelName"):
            lines.refuse(values.is_null(), f"{column} is missing")
        elif column != "Source":
            values = _numbers(lines, values, column)
        columns.append(values.alias(layout[column]))
    names = pl.Series([column.name for column in columns])
    if names.is_duplicated().any():
        raise FormatError(f"columns differ only in case: {', '.join(table.columns)}", "rename one", path=path)
    checked = pl.DataFrame(columns)
    if set(EDGES) <= set(checked.columns):
        far = checked.select(~pl.all_horizontal(pl.col(*EDGES).is_between(NEAREST, FARTHEST))).to_series()
        lines.refuse(far, "these look like pixels", "divide by the image size: boxes must be fractions")
        refuse_reversed(lines, checked, ("XMin", "YMin", "XMax", "YMax"))
    return lines.marked(checked)


def _numbers(lines: Lines, texts: pl.Series, column: str) -> pl.Series:
    """Return finite numbers, or flags, with null for -1; only flags and Confidence may be missing."""
    numbers = lines.numbers(texts.to_frame(column), required=column not in ("Confidence", *FLAGS))[column]
    if column not in FLAGS:
        return numbers
    lines.refuse(~numbers.is_in([-1.0, 0.0, 1.0]).fill_null(True), f"{column} is not 1, 0 or -1")
    return numbers.set(numbers < 0, None).cast(pl.Boolean)


def _attribute(values: pl.Series) -> pl.Series:
    """Return a further column: numbers if all values are, under a lower-case name that no canonical column has."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", values.name.strip()).lower()
    reserved = {column.name for columns in TABLES.values() for column in columns} | {"file", "line", *BOXES.values()}
    numbers = values.cast(pl.Float64, strict=False)
    is_numeric = numbers.null_count() == values.null_count()
    return (numbers if is_numeric else values).alias(f"{name}_attribute" if name in reserved else name)

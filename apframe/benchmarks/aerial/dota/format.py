"""DOTA's text: a folder with a file of rotated boxes for each image, and results with a file for each class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.edges import from_edges, refuse_reversed, rounded_sizes, to_edges
from apframe.formats.format import Format
from apframe.formats.image_names import categories_of, ids_to_write, image_ids
from apframe.formats.looks import NAME, Look, looks
from apframe.formats.text_lines import Lines, read_lines, refuse_blanks, refuse_lines, some_text_files, write_lines
from apframe.rows import OF_SOURCE, refuse_rows
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.corners import turned_corners
from apframe.wording import listed

_EDGES = ("xmin", "ymin", "xmax", "ymax")
_CORNERS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")
_OBJECT = (*_CORNERS, "category_id", "difficulty")
_RESULT = {"Task1": ("image_id", "score", *_CORNERS), "Task2": ("image_id", "score", *_EDGES)}
_RESULT_FILE = re.compile(r"(Task[12])_(.+)", re.DOTALL)
_HEADER = {"imagesource": "image_source", "gsd": "gsd"}
_HEADER_LINE = rf"^({'|'.join(_HEADER)}):\s*(.*)$"
_NO_GSD = ("", "null", "none", "nan")


class Dota(Format):
    """DOTA's labels, as in the folder `labelTxt`: four corners, class and difficulty in each line; the last may be missing.

    The image id is the file name without its extension; the size of the image is unknown. Lines before the objects may give its
    `image_source` and `gsd` (metres per pixel). The shapes are `corners`, from which `evaluate` makes upright boxes; an object
    is ignored if its `difficulty` is not 0.

    Results of task 1 are files `Task1_CLASS.txt` with rotated boxes, those of task 2 `Task2_CLASS.txt` with upright ones.
    Detections with corners or an angle are written as task 1.

    Source: Xia et al., DOTA; the descriptions of annotations and submissions on the pages of the data set.
    """

    name = "dota"
    title = "DOTA text"
    dataset_is = "a folder of text files, one for each image, lines of x1 y1 x2 y2 x3 y3 x4 y4 class difficulty"
    results_are = (
        "a folder of text files, one for each class, Task1_CLASS.txt with lines of image score x1 y1 x2 y2 x3 y3 x4 y4, or "
        "Task2_CLASS.txt with lines of image score xmin ymin xmax ymax"
    )
    dataset_looks = looks(Look("folder", endings=(".txt",), line=rf"(# ){{8}}{NAME}( #)?|({'|'.join(_HEADER)}):.*"))
    results_looks = looks(Look("folder", names=("Task[12]_?*.txt",)))
    results_ending = ".txt"
    holds = {
        "images": tuple(_HEADER.values()),
        "categories": (),
        "annotations": ("corners", "angle", *BOX, "ignore", "difficulty"),
        "detections": ("score", "corners", "angle", *BOX),
    }

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`. `image_source` and `gsd` are columns if a file has them."""
        paths = some_text_files(path)
        lines = read_lines(paths)
        is_header = pl.col("fields").list.first().str.contains(_HEADER_LINE)
        of_objects = Lines("annotations", paths, lines.filter(~is_header))
        objects = of_objects.take(_OBJECT, (*_CORNERS, "difficulty"), optional=1)
        difficulty = objects["difficulty"].cast(pl.Int64, strict=False)
        of_objects.refuse(difficulty.ne_missing(objects["difficulty"]), "difficulty is not a whole number")
        images = image_ids(paths)
        annotations = of_objects.marked(objects).select(
            images.gather(objects["file"]),
            "category_id",
            OF_SOURCE,
            corners=pl.concat_list(_CORNERS),
            ignore=(difficulty != 0).fill_null(False),
            difficulty=difficulty,
        )
        return {
            "images": images.to_frame().hstack(_header(paths, lines.filter(is_header))),
            "categories": categories_of(annotations),
            "annotations": annotations,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`. Task 1 has `corners`, task 2 boxes."""
        paths = some_text_files(path)
        others = [file.name for file in paths if not _RESULT_FILE.fullmatch(file.stem)]
        if others:
            raise FormatError(
                f"not named Task1_CLASS.txt or Task2_CLASS.txt: {listed(others)}", "rename or remove them", path=path
            )
        tasks, classes = zip(*(file.stem.split("_", 1) for file in paths), strict=True)
        if len(set(tasks)) > 1:
            raise FormatError("holds results of Task1 and of Task2", "put each into its own folder", path=path)
        layout = _RESULT[tasks[0]]
        lines = Lines("detections", paths)
        fields = lines.take(layout, layout[1:])
        if layout[2:] == _EDGES:
            refuse_reversed(lines, fields, _EDGES)
        category_id = pl.Series("category_id", classes).gather(fields["file"])
        shape = {"corners": pl.concat_list(_CORNERS)} if tasks[0] == "Task1" else from_edges(_EDGES)
        return lines.sound(fields.select("image_id", category_id, "score", **shape))

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`. Upright boxes, and boxes with an angle, become corners."""
        images, annotations = dataset.images, dataset.annotations
        refuse_blanks("categories", annotations["category_id"].unique(maintain_order=True))
        fields = _with_corners("annotations", annotations).with_columns(difficulty=_written_difficulty(annotations))
        objects = fields.select(name="image_id", text=pl.concat_str(_OBJECT, separator=" "))
        headers = images.select(name="image_id", **_written_header(images))
        header = [headers.select("name", text=pl.lit(f"{key}:") + pl.col(name)).drop_nulls() for key, name in _HEADER.items()]
        write_lines(path, pl.concat([*header, objects]), images["image_id"])

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`.

        There is one file per class of the data set, or of the detections if there is no data set.
        """
        categories = ids_to_write("category_id", detections, None if dataset is None else dataset.categories)
        refuse_blanks("images", detections["image_id"].unique(maintain_order=True))
        task = "Task1" if _is_rotated(detections) else "Task2"
        fields = _with_corners("detections", detections) if task == "Task1" else _with_edges(detections)
        lines = fields.select(name=pl.lit(f"{task}_") + pl.col("category_id"), text=pl.concat_str(_RESULT[task], separator=" "))
        write_lines(path, lines, f"{task}_" + categories)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""
        losses: list[tuple[str, pl.Series, str]] = []
        if table == "images":
            written = frame.select(**_written_header(frame))
            for name in (name for name in _HEADER.values() if name in frame.columns):
                losses.append(
                    (name, frame[name].is_not_null() & written[name].is_null(), "left out: DOTA does not have this value")
                )
                if frame.schema[name] == pl.String:
                    losses.append((name, frame[name] != written[name], "loses blanks"))
        elif table == "annotations" or (table == "detections" and _is_rotated(frame)):
            has_corners = frame.select(_has_corners(frame)).to_series()
            for name in (name for name in (*BOX, "angle") if name in frame.columns):
                losses.append((name, frame[name].is_not_null() & has_corners, "left out: the corners are written"))
                losses.append((name, frame[name].is_not_null() & ~has_corners, "becomes corners"))
            if table == "annotations" and "difficulty" in frame.columns:
                is_kept = frame.select(_written_difficulty(frame) == _difficulty(frame)).to_series().fill_null(False)
                losses.append(("difficulty", frame["difficulty"].is_not_null() & ~is_kept, "becomes 0 or 1, from ignore"))
        elif table == "detections":
            losses = rounded_sizes(frame)
        return [(name, flags.fill_null(False), what) for name, flags, what in losses]


def _header(paths: Sequence[Path], lines: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each file, with a column for each field that the headers of any file contain."""
    text = pl.col("fields").list.join(" ")
    lines = lines.with_columns(key=text.str.extract(_HEADER_LINE, 1), value=text.str.extract(_HEADER_LINE, 2))
    header = pl.DataFrame({"file": range(len(paths))}, schema={"file": lines.schema["file"]})
    for key, name in _HEADER.items():
        values = lines.filter(key=key)
        refuse_lines(paths, values, ~values["file"].is_first_distinct(), f"{key} is repeated")
        if key == "gsd":
            value = pl.when(~pl.col("value").str.to_lowercase().is_in(_NO_GSD)).then("value")
            values = values.with_columns(value=Lines("", paths, values).numbers(values.select(value.alias(key)))[key])
        else:
            values = values.with_columns(value=pl.when(pl.col("value") != "").then("value"))
        if values["value"].count():
            header = header.join(
                values.select("file", pl.col("value").alias(name)), on="file", how="left", maintain_order="left"
            )
    return header.drop("file")


def _written_header(images: pl.DataFrame) -> dict[str, pl.Expr]:
    """Return image_source and gsd as text; null if missing or not valid in DOTA."""
    written = {name: pl.lit(None, pl.String) for name in _HEADER.values()}
    if images.schema.get("image_source") == pl.String:
        words = pl.col("image_source").str.extract_all(r"[^ \t\r\n\v\f]+").list.join(" ")
        written["image_source"] = pl.when(words != "").then(words)
    if images.schema.get("gsd", pl.Null()).is_numeric():
        written["gsd"] = pl.when(pl.col("gsd").is_finite()).then(pl.col("gsd").cast(pl.Float64).cast(pl.String))
    return written


def _difficulty(frame: pl.DataFrame) -> pl.Expr:
    """Return the difficulty; null if it is not a number."""
    return pl.col("difficulty") if frame.schema.get("difficulty", pl.Null()).is_numeric() else pl.lit(None, pl.Int64)


def _written_difficulty(frame: pl.DataFrame) -> pl.Expr:
    """Return the difficulty if it is a whole number that agrees with `ignore`; otherwise 0 or 1, from `ignore`."""
    ignore = pl.col("ignore") if "ignore" in frame.columns else pl.lit(False)
    difficulty = _difficulty(frame)
    whole = difficulty.cast(pl.Int64, strict=False)
    return pl.when((whole == difficulty) & ((whole != 0) == ignore)).then(whole).otherwise(ignore.cast(pl.Int64))


def _is_rotated(frame: pl.DataFrame) -> bool:
    return any(name in frame.columns and frame[name].count() for name in ("corners", "angle"))


def _has_corners(frame: pl.DataFrame) -> pl.Expr:
    return pl.col("corners").is_not_null() if "corners" in frame.columns else pl.repeat(False, pl.len())


def _with_corners(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Add the corners as eight columns, taken from the box where there are none."""
    corners_or_null = pl.col("corners") if "corners" in frame.columns else pl.lit(None, pl.List(pl.Float64))
    angle = pl.col("angle").fill_null(0) if "angle" in frame.columns else pl.lit(0.0)
    is_finite = corners_or_null.list.eval(pl.element().is_finite().fill_null(False)).list.all()
    wrong = frame.select(((corners_or_null.list.len() != 8) | ~is_finite).fill_null(False)).to_series()
    refuse_rows(table, frame, wrong, "corners are not 8 finite numbers", "correct them")
    _refuse_boxless(table, frame.filter(~_has_corners(frame)))
    corners = turned_corners(angle)
    own = {name: corners_or_null.list.get(k, null_on_oob=True) for k, name in enumerate(_CORNERS)}
    return frame.with_columns(
        pl.coalesce(own[name], coordinate).alias(name) for name, coordinate in zip(_CORNERS, corners, strict=True)
    )


def _with_edges(frame: pl.DataFrame) -> pl.DataFrame:
    _refuse_boxless("detections", frame)
    return frame.with_columns(**to_edges(_EDGES))


def _refuse_boxless(table: str, frame: pl.DataFrame) -> None:
    boxless = frame.select(pl.any_horizontal(pl.col(BOX).is_null())).to_series()
    refuse_rows(table, frame, boxless, "corners and box are missing", "supply one or remove these rows")

"""Class-and-box text: a folder with a file for each image, a class and the four numbers of a box in each line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.formats.class_names import read_class_names
from apframe.formats.format import OPEN, Format
from apframe.formats.image_names import categories_of, ids_to_write, image_ids
from apframe.formats.image_sizes import FARTHEST, NEAREST, images_with_sizes
from apframe.formats.looks import NAME, Look, looks
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import Lines, refuse_blanks, some_text_files, text_files, write_lines
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX

_DIFFICULT = "difficult"
_OF_CLASSES = ("*_det_?*_*", "Task[0-9]_*")  # files named by class, in other formats
_CLASS = rf"(#|(\S+ )*{NAME})"  # a number, or words that do not end with a number


class Boxes(Format):
    """Text with a class and a box in each line, and in results a score after the class.

    The box is left, top, width and height in pixels, unless `box_format` and `relative` say otherwise: Cartucho's mAP writes
    two corners ("xyxy"); rafaelpadilla's Object-Detection-Metrics writes either, or relative boxes like YOLO ("cxcywh"). A line
    of ground truth may end with the word `difficult`, which becomes `ignore`. The image id is the file name without its
    extension; its size comes from `image_sizes`. The class is all words before the numbers; the last must not be a
    number. If classes are numbers, `names` are the names of all classes; such files are recognised if boxes are in pixels,
    as YOLO's text has fractions.

    Source: the layout of the folders groundtruths and detections in rafaelpadilla's Object-Detection-Metrics, and of
    ground-truth and detection-results in Cartucho's mAP.
    """

    name = "boxes"
    title = "class-and-box text"
    dataset_is = "a folder of text files, one for each image, lines of class left top width height (or box_format)"
    results_are = "the same, lines of class score left top width height"
    dataset_looks = looks(Look("folder", endings=(".txt",), no_names=_OF_CLASSES, line=_CLASS + "( #){4}( difficult)?"))
    results_looks = looks(Look("folder", endings=(".txt",), no_names=_OF_CLASSES, line=_CLASS + "( #){5}"))
    options = ("image_sizes", "names")
    boxes_of_dataset = boxes_of_results = OPEN
    holds = {"images": (), "categories": (), "annotations": BOX, "detections": ("score", *BOX)}

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require a box in pixels, and in results a score of at most 1, if the first class is a number."""
        fields = next((file.fields for file in seen.children("*.txt") if file.fields), [])
        fields = fields[:-1] if fields[-1:] == [_DIFFICULT] else fields
        if not fields or not all(map(is_number, fields)):
            return True  # the class is a name
        score, box = (map(float, fields[1:2]), fields[2:]) if role == "results" else ([], fields[1:5])
        return all(0 <= each <= 1 for each in score) and not all(NEAREST <= float(each) <= FARTHEST for each in box)

    def read_tables(
        self, path: Path, *, image_sizes: Any = None, names: Any = None, box_format: str | None = None, **options: Any
    ) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        numbered = None if names is None else read_class_names(names)
        layout = ("category_id", *BOX, "difficult")
        annotations, categories = _read(path, layout, optional=1, has_sizes=box_format != "xyxy", names=numbered)
        return {
            "images": images_with_sizes(image_ids(text_files(path)), image_sizes, path),
            "categories": categories,
            "annotations": annotations,
        }

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        return _read(path, ("category_id", "score", *BOX))[0]

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `Format.write`."""
        _write(dataset.annotations, path, ("category_id", *BOX), dataset.images["image_id"])

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `Format.write_results`."""
        images = ids_to_write("image_id", detections, None if dataset is None else dataset.images)
        _write(detections, path, ("category_id", "score", *BOX), images)


def _read(
    folder: Path,
    layout: tuple[str, ...],
    optional: int = 0,
    *,
    has_sizes: bool = False,
    names: dict[int, str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the objects and their categories: those that occur, or all `names` if classes are numbers."""
    paths = some_text_files(folder)
    numbers = [name for name in layout if name in ("score", *BOX)]
    lines = Lines("annotations" if optional else "detections", paths)
    _join_names(lines, layout[: len(layout) - optional], len(numbers))
    frame = lines.take(layout, numbers, optional)
    if optional:
        last = frame[layout[-1]]
        lines.refuse(last != _DIFFICULT, f"the last field is not the word {_DIFFICULT}")
        frame = frame.with_columns(last.is_not_null()) if last.count() else frame.drop(last.name)
    for name in ("width", "height") if has_sizes else ():
        lines.refuse_malformed(frame[name] < 0, f"{name} is negative")
    classes = frame["category_id"].cast(pl.Int64, strict=False)
    is_numbered = names is not None and not classes.null_count()
    if names is not None and is_numbered:
        lines.refuse(~classes.is_in([*names]), "class is not among the names", "add its name, or correct these lines")
        frame = frame.with_columns(classes.cast(pl.String))
    objects = lines.marked(frame.select(image_ids(paths).gather(frame["file"]), pl.exclude("file", "line")))
    if names is None or not is_numbered:
        return objects, categories_of(objects)
    return objects, pl.DataFrame({"category_id": [*map(str, names)], "name": [*names.values()]})


def _join_names(lines: Lines, layout: tuple[str, ...], n_numbers: int) -> None:
    """Join the words before the numbers of each line into one field, unless the last word is a number."""
    fields, last = pl.col("fields").list, pl.col("fields").list.last()
    n_words = fields.len().cast(pl.Int64) - n_numbers - (last == _DIFFICULT)
    is_long, ends_with_number = n_words > 1, _is_number(fields.get(n_words - 1, null_on_oob=True))
    wrong = lines.frame.select(is_long & ends_with_number & (_is_number(last) | (last == _DIFFICULT))).to_series()
    words = f"{len(layout)} fields ({' '.join(layout)})"
    lines.refuse_or_stop(wrong, f"not {words}, or a name with spaces that ends with a number,")
    whole = pl.concat_list(fields.head(n_words.clip(0)).list.join(" "), fields.slice(n_words))
    lines.frame = lines.frame.with_columns(pl.when(is_long & ~ends_with_number).then(whole).otherwise("fields").alias("fields"))


def _is_number(text: pl.Expr) -> pl.Expr:
    return text.cast(pl.Float64, strict=False).is_not_null()


def _write(frame: pl.DataFrame, folder: Path, layout: tuple[str, ...], images: pl.Series) -> None:
    refuse_blanks("categories", frame["category_id"].unique(maintain_order=True))
    write_lines(folder, frame.select(name="image_id", text=pl.concat_str(layout, separator=" ")), images)

"""VisDrone's text: a file for each image, with a box, a score, a category, truncation and occlusion in each line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from apframe.benchmarks.missing_results import warn_of_missing
from apframe.formats.format import NUMBER, ReadOnly
from apframe.formats.image_names import image_ids
from apframe.formats.image_sizes import images_with_sizes
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents, is_number
from apframe.formats.text_lines import Lines, read_lines, some_text_files
from apframe.tables.box_formats import warn_of_pixels
from apframe.tables.dataset import Dataset
from apframe.tables.shapes.boxes import BOX

_CATEGORIES = (
    "ignored regions", "pedestrian", "people", "bicycle", "car", "van", "truck", "tricycle", "awning-tricycle", "bus", "motor",
    "others",
)  # fmt: skip
_LAYOUT = (*BOX, "score", "category_id", "truncation", "occlusion")


class VisDrone(ReadOnly):
    """VisDrone's ground truth and results of detection: lines of x,y,width,height,score,category,truncation,occlusion.

    The image id is the file name without its extension. The size of the image is unknown unless `image_sizes` gives it.
    Categories are numbers: 0 ignored regions, 1 pedestrian, 2 people, 3 bicycle, 4 car, 5 van, 6 truck, 7 tricycle,
    8 awning-tricycle, 9 bus, 10 motor, 11 others. An object with the score 0 in the ground truth becomes a crowd: detections
    inside it are ignored. `truncation` and `occlusion` are attributes. A comma at the end of a line is ignored.

    Results are the same lines; the last two fields are usually -1 and are not read. The order of lines matters to the protocol
    VISDRONE, whose limits keep the first lines of each file. Images without a file have no detections, with a
    `MissingResultsWarning`; VisDrone's own toolkit stops there.

    Source: the pages of the VisDrone challenge; VisDrone2018-DET-toolkit.
    """

    name = "visdrone"
    title = "VisDrone text"
    dataset_is = (
        "a folder of text files, one for each image, lines of x,y,width,height,score,category,truncation,occlusion, the score "
        "0 or 1"
    )
    results_are = "the same, lines with the score of the detection; the last two fields are -1"
    dataset_looks = results_looks = looks(Look("folder", endings=(".txt",), line=".*,.*"))
    results_ending = ".txt"
    options = ("image_sizes",)
    category_ids = NUMBER
    asks_for_images = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Look for eight numbers with commas; in ground truth, the fifth is 0 or 1 and the last two are not negative."""
        first = next((file.lines[0] for file in seen.children("*.txt") if file.lines), "")
        fields = [field.strip() for field in first.strip().removesuffix(",").split(",")]
        if len(fields) != len(_LAYOUT) or not all(map(is_number, fields)):
            return False
        is_truth = float(fields[4]) in (0, 1) and min(map(float, fields[6:])) >= 0
        return is_truth == (role == "dataset")

    def read_tables(self, path: Path, *, image_sizes: Any = None, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`."""
        paths = some_text_files(path)
        source, lines = _read("annotations", paths)
        warn_of_pixels(path, lines)
        source.refuse(~lines["score"].is_in([0.0, 1.0]), "the score of an object is not 0 or 1")
        for name in ("truncation", "occlusion"):
            source.refuse(lines[name] != lines[name].floor(), f"{name} is not a whole number")
        ids = image_ids(paths)
        images = images_with_sizes(ids, image_sizes, path)
        annotations = lines.select(
            ids.gather(lines["file"]),
            "category_id",
            *BOX,
            pl.col("truncation", "occlusion").cast(pl.Int64, strict=False),
            is_crowd=pl.col("score") == 0,
        )
        annotations = source.sound(annotations)
        categories = pl.DataFrame({"category_id": range(len(_CATEGORIES)), "name": _CATEGORIES})
        return {"images": images, "categories": categories, "annotations": annotations}

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `Format.read_results`."""
        paths = some_text_files(path)
        (source, lines), ids = _read("detections", paths), image_ids(paths)
        warn_of_pixels(path, lines)
        warn_of_missing(path, dataset, ids, "file", "VisDrone's own toolkit stops here")
        return source.sound(lines.select(ids.gather(lines["file"]), "category_id", "score", *BOX))


def _read(table: str, paths: list[Path]) -> tuple[Lines, pl.DataFrame]:
    """Return the lines, and their fields as columns; the category is an integer."""
    text = pl.col("fields").list.join("").str.strip_suffix(",")
    lines = Lines(table, paths, read_lines(paths).with_columns(fields=text.str.split(",")))
    frame = lines.take(_LAYOUT, _LAYOUT)
    category = frame["category_id"].cast(pl.Int64, strict=False)
    is_known_category = (category == frame["category_id"]) & category.is_between(0, len(_CATEGORIES) - 1)
    lines.refuse(~is_known_category.fill_null(False), f"the category is not a whole number from 0 to {len(_CATEGORIES) - 1}")
    for name in ("width", "height"):
        lines.refuse_malformed(frame[name] < 0, f"{name} is negative")
    return lines, frame.with_columns(category.alias("category_id"))

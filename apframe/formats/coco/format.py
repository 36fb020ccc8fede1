"""COCO JSON: ground truth (one object with images, categories, annotations) and results (one list of detections).

Compiled parsers with declared types read the files. Files that they cannot read, or would read wrongly, go through Python's
own `json`, which is slower, loses nothing, and locates errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from apframe.formats.coco.results import SCORE, are_lines, first_line_row, read_result_columns
from apframe.formats.coco.truth import read_unchecked
from apframe.formats.files import write_text
from apframe.formats.format import NUMBER, OPEN, USUAL, Format, held
from apframe.formats.looks import Look, looks
from apframe.formats.path_contents import PathContents
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import GROUND_TRUTH

_OF_OTHERS = ("database", "data_row", "segments_info")  # keys that COCO's JSON never has


class Coco(Format):
    """COCO JSON as a file format; results are a JSON list."""

    name = "coco"
    title = "COCO JSON"
    dataset_is = "a JSON file, plain or gzip, with lists images, categories and annotations"
    results_are = "a JSON file, plain or gzip, with a list of detections, or one in each line, or a data set with scores"
    dataset_looks = looks(Look("file", begins="{", any_keys=GROUND_TRUTH, no_keys=_OF_OTHERS))
    results_looks = looks(
        Look("file", begins="[", keys=("image_id",)),
        Look("file", begins="{", keys=("image_id",)),
        Look("file", begins="{", any_keys=GROUND_TRUTH, no_keys=_OF_OTHERS),
    )
    boxes_of_dataset, boxes_of_results = USUAL, OPEN
    image_ids = category_ids = NUMBER
    holds = {
        **{table: held(table, "angle") for table in GROUND_TRUTH},  # boxes are upright
        "detections": held("detections", "detection_id", "area", "angle"),
    }
    unused_categories = True

    def recognizes(self, seen: PathContents, role: str) -> bool:
        """Require one of COCO's lists as a key of the object in the first line, if it ends there, but no database of videos.

        Results that are an object require such a key, and a score anywhere.
        """
        if seen.begins == "[":
            return True
        if role == "results" and are_lines(seen.head):  # lines with other names for the class are a table of objects
            from apframe.formats.object_rows import is_of_objects

            return seen.has_key("category_id") or not is_of_objects([*seen.columns])
        row = first_line_row(seen.head)
        sections = filter(seen.has_key, GROUND_TRUTH) if row is None else row
        of_others = any(map(seen.has_key, _OF_OTHERS)) or is_of_videos(seen.head)
        is_truth = not {*GROUND_TRUTH}.isdisjoint(sections) and not of_others
        return is_truth and (role == "dataset" or SCORE in seen.content)

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """Read the tables of a data set: see `Format.read_tables`. Of attributes of annotations, only masks are read."""
        return read_unchecked(path, masks=True).tables

    def read(
        self, path: Path, *, masks: bool = False, box_format: str | None = None, relative: bool = False, **options: Any
    ) -> Dataset:
        """Read a data set: see `read_coco`."""
        return read_unchecked(path, masks=masks).checked(box_format, relative=relative)

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """Read detections: see `read_result_columns`."""
        return read_result_columns(path)

    def results_in_parts(self, path: Path, dataset: Dataset | None) -> Iterator[pl.DataFrame | None]:
        """Read detections part by part: see `Format.results_in_parts`. Parts of a list, or of lines, are read."""
        from apframe.formats.coco.json_parts import read_in_parts  # only for long files

        return read_in_parts(path)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""

        from apframe.formats.coco.json_writing import reserved_names

        what = "left out: COCO has a field with this name"
        return [(name, frame[name].is_not_null(), what) for name in frame.columns if name in reserved_names(table)]

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `write_coco`."""
        from apframe.formats.coco.json_writing import text_of

        write_text(path, text_of(dataset))

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `write_coco_results`."""
        from apframe.formats.coco.json_writing import text_of_results

        write_text(path, text_of_results(detections))


def is_of_videos(head: bytes) -> bool:
    """Return True if JSON with this beginning describes intervals: a database of videos, a taxonomy, or videos with segments.

    >>> is_of_videos(b'{"v_1": {"annotations": [{"segment": [0, 1], "label": "a"}]}}'), is_of_videos(b'{"annotations": []}')
    (True, False)
    """
    is_taxonomy = b'"taxonomy"' in head and b'"nodeName"' in head
    has_segments = all(name in head for name in (b'"annotations"', b'"segment"', b'"label"'))
    return b'"database"' in head or is_taxonomy or (has_segments and not (b'"images"' in head or b'"image_id"' in head))

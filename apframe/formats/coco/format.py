"""COCO's JSON: ground truth (one object with images, categories, annotations) and results (one list of detections).

Files are read by compiled parsers with the types spelled out. Whatever these cannot read, or would read wrongly, goes
through Python's own `json`, which is slower, loses nothing, and says what is wrong and where.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.rows import canonical_names, frame_of_rows, lacks_box
from apframe.formats.coco.scan import FLAGS, scan_results, scan_truth
from apframe.formats.documents import parse_json
from apframe.formats.files import BOM, read_unpacked, reading_unpacked, write_text
from apframe.formats.format import NUMBER, OPEN, USUAL, Format, held, with_own_paths
from apframe.formats.looks import Look, looks
from apframe.formats.seen import Seen
from apframe.paths import kind_at, read_since, stamp
from apframe.tables.canonical import canonical
from apframe.tables.dataset import Dataset
from apframe.tables.later import Later
from apframe.tables.shapes.boxes import BOX
from apframe.tables.sources import kind_of
from apframe.tables.tables import GROUND_TRUTH, KEYS, NAMES
from apframe.validation import validating

SCORE = b'"score"'
"""Text found in a data set whose annotations are results."""
_OF_OTHERS = ("database", "data_row", "segments_info")  # keys that COCO's JSON never has
HEAD = 1 << 16  # bytes in which the first line is looked for


@dataclass(frozen=True)
class CocoTruth:
    """Ground truth as it was read, not checked yet.

    Attributes
    ----------
    tables
        `images`, `categories` and `annotations` under canonical names
    json_columns, other_sections
        as a `Dataset` has them
    later
        what is read when it is first looked at
    """

    tables: dict[str, pl.DataFrame]
    json_columns: set[tuple[str, str]]
    other_sections: dict[str, Any]
    later: Later | None = None

    def checked(self, box_format: str | None = None, *, relative: bool = False) -> Dataset:
        """The data set; by default boxes are COCO's `bbox`, or columns whose names say how they are written."""
        if box_format is None and set(BOX) <= set(self.tables["annotations"].columns):
            box_format = "xywh"
        dataset = Dataset(**self.tables, box_format=box_format, relative=relative)
        return dataset.with_rest(self.json_columns, self.other_sections, self.later)


def read_coco(source: str | Path | dict[str, Any], *, masks: bool = False) -> Dataset:
    """Read COCO ground truth: a JSON file, plain or gzip, or the same already in memory as a dict.

    Fields that COCO does not know become attribute columns of their table; lists of texts, such as tags, stay lists. Those of
    a file's annotations are read when the table is first looked at; evaluating needs the known fields only.
    `segmentation` becomes the column `mask`, as JSON text; with `masks` it is read at once, else when masks are first compared
    or the table is looked at. A field with the name of another canonical column (an annotation's own `width`) is kept as
    `width_attribute`. Text instead of a number is an error; true and
    false are 1 and 0, but not allowed as ids.

    Raises
    ------
    FormatError
        the file is missing, not JSON, cut off, or a results file
    RowError, DuplicateIdError, UnknownIdError
        rows that cannot be right, named by their ids

    >>> truth = read_coco({
    ...     "images": [{"id": 7, "width": 640, "height": 480, "weather": "rain"}],
    ...     "categories": [{"id": 1, "name": "cat"}],
    ...     "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40]}],
    ... })
    >>> truth.images["weather"].to_list(), truth.annotations["area"].to_list()
    (['rain'], [1200.0])
    """
    with validating():
        if not isinstance(source, (str, Path)):
            return coco_in_memory(source).checked()
        truth = read_unchecked(Path(source), masks=masks).checked()
    return truth.with_images_changed(lambda images: with_own_paths("images", images, source))


def coco_in_memory(source: Any) -> CocoTruth:
    """Read a dict, or pycocotools' COCO object, as `read_coco` does, without checking it."""
    return _of_json(getattr(source, "dataset", source), "ground truth")


def read_unchecked(path: Path, *, masks: bool, kept: bytes | None = None) -> CocoTruth:
    """Read a file, or its unpacked bytes, as `read_coco` does, without checking it."""
    read_at = read_since(path)  # before it is read, so that a later file never has this stamp
    text = read_unpacked(path) if kept is None else kept
    if kind_at(path) != "file":  # a pipe is empty by now
        kept = text
    scanned = scan_truth(text, masks=masks)
    if scanned is None:
        return _of_json(parse_json(path, text), str(path))
    rest, annotations, place = scanned
    are_read = masks or "mask" in annotations.columns  # which they are where boxes are made of them

    def read_again() -> bytes:
        if kept is not None:
            return kept
        text = read_unpacked(path) if stamp(path) == read_at else None
        if text is None or stamp(path) != read_at:
            raise FormatError("the file has been changed or removed since it was read", "read it again", path=path)
        return text

    def attributes() -> tuple[pl.DataFrame, set[str]]:
        from apframe.formats.coco.attributes import scan_attributes

        scanned = scan_attributes(read_again(), place, annotations, masks=not are_read)
        if scanned is not None:
            return scanned, set()
        from apframe.formats.coco.parsed_pieces import parsed_attributes  # of files that DuckDB does not read
        from apframe.formats.coco.pieces import PIECE, pieces_of_list

        listed = BytesIO(read_again()[place])
        parsed = parsed_attributes(path, listed, pieces_of_list(listed, PIECE))
        if parsed is None:
            parsed = frame_of_rows("annotations", parse_json(path, read_again())["annotations"], attributes_only=True)
        frame, as_json = parsed
        frame = frame.drop([name for name in FLAGS if name in annotations.columns], strict=False)
        return canonical_names("annotations", frame), as_json

    def read_masks() -> pl.DataFrame:
        from apframe.formats.coco.attributes import scan_masks

        return scan_masks(read_again(), place)

    truth = _of_json(rest, str(path), annotations)
    return replace(truth, later=Later(attributes, None if are_read else read_masks))


class Coco(Format):
    """COCO's JSON as a format of files; results are a JSON list."""

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

    def recognizes(self, seen: Seen, role: str) -> bool:
        """One of COCO's lists is a key of the object in the first line, if it ends there; and it is no database of videos.

        Results that are an object have it in the first line, or a score anywhere.
        """
        if seen.begins == "[":
            return True
        if role == "results" and are_lines(seen.head):  # with other names for the class, they are a table of objects
            from apframe.formats.object_rows import is_of_objects

            return seen.has_key("category_id") or not is_of_objects([*seen.columns])
        row = _first_row(seen.head)
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
        from apframe.formats.coco.in_parts import read_in_parts  # of long files

        return read_in_parts(path)

    def further_losses(self, table: str, frame: pl.DataFrame) -> list[tuple[str, pl.Series, str]]:
        """List further losses: see `Format.further_losses`."""

        from apframe.formats.coco.writing import taken_names

        what = "left out: COCO has a field with this name"
        return [(name, frame[name].is_not_null(), what) for name in frame.columns if name in taken_names(table)]

    def write(self, dataset: Dataset, path: Path) -> None:
        """Write a data set: see `write_coco`."""
        from apframe.formats.coco.writing import text_of

        write_text(path, text_of(dataset))

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """Write detections: see `write_coco_results`."""
        from apframe.formats.coco.writing import text_of_results

        write_text(path, text_of_results(detections))


def read_coco_results(source: str | Path | list[dict[str, Any]] | dict[str, Any]) -> pl.DataFrame:
    """Read COCO results: a JSON file, plain or gzip, with a list of boxes, masks or keypoints; or that list already in memory.

    The file may also have one of them in each line, or be a data set whose annotations have scores; `file_name` and `name` are
    then those of its own images and categories.

    Of a file, the first row decides which columns there are. Returns the canonical detections: `detection_id` (from 1, in
    the order of the file), `image_id`, `category_id`, `score`, the box, its `area`, `mask` or `keypoints`, and further fields
    as attributes. Where the first row has another shape and no `bbox`, `evaluate` makes the boxes of all rows of that shape, as
    pycocotools does, also of rows that have a `bbox`; where it has one, all rows need one.

    Raises
    ------
    FormatError
        the file is missing, not JSON, cut off, or a ground-truth file
    RowError
        rows without a score or a box, with NaN or infinite numbers, negative sizes or values of the wrong type, named by
        their place in the file

    >>> read_coco_results([{"image_id": 7, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.5}]).rows()
    [(1, 7, 1, 0.5, 10.0, 20.0, 30.0, 40.0, 1200.0)]
    """
    with validating():
        found = canonical("detections", read_result_columns(source))
    return with_own_paths("detections", found, source)


def read_result_columns(source: str | Path | list[dict[str, Any]] | dict[str, Any]) -> pl.DataFrame:
    """Results as `read_coco_results` reads them, under canonical names, but not checked.

    >>> read_result_columns([{"image_id": 7, "bbox": [10, 20, 30, 40], "score": 0.5}])["category_id"].to_list()
    [None]
    """
    if not isinstance(source, (str, Path)):
        return _of_data_set(source, "results") if isinstance(source, dict) else _results(source, "results")
    path = Path(source)
    with reading_unpacked(path) as file:
        head = file.read(HEAD)
        if head.removeprefix(BOM).lstrip()[:1] == b"{":
            text = head + file.read()
            if are_lines(head):
                file = BytesIO(b"[" + b",\n".join(line for line in text.removeprefix(BOM).split(b"\n") if line.strip()) + b"]")
            elif SCORE in text:
                return _of_data_set(parse_json(path, text), str(path))
        scanned = scan_results(path, file)
        if scanned is not None:
            return scanned
        file.seek(0)
        return _results(parse_json(path, file.read()), str(path))


def _of_json(data: Any, source: str, annotations: pl.DataFrame | None = None) -> CocoTruth:
    """Ground truth from parsed JSON, with all its fields; annotations may have been read already."""
    tables, json_columns = tables_of_json(data, source, annotations)
    return CocoTruth(tables, json_columns, {name: value for name, value in data.items() if name not in GROUND_TRUTH})


def tables_of_json(
    data: Any, source: str, annotations: pl.DataFrame | None
) -> tuple[dict[str, pl.DataFrame], set[tuple[str, str]]]:
    """The tables, not checked yet, and which of their columns are JSON text."""
    if isinstance(data, list):
        raise FormatError("holds a list, not an object with images and annotations", "is it a results file?", path=source)
    if not isinstance(data, dict):
        raise FormatError(
            f"{kind_of(data)} is not ground truth",
            "give a path, a dict as json.load returns it, or an apframe.Dataset of three frames",
            path=source,
        )
    missing = [table for table in GROUND_TRUTH if not isinstance(data.get(table), list)]
    if missing:
        found = ", ".join(data) or "none"
        raise FormatError(f"no list named {', '.join(missing)}", f"ground truth needs it; found: {found}", path=source)
    frames, json_columns = {}, set()
    for table in GROUND_TRUTH:
        if table == "annotations" and annotations is not None:
            frames[table] = annotations
            continue
        frame, as_json = frame_of_rows(table, data[table])
        frames[table] = canonical_names(table, frame)
        json_columns |= {(table, name) for name in as_json}
    return frames, json_columns


def is_of_videos(head: bytes) -> bool:
    """Whether JSON that begins like this is of intervals: a database of videos, a taxonomy, or videos with segments.

    >>> is_of_videos(b'{"v_1": {"annotations": [{"segment": [0, 1], "label": "a"}]}}'), is_of_videos(b'{"annotations": []}')
    (True, False)
    """
    is_taxonomy = b'"taxonomy"' in head and b'"nodeName"' in head
    has_segments = all(name in head for name in (b'"annotations"', b'"segment"', b'"label"'))
    return b'"database"' in head or is_taxonomy or (has_segments and not (b'"images"' in head or b'"image_id"' in head))


def are_lines(head: bytes) -> bool:
    """Whether a file that begins like this has a result in each line, as far as its first line shows.

    >>> are_lines(b'{"image_id": 7, "score": 0.5}'), are_lines(b'{"images": [')
    (True, False)
    """
    row = _first_row(head)
    return row is not None and "image_id" in row


def _first_row(head: bytes) -> dict[str, Any] | None:
    """The object in the first line; None if none ends there."""
    first = head.removeprefix(BOM).lstrip().partition(b"\n")[0]
    try:
        return json.loads(first) if first.startswith(b"{") else None
    except (ValueError, RecursionError):
        return None


def _of_data_set(data: Any, source: str) -> pl.DataFrame:
    """Results that are written as a data set: its annotations, with the names of its own images and categories."""
    rows = data.get("annotations") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not any(isinstance(row, dict) and "score" in row for row in rows):
        raise FormatError("holds an object, not a list of results", "is it ground truth?", path=source)
    found = _results(rows, source)
    for table, key in KEYS.items():
        if isinstance(data.get(table), list):
            owner = canonical_names(table, frame_of_rows(table, data[table])[0])
            is_named = {key, NAMES[table]} <= set(owner.columns) and NAMES[table] not in found.columns
            if is_named and owner.schema[key] == found.schema.get(key):
                names = owner.select(key, NAMES[table]).unique(key)
                found = found.join(names, on=key, how="left", maintain_order="left")
    return found


def _results(rows: Any, source: str) -> pl.DataFrame:
    """Results from parsed JSON, with all their fields."""
    if not isinstance(rows, list):
        raise FormatError("not a list of objects, one for each detection", "is it ground truth?", path=source)
    frame, _ = frame_of_rows("detections", rows)
    return result_columns(frame, next((row for row in rows if isinstance(row, dict)), {}))


def result_columns(frame: pl.DataFrame, first: dict[str, Any]) -> pl.DataFrame:
    """Results of `frame_of_rows` under canonical names; the first row says whether they have boxes."""
    boxes_of_shapes = ["bbox"] if first and lacks_box(first) else []
    return canonical_names("detections", frame.drop("area", *boxes_of_shapes, strict=False))

"""Ground truth in COCO JSON: one object with images, categories and annotations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from apframe.exceptions import FormatError
from apframe.formats.coco.json_rows import canonical_names, frame_of_rows
from apframe.formats.coco.scan import FLAGS, scan_truth
from apframe.formats.documents import parse_json
from apframe.formats.files import read_unpacked
from apframe.formats.format import with_own_paths
from apframe.paths import kind_at, read_since, stamp
from apframe.tables.column_sources import kind_of
from apframe.tables.dataset import Dataset
from apframe.tables.later import Later
from apframe.tables.schemas import GROUND_TRUTH
from apframe.tables.shapes.boxes import BOX
from apframe.validation import validating


@dataclass(frozen=True)
class CocoTruth:
    """Ground truth from a file, not checked yet.

    Attributes
    ----------
    tables
        `images`, `categories` and `annotations` under canonical names
    json_columns, other_sections
        as in `Dataset`
    later
        columns that are read when they are first used
    """

    tables: dict[str, pl.DataFrame]
    json_columns: set[tuple[str, str]]
    other_sections: dict[str, Any]
    later: Later | None = None

    def checked(self, box_format: str | None = None, *, relative: bool = False) -> Dataset:
        """Return the data set; by default boxes are COCO's `bbox`, or columns whose names imply the box format."""
        if box_format is None and set(BOX) <= set(self.tables["annotations"].columns):
            box_format = "xywh"
        dataset = Dataset(**self.tables, box_format=box_format, relative=relative)
        return dataset.with_rest(self.json_columns, self.other_sections, self.later)


def read_coco(source: str | Path | dict[str, Any], *, masks: bool = False) -> Dataset:
    """Read COCO ground truth: a JSON file, plain or gzip, or its content in memory as a dict.

    Fields that COCO does not define become attribute columns of their table; lists of texts, such as tags, stay lists. The
    attributes of annotations are read from a file when they are first used; evaluation only requires the defined fields.
    `segmentation` becomes the column `mask`, as JSON text; with `masks` it is read immediately, otherwise when masks are first
    compared or the table is first used. A field with the name of another canonical column (an annotation's own `width`) is kept
    as `width_attribute`. Text instead of a number is an error; true and false are 1 and 0, but not allowed as ids.

    Raises
    ------
    FormatError
        the file is missing, not JSON, cut off, or a results file
    RowError, DuplicateIdError, UnknownIdError
        invalid rows; names their ids

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
    """Read a dict, or a COCO object of pycocotools, like `read_coco`, without checking it."""
    return _of_json(getattr(source, "dataset", source), "ground truth")


def read_unchecked(path: Path, *, masks: bool, content: bytes | None = None) -> CocoTruth:
    """Read a file, or its unpacked bytes, like `read_coco`, without checking it."""
    read_at = read_since(path)  # from before reading, so that a later file never has this stamp
    text = read_unpacked(path) if content is None else content
    if kind_at(path) != "file":  # a pipe is empty by now
        content = text
    scanned = scan_truth(text, masks=masks)
    if scanned is None:
        return _of_json(parse_json(path, text), str(path))
    rest, annotations, place = scanned
    are_read = masks or "mask" in annotations.columns  # masks were read if boxes are computed from them

    def read_again() -> bytes:
        if content is not None:
            return content
        text = read_unpacked(path) if stamp(path) == read_at else None
        if text is None or stamp(path) != read_at:
            raise FormatError("the file has been changed or removed since it was read", "read it again", path=path)
        return text

    def attributes() -> tuple[pl.DataFrame, set[str]]:
        from apframe.formats.coco.deferred_columns import scan_attributes

        scanned = scan_attributes(read_again(), place, annotations, masks=not are_read)
        if scanned is not None:
            return scanned, set()
        from apframe.formats.coco.parsed_pieces import parsed_attributes  # only for files that DuckDB cannot read
        from apframe.formats.coco.pieces import PIECE, pieces_of_list

        listed = BytesIO(read_again()[place])
        parsed = parsed_attributes(path, listed, pieces_of_list(listed, PIECE))
        if parsed is None:
            parsed = frame_of_rows("annotations", parse_json(path, read_again())["annotations"], attributes_only=True)
        frame, as_json = parsed
        frame = frame.drop([name for name in FLAGS if name in annotations.columns], strict=False)
        return canonical_names("annotations", frame), as_json

    def read_masks() -> pl.DataFrame:
        from apframe.formats.coco.deferred_columns import scan_masks

        return scan_masks(read_again(), place)

    truth = _of_json(rest, str(path), annotations)
    return replace(truth, later=Later(attributes, None if are_read else read_masks))


def _of_json(data: Any, source: str, annotations: pl.DataFrame | None = None) -> CocoTruth:
    """Return ground truth from parsed JSON, with all its fields; annotations may have been read already."""
    tables, json_columns = tables_of_json(data, source, annotations)
    return CocoTruth(tables, json_columns, {name: value for name, value in data.items() if name not in GROUND_TRUTH})


def tables_of_json(
    data: Any, source: str, annotations: pl.DataFrame | None
) -> tuple[dict[str, pl.DataFrame], set[tuple[str, str]]]:
    """Return the tables, unchecked, and the names of columns that are JSON text."""
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
        names = ", ".join(data) or "none"
        raise FormatError(f"no list named {', '.join(missing)}", f"ground truth needs it; found: {names}", path=source)
    frames, json_columns = {}, set()
    for table in GROUND_TRUTH:
        if table == "annotations" and annotations is not None:
            frames[table] = annotations
            continue
        frame, as_json = frame_of_rows(table, data[table])
        frames[table] = canonical_names(table, frame)
        json_columns |= {(table, name) for name in as_json}
    return frames, json_columns

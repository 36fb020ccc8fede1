"""COCO's JSON: ground truth (one object with images, categories, annotations) and results (one list of detections).

Files are read by compiled parsers with the types spelled out. Whatever these cannot read, or would read wrongly, goes
through Python's own `json`, which is slower, loses nothing, and says what is wrong and where.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import chain, compress, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from apframe.exceptions import ColumnError, FormatError, RowError
from apframe.io.files import read_head, read_unpacked, stamp, write_whole
from apframe.io.format import NUMBER, Format
from apframe.schema import FLAT_LISTS, TABLES, Dataset, canonical, from_arrow_stream, split_boxes

if TYPE_CHECKING:
    import duckdb

# What the fields hold: an id, a number, a text, a box, several numbers or ids, or any JSON. Beside COCO's own there are LVIS's
# lists of categories, and shapes that COCO does not have.
_SHAPES = {
    "keypoints": "numbers", "segmentation": "json", "corners": "numbers", "angle": "number", "start_time": "number",
    "end_time": "number",
}  # fmt: skip
_FIELDS = {
    "images": {
        "id": "id", "width": "number", "height": "number", "file_name": "text", "pos_category_ids": "ids",
        "neg_category_ids": "ids", "not_exhaustive_category_ids": "ids",
    },
    "categories": {"id": "id", "name": "text", "supercategory": "text", "parent_ids": "ids"},
    "annotations": {
        "id": "id", "image_id": "id", "category_id": "id", "bbox": "box", "area": "number", "iscrowd": "number",
        "ignore": "number", "num_keypoints": "number", **_SHAPES,
    },
    "detections": {"image_id": "id", "category_id": "id", "score": "number", "bbox": "box", **_SHAPES},
}  # fmt: skip
_SECTIONS = ("images", "categories", "annotations")
_OPTIONAL = {
    "ignore", "iscrowd", "num_keypoints", "pos_category_ids", "neg_category_ids", "not_exhaustive_category_ids", "parent_ids",
    *_SHAPES,
}  # fmt: skip
# What other data sets call `ignore` and `iscrowd`: attributes, which are no longer left for later.
_FLAGS = {alias: "number" for column in TABLES["annotations"] for alias in column.aliases if alias != "iscrowd"}
# COCO's names of canonical columns, where they differ
_NAMES = {
    "images": {"id": "image_id", "width": "image_width", "height": "image_height"},
    "categories": {"id": "category_id"},
    "annotations": {"id": "annotation_id", "iscrowd": "is_crowd", "segmentation": "mask"},
    "detections": {"segmentation": "mask"},
}
_CLASH = "_attribute"  # appended to a field of a file whose name is that of another canonical column
_BOX = ("x", "y", "width", "height")
# Ids are read as doubles, so that a fraction is seen rather than rounded away; from here on doubles lose digits.
_LARGEST_ID = 2.0**53
_DUCKDB = {
    "id": "DOUBLE", "number": "DOUBLE", "text": "VARCHAR", "box": "DOUBLE[4]", "numbers": "DOUBLE[]", "json": "JSON",
    "rle": "STRUCT(size BIGINT[], counts VARCHAR)",
}  # fmt: skip
_CUT = ["\0 the annotations were cut out here"]  # no file holds this
_ATTRIBUTES: dict[type, str] = {int: "id", float: "number", str: "text"}


def read_coco(source: str | Path | dict[str, Any], *, masks: bool = False) -> Dataset:
    """Read COCO ground truth: a JSON file, plain or gzip, or the same already in memory as a dict.

    Fields that COCO does not know become attribute columns of their table. Those of a file's annotations are read when the
    table is first looked at; evaluating needs the known fields only. `segmentation` becomes the column `mask`, as JSON
    text; with `masks` it is read at once, else when masks are first compared or the table is looked at. A field with the name
    of another canonical column (an annotation's own `width`) is kept as `width_attribute`.

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
    if not isinstance(source, (str, Path)):
        return _dataset(getattr(source, "dataset", source), "ground truth")  # a COCO object of pycocotools has a dict there
    path = Path(source)
    text = read_unpacked(path)
    cut = _cut_annotations(text)
    annotations = None if cut is None else _scan_annotations(memoryview(text)[cut[1]], masks=masks)
    if cut is None or annotations is None:
        return _dataset(_parsed(text, path), str(path))
    read_at = stamp(path)

    def read_again() -> bytes:
        if stamp(path) != read_at:
            raise FormatError(f"{path}: the file has changed or gone since it was read; read it again")
        return read_unpacked(path)

    def attributes() -> tuple[pl.DataFrame, set[str]]:
        frame, as_json = _frame("annotations", _parsed(read_again(), path)["annotations"], attributes_only=True)
        frame = frame.drop([name for name in _FLAGS if name in annotations.columns], strict=False)
        return _canonical_names("annotations", frame), as_json

    def read_masks() -> pl.DataFrame:
        again = _scan_list(memoryview(read_again())[cut[1]], {"segmentation": "json"}, {})
        assert again is not None  # as it was read before
        return _canonical_names("annotations", again)

    dataset = _dataset(cut[0], str(path), annotations)
    dataset.defer(attributes, None if masks else read_masks)
    return dataset


class Coco(Format):
    """COCO's JSON as a format of files; results are a JSON list."""

    name = "coco"
    title = "COCO JSON"
    dataset_is = "a JSON file, plain or gzip, with lists images, categories and annotations"
    results_are = "a JSON file, plain or gzip, with a list of detections"
    image_ids = category_ids = NUMBER
    holds = {
        **{table: ("*", *(column.name for column in TABLES[table])) for table in ("images", "categories", "annotations")},
        "detections": ("*", *(column.name for column in TABLES["detections"] if column.name not in ("detection_id", "area"))),
    }
    unused_categories = True

    def is_dataset(self, path: Path) -> bool:
        """A JSON object with one of COCO's lists near its beginning, and no database."""
        head = read_head(path)
        is_there = any(f'"{section}"'.encode() in head for section in _SECTIONS)
        return head.lstrip()[:1] == b"{" and is_there and b'"database"' not in head

    def is_results(self, path: Path) -> bool:
        """A JSON list of objects with an image_id; or an empty one."""
        head = read_head(path)
        return head.lstrip()[:1] == b"[" and (b'"image_id"' in head or head.strip() == b"[]")

    def read_tables(self, path: Path, **options: Any) -> dict[str, pl.DataFrame]:
        """See `Format.read_tables`; with masks, but not the other attributes of the annotations."""
        text = read_unpacked(path)
        cut = _cut_annotations(text)
        annotations = None if cut is None else _scan_annotations(memoryview(text)[cut[1]], masks=True)
        return tables_of_json(_parsed(text, path) if cut is None or annotations is None else cut[0], str(path), annotations)[0]

    def read(self, path: Path, *, masks: bool = False, **options: Any) -> Dataset:
        """See `read_coco`."""
        return read_coco(path, masks=masks)

    def read_results(self, path: Path, dataset: Dataset | None) -> pl.DataFrame:
        """See `read_result_columns`."""
        return read_result_columns(path)

    def write(self, dataset: Dataset, path: Path) -> None:
        """See `write_coco`."""
        write_coco(dataset, path)

    def write_results(self, detections: pl.DataFrame, path: Path, dataset: Dataset | None) -> None:
        """See `write_coco_results`."""
        write_coco_results(detections, path)


def read_coco_results(source: str | Path | list[dict[str, Any]]) -> pl.DataFrame:
    """Read COCO results: a JSON file, plain or gzip, with a list of boxes, masks or keypoints; or that list already in memory.

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
    return canonical("detections", read_result_columns(source))


def read_result_columns(source: str | Path | list[dict[str, Any]]) -> pl.DataFrame:
    """Results as `read_coco_results` reads them, under canonical names, but not checked.

    >>> read_result_columns([{"image_id": 7, "bbox": [10, 20, 30, 40], "score": 0.5}])["category_id"].to_list()
    [None]
    """
    if not isinstance(source, (str, Path)):
        return _results(source, "results")
    path = Path(source)
    text = read_unpacked(path)
    scanned = _scan_results(text, _first_row(text, path))
    return _results(_parsed(text, path), str(path)) if scanned is None else scanned


def write_coco(dataset: Dataset, path: str | Path) -> None:
    """Write ground truth as COCO JSON, with all attributes and the other sections of the file it came from.

    Fields that are null are left out. The file appears whole or not at all; a name that ends in .gz is packed. Bitmaps in the
    column `mask` are a `ColumnError`: COCO's JSON has run lengths and polygons only.
    """
    sections = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in dataset.other_sections.items()]
    for table in _SECTIONS:
        as_json = {name for owner, name in dataset.json_columns if owner == table}
        sections.append(f'"{table}": {_json_rows(table, getattr(dataset, table), as_json)}')
    write_whole(Path(path), "{" + ",\n".join(sections) + "}\n")


def write_coco_results(detections: pl.DataFrame, path: str | Path) -> None:
    """Write detections as COCO results. `detection_id` and `area` follow from the file and are left out.

    Bitmaps in the column `mask` are a `ColumnError`: COCO's JSON has run lengths and polygons only.
    """
    frame = canonical("detections", detections).drop("detection_id", "area")
    write_whole(Path(path), _json_rows("detections", frame, set()) + "\n")


def _cut_annotations(text: bytes) -> tuple[dict[str, Any], slice] | None:
    """Ground truth without its annotations, parsed; and where their list stands in the text. None if it is not found.

    The list is nearly all of the file, and a list of objects alone is what the fast reader takes. Where it ends is a guess,
    from the section that follows; it is right if the rest parses and the reader takes the list.
    """
    opening = re.search(rb'"annotations"\s*:\s*\[', text)
    if opening is None:
        return None
    begin = opening.end() - 1
    tail = max(begin, len(text) - (1 << 20))
    after = [text.find(name, begin) for name in (b'"images"', b'"categories"') if text.find(name, 0, begin) < 0]
    after += [text.find(name, tail) for name in (b'"info"', b'"licenses"')]
    end = text.rfind(b"]", begin, min((place for place in after if place > 0), default=len(text))) + 1
    try:
        rest = json.loads(text[:begin] + json.dumps(_CUT).encode() + text[end:])
    except ValueError:
        return None
    if not isinstance(rest, dict) or rest.get("annotations") != _CUT:
        return None
    return rest | {"annotations": []}, slice(begin, end)


def _scan_annotations(text: memoryview, *, masks: bool) -> pl.DataFrame | None:
    """The known fields of a list of annotations; None where only `_frame` can read or explain it."""
    try:
        first = _first_row(text, Path("annotations"))
    except FormatError:
        return None
    masks = masks or "bbox" not in first  # boxes are made of them then
    kinds = {name: kind for name, kind in (_FIELDS["annotations"] | _FLAGS).items() if masks or kind != "json"}
    frame = _scan_list(text, kinds, first)
    if frame is None:
        return None
    empty = [name for name in _OPTIONAL | _FLAGS.keys() if name in frame.columns and not frame[name].count()]
    if not frame["bbox"].count() and _SHAPES.keys() <= set(empty):
        return None
    return _canonical_names("annotations", frame.drop(empty))


def _scan_results(text: bytes, first: dict[str, Any]) -> pl.DataFrame | None:
    """Results with the columns of their first row; None where only `_results` can read or explain the file."""
    fields = _FIELDS["detections"]
    kinds = {name: kind for name, kind in fields.items() if name not in _OPTIONAL}
    kinds |= {name: fields.get(name) or _ATTRIBUTES.get(type(value), "") for name, value in first.items()}
    kinds.pop("area", None)
    if _lacks_box(first):
        del kinds["bbox"]
    mask = first.get("segmentation")
    if isinstance(mask, dict) and set(mask) == {"size", "counts"} and isinstance(mask["counts"], str):
        kinds["segmentation"] = "rle"
    frame = None if "" in kinds.values() else _scan_list(memoryview(text), kinds, first)
    if frame is None or (kinds.get("segmentation") == "rle" and _has_lists(frame["segmentation"].struct.field("counts"))):
        return None
    whole = [name for name in frame.columns if kinds[name] == "id" and name not in fields]
    whole = [name for name in whole if frame[name].dtype.is_float() and (frame[name] == frame[name].floor()).all()]
    return _canonical_names("detections", frame.with_columns(pl.col(whole).cast(pl.Int64)))


def _has_lists(counts: pl.Series) -> bool:
    """Whether run lengths that are numbers became text: no text of COCO's ends like a list."""
    return bool(counts.str.ends_with("]").any())


def _scan_list(text: memoryview, kinds: dict[str, str], first: dict[str, Any]) -> pl.DataFrame | None:
    """A JSON list of objects as columns, by DuckDB; None where it fails, or would read something wrongly.

    DuckDB takes a number written as text for a number. So the types of the first row decide: text ids make a text column,
    and text in the place of a number makes the whole list one for the thorough reader.
    """
    is_text = {name for name, value in first.items() if isinstance(value, str)}
    if any(kinds.get(name) == "number" for name in is_text) or not bytes(text[-4096:]).rstrip().endswith(b"]"):
        return None
    import duckdb  # reading JSON needs it, `import apframe` does not

    types = {name: _DUCKDB["text" if kind == "id" and name in is_text else kind] for name, kind in kinds.items()}
    with tempfile.TemporaryDirectory() as folder:
        try:
            paths = _write_parts(text, Path(folder))
            frame = from_arrow_stream(_duckdb().cursor().read_json(paths, format="array", columns=types))  # type: ignore[arg-type]
        # PolarsError is what DuckDB finds while its rows are taken, OSError a temporary folder that is full
        except (duckdb.Error, pl.exceptions.PolarsError, OSError):
            return None
    return None if any(_loses_digits(frame[name]) for name, kind in kinds.items() if kind == "id") else frame


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One database for all reading: opening one takes longer than reading a small file."""
    import duckdb

    connection = duckdb.connect()
    atexit.register(_duckdb.cache_clear)  # left to the end of the interpreter, DuckDB would complain of a leak
    atexit.register(connection.close)
    return connection


def _write_parts(text: memoryview, folder: Path) -> list[str]:
    """The list as several files, one for each processor, for DuckDB reads a file with one thread only.

    It is cut between two objects. A cut in the wrong place, inside a nested object, leaves parts that are not JSON, so that
    the reader refuses them.
    """
    between = re.compile(rb"\}\s*,\s*(?=\{)")
    n_parts = max(1, min(os.cpu_count() or 1, len(text) >> 20))
    cuts = [between.search(text, len(text) * part // n_parts) for part in range(1, n_parts)]
    ends = [cut.start() + 1 for cut in cuts if cut] + [len(text)]
    begins = [0] + [cut.end() for cut in cuts if cut]
    paths = []
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        path = folder / f"{number}.json"
        with path.open("wb") as file:
            file.write(b"[" if begin else b"")
            file.write(text[begin:end])
            file.write(b"]" if end < len(text) else b"")
        paths.append(str(path))
    return paths


def _first_row(text: bytes | memoryview, path: Path) -> dict[str, Any]:
    """The first row of a list of objects, read from its head; an empty one where the list is empty."""
    size = 1 << 16
    while True:
        head = bytes(text[:size]).decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
        if not head:
            raise FormatError(f"{path}: the file is empty; results are a JSON list, [] when nothing was found")
        if head.startswith("{"):
            raise FormatError(f"{path}: holds an object, not a list of results; is it ground truth?")
        if not head.startswith("["):
            raise FormatError(f"{path}: not a JSON list of results, it begins with {head[:20]!r}")
        body = head[1:].lstrip()
        if body.startswith("]"):
            return {}
        try:
            first, _ = json.JSONDecoder().raw_decode(body)
        except json.JSONDecodeError as error:
            if size < len(text):
                size *= 16
                continue
            raise FormatError(f"{path}: not JSON, or cut off ({error})") from None
        if not isinstance(first, dict):
            raise FormatError(f"{path}: the list begins with {first!r}, not an object with image_id, bbox and score")
        return first


def _dataset(data: Any, source: str, annotations: pl.DataFrame | None = None) -> Dataset:
    """Ground truth from parsed JSON, with all its fields; annotations may have been read already."""
    frames, json_columns = tables_of_json(data, source, annotations)
    dataset = Dataset(**frames)
    dataset.other_sections = {name: value for name, value in data.items() if name not in _SECTIONS}
    dataset.json_columns = json_columns
    return dataset


def tables_of_json(
    data: Any, source: str, annotations: pl.DataFrame | None
) -> tuple[dict[str, pl.DataFrame], set[tuple[str, str]]]:
    """The tables, not checked yet, and which of their columns are JSON text."""
    if isinstance(data, list):
        raise FormatError(f"{source}: holds a list, not an object with images and annotations; is it a results file?")
    if not isinstance(data, dict):
        raise FormatError(
            f"{source}: a {type(data).__name__} is no ground truth; give a path, a dict as json.load returns it, or an "
            "apframe.Dataset of three frames"
        )
    missing = [table for table in _SECTIONS if not isinstance(data.get(table), list)]
    if missing:
        found = ", ".join(data) or "none"
        raise FormatError(f"{source}: no list named {', '.join(missing)}; ground truth needs it, the names here: {found}")
    frames, json_columns = {}, set()
    for table in _SECTIONS:
        if table == "annotations" and annotations is not None:
            frames[table] = annotations
            continue
        frame, as_json = _frame(table, data[table])
        frames[table] = _canonical_names(table, frame)
        json_columns |= {(table, name) for name in as_json}
    return frames, json_columns


def _results(rows: Any, source: str) -> pl.DataFrame:
    """Results from parsed JSON, with all their fields."""
    if not isinstance(rows, list):
        raise FormatError(f"{source}: not a list of objects, one for each detection; is it ground truth?")
    frame, _ = _frame("detections", rows)
    boxes_of_shapes = ["bbox"] if rows and _lacks_box(rows[0]) else []
    return _canonical_names("detections", frame.drop("area", *boxes_of_shapes, strict=False))


def _lacks_box(first: dict[str, Any]) -> bool:
    """Whether the first of the results has another shape and no box: then the boxes of all are made of that shape."""
    return not first.get("bbox") and bool({"segmentation", "keypoints", "corners", "start_time"} & first.keys())


def _frame(table: str, rows: list[Any], *, attributes_only: bool = False) -> tuple[pl.DataFrame, set[str]]:
    """Rows of JSON objects as columns; and the names of the attributes that are JSON text, for want of one plain type.

    With `attributes_only`, what `_scan_list` reads is left out.
    """

    def refuse(wrong: list[bool], problem: str, remedy: str = "") -> None:
        _refuse(table, rows, wrong, problem, remedy)

    refuse([not isinstance(row, dict) for row in rows], "the row is not a JSON object")
    columns, as_json = [], set()
    for name in dict.fromkeys(chain(_FIELDS[table], chain.from_iterable(rows))):
        kind = _FIELDS[table].get(name)
        if attributes_only and kind not in (None, "json"):
            continue
        values = [row.get(name) for row in rows]
        types = set(map(type, values)) - {type(None)}
        if kind in ("id", "ids", "number", "box", "numbers"):
            columns.append(_known(refuse, name, kind, values))
        elif kind == "text":
            columns.append(pl.Series(name, [None if v is None else str(v) for v in values], pl.String))
        elif kind is None and types <= {int, float} and all(v is None or abs(v) < 2**63 for v in values):
            columns.append(pl.Series(name, values, (pl.Float64 if float in types else pl.Int64) if types else pl.Null))
        elif kind is None and types in ({bool}, {str}):
            columns.append(pl.Series(name, values))
        else:
            separators = (",", ":") if kind == "json" else None  # without spaces, as DuckDB has it
            texts = [None if v is None else json.dumps(v, default=_plain, separators=separators) for v in values]
            columns.append(pl.Series(name, texts, pl.String))
            if kind is None:
                as_json.add(name)
    frame = pl.DataFrame(columns)
    return frame.drop([name for name in _OPTIONAL if name in frame.columns and not frame[name].count()]), as_json


def _plain(value: Any) -> Any:
    """What JSON does not hold, but results in memory may: the bytes of pycocotools' run-lengths, arrays."""
    if isinstance(value, bytes):
        return value.decode("ascii")
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def _known(refuse: Callable[..., None], name: str, kind: str, values: list[Any]) -> pl.Series:
    """A known field as a column of its type, or an error that names the rows of another type."""
    number = (int, float)
    if kind == "id" and set(map(type, values)) == {int} and max(map(abs, values)) < 2**63:
        return pl.Series(name, values, pl.Int64)
    if kind == "id":
        of_first = (str,) if isinstance(next((v for v in values if v is not None), None), str) else number
        wrong = [v is not None and (not isinstance(v, of_first) or isinstance(v, bool)) for v in values]
        refuse(wrong, f"{name} is not {'a string, as in the first row' if of_first == (str,) else 'a number'}")
        if of_first == number:
            refuse([v is not None and abs(v) >= 2**63 for v in values], f"{name} is too large")
        types = set(map(type, values)) - {type(None)}
        return pl.Series(name, values, pl.Float64 if float in types else pl.String if str in types else pl.Int64)
    if kind == "ids":
        refuse([v is not None and not _are_ids(v) for v in values], f"{name} is not a list of ids")
        is_text = any(isinstance(n, str) for v in values if v for n in v)
        return pl.Series(name, values, pl.List(pl.String if is_text else pl.Float64), strict=False)
    if kind == "number":
        if not set(map(type, values)) <= {int, float, type(None)}:
            refuse([v is not None and not isinstance(v, number) for v in values], f"{name} is not a number")
        return pl.Series(name, values, pl.Float64)
    is_list = [v is None or (isinstance(v, (list, tuple)) and all(isinstance(n, number) for n in v)) for v in values]
    refuse([not ok for ok in is_list], f"{name} is not a list of numbers", FLAT_LISTS.get(name, ""))
    return pl.Series(name, values, pl.List(pl.Float64))


def _are_ids(value: Any) -> bool:
    types = {type(item) for item in value} if isinstance(value, list) else {list}
    return types <= {str} or types <= {int, float, type(None)}


def _refuse(table: str, rows: list[Any], wrong: list[bool], problem: str, remedy: str) -> None:
    """An error that names the rows by their ids, or by their places where some of them have none."""
    if any(wrong):
        ids = [row.get("id") if isinstance(row, dict) else None for row in compress(rows, wrong)]
        if table == "detections" or not all(isinstance(each, (int, str)) for each in ids):
            raise RowError(table, problem, "row", compress(count(1), wrong), f"correct these rows{remedy}")
        raise RowError(table, problem, TABLES[table][0].name, ids, f"correct these rows{remedy}")


def _canonical_names(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """COCO's columns under their canonical names, the box as four columns."""
    canonical_columns = {column.name for column in TABLES[table]}
    names = _NAMES[table]
    clashes = {name for name in frame.columns if name in canonical_columns and name not in _FIELDS[table]}
    frame = frame.rename({name: name + _CLASH for name in clashes} | {k: v for k, v in names.items() if k in frame.columns})
    has_shape = bool({"mask", *_SHAPES} & set(frame.columns))
    if "bbox" in frame.columns and not frame["bbox"].count() and (has_shape or frame.height):
        return frame.drop("bbox")  # the boxes will be made of the other shape, or an error says what there is instead
    return split_boxes(table, frame) if "bbox" in frame.columns else frame


def _json_rows(table: str, frame: pl.DataFrame, as_json: set[str]) -> str:
    """The rows as the text of a JSON list of objects, without their nulls."""
    _refuse_bitmaps(table, frame)
    raw = as_json | {"segmentation"} if frame.schema.get("mask") == pl.String else as_json
    names = {canonical_name: name for name, canonical_name in _NAMES[table].items()}
    if "x" in frame.columns:
        has_box = pl.all_horizontal(pl.col(_BOX).is_not_null())  # boxes may be left to be made of another shape
        frame = frame.with_columns(bbox=pl.when(has_box).then(pl.concat_list(_BOX))).drop(_BOX)
    frame = frame.with_columns(pl.col(name).cast(pl.Int8) for name in ("is_crowd", "ignore") if name in frame.columns)
    clashes = {column.name + _CLASH: column.name for column in TABLES[table] if column.name not in _FIELDS[table]}
    frame = frame.rename({name: clashes.get(name, names.get(name, name)) for name in frame.columns})
    fields = []
    for name in frame.columns:
        encoded = pl.struct(name).struct.json_encode().str.slice(1).str.head(-1)
        text = pl.lit(json.dumps(name) + ":") + pl.col(name) if name in raw else encoded
        fields.append(pl.when(pl.col(name).is_not_null()).then(text))
    rows = frame.select(row=pl.concat_str(fields, separator=",", ignore_nulls=True))["row"]
    return "[" + ",\n".join("{" + row + "}" for row in rows) + "]"


def _refuse_bitmaps(table: str, frame: pl.DataFrame) -> None:
    dtype = frame.schema.get("mask")
    pixel = getattr(getattr(dtype, "inner", None), "inner", None)
    if pixel is not None and (pixel.is_integer() or pixel == pl.Boolean):
        raise ColumnError(
            f"{table}.mask: bitmaps, {dtype}, cannot be written: COCO's JSON holds run lengths and polygons; "
            "pycocotools.mask.encode makes run lengths of a bitmap (polygons are lists of floats)"
        )


def _parsed(text: bytes, path: Path) -> Any:
    if not text.strip():
        raise FormatError(f"{path}: the file is empty")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{path}: not JSON, or cut off ({error})") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not JSON text ({error})") from None


def _loses_digits(ids: pl.Series) -> bool:
    return ids.dtype.is_float() and bool((ids.abs() >= _LARGEST_ID).any())

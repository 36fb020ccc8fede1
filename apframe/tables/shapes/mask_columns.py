"""The column `mask` of a canonical table as runs: JSON text, encodings, polygons or bitmaps, and their faults."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
import polars as pl

from apframe.exceptions import ColumnError, MaskSizeWarning, warn
from apframe.rows import KEY_OF
from apframe.tables.shapes.mask_limits import MOST_PIXELS, MOST_SIDE
from apframe.tables.shapes.pixel_runs import TOO_MANY, Fault, Runs, concatenate, from_bitmaps
from apframe.tables.shapes.polygons import TOO_LONG, rasterise
from apframe.tables.shapes.run_lengths import from_counts, from_text
from apframe.threads import pool
from apframe.validation import Sieve, sound_rows
from apframe.wording import listed

_POLYGONS = pl.List(pl.List(pl.Float64))
_TEXT = pl.Struct({"size": pl.List(pl.Int64), "counts": pl.String})
_COUNTS = pl.Struct({"size": pl.List(pl.Int64), "counts": pl.List(pl.Int64)})
_PLAIN = r'"counts"\s*:\s*\['
_WHOLE_SIZE, _TEXT_COUNTS = r'"size"\s*:\s*\[\s*-?\d+\s*,\s*-?\d+\s*\]', r'"counts"\s*:\s*"'
_DECODED_AT_ONCE = 1 << 11  # texts of JSON: the parser takes many times their memory
_FAR = 2**62
_NOT_DIGITS = r'[^-0-9,\s\[\]{}:"sizecount]|\de|\d{19}'  # anything but whole numbers in plain run lengths
_ROW = "row"
_NEITHER = "mask is neither polygons nor run lengths"
_EITHER = 'write [[x, y, ...], ...] or {"size": [height, width], "counts": ...}'
_NO_MASK, _NOT_WHOLE = "no mask", "size or counts of the run lengths are not whole numbers"
_WHOLE = "size is [height, width], counts are whole numbers or COCO's text"
_SIZE = ["image_height", "image_width"]
_AGAIN = "encode these masks again (pycocotools.mask.encode converts bitmaps to run lengths)"
LARGEST = f"2**{MOST_PIXELS.bit_length() - 1} pixels, or 2**{MOST_SIDE.bit_length() - 1} a side"
REMEDIES = {TOO_LONG: "simplify these polygons", TOO_MANY: "take fewer at once"}
_POLYGON_LIST = "write a list of polygons: [[x1, y1, ...]]"
_FLAT = r"^\[\s*[-\d]"
_OR_POLYGONS = "; if these are polygons, give lists of floats"


def mask_extents(masks: Runs) -> pl.DataFrame:
    """Return the box and the number of pixels of each mask, as computed by the COCO mask API.

    Columns `x, y, width, height, area`; zeros for masks without pixels.

    >>> square = '{"size": [4, 5], "counts": [5, 2, 2, 2, 9]}'
    >>> mask_extents(read_masks("detections", pl.DataFrame({"detection_id": [1], "mask": [square]}))).row(0)
    (1.0, 1.0, 2.0, 2.0, 4.0)
    """
    left, top, right, bottom = masks.box.astype(np.float64).T
    return pl.DataFrame(
        {"x": left, "y": top, "width": right - left, "height": bottom - top, "area": masks.area.astype(np.float64)}
    )


def read_masks(table: str, frame: pl.DataFrame) -> Runs:
    """Decode the masks of all rows.

    Parameters
    ----------
    table
        "annotations" or "detections", for errors
    frame
        a canonical table: the ids, `mask`, `image_height`, `image_width` (null where unknown). `mask` is COCO's JSON text
        (polygons `[[x, y, ...], ...]`, or `{"size": [height, width], "counts": ...}` with run lengths as numbers or as COCO's
        text; rows may differ), a struct of `size` and `counts`, lists of polygons (lists of floats), or bitmaps (lists of rows
        of integers or Booleans)

    Raises
    ------
    ColumnError
        the column holds something else
    RowError
        masks that are missing, invalid, or beyond the limits in `apframe.tables.shapes.mask_limits`; names the ids

    >>> read_masks("annotations", pl.DataFrame({"annotation_id": [1], "mask": [[[0, 1], [1, 1]]]})).area.tolist()
    [3]
    """
    return sound_masks(table, frame)[1]


def sound_masks(table: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, Runs]:
    """Return the rows whose masks can be decoded, and their masks; other rows are rejected, see `sound_rows`.

    >>> sound_masks("annotations", pl.DataFrame({"annotation_id": [7], "mask": [[[0, 1], [1, 1]]]}))[0]["annotation_id"].item()
    7
    """
    rows, masks = _read(table, frame.select(KEY_OF[table]).hstack([*_sizes_of(frame), frame["mask"]]).with_row_index(_ROW))
    return frame if rows.height == frame.height else frame[rows[_ROW]], masks


def _read(table: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Runs]:
    rows = sound_rows(table, rows, rows["mask"].is_null(), "mask is missing", "supply it or remove these rows")
    masks = rows["mask"]
    if masks.dtype == pl.String or not len(masks):
        return _from_json(table, rows)
    if isinstance(masks.dtype, pl.Array):
        rows = rows.with_columns(pl.col("mask").arr.to_list())
    dtype = rows["mask"].dtype
    if isinstance(dtype, pl.Struct):
        return _from_encodings(table, rows)
    if isinstance(dtype, pl.List):
        if isinstance(dtype.inner, pl.Array):
            rows = rows.with_columns(pl.col("mask").list.eval(pl.element().arr.to_list()))
            dtype = rows["mask"].dtype
        inner = getattr(getattr(dtype, "inner", None), "inner", None)
        if inner is not None and inner.is_float():
            return _from_polygons(table, rows)
        if inner is not None and (inner.is_integer() or inner == pl.Boolean):
            return _from_bitmaps(table, rows)
        if getattr(dtype, "inner", pl.Null()).is_numeric():
            raise ColumnError("a flat list of numbers", _POLYGON_LIST, table=table, column="mask")
    raise ColumnError(
        f"{masks.dtype} cannot be a mask",
        "give COCO's JSON text, structs of size and counts, lists of polygons "
        "(lists of floats), or bitmaps (lists of rows of integers or Booleans)",
        table=table,
        column="mask",
    )


def read_both(
    detections: pl.DataFrame, annotations: pl.DataFrame, detected: Runs | None = None, annotated: Runs | None = None
) -> tuple[Runs, Runs]:
    """Return the masks of both tables, decoded unless they are given.

    >>> square = pl.DataFrame({"image_id": [7], "mask": [[[0, 1], [1, 1]]]})
    >>> detected, annotated = read_both(square.with_columns(detection_id=1), square.with_columns(annotation_id=1))
    >>> len(detected), len(annotated)
    (1, 1)
    """
    with pool() as others:
        expecting = others.submit(lambda: read_masks("annotations", annotations) if annotated is None else annotated)
        return (read_masks("detections", detections) if detected is None else detected), expecting.result()


def of_other_size(frame: pl.DataFrame, masks: Runs) -> pl.Series:
    """Flag the masks whose own `size`, which run lengths have, differs from the known size of their image.

    >>> square = pl.DataFrame({"annotation_id": [1], "mask": ['{"size": [2, 2], "counts": [0, 4]}'], "image_height": [5]})
    >>> of_other_size(square, read_masks("annotations", square)).to_list()
    [True]
    """
    sizes = [(name, size) for name, size in zip(_SIZE, (masks.height, masks.width), strict=True) if name in frame.columns]
    differs = [(pl.col(name) != pl.Series(size)).fill_null(False) for name, size in sizes]
    return frame.select(pl.any_horizontal(*differs)).to_series() if sizes else pl.repeat(False, len(masks), eager=True)


def warn_of_other_sizes(table: str, frame: pl.DataFrame, masks: Runs) -> None:
    """Warn of the masks whose `size` differs from that of their image, by id."""
    flags = of_other_size(frame, masks)
    if flags.any():
        key = KEY_OF[table]
        warn(
            f"{table}: size of the run lengths differs from the image size for {key} "
            f"{listed(frame[key].filter(flags).to_list())}; masks are compared without resizing; were images resized?",
            MaskSizeWarning,
        )


def refuse_different_sizes(detections: pl.DataFrame, annotations: pl.DataFrame, detected: Runs, annotated: Runs) -> None:
    """Reject masks of an image that differ in size from the image or, if its size is unknown, from the first mask."""
    parts = [("annotations", annotations, annotated), ("detections", detections, detected)]
    is_known = all(name in frame.columns and not frame[name].null_count() for _, frame, _ in parts for name in _SIZE)
    if is_known and not any(of_other_size(frame, masks).any() for _, frame, masks in parts):
        return
    sizes = pl.concat(
        [
            frame.select("image_id", *_sizes_of(frame)).with_columns(
                height=masks.height, width=masks.width, table=pl.lit(table)
            )
            for table, frame, masks in parts
        ]
    )
    own, of_image = [pl.col("height"), pl.col("width")], [pl.col(name) for name in _SIZE]
    is_mixed = pl.any_horizontal(size.n_unique().over("image_id") > 1 for size in own)
    right = [pl.coalesce(image_size, size.first().over("image_id")) for image_size, size in zip(of_image, own, strict=True)]
    differs = is_mixed & pl.any_horizontal(size != other for size, other in zip(own, right, strict=True))
    flags = sizes.select("table", differs=differs)
    for table, frame, _ in parts:
        remedy = "encode all masks of an image in one size: they are compared pixel by pixel"
        problem = "size of the mask differs from the image's other masks"
        sound_rows(table, frame, flags.filter(table=table)["differs"], problem, remedy)


def _sizes_of(frame: pl.DataFrame) -> list[pl.Series]:
    """Return `image_height` and `image_width`, null where unknown."""
    return [
        frame[name].cast(pl.Int64)
        if name in frame.columns
        else pl.repeat(None, frame.height, dtype=pl.Int64, eager=True).alias(name)
        for name in _SIZE
    ]


def _from_json(table: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Runs]:
    """Decode masks of COCO's text, each kind on its own, and concatenate them in the order of the rows."""
    text = rows["mask"].cast(pl.String).str.strip_chars_start()
    is_polygons, is_encoding = text.str.starts_with("["), text.str.starts_with("{")
    is_plain = is_encoding.clone()
    is_plain.scatter(is_encoding.arg_true(), text.filter(is_encoding).str.contains(_PLAIN))
    sieve = Sieve(table, rows)
    sieve.refuse(is_polygons & text.str.contains(_FLAT), "mask (segmentation) is a flat list", _POLYGON_LIST)
    sieve.refuse(~(is_polygons | is_encoding), _NEITHER, _EITHER)
    kinds = [(is_polygons, _POLYGONS), (is_encoding & ~is_plain, _TEXT), (is_plain, _COUNTS)]
    if sieve.wrong is not None:
        rows, kinds = sieve.sound(rows), [(which.filter(~sieve.wrong), dtype) for which, dtype in kinds]
    parts = []
    for which, dtype in kinds:
        if which.any() or (dtype is _POLYGONS and not len(which)):
            part = _parsed(table, rows if which.all() else rows.filter(which), dtype)
            parts.append(_from_polygons(table, part) if dtype is _POLYGONS else _from_encodings(table, part))
    if len(parts) == 1:
        return parts[0]
    places = np.concatenate([part[_ROW].to_numpy() for part, _ in parts])
    sound = rows[[_ROW]] if rows.height == len(places) else pl.DataFrame({_ROW: np.sort(places)})
    return sound, concatenate([masks for _, masks in parts]).take(np.argsort(places, kind="stable"))


def _parsed(table: str, rows: pl.DataFrame, dtype: Any) -> pl.DataFrame:
    try:
        if not _may_be_cast(rows["mask"], dtype):
            with pool() as others:
                begins = range(0, rows.height, _DECODED_AT_ONCE)
                parts = others.map(lambda first: rows["mask"].slice(first, _DECODED_AT_ONCE).str.json_decode(dtype), begins)
                parsed = pl.concat([pl.Series(dtype=dtype), *parts])
            if len(parsed) == rows.height:
                return rows.with_columns(mask=parsed)
    except pl.exceptions.PolarsError:
        pass
    values = [_loaded(text, is_polygons=dtype is _POLYGONS) for text in rows["mask"]]
    sieve = Sieve(table, rows)
    for fault, problem, remedy in ((_NO_MASK, _NEITHER, _EITHER), (_NOT_WHOLE, _NOT_WHOLE, _WHOLE)):
        sieve.refuse(pl.Series([value is fault for value in values], dtype=pl.Boolean), problem, remedy)
    masks = [None if isinstance(value, str) else value for value in values]
    return sieve.sound(rows.with_columns(mask=pl.Series(masks, dtype=dtype, strict=False)))


def _may_be_cast(masks: pl.Series, dtype: Any) -> bool:
    """Return True if the fast reader may cast a value of another type: a text or a fraction for a whole number."""
    if dtype is _POLYGONS:
        return bool(masks.str.contains("[tf]").any())  # true and false; the fast reader rejects texts
    if dtype is _TEXT:
        return not (masks.str.contains(_WHOLE_SIZE) & masks.str.contains(_TEXT_COUNTS)).all()
    return bool((masks.str.contains(_NOT_DIGITS) | (masks.str.count_matches('"', literal=True) != 4)).any())


def _loaded(text: str, *, is_polygons: bool) -> Any:
    """Return a mask that the fast reader does not accept, or should not, or its fault."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _NO_MASK
    if is_polygons:
        is_flat = all(isinstance(part, list) and all(type(number) in (int, float) for number in part) for part in value)
        return value if is_flat else _NO_MASK
    size, counts = value.get("size"), value.get("counts")
    if not (isinstance(size, (list, NoneType)) and isinstance(counts, (str, list, NoneType))):
        return _NO_MASK
    for numbers in (size, counts):
        if isinstance(numbers, list) and not all(_is_whole(number) for number in numbers):
            return _NOT_WHOLE
    return {"size": _within_64_bits(size), "counts": _within_64_bits(counts)}


def _is_whole(number: Any) -> bool:
    """Return True if a value is a whole number, including 7.0, or missing."""
    return number is None or type(number) is int or (type(number) is float and number.is_integer())


def _within_64_bits(numbers: Any) -> Any:
    """Clip the numbers of a list to 64 bits, far beyond any size of a mask."""
    if not isinstance(numbers, list):
        return numbers
    return [None if number is None else int(max(-_FAR, min(number, _FAR))) for number in numbers]


def _from_polygons(table: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Runs]:
    sieve = Sieve(table, rows)
    unknown = rows["image_height"].is_null() | rows["image_width"].is_null()
    problem = "polygons need the size of the image"
    sieve.refuse(unknown, problem, "give the images' image_height and image_width")
    _refuse_not_positive(sieve, rows["image_height"], rows["image_width"], "the size of the image")
    sieve.refuse(rows["mask"].list.len() == 0, "mask has no polygon", "supply one or remove these rows")
    rows = _without_written_bitmaps(table, sieve.sound(rows))
    polygons = rows["mask"]
    n_polygons = polygons.list.len()
    parts = _exploded(polygons)
    n_numbers = parts.list.len()
    owner = pl.Series(np.repeat(np.arange(len(polygons)), n_polygons.to_numpy()))
    is_polygon = ((n_numbers >= 6) & (n_numbers % 2 == 0)).fill_null(False)
    if not is_polygon.all():
        # a point or a line beside polygons has no pixels, as in the mask API
        is_line = n_numbers.is_in([2, 4]).fill_null(False) & owner.is_in(owner.filter(is_polygon).implode())
        problem = "a polygon has an odd number of coordinates, or fewer than 6"
        wrong, remedy = ~(is_polygon | is_line), "polygons are [x1, y1, x2, y2, x3, y3, ...]"
        if (sound := _sound_parts(table, rows, owner, wrong, problem, remedy)) is not rows:
            return _from_polygons(table, sound)
        parts, n_numbers, owner = (each.filter(is_polygon) for each in (parts, n_numbers, owner))
        n_polygons = pl.Series(np.bincount(owner, minlength=len(polygons)))
    numbers = _exploded(parts).cast(pl.Float64)
    if numbers.null_count() or not math.isfinite(numbers.sum()):
        broken = (~numbers.is_finite()).fill_null(True)
        of_number = owner.gather(np.repeat(np.arange(len(parts)), n_numbers.to_numpy()))
        problem = "a polygon has a coordinate that is not a finite number"
        return _from_polygons(table, _sound_parts(table, rows, of_number, broken, problem, "correct these rows"))
    n_points, n_parts = n_numbers.to_numpy().astype(np.int64) // 2, n_polygons.to_numpy().astype(np.int64)
    coordinates = np.concatenate([chunk.to_numpy() for chunk in numbers.get_chunks()])
    masks = rasterise(coordinates, n_points, n_parts, *(rows[name].to_numpy() for name in _SIZE))
    return _decoded(table, rows, masks, _from_polygons)


def _exploded(lists: pl.Series) -> pl.Series:
    """Return the items of the lists, chunk by chunk, without copying."""
    return pl.concat([chunk.explode(empty_as_null=False) for chunk in lists.get_chunks()])


def _without_written_bitmaps(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose polygons are not really the rows of a bitmap, which would be outlines of almost nothing."""
    n_polygons = rows["mask"].list.len()
    is_tall = (n_polygons == rows["image_height"]) & (n_polygons > 1)
    if not is_tall.any():
        return rows
    maybe = rows.filter(is_tall)
    lines, pixels = pl.element().list.len(), pl.element().explode()
    widths = pl.col("mask").list.eval(lines).list
    is_wide = (widths.min() == pl.col("image_width")) & (widths.max() == pl.col("image_width"))
    is_flags = pl.col("mask").list.eval(((pixels == 0) | (pixels == 1)).all()).list.first()
    bitmaps = maybe.filter(is_wide).filter(is_flags)
    remedy = "encode them as run lengths (pycocotools.mask.encode), or give lists of integers as the column mask of a frame"
    are_bitmaps = rows[_ROW].is_in(bitmaps[_ROW].implode())
    return sound_rows(table, rows, are_bitmaps, "mask is a bitmap, not polygons,", remedy)


def _from_encodings(table: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Runs]:
    fields = rows["mask"].struct.unnest()
    if not {"size", "counts"} <= set(fields.columns):
        raise ColumnError(f"structs of size and counts expected, got {rows['mask'].dtype}", table=table, column="mask")
    sieve = Sieve(table, rows)
    size, counts = (_whole_numbers(sieve, fields[name]) for name in ("size", "counts"))
    unknown = (size.list.len() != 2).fill_null(True) | counts.is_null()
    sieve.refuse(unknown, "run lengths lack size or counts", "give both: size is [height, width]")
    height, width = (size.list.get(k, null_on_oob=True) for k in (0, 1))
    _refuse_not_positive(sieve, height, width, "size of the run lengths")
    if sieve.wrong is not None:
        rows = sieve.sound(rows)
        counts, height, width = (each.filter(~sieve.wrong) for each in (counts, height, width))
    tall, wide = height.to_numpy(), width.to_numpy()
    masks: Runs | Fault
    if counts.dtype in (pl.String, pl.Binary):
        texts = counts.cast(pl.Binary)
        masks = from_text(partial(_characters, texts), texts.bin.size().to_numpy().astype(np.int64), tall, wide)
    else:
        numbers = counts.explode(empty_as_null=False)
        n_counts = counts.list.len().to_numpy().astype(np.int64)
        if numbers.null_count():
            owner = pl.Series(np.repeat(np.arange(len(counts)), n_counts))
            problem = "run lengths are missing"
            return _from_encodings(table, _sound_parts(table, rows, owner, numbers.is_null(), problem, "correct these rows"))
        masks = from_counts(numbers.to_numpy(), n_counts, tall, wide)
    return _decoded(table, rows, masks, _from_encodings)


def _characters(texts: pl.Series, first: int, last: int) -> np.ndarray:
    """Return the characters of texts number `first` to `last - 1`, one after the other."""
    array = texts.slice(first, last - first).to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    at = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, dtype=np.uint8)[at[0] : at[-1]] if data is not None else np.zeros(0, dtype=np.uint8)


def _decoded(
    table: str, rows: pl.DataFrame, masks: Runs | Fault, decode: Callable[[str, pl.DataFrame], tuple[pl.DataFrame, Runs]]
) -> tuple[pl.DataFrame, Runs]:
    """Return the decoded masks; if the decoder found a fault, report its masks and decode the others."""
    if isinstance(masks, Runs):
        return rows, masks
    problem, broken = masks
    refused = pl.repeat(False, rows.height, eager=True).scatter(broken, True)
    return decode(table, sound_rows(table, rows, refused, problem, REMEDIES.get(problem, _AGAIN)))


def _whole_numbers(sieve: Sieve, lists: pl.Series) -> pl.Series:
    """Return lists of whole numbers as Int64; counts that are text are unchanged."""
    if lists.name == "counts" and lists.dtype in (pl.String, pl.Binary, pl.Null):
        return lists
    if isinstance(lists.dtype, pl.Array):
        lists = lists.arr.to_list()
    inner: Any = getattr(lists.dtype, "inner", pl.Null())
    if not (isinstance(lists.dtype, pl.List) and (inner.is_numeric() or inner == pl.Null)):
        raise ColumnError(f"{lists.name} of run lengths is {lists.dtype}", _WHOLE, table=sieve.table, column="mask")
    if not inner.is_integer():
        number = pl.element()
        broken = lists.list.eval((number != number.floor()) | ~number.is_finite()).list.any().fill_null(False)
        sieve.refuse(broken, _NOT_WHOLE, _WHOLE)
    if not inner.is_signed_integer():
        lists = lists.list.eval(pl.element().clip(-_FAR, _FAR))
    return lists.cast(pl.List(pl.Int64))


def _from_bitmaps(table: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, Runs]:
    rows = sound_rows(table, rows, rows["mask"].list.len() == 0, "bitmap has no rows", "supply as many as the image has")
    bitmaps = rows["mask"]
    n_lines = bitmaps.list.len()
    lines = bitmaps.explode(empty_as_null=False)
    n_pixels = lines.list.len()
    height = n_lines.to_numpy().astype(np.int64)
    first = n_pixels.gather(np.cumsum(height) - height)
    owner = pl.Series(np.repeat(np.arange(len(bitmaps)), height))
    wrong = n_pixels.is_null() | (n_pixels != first.gather(owner)) | (n_pixels == 0)
    problem = "bitmap has rows of different lengths, or empty rows"
    remedy = f"every row needs a value for each pixel{_OR_POLYGONS}"
    if (sound := _sound_parts(table, rows, owner, wrong.fill_null(True), problem, remedy)) is not rows:
        return _from_bitmaps(table, sound)
    sieve = Sieve(table, rows)
    other = ((n_lines != rows["image_height"]) | (first != rows["image_width"])).fill_null(False)
    remedy = f"bitmaps have a list for each row of the image{_OR_POLYGONS}"
    sieve.refuse(other, "bitmap and image differ in size", remedy)
    _refuse_not_positive(sieve, n_lines, first, "size of the bitmap")
    if sieve.wrong is not None:
        return _from_bitmaps(table, sieve.sound(rows))
    pixels = lines.explode(empty_as_null=False)
    if pixels.null_count():
        of_pixel = owner.gather(np.repeat(np.arange(len(lines)), n_pixels.to_numpy()))
        problem, remedy = "bitmap has missing pixels", "use 0 outside and 1 inside"
        return _from_bitmaps(table, _sound_parts(table, rows, of_pixel, pixels.is_null(), problem, remedy))
    flags = pixels if pixels.dtype == pl.Boolean else pixels != 0
    return rows, from_bitmaps(flags.to_numpy(), height, first.to_numpy().astype(np.int64))


def _refuse_not_positive(sieve: Sieve, height: pl.Series, width: pl.Series, what: str) -> None:
    is_small = (height < 1) | (width < 1) | (height.cast(pl.Float64) * width.cast(pl.Float64) > MOST_PIXELS)
    wrong = (is_small | (height > MOST_SIDE) | (width > MOST_SIDE)).fill_null(True)
    sieve.refuse(wrong, f"{what} is not positive, or more than {LARGEST}", "correct it, or cut the image into tiles")


def _sound_parts(
    table: str, rows: pl.DataFrame, owner: pl.Series, broken: pl.Series, problem: str, remedy: str
) -> pl.DataFrame:
    """Return the rows whose masks have no broken part."""
    broken_rows = owner.filter(broken).unique()
    return sound_rows(table, rows, pl.int_range(rows.height, eager=True).is_in(broken_rows.implode()), problem, remedy)

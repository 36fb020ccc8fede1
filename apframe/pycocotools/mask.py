"""`pycocotools.mask` 2.0.11: the same functions, arguments, types and values, to the last bit.

Run lengths (`rleObjs`) are dicts of `size`, [height, width], and `counts`, COCO's text as bytes or a string. Invalid
encodings are errors here, while the reference reads beyond its memory or returns meaningless numbers; so are masks of
different sizes where one size is required. Empty runs in the middle of an encoding, which `encode` never writes, are
ignored. Boxes may be lists or arrays of any memory order, which the reference documents but does not accept everywhere.
"""

# ruff: noqa: N802, N803 - the names are those of the reference
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from apframe.adapters.arrays import refuse_items
from apframe.exceptions import ParameterError, RowError
from apframe.pycocotools.mask_sizes import compare_masks
from apframe.similarity.box_iou import BoxIoU
from apframe.tables.column_sources import kind_of
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.mask_columns import LARGEST, REMEDIES
from apframe.tables.shapes.mask_limits import MOST_PIXELS, MOST_SIDE
from apframe.tables.shapes.pixel_runs import Fault, Runs, in_at_least, to_bitmaps
from apframe.tables.shapes.polygons import rasterise
from apframe.tables.shapes.run_lengths import count_pixels, count_runs, from_counts, from_text, to_text
from apframe.wording import counted

Encoding = dict[str, Any]
_AGAIN = "encode these masks again"
_refuse = partial(refuse_items, "masks")


def encode(bimask: Any) -> Any:
    """Encode a bitmap (height × width) as run lengths, or several (height × width × masks) as a list of them.

    Bitmaps are Booleans or unsigned bytes; pixels that are not 0 are inside.

    Raises
    ------
    ParameterError
        other dtypes or shapes

    >>> encode(np.array([[0, 1], [1, 1]], dtype=np.uint8))
    {'size': [2, 2], 'counts': b'13'}
    """
    pixels = np.asarray(bimask)
    if pixels.dtype not in (np.uint8, np.bool_) or pixels.ndim not in (2, 3):
        problem = f"{pixels.dtype} array of shape {pixels.shape}"
        raise ParameterError(f"encode: {problem}", "give uint8 or bool, height × width, or height × width × masks")
    masks = pixels if pixels.ndim == 3 else pixels[:, :, None]
    encodings = [_encoding(masks.shape[0], masks.shape[1], text) for text in to_text(*count_pixels(masks.T != 0))]
    return encodings if pixels.ndim == 3 else encodings[0]


def decode(rleObjs: Any) -> np.ndarray:
    """Decode run lengths to a bitmap, height × width, or a list to height × width × masks; uint8, columns first.

    Raises
    ------
    ParameterError, RowError
        invalid run lengths, and masks of different sizes; RowError has their positions in the list

    >>> decode({"size": [2, 2], "counts": b"13"}).tolist()
    [[0, 1], [1, 1]]
    """
    bitmaps = to_bitmaps(_of_one_size(_read(rleObjs))).T
    return bitmaps if isinstance(rleObjs, list) else bitmaps[:, :, 0]


def area(rleObjs: Any) -> Any:
    """Count the pixels, as uint32, or as an array for a list.

    Raises
    ------
    ParameterError, RowError
        invalid run lengths

    >>> int(area({"size": [2, 2], "counts": b"13"}))
    3
    """
    areas = _read(rleObjs).area.astype(np.uint32)
    return areas if isinstance(rleObjs, list) else areas[0]


def toBbox(rleObjs: Any) -> np.ndarray:
    """Return the box around the pixels: x, y, width, height as doubles, zeros without pixels; rows for a list.

    Raises
    ------
    ParameterError, RowError
        invalid run lengths

    >>> toBbox([{"size": [2, 2], "counts": b"13"}]).tolist()
    [[0.0, 0.0, 2.0, 2.0]]
    """
    boxes = _boxes_around(_read(rleObjs))
    return boxes if isinstance(rleObjs, list) else boxes[0]


def measure(rleObjs: list[Encoding]) -> tuple[np.ndarray, np.ndarray]:
    """Return `area` and `toBbox` of a list of run lengths, which are decoded only once.

    Raises
    ------
    ParameterError, RowError
        invalid run lengths

    >>> [array.tolist() for array in measure([{"size": [2, 2], "counts": b"13"}])]
    [[3], [[0.0, 0.0, 2.0, 2.0]]]
    """
    masks = _read(rleObjs)
    return masks.area.astype(np.uint32), _boxes_around(masks)


def merge(rleObjs: Sequence[Encoding], intersect: bool | int = 0) -> Encoding:
    """Return the union of masks, or their intersection.

    A single mask is returned unchanged; an empty list gives size [0, 0] and no counts.

    Raises
    ------
    ParameterError, RowError
        invalid run lengths, and masks of different sizes; RowError has their positions in the list

    >>> merge([{"size": [2, 2], "counts": b"13"}, {"size": [2, 2], "counts": b"04"}], intersect=True)
    {'size': [2, 2], 'counts': b'13'}
    """
    if not isinstance(rleObjs, Sequence):
        raise ParameterError(f"merge: must be a list of run lengths, not {kind_of(rleObjs)}")
    masks = _of_one_size(_read(list(rleObjs)))
    if len(masks) == 0:
        return {"size": [0, 0], "counts": b""}
    if len(masks) == 1:
        return _encoding(masks.height[0], masks.width[0], _as_bytes(rleObjs[0]["counts"]))
    return _encodings(in_at_least(masks, len(masks) if intersect else 1))[0]


def iou(dt: Any, gt: Any, pyiscrowd: Any) -> Any:
    """Compute the IoU of each detection with each annotation, run lengths or boxes; detections × annotations, columns first.

    For crowds, flagged in `pyiscrowd`, the intersection is divided by the detection's own area. The result is an empty list
    without detections or annotations. Two masks of different sizes have -1 if their boxes overlap.

    Raises
    ------
    ParameterError, RowError
        neither run lengths nor boxes of [x, y, width, height] on both sides, or a wrong number of flags

    >>> iou([[0, 0, 2, 2]], [[1, 0, 2, 2], [0, 0, 9, 9]], [0, 1]).round(3).tolist()
    [[0.333, 1.0]]
    """
    if len(pyiscrowd) != len(gt):
        raise ParameterError(
            f"iou: pyiscrowd has {counted(len(pyiscrowd), 'flag')} for {counted(len(gt), 'annotation')}", "give one for each"
        )
    if not len(dt) or not len(gt):
        return []
    are_masks = [isinstance(side, list) and all(isinstance(each, dict) for each in side) for side in (dt, gt)]
    if all(are_masks):
        return mask_ious([(dt, gt, pyiscrowd)])[0]
    if any(are_masks):
        raise ParameterError("iou: one side has run lengths and the other boxes", "give the same kind on both sides")
    crowd = np.asarray(pyiscrowd).astype(bool).ravel()
    detections, annotations = (pl.DataFrame(_boxes("iou", side), schema=BOX).with_columns(cell=0) for side in (dt, gt))
    pairs = BoxIoU().pair(detections, annotations.with_columns(is_crowd=crowd), 0.0)
    similarity = np.zeros((len(dt), len(gt)), order="F")
    similarity[pairs["detection"].to_numpy(), pairs["annotation"].to_numpy()] = pairs["similarity"].to_numpy()
    return similarity


def mask_ious(cells: Sequence[tuple[Sequence[Encoding], Sequence[Encoding], Sequence[Any]]]) -> list[np.ndarray]:
    """Compute `iou` of the run lengths of many cells, each with detections, annotations and flags of crowds.

    All are decoded and compared at once, which is much faster than cell by cell for small cells.

    Raises
    ------
    ParameterError, RowError
        invalid run lengths; RowError has the positions in one list of all cells' masks

    >>> square, all_of_it = {"size": [2, 2], "counts": b"13"}, {"size": [2, 2], "counts": b"04"}
    >>> [array.tolist() for array in mask_ious([([square], [all_of_it], [0]), ([square], [square, all_of_it], [0, 1])])]
    [[[0.75]], [[1.0, 1.0]]]
    """
    masks = _read([encoding for detections, annotations, _ in cells for encoding in (*detections, *annotations)])
    flags = np.array([flag for detections, _, crowd in cells for flag in (*(0 for _ in detections), *crowd)], dtype=bool)
    n_found, n_expected = np.array([(len(detections), len(annotations)) for detections, annotations, _ in cells]).T
    stop, n_pairs = np.cumsum(n_found + n_expected), np.cumsum(n_found * n_expected)
    cell = np.repeat(np.arange(len(cells)), n_found * n_expected)
    number = np.arange(len(cell)) - (n_pairs - n_found * n_expected)[cell]
    right = (stop - n_expected)[cell] + number // n_found[cell]
    left = (stop - n_expected - n_found)[cell] + number % n_found[cell]
    similarity = compare_masks(masks, left, right, flags[right])
    parts, shapes = np.split(similarity, n_pairs[:-1]), zip(n_expected, n_found, strict=True)
    return [part.reshape(shape).T for part, shape in zip(parts, shapes, strict=True)]


def frPyObjects(pyobj: Any, h: int, w: int) -> Any:
    """Convert polygons, boxes, or dicts with plain counts to run lengths; a list of them, or one for a single object.

    An array, or a list whose first item has four numbers, contains boxes of [x, y, width, height]; a list with longer items
    contains polygons [x1, y1, x2, y2, ...]. Dicts have their own `size`. Parts outside the image of h × w pixels are cut off.

    Raises
    ------
    ParameterError, RowError
        anything else; RowError has the positions in the list

    >>> frPyObjects([[1, 1, 3, 1, 3, 3, 1, 3]], 4, 4)
    [{'size': [4, 4], 'counts': b'52203'}]
    """
    is_array = isinstance(pyobj, np.ndarray) and pyobj.ndim == 2
    if is_array and not len(pyobj):
        return []
    if isinstance(pyobj, dict) or (isinstance(pyobj, list) and pyobj and np.isscalar(pyobj[0])):
        return frPyObjects([pyobj], h, w)[0]
    if not is_array and not (isinstance(pyobj, list) and pyobj and hasattr(pyobj[0], "__len__")):
        raise ParameterError(f"frPyObjects: {pyobj!r:.60} is neither polygons, boxes nor run lengths with plain counts")
    if not is_array and isinstance(pyobj[0], dict):
        return _from_plain_counts(pyobj)
    n_pixels = int(h) * int(w)
    if not (0 < n_pixels <= MOST_PIXELS and 0 < int(h) <= MOST_SIDE >= int(w)):
        raise ParameterError(f"frPyObjects: an image of {h} × {w} pixels", f"give positive numbers, of {LARGEST} at most")
    if is_array or len(pyobj[0]) == 4:
        x, y, width, height = _boxes("frPyObjects", pyobj).T
        polygons = list(np.stack([x, y, x, y + height, x + width, y + height, x + width, y], axis=1))
    else:
        polygons = _polygons(pyobj)
    ones = np.ones(len(polygons), dtype=np.int64)
    return _drawn(polygons, ones, ones * int(h), ones * int(w))


def draw_objects(objects: Sequence[Sequence[Any]], height: Sequence[int], width: Sequence[int]) -> list[Encoding]:
    """Draw objects of one or more polygons each, in images of these sizes: `merge(frPyObjects(...))` of all at once.

    Raises
    ------
    ParameterError, RowError
        anything but polygons; RowError has the positions in one list of all objects' polygons

    >>> draw_objects([[[1, 1, 3, 1, 3, 3, 1, 3]]], [4], [4])
    [{'size': [4, 4], 'counts': b'52203'}]
    """
    n_polygons = np.array([len(polygons) for polygons in objects], dtype=np.int64)
    return _drawn(_polygons([each for polygons in objects for each in polygons]), n_polygons, np.array(height), np.array(width))


def _drawn(polygons: list[np.ndarray], n_polygons: np.ndarray, height: np.ndarray, width: np.ndarray) -> list[Encoding]:
    n_points = np.array([len(polygon) // 2 for polygon in polygons])
    return _encodings(_checked(rasterise(np.concatenate(polygons), n_points, n_polygons, height, width)))


def _boxes_around(masks: Runs) -> np.ndarray:
    corners = masks.box.astype(np.float64)
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)


def _polygons(polygons: Any) -> list[np.ndarray]:
    try:
        outlines = [np.asarray(polygon, dtype=np.float64) for polygon in polygons]
    except (TypeError, ValueError):
        raise ParameterError("frPyObjects: polygons are lists of numbers, [x1, y1, x2, y2, ...]") from None
    wrong = [outline.ndim != 1 or len(outline) % 2 == 1 or not len(outline) for outline in outlines]
    _refuse(wrong, "a polygon has an odd number of coordinates, or none", "polygons are [x1, y1, x2, y2, ...]")
    _refuse([not np.isfinite(outline).all() for outline in outlines], "a coordinate is not a finite number", "correct these")
    return outlines


def _boxes(function: str, boxes: Any) -> np.ndarray:
    try:
        array = np.asarray(boxes, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] != 4:
        raise ParameterError(f"{function}: boxes are lists, or rows of an array, of four numbers: x, y, width, height")
    n_finite: np.ndarray = np.isfinite(array).sum(axis=1)
    _refuse([n < 4 for n in n_finite], "a box has a number that is not finite", "correct these")
    return array


def _from_plain_counts(encodings: list[Any]) -> list[Encoding]:
    height, width = _sizes(encodings)
    try:
        parts = [np.asarray(encoding["counts"]) for encoding in encodings]
        parts = [part.astype(np.int64, casting="safe") if len(part) else np.zeros(0, dtype=np.int64) for part in parts]
    except (TypeError, ValueError):
        message = "frPyObjects: counts must be lists of whole numbers; counts as text are already run lengths"
        raise ParameterError(message) from None
    counts, n_counts = np.concatenate(parts), np.array([len(part) for part in parts])
    _checked(from_counts(counts, n_counts, height, width))
    return [_encoding(*each) for each in zip(height, width, to_text(counts, n_counts), strict=True)]


def _read(encodings: Any) -> Runs:
    """Decode the masks of one encoding or of a list."""
    encodings = encodings if isinstance(encodings, list) else [encodings]
    height, width = _sizes(encodings)
    is_text = [isinstance(encoding["counts"], (bytes, str)) for encoding in encodings]
    _refuse([not each for each in is_text], "counts are not text", "frPyObjects converts plain counts to text")
    texts = [_as_bytes(encoding["counts"]) for encoding in encodings]
    n_characters = np.array([len(text) for text in texts], dtype=np.int64)
    return _checked(from_text(np.frombuffer(b"".join(texts), dtype=np.uint8), n_characters, height, width))


def _sizes(encodings: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    wrong = [not isinstance(each, dict) or not {"size", "counts"} <= each.keys() for each in encodings]
    _refuse(wrong, "the mask is not a dict of size and counts", "encode converts bitmaps to these")
    try:
        sizes = np.array([list(each["size"]) for each in encodings]).reshape(-1, 2) if encodings else np.zeros((0, 2))
        if sizes.dtype.kind not in "iuf" or (sizes != np.floor(sizes)).any():
            raise ValueError
        sizes = sizes.astype(np.int64)
    except (TypeError, ValueError):
        raise ParameterError("size of run lengths must be [height, width]", "give two whole numbers for each mask") from None
    beyond = (sizes < 0).any(axis=1) | (sizes > MOST_SIDE).any(axis=1) | (sizes.prod(axis=1, dtype=np.float64) > MOST_PIXELS)
    _refuse(beyond.tolist(), f"size is negative, or more than {LARGEST}", "size is [height, width]")
    return sizes[:, 0], sizes[:, 1]


def _checked(masks: Runs | Fault) -> Runs:
    if not isinstance(masks, Runs):
        raise RowError("masks", masks[0], "index", masks[1].tolist(), REMEDIES.get(masks[0], _AGAIN))
    return masks


def _of_one_size(masks: Runs) -> Runs:
    sizes = np.stack([masks.height, masks.width], axis=1)
    _refuse((sizes != sizes[:1]).any(axis=1).tolist(), "size differs from the first mask", "give masks of one image")
    return masks


def _encodings(masks: Runs) -> list[Encoding]:
    return [_encoding(*each) for each in zip(masks.height, masks.width, to_text(*count_runs(masks)), strict=True)]


def _encoding(height: int, width: int, text: bytes) -> Encoding:
    return {"size": [int(height), int(width)], "counts": text}


def _as_bytes(counts: bytes | str) -> bytes:
    return counts.encode() if isinstance(counts, str) else counts

"""Arrays or tensors of several images as columns: the common part of all adapters.

The objects of an image are a mapping of names to arrays, as torchvision has it: `boxes` (n × 4), `labels`, `scores`, `masks`
(n × height × width), `keypoints` (n × points × 3) and more, a row for each object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from apframe.exceptions import ColumnError, ParameterError, RowError
from apframe.option_values import one_of
from apframe.tables.box_formats import BOX_FORMATS
from apframe.tables.canonical import canonical
from apframe.tables.column_sources import kind_of
from apframe.tables.shapes.boxes import BOX
from apframe.tables.shapes.declarations import SHAPES as EVERY_SHAPE
from apframe.tables.shapes.run_lengths import count_pixels, to_text
from apframe.wording import counted, listed

Item = Mapping[str, Any]
_ARRAYS = {shape.iou_type: shape.array for shape in EVERY_SHAPE if shape.array is not None}
SHAPES = {iou_type: name for iou_type, (name, _) in _ARRAYS.items()}
"""Array names of an image by `iou_type`."""
_MASK = pl.Struct({"size": pl.List(pl.Int64), "counts": pl.String})
# dimensions after the first; a word where any number is accepted
_DIMENSIONS: dict[str, tuple[int | str, ...]] = {
    "labels": (), "scores": (), "area": (), "iscrowd": (), **dict(_ARRAYS.values()),
}  # fmt: skip
OF_ROWS = ("image_id", *BOX, "score", "category_id")
"""The columns of an array of results."""
_DEFAULTS = {"area": np.nan, "iscrowd": 0}  # for images without the array, if other images have it


def as_array(values: Any) -> np.ndarray:
    """Return an array from an array, a list, or tensors of any device and type, without importing their library.

    >>> as_array([1, 2]).tolist()
    [1, 2]
    """
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        try:
            return np.asarray(tensor.numpy())
        except TypeError:  # a type that NumPy lacks, such as bfloat16; all of these are exact in 32 bits
            return np.asarray(tensor.float().numpy())
    if isinstance(values, (list, tuple)) and any(hasattr(each, "detach") for each in values):
        values = [as_array(each) for each in values]
    return np.asarray(values)


def tabulate(
    source: str,
    items: Sequence[Item],
    image_ids: Sequence[int | str],
    required: Sequence[str],
    *,
    optional: Sequence[str] = (),
    box_format: str = "xyxy",
) -> pl.DataFrame:
    """Return the objects of all images, in order: image_id, and the columns of the arrays.

    Parameters
    ----------
    source
        name of the items in errors
    items
        the arrays of the objects of each image: `labels`, and others that may be missing for an image without objects
    image_ids
        the image id of each item, see `check_ids`
    required, optional
        the arrays that every item requires beside labels; and the arrays that all items must have, or none, except `area` (then
        null elsewhere) and `iscrowd`, which some may have. Others are left out
    box_format
        the four numbers of a box: two corners, a corner and the size, or the centre and the size

    Returns
    -------
    image_id, then for labels category_id, for scores score, for boxes x, y, width, height (computed in the type of the array,
    as the box_convert of torchvision does), for masks mask (run lengths; of numbers with a fraction, pixels above 0.5 are
    inside), keypoints, corners, area, and is_crowd for iscrowd

    Raises
    ------
    ParameterError
        an unknown box_format
    RowError
        arrays that are missing or have other shapes or numbers of rows, and invalid values; `rows` are the positions of their
        images in the list, from 0

    >>> one = {"boxes": [[1.0, 2.0, 4.0, 4.0]], "labels": [7]}
    >>> tabulate("outputs", [one], [5], ["boxes"]).rows()
    [(5, 7, 1.0, 2.0, 3.0, 2.0)]
    """
    one_of("box_format", box_format, BOX_FORMATS)
    foreign = [not isinstance(item, Mapping) for item in items]
    kind = next((kind_of(item) for item in items if not isinstance(item, Mapping)), "")
    refuse_items(source, foreign, "the item is not a dict", f"give one for each image, not {kind}")
    refuse_items(source, [item.get("labels") is None for item in items], "labels is missing", "give labels for each image")
    used = [name for name in optional if any(item.get(name) is not None for item in items)]
    arrays = {name: _rows_of(source, items, name) for name in ("labels", *required, *used)}
    n_rows = [len(rows) for rows in arrays["labels"]]
    for name in arrays:
        is_missing = [item.get(name) is None for item in items]
        if name in _DEFAULTS:
            filled = zip(arrays[name], is_missing, n_rows, strict=True)
            arrays[name] = [np.full(n, _DEFAULTS[name]) if missing else rows for rows, missing, n in filled]
        differs = [len(rows) != n for rows, n in zip(arrays[name], n_rows, strict=True)]
        without = [is_wrong and missing for is_wrong, missing in zip(differs, is_missing, strict=True)]
        remedy = "each image" if name in required else "all images, or for none"
        refuse_items(source, without, f"{name} is missing", f"give {name} for {remedy}")
        refuse_items(source, differs, f"{name} and labels differ in length", "give one row per object")
    owner = np.repeat(np.arange(len(items)), n_rows)
    columns = [pl.Series("image_id", image_ids, strict=False).gather(owner)]
    for name, rows in arrays.items():
        columns += _COLUMNS.get(name, _flat)(_ArrayGroup(source, name, rows, owner, box_format))
    return pl.DataFrame(columns)


def tabulate_detections(
    source: str, items: Sequence[Item], image_ids: Sequence[int | str], iou_type: str | None, box_format: str = "xyxy"
) -> pl.DataFrame:
    """Tabulate detections, with all their shapes or only the one that an `iou_type` compares; see `tabulate`.

    >>> tabulate_detections("outputs", [{"boxes": [[0, 0, 1, 1]], "labels": [7], "scores": [0.5]}], [5], "bbox")["score"].item()
    0.5
    """
    if iou_type is not None and iou_type not in SHAPES:
        raise ParameterError(f"must be one of {', '.join(SHAPES)}, or None for all, not {iou_type!r}", option="iou_type")
    used = [name for name in SHAPES.values() if any(isinstance(item, Mapping) and name in item for item in items)]
    first, *others = [SHAPES[iou_type]] if iou_type is not None else used or ["boxes"]
    return tabulate(source, items, image_ids, [first, "scores"], optional=others, box_format=box_format)


def tabulate_rows(array: Any) -> pl.DataFrame:
    """Return detections from an array or a tensor with a row for each, as `loadRes` of pycocotools accepts it.

    Parameters
    ----------
    array
        n × 7 numbers: image_id, x, y, width, height, score, category_id

    Raises
    ------
    ColumnError
        an array of another shape
    RowError
        ids that are not whole numbers, or too large for the array's type to hold all neighbouring whole numbers; `rows` from 1

    >>> tabulate_rows(np.array([[42, 10, 10, 20, 10, 0.75, 3]])).rows()
    [(42, 10.0, 10.0, 20.0, 10.0, 0.75, 3)]
    """
    rows = as_array(array)
    if rows.ndim != 2 or rows.shape[1] != len(OF_ROWS) or rows.dtype.kind not in "iuf":
        shape = " × ".join(map(str, rows.shape)) or "()"
        remedy = f"give seven columns of numbers: {', '.join(OF_ROWS)}"
        raise ColumnError(f"an array of shape {shape} and type {rows.dtype} does not hold results", remedy, table="detections")
    is_float = rows.dtype.kind == "f"
    limit = min(2.0 ** (np.finfo(rows.dtype).nmant + 1), 2.0**63) if is_float else 2.0**63
    columns = dict(zip(OF_ROWS, rows.T, strict=True))
    for name in ("image_id", "category_id"):
        ids = columns[name]
        wrong = {"is not a whole number": ids != np.floor(ids), f"is too large for {rows.dtype}": np.abs(ids) >= limit}
        for problem, flags in wrong.items():
            if flags.any():
                remedy = "give ids as whole numbers of 64 bits" if is_float else "give other ids"
                raise RowError("detections", f"{name} {problem}", "row", (np.flatnonzero(flags) + 1).tolist(), remedy)
    ids = {"image_id", "category_id"}
    return pl.DataFrame({name: values.astype(np.int64 if name in ids else np.float64) for name, values in columns.items()})


def canonical_batch(frame: pl.DataFrame) -> pl.DataFrame:
    """Return canonical detections without detection_id, so that frames of several batches can be joined and numbered then.

    >>> canonical_batch(pl.DataFrame({"image_id": [1], "category_id": [7], "score": [0.5], "mask": [[[0, 1]]]})).columns[:3]
    ['image_id', 'category_id', 'score']
    """
    return canonical("detections", frame).drop("detection_id")


def by_image(source: str, items: Any, image_ids: Any) -> tuple[list[Any], Any]:
    """Return the items as a list, and their image ids, which are the keys of a mapping.

    >>> by_image("outputs", {42: "an output"}, None)
    (['an output'], [42])
    """
    if not isinstance(items, Mapping):
        return list(items), image_ids
    if image_ids is not None:
        raise ParameterError(f"image_ids were given, but the {source} are a mapping with its own", option=source)
    return list(items.values()), list(items)


def check_ids(source: str, n: int | None, image_ids: Any) -> list[int | str]:
    """Return the ids of n images, or of any number if n is None; tensors of one number become numbers.

    Raises
    ------
    ParameterError
        the ids are not a list, are not n, or are not all integers or all strings; or an id occurs twice

    >>> check_ids("outputs", 2, [np.array([7]), 8])
    [7, 8]
    """
    if image_ids is None:
        raise ParameterError("no image_ids", f"give one per image, or a mapping from image ids to {source}", option=source)
    if isinstance(image_ids, str) or not hasattr(image_ids, "__iter__") or getattr(image_ids, "ndim", 1) == 0:
        raise ParameterError(
            f"image_ids is not a list but {kind_of(image_ids)}", "put a single id in a list: [22]", option=source
        )
    ids = [as_array(each).item() if hasattr(each, "item") else each for each in image_ids]
    if n is not None and len(ids) != n:
        raise ParameterError(f"{source}: {counted(n, 'item')}, but {counted(len(ids), 'image id')}", "give one for each")
    kinds = {type(each) for each in ids}
    if not (kinds <= {int} or kinds <= {str}):
        raise ParameterError(f"{source}: image ids must be all integers or all strings, not {listed(ids)}")
    if len(set(ids)) < len(ids):
        doubled = pl.Series(ids).is_duplicated()
        which = listed(pl.Series(ids).filter(doubled).unique(maintain_order=True).to_list())
        places = listed(doubled.arg_true().to_list())
        raise ParameterError(f"{source}: image ids {which} are given more than once, at {places}", "give each image only once")
    return ids


def column_of_ids(image_ids: Sequence[int | str]) -> pl.Series:
    """Return the ids as the column `image_id`.

    >>> column_of_ids([]).dtype
    Int64
    """
    return pl.Series("image_id", image_ids, dtype=None if image_ids else pl.Int64)


def refuse_items(source: str, wrong: Sequence[bool], problem: str, remedy: str) -> None:
    """Raise an error that names the positions of the flagged items in the list, from 0.

    >>> refuse_items("outputs", [False, True], "boxes is missing", "give boxes for each image")
    Traceback (most recent call last):
    apframe.exceptions.RowError: outputs: boxes is missing for index 1; give boxes for each image
    """
    if any(wrong):
        raise RowError(source, problem, "index", [place for place, is_wrong in enumerate(wrong) if is_wrong], remedy)


@dataclass(frozen=True, eq=False)
class _ArrayGroup:
    """The arrays of one name for all images; `owner` has the position of the image of each row."""

    source: str
    name: str
    arrays: list[np.ndarray]
    owner: np.ndarray
    box_format: str

    @property
    def rows(self) -> np.ndarray:
        """The arrays of all objects, concatenated."""
        filled = [array for array in self.arrays if len(array)]
        return np.concatenate(filled) if filled else _nothing(self.name)

    def refuse(self, broken: np.ndarray, problem: str, remedy: str = "correct these") -> None:
        """Raise an error that names the positions of the images with a broken row."""
        flags = broken.reshape(len(self.owner), int(np.prod(broken.shape[1:]))).any(axis=1)
        places = np.unique(self.owner[flags])
        if len(places):
            raise RowError(self.source, f"{self.name}: {problem}", "index", places.tolist(), remedy)

    def numbers(self) -> np.ndarray:
        """Return the rows as doubles, which must be finite."""
        rows = self.rows.astype(np.float64)
        self.refuse(~np.isfinite(rows), "a number is not finite")
        return rows


def _rows_of(source: str, items: Sequence[Item], name: str) -> list[np.ndarray]:
    """Return one array for each image, without rows if the image lacks it."""
    tail, nothing = _DIMENSIONS[name], _nothing(name)
    arrays = [nothing if item.get(name) is None else _or_broken(item[name]) for item in items]
    if name == "masks":  # drop an axis of one channel
        arrays = [array[:, 0] if array.ndim == 4 and array.shape[1] == 1 else array for array in arrays]
    arrays = [nothing if array.shape == (0,) else array for array in arrays]
    wrong = [
        array.ndim != nothing.ndim
        or array.dtype.kind not in "biuf"
        or (len(array) > 0 and any(isinstance(n, int) and n != m for n, m in zip(tail, array.shape[1:], strict=True)))
        for array in arrays
    ]
    expected = " × ".join(["n", *map(str, tail)])
    refuse_items(source, wrong, f"{name} is not an array of numbers of shape {expected}", "correct these")
    return arrays


def _nothing(name: str) -> np.ndarray:
    return np.zeros((0, *(n if isinstance(n, int) else 0 for n in _DIMENSIONS[name])))


def _or_broken(values: Any) -> np.ndarray:
    """Return the array, or one that is rejected later if none can be made, as from lists of different lengths."""
    try:
        return as_array(values)
    except (TypeError, ValueError, RuntimeError):  # tensors raise the last one
        return np.array(None)


def _boxes(part: _ArrayGroup) -> list[pl.Series]:
    rows = part.rows
    first, second = np.split(rows if rows.dtype.kind == "f" else rows.astype(np.float64), 2, axis=1)
    if part.box_format == "cxcywh":
        first, second = first - second / 2, first + second / 2
    size = second if part.box_format == "xywh" else second - first
    box = np.concatenate([first, size], axis=1).astype(np.float64)
    part.refuse(~np.isfinite(box), "a number is not finite")
    part.refuse(size < 0, "a width or height is negative", f'they were read as box_format="{part.box_format}"')
    return [pl.Series(name, np.ascontiguousarray(values)) for name, values in zip(BOX, box.T, strict=True)]


def _labels(part: _ArrayGroup) -> list[pl.Series]:
    rows = part.rows
    if rows.dtype.kind == "f":
        part.refuse(~np.isfinite(rows) | (rows != np.floor(rows)), "not whole numbers")
    return [pl.Series("category_id", rows.astype(np.int64))]


def _masks(part: _ArrayGroup) -> list[pl.Series]:
    texts, sizes = [], []
    for array in part.arrays:
        if len(array):
            inside = array > 0.5 if array.dtype.kind == "f" else array != 0
            texts += to_text(*count_pixels(inside.transpose(0, 2, 1)))
            sizes += [array.shape[1:]] * len(array)
    return [mask_column(np.array(sizes, dtype=np.int64).reshape(-1, 2), texts)]


def mask_column(sizes: np.ndarray, texts: list[bytes]) -> pl.Series:
    """Return the column `mask` from COCO's compressed counts and the sizes, (n, 2), height first.

    >>> mask_column(np.array([[2, 2]]), [b"13"]).to_list()
    [{'size': [2, 2], 'counts': '13'}]
    """
    counts = pl.Series("counts", texts, dtype=pl.Binary).cast(pl.String)
    size = pl.Series("size", sizes, dtype=pl.Array(pl.Int64, 2)).arr.to_list()
    return pl.DataFrame([size, counts]).to_struct("mask").cast(_MASK)


def _flat(part: _ArrayGroup) -> list[pl.Series]:
    """Return the points of each object as one list of numbers."""
    shapes = [array.shape[1] if len(array) else 0 for array in part.arrays]
    n_points = max(shapes, default=0)
    refuse_items(
        part.source, [n not in (0, n_points) for n in shapes], f"{part.name}: fewer points than in other images", "give as many"
    )
    rows = part.numbers()
    values = rows.reshape(len(rows), int(np.prod(rows.shape[1:])))
    return [pl.Series(part.name, values, dtype=pl.Array(pl.Float64, values.shape[1])).arr.to_list()]


_COLUMNS: dict[str, Callable[[_ArrayGroup], list[pl.Series]]] = {
    "boxes": _boxes, "labels": _labels, "scores": lambda part: [pl.Series("score", part.numbers())], "masks": _masks,
    "area": lambda part: [pl.Series("area", part.rows.astype(np.float64)).fill_nan(None)],
    "iscrowd": lambda part: [pl.Series("is_crowd", part.rows != 0)],
}  # fmt: skip

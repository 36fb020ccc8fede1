"""Label maps: image files with the number of a segment in each pixel, read and compared one image at a time."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from apframe.exceptions import FormatError, import_optional
from apframe.paths import is_file
from apframe.tables.shapes.boundaries import boundary_width
from apframe.threads import map_parts
from apframe.wording import counted, listed, reason

_COLORS = ("RGB", "RGBA", "RGBX")
_START_OF_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_HEAD = struct.Struct(f">{len(_START_OF_PNG)}sIIBB")  # head of a PNG: width, height, bits of a channel, type of color
_CHANNELS = {0: 1, 2: 3, 6: 4}  # number of channels of each type of color without a palette
_LARGEST = 1 << 26  # largest number of pixels that is read without Pillow, which rejects larger images
INNER = 1 << 24
"""The number for the inner part of any segment if boundaries are compared."""
_STEP = 2 * INNER  # factor of the first of two numbers that are packed into one


def _read_pixels(path: str | Path) -> np.ndarray:
    """Return the pixels of a label map, of shape (height, width, channels): one channel of numbers, or 3 or 4 of color."""
    if not is_file(path):  # a pipe or a device is an error of its own
        raise FormatError("there is no such label map", path=path)
    pixels = _by_imagecodecs(path)
    if pixels is not None:
        return pixels
    pillow = import_optional("PIL.Image", "Pillow is needed to read label maps", "pillow", "images")
    try:
        with pillow.open(path) as image:
            return _by_pillow(image, path)
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"cannot be read as an image ({reason(error)})", "replace the file", path=path) from error


def _by_imagecodecs(path: str | Path) -> np.ndarray | None:
    """Decode a PNG with 8 bits a channel with imagecodecs, which takes a third of the time of Pillow.

    Return None if imagecodecs is not installed, or for any other file, including damaged ones, which Pillow explains.
    """
    with suppress(ImportError, OSError, RuntimeError, ValueError), Path(path).open("rb") as file:
        from imagecodecs import spng_decode

        head = file.read(_HEAD.size)
        if len(head) == _HEAD.size:
            start, width, height, bits, color = _HEAD.unpack(head)
            if start == _START_OF_PNG and bits == 8 and color in _CHANNELS and width * height <= _LARGEST:
                pixels: np.ndarray = spng_decode(head + file.read()).reshape(height, width, -1)
                return pixels if pixels.shape[-1] == _CHANNELS[color] else None
    return None


def _by_pillow(image: Any, path: str | Path) -> np.ndarray:
    if image.mode in _COLORS:
        four = image.tobytes("raw", "RGBX" if image.mode == "RGB" else image.mode)
        return np.frombuffer(four, dtype=np.uint8).reshape(*image.size[::-1], 4)
    values = np.asarray(image)
    if image.mode == "1" or values.ndim != 2 or values.dtype.kind not in "ui" or (values.size and values.min() < 0):
        raise FormatError(f"has pixels of the kind {image.mode}", "a label map has colors or whole numbers", path=path)
    if values.size and values.max() >= INNER:
        raise FormatError(f"has the number {values.max()}", "numbers of segments are below 2^24", path=path)
    return values[..., None]


def _numbers(pixels: np.ndarray) -> np.ndarray:
    """Return the numbers of pixels, whose channels are the last axis.

    A color is R + 256 G + 65536 B, whatever its fourth channel. A single channel has numbers or palette indices.

    Source: `rgb2id` of panopticapi.
    """
    numbers: np.ndarray = pixels[..., 0].astype(np.uint32)
    for place in (1, 2) if pixels.shape[-1] > 1 else ():
        numbers += pixels[..., place].astype(np.uint32) << np.uint32(8 * place)
    return numbers


def count_labels(paths: Sequence[str]) -> pl.DataFrame:
    """Count the pixels of each number in each label map, and return the size of the map.

    Columns: image (its position among the paths), segment_id, pixels, image_height, image_width; by image and number. The
    label maps are read in parallel, and each is released before the next one.

    Raises
    ------
    ParameterError
        Pillow is not installed
    FormatError
        a file cannot be read as an image, or has another kind of pixels
    """

    def count(path: str) -> list[np.ndarray]:
        pixels = _read_pixels(path)
        number, n_pixels = _count(pixels)
        return [number, n_pixels, *(np.full(len(number), n) for n in pixels.shape[:2])]

    return _tabulate(["segment_id", "pixels", "image_height", "image_width"], map_parts(count, paths))


def share_pixels(annotated: Sequence[str], detected: Sequence[str], dilation: float | None = None) -> pl.DataFrame:
    """Count the pixels that the segments of two label maps of each image share.

    Parameters
    ----------
    annotated, detected
        the paths of the label maps with annotated and with detected segments, one of each for every image
    dilation
        compare inner boundaries: a pixel of a segment that is further from other numbers and from the edge of the image than
        this fraction of the diagonal, rounded and at least 1, has `INNER` in place of its number. The distance is the larger
        one of x and y

    Returns
    -------
    image (its position among the paths), annotated and detected (numbers of the label maps), and pixels: a row for each pair
    of numbers that share pixels; by image and numbers.

    Raises
    ------
    FormatError
        a label map that cannot be read, or two of different sizes
    """

    def count(pair: tuple[str, str]) -> list[np.ndarray]:
        maps = [_read_pixels(path) for path in pair]
        if maps[0].shape[:2] != maps[1].shape[:2]:
            sizes = [f"{width} x {height}" for height, width in (each.shape[:2] for each in maps)]
            problem = f"is {sizes[1]} pixels, but the annotated one is {sizes[0]} ({pair[0]})"
            raise FormatError(problem, "give label maps of the same size, without scaling", path=pair[1])
        if dilation is not None:
            maps = [outlined(_numbers(each), dilation)[..., None] for each in maps]
        both, pixels = _count(*maps)
        return [both // _STEP, both % _STEP, pixels]

    return _tabulate(["annotated", "detected", "pixels"], map_parts(count, list(zip(annotated, detected, strict=True))))


def refuse_unlisted(shared: pl.DataFrame, rows: pl.DataFrame, maps: pl.DataFrame) -> None:
    """Raise an error if a detected label map has a number that is not among the rows.

    Parameters
    ----------
    shared
        image, segment_id (a number of the detected label map, 0 for none)
    rows
        image, segment_id of the detections
    maps
        image_id and label_map, by the number of the image
    """
    key = ["image", "segment_id"]
    unlisted = shared.filter(pl.col("segment_id") > 0).unique(key).join(rows, on=key, how="anti").sort(key)
    if unlisted.is_empty():
        return
    image = unlisted["image"][0]
    numbers = unlisted.filter(pl.col("image") == image)["segment_id"].to_list()
    others = unlisted["image"].n_unique() - 1
    more = f", and so are some of {counted(others, 'other label map')}" if others else ""
    raise FormatError(
        f"segments {listed(numbers)} are not among those listed for image {maps['image_id'][image]}{more}",
        "list them, or give their pixels the number 0",
        path=maps["label_map"][image],
    )


def outlined(values: np.ndarray, dilation: float) -> np.ndarray:
    """Return the numbers with `INNER` inside segments: see `share_pixels`.

    Source: `mask_to_boundary` of boundary-iou-api, applied to each segment.

    >>> outlined(np.full((3, 4), 7, dtype=np.uint32), 0.02)[1].tolist()
    [7, 16777216, 16777216, 7]
    """
    height, width = values.shape
    distance = int(boundary_width(np.array(height), np.array(width), dilation))
    along = np.where(_within_runs(values, distance), values, INNER)
    within = _within_runs(np.ascontiguousarray(along.T), distance).T & (along != INNER)
    return np.where(within & (values > 0), np.uint32(INNER), values)


def _within_runs(values: np.ndarray, distance: int) -> np.ndarray:
    """Flag the pixels with at least `distance` equal pixels on either side in their row."""
    begins = np.ones(values.shape, dtype=bool)
    begins[:, 1:] = values[:, 1:] != values[:, :-1]
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], values.size)
    long = ends - starts > 2 * distance
    steps = np.zeros(values.size, dtype=np.int8)
    steps[starts[long] + distance] += 1
    steps[ends[long] - distance] -= 1
    flags: np.ndarray = np.cumsum(steps, dtype=np.int8).reshape(values.shape).astype(bool)
    return flags


def _count(*maps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the unique numbers of the pixels, ascending, and their counts; for two maps, numbers are `first * _STEP + second`.

    Runs of equal pixels are counted, which are far fewer than pixels.
    """
    flat = [each.reshape(-1, each.shape[-1]) for each in maps]
    # duplicate places begin runs without pixels
    starts = np.sort(np.concatenate([_run_starts(each) for each in flat]), kind="stable")
    numbers = np.zeros(len(starts), dtype=np.int64)
    for each in flat:
        numbers = numbers * _STEP + _numbers(each[starts])
    number, place = np.unique(numbers, return_inverse=True)
    return number, np.bincount(place, np.diff(starts, append=len(flat[0])), minlength=len(number)).astype(np.int64)


def _run_starts(pixels: np.ndarray) -> np.ndarray:
    """Return the places of the first pixel and of pixels that differ from the one before; with duplicates."""
    n_channels = pixels.shape[1]
    values = pixels.reshape(-1)  # comparing channels one by one takes far longer
    changes = np.flatnonzero(values[n_channels:] != values[:-n_channels]) // n_channels + 1
    return np.append(np.zeros(min(len(pixels), 1), dtype=np.int64), changes)


def _tabulate(names: Sequence[str], counted: Sequence[Sequence[np.ndarray]]) -> pl.DataFrame:
    """Return a frame with the image, and the rows of each image, which are given by column."""
    columns = {name: [np.zeros(0, dtype=np.int64), *(of[k] for of in counted)] for k, name in enumerate(names)}
    image = np.repeat(np.arange(len(counted)), [len(of[0]) for of in counted])
    joined = {name: np.concatenate([each.astype(np.int64) for each in values]) for name, values in columns.items()}
    return pl.DataFrame({"image": image.astype(np.uint32), **joined})

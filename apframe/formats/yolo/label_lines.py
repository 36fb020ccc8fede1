"""Lines of YOLO text: boxes, polygons and boxes with keypoints, from fractions of the image to pixels and back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from apframe.formats.image_names import image_ids
from apframe.formats.image_sizes import FARTHEST, NEAREST, refuse_far, with_sizes_to_write
from apframe.formats.path_contents import is_number
from apframe.formats.polygon_columns import repeated, single_polygons
from apframe.formats.text_lines import Lines
from apframe.tables.dataset import Dataset
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX

_N_BOX = 1 + len(BOX)  # fields of a line with a box: the class, and the box
_N_POLYGON = 1 + 2 * 3  # fields of the shortest line with a polygon
_KEYPOINT = 3  # numbers of a keypoint: x, y, visibility


def is_result(fields: list[str]) -> bool:
    """Return True if a line has a class, a box, a polygon or more in fractions of the image, and a score.

    >>> is_result(["0", ".5", ".5", ".1", ".2", ".9"]), is_result(["0", "320", "240", "64", "48", ".9"])
    (True, False)
    """
    if len(fields) <= _N_BOX or len(fields) == _N_POLYGON or not is_number(fields[-1]):
        return False
    return 0 <= float(fields[-1]) <= 1 and _are_fractions(fields[:-1])


def is_annotation(fields: list[str]) -> bool:
    """Return True if a line has a class, and a box or a polygon in fractions of the image.

    >>> is_annotation(["0", ".5", ".5", ".1", ".2"]), is_annotation(["0", ".5", ".5", ".1", ".2", ".9"])
    (True, False)
    """
    is_polygon = len(fields) >= _N_POLYGON and len(fields) % 2 == 1
    return (len(fields) == _N_BOX or is_polygon) and _are_fractions(fields)


def _are_fractions(fields: list[str]) -> bool:
    """Return True for a class followed by numbers that can be fractions of the image."""
    if not all(map(is_number, fields)):
        return False
    category, *fractions = map(float, fields)
    return category >= 0 and category.is_integer() and all(NEAREST <= each <= FARTHEST for each in fractions)


def keypoints_of_results(n_fields: int, n_keypoints: int | None) -> tuple[int, int] | None:
    """Return the number of keypoints in lines of results, and of numbers for each; None for lines without keypoints.

    The line alone is ambiguous: it has keypoints if its length fits the number of keypoints in the data set.

    >>> keypoints_of_results(1 + 4 + 17 * 3 + 1, 17), keypoints_of_results(6, 17)
    ((17, 3), None)
    """
    fitting = (n for n in (_KEYPOINT, 2) if n_keypoints and n_fields == _N_BOX + n_keypoints * n + 1)
    return next(((n_keypoints, n) for n in fitting if n_keypoints), None)


def read_numbers(
    paths: Sequence[Path],
    keypoints: tuple[int, int] | None,
    *,
    has_score: bool,
    classes: Collection[int] | None = None,
    unknown: tuple[str, str] = ("", ""),
) -> pl.DataFrame:
    """Read the lines of label files: `file`, `line`, `image_id`, `category_id`, `fractions`, and `score` if `has_score`.

    `keypoints` are their number, and the number of values for each. Lines are rejected, see `Lines`, if they have another
    number of fields, text, numbers that cannot be fractions, or a class that is not in `classes`; `unknown` is the problem and
    the remedy for such classes.
    """
    lines = Lines("detections" if has_score else "annotations", paths)
    ids = image_ids(paths).gather(lines.frame["file"])
    return numbers_of(lines, ids, keypoints, has_score=has_score, classes=classes, unknown=unknown)


def numbers_of(
    lines: Lines,
    ids: pl.Series,
    keypoints: tuple[int, int] | None,
    *,
    has_score: bool,
    classes: Collection[int] | None = None,
    unknown: tuple[str, str] = ("", ""),
) -> pl.DataFrame:
    """Return the numbers of lines like `read_numbers`, for fields that are texts or numbers, with the `image_id` of each."""
    numbers = lines.frame["fields"].list.eval(pl.element().cast(pl.Float64, strict=False))
    broken = numbers.list.eval(~pl.element().is_finite().fill_null(False)).list.any()
    lines.refuse_or_stop(broken, "not all fields are finite numbers")
    n_fields = numbers.list.len().cast(pl.Int64) - has_score
    score = " score" * has_score
    if keypoints is None:
        wrong = (n_fields != _N_BOX) & ((n_fields < _N_POLYGON) | (n_fields % 2 == 0))
        box = f"{_N_BOX + has_score} fields (class x y width height{score})"
        lines.refuse_or_stop(wrong, f"neither {box} nor a polygon (class x1 y1 x2 y2 ...{score}),")
    else:
        n_required = _N_BOX + keypoints[0] * keypoints[1]
        layout = f"class x y width height, {keypoints[0]} keypoints{score}"
        lines.refuse_or_stop(n_fields != n_required, f"not {n_required + has_score} fields ({layout})")
    split = lines.frame.select("file", "line", numbers.alias("numbers"), n=n_fields).select(
        "file",
        "line",
        image_id=ids,
        category_id=pl.col("numbers").list.first(),
        fractions=pl.col("numbers").list.slice(1, pl.col("n") - 1),
        **{"score": pl.col("numbers").list.last()} if has_score else {},
    )
    category_id, coordinates = split["category_id"], _coordinates(split["fractions"], keypoints)
    wrong = (category_id < 0) | (category_id != category_id.floor()) | (category_id >= 2**53)
    lines.refuse(wrong, "class is not a whole number from 0")
    sides = numbers.list.slice(3, 2)
    negative = (sides.list.min() < 0) & ((n_fields == _N_BOX) | (keypoints is not None))
    lines.refuse_malformed(negative, "width or height is negative")
    far = (coordinates.list.min() < NEAREST) | (coordinates.list.max() > FARTHEST)
    lines.refuse(far, "these look like pixels", "divide by the image size: YOLO's boxes are fractions")
    if classes is not None:
        lines.refuse(~category_id.is_in([float(number) for number in classes]), *unknown)
    return lines.sound(split).with_columns(pl.col("category_id").cast(pl.Int64))


def shapes(lines: pl.DataFrame, keypoints: tuple[int, int] | None) -> list[pl.Series]:
    """Return x, y, width, height in pixels, and `mask` or `keypoints` if any, from `fractions` and the sizes of images.

    >>> lines = pl.DataFrame({"fractions": [[0.5, 0.5, 0.1, 0.2]], "image_width": [100], "image_height": [10]})
    >>> pl.DataFrame(shapes(lines, None)).row(0)
    (45.0, 4.0, 10.0, 2.0)
    """
    fractions, width, height = pl.col("fractions"), *(pl.col(name).cast(pl.Float64) for name in SIZE)
    middle_x, middle_y, wide, high = (fractions.list.get(k) for k in range(len(BOX)))
    wide, high = wide * width, high * height
    box = {"x": middle_x * width - wide / 2, "y": middle_y * height - high / 2, "width": wide, "height": high}
    if keypoints is not None:
        parts: list[pl.Expr] = []
        for first in range(len(BOX), len(BOX) + keypoints[0] * keypoints[1], keypoints[1]):
            x, y = fractions.list.get(first), fractions.list.get(first + 1)
            is_labelled = pl.when((x < 0) | (y < 0)).then(0.0).otherwise(1.0)
            parts += [x * width, y * height, fractions.list.get(first + 2) if keypoints[1] == _KEYPOINT else is_labelled]
        return lines.select(**box, keypoints=pl.concat_list(parts)).get_columns()
    is_polygon = lines["fractions"].list.len() > len(BOX)
    if not is_polygon.any():
        return lines.select(**box).get_columns()
    polygon = pl.when(is_polygon).then(fractions * repeated([width, height], fractions.list.len()))
    extent = dict(zip(BOX, extent_of(polygon), strict=True))
    sides = {name: pl.when(is_polygon).then(extent[name]).otherwise(side) for name, side in box.items()}
    return lines.select(**sides, mask=polygon.list.eval(pl.element().implode())).get_columns()


def lines_of(table: str, frame: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Return the lines to write for annotations or detections: `name` of the file, and `text` of the line.

    Raises
    ------
    RowError
        images without a size, rows without a box, or rows too far outside their image
    """
    polygon, count = pl.col("polygon"), count_keypoints(frame)
    frame = frame.with_columns(polygons_of(table, frame))
    frame = frame.with_columns(pl.coalesce(side, side.meta.output_name()) for side in extent_of(polygon))
    frame = with_sizes_to_write(table, frame, dataset)
    x, y, wide, high, width, height = map(pl.col, (*BOX, *SIZE))
    parts = [(x + wide / 2) / width, (y + high / 2) / height, wide / width, high / height]
    if count is not None:
        unlabelled = pl.lit([0.0] * (_KEYPOINT * count))
        filled = pl.concat_list(pl.col("keypoints").fill_null([]), unlabelled).list.head(_KEYPOINT * count)
        parts.append(filled / repeated([width, height, pl.lit(1.0)], filled.list.len()))
    outline = polygon / repeated([width, height], polygon.list.len())
    fractions = frame.select(pl.when(polygon.is_null()).then(pl.concat_list(parts)).otherwise(outline)).to_series()
    refuse_far(table, frame, _coordinates(fractions, None if count is None else (count, _KEYPOINT)))
    numbers = fractions.list.eval(pl.element().cast(pl.String)).list.join(" ").alias("numbers")
    score = [pl.col("score").cast(pl.String)] if table == "detections" else []
    fields = [pl.col("category_id").cast(pl.String), numbers, *score]
    return frame.select(name="image_id", text=pl.concat_str(fields, separator=" "))


def count_keypoints(frame: pl.DataFrame) -> int | None:
    """Return the largest number of keypoints of an object; None without keypoints.

    >>> count_keypoints(pl.DataFrame({"keypoints": [None, [1.0, 2.0, 2.0]]}))
    1
    """
    if "keypoints" not in frame.columns:
        return None
    n_numbers = frame.select(pl.col("keypoints").list.len().max().fill_null(0).cast(pl.Int64)).item()
    return n_numbers // _KEYPOINT or None


def polygons_of(table: str, frame: pl.DataFrame) -> pl.Series:
    """Return `polygon` for each row whose mask is a single polygon; null for others, and for all if there are keypoints.

    >>> masks = pl.DataFrame({"mask": ["[[0, 0, 9, 0, 9, 9]]", '{"size": [1, 1], "counts": [1]}']})
    >>> polygons_of("annotations", masks).to_list()
    [[0.0, 0.0, 9.0, 0.0, 9.0, 9.0], None]
    """
    has_keypoints = count_keypoints(frame) is not None
    return single_polygons(table, frame.drop("mask", strict=False) if has_keypoints else frame).alias("polygon")


def extent_of(polygon: pl.Expr) -> list[pl.Expr]:
    """Return x, y, width and height of the extent of a polygon."""
    xs, ys = polygon.list.gather_every(2), polygon.list.gather_every(2, 1)
    sides = (xs.list.min(), ys.list.min(), xs.list.max() - xs.list.min(), ys.list.max() - ys.list.min())
    return [side.alias(name) for name, side in zip(BOX, sides, strict=True)]


def _coordinates(fractions: pl.Series, keypoints: tuple[int, int] | None) -> pl.Series:
    """Return the fractions without the visibility of keypoints, which may be any number."""
    if keypoints is None or keypoints[1] < _KEYPOINT:
        return fractions
    numbers = pl.col("fractions").list
    places = (numbers.gather_every(_KEYPOINT, len(BOX) + k) for k in range(2))
    return fractions.to_frame("fractions").select(pl.concat_list(numbers.head(len(BOX)), *places)).to_series()

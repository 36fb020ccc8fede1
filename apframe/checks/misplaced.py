"""Checks of boxes that would fit annotations if they were written in another way: hypotheses tested by overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import polars as pl

from apframe.checks.findings import Finding, as_sentence, of_table
from apframe.evaluation.diagnose.rare_overlaps import n_fitted, of_some_images
from apframe.similarity.extents import with_image_sizes
from apframe.tables.dataset import Dataset
from apframe.tables.ids import is_known
from apframe.tables.schemas import SIZE
from apframe.tables.shapes.boxes import BOX
from apframe.wording import option_name

# a hypothesis is accepted if this share of the annotations gets a fitting detection, and this many times as many as now
_SHARE, _TIMES, _LEAST = 0.2, 4, 10
_IOU = 0.5
_CELLS = 5  # minimum number of images and categories with one annotation for estimating a scale
_ON = ("image_id", "category_id")
_FORMATS = {"corners": "xyxy", "centres": "cxcywh"}
# the numbers of a line of YOLO's text besides class and score: their names, and the usual box of them, for awk and as SQL
_LAYOUTS = {
    "x y width height": ("{0}", "{1}", "{2}", "{3}"),
    "left top right bottom": ("({0} + {2}) / 2", "({1} + {3}) / 2", "{2} - {0}", "{3} - {1}"),
    "left top width height": ("{0} + {2} / 2", "{1} + {3} / 2", "{2}", "{3}"),
}
_FIELDS = (  # as read from a line: class x y width height score
    "((x + width / 2) / image_width)", "((y + height / 2) / image_height)",
    "(width / image_width)", "(height / image_height)", "score",
)  # fmt: skip
_SWAP = '{table}.rename({{"x": "y", "y": "x", "width": "height", "height": "width"}})'


@dataclass(frozen=True)
class _Hypothesis:
    """A hypothesis about boxes: its name, words, remedy, and the boxes as x, y, width, height in pixels."""

    check: str
    words: str
    remedy: str
    boxes: dict[str, pl.Expr]


def check_misplaced(detections: pl.DataFrame, dataset: Dataset, *, are_yolo: bool = False) -> Iterable[Finding]:
    """Find `corners`, `centres`, `swapped_axes`, `fractions`, `scaled`, `resized_images`: the probable way boxes were written.

    `field_order` is another order of the numbers in lines of YOLO's text.

    Each way of writing boxes is tried on the detections, and if it could differ between the two tables on the annotations. With
    the right one, many annotations have a fitting detection (IoU .5) on their image. It is accepted if these are a fifth of the
    annotations, at least 10, and more than four times as many as before. Scales are estimated from boxes in images with one
    annotation of a category.

    Parameters
    ----------
    detections
        canonical
    are_yolo
        True if they were read from YOLO's text, as class, centre, width, height and score

    >>> boxes = {"x": [10.0 * k for k in range(10)], "y": [30.0] * 10, "width": [20.0] * 10, "height": [9.0] * 10}
    >>> ids = {"image_id": range(10), "category_id": [1] * 10}
    >>> dataset = Dataset({"image_id": range(10)}, {"category_id": [1]}, ids | boxes)
    >>> corners = pl.DataFrame(ids | {"score": [0.5] * 10} | boxes).with_columns(
    ...     width=pl.col("x") + pl.col("width"), height=pl.col("y") + pl.col("height"))
    >>> [(finding.check, finding.remedy) for finding in check_misplaced(corners, dataset)]
    [('corners', 'Give box_format="xyxy".')]
    """
    images = dataset.core("images")
    annotations = dataset.core("annotations").filter(pl.col("x").is_not_null())
    on_annotated = is_known(detections["image_id"], annotations["image_id"].unique()) & detections["x"].is_not_null()
    sized = with_image_sizes(detections.filter(on_annotated).select("score", *_ON, *BOX), images)
    sample = of_some_images(sized)
    expected = with_image_sizes(annotations.select(*_ON, *BOX, "is_crowd"), images)
    n_own, n = n_fitted(sample, expected, ("image_id",), _IOU)
    min_fitting = max(_SHARE * n, _LEAST, _TIMES * n_own + 1)
    if n < min_fitting:
        return
    believed = []
    for table, hypothesis in _hypotheses(sized, expected, are_yolo):
        sides = {"detections": sample, "annotations": expected}
        sides[table] = sides[table].with_columns(**hypothesis.boxes)
        n_fitting, _ = n_fitted(sides["detections"], sides["annotations"], ("image_id",), _IOU)
        if n_fitting >= min_fitting:
            believed.append((n_fitting, table, hypothesis))
    if believed:
        n_fitting, table, best = max(believed, key=lambda each: each[0])  # the first of equal ones, which is the simplest
        problem = (
            f"boxes of the {table} seem to be {best.words}: {n_fitting / n:.0%} of the annotations then have a detection that "
            f"fits, instead of {n_own / n:.0%}"
        )
        rows = {"detections": detections.height, "annotations": annotations.height}
        yield of_table("warning", best.check, table, rows[table], problem, best.remedy)


def _hypotheses(detections: pl.DataFrame, expected: pl.DataFrame, are_yolo: bool) -> Iterator[tuple[str, _Hypothesis]]:
    """Yield the hypotheses for each table, the simplest first."""
    if are_yolo:
        yield from (("detections", order) for order in _orders())
    for relative, swapped, name in product((False, True), (False, True), (None, *_FORMATS)):
        if relative or swapped or name is not None:
            yield "detections", _written("detections", name, swapped, relative)
    for name in _FORMATS:
        yield "annotations", _written("annotations", name, False, False)
    for hypothesis in _scales(detections, expected):
        yield "detections", hypothesis


def _written(table: str, name: str | None, swapped: bool, relative: bool) -> _Hypothesis:
    """Return the hypothesis that boxes have one of the `_FORMATS`, swapped x and y, fractions, or several of these."""
    first, second, third, fourth = (pl.col(side) for side in BOX)
    if swapped:
        first, second, third, fourth = second, first, fourth, third
    if relative:
        width, height = (pl.col(side).cast(pl.Float64) for side in SIZE)
        first, second, third, fourth = first * width, second * height, third * width, fourth * height
    x, y, width, height = {
        None: (first, second, third, fourth),
        "corners": (first, second, third - first, fourth - second),
        "centres": (first - third / 2, second - fourth / 2, third, fourth),
    }[name]
    words = {None: "x, y, width, height", "corners": "two corners", "centres": "a centre and a size"}[name]
    words += ", with x and y swapped" if swapped else ""
    words += ", as fractions of the image" if relative else ""
    options = [option_name("box_format", _FORMATS[name])] if name else []
    options += [option_name("relative", "True")] if relative else []
    reread = f"give {' and '.join(options)}" if options else ""
    if table == "annotations":
        reread = f"read the ground truth with {' and '.join(options)} (read_dataset, apframe convert)"
    swap = f"exchange x and y: {_SWAP.format(table=table)}" if swapped else ""
    remedy = ", then ".join(filter(None, (swap, reread)))
    check = name or ("swapped_axes" if swapped else "fractions")
    return _Hypothesis(check, words, as_sentence(remedy), dict(zip(BOX, (x, y, width, height), strict=True)))


def _orders() -> Iterator[_Hypothesis]:
    """Yield other orders of the fields in YOLO's text: the score in another place, or other boxes; the class stays in front."""
    width, height = (pl.col(side).cast(pl.Float64) for side in SIZE)
    for place, (layout, box) in product((4, 0, 1, 2, 3), _LAYOUTS.items()):
        names = layout.split()
        names.insert(place, "score")
        order = f"class {' '.join(names)}"
        if order == "class x y width height score":
            continue
        others = [number for number in range(len(_FIELDS)) if number != place]
        middle_x, middle_y, wide, high = (pl.sql_expr(each.format(*(_FIELDS[number] for number in others))) for each in box)
        boxes = {"x": (middle_x - wide / 2) * width, "y": (middle_y - high / 2) * height}
        boxes |= {"width": wide * width, "height": high * height}
        printed = ", ".join(box).format(*(f"${number + 2}" for number in others))
        remedy = f"Write class x y width height score: awk '{{print $1, {printed}, ${place + 2}}}' on each file."
        yield _Hypothesis("field_order", f"in lines of {order}", remedy, boxes)


def _scales(detections: pl.DataFrame, expected: pl.DataFrame) -> Iterator[_Hypothesis]:
    """Yield hypotheses that boxes have another scale than the annotations: one scale for all images, or images of one size."""
    alone = expected.filter(~pl.col("is_crowd") & (pl.len().over(_ON) == 1))
    best = detections.sort("score", descending=True, maintain_order=True).unique(_ON, keep="first", maintain_order=True)
    cells = best.join(alone, on=list(_ON)).filter(pl.min_horizontal("width", "height", "width_right", "height_right") > 0)
    if cells.height < _CELLS:
        return
    ratio = {side: pl.col(side) / pl.col(f"{side}_right") for side in ("width", "height")}
    across, down = cells.select(ratio["width"].median().alias("across"), ratio["height"].median().alias("down")).row(0)
    if max(across, down) <= 1.1 * min(across, down):
        across = down = (across * down) ** 0.5
    sides = f'x=pl.col("x") / {across:.4g}, width=pl.col("width") / {across:.4g}, y=pl.col("y") / {down:.4g}, '
    remedy = f'Scale them: detections.with_columns({sides}height=pl.col("height") / {down:.4g}).'
    factors = f"{across:.4g}" if across == down else f"{across:.4g} (x) and {down:.4g} (y)"
    yield _Hypothesis("scaled", f"{factors} times as large", remedy, _divided(pl.lit(across), pl.lit(down)))
    if cells.select(pl.any_horizontal(pl.col(SIZE).is_null()).any()).item():
        return
    width, height = (pl.col(side).cast(pl.Float64) for side in SIZE)
    longest, shortest = pl.max_horizontal(width, height), pl.min_horizontal(width, height)
    of_both = (ratio["width"] * ratio["height"]).sqrt()
    to_width, to_height, long_side, short_side = (
        _whole(value)
        for value in cells.select(
            (ratio["width"] * width).median().alias("0"), (ratio["height"] * height).median().alias("1"),
            (of_both * longest).median().alias("2"), (of_both * shortest).median().alias("3"),
        ).row(0)
    )  # fmt: skip
    how = "Multiply x and width by {}, y and height by {}, of each image."
    yield _Hypothesis(
        "resized_images", f"those of images resized to {to_width} x {to_height}",
        how.format(f"image_width / {to_width}", f"image_height / {to_height}"), _divided(to_width / width, to_height / height),
    )  # fmt: skip
    for side, name, value, of in ((longest, "longer", long_side, "max"), (shortest, "shorter", short_side, "min")):
        words = f"those of images resized so that their {name} side is {value}"
        remedy = f"Divide the boxes by {value} / {of}(image_width, image_height) of each image."
        yield _Hypothesis("resized_images", words, remedy, _divided(value / side, value / side))
    scale = long_side / longest
    padded = _divided(scale, scale)
    padded |= {
        "x": (pl.col("x") - (long_side - width * scale) / 2) / scale,
        "y": (pl.col("y") - (long_side - height * scale) / 2) / scale,
    }
    words = f"those of images padded to {long_side} x {long_side} around their middle"
    remedy = f"Subtract the padding from x and y, then divide the boxes by {long_side} / max(image_width, image_height)."
    yield _Hypothesis("resized_images", words, remedy, padded)


def _divided(across: pl.Expr, down: pl.Expr) -> dict[str, pl.Expr]:
    return {side: pl.col(side) / (across if side in ("x", "width") else down) for side in BOX}


def _whole(size: float) -> int:
    """Return the likely size of an image near this one: a multiple of 32 within 1 %, else a whole number."""
    near = max(32, round(size / 32) * 32)
    return near if abs(near - size) <= 0.01 * size else max(1, round(size))

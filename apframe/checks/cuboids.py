"""Checks of cuboids: yaws in degrees, length and width exchanged."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from apframe.checks.findings import Finding, of_table
from apframe.evaluation.diagnose.rare_overlaps import of_some_images
from apframe.similarity.bev_iou import BevIoU
from apframe.similarity.footprints import FOOTPRINT
from apframe.tables.ids import is_known
from apframe.tables.shapes.cuboids import like_degrees

_ALIKE = 0.5  # IoU from which a detection fits an annotation
_LEAST, _SHARE = 10, 0.1  # the number and the share of annotations that must have a fitting detection after the exchange
_TIMES = 2  # how many times as many as before the exchange


def check_yaws(table: str, frame: pl.DataFrame) -> Iterable[Finding]:
    """Find `degrees`: more than half of the yaws are beyond 7, although a full turn is 6.28.

    >>> [finding.problem for finding in check_yaws("annotations", pl.DataFrame({"cuboid_yaw": [90.0, -180.0, 0.0]}))]
    ['most values of cuboid_yaw, such as 90.0, look like degrees']
    """
    degrees = like_degrees(frame)
    if degrees is not None:
        problem = f"most values of cuboid_yaw, such as {degrees}, look like degrees"
        yield of_table("warning", "degrees", table, frame.height, problem, "Convert them to radians: multiply by pi / 180.")


def check_sides(detections: pl.DataFrame, annotations: pl.DataFrame) -> Iterable[Finding]:
    """Find `swapped_sides`: with length and width exchanged, many annotations, twice as many as before, have a detection.

    A detection fits if its IoU seen from above is .5 or more, on the same image, of any category. A yaw that is off by a
    quarter turn has the same effect.

    >>> car = {"image_id": 1, "cuboid_y": 0.0, "cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_yaw": 0.3, "is_crowd": False}
    >>> cars = pl.DataFrame([car | {"cuboid_x": 9.0 * k} for k in range(20)])
    >>> detections = cars.drop("is_crowd").with_columns(cuboid_length=2.0, cuboid_width=4.0)
    >>> [finding.check for finding in check_sides(detections, cars)]
    ['swapped_sides']
    """
    if not set(FOOTPRINT) <= {*detections.columns} & {*annotations.columns}:
        return
    is_sound = pl.all_horizontal(pl.col(FOOTPRINT).is_finite(), pl.col("cuboid_length", "cuboid_width") > 0)
    columns = ["image_id", *FOOTPRINT]
    fitting, expected = (
        detections.select(columns).filter(is_sound),
        annotations.select(*columns, "is_crowd").filter(is_sound),
    )
    fitting = of_some_images(fitting)
    expected = expected.filter(is_known(expected["image_id"], fitting["image_id"].unique()))
    cell = pl.concat([fitting["image_id"], expected["image_id"]]).rank("dense").cast(pl.Int64).alias("cell")
    fitting, expected = (
        fitting.with_columns(cell.head(fitting.height)),
        expected.with_columns(cell.tail(expected.height)),
    )
    exchanged = fitting.with_columns(cuboid_length="cuboid_width", cuboid_width="cuboid_length")
    n_unchanged, n_exchanged = (BevIoU().pair(each, expected, _ALIKE)["annotation"].n_unique() for each in (fitting, exchanged))
    if n_exchanged >= max(_LEAST, _SHARE * expected.height, _TIMES * n_unchanged + 1):
        problem = (
            f"{n_exchanged / expected.height:.0%} of the annotations have a detection that fits (IoU {_ALIKE} or more seen "
            f"from above) if length and width are exchanged, but only {n_unchanged / expected.height:.0%} as written"
        )
        remedy = "Exchange cuboid_length and cuboid_width in one of the tables, or turn its yaws by a quarter (pi / 2)."
        yield of_table("warning", "swapped_sides", "detections", detections.height, problem, remedy)

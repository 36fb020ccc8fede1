"""Waymo's breakdowns: AP and APH by range, size and velocity, where objects of other bins are not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import polars as pl

from apframe.detection.tables import with_names
from apframe.exceptions import ColumnError, ParameterError

if TYPE_CHECKING:
    from apframe.detection.evaluation import Evaluation
    from apframe.detection.prepare.inputs import Inputs
    from apframe.rule_sets.protocol import Protocol

_CENTRE, _SIDES = ("cuboid_x", "cuboid_y", "cuboid_z"), ("cuboid_length", "cuboid_width", "cuboid_height")
_SPEED = ("velocity_x", "velocity_y")
_LEAST = 0.01  # the IoU of a detection with an object that it may have been meant for
RANGE, SIZE, VELOCITY = (0.0, 30.0, 50.0, inf), (0.0, 7.0, inf), (0.0, 0.2, 1.0, 3.0, 10.0, inf)


def waymo_breakdowns(self: Evaluation) -> pl.DataFrame:
    """AP and APH by range, size and velocity, as Waymo's tool breaks them down.

    RANGE (distance of the centre from the origin, metres) and SIZE (the longest side, metres) divide annotations and
    detections alike: both are matched only within their bin, so that a match across a border is a miss and a false positive.
    VELOCITY (m/s, of `velocity_x` and `velocity_y`) divides annotations alone. A detection that matches none of a bin is a
    false positive there, unless the annotation that it overlaps most, if any by an IoU of .01, is of another bin. The slices
    of `Evaluation.by` differ from that: they ignore objects of other bins instead of leaving them out.

    Each bin is matched again.

    Returns
    -------
    breakdown, bin (such as "[30, 50)"), category_id, name, area_range (the level), ap, oriented_ap (APH), n_positives and
    n_detections. Without velocities there are no rows of VELOCITY; annotations whose velocity is null are in no bin of it.

    Raises
    ------
    ParameterError
        another protocol, or boxes of cameras
    ColumnError
        there are no cuboids

    Source: `breakdown_generator.cc` of waymo-open-dataset.

    >>> from apframe.detection.evaluate import evaluate
    >>> from apframe.rule_sets.waymo import WAYMO
    >>> from apframe.schema import Dataset
    >>> car = dict(zip((*_CENTRE, *_SIDES, "cuboid_yaw"), ([29.8], [0.0], [0.0], [4.0], [2.0], [1.5], [0.0])))
    >>> car |= {"image_id": [1], "category_id": ["TYPE_VEHICLE"], "level": [1], "n_points": [9]}
    >>> names = {"category_id": ["TYPE_VEHICLE"], "name": ["TYPE_VEHICLE"]}
    >>> found = evaluate(Dataset({"image_id": [1]}, names, car), car | {"cuboid_x": [30.2], "score": [0.9]}, WAYMO)
    >>> table = found.waymo_breakdowns().filter(name="TYPE_VEHICLE", area_range="L1")
    >>> table.filter(pl.col("n_positives") > 0).select("breakdown", "bin", "ap").rows()
    [('RANGE', '[0, 30)', 0.0), ('SIZE', '[0, 7)', 1.0)]
    """
    from apframe.detection.pipeline import Pipeline  # brings in NumPy

    protocol, inputs = self.protocol, self._inputs
    if protocol.name != "WAYMO" or protocol.iou_type == "bbox":
        problem = f"breakdowns are of WAYMO and cuboids, not of {protocol.name} and {protocol.iou_type}"
        raise ParameterError(problem, "use `by` for slices", option="protocol")
    for table, frame in (("annotations", inputs.annotations), ("detections", inputs.detections)):
        if frame.height and not {*_CENTRE, *_SIDES} <= {*frame.columns}:
            raise ColumnError("there are no cuboids", f"supply {', '.join((*_CENTRE, *_SIDES))}", table=table)
    tables = []
    for breakdown, label, part in _parts(inputs, protocol):
        metrics = Pipeline(part, protocol).metrics()
        metrics = metrics.select("category_id", "area_range", "ap", "oriented_ap", "n_positives", "n_detections")
        tables.append(metrics.select(pl.lit(breakdown).alias("breakdown"), pl.lit(label).alias("bin"), pl.all()))
    named = with_names(self, pl.concat(tables))
    return named.select("breakdown", "bin", pl.exclude("breakdown", "bin"))


def _parts(inputs: Inputs, protocol: Protocol) -> Iterator[tuple[str, str, Inputs]]:
    """The breakdown, the bin, and what is evaluated in it."""
    distance, longest = _norm(_CENTRE), pl.max_horizontal(_SIDES)
    for breakdown, value, edges in (("RANGE", distance, RANGE), ("SIZE", longest, SIZE)):
        sides = [_bins(frame, value, edges) for frame in (inputs.annotations, inputs.detections)]
        for number, label in enumerate(_labels(edges)):
            annotations, detections = (
                frame.filter(bins == number) for frame, bins in zip((inputs.annotations, inputs.detections), sides, strict=True)
            )
            yield breakdown, label, _with(inputs, annotations, detections)
    if not {*_SPEED} <= {*inputs.annotations.columns}:
        return
    bins = _bins(inputs.annotations, _norm(_SPEED), VELOCITY)
    meant = _meant(inputs, protocol, bins)
    for number, label in enumerate(_labels(VELOCITY)):
        others = (meant != number).fill_null(False)
        ignore = inputs.detections["ignore"] | others if "ignore" in inputs.detections.columns else others
        found = inputs.detections.with_columns(ignore=ignore)
        yield "VELOCITY", label, _with(inputs, inputs.annotations.filter(bins == number), found)


def _meant(inputs: Inputs, protocol: Protocol, bins: pl.Series) -> pl.Series:
    """The bin of the annotation that each detection overlaps most; null if there is none."""
    from apframe.detection.pairing import pair  # brings in NumPy

    pairs = pair(inputs, protocol, least=_LEAST).sort("similarity", "annotation", descending=[True, False])
    best = pairs.unique("detection", keep="first", maintain_order=True)
    best = best.select("detection", bin=bins.gather(best["annotation"]))
    numbered = pl.DataFrame({"detection": range(inputs.detections.height)}, schema={"detection": pl.UInt32})
    return numbered.join(best, on="detection", how="left", maintain_order="left")["bin"]


def _norm(names: Sequence[str]) -> pl.Expr:
    return pl.sum_horizontal([pl.col(name) ** 2 for name in names], ignore_nulls=False).sqrt()


def _bins(frame: pl.DataFrame, value: pl.Expr, edges: Sequence[float]) -> pl.Series:
    """The number of the bin that each row is in; null if unknown."""
    if frame.is_empty():
        return pl.Series(dtype=pl.UInt32)
    values = frame.select(value).to_series()
    return pl.Series(edges[1:-1]).search_sorted(values, side="right").set(values.is_null(), None)


def _labels(edges: Sequence[float]) -> list[str]:
    return [f"[{low:g}, {high:g})" for low, high in pairwise(edges)]


def _with(inputs: Inputs, annotations: pl.DataFrame, detections: pl.DataFrame) -> Inputs:
    dataset = inputs.dataset.part(inputs.dataset.images, annotations)
    return replace(inputs, dataset=dataset, annotations=annotations, detections=detections, prepared={})

"""Waymo's breakdowns: AP and APH by range, size, velocity and camera."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import polars as pl

from apframe.evaluation.tables import with_names
from apframe.exceptions import ColumnError
from apframe.rows import refuse_rows, refuse_texts

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation
    from apframe.protocols.inputs import Inputs

_CENTRE, _SIDES = ("cuboid_x", "cuboid_y", "cuboid_z"), ("cuboid_length", "cuboid_width", "cuboid_height")
_SPEED = ("velocity_x", "velocity_y")
_CAMERAS = {"FRONT": 0, "FRONT_LEFT": 45, "FRONT_RIGHT": -45, "SIDE_LEFT": 90, "SIDE_RIGHT": -90}  # degrees from ahead
_HALF_VIEW = 25.2  # degrees to either side of a camera's direction
_LEAST = 0.01  # the IoU of a detection with an object that it may have been meant for
RANGE, SIZE, VELOCITY = (0.0, 30.0, 50.0, inf), (0.0, 7.0, inf), (0.0, 0.2, 1.0, 3.0, 10.0, inf)


def waymo_breakdowns(self: Evaluation) -> pl.DataFrame:
    """AP and APH by range, size, velocity and camera, as Waymo's tool breaks them down.

    RANGE (distance of the centre from the origin, metres) and SIZE (the longest side, metres) divide annotations and
    detections alike: both are matched only within their bin, so that a match across a border is a miss and a false positive.
    The slices of `Evaluation.by` differ from that: they ignore objects of other bins instead of leaving them out.

    VELOCITY (m/s, of `velocity_x` and `velocity_y`, 0 where these are null) divides annotations alone. All are matched, and
    what is matched to an annotation of another bin is ignored. A detection that matches none is a false positive, unless the
    annotation that it overlaps most, if any by an IoU of .01, is of another bin.

    CAMERA is the same among the objects whose centre a camera sees: within 25.2 degrees of its direction, which is 0, 45, -45,
    90 or -90 degrees from the x axis. An annotation is of the camera that its column `camera` names; where there is none, of
    the first that sees it. What no camera sees is in no bin.

    Each bin is matched again.

    Returns
    -------
    breakdown, bin (such as "[30, 50)"), category_id, name, area_range (the level), ap, oriented_ap (APH), n_positives and
    n_detections. Without velocities there are no rows of VELOCITY.

    Raises
    ------
    ParameterError
        another protocol, or boxes of cameras
    ColumnError
        there are no cuboids; velocities are not numbers
    RowError
        `camera` of an annotation is none of FRONT, FRONT_LEFT, FRONT_RIGHT, SIDE_LEFT and SIDE_RIGHT

    Source: `breakdown_generator.cc` and `detection_metrics.cc` of waymo-open-dataset.

    >>> from apframe.evaluation.evaluate import evaluate
    >>> from apframe.protocols.waymo import WAYMO
    >>> from apframe.tables.dataset import Dataset
    >>> car = dict(zip((*_CENTRE, *_SIDES, "cuboid_yaw"), ([29.8], [0.0], [0.0], [4.0], [2.0], [1.5], [0.0])))
    >>> car |= {"image_id": [1], "category_id": ["TYPE_VEHICLE"], "level": [1], "n_points": [9]}
    >>> names = {"category_id": ["TYPE_VEHICLE"], "name": ["TYPE_VEHICLE"]}
    >>> found = evaluate(Dataset({"image_id": [1]}, names, car), car | {"cuboid_x": [30.2], "score": [0.9]}, WAYMO)
    >>> table = found.waymo_breakdowns().filter(name="TYPE_VEHICLE", area_range="L1")
    >>> table.filter(pl.col("n_positives") > 0).select("breakdown", "bin", "ap").rows()
    [('RANGE', '[0, 30)', 0.0), ('SIZE', '[0, 7)', 1.0), ('CAMERA', 'FRONT', 1.0)]
    """
    from apframe.evaluation.pipeline import Pipeline  # brings in NumPy
    from apframe.protocols.waymo import refuse_other_protocols  # for this alone

    refuse_other_protocols(self.protocol)
    inputs = self._inputs
    for table, frame in (("annotations", inputs.annotations), ("detections", inputs.detections)):
        if frame.height and not {*_CENTRE, *_SIDES} <= {*frame.columns}:
            raise ColumnError("there are no cuboids", f"supply {', '.join((*_CENTRE, *_SIDES))}", table=table)
    refuse_texts("annotations", inputs.annotations, _SPEED)
    tables = []
    for breakdown, label, part in _parts(inputs):
        metrics = Pipeline(part).metrics()
        metrics = metrics.select("category_id", "area_range", "ap", "oriented_ap", "n_positives", "n_detections")
        tables.append(metrics.select(pl.lit(breakdown).alias("breakdown"), pl.lit(label).alias("bin"), pl.all()))
    named = with_names(self, pl.concat(tables))
    return named.select("breakdown", "bin", pl.exclude("breakdown", "bin"))


def _parts(inputs: Inputs) -> Iterator[tuple[str, str, Inputs]]:
    """The breakdown, the bin, and what is evaluated in it."""
    distance, longest = _norm(_CENTRE), pl.max_horizontal(_SIDES)
    for breakdown, value, edges in (("RANGE", distance, RANGE), ("SIZE", longest, SIZE)):
        sides = [_bins(frame, value, edges) for frame in (inputs.annotations, inputs.detections)]
        for number, label in enumerate(_labels(edges)):
            annotations, detections = (
                frame.filter(bins == number) for frame, bins in zip((inputs.annotations, inputs.detections), sides, strict=True)
            )
            yield breakdown, label, _with(inputs, annotations, detections)
    pairs = _overlapping(inputs)
    if {*_SPEED} <= {*inputs.annotations.columns}:
        bins = _bins(inputs.annotations, _norm(_SPEED).fill_null(0), VELOCITY)
        for number, label in enumerate(_labels(VELOCITY)):
            yield "VELOCITY", label, _of_annotations(inputs, pairs, (bins == number).fill_null(False))
    seen = [_sights(frame) for frame in (inputs.annotations, inputs.detections)]
    camera = _cameras(inputs.annotations, seen[0])
    for name in _CAMERAS:
        expected, found = (flags[name] for flags in seen)
        annotations, detections = inputs.annotations.filter(expected), inputs.detections.filter(found)
        part = _with(inputs, annotations, detections)
        yield "CAMERA", name, _of_annotations(part, _renumbered(pairs, found, expected), camera.filter(expected) == name)


def _of_annotations(inputs: Inputs, pairs: pl.DataFrame, inside: pl.Series) -> Inputs:
    """The inputs in which all other annotations are ignored, and so are detections that overlap one of these most.

    `pairs` are those of the inputs from an IoU of .01 on, and `inside` flags the annotations that count.
    """
    best = pairs.sort("similarity", "annotation").unique("detection", keep="last")  # of equal ones the last, as in the tool
    others = best.filter((~inside).gather(best["annotation"]))["detection"]
    meant = pl.Series(range(inputs.detections.height), dtype=pl.UInt32).is_in(others.implode())
    annotations, detections = (
        frame.with_columns(ignore=frame["ignore"] | flags if "ignore" in frame.columns else flags)
        for frame, flags in ((inputs.annotations, ~inside), (inputs.detections, meant))
    )
    return _with(inputs, annotations, detections)


def _overlapping(inputs: Inputs) -> pl.DataFrame:
    """The pairs of detections and annotations that overlap at all, by row numbers."""
    from apframe.protocols.pairing import pair  # brings in NumPy

    return pair(inputs, min_similarity=_LEAST).filter(pl.col("similarity") >= _LEAST)


def _renumbered(pairs: pl.DataFrame, found: pl.Series, expected: pl.Series) -> pl.DataFrame:
    """The pairs of the flagged rows, by the numbers that these have among themselves."""
    kept = pairs.filter(found.gather(pairs["detection"]), expected.gather(pairs["annotation"]))
    numbers = {"detection": found.cum_sum() - 1, "annotation": expected.cum_sum() - 1}
    return kept.with_columns(number.cast(pl.UInt32).gather(kept[name]).alias(name) for name, number in numbers.items())


def _sights(frame: pl.DataFrame) -> pl.DataFrame:
    """Flags of each camera: it sees the centre of an object, by its direction from the car."""
    if frame.is_empty():  # which may lack columns
        return pl.DataFrame(schema=dict.fromkeys(_CAMERAS, pl.Boolean))
    degrees = pl.arctan2("cuboid_y", "cuboid_x").degrees()
    return frame.select(
        ((degrees > ahead - _HALF_VIEW) & (degrees < ahead + _HALF_VIEW)).alias(name) for name, ahead in _CAMERAS.items()
    )


def _cameras(annotations: pl.DataFrame, seen: pl.DataFrame) -> pl.Series:
    """The camera that each annotation is of; "" if there is none."""
    first = seen.select(pl.coalesce(*(pl.when(name).then(pl.lit(name)) for name in _CAMERAS), pl.lit(""))).to_series()
    if "camera" not in annotations.columns:
        return first
    named = annotations["camera"]
    if named.dtype != pl.Null:
        unknown = ~named.cast(pl.String).is_in([*_CAMERAS]).fill_null(True)
        remedy = f"give one of {', '.join(_CAMERAS)}, or null"
        refuse_rows("annotations", annotations, unknown, "camera is unknown", remedy)
    return pl.select(pl.coalesce(named.cast(pl.String), first)).to_series()


def _norm(names: Sequence[str]) -> pl.Expr:
    return pl.sum_horizontal([pl.col(name).cast(pl.Float64) ** 2 for name in names], ignore_nulls=False).sqrt()


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

"""Waymo's breakdowns by range, size, velocity and camera: keys of `Evaluation.by`, each of whose bins is matched again.

RANGE (distance of the centre from the origin, metres) and SIZE (the longest side, metres) divide both annotations and
detections. They are matched only within their bin, so that a match across a border is a miss and a false positive. Other slices
of `by` ignore objects of other bins instead of leaving them out.

VELOCITY (m/s, of `velocity_x` and `velocity_y`, 0 where these are null) divides annotations alone. All are matched, and
detections matched to an annotation of another bin are ignored. An unmatched detection is a false positive, unless the
annotation that it overlaps most, with an IoU of at least .01, is of another bin.

CAMERA does the same among the objects whose centre a camera sees: within 25.2 degrees of its direction, which is 0, 45, -45, 90
or -90 degrees from the x axis. An annotation belongs to the camera in its column `camera`; if that is missing, to the first
camera that sees it. Objects that no camera sees are in no bin.

Errors: a ParameterError for another protocol, or for boxes in camera images; a ColumnError if there are no cuboids or no
velocities, or if these are not numbers; a RowError if `camera` of an annotation is none of FRONT, FRONT_LEFT, FRONT_RIGHT,
SIDE_LEFT and SIDE_RIGHT.

Source: `breakdown_generator.cc` and `detection_metrics.cc` of waymo-open-dataset.

>>> from apframe.evaluation.evaluate import evaluate
>>> from apframe.tables.dataset import Dataset
>>> car = dict(zip((*_CENTRE, *_SIDES, "cuboid_yaw"), ([29.8], [0.0], [0.0], [4.0], [2.0], [1.5], [0.0])))
>>> car |= {"image_id": [1], "category_id": ["TYPE_VEHICLE"], "level": [1], "n_points": [9]}
>>> names = {"category_id": ["TYPE_VEHICLE"], "name": ["TYPE_VEHICLE"]}
>>> evaluation = evaluate(Dataset({"image_id": [1]}, names, car), car | {"cuboid_x": [30.2], "score": [0.9]}, WAYMO)
>>> evaluation.by(SIZE, level="category").filter(name="TYPE_VEHICLE").select("size", "AP_L1").rows()
[('[0, 7)', 1.0), ('[7, inf)', 0.0)]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import polars as pl

from apframe.benchmarks.driving.waymo.protocol import WAYMO
from apframe.evaluation.slices.keys import Breakdown
from apframe.exceptions import ColumnError, ParameterError
from apframe.rows import refuse_rows, refuse_texts

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs

_CENTRE, _SIDES = ("cuboid_x", "cuboid_y", "cuboid_z"), ("cuboid_length", "cuboid_width", "cuboid_height")
_SPEED = ("velocity_x", "velocity_y")
_CAMERAS = {"FRONT": 0, "FRONT_LEFT": 45, "FRONT_RIGHT": -45, "SIDE_LEFT": 90, "SIDE_RIGHT": -90}  # degrees from ahead
_HALF_VIEW = 25.2  # degrees to either side of a camera's direction
_LEAST = 0.01  # the minimum IoU of a detection with an object that it may belong to
_VELOCITIES = (0.0, 0.2, 1.0, 3.0, 10.0, inf)


@dataclass(frozen=True, eq=False)  # expressions cannot be compared
class _OfBoth(Breakdown):
    """Bins of a number that divide both annotations and detections."""

    value: pl.Expr
    edges: tuple[float, ...]

    def parts(self, inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
        """Yield the objects of each bin."""
        refuse_others(inputs)
        sides = [_bins(frame, self.value, self.edges) for frame in (inputs.annotations, inputs.detections)]
        for number, label in enumerate(_labels(self.edges)):
            annotations, detections = (
                frame.filter(bins == number) for frame, bins in zip((inputs.annotations, inputs.detections), sides, strict=True)
            )
            yield label, _with(inputs, annotations, detections)


@dataclass(frozen=True)
class _OfVelocity(Breakdown):
    """Bins of the velocity of annotations."""

    def parts(self, inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
        """Yield all objects for each bin, with those of other bins ignored."""
        refuse_others(inputs)
        if not {*_SPEED} <= {*inputs.annotations.columns}:
            raise ColumnError("there are no velocities", f"supply {' and '.join(_SPEED)}", table="annotations")
        refuse_texts("annotations", inputs.annotations, _SPEED)
        pairs, bins = _overlapping(inputs), _bins(inputs.annotations, _norm(_SPEED).fill_null(0), _VELOCITIES)
        for number, label in enumerate(_labels(_VELOCITIES)):
            yield label, _of_annotations(inputs, pairs, (bins == number).fill_null(False))


@dataclass(frozen=True)
class _OfCamera(Breakdown):
    """The cameras that annotations belong to."""

    def parts(self, inputs: Inputs) -> Iterator[tuple[str, Inputs]]:
        """Yield the objects that each camera sees, with those of other cameras ignored."""
        refuse_others(inputs)
        pairs, seen = _overlapping(inputs), [_sights(frame) for frame in (inputs.annotations, inputs.detections)]
        camera = _cameras(inputs.annotations, seen[0])
        for name in _CAMERAS:
            sees_annotation, sees_detection = (flags[name] for flags in seen)
            part = _with(inputs, inputs.annotations.filter(sees_annotation), inputs.detections.filter(sees_detection))
            is_own = camera.filter(sees_annotation) == name
            yield name, _of_annotations(part, _renumbered(pairs, sees_detection, sees_annotation), is_own)


def refuse_others(inputs: Inputs) -> None:
    """Raise an error for other protocols, boxes in images, and objects without cuboids."""
    protocol = inputs.protocol
    if protocol.name != WAYMO.name or protocol.iou_type == "bbox":
        problem = f"breakdowns are of WAYMO and cuboids, not of {protocol.name} and {protocol.iou_type}"
        raise ParameterError(problem, "use other keys for slices", option="by")
    for table, frame in (("annotations", inputs.annotations), ("detections", inputs.detections)):
        if frame.height and not {*_CENTRE, *_SIDES} <= {*frame.columns}:
            raise ColumnError("there are no cuboids", f"supply {', '.join((*_CENTRE, *_SIDES))}", table=table)


def _of_annotations(inputs: Inputs, pairs: pl.DataFrame, inside: pl.Series) -> Inputs:
    """Ignore all annotations but those inside, and each detection whose largest overlap is with an ignored one.

    `pairs` are the pairs of the inputs with an IoU of at least .01, and `inside` flags the annotations that count.
    """
    best = pairs.sort("similarity", "annotation").unique("detection", keep="last")  # the last of equal ones, as in the tool
    others = best.filter((~inside).gather(best["annotation"]))["detection"]
    meant = pl.Series(range(inputs.detections.height), dtype=pl.UInt32).is_in(others.implode())
    annotations, detections = (
        frame.with_columns(ignore=frame["ignore"] | flags if "ignore" in frame.columns else flags)
        for frame, flags in ((inputs.annotations, ~inside), (inputs.detections, meant))
    )
    return _with(inputs, annotations, detections)


def _overlapping(inputs: Inputs) -> pl.DataFrame:
    """Return the pairs of detections and annotations with an IoU of at least .01, by row numbers."""
    from apframe.protocols.pairing import pair  # imports NumPy

    return pair(inputs, min_similarity=_LEAST).filter(pl.col("similarity") >= _LEAST)


def _renumbered(pairs: pl.DataFrame, found: pl.Series, expected: pl.Series) -> pl.DataFrame:
    """Keep the pairs of the flagged rows, and number these rows from 0."""
    kept = pairs.filter(found.gather(pairs["detection"]), expected.gather(pairs["annotation"]))
    numbers = {"detection": found.cum_sum() - 1, "annotation": expected.cum_sum() - 1}
    return kept.with_columns(number.cast(pl.UInt32).gather(kept[name]).alias(name) for name, number in numbers.items())


def _sights(frame: pl.DataFrame) -> pl.DataFrame:
    """Flag, for each camera, the objects whose centre it sees, by their direction from the car."""
    if frame.is_empty():  # an empty frame may lack columns
        return pl.DataFrame(schema=dict.fromkeys(_CAMERAS, pl.Boolean))
    degrees = pl.arctan2("cuboid_y", "cuboid_x").degrees()
    return frame.select(
        ((degrees > ahead - _HALF_VIEW) & (degrees < ahead + _HALF_VIEW)).alias(name) for name, ahead in _CAMERAS.items()
    )


def _cameras(annotations: pl.DataFrame, seen: pl.DataFrame) -> pl.Series:
    """Return the camera that each annotation belongs to; "" if there is none."""
    first = seen.select(pl.coalesce(*(pl.when(name).then(pl.lit(name)) for name in _CAMERAS), pl.lit(""))).to_series()
    if "camera" not in annotations.columns:
        return first
    named = annotations["camera"]
    if named.dtype != pl.Null:
        unknown = ~named.cast(pl.String).is_in([*_CAMERAS]).fill_null(True)
        remedy = f"supply one of {', '.join(_CAMERAS)}, or null"
        refuse_rows("annotations", annotations, unknown, "camera is unknown", remedy)
    return pl.select(pl.coalesce(named.cast(pl.String), first)).to_series()


def _norm(names: Sequence[str]) -> pl.Expr:
    return pl.sum_horizontal([pl.col(name).cast(pl.Float64) ** 2 for name in names], ignore_nulls=False).sqrt()


def _bins(frame: pl.DataFrame, value: pl.Expr, edges: Sequence[float]) -> pl.Series:
    """Return the number of each row's bin; null if unknown."""
    if frame.is_empty():
        return pl.Series(dtype=pl.UInt32)
    values = frame.select(value).to_series()
    return pl.Series(edges[1:-1]).search_sorted(values, side="right").set(values.is_null(), None)


def _labels(edges: Sequence[float]) -> list[str]:
    return [f"[{low:g}, {high:g})" for low, high in pairwise(edges)]


def _with(inputs: Inputs, annotations: pl.DataFrame, detections: pl.DataFrame) -> Inputs:
    dataset = inputs.dataset.part(inputs.dataset.images, annotations)
    return replace(inputs, dataset=dataset, annotations=annotations, detections=detections, prepared={})


RANGE = _OfBoth("range", value=_norm(_CENTRE), edges=(0.0, 30.0, 50.0, inf))
"""The distance of the centre from the origin, in metres."""
SIZE = _OfBoth("size", value=pl.max_horizontal(_SIDES), edges=(0.0, 7.0, inf))
"""The longest side, in metres."""
VELOCITY = _OfVelocity("velocity")
"""The velocity of annotations in m/s."""
CAMERA = _OfCamera("camera")
"""The camera that annotations belong to."""

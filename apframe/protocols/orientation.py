"""How well the orientations of a detection and its annotation agree, by which true positives can be weighted."""

from __future__ import annotations

import math

import polars as pl

# the column of both, and the rule in words
ORIENTATIONS = {
    "": ("", ""),
    "alpha": ("alpha", "(1 + cos(difference of alpha)) / 2"),
    "heading": ("cuboid_yaw", "1 - difference of cuboid_yaw, wrapped, / pi"),
}


def agreement(orientation: str, detections: pl.DataFrame, annotations: pl.DataFrame, pairs: pl.DataFrame) -> pl.Series | None:
    """The agreement of each pair, from 0 (opposite) to 1; None if there is a detection without an orientation.

    An annotation without one agrees with nothing.

    Parameters
    ----------
    orientation
        one of `ORIENTATIONS`
    detections, annotations
        with the column of the orientation, in radians
    pairs
        detection and annotation, their row numbers

    >>> found, cars = pl.DataFrame({"alpha": [0.0]}), pl.DataFrame({"alpha": [math.pi / 2]})
    >>> agreement("alpha", found, cars, pl.DataFrame({"detection": [0], "annotation": [0]})).round(6).to_list()
    [0.5]
    """
    column, _ = ORIENTATIONS[orientation]
    if detections.height and (column not in detections.columns or detections[column].null_count()):
        return None
    if pairs.is_empty():
        return pl.Series(dtype=pl.Float64)
    if column not in annotations.columns:
        return None
    apart = detections[column].gather(pairs["detection"]) - annotations[column].gather(pairs["annotation"])
    if orientation == "alpha":
        return ((1 + apart.cos()) / 2).fill_null(0.0)
    wrapped = (apart + math.pi) % (2 * math.pi) - math.pi
    return (1 - wrapped.abs() / math.pi).fill_null(0.0)

"""The errors of the cuboid of a detection against that of an annotation, as columns of pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from apframe.benchmarks.driving.box_errors import KINDS, NEEDS, VELOCITY, BoxErrors
from apframe.protocols.rules.rule import Rule
from apframe.rows import refuse_rows, refuse_texts
from apframe.tables.shapes.cuboids import SIZES, YAW
from apframe.wording import Note

if TYPE_CHECKING:
    from apframe.protocols.inputs import Inputs


@dataclass(frozen=True)
class MeasureErrors(Rule):
    """Add the errors of boxes to pairs; a metric of the protocol averages those of true positives."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Return the same rows, with a note on errors without a value because a column is missing.

        Raises
        ------
        ColumnError
            velocities are text
        RowError
            a score is negative although errors are averaged over recall, where a score of 0 marks levels beyond the end
        """
        errors = inputs.protocol.errors
        if not isinstance(errors, BoxErrors):
            return inputs
        tables = {"annotations": inputs.dataset.annotations, "detections": inputs.detections}
        for table, frame in tables.items():
            refuse_texts(table, frame, [name for kind in errors.kinds for name in NEEDS[kind] if name in VELOCITY])
        if errors.over_recall:
            negative = (inputs.detections["score"] < 0).fill_null(False)
            remedy = f"{inputs.protocol.name} requires scores of at least 0"
            refuse_rows("detections", inputs.detections, negative, "score is negative", remedy)
        if any(frame.is_empty() for frame in tables.values()):
            return inputs
        for kind in errors.kinds:
            missing = [
                f"{table}.{name}" for name in NEEDS[kind] for table, frame in tables.items() if name not in frame.columns
            ]
            if missing:
                are_missing = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
                inputs = inputs.saying(Note(f"{kind.upper()} is computed as if there were no true positives: {are_missing}"))
        return inputs

    def pairs(self, inputs: Inputs, pairs: pl.DataFrame) -> pl.DataFrame:
        """Add their errors to the pairs if the threshold of the errors is evaluated; see `with_errors`."""
        errors = inputs.protocol.errors
        if not isinstance(errors, BoxErrors) or errors.threshold_number(inputs.protocol.iou_thresholds) is None:
            return pairs
        categories = inputs.dataset.core("categories")
        names = pl.Series([name.lower() for name in errors.half_turns], dtype=pl.String)
        ids = categories.filter(categories["name"].cast(pl.String).str.to_lowercase().is_in(names.implode()))["category_id"]
        half_turns = inputs.annotations["category_id"].is_in(ids.implode())
        return with_errors(pairs, inputs.detections, inputs.annotations, half_turns, errors)


def with_errors(
    pairs: pl.DataFrame, detections: pl.DataFrame, annotations: pl.DataFrame, half_turns: pl.Series, errors: BoxErrors
) -> pl.DataFrame:
    """Add a column to the pairs for each kind of error; null where a value is missing.

    Parameters
    ----------
    pairs
        detection and annotation (row numbers), and similarity: minus the distance of the centres
    detections, annotations
        with the columns of cuboids, and optionally velocity_x, velocity_y (m/s) and attribute
    half_turns
        flags of the annotations whose front and back cannot be told apart
    errors
        the kinds of errors

    Returns
    -------
    The pairs with translation_error (metres); scale_error: 1 - the product of the smaller sides over the volume of the union of
    both cuboids, aligned in place and heading, or, with `scale_of_largest`, over the product of the larger sides;
    orientation_error (radians, 0 to π, or to π / 2 for half turns); velocity_error (m/s); attribute_error (0 or 1; null if the
    annotation has no attribute).

    Source: `eval/common/utils.py` of nuscenes-devkit; `distance` of av2-api.

    >>> truth, detections = pl.DataFrame({"cuboid_yaw": [3.0]}), pl.DataFrame({"cuboid_yaw": [-3.0]})
    >>> pairs = pl.DataFrame({"detection": [0], "annotation": [0], "similarity": [-0.5]})
    >>> with_errors(pairs, detections, truth, pl.Series([False]), BoxErrors(-2, ("ate", "aoe"), (2, 3))).select(
    ...     "translation_error", pl.col("orientation_error").round(3)).row(0)
    (0.5, 0.283)
    """
    error_columns = {}
    for kind in errors.kinds:
        there = [name for name in NEEDS[kind] if name in detections.columns and name in annotations.columns]
        column = KINDS[kind]
        if len(there) < len(NEEDS[kind]):
            error_columns[column] = pl.repeat(None, pairs.height, dtype=pl.Float64, eager=True)
            continue
        sides = pl.DataFrame(
            [detections[name].gather(pairs["detection"]) for name in there]
            + [annotations[name].gather(pairs["annotation"]).alias(f"{name}_right") for name in there]
            + [half_turns.gather(pairs["annotation"]).alias("half"), pairs["similarity"]]
        )
        error_columns[column] = sides.select(_EXPRESSIONS[kind](errors)).to_series()
    return pairs.with_columns(**error_columns)


def _translation(errors: BoxErrors) -> pl.Expr:
    del errors
    return -pl.col("similarity")


def _scale(errors: BoxErrors) -> pl.Expr:
    smaller, larger, found, expected = (pl.lit(1.0) for _ in range(4))
    for name in SIZES:
        own, other = pl.col(name), pl.col(f"{name}_right")
        smaller = smaller * pl.when(own < other).then(own).otherwise(other)
        larger = larger * pl.when(own < other).then(other).otherwise(own)
        found, expected = found * own, expected * other
    return 1 - smaller / (larger if errors.scale_of_largest else found + expected - smaller)


def _orientation(errors: BoxErrors) -> pl.Expr:
    del errors
    period = pl.when("half").then(math.pi).otherwise(2 * math.pi)
    return ((pl.col(YAW) - pl.col(f"{YAW}_right") + period / 2) % period - period / 2).abs()


def _velocity(errors: BoxErrors) -> pl.Expr:
    del errors
    x, y = (pl.col(name) - pl.col(f"{name}_right") for name in VELOCITY)
    return (x * x + y * y).sqrt().fill_nan(None)


def _attribute(errors: BoxErrors) -> pl.Expr:
    del errors
    detected, expected = (pl.col(name).cast(pl.String).fill_null("") for name in ("attribute", "attribute_right"))
    return pl.when(expected != "").then((detected != expected).cast(pl.Float64))


_EXPRESSIONS = {"ate": _translation, "ase": _scale, "aoe": _orientation, "ave": _velocity, "aae": _attribute}

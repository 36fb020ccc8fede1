"""Average precision with true positives weighted by orientation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from apframe.exceptions import ParameterError
from apframe.metrics.average_precision import WithAverage
from apframe.metrics.score_cutoffs import AtCutOffs
from apframe.protocols.rules.rule import Rule

if TYPE_CHECKING:
    import numpy as np

    from apframe.metrics.cells import Cells
    from apframe.metrics.weights import Weights
    from apframe.protocols.inputs import Inputs
    from apframe.protocols.protocol import Protocol


@dataclass(frozen=True)
class OrientationWeights(Rule):
    """Weight true positives by the agreement of orientations, from 0 (opposite) to 1.

    Attributes
    ----------
    column
        the column of the orientation, in radians, in both tables
    by
        "cosine": (1 + cos(difference)) / 2, as KITTI does; "angle": 1 - difference, wrapped, / pi, as Waymo does
    """

    line: ClassVar[str] = "oriented"
    column: str
    choices: ClassVar = {"by": ("cosine", "angle")}
    by: Literal["cosine", "angle"]

    @property
    def words(self) -> str:
        """Return the formula of the weight in words."""
        if self.by == "cosine":
            return f"a true positive adds (1 + cos(difference of {self.column})) / 2"
        return f"a true positive adds 1 - difference of {self.column}, wrapped, / pi"

    def refuse(self, protocol: Protocol) -> None:
        """Raise an error if the definition does not average at score cut-offs."""
        if not protocol.definition.at_cut_offs:
            problem = f"orientations are averaged at score cut-offs, with r11, r40 or waymo, not {protocol.definition}"
            raise ParameterError(problem, option="rules")

    def pairs(self, inputs: Inputs, pairs: pl.DataFrame) -> pl.DataFrame:
        """Add `weight` to the pairs, unless a detection has no orientation; annotations without one agree with nothing."""
        detections, annotations = (
            frame[self.column] if self.column in frame.columns else None for frame in (inputs.detections, inputs.annotations)
        )
        if inputs.detections.height and (detections is None or detections.null_count()):
            return pairs
        if pairs.is_empty():
            return pairs.with_columns(weight=pl.lit(None, pl.Float64))
        if annotations is None or detections is None:
            return pairs
        apart = detections.gather(pairs["detection"]) - annotations.gather(pairs["annotation"])
        return pairs.with_columns(weight=self.agreement(apart).fill_null(0.0))

    def agreement(self, apart: pl.Series) -> pl.Series:
        """Return the agreement of orientations from their difference in radians.

        >>> apart = pl.Series([math.pi / 2, 2 * math.pi])
        >>> OrientationWeights("alpha", "cosine").agreement(apart).round(6).to_list()
        [0.5, 1.0]
        >>> OrientationWeights("cuboid_yaw", "angle").agreement(apart).to_list()
        [0.5, 1.0]
        """
        if self.by == "cosine":
            return (1 + apart.cos()) / 2
        return 1 - ((apart + math.pi) % (2 * math.pi) - math.pi).abs() / math.pi


@dataclass(frozen=True)
class OrientedPrecision(WithAverage):
    """Average precision at score cut-offs, plain and with true positives weighted by orientation: AOS, APH.

    The second has no value if no orientation is known.
    """

    columns: ClassVar = ("ap", "oriented_ap")

    def read(self, cells: Cells, weights: Weights) -> Mapping[str, np.ndarray]:
        """Return both kinds of average precision."""
        from apframe.metrics.cutoff_counts import areas

        definition = self.average.definition
        assert isinstance(definition, AtCutOffs)  # protocols reject others
        values = areas(definition, self.average.absent, cells, weights, ("tp", "weight"))
        return dict(zip(self.columns, values.values(), strict=True))

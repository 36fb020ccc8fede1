"""LUNA16's task of nodule detection in scans: marks inside nodules, FROC and CPM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from apframe.benchmarks.medical.luna16.sphere_distance import SphereDistance
from apframe.matching.matchers import Shared
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.definitions import Interpolated
from apframe.metrics.miss_rates import Froc
from apframe.protocols.kit_table import KitTable
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.ignored import IgnoreFlagged
from apframe.protocols.rules.limits import LimitPerImage
from apframe.protocols.rules.malformed import MalformedRefused
from apframe.protocols.rules.standard import STANDARD_ROWS

if TYPE_CHECKING:
    from apframe.evaluation.evaluation import Evaluation

PURPOSES = {
    "LUNA16": "nodules in scans: mean sensitivity (CPM) of the FROC curve",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""


def _sensitivities(evaluation: Evaluation) -> pl.DataFrame:
    """Return the sensitivity at each number of false positives per scan, and CPM, which is their mean."""
    points = evaluation.froc(interpolate=True, level="point").group_by("fppi", maintain_order=True).agg(pl.col("recall").mean())
    numbers = {f"{fppi:g}": recall for fppi, recall in points.rows()} | {"CPM": evaluation["CPM"]}
    return pl.DataFrame(numbers, schema_overrides=dict.fromkeys(numbers, pl.Float64))


LUNA16 = Protocol(
    name="LUNA16",
    citation="Setio et al., Validation, comparison, and combination of algorithms for automatic detection of pulmonary nodules "
    "in computed tomography images: the LUNA16 challenge, Medical Image Analysis 2017; noduleCADEvaluationLUNA16.py",
    iou_type="sphere",
    similarity=SphereDistance(),
    matcher=Shared(ties="input", strict=True),
    iou_thresholds=(-1.0,),
    metrics=(AveragePrecision(Interpolated()), Froc()),
    max_detections=(100,),
    headlines=("CPM",),
    rules=(
        LimitPerImage(ties="none"),
        MalformedRefused(kit="has no such rows"),
        *STANDARD_ROWS,
        IgnoreFlagged(),
    ),
    tables=(KitTable(digits=3, frame=_sensitivities, needs=("CPM",), iou_thresholds=(-1.0,)),),
)
"""Marks inside nodules, at most 100 per scan; marks in excluded findings (`ignore`) are ignored; the mean sensitivity CPM."""

"""Argoverse 2's detection benchmark: claims of the nearest object, errors of the true positives, and the composite score."""

import math

from apframe.benchmarks.driving.argoverse2.definition import Argoverse2
from apframe.benchmarks.driving.argoverse2.format import EVALUATED
from apframe.benchmarks.driving.argoverse2.matcher import ByClaim
from apframe.benchmarks.driving.box_errors import BoxErrors, CompositeScore
from apframe.benchmarks.driving.measured_errors import MeasureErrors
from apframe.metrics.average_precision import AveragePrecision
from apframe.metrics.points import SPACING
from apframe.protocols.kit_table import named, of_classes
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.filters import Filter, KeepObjects
from apframe.protocols.rules.malformed import MalformedCounts
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.centre_distance import CentreDistance

PURPOSES = {
    "ARGOVERSE2": "cuboids by distance: AP, three errors, CDS",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""

_FILTERS = KeepObjects(
    (
        Filter("ego_distance", below=150),
        Filter("n_points", above=0, table="annotations"),
        Filter("in_region", above=0),
    )
)
_ERRORS = BoxErrors(
    threshold=-2.0,
    kinds=("ate", "ase", "aoe"),
    absent=(2.0, 1.0, math.pi),
    over_recall=False,
    undefined=(),
    half_turns=(),
    scale_of_largest=True,
    with_cds=True,
)  # fmt: skip
ARGOVERSE2 = Protocol(
    name="ARGOVERSE2",
    citation="Wilson et al., Argoverse 2: Next Generation Datasets for Self-Driving Perception and Forecasting, NeurIPS 2021; "
    "av2-api, evaluation/detection",
    iou_type="distance",
    similarity=CentreDistance("xyz"),
    matcher=ByClaim(strict=True),
    iou_thresholds=(-4.0, -2.0, -1.0, -0.5),
    metrics=(CompositeScore(AveragePrecision(Argoverse2(), SPACING, counts_absent=True), _ERRORS),),
    max_detections=(100,),
    headlines=("AP", "ATE", "ASE", "AOE", "CDS"),
    rules=(
        MalformedCounts(), *STANDARD_SHAPES, Classes(EVALUATED), _FILTERS, *STANDARD_LISTS,
        MeasureErrors(),
    ),
    tables=(of_classes(*named("AP", "ATE", "ASE", "AOE", "CDS"), digits=3, factor=1),),
)  # fmt: skip
"""26 categories within 150 m, distances below .5, 1, 2 and 4 m; three errors at 2 m, and CDS."""

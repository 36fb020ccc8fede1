"""nuScenes' detection benchmark: distances between centres, errors of the true positives, and the detection score."""

from apframe.benchmarks.driving.box_errors import BoxErrors
from apframe.benchmarks.driving.measured_errors import MeasureErrors
from apframe.benchmarks.driving.nuscenes.definition import NuScenes
from apframe.matching.matchers import ByScoreFirstOfEquals
from apframe.metrics.average_precision import AveragePrecision
from apframe.protocols.kit_table import EachCategory, KitColumn, KitTable, named
from apframe.protocols.protocol import Protocol
from apframe.protocols.rules.classes import Classes
from apframe.protocols.rules.filters import Filter, KeepObjects
from apframe.protocols.rules.limits import RequireAtMost
from apframe.protocols.rules.malformed import MalformedRefused
from apframe.protocols.rules.standard import STANDARD_LISTS, STANDARD_SHAPES
from apframe.similarity.centre_distance import CentreDistance

PURPOSES = {
    "NUSCENES": "cuboids by distance: AP, five errors, NDS",
}
"""The purpose of each protocol, which `apframe.list_protocols` shows."""

_VEHICLES = ("car", "truck", "bus", "trailer", "construction_vehicle")
_CYCLES = ("motorcycle", "bicycle")

_CLASSES = Classes((*_VEHICLES, "pedestrian", *_CYCLES, "traffic_cone", "barrier"))
_FILTERS = KeepObjects(
    (
        Filter("ego_distance", below=50, categories=_VEHICLES),
        Filter("ego_distance", below=40, categories=("pedestrian", *_CYCLES)),
        Filter("ego_distance", below=30, categories=("traffic_cone", "barrier")),
        Filter("n_points", above=0, table="annotations"),
        Filter("in_rack", below=1, categories=_CYCLES),
    )
)
_ERRORS = BoxErrors(
    threshold=-2.0,
    kinds=("ate", "ase", "aoe", "ave", "aae"),
    absent=(1.0, 1.0, 1.0, 1.0, 1.0),
    over_recall=True,
    undefined=(
        ("traffic_cone", "aoe"), ("traffic_cone", "ave"), ("traffic_cone", "aae"), ("barrier", "ave"), ("barrier", "aae"),
    ),
    half_turns=("barrier",),
)  # fmt: skip
_NAMES = ("AP", "ATE", "ASE", "AOE", "AVE", "AAE")
NUSCENES = Protocol(
    name="NUSCENES",
    citation="Caesar et al., nuScenes: A multimodal dataset for autonomous driving, CVPR 2020; nuscenes-devkit, "
    "detection_cvpr_2019",
    iou_type="distance",
    similarity=CentreDistance("xy"),
    matcher=ByScoreFirstOfEquals(ties="later", strict=True),
    iou_thresholds=(-4.0, -2.0, -1.0, -0.5),
    metrics=(AveragePrecision(NuScenes(), counts_absent=True), _ERRORS),
    max_detections=(None,),
    headlines=(*_NAMES, "NDS"),
    rules=(
        RequireAtMost(500), MalformedRefused("stops"), *STANDARD_SHAPES, _CLASSES, _FILTERS, *STANDARD_LISTS,
        MeasureErrors(),
    ),
    tables=(
        KitTable((*(KitColumn(f"m{name}", name) for name in _NAMES), KitColumn("NDS", "NDS")), digits=4, factor=1),
        KitTable(named(*_NAMES), (EachCategory(),), head=("class",), digits=3, factor=1),
    ),
)  # fmt: skip
"""Ten classes within 30 to 50 m, distances below .5, 1, 2 and 4 m; five errors at 2 m, and NDS."""

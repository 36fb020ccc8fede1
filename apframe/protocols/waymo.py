"""Waymo Open Dataset's benchmark of objects: in space, from above and in the cameras' images."""

from dataclasses import replace

from apframe.metrics.score_cutoffs import Waymo
from apframe.protocols.classes import Classes, Difficulty, Keep, Part
from apframe.protocols.protocol import Protocol
from apframe.similarity.bev_iou import BevIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.cuboid_iou import CuboidIoU

_INF = float("inf")
_CLASSES = {"Vehicle": "TYPE_VEHICLE", "Pedestrian": "TYPE_PEDESTRIAN", "Sign": "TYPE_SIGN", "Cyclist": "TYPE_CYCLIST"}
_ALL_NS = ("TYPE_VEHICLE", "TYPE_PEDESTRIAN", "TYPE_CYCLIST")
_NAMES, _LEVELS = (*_CLASSES, "ALL_NS"), ("L1", "L2")


def _report(*metrics: str) -> tuple[str, ...]:
    of_parts = [f"{metric}_{name}{{{level}}}" for name in _NAMES for level in _LEVELS for metric in metrics]
    return (*of_parts, *(f"{metric}{{{level}}}" for level in _LEVELS for metric in metrics))


_CUBOIDS = Protocol(
    name="WAYMO",
    citation="Sun et al., Scalability in Perception for Autonomous Driving: Waymo Open Dataset, CVPR 2020; "
    "waymo-open-dataset 1.6.7, metrics",
    iou_type="3d",
    similarity=CuboidIoU(),
    matching="largest_sum",
    ties="input",
    crowds="ordinary",
    ignores=("ignore",),
    iou_thresholds=(0.5,),
    category_thresholds=(("TYPE_VEHICLE", 0.7), ("TYPE_PEDESTRIAN", 0.5), ("TYPE_SIGN", 0.5), ("TYPE_CYCLIST", 0.5)),
    definition=Waymo(),
    max_detections=(None,),
    further_rules=("levels_of_points", "limits_of_sides", "no_label_zones"),
    parts=(
        *(Part(f"_{name}", "categories", "name", equals=category) for name, category in _CLASSES.items()),
        Part("_ALL_NS", "categories", "name", equals=_ALL_NS),
    ),
    report=_report("AP", "APH"),
    classes=Classes(tuple(_CLASSES.values()), counts_absent=True),
    difficulties=(
        Difficulty("L1", (("level", -_INF, 1),)),
        Difficulty("L2", (("level", -_INF, 2),), is_ranked_by=True),
    ),
    keeps=(Keep("n_points", above=0, table="annotations"),),
    malformed="counted",
    orientation="heading",
)
_IMAGES = replace(
    _CUBOIDS,
    iou_type="bbox",
    similarity=BoxIoU(),
    keeps=(),
    report=_report("AP"),
    orientation="",
)

WAYMO = replace(_CUBOIDS, variants=(replace(_CUBOIDS, iou_type="bev", similarity=BevIoU()), _IMAGES))
"""Vehicles, pedestrians, signs and cyclists at two levels of difficulty, by the largest sum of IoU at 101 score cut-offs."""

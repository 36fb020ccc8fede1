"""KITTI's benchmark of objects: in the image, from above and in space, as the development kit's C++ computes it."""

from dataclasses import replace

from apframe.metrics.score_cutoffs import R40
from apframe.protocols.classes import Classes, Difficulty, Part
from apframe.protocols.protocol import Protocol
from apframe.similarity.bev_iou import BevIoU
from apframe.similarity.box_iou import BoxIoU
from apframe.similarity.cuboid_iou import CuboidIoU

_INF = float("inf")
_NAMES = ("Car", "Pedestrian", "Cyclist")


def _difficulty(name: str, occluded: int, truncated: float, above: float, least: float) -> Difficulty:
    return Difficulty(
        name,
        (("occluded", -_INF, occluded), ("truncated", -_INF, truncated), ("height", above, _INF)),
        (("height", least),),
        is_ranked_by=name == "moderate",
    )


_BOXES = Protocol(
    name="KITTI",
    citation="Geiger et al., Are we ready for Autonomous Driving? The KITTI Vision Benchmark Suite, CVPR 2012; development kit "
    "for objects, evaluate_object.cpp",
    iou_type="bbox",
    similarity=BoxIoU(),
    matching="by_annotation",
    strict=True,
    ties="input",
    crowds="ignored",
    ignores=("ignore",),
    iou_thresholds=(0.5,),
    category_thresholds=(("Car", 0.7), ("Pedestrian", 0.5), ("Cyclist", 0.5)),
    definition=R40(),
    max_detections=(None,),
    parts=tuple(Part(f"_{name}", "categories", "name", equals=name) for name in _NAMES),
    report=(*(f"{metric}_{name}{{area}}" for name in _NAMES for metric in ("AP", "AOS")), "AP{area}", "AOS{area}"),
    classes=Classes(_NAMES, (("Car", "Van"), ("Pedestrian", "Person_sitting")), ("DontCare",)),
    difficulties=(
        _difficulty("easy", 0, 0.15, 40, 40), _difficulty("moderate", 1, 0.3, 25, 25), _difficulty("hard", 2, 0.5, 25, 25),
    ),
    orientation="alpha",
    malformed="by_height",
)  # fmt: skip
_CUBOIDS = replace(
    _BOXES,
    report=(*(f"AP_{name}{{area}}" for name in _NAMES), "AP{area}"),
    orientation="",
)

KITTI = replace(
    _BOXES,
    variants=(
        replace(_CUBOIDS, iou_type="bev", similarity=BevIoU()),
        replace(_CUBOIDS, iou_type="3d", similarity=CuboidIoU()),
    ),
)
"""Cars, pedestrians and cyclists by difficulty, annotations in the order of the file, 40 recall positions."""

"""Waymo Open Dataset: hand cases with their numbers."""

from __future__ import annotations

from tests.conformance.tiny import Hand, at, found, truth_of

ON_ROADS = [{"id": k, "name": f"TYPE_{name}"} for k, name in enumerate(("VEHICLE", "PEDESTRIAN", "SIGN", "CYCLIST"), 1)]
VEHICLE = dict.fromkeys(("cuboid_x", "cuboid_y", "cuboid_z", "cuboid_yaw"), 0.0)
VEHICLE |= {"cuboid_length": 4.0, "cuboid_width": 2.0, "cuboid_height": 1.5}


HAND: dict[str, Hand] = {
    # one of two is found, at the easier level; at level 2 it is one of two
    "waymo": (
        "waymo", {}, truth_of([at(1 + (k == 1), k or 1, **VEHICLE, level=1 + (k == 1), n_points=9) for k in range(5)],
                              categories=ON_ROADS),
        [found(1, 1, 0.9, **VEHICLE)], {"AP_Vehicle_L1": 1.0, "APH_ALL_NS_L2": 0.5 / 3, "AP_L2": 0.5 / 4, "AP_Sign_L1": 0.0},
    ),
}  # fmt: skip

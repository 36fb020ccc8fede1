"""Make the sets of cuboids of `make bench`, of the sizes of driving benchmarks' own.

    python tests/speed/generate_driving.py nuscenes --out DIR --images 60 --images 6019
    python tests/speed/generate_driving.py kitti --out DIR --images 3769
    python tests/speed/generate_driving.py waymo --out DIR --images 40000

Each number of images is a set of three Parquet files, `KIND_images_N`, `KIND_annotations_N` and `KIND_detections_N`, with the
columns that apframe reads, drawn from a seeded generator of its own. A detector
finds most of them, some of them twice, and sees more that is not there.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

Array = np.ndarray
Columns = dict[str, Array]

SEED = 20_261
REACH = 15.0  # metres to each side: near enough for every class, as found too
BOX_REACH = 1_000.0, 230.0  # pixels, of the boxes' upper left corners


@dataclass(frozen=True)
class Kind:
    """What a benchmark's set is made of: its classes with length, width, height and share, and the means per image."""

    classes: dict[str, tuple[float, float, float, float]]
    objects: float
    detections: float
    error: float  # metres that a detection's centre lies beside its object's


KINDS = {
    "nuscenes": Kind(
        {
            "car": (4.6, 1.9, 1.7, 0.34), "truck": (7.0, 2.5, 2.9, 0.06), "bus": (11.0, 2.9, 3.4, 0.03),
            "trailer": (10.0, 2.6, 3.6, 0.03), "construction_vehicle": (6.0, 2.7, 3.1, 0.02),
            "pedestrian": (0.7, 0.7, 1.8, 0.24), "motorcycle": (2.1, 0.8, 1.5, 0.03), "bicycle": (1.7, 0.6, 1.3, 0.03),
            "traffic_cone": (0.4, 0.4, 1.0, 0.1), "barrier": (0.5, 2.5, 1.0, 0.12),
        },
        200_000 / 6_019,
        1_500_000 / 6_019,
        0.6,
    ),
    "kitti": Kind(
        {
            "Car": (3.9, 1.6, 1.5, 0.6), "Pedestrian": (0.8, 0.6, 1.7, 0.1), "Cyclist": (1.8, 0.6, 1.7, 0.05),
            "Van": (5.0, 1.9, 2.2, 0.06), "DontCare": (1.0, 1.0, 1.0, 0.19),
        },
        8,
        16,
        0.05,
    ),
    "waymo": Kind(
        {
            "TYPE_VEHICLE": (4.7, 2.0, 1.8, 0.55), "TYPE_PEDESTRIAN": (0.9, 0.8, 1.7, 0.25),
            "TYPE_SIGN": (0.2, 0.7, 0.7, 0.17), "TYPE_CYCLIST": (1.8, 0.8, 1.7, 0.03),
        },
        15,
        25,
        0.05,
    ),
}  # fmt: skip


def draw_objects(rng: np.random.Generator, kind: Kind, n_images: int, n: int) -> Columns:
    """Cuboids on the ground around the car, each with a box of its own in the camera's image."""
    *sides, shares = np.array(list(kind.classes.values())).T
    of_class = rng.choice(len(shares), n, p=shares / shares.sum())
    return {
        "image": np.sort(rng.integers(n_images, size=n)),
        "class": of_class,
        "centre": rng.uniform(-REACH, REACH, (n, 2)),
        "sides": np.stack(sides, axis=1)[of_class] * rng.lognormal(0, 0.1, (n, 3)),
        "yaw": rng.uniform(-np.pi, np.pi, n),
        "velocity": rng.normal(0, 3, (n, 2)),
        "corner": rng.uniform(0, 1, (n, 2)) * BOX_REACH,
        "extent": rng.uniform(41, 140, (n, 2)),
    }


def draw_detections(rng: np.random.Generator, kind: Kind, n_images: int, objects: Columns) -> Columns:
    """Objects that are found, some of them again, and as many alarms as make up the number of detections."""
    n = round(n_images * kind.detections)
    hits = np.flatnonzero(rng.random(objects["image"].size) < 0.85)
    hits = np.concatenate([hits, rng.choice(hits, hits.size // 5)])
    alarms = draw_objects(rng, kind, n_images, max(n - hits.size, 0))
    error, m = rng.gamma(1.5, 1, (hits.size, 1)) * kind.error, hits.size
    seen = {
        **{name: objects[name][hits] for name in ("image", "class")},
        "centre": objects["centre"][hits] + rng.normal(0, 1, (m, 2)) * error,
        "sides": objects["sides"][hits] * np.exp(rng.normal(0, 0.05, (m, 3))),
        "yaw": objects["yaw"][hits] + rng.normal(0, 0.08, m),
        "velocity": objects["velocity"][hits] + rng.normal(0, 0.5, (m, 2)),
        "corner": objects["corner"][hits] + rng.normal(0, 30, (m, 2)) * error,
        "extent": np.maximum(objects["extent"][hits] * np.exp(rng.normal(0, 0.5, (m, 2)) * error), 41),
    }
    rows = {name: np.concatenate([seen[name], alarms[name]]) for name in seen}
    logit = np.concatenate([1.5 - error[:, 0] / kind.error, np.full(n - m if n > m else 0, -1.5)])
    rows["score"] = 1 / (1 + np.exp(-logit - rng.normal(0, 1, logit.size)))
    order = np.argsort(rows["image"], kind="stable")
    return {name: column[order] for name, column in rows.items()}


def frame(kind: str, rows: Columns, images: list[str]) -> pl.DataFrame:
    """The table that apframe reads, of annotations or, with scores, of detections."""
    names, n = np.array(list(KINDS[kind].classes)), rows["image"].size
    x, y, (length, width, height) = *rows["centre"].T, rows["sides"].T
    columns = {
        "image_id": np.array(images)[rows["image"]],
        "category_id": names[rows["class"]],
        "cuboid_x": x, "cuboid_y": y, "cuboid_z": height / 2 - 1.7,
        "cuboid_length": length, "cuboid_width": width, "cuboid_height": height, "cuboid_yaw": rows["yaw"],
    }  # fmt: skip
    if kind == "nuscenes":
        columns |= {"velocity_x": rows["velocity"][:, 0], "velocity_y": rows["velocity"][:, 1]}
        columns |= {"ego_distance": np.hypot(x, y), "in_rack": np.zeros(n, bool), "attribute": np.full(n, "vehicle.moving")}
    else:
        columns |= {"x": rows["corner"][:, 0], "y": rows["corner"][:, 1]}
        columns |= {"width": rows["extent"][:, 0], "height": rows["extent"][:, 1]}
    if kind == "kitti":
        columns |= {"truncated": np.zeros(n), "occluded": np.zeros(n, int), "alpha": rows["yaw"]}
    if "score" in rows:
        return pl.DataFrame(columns | {"score": rows["score"]})
    if kind == "waymo":
        columns |= {"level": 1 + rows["image"] % 2}
    return pl.DataFrame(columns | ({} if kind == "kitti" else {"n_points": np.full(n, 10)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--images", type=int, action="append", required=True, metavar="N", help="may be given again")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for n_images in options.images:
        kind, rng = KINDS[options.kind], np.random.default_rng([SEED, n_images])
        images = [f"{k:06d}" for k in range(n_images)]
        objects = draw_objects(rng, kind, n_images, round(n_images * kind.objects))
        tables = {
            "images": pl.DataFrame({"image_id": images}),
            "annotations": frame(options.kind, objects, images),
            "detections": frame(options.kind, draw_detections(rng, kind, n_images, objects), images),
        }
        if options.kind == "kitti":  # regions without labels are not found
            tables["detections"] = tables["detections"].filter(pl.col("category_id") != "DontCare")
        for name, table in tables.items():
            table.write_parquet(options.out / f"{options.kind}_{name}_{n_images}.parquet")


if __name__ == "__main__":
    main()

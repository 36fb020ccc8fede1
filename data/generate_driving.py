"""Make the sample set of driving scenes in the folder `driving` beside this file.

    python data/generate_driving.py               the sample set
    python data/generate_driving.py --out DIR     the same, elsewhere

Everything is drawn from one seeded generator: the same NumPy and Polars make the same files.

A scene is a short drive: five samples, half a second apart, of a car that goes straight on, and of objects around it that
stand or move. `scenes` has them as tables of cuboids in one global frame, as nuScenes does: images with scene, weather and
time of day, annotations with velocity, attribute, number of points, distance from the car and occlusion. `model_a.json` and
`model_b.json` are results as nuScenes takes them. `kitti` has what a camera ahead sees of the same objects, and what the models
find there, as KITTI's folders of labels. Model A stands for a lidar: rain costs it more than night does. Model B stands for
cameras: it is worse far away and at night, and surer of what it sees near by.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

# name, share, length, width, height (metres), usual speed (m/s), attributes when moving and when not
CLASSES = [
    ("car", 0.34, 4.6, 1.9, 1.7, 8.0, "vehicle.moving", "vehicle.parked"),
    ("truck", 0.06, 7.0, 2.5, 2.9, 6.0, "vehicle.moving", "vehicle.parked"),
    ("bus", 0.03, 11.0, 2.9, 3.4, 6.0, "vehicle.moving", "vehicle.stopped"),
    ("trailer", 0.02, 10.0, 2.6, 3.6, 0.0, "vehicle.moving", "vehicle.parked"),
    ("construction_vehicle", 0.02, 6.0, 2.7, 3.1, 0.0, "vehicle.moving", "vehicle.parked"),
    ("pedestrian", 0.25, 0.7, 0.7, 1.75, 1.3, "pedestrian.moving", "pedestrian.standing"),
    ("motorcycle", 0.04, 2.1, 0.8, 1.5, 7.0, "cycle.with_rider", "cycle.without_rider"),
    ("bicycle", 0.06, 1.7, 0.6, 1.3, 3.5, "cycle.with_rider", "cycle.without_rider"),
    ("traffic_cone", 0.09, 0.4, 0.4, 1.0, 0.0, None, None),
    ("barrier", 0.09, 0.5, 2.5, 1.0, 0.0, None, None),
]
NAMES = [name for name, *_ in CLASSES]
SIMILAR = {"car": "truck", "truck": "bus", "bus": "truck", "motorcycle": "bicycle", "bicycle": "motorcycle"}
KITTI_TYPES = {"car": "Car", "truck": "Truck", "pedestrian": "Pedestrian", "bicycle": "Cyclist", "trailer": "Misc"}
N_SCENES, N_SAMPLES, STEP = 8, 5, 0.5  # seconds
OBJECTS = 11  # in each scene
REACH = 58.0  # metres, beyond which nothing is labelled
CAMERA_HEIGHT, FOCAL, CENTRE, IMAGE = 1.65, 720.0, (610.0, 175.0), (1242.0, 375.0)
SIZES, CUBOID = ("length", "width", "height"), ("x", "y", "z", "length", "width", "height", "yaw")


@dataclass(frozen=True)
class Model:
    """How one detector errs; logits and metres."""

    skill: float  # chance to find an object right ahead, in clear weather by day
    far: float  # change of that per 10 metres
    occlusion: float  # from unoccluded to fully occluded
    rain: float
    night: float
    offset: float  # error of the centre at 0 metres
    blur: float  # more of it per 10 metres
    turn: float  # error of the yaw, radians
    flips: float  # share of yaws that are the wrong way round
    speed: float  # error of the velocity, m/s
    confusions: float  # share of found objects named as a similar class
    alarms: float  # false alarms per sample


MODELS = {
    "model_a": Model(3.5, -0.30, -2.6, -2.3, -0.1, 0.10, 0.05, 0.10, 0.04, 0.5, 0.12, 1.6),
    "model_b": Model(4.6, -0.70, -2.4, -0.1, -2.2, 0.10, 0.16, 0.14, 0.02, 1.1, 0.04, 1.1),
}


def make_images(rng: np.random.Generator) -> pl.DataFrame:
    """The samples, with the place and heading of the car."""
    scene = np.repeat(np.arange(N_SCENES), N_SAMPLES)
    time = np.tile(np.arange(N_SAMPLES) * STEP, N_SCENES)
    heading = rng.uniform(-np.pi, np.pi, N_SCENES)[scene]
    start, speed = rng.uniform(200, 900, (N_SCENES, 2))[scene], rng.uniform(2, 10, N_SCENES)[scene]
    return pl.DataFrame(
        {
            "image_id": [f"s{k:02d}-{step}" for k, step in zip(scene, np.tile(np.arange(N_SAMPLES), N_SCENES), strict=True)],
            "scene": [f"scene-{k + 1:02d}" for k in scene],
            "timestamp": ((scene * 60 + time) * 1e6).astype(np.int64),
            "weather": np.array(["clear", "clear", "rain", "clear", "rain", "clear", "clear", "rain"])[scene],
            "time_of_day": np.array(["day", "day", "day", "night", "night", "day", "night", "day"])[scene],
            "ego_x": (start[:, 0] + speed * time * np.cos(heading)).round(3),
            "ego_y": (start[:, 1] + speed * time * np.sin(heading)).round(3),
            "heading": heading,
        }
    )


def make_annotations(rng: np.random.Generator, images: pl.DataFrame) -> pl.DataFrame:
    """The objects of every sample that are near enough, with what is known of them."""
    n = N_SCENES * OBJECTS
    scene, number = np.repeat(np.arange(N_SCENES), OBJECTS), np.arange(n)
    kind = rng.choice(len(CLASSES), size=n, p=np.array([share for _, share, *_ in CLASSES]))
    ahead = images["heading"].to_numpy()[scene * N_SAMPLES]
    # more of them ahead of the car than behind it
    bearing = ahead + np.where(rng.random(n) < 0.75, rng.normal(0, 0.35, n), rng.uniform(-np.pi, np.pi, n))
    away = np.clip(rng.gamma(2.6, 10.0, n), 5, REACH)
    sizes = np.array([each[2:5] for each in CLASSES])[kind] * rng.lognormal(0, 0.08, (n, 3))
    usual = np.array([each[5] for each in CLASSES])[kind]
    speed = np.where(rng.random(n) < 0.55, usual * rng.uniform(0.5, 1.3, n), 0.0)
    along = rng.random(n) < 0.7
    yaw = np.where(along, ahead + np.pi * (rng.random(n) < 0.4) + rng.normal(0, 0.06, n), rng.uniform(-np.pi, np.pi, n))
    occlusion = np.clip(rng.beta(0.7, 1.6, n), 0, 0.98)
    middle = images.filter(pl.int_range(pl.len()) % N_SAMPLES == N_SAMPLES // 2)
    objects = pl.DataFrame(
        {
            "scene": [f"scene-{k + 1:02d}" for k in scene],
            "instance": [f"object-{k + 1:03d}" for k in number],
            "category_id": np.array(NAMES)[kind],
            "x0": middle["ego_x"].to_numpy()[scene] + away * np.cos(bearing),
            "y0": middle["ego_y"].to_numpy()[scene] + away * np.sin(bearing),
            **{f"cuboid_{name}": sizes[:, k].round(2) for k, name in enumerate(SIZES)},
            "cuboid_yaw": ((yaw + np.pi) % (2 * np.pi) - np.pi).round(4),
            "velocity_x": (speed * np.cos(yaw)).round(3),
            "velocity_y": (speed * np.sin(yaw)).round(3),
            "attribute": [CLASSES[k][6 if v > 0 else 7] for k, v in zip(kind, speed, strict=True)],
            "occlusion": occlusion,
        }
    )
    moment = pl.int_range(pl.len()).over("scene") * STEP - (N_SAMPLES // 2) * STEP
    rows = images.with_columns(moment=moment).join(objects, on="scene", maintain_order="left")
    rows = rows.with_columns(
        cuboid_x=(pl.col("x0") + pl.col("velocity_x") * pl.col("moment")).round(3),
        cuboid_y=(pl.col("y0") + pl.col("velocity_y") * pl.col("moment")).round(3),
        cuboid_z=(pl.col("cuboid_height") / 2).round(3),
        occlusion=(pl.col("occlusion") + pl.Series(rng.normal(0, 0.05, rows.height))).clip(0, 1).round(2),
    )
    east, north = pl.col("cuboid_x") - pl.col("ego_x"), pl.col("cuboid_y") - pl.col("ego_y")
    rows = rows.with_columns(ego_distance=(east.pow(2) + north.pow(2)).sqrt())
    surface = pl.col("cuboid_height") * (pl.col("cuboid_length") + pl.col("cuboid_width"))
    points = 9000 * surface / pl.col("ego_distance").pow(2) * (1 - pl.col("occlusion")) ** 2
    rows = rows.with_columns(n_points=points.floor().cast(pl.Int64)).filter(pl.col("ego_distance") < REACH)
    return rows.with_row_index("annotation_id", 1)


def make_racks(images: pl.DataFrame, annotations: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Images with a rack of 5 x 2 x 2 metres around the first bicycle that stands, and annotations that say what is in it."""
    stands = (pl.col("category_id") == "bicycle") & (pl.col("attribute") == "cycle.without_rider")
    first = annotations.filter(stands).head(1)
    center = [first[f"cuboid_{axis}"][0] for axis in "xyz"]
    rack = [*center, 5.0, 2.0, 2.0, 0.0]
    has_rack = pl.col("scene") == first["scene"][0]
    images = images.with_columns(bicycle_racks=pl.when(has_rack).then(pl.lit(rack, dtype=pl.List(pl.Float64))))
    away = [(pl.col(f"cuboid_{axis}") - at).abs() for axis, at in zip("xyz", center, strict=True)]
    is_cycle = pl.col("category_id").is_in(["bicycle", "motorcycle"])
    inside = is_cycle & has_rack & (away[0] <= 2.5) & (away[1] <= 1) & (away[2] <= 1)
    return images, annotations.with_columns(in_rack=inside)


def find(rng: np.random.Generator, model: Model, objects: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """What the model finds, best scores first within a sample."""
    distance, n = objects["ego_distance"].to_numpy(), objects.height
    chance = model.skill + model.far * distance / 10 + model.occlusion * objects["occlusion"].to_numpy()
    chance += (
        model.rain * (objects["weather"] == "rain").to_numpy() + model.night * (objects["time_of_day"] == "night").to_numpy()
    )
    hits = objects.with_columns(chance=pl.Series(chance)).filter(pl.Series(rng.random(n) < 1 / (1 + np.exp(-chance))))
    n = hits.height
    blur = model.offset + model.blur * hits["ego_distance"].to_numpy() / 10
    names = [
        SIMILAR.get(name, name) if wrong else name
        for name, wrong in zip(hits["category_id"], rng.random(n) < model.confusions, strict=True)
    ]
    flipped = np.pi * (rng.random(n) < model.flips)
    is_wrong = rng.random(n) < 0.12  # about the attribute
    other = {first: second for *_, first, second in CLASSES} | {second: first for *_, first, second in CLASSES}
    logit = hits["chance"].to_numpy() * 0.8 + rng.normal(0, 0.7, n) - 1.2 * (np.array(names) != hits["category_id"].to_numpy())
    true = hits.with_columns(
        category_id=pl.Series(names),
        cuboid_x=hits["cuboid_x"] + rng.normal(0, blur),
        cuboid_y=hits["cuboid_y"] + rng.normal(0, blur),
        cuboid_z=hits["cuboid_z"] + rng.normal(0, 0.08, n),
        **{f"cuboid_{name}": hits[f"cuboid_{name}"] * rng.lognormal(0, 0.07, n) for name in SIZES},
        cuboid_yaw=hits["cuboid_yaw"] + rng.normal(0, model.turn, n) + flipped,
        velocity_x=hits["velocity_x"] + rng.normal(0, model.speed, n),
        velocity_y=hits["velocity_y"] + rng.normal(0, model.speed, n),
        attribute=pl.Series([other[a] if wrong else a for a, wrong in zip(hits["attribute"], is_wrong, strict=True)]),
        score=pl.Series(1 / (1 + np.exp(-logit))),
    )
    # objects of other samples, where nothing is
    count = rng.poisson(model.alarms, images.height)
    false = objects[rng.choice(objects.height, size=count.sum())].drop("image_id", "weather", "time_of_day")
    at = images[np.repeat(np.arange(images.height), count)]
    bearing, away = rng.uniform(-np.pi, np.pi, false.height), rng.uniform(6, 50, false.height)
    false = false.with_columns(
        at["image_id"], at["heading"], at["ego_x"], at["ego_y"], at["weather"], at["time_of_day"],
        cuboid_x=at["ego_x"] + away * np.cos(bearing),
        cuboid_y=at["ego_y"] + away * np.sin(bearing),
        score=pl.Series(1 / (1 + np.exp(-rng.normal(-1.1, 0.9, false.height)))),
    )  # fmt: skip
    every = pl.concat([true, false.select(pl.col(name) for name in true.columns if name != "chance")], how="diagonal")
    order = images.select("image_id").with_row_index("place")
    every = every.join(order, on="image_id").sort("place", pl.col("score"), descending=[False, True], maintain_order=True)
    return every.with_columns(pl.col("score").clip(0.02, 0.999).round(4))


def nuscenes_results(found: pl.DataFrame, images: pl.DataFrame) -> str:
    """Detections as the JSON that nuScenes takes, a line for each."""
    samples: dict[str, list[str]] = {token: [] for token in images["image_id"]}
    for row in found.iter_rows(named=True):
        half = row["cuboid_yaw"] / 2
        box = {
            "sample_token": row["image_id"],
            "translation": [round(row[f"cuboid_{axis}"], 2) for axis in "xyz"],
            "size": [round(row[f"cuboid_{side}"], 2) for side in ("width", "length", "height")],
            "rotation": [round(float(np.cos(half)), 4), 0, 0, round(float(np.sin(half)), 4)],
            "velocity": [round(row["velocity_x"], 2), round(row["velocity_y"], 2)],
            "detection_name": row["category_id"],
            "detection_score": row["score"],
            "attribute_name": row["attribute"] or "",
        }
        samples[row["image_id"]].append(json.dumps(box, separators=(",", ":")))
    lists = ",\n".join(f'"{token}":[' + ",\n".join(boxes) + "]" for token, boxes in samples.items())
    meta = {"use_camera": True, "use_lidar": True, "use_radar": False, "use_map": False, "use_external": False}
    return f'{{"meta":{json.dumps(meta)},\n"results":{{\n{lists}\n}}}}\n'


def before_camera(objects: pl.DataFrame) -> pl.DataFrame:
    """What the camera sees, with the edges of its box and KITTI's columns."""
    heading = objects["heading"].to_numpy()
    east, north = (objects[f"cuboid_{axis}"].to_numpy() - objects[f"ego_{axis}"].to_numpy() for axis in "xy")
    cos, sin = np.cos(heading), np.sin(heading)
    ahead, left = east * cos + north * sin, north * cos - east * sin
    length, width, height = (objects[f"cuboid_{name}"].to_numpy() for name in SIZES)
    turn = -(objects["cuboid_yaw"].to_numpy() - heading) - np.pi / 2  # about the axis that points down, from x towards -z
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    bottom = CAMERA_HEIGHT - (objects["cuboid_z"].to_numpy() - height / 2)
    a, b, up = (np.array(signs)[:, None] for signs in ([1, 1, 1, 1, -1, -1, -1, -1], [1, 1, -1, -1] * 2, [0, 1] * 4))
    x = -left + a * length / 2 * np.cos(turn) + b * width / 2 * np.sin(turn)
    z = np.maximum(ahead - a * length / 2 * np.sin(turn) + b * width / 2 * np.cos(turn), 0.5)
    y = bottom - up * height
    across, down = FOCAL * x / z + CENTRE[0], FOCAL * y / z + CENTRE[1]
    whole = np.stack([across.min(0), down.min(0), across.max(0), down.max(0)])
    seen = np.clip(whole, 0, np.array([*IMAGE, *IMAGE])[:, None] - 1)
    area = (seen[2] - seen[0]) * (seen[3] - seen[1])
    truncated = 1 - area / ((whole[2] - whole[0]) * (whole[3] - whole[1]))
    columns = {
        "truncated": truncated, "alpha": turn - np.arctan2(-left, ahead), "rotation_y": turn,
        "camera_x": -left, "camera_y": bottom, "camera_z": ahead,
        **dict(zip(("left", "top", "right", "bottom"), seen, strict=True)),
    }  # fmt: skip
    columns["occluded"] = np.digitize(objects["occlusion"].to_numpy(), [0.25, 0.6, 0.9])
    columns["alpha"] = (columns["alpha"] + np.pi) % (2 * np.pi) - np.pi
    framed = objects.with_columns(**{name: pl.Series(values) for name, values in columns.items()})
    has_type = pl.col("category_id").is_in(list(KITTI_TYPES))
    return framed.filter(has_type & (pl.col("camera_z") > 4) & (pl.col("truncated") < 0.8) & (pl.Series(area) > 60))


def kitti_lines(objects: pl.DataFrame, *, scored: bool) -> pl.DataFrame:
    """Lines of KITTI's label files: image_id and line. Unscored objects beyond 50 metres are DontCare."""
    numbers = [*(f"cuboid_{name}" for name in ("height", "width", "length")), "camera_x", "camera_y", "camera_z", "rotation_y"]
    rows = []
    for row in objects.iter_rows(named=True):
        edges = " ".join(f"{row[name]:.2f}" for name in ("left", "top", "right", "bottom"))
        cuboid = " ".join(f"{row[name]:.2f}" for name in numbers)
        view = f"{row['truncated']:.2f} {row['occluded']} {row['alpha']:.2f}"
        line = f"{KITTI_TYPES[row['category_id']]} {'-1 -1 ' + view.split()[2] if scored else view} {edges} {cuboid}"
        if not scored and row["camera_z"] > 50:
            line = f"DontCare -1 -1 -10 {edges} -1 -1 -1 -1000 -1000 -1000 -10"
        rows.append((row["image_id"], f"{line} {row['score']:.4f}" if scored else line))
    return pl.DataFrame(rows, schema=["image_id", "line"], orient="row")


def write_kitti(folder: Path, lines: pl.DataFrame, images: pl.DataFrame) -> None:
    folder.mkdir(parents=True)
    for number, image_id in enumerate(images["image_id"]):
        own = lines.filter(image_id=image_id)["line"].to_list()
        (folder / f"{number:06d}.txt").write_text("".join(f"{line}\n" for line in own))


def make(folder: Path) -> None:
    """Write the sample set into a folder, which must not have it yet."""
    rng = np.random.default_rng(24)
    images = make_images(rng)
    images, annotations = make_racks(images, make_annotations(rng, images))
    results = {name: find(rng, model, annotations, images) for name, model in MODELS.items()}
    scenes = folder / "scenes"
    scenes.mkdir(parents=True)
    images.drop("heading").write_parquet(scenes / "images.parquet")
    pl.DataFrame({"category_id": NAMES, "name": NAMES}).write_parquet(scenes / "categories.parquet")
    columns = [f"cuboid_{name}" for name in CUBOID]
    columns += ["velocity_x", "velocity_y", "attribute", "n_points", "ego_distance", "in_rack", "occlusion", "instance"]
    annotations.select("annotation_id", "image_id", "category_id", *columns).write_parquet(scenes / "annotations.parquet")
    write_kitti(folder / "kitti" / "label_2", kitti_lines(before_camera(annotations), scored=False), images)
    for name, detections in results.items():
        (folder / f"{name}.json").write_text(nuscenes_results(detections, images))
        write_kitti(folder / "kitti" / name, kitti_lines(before_camera(detections), scored=True), images)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "driving", help="the folder to write")
    make(parser.parse_args().out)


if __name__ == "__main__":
    main()

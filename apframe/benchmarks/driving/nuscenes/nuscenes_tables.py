"""The tables of nuScenes as images, categories and annotations."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import polars as pl

from apframe.benchmarks.driving.nuscenes.object_places import RACKS, with_places
from apframe.benchmarks.driving.nuscenes.splits import scenes_of
from apframe.benchmarks.driving.quaternions import QUATERNION, yaw_of_quaternion
from apframe.exceptions import FormatError
from apframe.formats.coco.scan import json_database
from apframe.formats.files import reading
from apframe.paths import duckdb_literal, refuse_pipe
from apframe.rows import row_numbers
from apframe.tables.column_sources import from_arrow_stream
from apframe.tables.shapes.declarations import CUBOID
from apframe.wording import first_line, listed

CLASSES = {
    "barrier": ("movable_object.barrier",),
    "bicycle": ("vehicle.bicycle",),
    "bus": ("vehicle.bus.bendy", "vehicle.bus.rigid"),
    "car": ("vehicle.car",),
    "construction_vehicle": ("vehicle.construction",),
    "motorcycle": ("vehicle.motorcycle",),
    "pedestrian": (
        "human.pedestrian.adult",
        "human.pedestrian.child",
        "human.pedestrian.construction_worker",
        "human.pedestrian.police_officer",
    ),
    "traffic_cone": ("movable_object.trafficcone",),
    "trailer": ("vehicle.trailer",),
    "truck": ("vehicle.truck",),
}
"""The ten classes of detections, and the categories that they are made of; objects of other categories are left out."""
_RACK = "static_object.bicycle_rack"
_CLASS_OF = {category: name for name, categories in CLASSES.items() for category in categories}
_TOKEN, _TEXT, _NUMBERS = "VARCHAR", "VARCHAR", "DOUBLE[]"
_COLUMNS = {
    "sample": {"token": _TOKEN, "timestamp": "BIGINT", "scene_token": _TOKEN},
    "scene": {"token": _TOKEN, "name": _TEXT, "description": _TEXT},
    "sample_data": {"sample_token": _TOKEN, "ego_pose_token": _TOKEN, "is_key_frame": "BOOLEAN", "filename": _TEXT},
    "ego_pose": {"token": _TOKEN, "translation": _NUMBERS},
    "instance": {"token": _TOKEN, "category_token": _TOKEN},
    "category": {"token": _TOKEN, "name": _TEXT},
    "attribute": {"token": _TOKEN, "name": _TEXT},
    "sample_annotation": {
        "token": _TOKEN, "sample_token": _TOKEN, "instance_token": _TOKEN, "attribute_tokens": "VARCHAR[]",
        "visibility_token": _TOKEN, "translation": _NUMBERS, "size": _NUMBERS, "rotation": _NUMBERS, "prev": _TOKEN,
        "next": _TOKEN, "num_lidar_pts": "BIGINT", "num_radar_pts": "BIGINT",
    },
}  # fmt: skip
_OPTIONAL = ("description", "visibility_token")
_LONGEST_GAP = 1.5  # seconds between two annotations, beyond which there is no velocity


def read_tables(folder: Path, split: str | None) -> dict[str, pl.DataFrame]:
    """Read `images`, `categories` and `annotations` of the samples of a split; see `NuScenesFormat` for their columns.

    Raises
    ------
    FormatError
        a table is missing, not JSON, or lacks columns or the rows that another one refers to
    ParameterError
        no such split
    """
    samples = _look_up(folder, "sample", "scene_token", _read(folder, "sample"), "scene").rename({"name": "scene"})
    if split is not None:
        chosen = scenes_of(split, set(samples["scene"]), folder)
        samples = samples.filter(pl.col("scene").is_in(list(chosen)))
    objects = _look_up(folder, "sample_annotation", "instance_token", _objects(folder), "instance")
    objects = _look_up(folder, "instance", "category_token", objects, "category")
    racks = objects.filter(pl.col("name") == _RACK).group_by("sample_token").agg(pl.concat_list(CUBOID).explode().alias(RACKS))
    images = (
        samples.join(_ego_poses(folder, samples), left_on="token", right_on="sample_token", how="left", maintain_order="left")
        .join(racks, left_on="token", right_on="sample_token", how="left", maintain_order="left")
        .select("scene", "description", "timestamp", "ego_x", "ego_y", RACKS, image_id="token")
    )
    if images["ego_x"].null_count():
        lacking = images.filter(pl.col("ego_x").is_null())["image_id"].to_list()
        raise FormatError(f"no key frame of LIDAR_TOP for the sample {listed(lacking)}", path=folder / "sample_data.json")
    objects = objects.filter(pl.col("sample_token").is_in(images["image_id"].implode()))
    objects = objects.with_columns(category_id=pl.col("name").replace_strict(_CLASS_OF, default=None)).drop_nulls("category_id")
    annotations = objects.select(
        annotation_id="token",
        image_id="sample_token",
        category_id="category_id",
        **{name: pl.col(name) for name in (*CUBOID, "velocity_x", "velocity_y")},
        attribute=_attributes(folder, objects),
        n_points=pl.col("num_lidar_pts") + pl.col("num_radar_pts"),
        visibility=pl.col("visibility_token").cast(pl.Int64, strict=False),
        instance="instance_token",
    )
    categories = pl.DataFrame({"category_id": list(CLASSES), "name": list(CLASSES)})
    return {"images": images, "categories": categories, "annotations": with_places(annotations, images)}


def _read(folder: Path, name: str, where: str = "true") -> pl.DataFrame:
    """Read the columns of a table that are needed here, in the rows that meet an SQL condition."""
    import duckdb  # not loaded by `import apframe`

    path, columns = folder / f"{name}.json", _COLUMNS[name]
    refuse_pipe(path)
    with reading(path) as file:
        ends = file.read(1 << 12).lstrip()[:1], _last(file)
    if ends != (b"[", b"]"):
        raise FormatError("not a JSON list of objects, or cut off", path=path)
    try:
        cursor = json_database().cursor()
        rows = cursor.read_json(duckdb_literal(path), format="array", columns=columns, hive_partitioning=False)
        frame = from_arrow_stream(rows.filter(where))
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        raise FormatError(f"cannot be read as a table of nuScenes ({first_line(error)})", path=path) from error
    for column in (column for column in columns if column not in _OPTIONAL):
        _refuse(path, frame[column].is_null(), f"{column} is missing")
        if columns[column] == _TEXT:  # lists and objects have become their text
            _refuse(path, frame[column].str.contains(r"^\s*[\[{]"), f"{column} is not text")
    if "token" in columns:
        _refuse(path, frame["token"].is_duplicated(), "token is not unique")
    for column, n in (("translation", 3), ("size", 3), ("rotation", 4)):
        if column in columns:
            is_right = (frame[column].list.len() == n) & (frame[column].list.eval(pl.element().is_finite()).list.sum() == n)
            _refuse(path, ~is_right.fill_null(False), f"{column} is not {n} numbers")
    return frame


def _last(file: BinaryIO) -> bytes:
    """Return the last byte of a file that is not a blank."""
    file.seek(-min(1 << 12, file.seek(0, 2)), 2)
    return file.read().rstrip()[-1:]


def _refuse(path: Path, wrong: pl.Series, problem: str) -> None:
    if wrong.any():
        rows = row_numbers(wrong)
        raise FormatError(f"{problem} in row {listed(rows)}", "correct the file", path=path, rows=rows)


def _look_up(folder: Path, table: str, key: str, frame: pl.DataFrame, owner: str) -> pl.DataFrame:
    """Add the columns of another table, to whose tokens a column refers; rows keep their order."""
    owners = _read(folder, owner)
    unknown = ~frame[key].is_in(owners["token"].implode())
    if unknown.any():
        which = listed(frame[key].filter(unknown).unique(maintain_order=True).to_list())
        raise FormatError(f"{key} {which} is not in {owner}.json", path=folder / f"{table}.json")
    return frame.join(owners.rename({"token": key}), on=key, how="left", maintain_order="left")


def _ego_poses(folder: Path, samples: pl.DataFrame) -> pl.DataFrame:
    """Return the position of the car at the key frame of the lidar: sample_token, ego_x, ego_y."""
    frames = _read(folder, "sample_data", "is_key_frame AND filename LIKE '%LIDAR_TOP%'")
    frames = frames.filter(pl.col("sample_token").is_in(samples["token"].implode())).unique("sample_token", maintain_order=True)
    poses = _look_up(folder, "sample_data", "ego_pose_token", frames, "ego_pose")
    x, y = (pl.col("translation").list.get(place) for place in range(2))
    return poses.select("sample_token", ego_x=x, ego_y=y)


def _objects(folder: Path) -> pl.DataFrame:
    """Read the annotations with their cuboids and velocities."""
    rows = _read(folder, "sample_annotation")
    times = _read(folder, "sample").select(sample_token="token", time=pl.col("timestamp") * 1e-6)
    x, y, z = (pl.col("translation").list.get(place) for place in range(3))
    width, length, height = (pl.col("size").list.get(place) for place in range(3))
    parts = (pl.col("rotation").list.get(place).alias(name) for place, name in enumerate(QUATERNION))
    rows = rows.with_columns(parts).join(times, on="sample_token", how="left", maintain_order="left")
    rows = rows.with_columns(**dict(zip(CUBOID, (x, y, z, length, width, height, yaw_of_quaternion()), strict=True)))
    return rows.with_columns(**_velocities(rows))


def _velocities(rows: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the velocity from the previous to the next annotation of the same object; null if they are too far apart.

    An annotation without a neighbour on one side takes its place.
    """
    here = rows.select("token", "cuboid_x", "cuboid_y", "time")
    around = {
        side: rows.select(token=side).join(here, on="token", how="left", maintain_order="left") for side in ("prev", "next")
    }
    has = {side: frame["time"].is_not_null() for side, frame in around.items()}
    ends = {
        side: frame.select(pl.when(has[side]).then(pl.col(name)).otherwise(here[name]).alias(name) for name in here.columns[1:])
        for side, frame in around.items()
    }
    difference = {name: ends["next"][name] - ends["prev"][name] for name in here.columns[1:]}
    seconds = difference["time"]
    longest = _LONGEST_GAP * (1 + (has["prev"] & has["next"]).cast(pl.Float64))
    is_known = (has["prev"] | has["next"]) & (seconds <= longest) & (seconds > 0)
    return {
        f"velocity_{axis}": (difference[f"cuboid_{axis}"] / seconds).set(~is_known.fill_null(False), None)
        for axis in ("x", "y")
    }


def _attributes(folder: Path, objects: pl.DataFrame) -> pl.Series:
    """Return the name of each object's attribute; null for objects without one. Several are an error."""
    tokens = objects["attribute_tokens"]
    if (tokens.list.len() > 1).any():
        which = objects.filter(tokens.list.len() > 1)["token"].to_list()
        raise FormatError(f"more than one attribute for {listed(which)}", path=folder / "sample_annotation.json")
    names = _read(folder, "attribute").unique("token")
    return tokens.list.first().replace_strict(names["token"], names["name"], default=None).alias("attribute")

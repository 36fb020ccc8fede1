"""Small scenes of driving in the files of nuScenes, for the tests of its format and of its protocol."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from tests.formats.folders import written

Json = dict[str, Any]
Objects = list[tuple[str, str, str, tuple[float, float, float], Json]]


def rotation(yaw: float) -> list[float]:
    """The quaternion w, x, y, z of a turn about the vertical."""
    return [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]


def tables(
    samples: dict[str, tuple[str, float, tuple[float, float]]],
    objects: Objects,
) -> dict[str, list[Json]]:
    """The tables of nuScenes.

    Parameters
    ----------
    samples
        by token: the name of the scene, the time in seconds, and the place of the car
    objects
        sample, instance, category, centre, and further fields: size (w, l, h), yaw, attribute, num_lidar_pts, num_radar_pts
    """
    scenes = dict.fromkeys(scene for scene, _, _ in samples.values())
    categories = dict.fromkeys(category for _, _, category, _, _ in objects)
    attributes = dict.fromkeys(more["attribute"] for *_, more in objects if "attribute" in more)
    annotations: list[Json] = []
    last: dict[str, Json] = {}
    for number, (sample, instance, _, centre, more) in enumerate(objects):
        row: Json = {
            "token": f"ann{number}", "sample_token": sample, "instance_token": instance, "visibility_token": "4", "prev": "",
            "attribute_tokens": [f"a_{more['attribute']}"] if "attribute" in more else [], "translation": list(centre),
            "size": list(more.get("size", (2.0, 4.0, 1.5))), "rotation": rotation(more.get("yaw", 0.0)), "next": "",
            "num_lidar_pts": more.get("num_lidar_pts", 5), "num_radar_pts": more.get("num_radar_pts", 0),
        }  # fmt: skip
        if instance in last:
            row["prev"], last[instance]["next"] = last[instance]["token"], row["token"]
        last[instance] = row
        annotations.append(row)
    frames = [
        {
            "token": f"{channel}_{token}_{is_key}", "sample_token": token, "ego_pose_token": f"{channel}_{token}_{is_key}",
            "is_key_frame": is_key, "filename": f"samples/{channel}/{token}.bin", "fileformat": "bin",
        }
        for token in samples
        for channel, is_key in (("CAM_FRONT", True), ("LIDAR_TOP", False), ("LIDAR_TOP", True))
    ]  # fmt: skip
    poses = []
    for frame in frames:
        x, y = (
            samples[frame["sample_token"]][2] if frame["token"].startswith("LIDAR") and frame["is_key_frame"] else (-99.0, 0.0)
        )
        poses.append({"token": frame["token"], "timestamp": 0, "translation": [x, y, 0.0], "rotation": rotation(0.0)})
    return {
        "scene": [{"token": f"s_{name}", "name": name, "description": f"{name}, rain"} for name in scenes],
        "sample": [
            {"token": token, "timestamp": round(time * 1e6), "scene_token": f"s_{scene}", "prev": "", "next": ""}
            for token, (scene, time, _) in samples.items()
        ],
        "sample_data": frames,
        "ego_pose": poses,
        "category": [{"token": f"c_{name}", "name": name, "description": ""} for name in categories],
        "instance": [
            {"token": instance, "category_token": f"c_{category}"}
            for instance, category in {instance: category for _, instance, category, _, _ in objects}.items()
        ],
        "attribute": [{"token": f"a_{name}", "name": name} for name in attributes],
        "sample_annotation": annotations,
    }


def write_tables(folder: Path, made: dict[str, list[Json]]) -> Path:
    """A folder with these tables."""
    return written(folder, {f"{name}.json": json.dumps(rows) for name, rows in made.items()})


def box(sample: str, name: str, score: float, centre: tuple[float, float, float], **more: Any) -> Json:
    """A box of results."""
    return {
        "sample_token": sample, "translation": list(centre), "size": list(more.get("size", (2.0, 4.0, 1.5))),
        "rotation": rotation(more.get("yaw", 0.0)), "velocity": list(more.get("velocity", (0.0, 0.0))), "detection_name": name,
        "detection_score": score, "attribute_name": more.get("attribute", ""),
    }  # fmt: skip


def write_results(path: Path, results: dict[str, list[Json]]) -> Path:
    """A file of results."""
    path.write_text(json.dumps({"meta": {"use_camera": False, "use_lidar": True}, "results": results}))
    return path


def write_for_kit(folder: Path, made: dict[str, list[Json]]) -> Path:
    """The data root with these tables as v1.0-mini, and those that nuscenes-devkit wants beside them."""
    channels = {row["token"].rsplit("_", 2)[0] for row in made["sample_data"]}
    further = {
        "visibility": [{"token": "4", "level": "v80-100"}],
        "sensor": [{"token": name, "channel": name, "modality": name.split("_")[0].lower()} for name in channels],
        "calibrated_sensor": [
            {"token": name, "sensor_token": name, "translation": [0.0] * 3, "rotation": rotation(0.0)} for name in channels
        ],
        "log": [{"token": "log", "location": "here"}],
        "map": [{"token": "map", "log_tokens": ["log"], "filename": "map.png", "category": "semantic_prior"}],
        "sample_data": [
            row | {"calibrated_sensor_token": row["token"].rsplit("_", 2)[0]} for row in made["sample_data"]
        ],
    }  # fmt: skip
    written(folder, {"map.png": ""})
    write_tables(folder / "v1.0-mini", made | further)
    return folder

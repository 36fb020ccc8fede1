"""nuscenes-devkit and av2 themselves on generated sets: equal scores, equal places, rows without velocity or attribute."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import apframe as apf
from tests.benchmarks.driving.driving_boxes import Row, evaluate, generated
from tests.kits import run_kit
from tests.protocols.rules_of import classes_of

pytestmark = pytest.mark.slow
SEEDS = range(40)
IMAGES = [f"i{k}" for k in range(4)]

OF_NUSCENES = """
import numpy as np
from nuscenes.eval.common.data_classes import EvalBoxes
from nuscenes.eval.common.utils import center_distance
from nuscenes.eval.detection.algo import accumulate, calc_ap, calc_tp
from nuscenes.eval.detection.config import config_factory
from nuscenes.eval.detection.data_classes import DetectionBox, DetectionMetrics
from nuscenes.eval.detection.constants import TP_METRICS

def boxes(rows):
    by_image = EvalBoxes()
    for image in given["images"]:
        own = [row for row in rows if row[0] == image]
        by_image.add_boxes(image, [DetectionBox(sample_token=image, translation=row[1], size=row[2], rotation=row[3],
            velocity=[float("nan") if value is None else value for value in row[4]], detection_name=row[5],
            detection_score=row[6], attribute_name=row[7]) for row in own])
    return by_image

summaries = []
for truth, found in given["sets"]:
    sides, metrics = (boxes(truth), boxes(found)), DetectionMetrics(config_factory("detection_cvpr_2019"))
    for name in given["names"]:
        data = {metres: accumulate(*sides, name, center_distance, metres) for metres in (0.5, 1.0, 2.0, 4.0)}
        for metres, each in data.items():
            metrics.add_label_ap(name, metres, calc_ap(each, 0.1, 0.1))
        nothing = {"traffic_cone": ("attr_err", "vel_err", "orient_err"), "barrier": ("attr_err", "vel_err")}.get(name, ())
        for metric in TP_METRICS:
            metrics.add_label_tp(name, metric, np.nan if metric in nothing else calc_tp(data[2.0], 0.1, metric))
    kinds = {"trans_err": "ATE", "scale_err": "ASE", "orient_err": "AOE", "vel_err": "AVE", "attr_err": "AAE"}
    errors = {kinds[metric]: error for metric, error in metrics.tp_errors.items()}
    summaries.append({"AP": metrics.mean_ap, **errors, "NDS": metrics.nd_score})
print(json.dumps(summaries))
"""
OF_AV2 = """
import numpy as np, pandas as pd
from av2.evaluation.detection.eval import summarize_metrics
from av2.evaluation.detection.utils import DetectionCfg, accumulate

config = DetectionCfg(eval_only_roi_instances=False)
numbers = [0.5, 1.0, 2.0, 4.0, "ATE", "ASE", "AOE", "is_evaluated"]
summaries = []
for groups in given["sets"]:
    sides = [], []
    for name, found, truth in groups:
        arrays = [np.array(rows, dtype=float).reshape(-1, 11) for rows in (found, truth)]
        for array, result, into in zip(arrays, accumulate(*arrays, config), sides):
            into += [{"category": name, "score": values[-1], **dict(zip(numbers, row))} for values, row in zip(array, result)]
    tables = [pd.DataFrame(rows, columns=["category", "score", *numbers]).astype({"is_evaluated": bool}) for rows in sides]
    summaries.append(summarize_metrics(*tables, config).mean().to_dict())
print(json.dumps(summaries))
"""


def quaternion(yaw: float) -> list[float]:
    return [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]


def for_nuscenes(row: Row) -> list[Any]:
    return [
        row["image_id"], [row[f"cuboid_{axis}"] for axis in "xyz"],
        [row[f"cuboid_{side}"] for side in ("width", "length", "height")], quaternion(row["cuboid_yaw"]),
        [row["velocity_x"], row["velocity_y"]], row["category_id"], row.get("score", -1.0),
        {"moving": "vehicle.moving", "parked": "vehicle.parked", None: ""}[row["attribute"]],
    ]  # fmt: skip


def test_nuscenes() -> None:
    scenes = [generated(np.random.default_rng(seed), ["car", "barrier", "traffic_cone", "bus"]) for seed in SEEDS]
    for _, detections in scenes:
        detections.sort(key=lambda row: row["image_id"])  # the kit takes sample after sample
    sets = [[[for_nuscenes(row) for row in rows] for rows in both] for both in scenes]
    names = list(classes_of(apf.NUSCENES).names)
    expected = run_kit("nuscenes", OF_NUSCENES, {"sets": sets, "images": IMAGES, "names": names})
    for (truth, detections), summary in zip(scenes, expected, strict=True):
        assert dict(evaluate(truth, detections, apf.NUSCENES, IMAGES, names).summary.rows()) == pytest.approx(summary, abs=1e-9)


def for_av2(rows: list[Row], image: str, name: str) -> list[list[float]]:
    own = [row for row in rows if (row["image_id"], row["category_id"]) == (image, name)]
    sides = ("x", "y", "z", "length", "width", "height")
    return [[*(row[f"cuboid_{side}"] for side in sides), *quaternion(row["cuboid_yaw"]), row.get("score", 5)] for row in own]


def test_av2() -> None:
    scenes = [generated(np.random.default_rng(seed), ["REGULAR_VEHICLE", "BUS", "DOG"]) for seed in SEEDS]
    sets = []
    for truth, detections in scenes:
        for number, row in enumerate(detections):
            row["score"] = 0.05 + 0.9 * row["score"] + number / 1e6  # the kit leaves the order of equal scores open
        groups = sorted({(row["image_id"], row["category_id"]) for row in [*truth, *detections]})
        sets.append([[name, for_av2(detections, image, name), for_av2(truth, image, name)] for image, name in groups])
    expected = run_kit("av2", OF_AV2, {"sets": sets})
    names = classes_of(apf.ARGOVERSE2).names
    for (truth, detections), summary in zip(scenes, expected, strict=True):
        assert dict(evaluate(truth, detections, apf.ARGOVERSE2, IMAGES, names).summary.rows()) == pytest.approx(
            summary, abs=1e-9
        )

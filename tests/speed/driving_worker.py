"""One measurement of cuboids: `driving_worker.py TOOL JOB IMAGES ANNOTATIONS DETECTIONS` prints one JSON line.

Tables, and the peers' own objects, are made before the clock starts. The peers are nuscenes-devkit, and the port of KITTI's kit
in vod-tudelft, which computes rotated IoU without a graphics card. They run in an environment of their own, which is made when
it is first asked for, as nuscenes-devkit needs older packages. Of KITTI, the numbers that are compared are those of boxes in
the image: the port's IoU of cuboids is in single precision, so some pairs change sides (the tests of KITTI
have the kit's own numbers).
"""

# mypy: disable-error-code="import-not-found,import-untyped"
from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Run = Callable[[], list[float]]

TOOLS = (OURS, NUSCENES, KITTI) = ("apframe", "nuscenes-devkit 1.2.0", "vod-tudelft 1.0.3")
ERRORS = {"ATE": "trans_err", "ASE": "scale_err", "AOE": "orient_err", "AVE": "vel_err", "AAE": "attr_err"}
KITTI_CLASSES, LEVELS = {"Car": 0.7, "Pedestrian": 0.5, "Cyclist": 0.5}, ("easy", "moderate", "hard")


def ours(job: str, images: Any, annotations: Any, detections: Any) -> Run:
    import apframe as apf

    protocol = {"nuscenes": apf.NUSCENES, "kitti": apf.KITTI, "waymo": apf.WAYMO, "coco": apf.COCO}[job]
    names = annotations["category_id"].unique().sort().to_list()
    dataset = apf.Dataset(images, {"category_id": names, "name": names}, annotations)
    numbers = {
        "nuscenes": ["AP", *ERRORS, "NDS"],
        "kitti": [f"AP_{name}_{level}" for name in KITTI_CLASSES for level in LEVELS],
        "waymo": ["AP_L1", "AP_L2", "APH_L1", "APH_L2"],
        "coco": ["AP", "AP50", "AP75"],
    }[job]

    def run() -> list[float]:
        iou_types = {"kitti": ("bbox", "bev", "3d"), "coco": ("bbox",)}.get(job, (None,))
        evaluations = [apf.evaluate(dataset, detections, protocol=protocol, iou_type=iou_type) for iou_type in iou_types]
        return [dict(each.summary.rows())[name] for each in evaluations for name in numbers]

    return run


def nuscenes(images: Any, annotations: Any, detections: Any) -> Run:
    import numpy as np
    from nuscenes.eval.common.data_classes import EvalBoxes
    from nuscenes.eval.common.utils import center_distance
    from nuscenes.eval.detection.algo import accumulate, calc_ap, calc_tp
    from nuscenes.eval.detection.config import config_factory
    from nuscenes.eval.detection.data_classes import DetectionBox, DetectionMetrics

    def boxes(rows: Any) -> Any:
        eval_boxes = EvalBoxes()
        for image in images["image_id"]:
            eval_boxes.add_boxes(image, [])
        for row in rows.iter_rows(named=True):
            box = DetectionBox(
                sample_token=row["image_id"],
                translation=[row[f"cuboid_{axis}"] for axis in "xyz"],
                size=[row[f"cuboid_{side}"] for side in ("width", "length", "height")],
                rotation=[np.cos(row["cuboid_yaw"] / 2), 0, 0, np.sin(row["cuboid_yaw"] / 2)],
                velocity=[row["velocity_x"], row["velocity_y"]],
                detection_name=row["category_id"],
                detection_score=row.get("score", -1.0),
                attribute_name=row["attribute"],
            )
            eval_boxes.boxes[row["image_id"]].append(box)
        return eval_boxes

    sides, config = (boxes(annotations), boxes(detections)), config_factory("detection_cvpr_2019")

    def run() -> list[float]:
        metrics = DetectionMetrics(config)
        for name in config.class_names:
            data = {metres: accumulate(*sides, name, center_distance, metres) for metres in config.dist_ths}
            for metres, each in data.items():
                metrics.add_label_ap(name, metres, calc_ap(each, config.min_recall, config.min_precision))
            has_none = {"traffic_cone": ("attr_err", "vel_err", "orient_err"), "barrier": ("attr_err", "vel_err")}.get(name, ())
            for error in ERRORS.values():
                mean_error = np.nan if error in has_none else calc_tp(data[config.dist_th_tp], config.min_recall, error)
                metrics.add_label_tp(name, error, mean_error)
        return [metrics.mean_ap, *(metrics.tp_errors[error] for error in ERRORS.values()), metrics.nd_score]

    return run


def kitti(images: Any, annotations: Any, detections: Any) -> Run:
    import numpy as np

    (folder,) = find_spec("vod").submodule_search_locations  # type: ignore[union-attr, misc]
    sys.path.insert(0, str(Path(folder) / "evaluation"))  # its modules import each other by their bare names
    from eval_from_original import eval_class, get_mAP_R40

    def by_image(rows: Any) -> list[dict[str, Any]]:
        x, y, width, height = (rows[name].to_numpy() for name in ("x", "y", "width", "height"))
        forward, left, up, tall = (rows[f"cuboid_{name}"].to_numpy() for name in ("x", "y", "z", "height"))
        columns = {
            "name": rows["category_id"].to_numpy(),
            **{name: rows[name].to_numpy() for name in ("truncated", "occluded", "alpha")},
            "bbox": np.stack([x, y, x + width, y + height], axis=1),
            "dimensions": np.stack([rows["cuboid_length"], tall, rows["cuboid_width"]], axis=1),
            "location": np.stack([-left, tall / 2 - up, forward], axis=1),
            "rotation_y": -rows["cuboid_yaw"].to_numpy() - np.pi / 2,
            "score": rows["score"].to_numpy() if "score" in rows.columns else np.zeros(rows.height),
        }
        starts = np.searchsorted(rows["image_id"].to_numpy(), images["image_id"].to_numpy())
        ends = [*starts[1:], rows.height]
        return [{name: all_[a:b] for name, all_ in columns.items()} for a, b in zip(starts, ends, strict=True)]

    truth, found = by_image(annotations), by_image(detections)
    least = np.broadcast_to(list(KITTI_CLASSES.values()), (1, 3, 3)).copy()  # set of thresholds, metric, class

    def run() -> list[float]:
        numbers = []
        for metric in range(3):
            curves = eval_class(truth, found, [0, 1, 2], [0, 1, 2], metric, least, compute_aos=metric == 0)
            numbers += (get_mAP_R40(curves["precision"])[:, :, 0] / 100).ravel().tolist()
        return numbers

    return run


def sums(numbers: list[float]) -> list[float]:
    """The mean, and a sum with weights that shows numbers which have changed places."""
    return [sum(numbers) / len(numbers), sum(k * number for k, number in enumerate(numbers, 1)) / len(numbers)]


def main(tool: str, job: str, *files: str) -> None:
    import polars as pl
    from worker import cpu_seconds  # a script's own folder is on its path

    tables = [pl.read_parquet(file) for file in files]
    heads = [tables[0].head(60)]
    heads += [table.join(heads[0], on="image_id", how="semi", maintain_order="left") for table in tables[1:]]

    def prepared(given: list[Any]) -> Run:
        return ours(job, *given) if tool == OURS else {NUSCENES: nuscenes, KITTI: kitti}[tool](*given)

    prepared(heads)()  # imports, and what is compiled at the first run
    run = prepared(tables)
    wall, cpu = time.perf_counter(), cpu_seconds()
    numbers = run()[: 9 if job == "kitti" else None]
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(json.dumps({"stats": sums(numbers), "wall": wall, "cpu": cpu}))


def in_kits(command: list[str]) -> None:
    """Run this file in the environment of the peers."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.kits import NotInstalledError, environment

    try:
        python = environment("driving")
    except NotInstalledError as error:
        print(json.dumps({"skipped": f"the peers of {error}"}))
        return
    subprocess.run([python, __file__, *command, "here"], check=True)


if __name__ == "__main__":
    if sys.argv[-1] == "here" or sys.argv[1] == OURS:
        main(*(word for word in sys.argv[1:] if word != "here"))
    else:
        in_kits(sys.argv[1:])

"""One measurement of an evaluation: `worker.py TOOL JOB GT DT [IOU_TYPE]` prints one JSON line; boxes, segm or keypoints.

Every tool is two steps, `read(gt, dt)` and `evaluate(truth, found)`, each the fastest way the tool documents. Only what
the tool needs is imported, as its start is part of job "process".
"""

# ruff: noqa: PTH100, PTH118, PTH120, PTH123 - not every tool imports pathlib
# mypy: disable-error-code="import-not-found,import-untyped,attr-defined"
from __future__ import annotations

import os
import resource
import sys
import time
from typing import Any

TOOLS = ("apframe", "pycocotools", "faster-coco-eval", "hotcoco", "ultrafast-pycocotools", "vernier")
STREET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "street")
SAMPLE = ("instances_60", "results_60")  # of masks and of keypoints, beside the set that is measured


def apframe_steps(job: str, iou_type: str) -> Any:
    import apframe as apf

    def evaluate(truth: Any, found: Any) -> Any:
        evaluation = apf.evaluate(truth, found, apf.COCO, iou_type=iou_type)
        if job == "loaded":
            _ = evaluation.metrics  # lazy until asked for
        return evaluation.stats

    def read(gt: str, dt: str) -> Any:
        if job != "loaded":
            return gt, dt  # which `evaluate` reads side by side
        return apf.read_coco(gt, masks=iou_type == "segm"), apf.read_coco_results(dt)

    return read, evaluate


def vernier_steps(job: str, iou_type: str) -> Any:
    """Detections as the bytes of the file, or, where they count as loaded, as the matrix that it takes."""
    from vernier.instance import Bbox, CocoDataset, Evaluator, Keypoints

    threads = len(os.sched_getaffinity(0))

    def read(gt: str, dt: str) -> Any:
        with open(gt, "rb") as file:
            truth = CocoDataset.from_json(file.read())
        if iou_type == "keypoints":
            return truth, read_poses(dt)
        if iou_type == "bbox" and job == "loaded":
            return truth, read_matrix(dt)
        with open(dt, "rb") as file:
            return truth, file.read() if iou_type == "bbox" else with_boxes(file.read(), loaded=job == "loaded")

    def evaluate(truth: Any, found: Any) -> Any:
        iou = Keypoints() if iou_type == "keypoints" else Bbox()
        return Evaluator(iou=iou, parity_mode="strict").evaluate(truth, found, num_threads=threads).stats

    def evaluate_masks(truth: Any, found: Any) -> Any:
        """The evaluator takes its area of a detection from the box; what is under it can take the mask's, as COCO does."""
        from vernier._core import evaluate_segm_grid

        grid = evaluate_segm_grid(
            truth, found, parity_mode="strict", max_dets_per_image=100, use_cats=True, dt_area="mask", num_threads=threads
        )
        return grid.accumulate([1, 10, 100]).summarize([1, 10, 100]).stats

    return read, evaluate_masks if iou_type == "segm" else evaluate


def with_boxes(results: bytes, *, loaded: bool) -> Any:
    """Each result of masks needs a box, which is then not looked at; as loaded objects, or still as bytes."""
    import json

    results = results.replace(b'"segmentation":', b'"bbox":[0,0,0,0],"segmentation":')
    return json.loads(results) if loaded else results


def read_poses(dt: str) -> Any:
    """Arrays for each image, with the boxes around the points, whose area COCO takes."""
    import json

    import numpy as np

    with open(dt) as file:
        rows = json.load(file)
    points = np.array([row["keypoints"] for row in rows], float).reshape(len(rows), -1, 3)
    low, high = points[:, :, :2].min(axis=1), points[:, :, :2].max(axis=1)
    boxes, scores = np.hstack([low, high - low]), np.array([row["score"] for row in rows], float)
    image, label = (np.array([row[name] for row in rows]) for name in ("image_id", "category_id"))
    order = np.argsort(image, kind="stable")
    return [
        {
            "image_id": int(image[of_image[0]]),
            "boxes": boxes[of_image],
            "scores": scores[of_image],
            "labels": label[of_image],
            "keypoints": points[of_image],
        }
        for of_image in np.split(order, np.flatnonzero(np.diff(image[order])) + 1)
    ]


def read_matrix(dt: str) -> Any:
    """Rows of image_id, x, y, width, height, score, category_id, without keeping a Python object for each."""
    import json
    from array import array

    import numpy as np

    flat = array("d")
    with open(dt) as file:
        json.load(file, object_hook=lambda d: flat.extend((d["image_id"], *d["bbox"], d["score"], d["category_id"])))
    return np.frombuffer(flat).reshape(-1, 7)


def coco_steps(tool: str, iou_type: str) -> Any:
    """The tools that keep the names of pycocotools."""
    if tool == "pycocotools":
        from pycocotools.coco import COCO
        from pycocotools.cocoeval import COCOeval
    elif tool == "faster-coco-eval":
        from faster_coco_eval import COCO
        from faster_coco_eval import COCOeval_faster as COCOeval
    elif tool == "hotcoco":
        from hotcoco import COCO, COCOeval
    else:
        from ultrafast_pycocotools import COCO, COCOeval

    def read(gt: str, dt: str) -> Any:
        truth = COCO(gt)
        return truth, truth.loadRes(dt)

    def evaluate(truth: Any, found: Any) -> Any:
        evaluation = COCOeval(truth, found, iou_type)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        return evaluation.stats

    return read, evaluate


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def sample_beside(gt: str, iou_type: str) -> list[str]:
    """What a process evaluates before it counts as warm."""
    if iou_type == "bbox":
        return [os.path.join(STREET, "instances.json"), os.path.join(STREET, "model_a.json")]
    return [os.path.join(os.path.dirname(gt), f"{name}.json") for name in SAMPLE]


def main(tool: str, job: str, gt: str, dt: str, iou_type: str = "bbox") -> None:
    own = {"apframe": apframe_steps, "vernier": vernier_steps}
    read, evaluate = own[tool](job, iou_type) if tool in own else coco_steps(tool, iou_type)
    if job != "process":
        evaluate(*read(gt, dt))  # a process is warm that has done the same before
    loaded = read(gt, dt) if job == "loaded" else None
    wall, cpu = time.perf_counter(), cpu_seconds()
    stats = evaluate(*(loaded or read(gt, dt)))
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    # a list of floats prints as JSON: a tool that does not import json need not pay for it
    print(f'{{"stats": {[float(value) for value in stats]}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])

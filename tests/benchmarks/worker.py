"""One cell of the benchmark: `worker.py TOOL JOB GT DT` prints one JSON line.

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


def apframe_steps(job: str) -> Any:
    import apframe as apf

    def evaluate(truth: Any, found: Any) -> Any:
        evaluation = apf.evaluate(truth, found)
        if job == "loaded":
            _ = evaluation.metrics  # lazy until asked for
        return evaluation.stats

    return lambda gt, dt: (apf.read_coco(gt), apf.read_coco_results(dt)), evaluate


def vernier_steps(job: str) -> Any:
    """Detections as the bytes of the file, or, where they count as loaded, as the matrix that it takes."""
    from vernier.instance import Bbox, CocoDataset, Evaluator

    def read(gt: str, dt: str) -> Any:
        with open(gt, "rb") as truth, open(dt, "rb") as found:
            return CocoDataset.from_json(truth.read()), read_matrix(dt) if job == "loaded" else found.read()

    def evaluate(truth: Any, found: Any) -> Any:
        threads = len(os.sched_getaffinity(0))
        return Evaluator(iou=Bbox(), parity_mode="strict").evaluate(truth, found, num_threads=threads).stats

    return read, evaluate


def read_matrix(dt: str) -> Any:
    """Rows of image_id, x, y, width, height, score, category_id, without keeping a Python object for each."""
    import json
    from array import array

    import numpy as np

    flat = array("d")
    with open(dt) as file:
        json.load(file, object_hook=lambda d: flat.extend((d["image_id"], *d["bbox"], d["score"], d["category_id"])))
    return np.frombuffer(flat).reshape(-1, 7)


def coco_steps(tool: str) -> Any:
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
        evaluation = COCOeval(truth, found, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
        return evaluation.stats

    return read, evaluate


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(tool: str, job: str, gt: str, dt: str) -> None:
    own = {"apframe": apframe_steps, "vernier": vernier_steps}
    read, evaluate = own[tool](job) if tool in own else coco_steps(tool)
    if job != "process":
        evaluate(*read(os.path.join(STREET, "instances.json"), os.path.join(STREET, "model_a.json")))
    loaded = read(gt, dt) if job == "loaded" else None
    wall, cpu = time.perf_counter(), cpu_seconds()
    stats = evaluate(*(loaded or read(gt, dt)))
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    # a list of floats prints as JSON: a tool that does not import json need not pay for it
    print(f'{{"stats": {[float(value) for value in stats]}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])

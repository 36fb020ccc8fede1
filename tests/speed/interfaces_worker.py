"""One measurement of interfaces: `interfaces_worker.py TOOL JOB GT DT` prints one JSON line.

The same data, evaluated by `apframe.evaluate`, by the lines of a script for pycocotools, and by an `Evaluator` that gets the
detections of 16 images at a time; each in a process that has done the same with the sample set.
"""

# mypy: disable-error-code="import-not-found,import-untyped"
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any

TOOLS = ("apframe", "pycocotools")
N_IMAGES = 16


def coco_script(tool: str) -> tuple[Any, Callable[[Any, Any], Any]]:
    """What scripts for pycocotools do, with either package."""
    package = "apframe.pycocotools" if tool == "apframe" else "pycocotools"
    coco, cocoeval = (import_module(f"{package}.{name}") for name in ("coco", "cocoeval"))

    def evaluate(gt: str, dt: str) -> Any:
        with redirect_stdout(StringIO()):
            truth = coco.COCO(gt)
            evaluation = cocoeval.COCOeval(truth, truth.loadRes(dt), "bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        return evaluation.stats

    return lambda gt, dt: (gt, dt), evaluate


def plain(job: str) -> tuple[Any, Callable[[Any, Any], Any]]:
    import apframe as apf

    def read(gt: str, dt: str) -> Any:
        if job == "plain":
            return gt, dt
        return apf.read_coco(gt), apf.read_coco_results(dt).sort("image_id", maintain_order=True)  # as an Evaluator gets them

    return read, lambda truth, found: apf.evaluate(truth, found).stats


def streaming() -> tuple[Any, Callable[[Any, Any], Any]]:
    """The second epoch: the first has prepared the truth."""
    import polars as pl

    import apframe as apf

    def read(gt: str, dt: str) -> Any:
        detections = apf.read_coco_results(dt).drop("detection_id")
        parts = detections.sort("image_id", maintain_order=True).partition_by("image_id", maintain_order=True)
        evaluator = apf.Evaluator(apf.read_coco(gt))
        batches = [pl.concat(parts[start : start + N_IMAGES]) for start in range(0, len(parts), N_IMAGES)]
        evaluator.update(batches[0])
        _ = evaluator.compute().stats
        evaluator.reset()
        return evaluator, batches

    def evaluate(evaluator: Any, batches: Any) -> Any:
        for batch in batches:
            evaluator.update(batch)
        return evaluator.compute().stats

    return read, evaluate


def main(tool: str, job: str, gt: str, dt: str) -> None:
    from worker import cpu_seconds, sample_beside  # a script's own folder is on its path

    read, evaluate = coco_script(tool) if job == "drop-in" else streaming() if job == "streaming" else plain(job)
    evaluate(*read(*sample_beside(gt, "bbox")))
    inputs = read(gt, dt)
    wall, cpu = time.perf_counter(), cpu_seconds()
    stats = evaluate(*inputs)
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": {[float(value) for value in stats]}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])

"""One measurement of VOC: `voc_worker.py TOOL JOB GT DT` prints one JSON line.

The tools are apframe and the loop that its tests compare it with, each in two steps as in `worker.py`. Crowds count as
difficult: VOC has none.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = ("apframe", "loop")


def apframe_steps() -> Any:
    import polars as pl

    import apframe as apf

    def read(gt: str, dt: str) -> Any:
        truth = apf.read_coco(gt)
        annotations = truth.annotations.with_columns(ignore="is_crowd", is_crowd=pl.lit(False))
        return apf.Dataset(truth.images, truth.categories, annotations), apf.read_coco_results(dt)

    def evaluate(truth: Any, found: Any) -> Any:
        return apf.evaluate(truth, found, apf.VOC2007).metrics.select("category_id", "ap").iter_rows()

    return read, evaluate


def loop_steps() -> Any:
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    from tests.parity.voc_reference import evaluate_voc

    def read(gt: str, dt: str) -> Any:
        truth, detections = json.loads(Path(gt).read_bytes())["annotations"], json.loads(Path(dt).read_bytes())
        for row in (*truth, *detections):
            row["x"], row["y"], row["width"], row["height"] = row["bbox"]
            row["difficult"] = bool(row.get("iscrowd"))
        return truth, detections

    def evaluate(truth: Any, detections: Any) -> Any:
        return evaluate_voc(truth, detections, year=2007).items()

    return read, evaluate


def main(tool: str, job: str, gt: str, dt: str) -> None:
    from slices_worker import numbers  # a script's own folder is on its path
    from worker import cpu_seconds, sample_beside

    read, evaluate = {"apframe": apframe_steps, "loop": loop_steps}[tool]()
    list(evaluate(*read(*sample_beside(gt, "bbox"))))
    loaded = read(gt, dt) if job == "loaded" else None
    wall, cpu = time.perf_counter(), cpu_seconds()
    answer = list(evaluate(*(loaded or read(gt, dt))))
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(f'{{"stats": {numbers(answer)}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])

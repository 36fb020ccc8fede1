"""One measurement of LVIS: `lvis_worker.py TOOL JOB GT DT` prints one JSON line.

Each tool is two steps, as in `worker.py`.
"""

# mypy: disable-error-code="import-not-found,attr-defined"
from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = ("apframe", "hotcoco")
METRICS = ("AP", "AP50", "AP75", "APs", "APm", "APl", "APr", "APc", "APf", "AR@300", "ARs@300", "ARm@300", "ARl@300")


def apframe_steps(job: str) -> Any:
    import apframe as apf

    def read(gt: str, dt: str) -> Any:
        return (apf.read_coco(gt), apf.read_coco_results(dt)) if job == "loaded" else (gt, dt)

    def evaluate(truth: Any, found: Any) -> Any:
        evaluation = apf.evaluate(truth, found, apf.LVIS)
        if job == "loaded":
            _ = evaluation.metrics  # lazy until asked for
        return evaluation.stats

    return read, evaluate


def hotcoco_steps(_: str) -> Any:
    from hotcoco import COCO, COCOeval

    def read(gt: str, dt: str) -> Any:
        truth = COCO(gt)
        return truth, truth.loadRes(dt)

    def evaluate(truth: Any, found: Any) -> Any:
        evaluation = COCOeval(truth, found, "bbox", lvis_style=True)
        evaluation.run()
        results = evaluation.get_results()
        return [results[name] for name in METRICS]

    return read, evaluate


def main(tool: str, job: str, gt: str, dt: str) -> None:
    from worker import SAMPLE, cpu_seconds  # a script's own folder is on its path

    read, evaluate = {"apframe": apframe_steps, "hotcoco": hotcoco_steps}[tool](job)
    if job != "script":
        evaluate(*read(*(str(Path(gt).with_name(f"{name}.json")) for name in SAMPLE)))
    loaded = read(gt, dt) if job == "loaded" else None
    wall, cpu = time.perf_counter(), cpu_seconds()
    stats = [float(value) for value in evaluate(*(loaded or read(gt, dt)))]
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    print(json.dumps({"stats": stats, "wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""One measurement of stages: `stages_worker.py apframe STAGE GT DT [IOU_TYPE]` prints one JSON line.

The process takes all stages up to this one and ends, so its peak is the memory that they need; the time is that of the last.
"""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

TOOLS = ("apframe",)
STAGES = {
    "read": "two JSON files to tables",
    "prepare": "the checks, and the rules of the protocol",
    "order and pair": "the detections in rank order, and the pairs with annotations",
    "match": "pairs to verdicts",
    "rank": "verdicts to the metrics of every category, area range and threshold",
}


def main(tool: str, stage: str, gt: str, dt: str, iou_type: str = "bbox") -> None:
    from worker import cpu_seconds  # a script's own folder is on its path

    import apframe as apf

    assert tool in TOOLS
    products: dict[str, Any] = {}

    def read() -> None:
        products["tables"] = apf.read_coco(gt, masks=iou_type == "segm"), apf.read_coco_results(dt)

    def prepare() -> None:
        products["evaluation"] = apf.evaluate(*products["tables"], iou_type=iou_type)

    steps: dict[str, Callable[[], Any]] = {
        "read": read,
        "prepare": prepare,
        "order and pair": lambda: products["evaluation"]._pipeline.rows,
        "match": lambda: products["evaluation"]._pipeline.verdicts,
        "rank": lambda: products["evaluation"].metrics,
    }
    wall = cpu = 0.0
    for name in list(STAGES)[: list(STAGES).index(stage) + 1]:
        wall, cpu = time.perf_counter(), cpu_seconds()
        steps[name]()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    truth, detections = products["tables"]
    counts = [truth.images.height, truth.categories.height, truth.annotations.height, detections.height]
    print(f'{{"stats": {counts}, "wall": {wall}, "cpu": {cpu}}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
